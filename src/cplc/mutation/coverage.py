"""Mutation coverage of a specification: every mutant is verified again.

A mutant is noticed (killed) if some verdict differs from that of the original protocol. One that is not noticed either
is equivalent in all reachable states, or shows behaviour that the properties leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from cplc.checking.engine_selector import EngineName
from cplc.checking.results import Answer, Question
from cplc.checking.verify import Verifier
from cplc.logic.expressions import FALSE, TRUE, Expr, Read, conj, disj, equal, negate
from cplc.logic.formulas import Atom, Globally, Not, OnPaths
from cplc.mutation.mutants import Mutant
from cplc.mutation.round_difference import round_difference
from cplc.records import dataclass
from cplc.system.model import Step, System

Asking = Callable[[Any], tuple[System, Sequence[tuple[Question, System]]]]
"""Returns the system of a mutant's model and its questions, each with its system; of the original for None."""

Verdict = Literal["noticed", "unnoticed", "no effect", "unknown"]


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant[Any]
    verdict: Verdict
    by: str | None = None
    """The first property or check that notices it."""


def coverage(
    asking: Asking, mutants: Iterator[Mutant[Any]], engine: EngineName = "auto", among: range | None = None
) -> Iterator[Outcome]:
    """Yield the outcome of each mutant, or of those in this range, in their order."""
    original, questions = asking(None)
    explored = Verifier(original.without_conditions, engine)  # reachability, without fairness
    expected = _Answers(questions, engine)
    order = list(range(len(expected.asked)))
    for mutant in mutants if among is None else islice(mutants, among.start, among.stop):
        changed, questions = asking(mutant.model)
        different = difference(original, changed)
        if different is not None and not _happens(explored, different):
            yield Outcome(mutant, "no effect")
            continue
        answers = _Answers(questions, engine)
        noticing = next((number for number in order if _differ(expected[number], answers[number])), None)
        if noticing is not None:
            order.remove(noticing)
            order.insert(0, noticing)  # it often notices the next mutant too
            yield Outcome(mutant, "noticed", answers.asked[noticing][0].name)
        elif any("unknown" in (expected[number], answers[number]) for number in order):
            yield Outcome(mutant, "unknown")
        else:
            yield Outcome(mutant, "unnoticed")


class _Answers:
    """The verdicts of one protocol, computed on demand."""

    def __init__(self, questions: Sequence[tuple[Question, System]], engine: EngineName) -> None:
        self.asked = questions
        self._engine = engine
        self._verifiers: dict[int, Verifier] = {}
        self._known: dict[int, Answer] = {}

    def __getitem__(self, number: int) -> Answer:
        if number not in self._known:
            question, system = self.asked[number]
            verifier = self._verifiers.setdefault(id(system), Verifier(system, self._engine))
            self._known[number] = verifier.decide(question)
        return self._known[number]


def _differ(one: Answer, other: Answer) -> bool:
    return one != other and "unknown" not in (one, other)


def _happens(verifier: Verifier, condition: Expr) -> bool:
    """Return whether the condition holds in some reachable state, from whichever initial state."""
    formula = OnPaths("A", Globally(Not(Atom(condition, "a difference"))))
    return verifier.decide(Question("difference", "model", formula, "no difference is met")) != "holds"


# --- two systems


def difference(one: System, other: System) -> Expr | None:
    """Return the condition under which the systems differ in a step; None if their states are not comparable."""
    variables = [
        [(variable.name, variable.domain, variable.initial) for variable in system.variables] for system in (one, other)
    ]
    if variables[0] != variables[1] or one.conditions != other.conditions:
        return None
    if one.players:
        return round_difference(one, other)
    steps, changed = ({step.name: step for step in system.steps} for system in (one, other))
    return disj(_differs(steps.get(name), changed.get(name)) for name in {**steps, **changed})


def _differs(one: Step | None, other: Step | None) -> Expr:
    """Return the condition under which exactly one of the steps is enabled, or their effects differ."""
    if one is None or other is None:
        step = one or other
        return FALSE if step is None else step.guard
    if one == other:
        return FALSE
    only_one = disj((conj((one.guard, negate(other.guard))), conj((other.guard, negate(one.guard)))))
    return disj((only_one, conj((one.guard, _leads_elsewhere(one, other)))))


def _leads_elsewhere(one: Step, other: Step) -> Expr:
    if one.free != other.free:
        return TRUE
    mine, theirs = dict(one.updates), dict(other.updates)
    return disj(negate(equal(mine.get(name, Read(name)), theirs.get(name, Read(name)))) for name in {**mine, **theirs})
