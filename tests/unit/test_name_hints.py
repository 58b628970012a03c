"""Quick fixes for names of another kind, and for names that are not declared."""

from __future__ import annotations

import pytest

from cplc.compilation import CplCompilation
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.source import Source

_HEAD = "cpl 2\n\nprotocol P(n: 1..2 = 2) {\n  role A\n  role B { var stock: 0..3 = 2 }\n  role D[n]\n"
_GOODS = "  commitment goods = C(A, B, true, ship)\n  A -> B : ship   means create goods\n"


def _errors(text: str) -> list[Diagnostic]:
    diagnostics = CplCompilation(Source("p.cpl", f"{_HEAD}{text}}}\n")).diagnostics
    return [one for one in diagnostics if one.is_error]


def _fixed(text: str) -> str:
    """Return the declarations after the first fix of the only error."""
    [error] = _errors(text)
    source = f"{_HEAD}{text}}}\n"
    for edit in sorted(error.fixes[0].edits, key=lambda edit: edit.span.start, reverse=True):
        source = source[: edit.span.start] + edit.text + source[edit.span.end :]
    return source.removeprefix(_HEAD).removesuffix("}\n")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("property p: AG ship(B)", "property p: AG ship"),
        ("property p: AG Ship(B)", "property p: AG ship"),
        ("property p: AG goods(A, B)", "property p: AG active(goods)"),
        ("property p: AG goods.fulfilled", "property p: AG fulfilled(goods)"),
        ("property p: AG ship.sent", "property p: AG sent(ship)"),
        ("property p: AG (stock = 2)", "property p: AG (B.stock = 2)"),
        ("property p: AG C(A, B, ship)", "property p: AG C(A -> B, ship)"),
        ("A -> B : nag unless ship, nag", "A -> B : nag unless ship | nag"),
        ("message nag : A -> B", "A -> B : nag"),
        ("A --> B : nag", "A -> B : nag"),
        ("property p assuming Bobby: AG ship", None),
    ],
)
def test_quick_fix_writes_the_form_of_this_language(written: str, meant: str | None) -> None:
    if meant is None:
        assert _errors(f"{_GOODS}  {written}\n")[0].fixes == ()
        return
    fixed = _fixed(f"{_GOODS}  {written}\n")
    assert fixed == f"{_GOODS}  {meant}\n"
    assert _errors(fixed) == []


def test_delegation_to_a_role_declares_the_commitment_that_takes_over() -> None:
    head = _GOODS.replace("ship)\n", "ship)\n  commitment other = C(D[1], B, true, ship)\n")
    assert "delegate goods to other" in _fixed(f"{head}  A -> B : load   means delegate goods to D[1]\n")
    fixed = _fixed(f"{_GOODS}  A -> B : load   means delegate goods to D[2]\n")
    assert "  commitment goods_d_2 = C(D[2], B, true, ship)\n" in fixed
    assert "delegate goods to goods_d_2" in fixed
    assert _errors(fixed) == []


def test_delegation_to_the_creditor_offers_no_fix() -> None:
    [error] = _errors(f"{_GOODS}  A -> B : load   means delegate goods to B\n")
    assert error.fixes == ()
    assert "another debtor" in error.notes[0].message


def test_instances_of_a_family_are_written_with_indices() -> None:
    family = "  for d in D { A -> d : bill(sum: 1..2) }\n  A -> B : note(x: 1..2)\n"
    assert "AG (forall d in D: bill[d])" in _fixed(f"{family}  property p: AG Bill(D)\n")
    assert "AG bill[2]" in _fixed(f"{family}  property p: AG bill(D[2])\n")
    assert "AG (note.x = 2)" in _fixed(f"{family}  property p: AG note(2)\n")


@pytest.mark.parametrize(
    ("written", "names", "meant"),
    [
        ("Merchant", ["Mer", "Cus"], "Mer"),
        ("Merchant", ["Mer1", "Cus"], "Mer1"),
        ("God", ["goods", "pay"], "goods"),
        ("Cust", ["Customer", "Cusp"], "Cusp"),
        ("Supply", ["Mer", "Cus"], None),
        ("Merchant", ["Mer1", "Mer2"], None),
        ("Me", ["Merchant"], None),
    ],
)
def test_closest_name(written: str, names: list[str], meant: str | None) -> None:
    hints = [note.message for note in did_you_mean(written, names)]
    assert hints == ([] if meant is None else [f"did you mean `{meant}`?"])
