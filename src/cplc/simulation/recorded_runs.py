"""Parser of recorded runs: from `verify --format json`, `simulate --format json`, `--itf`, or written by hand.

Only the form is checked here; `cplc.simulation.run_replay` checks that the protocol has such a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, Literal, cast

from cplc.logic.expressions import Value
from cplc.records import dataclass

_IDLE: Final = ("idle", "nothing happens")


class Unreadable(ValueError):
    """Raised for a document that is not a recorded run; the text says where and why."""


@dataclass(frozen=True)
class RecordedStep:
    name: str | None
    """The step, or the message that is sent; None for idling and for rounds."""
    actions: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, Value] | None = None
    """The changed variables; None if they are not recorded."""


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
    return RecordedStep(name, actions, None if writes is None else _values(writes, f"{where}.writes"))


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
    steps = [
        RecordedStep(
            None if name in _IDLE else name,
            writes={key: value for key, value in after.items() if key not in before or before[key] != value},
        )
        for name, before, after in zip(cast(list[str], names), states, states[1:], strict=False)
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
