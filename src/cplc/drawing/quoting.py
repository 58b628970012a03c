"""Quoting of texts for DOT, Mermaid and PlantUML, so that no name is interpreted as markup."""

from __future__ import annotations

import re

from cplc.control_characters import printable


def dot_text(*lines: str) -> str:
    """Return a string of DOT."""
    escaped = (_controlled(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"{}"'.format("\\n".join(escaped))


def mermaid_text(*lines: str) -> str:
    """Return a text of Mermaid; special characters are written as character references."""
    return "<br/>".join(
        re.sub(r"[^\w .,:()=+?→⇒…\[\]@!-]", lambda match: f"#{ord(match[0])};", _controlled(line)) or "#8203;"
        for line in lines
    )


def plantuml_text(*lines: str) -> str:
    """Return a text of PlantUML; special characters are written as code points."""
    return "\\n".join(
        re.sub(r"[^\w .,:()=+?→⇒…@!]|__+|!(?=include|pragma)", _numbered, _controlled(line)) for line in lines
    )


def _numbered(match: re.Match[str]) -> str:
    return "".join(f"<U+{ord(char):04X}>" for char in match[0])


def remark(words: str) -> str:
    """Return the text as a comment of one line."""
    return _controlled(words)


def _controlled(words: str) -> str:
    """Return the text in one line, with visible control characters."""
    return printable(re.sub(r"[\t\n\r]+", " ", words))
