"""Powers of third parties in systems, runs, blame and drawings."""

from __future__ import annotations

import pytest

from cplc.checking.engine_selector import Method
from cplc.compilation import CplCompilation
from cplc.drawing.protocol_diagrams import obligations_graph
from cplc.export.dot import power_edges
from cplc.report.failure_explanation import violation_sentences
from cplc.report.step_text import changes
from cplc.report.trace_narration import narrate
from cplc.source import Source

_ESCROW = """
protocol Escrow {
  role Shop
  role Buyer
  role Arbiter
  commitment goods = C(Shop, Buyer, pay, ship)
  empower Arbiter to violate goods, release goods
  Shop -> Buyer    : offer                means create goods
  Buyer -> Shop    : pay     after offer
  Shop -> Buyer    : ship    after pay
  Buyer -> Arbiter : appeal  after pay
  Arbiter -> Buyer : uphold  after appeal means violate goods
  Arbiter -> Buyer : dismiss after appeal means release goods
  property never: AG !violated(goods)
}
"""


@pytest.fixture(scope="module")
def escrow() -> CplCompilation:
    compilation = CplCompilation(Source("escrow.cpl", _ESCROW))
    assert compilation.ok
    return compilation


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
def test_violation_by_power_names_debtor_and_third_party(escrow: CplCompilation, engine: Method) -> None:
    (result,) = [one for one in escrow.verify(escrow.declared_questions(), engine) if one.question.name == "never"]
    assert list(violation_sentences(result)) == [
        "Shop violated goods towards Buyer at step 8: Arbiter has the power to say so, and did by "
        "`Arbiter -> Buyer : uphold`."
    ]
    assert result.evidence is not None
    run = narrate(result.system, result.evidence).run
    assert list(changes(result.system, run.states[-2], run.moves[-1])) == [
        "goods: active -> violated (by power of Arbiter)"
    ]


def test_operations_of_parties_are_by_no_power(escrow: CplCompilation) -> None:
    system = escrow.system
    steps = {step.name: step for step in system.steps}
    assert system.empowered(steps["receive offer"], "goods") is None
    assert system.empowered(steps["receive dismiss"], "goods") == "Arbiter"
    assert system.empowered(steps["send dismiss"], "goods") is None


def test_drawings_show_powers(escrow: CplCompilation) -> None:
    (arbiter,) = (node for node in obligations_graph(escrow.system, "").nodes if node.key == "Arbiter")
    assert arbiter.lines == ("Arbiter", "may violate, release goods")
    (edge,) = power_edges(escrow.system)
    assert (edge.source, edge.target, edge.lines) == ("agent Arbiter", "goods", ("may violate", "may release"))
