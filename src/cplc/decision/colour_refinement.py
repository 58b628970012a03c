"""Colour refinement of the variables of a system (1-dimensional Weisfeiler-Leman).

Variables that an automorphism exchanges have the same colour. The converse need not hold, so callers verify it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cplc.decision.components import rewards_by_step
from cplc.logic.expressions import And, Expr, Or, Read, children, length
from cplc.system.model import System
from cplc.system.participant import Participant

_MAX_EXPRESSION_SIZE = 200_000
"""Maximum number of operators and operands of all expressions."""


def colours(system: System, participant: Participant, conditions: Sequence[Expr]) -> dict[str, int]:
    """Return the stable colouring; all variables differ if the expressions are too large."""
    exprs = [
        *conditions,
        *(step.guard for step in system.steps),
        *(to for step in system.steps for _, to in step.updates),
    ]
    if sum(length(one, _MAX_EXPRESSION_SIZE) for one in exprs) > _MAX_EXPRESSION_SIZE:
        return {name: at for at, name in enumerate(system.variable)}
    numbers: dict[object, int] = {}
    colour = {one.name: numbers.setdefault((one.domain, one.initial), len(numbers)) for one in system.variables}
    classes = 0
    while len(set(colour.values())) > classes:
        classes = len(set(colour.values()))
        signatures = _Signatures(colour)
        signatures.collect(system, participant, conditions)
        numbers = {}
        colour = {
            name: numbers.setdefault((old, *sorted(signatures.by_variable[name])), len(numbers))
            for name, old in colour.items()
        }
    return colour


class _Signatures:
    """The occurrences of each variable, described by colours."""

    def __init__(self, colour: Mapping[str, int]) -> None:
        self.colour = colour
        self.numbers: dict[object, int] = {}
        self.by_variable: dict[str, list[int]] = {name: [] for name in colour}

    def number(self, what: object) -> int:
        return self.numbers.setdefault(what, len(self.numbers))

    def collect(self, system: System, participant: Participant, conditions: Sequence[Expr]) -> None:
        worth = rewards_by_step(participant)
        steps = []
        for index, step in enumerate(system.steps):
            updates = tuple(sorted((self.colour[name], self.form(to)) for name, to in step.updates))
            free = tuple(sorted(self.colour[name] for name in step.free))
            mine = step.actor in participant.agents
            about = self.number((step.kind, mine, self.form(step.guard), updates, free, worth.get(index)))
            steps.append(about)
            self.record(step.guard, ("guard", about))
            for name, to in step.updates:
                self.by_variable[name].append(self.number(("written", about, self.form(to))))
                self.record(to, ("update", about, self.colour[name]))
            for name in step.free:
                self.by_variable[name].append(self.number(("free", about)))
        for belief in participant.beliefs:
            events = tuple((tuple(steps[step] for step in one.steps), one.low, one.high) for one in belief.events)
            about = self.number(("belief", self.form(belief.condition), events))
            self.record(belief.condition, ("belief", about))
            for at, one in enumerate(belief.events):
                for name in {name for step in one.steps for name in system.steps[step].footprint}:
                    self.by_variable[name].append(self.number(("event", about, at)))
        for decision in participant.decisions:
            about = self.number(("decision", self.form(decision.condition), tuple(steps[s] for s in decision.steps)))
            self.record(decision.condition, ("decision", about))
        for condition in conditions:
            self.record(condition, ("asked", self.form(condition)))

    def form(self, expr: Expr) -> int:
        match expr:
            case Read(name):
                return self.number(("read", self.colour[name]))
            case And(operands) | Or(operands):
                return self.number((type(expr).__name__, *sorted(map(self.form, operands))))
            case _:
                inner = tuple(map(self.form, children(expr)))
                return self.number((type(expr).__name__, inner, _operator_data(expr)))

    def record(self, expr: Expr, where: object) -> None:
        """Record the position of each variable in the expression."""
        if isinstance(expr, Read):
            self.by_variable[expr.variable].append(self.number(where))
            return
        ordered = not isinstance(expr, And | Or)
        for at, child in enumerate(children(expr)):
            self.record(child, (self.number(where), type(expr).__name__, at if ordered else self.form(child)))


def _operator_data(expr: Expr) -> object:
    """Return the data of an expression besides its operands."""
    value = getattr(expr, "value", None)
    return type(value).__name__, value, getattr(expr, "op", None)


def linked_sets(system: System, participant: Participant, colour: Mapping[str, int]) -> Iterator[set[str]]:
    """Yield sets of variables that occur together, except under a quantifier over equally coloured operands."""
    signatures = _Signatures(colour)
    for step in system.steps:
        names = set(step.writes)
        for expr in (step.guard, *(to for _, to in step.updates)):
            names |= _linked_variables(signatures, expr)
        yield names
    for belief in participant.beliefs:
        steps = (system.steps[step] for event in belief.events for step in event.steps)
        yield _linked_variables(signatures, belief.condition).union(*(step.writes for step in steps))
    for decision in participant.decisions:
        yield _linked_variables(signatures, decision.condition).union(
            *(system.steps[step].writes for step in decision.steps)
        )


def _linked_variables(signatures: _Signatures, expr: Expr) -> set[str]:
    if isinstance(expr, Read):
        return {expr.variable}
    parts = [_linked_variables(signatures, child) for child in children(expr)]
    if isinstance(expr, And | Or):
        forms = [signatures.form(child) for child in children(expr)]
        parts = [part for part, form in zip(parts, forms, strict=True) if forms.count(form) == 1]
    return set().union(*parts)
