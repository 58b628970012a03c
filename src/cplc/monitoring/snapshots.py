"""All that a monitor knows, written down and read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import Any, Final

from cplc.logs.events import Event
from cplc.monitoring.cases import Case, Life, Totals, Waiting
from cplc.monitoring.machine import Machine
from cplc.system.model import System
from cplc.system.printer import system_text

_VERSION: Final = 1
_LARGEST: Final = 1 << 63
"""Times of logs, in nanoseconds, and counts are smaller."""

Known = tuple[dict[str, Case], dict[str, Any], dict[str, Waiting], Totals, bool, int | None]


class Unrestorable(ValueError):
    """A snapshot that this monitor cannot go on from; the text says why."""


def taken(
    identity: tuple[System, str],
    cases: Mapping[str, Case],
    ended: Mapping[str, str],
    waiting: Mapping[str, Waiting],
    totals: Totals,
    inferring: bool,
    newest: int | None,
) -> dict[str, object]:
    """Return all of it as what JSON can say."""
    return {
        "version": _VERSION,
        "of": _fingerprint(identity),
        "inferring": inferring,
        "newest": newest,
        "cases": {name: _case(case) for name, case in cases.items()},
        "ended": dict(ended),
        "waiting": {
            name: [one.newest, one.count, [[time, number, asdict(event)] for time, number, event in one.events]]
            for name, one in waiting.items()
        },
        "totals": {
            "cases": totals.cases,
            "over": totals.over,
            "events": totals.events,
            "accepted": totals.accepted,
            "found": dict(totals.found),
            "endings": [[name, state, count] for (name, state), count in totals.endings.items()],
            "violations": [[debtor, name, count] for (debtor, name), count in totals.violations.items()],
        },
    }


def _case(case: Case) -> list[object]:
    lives = [[position, *life] for position, life in case.lives.items()]
    return [[f"{state:x}" for state in case.states], lives, case.time, case.place]


def _fingerprint(identity: tuple[System, str]) -> str:
    system, settings = identity
    return sha256(f"{settings}\n{system_text(system)}".encode()).hexdigest()


def check(snapshot: Mapping[str, object], identity: tuple[System, str]) -> None:
    """Raise `Unrestorable` if the snapshot is not of this protocol, watched in the same way."""
    if snapshot.get("version") != _VERSION:
        raise Unrestorable("it is not of this version of cplc")
    if snapshot.get("of") != _fingerprint(identity):
        raise Unrestorable("it is of another protocol, of other parameters, or of a monitor with other settings")


def restored(snapshot: Mapping[str, Any], machine: Machine) -> Known:
    """Return what was written down."""
    cases = {}
    for name, (states, lives, time, place) in snapshot["cases"].items():
        packed = tuple(int(state, 16) for state in states)
        if not packed or any(state < 0 or state >> machine.packing.width for state in packed):
            raise ValueError(f"a state of case `{name}`")
        known = {_count(position): _life(*life) for position, *life in lives}
        cases[name] = Case(packed, known, _time(time), str(place))
    waiting = {}
    for name, (newest, count, events) in snapshot["waiting"].items():
        held = [(_count(time), _count(number), _event(event)) for time, number, event in events]
        waiting[name] = Waiting(held, _time(newest), _count(count))
    told = snapshot["totals"]
    totals = Totals(
        _count(told["cases"]),
        _count(told["over"]),
        _count(told["events"]),
        _count(told["accepted"]),
        Counter({str(kind): _count(count) for kind, count in told["found"].items()}),
        Counter({(str(name), str(state)): _count(count) for name, state, count in told["endings"]}),
        Counter({(str(debtor), str(name)): _count(count) for debtor, name, count in told["violations"]}),
    )
    ended = dict(snapshot["ended"])
    return cases, ended, waiting, totals, bool(snapshot["inferring"]), _time(snapshot["newest"])


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _LARGEST:
        raise ValueError(f"{value!r:.40} stands for a number")
    return value


def _time(value: object) -> int | None:
    return None if value is None else _count(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} stands for a name")
    return value


def _life(state: object, time: object, place: object, after: object, ran: object, is_over: object) -> Life:
    cause = None if after is None else _text(after)
    return Life(_text(state), _time(time), _text(place), cause, _count(ran), bool(is_over))


def _event(data: Mapping[str, Any]) -> Event:
    recipients, bindings = data["recipients"], data["bindings"]
    if not all(isinstance(one, dict) for one in (bindings, data["values"])):
        raise ValueError("what an event carries is no table")
    return Event(
        **{
            **data,
            **{name: _text(data[name]) for name in ("place", "case", "message", "kind")},
            "sender": None if data["sender"] is None else _text(data["sender"]),
            "recipients": None if recipients is None else tuple(map(_text, recipients)),
            "bindings": {name: _count(index) for name, index in bindings.items()},
            "time": _time(data["time"]),
        }
    )
