"""Page sequences: the files, changes and commands of tutorial pages, executed in the reader's order and directory.

A block with ``file=NAME`` writes that file, or overwrites it. A ```` ```diff file=NAME ```` block changes it. Lines
that begin with a blank or ``-`` occur once in the file, one after the other, and lines that begin with a blank or
``+`` replace them; a line ``...`` separates two places. A ``console`` block is run as by `console.py`. A file that a
command writes remains for the commands after it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.support.literate.blocks import Block, blocks
from tests.support.literate.console import ConsoleTest, check_console, commands

_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Put:
    """A file is written."""

    block: Block


@dataclass(frozen=True)
class Change:
    """A file is changed in some places."""

    block: Block


Step = Put | Change | ConsoleTest


def tales() -> list[tuple[str, tuple[Path, ...]]]:
    """Return what is told in order, by its name: the tutorial, page after page, and each page that stands alone."""
    docs = _ROOT / "docs"
    alone = [docs / "index.md", *sorted((docs / "how-to").glob("*.md"))]
    return [("tutorial", tuple(sorted((docs / "tutorial").glob("*.md")))), *((page.stem, (page,)) for page in alone)]


def steps(pages: Sequence[Path]) -> list[Step]:
    """Return what is done on these pages, in order."""
    collected: list[Step] = []
    for page in pages:
        for block in blocks(page):
            if block.language == "diff":
                if "file" not in block.options:
                    raise block.refuse("a change names its file, `file=NAME`")
                collected.append(Change(block))
            elif "file" in block.options:
                collected.append(Put(block))
            elif block.language == "console":
                collected.append(ConsoleTest(block.heading, block, {}, commands(block)))
            elif block.language in ("cpl", "ispl"):
                raise block.refuse("what a page told in order shows is a file, `file=NAME`")
    return collected


def play(script: Sequence[Step], directory: Path, *, update: bool = False) -> None:
    """Do what is told in the directory; fail unless what comes is what the pages say, or rewrite them."""
    with _reader():
        for step in script:
            _do(step, directory, update)


@contextmanager
def _reader() -> Iterator[None]:
    """Set up the reader's environment: no settings, and a cache of the verdicts of earlier commands."""
    own = [name for name in os.environ if name == "CI" or name.startswith("CPLC_")]
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ):
        for name in own:
            del os.environ[name]
        os.environ["CPLC_CACHE_DIR"] = folder
        yield


def _do(step: Step, directory: Path, update: bool) -> None:
    match step:
        case Put(block):
            target = directory / block.options["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        case Change(block):
            target = directory / block.options["file"]
            if not target.is_file():
                raise block.refuse(f"there is no file `{target.name}` to be changed")
            target.write_text(changed(target.read_text(encoding="utf-8"), block), encoding="utf-8")
        case ConsoleTest():
            check_console(step, directory, update=update)


def changed(text: str, block: Block) -> str:
    """Return the text with the changes of the block."""
    for part in block.text.split("...\n"):
        lines = part.splitlines(keepends=True)
        if wrong := [line for line in lines if line.strip() and line[0] not in " +-"]:
            raise block.refuse(f"a line of a change begins with a blank, `+` or `-`: {wrong[0].strip()}")
        before = "".join(line[1:] or line for line in lines if line[0] in " -\n")
        after = "".join(line[1:] or line for line in lines if line[0] in " +\n")
        if before == after:
            raise block.refuse("this changes nothing")
        if text.count(before) != 1:
            raise block.refuse(f"this stands in the file {text.count(before)} times, not once:\n{before}")
        text = text.replace(before, after)
    return text
