"""Fenced blocks of a Markdown file, with their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^(`{3,})\s*(.*)$")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$")
_OPTIONS = ("channels", "strategies", "copies", "file")


class BadTest(Exception):
    """A test that says nothing, or does not say what it means."""


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after its fence, its text, and the lines of the file that the text takes."""

    path: Path
    heading: str
    words: tuple[str, ...]
    text: str
    first_line: int

    @property
    def language(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def options(self) -> dict[str, str]:
        return dict(word.split("=", 1) for word in self.words[1:] if "=" in word)

    @property
    def parameters(self) -> dict[str, str]:
        """The protocol's parameters, as given in the fence."""
        return {name: value for name, value in self.options.items() if name not in _OPTIONS}

    @property
    def model(self) -> str:
        """The text of the file that the block stands for."""
        return self.text * int(self.options.get("copies", "1"))

    @property
    def flags(self) -> frozenset[str]:
        return frozenset(word for word in self.words[1:] if "=" not in word)

    def refuse(self, reason: str, line: int = 0) -> BadTest:
        return BadTest(f"{self.path}:{self.first_line + line}: {reason}")


@dataclass
class Names:
    """Gives each test of a file a name of its own."""

    counts: dict[str, int] = field(default_factory=dict)

    def next(self, heading: str) -> str:
        name = re.sub(r"\W+", "-", heading.lower()).strip("-") or "untitled"
        self.counts[name] = count = self.counts.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown file."""
    heading, fence, words, first = path.stem, "", (), 0
    lines: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if fence:
            if line.rstrip() == fence:
                yield Block(path, heading, words, "".join(f"{text}\n" for text in lines), first)
                fence = ""
            else:
                lines.append(line)
        elif fence_line := _FENCE.match(line):
            fence, words, first, lines = fence_line[1], tuple(fence_line[2].split()), number + 1, []
        elif opening := _HEADING.match(line):
            heading = opening[1].strip()
    if fence:
        raise BadTest(f"{path}:{first - 1}: this block has no end")
