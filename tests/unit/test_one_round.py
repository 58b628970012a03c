"""Evidence about single rounds: a predecessor, the absence of successors, and fairness of the states shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cplc.checking.counterexamples import explain
from cplc.checking.replay import replay
from cplc.checking.results import Question
from cplc.checking.verify import Verifier
from cplc.compilation import IsplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.expressions import Const, Equal, Expr, Not, Read
from cplc.logic.formulas import Adjacent, Atom, Formula, Knows
from cplc.source import Source
from cplc.system.model import State
from cplc.system.trace import Evidence, Move, Run

_MODEL = """
Agent Environment
  Vars: x : {a, b, out}; end Vars
  Actions = {go, stop};
  Protocol: Other : {go, stop}; end Protocol
  Evolution:
    x = b if x = a and Action = go;
    x = a if x = b and Action = go;
    x = out if Action = stop;
  end Evolution
end Agent
Agent P
  Vars: y : boolean; end Vars
  Actions = {flip, keep};
  Protocol: Other : {flip, keep}; end Protocol
  Evolution: y = ~y if Action = flip; end Evolution
end Agent
Evaluation
  a if Environment.x = a;
  over if Environment.x = out;
end Evaluation
InitStates Environment.x = a and P.y = false; end InitStates
FAIRNESS
Formulae
  EF over; AG a;
end Formulae
"""
_FAIRNESS = "Fairness a; end Fairness"


def _reading(fairness: str = "") -> IsplCompilation:
    reading = IsplCompilation(Source("rounds.ispl", _MODEL.replace("FAIRNESS", fairness)))
    assert reading.ok, reading.diagnostics
    return reading


def _is(variable: str, value: str) -> Expr:
    return Equal(Read(variable), Const(value))


_A = Atom(_is("Environment.x", "a"), "a")
_B = Atom(_is("Environment.x", "b"), "b")
_SAME = (("P.y", "P.y"),)
_KEPT = ("P.Action", "keep")


def _explained(reading: IsplCompilation, formula: Formula, x: str, y: bool) -> Evidence:
    engine = ExplicitEngine(reading.system)
    state: State = {"Environment.x": x, "P.y": y}
    holds = engine.contains(engine.satisfying(formula), state)
    return explain(engine, formula, state, holds)


def _problems(reading: IsplCompilation, evidence: Evidence) -> list[str]:
    """Return what is wrong with it, but that it does not begin in an initial state."""
    return [one for one in replay(reading.system, evidence) if one != "the run does not begin in an initial state"]


def test_predecessor_round_shown_with_run_to_its_source() -> None:
    reading = _reading()
    formula = Adjacent(_A, _SAME, _KEPT, back=True)
    evidence = _explained(reading, formula, "b", True)
    assert evidence.holds
    assert evidence.elsewhere is not None
    assert evidence.elsewhere.states[-1] == {"Environment.x": "a", "P.y": True}
    assert not _problems(reading, evidence)
    elsewhere = Run(evidence.elsewhere.start, ())
    assert "no such round leads here" in _problems(reading, replace(evidence, elsewhere=elsewhere))
    assert _problems(reading, replace(evidence, elsewhere=None, alternative=None, exhaustive=True))


def test_absence_of_round_shown_by_enumeration() -> None:
    reading = _reading()
    evidence = _explained(reading, Adjacent(_A, _SAME), "a", False)
    assert not evidence.holds
    assert not evidence.exhaustive
    assert not _problems(reading, evidence)
    lying = replace(evidence, formula=Adjacent(_B, _SAME))
    assert "some round may lead there" in _problems(reading, lying)


def test_enumeration_needs_state_condition() -> None:
    reading = _reading()
    evidence = _explained(reading, Adjacent(Knows("each", ("P",), _A), ()), "a", False)
    assert not evidence.holds
    assert evidence.exhaustive


@pytest.mark.parametrize(
    "formula",
    [
        Knows("each", ("P",), _A),
        Adjacent(_A, _SAME, back=True),
        Knows("common", ("P",), _A),
        Knows("together", (), _A),
    ],
)
def test_fair_run_from_other_state_is_shown(formula: Formula) -> None:
    reading = _reading(_FAIRNESS)
    evidence = _explained(reading, formula, "b", False)
    assert evidence.holds == isinstance(formula, Adjacent)
    assert not _problems(reading, evidence)
    bare = replace(evidence, lasting=None)
    assert "no fair run is shown to begin in the other state" in _problems(reading, bare)


def test_excluded_state_is_never_shown() -> None:
    reading = _reading(_FAIRNESS)
    over = Atom(_is("Environment.x", "out"), "over")
    assert _explained(reading, Knows("each", ("P",), Atom(Not(over.condition), "!over")), "a", False).holds
    after = _explained(reading, Adjacent(over, ()), "a", False)
    assert not after.holds
    assert after.exhaustive  # there is such a round, but no fair run goes on from there
    lying = Run(after.run.start, (Move(None, {"Environment.x": "out", "P.y": False}, ("stop", "keep")),))
    claimed = replace(after, holds=True, exhaustive=False, run=lying)
    assert "no fair run is shown to begin after the round" in _problems(reading, claimed)


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
@pytest.mark.parametrize("fairness", ["", _FAIRNESS])
def test_all_engines_show_one_round_evidence(engine: str, fairness: str) -> None:
    reading = _reading(fairness)
    question = Question("came", "property", Adjacent(_B, _SAME, back=True), "came from b")
    result = Verifier(reading.system, engine).answer(question)  # type: ignore[arg-type]
    assert (result.answer, result.reason) == ("holds", None)
    assert result.evidence is not None
    assert not result.evidence.exhaustive
