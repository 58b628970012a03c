"""Recorded runs and their replay: the longest valid prefix, and why the next step is not possible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from itertools import islice
from typing import Final, Literal, cast

from cplc.logic.expressions import And, Expr, Value, value_text
from cplc.records import dataclass
from cplc.system.interpreter import Interpreter, holds
from cplc.system.model import State, System
from cplc.system.printer import expr_text
from cplc.system.trace import Move, Run

# --- Parser of recorded runs: from `verify --format json`, `simulate --format json`, `--itf`, or written by hand
#
# Only the form is checked here; `cplc.simulation.run_replay` checks that the protocol has such a run.


_IDLE: Final = ("idle", "nothing happens")
_ARGUMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^,"]+')


class Unreadable(ValueError):
    """Raised for a document that is not a recorded run; the text says where and why."""


@dataclass(frozen=True)
class RecordedStep:
    name: str | None
    """The step, or the message that is sent; None for idling and for rounds."""
    actions: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, Value] | None = None
    """The changed variables; None if they are not recorded."""
    is_relevant: bool = True
    """False if the record says that the step does not matter for its question."""


@dataclass(frozen=True)
class Recorded:
    name: str
    start: Mapping[str, Value]
    steps: tuple[RecordedStep, ...]
    loop: int | None = None

    @property
    def variables(self) -> frozenset[str]:
        """Every variable that it mentions."""
        return frozenset(self.start).union(*(step.writes or () for step in self.steps))

    @property
    def texts(self) -> frozenset[str]:
        """Every value that is a text, and what stands in parentheses in the name of a step."""
        values = [*self.start.values(), *(value for step in self.steps for value in (step.writes or {}).values())]
        payloads = (step.name.partition("(")[2].rstrip(")") for step in self.steps if step.name is not None)
        return frozenset(text.strip() for payload in payloads for text in _ARGUMENT.findall(payload)).union(
            value for value in values if isinstance(value, str)
        )


@dataclass(frozen=True)
class Recording:
    """The runs of one document, and the model that it names."""

    runs: tuple[Recorded, ...]
    file: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    channels: Literal["sync", "async"] | None = None
    protocol: str | None = None


def recording(text: str) -> Recording:
    """Parse the document."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError as problem:
        raise Unreadable(f"it is not JSON: {problem}") from None
    if not isinstance(document, dict):
        raise Unreadable("it is JSON, but no object")
    runs = tuple(_runs(document))
    channels = document.get("channels")
    protocol = document.get("protocol")
    file = document.get("file")
    return Recording(
        runs,
        file if isinstance(file, str) else None,
        _texts(document.get("parameters", {}), "parameters"),
        channels if channels in ("sync", "async") else None,
        protocol if isinstance(protocol, str) else None,
    )


def _runs(document: Mapping[str, object]) -> Iterator[Recorded]:
    """Yield the runs: of every question with evidence, of a simulation, or the only one."""
    match document:
        case {"results": list(results)}:
            for at, result in enumerate(results):
                result_object = _object(result, f"results[{at}]")
                if result_object.get("story") is not None:
                    name = result_object.get("name")
                    yield _run(
                        result_object["story"], f"results[{at}].story", name if isinstance(name, str) else str(at)
                    )
        case {"runs": list(runs)}:
            yield from (_run(run, f"runs[{at}]", f"{at + 1}") for at, run in enumerate(runs))
        case {"states": list(states)}:
            yield _from_states(document, states)
        case {"steps": list()}:
            yield _run(document, "the run", "1")
        case _:
            raise Unreadable("it has none of `results`, `runs`, `steps` and `states`, so no run")


def _run(data: object, where: str, name: str) -> Recorded:
    run = _object(data, where)
    steps = run.get("steps")
    if not isinstance(steps, list):
        raise Unreadable(f"{where}.steps is not a list")
    start = _values(run.get("start", {}), f"{where}.start")
    taken = tuple(_step(step, f"{where}.steps[{at}]") for at, step in enumerate(steps))
    return Recorded(name, start, taken, _loop(run.get("loop"), len(taken), where))


def _step(data: object, where: str) -> RecordedStep:
    if isinstance(data, str):
        return RecordedStep(None if data in _IDLE else data)
    step = _object(data, where)
    name = step.get("step")
    if name is not None and not isinstance(name, str):
        raise Unreadable(f"{where}.step is not a name")
    actions = _texts(step.get("actions", {}), f"{where}.actions")
    writes = step.get("writes")
    changed = None if writes is None else _values(writes, f"{where}.writes")
    return RecordedStep(name, actions, changed, step.get("relevant") is not False)


def _from_states(document: Mapping[str, object], data: list[object]) -> Recorded:
    """Return a run in the Informal Trace Format; its `#meta` names the steps."""
    states = [_values(state, f"states[{at}]") for at, state in enumerate(data)]
    if not states:
        raise Unreadable("`states` is empty")
    meta = document.get("#meta", {})
    names = meta.get("steps") if isinstance(meta, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Unreadable("`#meta` does not say in `steps` which steps were taken")
    loop = _loop(document.get("loop"), len(names), "the trace")
    if loop is not None and loop < len(states):
        states.append(states[loop])
    if len(states) != len(names) + 1:
        raise Unreadable(f"there are {len(names)} steps and {len(states)} states, the one that is returned to included")
    relevant = meta.get("relevant") if isinstance(meta, dict) else None
    irrelevant = {at for at, one in enumerate(relevant) if one is False} if isinstance(relevant, list) else set()
    steps = [
        RecordedStep(
            None if name in _IDLE else name,
            writes={key: value for key, value in after.items() if key not in before or before[key] != value},
            is_relevant=at not in irrelevant,
        )
        for at, (name, before, after) in enumerate(zip(cast(list[str], names), states, states[1:], strict=False))
    ]
    return Recorded("1", states[0], tuple(steps), loop)


def _loop(data: object, length: int, where: str) -> int | None:
    if data is None:
        return None
    if not isinstance(data, int) or isinstance(data, bool) or not 0 <= data <= length:
        raise Unreadable(f"the `loop` of {where} is not the number of one of its states")
    return data


def _object(data: object, where: str) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise Unreadable(f"{where} is not an object")
    return data


def _texts(data: object, where: str) -> dict[str, str]:
    entries = _object({} if data is None else data, where)
    return {key: value if isinstance(value, str) else str(value) for key, value in entries.items()}


def _values(data: object, where: str) -> dict[str, Value]:
    """Return values of variables; in traces integers may be objects, and keys with ``#`` are comments."""
    values: dict[str, Value] = {}
    for name, value in _object(data, where).items():
        if name.startswith("#"):
            continue
        match value:
            case bool() | int() | str():
                values[name] = value
            case {"#bigint": str(digits)} if digits.removeprefix("-").isdecimal() and len(digits) < 100:
                values[name] = int(digits)
            case _:
                raise Unreadable(f"{where}.{name} is no value that a variable can have")
    return values


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
            among = " or ".join(value_text(value) for value in initial[:_MOST])
            wrong.append(f"`{name}` is {value_text(given[name])} at first, not {among}")
        else:
            state[name] = written
    if wrong:
        raise _DoesNotFit("the first state is not one that runs begin in", iter(wrong))
    if not holds(system.start, state):
        raise _DoesNotFit("the first state is not one that runs begin in", failing(system.start, state))
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
        raise _DoesNotFit(f"`{taken.name}` is not possible", failing(taken.guard, state))
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
            yield f"`{name}` becomes {value_text(actual[name])}, not {value_text(value)}"


def _differences(then: State, now: State) -> Iterator[str]:
    for name, value in then.items():
        if now[name] != value:
            yield f"`{name}` was {value_text(value)} and is {value_text(now[name])}"


def failing(guard: Expr, state: State) -> Iterator[str]:
    """Yield the parts of a condition that do not hold."""
    parts = guard.operands if isinstance(guard, And) else (guard,)
    for part in parts:
        if not holds(part, state):
            yield f"`{expr_text(part)}` does not hold"
