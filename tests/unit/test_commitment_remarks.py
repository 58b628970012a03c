"""Remarks on the commitments of formulas, and on promises in the report of a failure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cplc.checking.engine_selector import Method
from cplc.checking.results import Result
from cplc.compilation import CplCompilation
from cplc.report.json_data import result_data
from cplc.report.text import result_text
from cplc.source import Source

_NETBILL = (Path(__file__).parents[2] / "examples" / "netbill.cpl").read_text(encoding="utf-8")
_RESET = """protocol Reset {
  role A
  role B
  commitment c = C(A, B, true, give)
  A -> B : promise              means create c
  A -> B : give   after promise
  A -> B : again  after give    resets give
  property p: FORMULA
}
"""
_SHOP = """protocol Shop {
  role Mer
  role Cus
  commitment goods = C(Mer, Cus, pay, deliver)
  Mer -> Cus : offer                means create goods
  Mer -> Cus : recall  after offer  means withdraw goods
  Cus -> Mer : pay     after offer
  Mer -> Cus : deliver after pay
  property p: FORMULA
}
"""


def _result(text: str, formula: str, engine: Method = "explicit") -> Result:
    compilation = CplCompilation(Source("p.cpl", text.replace("FORMULA", formula)))
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    (result,) = compilation.verify(compilation.questions(["p"]), engine)
    return result


def _codes(result: Result) -> set[str]:
    return {remark.code for remark in result.remarks}


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
def test_fulfilment_that_never_comes_is_remarked(engine: Method) -> None:
    text = re.sub(r"means \w+ payment", "", _NETBILL)
    compilation = CplCompilation(Source("netbill.cpl", text))
    (result,) = compilation.verify(compilation.questions(["safe"]), engine)
    assert result.answer == "holds"
    assert _codes(result) == {"never-fulfilled"}


@pytest.mark.parametrize(
    ("formula", "codes"),
    [
        ("AG (Fu(goods, deliver) -> deliver)", set()),
        ("AG (Fu(goods, recall) -> C(goods, true))", {"vacuous-implication", "never-fulfilled"}),
        ("AG !Fu(goods, recall)", set()),
        ("!EF Fu(goods, recall)", set()),
        ("AG !(Fu(goods, recall) & pay)", {"never-fulfilled"}),
        ("AG !(FuS(goods, pay, recall) & deliver)", {"never-fulfilled"}),
    ],
)
def test_fulfilment_is_remarked_only_where_the_formula_does_not_say_so(formula: str, codes: set[str]) -> None:
    result = _result(_SHOP, formula)
    assert result.answer in ("holds", "vacuous")
    assert _codes(result) == codes


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_consequent_that_is_reset_is_remarked(engine: Method) -> None:
    result = _result(_RESET, "AG (fulfilled(c) -> Fu(c, give))", engine)
    assert result.answer == "fails"
    (remark,) = result.remarks
    assert remark.code == "content-does-not-last"
    assert remark.state is not None
    assert (remark.state["c"], remark.state["give@B"]) == ("fulfilled", False)


def test_lasting_consequent_is_not_remarked() -> None:
    assert not _codes(_result(_RESET, "AG (fulfilled(c) -> Fu(c, fulfilled(c)))"))
    assert not _codes(_result(_SHOP, "AG (fulfilled(goods) -> Fu(goods, deliver))"))


def test_failure_names_what_is_not_kept() -> None:
    result = _result(_SHOP, "AG (pay & !recall -> Fu(Mer -> Cus, deliver))")
    assert "At the end Mer has promised goods to Cus and not kept it." in result_text(result)
    promises = result_data(result)["promises"]
    assert promises == [
        {
            "debtor": "Mer",
            "creditor": "Cus",
            "promises_nothing": False,
            "commitments": [{"name": "goods", "state": "active"}],
        }
    ]


def test_failure_names_what_is_not_promised() -> None:
    result = _result(_SHOP, "AG (offer & pay -> C(Mer -> Cus, deliver))")
    assert "At the end Mer promises Cus nothing: goods is withdrawn." in " ".join(result_text(result).split())


def test_failure_of_a_weak_commitment_shows_where_the_offer_leads() -> None:
    text = " ".join(result_text(_result(_SHOP, "AG (conditional(goods) -> WCC(goods, pay, recall))")).split())
    assert "what goods promises is kept, and what it offers (goods) is kept or still offered, in the state" in text
    assert "`pay` holds, `recall` fails" in text


def test_failure_tells_of_commitments_that_no_message_makes() -> None:
    text = _SHOP.replace("means create goods", "").replace("means withdraw goods", "")
    result = _result(text, "AG (pay -> C(Mer -> Cus, deliver))")
    assert "At the end Mer promises Cus nothing: goods is null." in " ".join(result_text(result).split())
