"""How questions are answered: on slices, with evidence that replays, and with honest answers where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cplc.checking import engine_selector
from cplc.checking import verify as verify_module
from cplc.checking.results import Result
from cplc.checking.verify import Verifier, verify
from cplc.compilation import BoundQuestion, CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.formulas import Finally, OnPaths
from cplc.reductions.component_slicing import RunLifting
from cplc.reductions.problem import LiftingError
from cplc.reductions.timed_components import TimedComponents
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source

TEXT = """protocol Pairs(n: 1..9 = 3) {
  role Hub
  role Leaf[n]
  for l in Leaf {
    Hub -> l : ask
    l -> Hub : answer  after ask
    l -> Hub : refuse  after ask
    choice answer | refuse
  }
  property all: EF (forall l in Leaf: answer[l])
  property one: forall l in Leaf: AG !answer[l]
  property crossed: EF (answer[1] & refuse[1] & answer[2])
  property either: AG !answer[1] | EF answer[2]
}
"""


def compiled() -> CplCompilation:
    compilation = CplCompilation(Source("pairs.cpl", TEXT))
    assert compilation.ok
    return compilation


def results(engine: str) -> Iterator[Result]:
    compilation = compiled()
    return compilation.verify(compilation.declared_questions(), "explicit" if engine == "explicit" else "symbolic")


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_verdicts_do_not_depend_on_slicing(engine: str) -> None:
    assert [result.answer for result in results(engine)] == ["holds", "fails", "fails", "holds"]


def test_a_failure_is_shown_on_the_slice_it_depends_on() -> None:
    sliced = list(results("symbolic"))[1]
    whole = list(results("explicit"))[1]
    assert sliced.left_out == len(whole.system.variables) - len(sliced.system.variables) > 0
    assert whole.left_out == 0
    assert sliced.evidence is not None
    assert whole.evidence is not None
    taken = [
        [None if move.step is None else result.system.steps[move.step].name for move in result.evidence.run.moves]
        for result in (sliced, whole)
        if result.evidence is not None
    ]
    assert taken[0] == taken[1] == ["send ask[1]", "receive ask[1]", "send answer[1]", "receive answer[1]"]


def test_a_run_of_a_slice_that_the_whole_forbids_is_noticed() -> None:
    sliced = list(results("symbolic"))[1]
    assert sliced.evidence is not None
    whole = compiled().system
    RunLifting(TimedComponents(whole), sliced.system).check(sliced.evidence)
    first, *_ = (step for step in whole.steps if step.name == "send ask[1]")
    blocked = replace(
        whole,
        steps=tuple(
            replace(step, guard=whole.messages[-1].received) if step == first else step for step in whole.steps
        ),
    )
    with pytest.raises(LiftingError, match=r"`send ask\[1\]` is possible in a part of the system and not in the whole"):
        RunLifting(TimedComponents(blocked), sliced.system).check(sliced.evidence)


def asked(name: str) -> BoundQuestion:
    (one,) = compiled().questions([name])
    return one


def test_an_engine_that_gives_up_makes_the_answer_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    one = asked("all")

    def given_up(*_: object) -> ExplicitEngine:
        return ExplicitEngine(one.system, limit=3)

    monkeypatch.setattr(engine_selector, "_engine", given_up)
    (result,) = verify(one.system, [one.question], "explicit")
    assert result.answer == "unknown"
    assert result.reason
    assert not result.as_expected


def test_verdict_stands_without_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise ResourceExhausted("no more memory")

    monkeypatch.setattr(verify_module, "explain_initial", exhausted)
    one = asked("one")
    result = Verifier(one.system, "explicit").answer(one.question)
    assert (result.answer, result.evidence) == ("fails", None)
    assert result.reason == "the run could not be made: no more memory"


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_evidence_that_does_not_replay_is_never_shown(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = asked("one")
    (good,) = verify(one.system, [one.question], "explicit")
    assert good.evidence is not None
    wrong = replace(good.evidence, holds=True)
    monkeypatch.setattr(verify_module, "explain_initial", lambda *_: wrong)
    result = Verifier(one.system, "explicit" if engine == "explicit" else "symbolic").answer(one.question)
    assert (result.answer, result.evidence) == ("unknown", None)
    assert result.reason is not None
    assert result.reason.startswith("internal: evidence does not replay")


def test_reachability_of_independent_components_is_product() -> None:
    one = asked("all")
    formula = one.question.formula
    assert isinstance(formula, OnPaths)
    assert isinstance(formula.path, Finally)
    (result,) = verify(one.system, [one.question], "symbolic")
    assert result.answer == "holds"
    assert result.evidence is not None
    assert len(result.evidence.run.moves) == 12
