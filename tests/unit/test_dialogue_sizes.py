"""The sizes of the dialogue protocols in the manual are those of the examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.dialogues import system_of, system_size

_PAGE = Path(__file__).parents[2] / "docs" / "papers.md"


@pytest.mark.parametrize("name", ["pnaws", "netbill_dialogue"])
def test_sizes_in_the_manual_are_current(name: str) -> None:
    states, transitions = system_size(system_of(name))
    assert f"| {name} | {states} | {transitions} |" in _PAGE.read_text(encoding="utf-8")
