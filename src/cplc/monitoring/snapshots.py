"""Snapshots of a monitor as JSON values, and their validation when they are restored."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from typing import Any, Final, TypeVar

from cplc.logs.events import Event
from cplc.monitoring.case_state import Case, CommitmentStatus, MonitorTotals, ReorderBuffer
from cplc.monitoring.state_tracker import StateTracker
from cplc.system.model import System
from cplc.system.printer import system_text

_VERSION: Final = 1
_LARGEST: Final = 1 << 63
"""Times of logs, in nanoseconds, and counts are smaller."""

Checked = TypeVar("Checked")

RestoredState = tuple[dict[str, Case], dict[str, Any], dict[str, ReorderBuffer], MonitorTotals, bool, int | None]


class Unrestorable(ValueError):
    """Raised for a snapshot from which this monitor cannot resume; the text says why."""


def taken(
    identity: tuple[System, str],
    cases: Mapping[str, Case],
    ended: Mapping[str, str],
    waiting: Mapping[str, ReorderBuffer],
    totals: MonitorTotals,
    inferring: bool,
    newest: int | None,
) -> dict[str, object]:
    """Return the state as JSON values."""
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
            "found": dict(totals.finding_counts),
            "endings": [[name, state, count] for (name, state), count in totals.endings.items()],
            "violations": [[debtor, name, count] for (debtor, name), count in totals.violations.items()],
        },
    }


def _case(case: Case) -> list[object]:
    statuses = [[position, *status] for position, status in case.statuses.items()]
    names = [[domain, key, name] for (domain, key), name in case.names.items()]
    return [[f"{state:x}" for state in case.states], statuses, case.time, case.place, *([names] if names else [])]


def _fingerprint(identity: tuple[System, str]) -> str:
    system, settings = identity
    return sha256(f"{settings}\n{system_text(system)}".encode()).hexdigest()


def check(snapshot: Mapping[str, object], identity: tuple[System, str]) -> None:
    """Raise `Unrestorable` if the snapshot belongs to another protocol or to other settings."""
    if snapshot.get("version") != _VERSION:
        raise Unrestorable("it is not of this version of cplc")
    if snapshot.get("of") != _fingerprint(identity):
        raise Unrestorable("it is of another protocol, of other parameters, or of a monitor with other settings")


def restored(snapshot: Mapping[str, Any], tracker: StateTracker) -> RestoredState:
    """Return the restored state. Raise `ValueError` if a monitor of this system cannot have written it."""
    if snapshot.keys() != _PARTS:
        raise ValueError("its parts are not those of a snapshot")
    cases = {_text(name): _restored_case(name, case, tracker) for name, case in snapshot["cases"].items()}
    ended = {_text(name): str(_one_of(how, _ENDINGS)) for name, how in snapshot["ended"].items()}
    if cases.keys() & ended.keys():
        raise ValueError("a case has ended and goes on")
    waiting = {_text(name): _restored_waiting(name, data) for name, data in snapshot["waiting"].items()}
    totals = _restored_totals(snapshot["totals"], tracker)
    inferring = _checked(snapshot["inferring"], bool)
    return cases, ended, waiting, totals, inferring, _number_or_none(snapshot["newest"])


_PARTS: Final = frozenset(["version", "of", "inferring", "newest", "cases", "ended", "waiting", "totals"])
_ENDINGS: Final = frozenset(["over", "anew"])
_KINDS: Final = frozenset(["message", "sent", "received"])
_GIVEN_UP: Final = "unknown"
"""The final state of commitments whose case was given up."""


def _restored_case(name: str, data: Any, tracker: StateTracker) -> Case:
    states, rows, time, place, *names = data
    packed = tuple(_packed(state, name, tracker) for state in _checked(states, list))
    if not packed:
        raise ValueError(f"no state of the case `{name}`")
    statuses: dict[int, CommitmentStatus] = {}
    for position, *row in rows:
        at = _number(position, len(tracker.tracked))
        if at in statuses:
            raise ValueError(f"two states of one commitment in the case `{name}`")
        state, since, where, after, ran, is_over, *ticks = row
        domain = tracker.system.variable[tracker.tracked[at].variable].domain
        statuses[at] = CommitmentStatus(
            str(_one_of(state, domain)), _number_or_none(since), _text(where),
            None if after is None else _text(after), _number(ran), _checked(is_over, bool),
            _number_or_none(ticks[0]) if ticks else None,
        )  # fmt: skip
    return Case(packed, statuses, _number_or_none(time), _text(place), _restored_names(names, tracker))


def _restored_names(data: list[Any], tracker: StateTracker) -> dict[tuple[int, str], str]:
    """Return the value of a domain that stands for each value of the log; no two have the same."""
    domains = tracker.system.open_domains
    names: dict[tuple[int, str], str] = {}
    for domain, key, name in data[0] if data else ():
        at = _number(domain, len(domains))
        if not isinstance(json.loads(_text(key)), str | int | float):
            raise ValueError("something is no value of a log")
        if (at, name) in {(other, taken) for (other, _), taken in names.items()}:
            raise ValueError("one value stands for two of a log")
        names[at, key] = str(_one_of(name, domains[at].free))
    return names


def _packed(text: Any, case: str, tracker: StateTracker) -> int:
    """Return a packed state whose variables all have values of their domains."""
    state = int(_text(text), 16)
    if state < 0 or state >> tracker.packing.width or f"{state:x}" != text:
        raise ValueError(f"a state of the case `{case}`")
    tracker.packing.unpack(state)  # raises IndexError where a variable has none of its values
    return state


def _restored_waiting(case: str, data: Any) -> ReorderBuffer:
    newest, count, events = data
    held: list[tuple[int, int, Event]] = []
    for time, number, written in events:
        event = _event(written)
        if event.case != case:
            raise ValueError(f"an event of another case waits in `{case}`")
        held.append((_whole(time), _number(number, _number(count) + 1), event))
    if len({number for _, number, _ in held}) < len(held):
        raise ValueError(f"an event waits twice in the case `{case}`")
    heapq.heapify(held)
    return ReorderBuffer(held, _number_or_none(newest), _number(count))


def _restored_totals(data: Any, tracker: StateTracker) -> MonitorTotals:
    names = {one.name: one.variable for one in tracker.reported}
    endings: Counter[tuple[str, str]] = Counter()
    for name, state, count in data["endings"]:
        domain = tracker.system.variable[names[name]].domain
        endings[_text(name), str(_one_of(state, (*domain, _GIVEN_UP)))] += _number(count)
    violations: Counter[tuple[str, str]] = Counter()
    for debtor, name, count in data["violations"]:
        violations[_text(debtor), _one_of(name, names)] += _number(count)
    counts = [_number(data[key]) for key in ("cases", "over", "events", "accepted")]
    if counts[3] > counts[2]:
        raise ValueError("more events were accepted than there were")
    findings = Counter({_text(kind): _number(count) for kind, count in data["found"].items()})
    return MonitorTotals(counts[0], counts[1], counts[2], counts[3], findings, endings, violations)


def _event(data: Any) -> Event:
    recipients, sender, values = data["recipients"], data["sender"], _checked(data["values"], dict)
    if data.keys() != _FIELDS:
        raise ValueError("an event that waits does not have the fields of one")
    return Event(
        _text(data["place"]),
        _text(data["case"]),
        _text(data["message"]),
        None if sender is None else _text(sender),
        None if recipients is None else tuple(_text(name) for name in _sequence(recipients)),
        {_text(name): _whole(index) for name, index in data["bindings"].items()},
        values,
        _number_or_none(data["time"]),
        _one_of(data["kind"], _KINDS),
        _number(data["offset"]),
    )


_FIELDS: Final = frozenset(one.name for one in fields(Event))


def _checked(value: Any, kind: type[Checked]) -> Checked:
    if not isinstance(value, kind):
        raise ValueError(f"something is no {kind.__name__}")
    return value


def _sequence(value: Any) -> list[Any] | tuple[Any, ...]:
    """Return a list, or the tuple that JSON writes as a list."""
    return value if isinstance(value, tuple) else _checked(value, list)


def _text(value: Any) -> str:
    return _checked(value, str)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or abs(_checked(value, int)) >= _LARGEST:
        raise ValueError("something is no number")
    return int(value)


def _number(value: Any, end: int | None = None) -> int:
    """Return a count, or an index below the end."""
    number = _whole(value)
    if number < 0 or (end is not None and number >= end):
        raise ValueError(f"{number} is out of range")
    return number


def _number_or_none(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _one_of(value: Any, allowed: Container[Any]) -> Any:
    if value not in allowed:
        raise ValueError("something has a value that does not exist")
    return value
