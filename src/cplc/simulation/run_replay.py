"""Replay of a recorded run by the interpreter: the longest valid prefix, and why the next step is not possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Final

from cplc.logic.expressions import And, Expr, Value
from cplc.records import dataclass
from cplc.simulation.recorded_runs import Recorded, RecordedStep
from cplc.system.interpreter import Interpreter, holds
from cplc.system.model import State, System
from cplc.system.printer import expr_text
from cplc.system.trace import Move, Run

_MOST: Final = 8
_ROUNDS: Final = 100_000


@dataclass(frozen=True)
class Misfit:
    """Why a recorded run is not a run of the protocol; ``at`` is the impossible step, 0 for the initial state."""

    at: int
    message: str
    reasons: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """The steps that are enabled there."""


@dataclass(frozen=True)
class Replayed:
    recorded: Recorded
    run: Run | None
    """The replayed prefix; None if the first state is not initial."""
    misfit: Misfit | None
    ignored: tuple[str, ...] = ()
    """Variables of the record that the system does not have."""


class _DoesNotFit(Exception):
    def __init__(self, message: str, reasons: Iterator[str] | tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.reasons = tuple(islice(reasons, _MOST))


def replayed(system: System, recorded: Recorded) -> Replayed:
    """Replay the run."""
    interpreter = Interpreter(system)
    ignored = tuple(sorted(recorded.variables - system.variable.keys()))
    try:
        start = _start(system, recorded.start)
    except _DoesNotFit as problem:
        return Replayed(recorded, None, Misfit(0, problem.message, problem.reasons), ignored)
    moves: list[Move] = []
    state = start
    for at, step in enumerate(recorded.steps, 1):
        try:
            move = _round(interpreter, state, step) if system.is_synchronous else _move(interpreter, state, step)
        except _DoesNotFit as problem:
            instead = tuple(system.steps[index].name for index in interpreter.enabled(state))
            misfit = Misfit(at, problem.message, problem.reasons, instead)
            return Replayed(recorded, Run(start, tuple(moves)), misfit, ignored)
        moves.append(move)
        state = move.state
    run = Run(start, tuple(moves), recorded.loop)
    if run.loop is not None and run.states[run.loop] != state:
        reasons = tuple(islice(_differences(run.states[run.loop], state), _MOST))
        message = f"the run does not return to its state {run.loop}"
        return Replayed(recorded, Run(start, tuple(moves)), Misfit(len(moves), message, reasons), ignored)
    return Replayed(recorded, run, None, ignored)


def _start(system: System, given: Mapping[str, Value]) -> State:
    state: State = {}
    wrong: list[str] = []
    for variable in system.variables:
        name, initial = variable.name, variable.initial
        if name not in given:
            state[name] = initial[0]
            continue
        written = {_typed(value): value for value in initial}.get(_typed(given[name]))
        if written is None:
            among = " or ".join(_text(value) for value in initial[:_MOST])
            wrong.append(f"`{name}` is {_text(given[name])} at first, not {among}")
        else:
            state[name] = written
    if wrong:
        raise _DoesNotFit("the first state is not one that runs begin in", iter(wrong))
    if not holds(system.start, state):
        raise _DoesNotFit("the first state is not one that runs begin in", _failing(system.start, state))
    return state


def _typed(value: Value) -> tuple[bool, Value]:
    """Distinguish 1 from true, which are equal in Python."""
    return isinstance(value, bool), value


def _move(interpreter: Interpreter, state: State, step: RecordedStep) -> Move:
    system = interpreter.system
    if step.name is None:
        written = {name: value for name, value in (step.writes or {}).items() if name in state}
        if any(_typed(state[name]) != _typed(value) for name, value in written.items()):
            raise _DoesNotFit("nothing happens, and yet something changes", _unlike(state, written))
        return Move(None, state)
    index = _step_named(interpreter, state, step.name)
    taken = system.steps[index]
    if not interpreter.is_enabled(state, index):
        raise _DoesNotFit(f"`{taken.name}` is not possible", _failing(taken.guard, state))
    ways = interpreter.after(state, index)
    if step.writes is None:
        return Move(index, ways[0])
    expected = state | {name: value for name, value in step.writes.items() if name in state}
    for way in ways:
        if all(_typed(way[name]) == _typed(value) for name, value in expected.items()):
            return Move(index, way)
    nearest = min(ways, key=lambda way: sum(way[name] != value for name, value in expected.items()))
    raise _DoesNotFit(f"`{taken.name}` does not do that", _unlike(nearest, expected))


def _step_named(interpreter: Interpreter, state: State, name: str) -> int:
    """Return the step of this name or, for the name of a message, its enabled step."""
    steps = interpreter.system.steps
    for index, step in enumerate(steps):
        if step.name == name:
            return index
    about = [index for index, step in enumerate(steps) if step.event == name]
    possible = [index for index in about if interpreter.is_enabled(state, index)]
    if len(possible) > 1:
        raise _DoesNotFit(f"`{name}` may be {', '.join(f'`{steps[index].name}`' for index in possible[:_MOST])}")
    if about:
        return (possible or about)[0]
    close = get_close_matches(name, [step.name for step in steps], 1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    raise _DoesNotFit(f"there is no step `{name}`{hint}")


def _round(interpreter: Interpreter, state: State, step: RecordedStep) -> Move:
    """Replay a round; players with a single action may be left out."""
    players = interpreter.system.players
    if step.actions or step.name is None:
        recorded_actions = dict(step.actions)
    else:  # a trace lists the actions of all players in their order
        recorded_actions = dict(zip((player.agent for player in players), step.name.split(", "), strict=False))
    actions: list[str] = []
    for player in players:
        allowed = [action.name for action in player.actions if holds(action.allowed, state)]
        action = recorded_actions.get(player.agent, allowed[0] if len(allowed) == 1 else None)
        if action is None:
            raise _DoesNotFit(f"it is not said what `{player.agent}` does")
        if action not in allowed:
            raise _DoesNotFit(f"`{player.agent}` cannot do `{action}`, only {', '.join(allowed[:_MOST]) or 'nothing'}")
        actions.append(action)
    if step.writes is not None:
        target = state | {name: value for name, value in step.writes.items() if name in state}
        if interpreter.leads_to(state, actions, target):
            return Move(None, target, tuple(actions))
        raise _DoesNotFit("what is done does not lead there", _unlike(state, target))
    way = next(islice(interpreter.after_round(state, actions), _ROUNDS), None)
    if way is None:
        raise _DoesNotFit("what is done leads nowhere")
    return Move(None, way, tuple(actions))


def _unlike(actual: State, expected: Mapping[str, Value]) -> Iterator[str]:
    for name, value in expected.items():
        if _typed(actual[name]) != _typed(value):
            yield f"`{name}` becomes {_text(actual[name])}, not {_text(value)}"


def _differences(then: State, now: State) -> Iterator[str]:
    for name, value in then.items():
        if now[name] != value:
            yield f"`{name}` was {_text(value)} and is {_text(now[name])}"


def _failing(guard: Expr, state: State) -> Iterator[str]:
    """Yield the parts of a condition that do not hold."""
    parts = guard.operands if isinstance(guard, And) else (guard,)
    for part in parts:
        if not holds(part, state):
            yield f"`{expr_text(part)}` does not hold"


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
