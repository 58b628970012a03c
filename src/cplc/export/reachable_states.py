"""Bounded breadth-first exploration of the reachable states, for drawings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from cplc.export.request import CannotExport
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import State, Step, System
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.synchronous import Change

_MAX_EDGES: Final = 1_000_000
"""Maximum number of transitions."""

Values = tuple[Value, ...]
"""A state: the value of each variable, in the order of the system."""


@dataclass(frozen=True, slots=True)
class StateGraph:
    """Reachable states in the order of their distance from the initial ones."""

    initial: tuple[Values, ...]
    states: tuple[Values, ...]
    edges: tuple[tuple[Values, str, Values], ...]
    """Transitions from these states, also to unexplored ones, with the names of steps; no idle steps.

    A round is named by the actions of agents that have a choice.
    """
    complete: bool
    """All reachable states were explored."""


def explore(system: System, max_states: int) -> StateGraph:
    """Return up to ``max_states`` states and their outgoing transitions."""
    names = [variable.name for variable in system.variables]
    initial = satisfying_assignments({variable.name: variable.initial for variable in system.variables}, system.start)
    starts = tuple(tuple(state.values()) for state in islice(initial, max_states + 1))
    reached = dict.fromkeys(starts[:max_states])
    waiting = deque(reached)
    edges: list[tuple[Values, str, Values]] = []
    complete = len(starts) <= max_states
    while waiting:
        values = waiting.popleft()
        before = dict(zip(names, values, strict=True))
        ahead = list(islice(_successors(system, before), _MAX_EDGES - len(edges) + 1))
        if len(edges) + len(ahead) > _MAX_EDGES:
            raise CannotExport(f"there are more than {_MAX_EDGES:,} transitions, too many for a drawing")
        for name, after in ahead:
            target = tuple(after[name] for name in names)
            edges.append((values, name, target))
            if target not in reached and len(reached) < max_states:
                reached[target] = None
                waiting.append(target)
            complete = complete and target in reached
    return StateGraph(starts[:max_states], tuple(reached), tuple(edges), complete)


def _successors(system: System, before: State) -> Iterator[tuple[str, State]]:
    """Yield the successors of a state with the names of steps or rounds."""
    for step in system.steps:
        yield from ((step.name, after) for after in _step_successors(system, step, before))
    if system.is_synchronous:
        yield from _rounds(system, before)


def _rounds(system: System, before: State) -> Iterator[tuple[str, State]]:
    allowed = [[one.name for one in player.actions if evaluate(one.allowed, before)] for player in system.players]
    for actions in product(*allowed):
        done = [
            f"{player.agent}: {action}"
            for player, action, choices in zip(system.players, actions, allowed, strict=True)
            if len(choices) > 1
        ]
        state = before | {player.choice: action for player, action in zip(system.players, actions, strict=True)}
        ways = [_rule_outcomes(rule, state) for player in system.players for rule in player.rules]
        for way in product(*ways):
            after = before | {name: value for changes in way for name, value in changes.items()}
            if all(value in system.variable[name].domain for changes in way for name, value in changes.items()):
                yield ", ".join(done) or "next", after


def _rule_outcomes(rule: tuple[Change, ...], state: State) -> list[State]:
    """Return the possible updates of a rule."""
    made = [change for change in rule if evaluate(change.guard, state)]
    return [{name: evaluate(value, state) for name, value in change.updates} for change in made] or [{}]


def _step_successors(system: System, step: Step, before: State) -> Iterator[State]:
    if not evaluate(step.guard, before):
        return
    after = before | {name: evaluate(value, before) for name, value in step.updates}
    for chosen in product(*(system.variable[name].initial for name in step.free)):
        yield after | dict(zip(step.free, chosen, strict=True))


def evaluate(expr: Expr, state: State) -> Value:
    """Return the value of the expression in the state."""
    match expr:
        case e.Read(variable):
            return state[variable]
        case e.Const(value):
            return value
        case e.Not(operand):
            return not evaluate(operand, state)
        case e.And(operands):
            return all(evaluate(operand, state) for operand in operands)
        case e.Or(operands):
            return any(evaluate(operand, state) for operand in operands)
        case e.Equal(left, right):
            return evaluate(left, state) == evaluate(right, state)
        case e.Less(left, right):
            return int(evaluate(left, state)) < int(evaluate(right, state))
        case e.Arith(op, left, right):
            return e.arithmetic(op, int(evaluate(left, state)), int(evaluate(right, state)))
        case e.Ite(condition, then, otherwise):
            return evaluate(then if evaluate(condition, state) else otherwise, state)
