"""Widths of the terminal: reports of commands that print tables, lists and diagnostics line by line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.in_process import run_cplc
from tests.support.literate.blocks import blocks

_PAGE = Path(__file__).parents[1] / "cli" / "widths.md"
_WIDTHS = (60, 73, 80, 100, 120, 160, 200)
_COMMANDS = {
    "check": "check wrong.cpl",
    "simulate": "simulate old.cpl --interactive --seed 1",
    "monitor": "monitor order.cpl orders.jsonl --all",
    "beliefs": "beliefs order.cpl orders.jsonl --agent Seller",
    "stats": "stats old.cpl",
}
_FRAME = " | "
"""Lines of a file, which are cut."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page."""
    place = tmp_path_factory.mktemp("widths")
    for block in blocks(_PAGE):
        if name := block.options.get("file"):
            (place / name).write_text(block.text, encoding="utf-8")
    return place


@pytest.mark.parametrize("command", _COMMANDS)
def test_report_fits_every_width_with_the_same_words(folder: Path, command: str) -> None:
    steps = (folder / "steps.txt").read_bytes() if command == "simulate" else b""
    words = []
    for width in _WIDTHS:
        environment = {"COLUMNS": str(width)}
        ended = run_cplc(*_COMMANDS[command].split(), cwd=folder, given=steps, environment=environment)
        lines = ended.everything.splitlines()
        assert [line for line in lines if len(line) > width] == []
        text = "\n".join(line for line in lines if not (line.partition(_FRAME)[0].strip().isdigit() and _FRAME in line))
        words.append(sorted(text.replace("^", "").replace("//", "").replace("|", "").split()))
    assert all(one == words[0] for one in words)
