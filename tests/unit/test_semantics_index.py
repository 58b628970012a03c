"""The index of declarations and uses of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cplc.compilation import CplCompilation
from cplc.source import Source

_ROOT = Path(__file__).parents[2]

_TEXT = """\
define responds(p, q) = AG (p -> AF q)
protocol Payment(limit: 1..3 = 2) {
  role payer { var money: 0..limit = 1 }
  role payee
  payer -> payee : pay(amount: 1..limit) if money > 0 & amount = 1
}
protocol Shop(n: 1..4 = 2) {
  role Seller
  role Buyer[n]
  for b in Buyer {
    commitment goods = C(Seller, b, till.pay[b], ship)
    use Payment(payer = b, payee = Seller, limit = 3) as till
    Seller -> b : ship  after till.pay  means create goods
  }
  property fine: forall x in Buyer: responds(till.pay[x].amount = 2, active(goods[x]))
}
"""


def _found(text: str) -> dict[str, list[str]]:
    """Return what each name means on each line, from left to right."""
    compilation = CplCompilation(Source("shop.cpl", text))
    index = compilation.index
    shown: dict[str, list[str]] = {}
    for span, target in index.places(compilation.source):
        meaning = f"{index.declared[target].kind} of line {target.position[0]}"
        shown.setdefault(f"{span.position[0]} {span.text}", []).append(meaning)
    return shown


def test_names_mean_what_they_were_resolved_to() -> None:
    names = _found(_TEXT)
    assert names["1 p"] == ["argument of line 1"] * 2
    assert names["3 limit"] == ["parameter of line 2"]
    assert names["5 money"] == ["variable of line 3"]
    assert names["5 amount"] == ["payload of line 5"] * 2
    assert names["11 pay"] == ["message of line 5"]
    assert names["11 till"] == ["part of line 12"]
    assert names["12 payer"] == ["role of line 3"]
    assert names["12 limit"] == ["parameter of line 2"]
    assert names["12 b"] == ["loop variable of line 10"]
    assert names["15 responds"] == ["macro of line 1"]
    assert names["15 x"] == ["loop variable of line 15"] * 3
    assert names["15 amount"] == ["payload of line 5"]


def test_part_without_alias_has_name_of_protocol() -> None:
    text = "protocol P { role A role B A -> B : m }\nprotocol Q { role X role Y use P(A = X, B = Y) fact f = P.m }\n"
    compilation = CplCompilation(Source("q.cpl", text))
    name = compilation.index.files[0].protocols[0].name
    places = {span.position for span in compilation.index.occurrences(name.span)}
    assert places == {(1, 10), (2, 32), (2, 57)}


def test_names_survive_what_cannot_be_read() -> None:
    names = _found(_TEXT.replace("after till.pay  means", "after till.pay & means"))
    assert names["11 pay"] == ["message of line 5"]
    assert names["12 payer"] == ["role of line 3"]


@pytest.mark.parametrize("path", sorted(_ROOT.glob("examples/*.cpl")), ids=lambda path: path.stem)
def test_every_place_has_the_text_of_its_declaration(path: Path) -> None:
    compilation = CplCompilation(Source(str(path), path.read_text(encoding="utf-8")), path)
    places = compilation.index.places(compilation.source)
    assert places
    for span, target in places:
        assert span.text == target.text
