"""Responsibility for a violated liveness property on a run on which all roles keep going.

No role stopped, so co-operation cannot help. Either some step lost the goal: no fair run reaches it afterwards. Or the
goal stays reachable and the loop avoids it: the roles whose sends make up the loop, and the sends that leave it, are
reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cplc.checking.ltl_progression import UNSATISFIABLE, VALID, NotProgressible, progression
from cplc.checking.replay import Goal, goals, is_continuation, unmet_goals
from cplc.checking.results import Avoidance, WayOut
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.formulas import Finally, Formula, Not, OnPaths
from cplc.runtime.limits import ResourceExhausted
from cplc.system.interpreter import Interpreter, interpreter_of
from cplc.system.memoize import memoize_per_system
from cplc.system.model import Justice, State, System
from cplc.system.trace import Evidence, Move, Run

MAX_EXPLORED_STATES: Final = 20_000
"""Maximum number of reachable states explored to decide whether the goal is still reachable."""
MAX_POSITIONS: Final = 200
"""Maximum number of states of the run at which this is decided."""


@memoize_per_system
def bounded_engine(system: System) -> ExplicitEngine | None:
    """Return an explicit engine of the system; None if the system has too many states."""
    engine = ExplicitEngine(system, MAX_EXPLORED_STATES)
    try:
        return engine if engine.size else None
    except ResourceExhausted:
        return None


def avoidance(system: System, evidence: Evidence) -> Avoidance | None:
    """Return how the run avoids its goal; None if a limit is exceeded.

    The evidence is a lasso that is fair to all roles, or ends in one.
    """
    chain = list(_chain(evidence))
    ending = chain[-1]
    path = violated_path(ending)
    if path is None or ending.run.loop is None:
        return None
    run = _joined(chain)
    offset = len(run.moves) - len(ending.run.moves)
    if len(run.moves) > MAX_POSITIONS or (engine := bounded_engine(system)) is None:
        return None
    try:
        goal = _Goal(system, path, engine)
        begin = run.states[offset]
        possible = [goal.is_possible(state, (), state) for state in run.states[:offset]]
        possible += [
            goal.is_possible(state, run.moves[offset:at], begin) for at, state in enumerate(run.states) if at >= offset
        ]
    except (ResourceExhausted, NotProgressible):
        return None
    if not possible[-1]:
        lost = next((at for at in range(len(run.moves), 0, -1) if possible[at - 1]), 0)
        return Avoidance(path, lost, (), ())
    first = offset + ending.run.loop
    loop = Run(run.states[first], run.moves[first:], 0)
    try:
        ways = tuple(_ways_out(goal, run, offset, first))
    except (ResourceExhausted, NotProgressible):
        ways = ()
    return Avoidance(
        path, None, acting_roles(system, loop, frozenset(way.message for way in ways if way.ensures)), ways
    )


def violated_path(ending: Evidence) -> Formula | None:
    """Return the path formula that the run violates."""
    formula = ending.formula
    if not isinstance(formula, OnPaths) or formula.along is not None or ending.holds is (formula.quantifier == "A"):
        return None
    path = formula.path
    if formula.quantifier == "A":
        return path
    return path.operand if isinstance(path, Not) else Not(path)


def _chain(evidence: Evidence) -> Iterator[Evidence]:
    """Yield the evidence and the chain of parts, each at the end of the run before, that leads to a lasso."""
    yield evidence
    if evidence.run.loop is None:
        last = len(evidence.run.moves)
        for position, part in evidence.parts:
            if (
                position == last
                and not is_continuation(part)
                and (chain := list(_chain(part)))[-1].run.loop is not None
            ):
                yield from chain
                return


def _joined(chain: list[Evidence]) -> Run:
    moves: tuple[Move, ...] = ()
    for one in chain:
        moves += one.run.moves
    return Run(chain[0].run.start, moves)


class _Goal:
    """The goal of a path, and whether it is still reachable if all roles keep going."""

    def __init__(self, system: System, path: Formula, engine: ExplicitEngine) -> None:
        self.system = system
        self.interpreter = interpreter_of(system)
        self._path = path
        self._everybody = frozenset(justice.role for justice in system.justice if justice.role is not None)
        self._engine = engine

    def is_possible(self, state: State, since: tuple[Move, ...], start: State) -> bool:
        """Tell whether some fair run from the state satisfies the progression of the goal through these moves."""
        return self._begins(self._rest(since, start), state)

    def is_certain(self, state: State, since: tuple[Move, ...], start: State) -> bool:
        """Tell whether every fair run from the state satisfies that progression."""
        rest = self._rest(since, start)
        return not self._begins(Not(rest), state)

    def _rest(self, since: tuple[Move, ...], start: State) -> Formula:
        states = (start, *(move.state for move in since))
        names = [None if move.step is None else self.system.steps[move.step].name for move in since]
        return progression(self._path, names, lambda part, at: self._satisfies(part, states[at]))

    def _begins(self, path: Formula, state: State) -> bool:
        if path in (VALID, UNSATISFIABLE):
            return path == VALID
        return self._satisfies(OnPaths("E", Finally(path, 0)), state)

    def _satisfies(self, formula: Formula, state: State) -> bool:
        return self._engine.contains(self._engine.satisfying(formula, self._everybody), state)


def acting_roles(system: System, loop: Run, avoided: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the roles whose sends make up the loop, without those that the loop does not need.

    The loop does not need a role if it still closes without the messages of the role, and fairness still does not force
    the messages ``avoided``, or any other message if none is named.
    """
    interpreter = interpreter_of(system)
    roles = list(dict.fromkeys(actor for move in loop.moves if (actor := _sender(system, move)) is not None))
    remaining = loop
    for role in tuple(roles):
        without = _without(interpreter, remaining, role, avoided)
        if without is not None:
            remaining = without
            roles.remove(role)
    return tuple(agent.name for agent in system.agents if agent.name in roles)


def _sender(system: System, move: Move) -> str | None:
    if move.step is None:
        return None
    step = system.steps[move.step]
    return step.actor if step.kind in ("send", "exchange") else None


def _without(interpreter: Interpreter, loop: Run, role: str, avoided: frozenset[str]) -> Run | None:
    """Return the loop without the messages of the role; None if it needs them."""
    system = interpreter.system
    dropped = {
        system.steps[move.step].event for move in loop.moves if move.step is not None and _sender(system, move) == role
    }
    state = loop.start
    moves: list[Move] = []
    for move in loop.moves:
        if move.step is not None and system.steps[move.step].event in dropped:
            continue
        if move.step is not None:
            if not interpreter.is_enabled(state, move.step):
                return None
            state = interpreter.after(state, move.step)[0]
        moves.append(replace(move, state=state))
    if state != loop.start:
        return None
    reduced = Run(loop.start, tuple(moves) or (Move(None, loop.start),), 0)
    everybody = frozenset(justice.role for justice in system.justice if justice.role is not None)
    forcing = [goal for goal in goals(system, everybody) if not _is_about(system, goal, dropped, avoided)]
    return None if unmet_goals(interpreter, forcing, reduced, lambda *_: False) else reduced


def _is_about(system: System, goal: Goal, dropped: set[str], avoided: frozenset[str]) -> bool:
    """Tell whether a justice constraint is about a dropped message, or one that may be forced."""
    if not isinstance(goal, Justice) or goal.role is None:
        return False
    messages = {system.steps[step].event for step in goal.steps}
    return bool(messages & dropped) or (bool(avoided) and not messages & avoided)


def _ways_out(goal: _Goal, run: Run, offset: int, first: int) -> Iterator[WayOut]:
    """Yield the sends that leave the loop, each at its first occasion: those that ensure the goal, if any."""
    system, interpreter = goal.system, goal.interpreter
    taken = {system.steps[move.step].event for move in run.moves[first:] if move.step is not None}
    sure: dict[tuple[str, str], WayOut] = {}
    possible: dict[tuple[str, str], WayOut] = {}
    for at in range(first, len(run.moves)):
        state = run.states[at]
        for index in interpreter.enabled(state):
            step = system.steps[index]
            key = step.actor, step.event
            if step.kind not in ("send", "exchange") or step.event in taken or key in sure:
                continue
            after = interpreter.after(state, index)[0]
            since = (*run.moves[offset:at], Move(index, after))
            if goal.is_certain(after, since, run.states[offset]):
                sure[key] = WayOut(step.actor, step.event, at, ensures=True)
            elif key not in possible and goal.is_possible(after, since, run.states[offset]):
                possible[key] = WayOut(step.actor, step.event, at, ensures=False)
    yield from (sure or possible).values()
