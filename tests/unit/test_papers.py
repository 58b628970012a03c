"""Each row of the tables of `docs/papers.md` is translated as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cplc.syntax.other_notation import Context, applied, sign, translations

_PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
_CELL = re.compile(r"\| `([^`]+)` \| `([^`]+)` \|")


def _rows() -> list[tuple[str, str, Context]]:
    rows: list[tuple[str, str, Context]] = []
    context: Context | None = "formula"
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| Paper"):
            context = "commitment" if "declared" in line else "formula" if "term" not in line else None
        elif (row := _CELL.fullmatch(line)) is not None and context is not None:
            theirs, ours = (cell.replace("\\|", "|") for cell in row.groups())
            rows.append((theirs, ours, context))
    return rows


def _signs_replaced(text: str) -> str:
    written, at = "", 0
    while at < len(text):
        found = sign(text, at)
        end, instead = (at + 1, text[at]) if found is None else found
        written, at = written + instead, end
    return written


@pytest.mark.parametrize(("theirs", "ours", "context"), _rows())
def test_row_is_translated_as_the_page_says(theirs: str, ours: str, context: Context) -> None:
    text = _signs_replaced(theirs)
    assert applied(text, translations(text, context)) == ours
    assert not translations(ours)


def test_page_has_rows_for_each_paper() -> None:
    assert len(_rows()) > 50
