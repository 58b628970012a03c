"""Verdicts of the simulator: a question of the initial state is answered, and none contradicts the verification."""

from __future__ import annotations

from functools import cache

import pytest

from cplc.compilation import CplCompilation
from cplc.simulation.interactive_session import RunVerdict, RunVerdicts, begin
from cplc.simulation.rng import RandomSource
from cplc.source import Source

_TEXT = """cpl 2
protocol P {
  role A
  role B
  commitment c = C(A, B, go, done)
  A -> B : offer   means create c
  B -> A : go      after offer
  A -> B : done    after go
  property able:    <<A>> F offer
  property unable:  <<B>> F done
  property knows:   K(A, !go) & EK({A, B}, !done)
  property not_so:  K(A, offer)
  property nothing: !C(A -> B, done)
  property now:     !offer & !go
  property reach:   EF done
  property safe:    AG (done -> go)
  property both:    K(A, !go) & AG (done -> go)
}
"""
_OF_START = "a question of the initial state"


@cache
def _compilation() -> CplCompilation:
    return CplCompilation(Source("p.cpl", _TEXT))


def _verdicts(length: int) -> dict[str, RunVerdict]:
    verdicts: dict[str, RunVerdict] = {}
    for one in _compilation().questions():
        session = begin(one.system, RandomSource(1))
        assert session is not None
        run = session.at_random(RandomSource(2), length).run
        verdicts[one.question.name] = RunVerdicts(one.system).verdict(one.question.formula, one.question.assuming, run)
    return verdicts


@pytest.mark.parametrize("length", [0, 1, 3])
def test_question_of_the_initial_state_is_answered_as_such(length: int) -> None:
    verdicts = _verdicts(length)
    expected = {
        "able": "holds",
        "unable": "fails",
        "knows": "holds",
        "not_so": "fails",
        "nothing": "holds",
        "now": "holds",
    }
    assert {name: verdicts[name] for name in expected} == {
        name: RunVerdict("holds" if verdict == "holds" else "fails", _OF_START) for name, verdict in expected.items()
    }
    assert {verdicts[name].verdict for name in ("reach", "safe", "both")} == {"undecided"}


def test_verdict_of_a_run_never_contradicts_the_verification() -> None:
    answers = {result.question.name: result.answer for result in _compilation().verify(_compilation().questions())}
    for length in range(7):
        for name, shown in _verdicts(length).items():
            assert shown.verdict in ("undecided", "unknown", answers[name])
