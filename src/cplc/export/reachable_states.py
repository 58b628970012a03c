"""Bounded breadth-first exploration of the reachable states, for drawings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from cplc.export.request import CannotExport
from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System
from cplc.system.satisfying_assignments import satisfying_assignments

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
    names, interpreter = [variable.name for variable in system.variables], Interpreter(system)
    initial = satisfying_assignments({variable.name: variable.initial for variable in system.variables}, system.start)
    starts = tuple(tuple(state.values()) for state in islice(initial, max_states + 1))
    reached = dict.fromkeys(starts[:max_states])
    waiting = deque(reached)
    edges: list[tuple[Values, str, Values]] = []
    complete = len(starts) <= max_states
    while waiting:
        values = waiting.popleft()
        before = dict(zip(names, values, strict=True))
        ahead = list(islice(_successors(interpreter, before), _MAX_EDGES - len(edges) + 1))
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


def _successors(interpreter: Interpreter, before: State) -> Iterator[tuple[str, State]]:
    """Yield the successors of a state with the names of steps or rounds."""
    system = interpreter.system
    for number, step in enumerate(system.steps):
        yield from ((step.name, after) for after in interpreter.after(before, number))
    if system.players:
        allowed = [interpreter.allowed(player, before) for player in system.players]
        for actions in product(*allowed):
            done = [
                f"{player.agent}: {action}"
                for player, action, choices in zip(system.players, actions, allowed, strict=True)
                if len(choices) > 1
            ]
            yield from ((", ".join(done) or "next", after) for after in interpreter.after_round(before, actions))
