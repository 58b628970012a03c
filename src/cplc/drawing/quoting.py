"""Texts as the languages of other tools take them: nothing in a name is ever read as a command there."""

from __future__ import annotations

import re

from cplc.control_characters import printable


def dot_text(*lines: str) -> str:
    """Return a string of DOT."""
    escaped = (_controlled(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"{}"'.format("\\n".join(escaped))


def mermaid_text(*lines: str) -> str:
    """Return what may stand in a label or a message of Mermaid; what means something there is written by its number."""
    return "<br/>".join(
        re.sub(r"[^\w .,:()=+?→⇒…\[\]@!-]", lambda match: f"#{ord(match[0])};", _controlled(line)) or "#8203;"
        for line in lines
    )


def plantuml_text(*lines: str) -> str:
    """Return a text of PlantUML; what its markup reads is written by its number."""
    return "\\n".join(
        re.sub(r"[^\w .,:()=+?→⇒…@!]|__+|!(?=include|pragma)", _numbered, _controlled(line)) for line in lines
    )


def _numbered(match: re.Match[str]) -> str:
    return "".join(f"<U+{ord(char):04X}>" for char in match[0])


def remark(words: str) -> str:
    """Return words for a comment: one line."""
    return _controlled(words)


def _controlled(words: str) -> str:
    """Return the words in one line, with control characters shown by visible ones."""
    return printable(re.sub(r"[\t\n\r]+", " ", words))
