"""Control characters in text from outside: shown by visible characters, so that no terminal or page obeys them.

File names, titles, quoted lines and values from logs may contain escape sequences that move the cursor, hide lines or
retitle a window, and characters that reverse the direction of text.
"""

from __future__ import annotations

import json
import re
from typing import Final

_CONTROL: Final = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
_ANYWHERE: Final = re.compile(f"[{_CONTROL}]")
_IN_LINES: Final = re.compile(f"(?![\n\t])[{_CONTROL}]")


def printable(text: str) -> str:
    """Return the text with a visible character for each control character, those that end lines included."""
    return _ANYWHERE.sub(_visible, text)


def printable_lines(text: str) -> str:
    """Return the same of a text of several lines: line ends and tabs stay."""
    return _IN_LINES.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 32:
        return chr(0x2400 + code)
    return "\u2421" if code == 127 else "\N{REPLACEMENT CHARACTER}"


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON in which every control character is escaped, and every other character is readable."""
    return _IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))
