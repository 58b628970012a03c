"""The reachable states one by one, as many as somebody can want to look at."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from cplc.system import expr as e
from cplc.system.expr import Expr, Value
from cplc.system.model import State, Step, System

Values = tuple[Value, ...]
"""A state: the value of each variable, in the order of the system."""


@dataclass(frozen=True, slots=True)
class Explored:
    """Reachable states in the order of their distance from the initial ones."""

    initial: tuple[Values, ...]
    states: tuple[Values, ...]
    edges: tuple[tuple[Values, Step, Values], ...]
    """The steps out of these states, also to states that are not among them; idle steps are left out."""
    complete: bool
    """Whether these are all states."""


def explore(system: System, most: int) -> Explored:
    """Return up to ``most`` states and the steps out of them."""
    names = [variable.name for variable in system.variables]
    starts = tuple(islice(product(*(variable.initial for variable in system.variables)), most + 1))
    found = dict.fromkeys(starts[:most])
    waiting = deque(found)
    edges: list[tuple[Values, Step, Values]] = []
    complete = len(starts) <= most
    while waiting:
        values = waiting.popleft()
        before = dict(zip(names, values, strict=True))
        for step in system.steps:
            for after in _after(system, step, before):
                target = tuple(after.values())
                edges.append((values, step, target))
                if target not in found and len(found) < most:
                    found[target] = None
                    waiting.append(target)
                complete = complete and target in found
    return Explored(starts[:most], tuple(found), tuple(edges), complete)


def _after(system: System, step: Step, before: State) -> Iterator[State]:
    if not value_of(step.guard, before):
        return
    after = before | {name: value_of(value, before) for name, value in step.updates}
    for chosen in product(*(system.variable[name].initial for name in step.free)):
        yield after | dict(zip(step.free, chosen, strict=True))


def value_of(expr: Expr, state: State) -> Value:
    """Return what the expression is worth in the state."""
    match expr:
        case e.Read(variable):
            return state[variable]
        case e.Const(value):
            return value
        case e.Not(operand):
            return not value_of(operand, state)
        case e.And(operands):
            return all(value_of(operand, state) for operand in operands)
        case e.Or(operands):
            return any(value_of(operand, state) for operand in operands)
        case e.Equal(left, right):
            return value_of(left, state) == value_of(right, state)
        case e.Less(left, right):
            return int(value_of(left, state)) < int(value_of(right, state))
        case e.Arith(op, left, right):
            return e.arithmetic(op, int(value_of(left, state)), int(value_of(right, state)))
        case e.Ite(condition, then, otherwise):
            return value_of(then if value_of(condition, state) else otherwise, state)
