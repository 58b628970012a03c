"""Each row of the tables of `docs/papers.md` is translated as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cplc.compilation import CplCompilation
from cplc.compilation.automatic_fixes import fix_text
from cplc.source import Source
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
        translation = sign(text, at)
        end, instead = (at + 1, text[at]) if translation is None else translation
        written, at = written + instead, end
    return written


@pytest.mark.parametrize(("theirs", "ours", "context"), _rows())
def test_row_is_translated_as_the_page_says(theirs: str, ours: str, context: Context) -> None:
    text = _signs_replaced(theirs)
    assert applied(text, translations(text, context)) == ours
    assert not translations(ours)


def test_page_has_rows_for_each_paper() -> None:
    assert len(_rows()) > 50


_DELEGATION = """cpl 2
protocol P {
  role Mer
  role Cus
  role Car
  commitment goods = C(Mer, Cus, pay, give)
  commitment freight = C(Car, Cus, pay, give)
  Mer -> Cus : offer means create goods
  Cus -> Mer : pay after offer
  Mer -> Cus : pass after pay means delegate goods to freight
  Mer -> Cus : give after pay
  Car -> Cus : brought
  property found: EF WRITTEN
  property other: EF does(delegate goods)
}
"""


@pytest.mark.parametrize(
    ("written", "ours"),
    [
        ("Delegate(Mer, goods, Car)", "does(delegate goods to freight)"),
        ("Delegate(Mer, Car, goods)", "does(delegate goods to freight)"),
        ("Delegate(Mer, goods, freight)", "does(delegate goods to freight)"),
        ("Delegate(goods, Car)", "does(delegate goods to freight)"),
        ("Delegate(Mer, goods)", "does(delegate goods)"),
        ("Release(goods, Cus)", "does(release goods)"),
        ("(pay ∧ Delegate(Mer, goods, Car))", "(pay & does(delegate goods to freight))"),
    ],
)
def test_delegation_is_repaired_by_the_commitment_of_the_new_debtor(written: str, ours: str) -> None:
    text = _DELEGATION.replace("WRITTEN", written)
    fix = fix_text(CplCompilation(Source("delegation.cpl", text)))
    assert fix.text == _DELEGATION.replace("WRITTEN", ours)
    assert CplCompilation(Source("delegation.cpl", fix.text)).ok


def test_delegation_to_a_role_without_one_is_not_repaired() -> None:
    compilation = CplCompilation(Source("delegation.cpl", _DELEGATION.replace("WRITTEN", "Delegate(Mer, goods, Cus)")))
    [problem] = [one for one in compilation.diagnostics if one.is_error]
    [note] = problem.notes
    assert not problem.fixes
    assert note.message == "`does(delegate goods)` is the nearest: no message here hands it over to that role"
