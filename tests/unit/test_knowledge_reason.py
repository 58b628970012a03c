"""Reasons for knowledge: the observation by which an agent knows, and the chain of messages behind it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from cplc.checking.results import Result
from cplc.checking.verify import Verifier
from cplc.compilation import CplCompilation
from cplc.logic.expressions import Const, Read, equal
from cplc.logic.formulas import Atom, Implies, Knows, OnPaths, subformulas
from cplc.logic.formulas import Globally as Always
from cplc.report.json_data import result_data
from cplc.report.text import result_text
from cplc.source import Source

_TEXT = """cpl 2
protocol P %s {
  role A
  role B
  role C
  commitment c = C(A, B, true, order)
  B -> A : call                  means release c
  A -> B : offer                 means create c
  A -> B : order    after offer
  B -> C : forward  after order
  C -> A : ship     after forward
  A -> C : thanks   after ship
  property by_receipt: AG (ship -> K(A, forward))
  property by_chain:   AG (ship -> K(A, K(C, order)))
  property at_first:   K(A, !order)
  property of_promise: AG (order -> K(B, fulfilled(c) | released(c)))
  property unknown:    AG (forward -> K(A, forward))
  property of_all:     AG (thanks -> EK({A, C}, order))
}
"""


@cache
def _results(channels: str) -> dict[str, Result]:
    compilation = CplCompilation(Source("p.cpl", _TEXT % channels))
    return {one.question.name: one for one in compilation.verify(compilation.questions())}


@pytest.mark.parametrize("channels", ["sync", ""])
def test_reason_implies_the_knowledge(channels: str) -> None:
    """The observation is made where the knowledge is claimed, and the content holds where it is made."""
    compilation = CplCompilation(Source("p.cpl", _TEXT % channels))
    explained = 0
    for bound in compilation.questions():
        (result,) = compilation.verify([bound])
        reason = result.knowledge
        if reason is None:
            continue
        explained += 1
        assert result.answer == "holds"
        made = Atom(equal(Read(reason.variable.name), Const(reason.value)), "it is made", in_words=True)
        implied = OnPaths("A", Always(Implies(made, reason.claim.operand)))
        assert Verifier(result.system).decide(replace(bound.question, formula=implied, findings=())) == "holds"
        assert reason.variable.name in result.system.agent[reason.claim.agents[0]].local
        assert reason.claim in [one for one in subformulas(bound.question.formula) if isinstance(one, Knows)]
    assert explained >= 3


def test_reason_is_told_with_its_chain() -> None:
    results = _results("sync")
    assert "A knows it by `ship received`: `forward` holds in every reachable state with" in result_text(
        results["by_receipt"]
    )
    assert "since `ship` is sent only after `forward`" in " ".join(result_text(results["by_receipt"]).split())
    data = result_data(results["by_receipt"])["knowledge"]
    assert isinstance(data, dict)
    assert (data["agent"], data["chain"]) == ("A", ["ship", "forward"])


def test_failing_property_has_no_reason() -> None:
    result = _results("sync")["unknown"]
    assert result.answer == "fails"
    assert result.knowledge is None
    assert result_data(result)["knowledge"] is None
