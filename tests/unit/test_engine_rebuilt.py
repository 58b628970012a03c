"""Engines that ran out of memory: whatever the computation was, later questions are answered by engines built afresh.

The fault is injected: at one of the calls by which engines keep their diagrams within the limit, the manager is full,
and from then on it fails forever, as a manager of the library sometimes does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cplc.compilation import CplCompilation
from cplc.engines.symbolic.bdd import Diagrams
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.parameterised import EverySize, default_allowance
from cplc.source import Source

_SHOP = """
cpl 2
protocol Shop(customers: 1..8 = 2) {
  role Mer
  role Cus[customers]
  for c in Cus {
    commitment goods = C(Mer, c, pay, ship)
    Mer -> c : offer                  means create goods
    c -> Mer : pay    after offer
    Mer -> c : ship   after pay
    Mer -> c : refund after pay unless ship means withdraw goods
    choice ship | refund
    fairness !offer | pay
    property served:   AG (pay -> EF (ship | refund))
    property vacuous:  AG (refund & ship -> offer)
    property fails:    AG !refund                       expect fails
    property knows:    AG (ship -> K(c, pay))
    property strategy: AG (pay & !sent(refund) & !sent(ship) -> <<Mer>> F (ship | refund))
    property promise:  AG (offer & !sent(ship) & !sent(refund) -> SC(Mer -> c, !pay W ship)) expect fails
  }
  check honourable, consistent, aligned, deadlock_free
}
"""
_FAMILY = """
cpl 2
protocol Family(members: 1..16 = 2) {
  role Hub
  role Mem[members]
  for m in Mem {
    m -> Hub : ask
    Hub -> m : answer   after ask
  }
  property first: forall m in Mem: AG (answer[m] -> ask[m])
  property next:  forall m in Mem: AG (ask[m] -> EF answer[m])
  property last:  exists m in Mem: EF answer[m]
}
"""


class _Fault:
    """A manager that is full at the first call from ``call`` on at which it has answered a question; 0 is no fault."""

    def __init__(self, call: int = 0) -> None:
        self.call = call
        self.calls = 0
        self.full: Diagrams[Any, Any] | None = None
        self.uses = 0
        """Number of calls of the full manager."""


@contextmanager
def _faulty(patch: pytest.MonkeyPatch, call: int = 0) -> Iterator[_Fault]:
    fault = _Fault(call)
    answered: list[Diagrams[Any, Any]] = []
    original_collect, original_satisfying = Diagrams.collect_if_needed, SymbolicEngine.satisfying

    def collect_if_needed(self: Diagrams[Any, Any]) -> None:
        fault.calls += 1
        if fault.full is None and 0 < fault.call <= fault.calls and any(self is one for one in answered):
            fault.full = self
        if self is fault.full:
            fault.uses += 1
            raise self.exhausted()
        original_collect(self)

    def satisfying(self: SymbolicEngine, *arguments: Any) -> Any:
        states = original_satisfying(self, *arguments)
        answered.append(self._representation.encoding.diagrams)
        return states

    with patch.context() as inside:
        inside.setattr(Diagrams, "collect_if_needed", collect_if_needed)
        inside.setattr(SymbolicEngine, "satisfying", satisfying)
        yield fault


_Answer = tuple[str, str, str | None]


def _verified(patch: pytest.MonkeyPatch, call: int) -> tuple[list[_Answer], int | None, _Fault]:
    """Return the answers, the position of the question at which a manager was full, and the fault."""
    compilation = CplCompilation(Source("shop.cpl", _SHOP))
    assert compilation.ok, compilation.diagnostics
    answers: list[_Answer] = []
    position = None
    with _faulty(patch, call) as fault:
        for result in compilation.verify(compilation.questions(), "symbolic"):
            if position is None and fault.full is not None:
                position = len(answers)
            answers.append((result.question.name, result.answer, result.reason))
    return answers, position, fault


def test_every_question_is_answered_although_a_manager_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdicts are the same; of the question itself, evidence and responsibility may be missing."""
    expected, _, undisturbed = _verified(monkeypatch, 0)
    assert undisturbed.calls > 100
    faults, incomplete = 0, 0
    for call in range(1, undisturbed.calls, max(1, undisturbed.calls // 24)):
        answers, position, fault = _verified(monkeypatch, call)
        if position is None:
            continue
        faults += 1
        incomplete += answers[position] != expected[position]
        remaining = [
            (one, other) for at, (one, other) in enumerate(zip(answers, expected, strict=True)) if at != position
        ]
        assert all(one == other for one, other in remaining), f"full at call {call}: {remaining}"
        assert fault.uses == 1, f"full at call {call}, and used again"
    assert faults > 10
    assert incomplete < faults


def test_every_size_is_verified_although_a_manager_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdicts(call: int) -> tuple[list[_Answer], _Fault]:
        every = EverySize(CplCompilation(Source("family.cpl", _FAMILY)), "members", default_allowance, vacuity=False)
        questions = every.of_any_size(every.compilation.questions())
        with _faulty(monkeypatch, call) as fault:
            results = list(every.verify(questions, "symbolic"))
        return [(one.question.name, one.answer, one.sizes.text if one.sizes else None) for one in results], fault

    expected, undisturbed = verdicts(0)
    for call in range(1, undisturbed.calls, max(1, undisturbed.calls // 8)):
        answers, _ = verdicts(call)
        changed = [one for one, other in zip(answers, expected, strict=True) if one != other]
        assert len(changed) <= 1, f"full at call {call}: {changed}"
