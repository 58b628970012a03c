"""Export of conditional commitments: text, meaning, and omissions."""

from __future__ import annotations

import pytest

from cplc.compilation import CplCompilation, IsplCompilation
from cplc.source import Source

_TEXT = """
protocol Offers {
  role Mer
  role Cus
  role Shop
  commitment tea     = C(Mer, Cus, pay, deliver)
  commitment coffee  = C(Mer, Cus, order, brew)
  commitment backing = C(Shop, Cus, pay, deliver)
  Mer -> Cus  : offer                     means create tea, create coffee
  Cus -> Mer  : pay      after offer
  Cus -> Mer  : waive    after offer      means release tea
  Cus -> Mer  : order    after offer
  Mer -> Cus  : deliver  after pay
  Mer -> Cus  : brew     after order
  Mer -> Cus  : pass_on  after offer      means delegate tea to backing
  choice pay | waive
  property weak:      AG (offer -> WCC(Mer -> Cus, order, brew))
  property wrong:     AG (offer -> WCC(Mer -> Cus, order, deliver))
  property strong:    EF SCC(Mer -> Cus, pay & order, deliver & brew)
  property fulfilled: EF (FuS(tea, pay, deliver) & FuW(coffee, order, brew))
  property released:  EF ReS(tea, pay, deliver)
  property never:     EF CaS(Mer -> Cus, pay, deliver)
  property delegated: EF DeS(tea, backing, pay, deliver)
}
"""


def _compilation() -> CplCompilation:
    compilation = CplCompilation(Source("offers.cpl", _TEXT))
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    return compilation


def test_models_in_ispl_give_the_same_verdicts() -> None:
    compilation = _compilation()
    questions = [one for one in compilation.questions() if one.question.kind == "property"]
    exported = compilation.export("ispl", questions)
    assert exported.written == tuple(one.question.name for one in questions)
    reading = IsplCompilation(Source("exported.ispl", exported.text))
    assert reading.ok, [one.concise() for one in reading.diagnostics]
    reimported = reading.verify([one for one in reading.questions() if one.question.kind == "property"])
    expected = {result.question.name: result.answer != "fails" for result in compilation.verify(questions)}
    assert expected["weak"]
    assert expected["delegated"]
    assert not expected["wrong"]
    assert dict(zip(exported.written, (one.answer != "fails" for one in reimported), strict=True)) == expected


def test_arctl_has_a_relation_for_each_set_of_offers() -> None:
    compilation = _compilation()
    exported = compilation.export("smv-arctl", compilation.questions(["weak"]))
    assert exported.written == ("weak",)
    for label in ("promises_Mer_Cus", "promises_Mer_Cus_without_tea", "promises_Mer_Cus_without_tea_coffee"):
        assert label in exported.text


@pytest.mark.parametrize("target", ["smv", "ccs", "prism"])
def test_inexpressible_formula_noted(target: str) -> None:
    compilation = _compilation()
    exported = compilation.export(target, compilation.questions(["weak"]))
    assert exported.written == ()
    assert any("weak" in note for note in map(str, exported.notes))
