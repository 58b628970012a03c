"""Places of keys and values in a TOML document, which `tomllib` does not report.

The document is valid: `tomllib` has read it. So the scanner only has to find where keys, values and tables begin and
end, and needs no checks of its own.
"""

from __future__ import annotations

import re
import tomllib
from typing import Final

Path = tuple[str | int, ...]
"""Keys and positions from the root to a value: ``("project", "files", 0)``."""
Range = tuple[int, int]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART: Final = re.compile(r"[ \t]*(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*")
_TEXT: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")|' + r"'''.*?'{3,5}(?!')|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)
_PLAIN: Final = re.compile(r"[^,\]}#\n]*[^,\]}#\s]")


class TomlPlaces:
    """Ranges of all keys and values of a valid document, by their paths."""

    def __init__(self, text: str) -> None:
        self.keys: dict[Path, Range] = {}
        """The key of each value, and the header of each table."""
        self.values: dict[Path, Range] = {}
        self._text = text
        self._at = 0
        self._lengths: dict[Path, int] = {}
        """Number of tables of each array of tables so far."""
        self._read()

    def key(self, path: Path) -> Range:
        """Return the place of a key; that of the nearest table around it if it has none."""
        while path and path not in self.keys and path not in self.values:
            path = path[:-1]
        return self.keys.get(path) or self.values.get(path) or (0, 0)

    def value(self, path: Path) -> Range:
        return self.values.get(path) or self.key(path)

    def _read(self) -> None:
        table: Path = ()
        while self._skip() < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _skip(self) -> int:
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()
        return self._at

    def _header(self) -> Path:
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        parts, place = self._dotted()
        self._at = self._text.index("]", self._at) + (2 if is_array else 1)
        path: Path = ()
        for part in parts[:-1]:
            path = self._last((*path, part))
        path = (*path, parts[-1])
        if is_array:
            number = self._lengths.get(path, 0)
            self._lengths[path] = number + 1
            self.keys.setdefault(path, place)
            path = (*path, number)
        self.keys[path] = place
        return path

    def _last(self, path: Path) -> Path:
        """Return the table that a prefix of a header means: the last one of an array of tables."""
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _dotted(self) -> tuple[list[str], Range]:
        """Return the parts of a key, and the place of its last part without quotes."""
        parts, place = [], (self._at, self._at)
        while (part := _KEY_PART.match(self._text, self._at)) is not None:
            written, place = part[1], part.span(1)
            if written[0] in "\"'":
                place = (place[0] + 1, place[1] - 1)
                written = next(iter(tomllib.loads(f"{written} = 0")))
            parts.append(written)
            self._at = part.end()
            if not self._text.startswith(".", self._at):
                break
            self._at += 1
        return parts, place

    def _pair(self, table: Path) -> None:
        parts, place = self._dotted()
        path = (*table, *parts)
        for length in range(len(table) + 1, len(path)):
            self.keys.setdefault(path[:length], place)
        self.keys[path] = place
        self._at = self._text.index("=", self._at) + 1
        self._value(path)

    def _value(self, path: Path) -> None:
        start = self._skip()
        if (text := _TEXT.match(self._text, start)) is not None:
            self._at = text.end()
            quotes = 3 if text[0][:3] in ('"""', "'''") else 1
            self.values[path] = (start + quotes, self._at - quotes)
            return
        match self._text[start]:
            case "[":
                self._at += 1
                number = 0
                while self._text[self._skip()] != "]":
                    self._value((*path, number))
                    number += 1
                    self._comma()
                self._at += 1
            case "{":
                self._at += 1
                while self._text[self._skip()] != "}":
                    self._pair(path)
                    self._comma()
                self._at += 1
            case _:
                plain = _PLAIN.match(self._text, start)
                self._at = plain.end() if plain else start + 1
        self.values[path] = (start, self._at)

    def _comma(self) -> None:
        if self._text[self._skip()] == ",":
            self._at += 1
