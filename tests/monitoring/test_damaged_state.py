"""States of monitors whose values have the wrong types: refused, and never a traceback later."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cplc import Monitor
from cplc.logs.events import Event
from cplc.monitoring.snapshots import Unrestorable

_EXAMPLES = Path(__file__).parents[2] / "examples"


def _monitor() -> Monitor:
    return Monitor.load(_EXAMPLES / "netbill.cpl", {"customers": "1"})


def _snapshot() -> Any:
    monitor = _monitor()
    for time, message in enumerate(("request", "offer", "accept", "pay")):
        monitor.feed(Event("log:1", "1", message, time=time))
    return json.loads(json.dumps(monitor.snapshot()))


def _case(snapshot: Any) -> list[Any]:
    fields: list[Any] = snapshot["cases"]["1"]
    return fields


_DAMAGES: dict[str, Callable[[Any], object]] = {
    "newest is a text": lambda snapshot: snapshot.update(newest="late"),
    "newest is too large": lambda snapshot: snapshot.update(newest=10**400),
    "no state": lambda snapshot: _case(snapshot).__setitem__(0, []),
    "a negative state": lambda snapshot: _case(snapshot).__setitem__(0, ["-1"]),
    "a time is a text": lambda snapshot: _case(snapshot).__setitem__(2, "late"),
    "a time is too large": lambda snapshot: _case(snapshot).__setitem__(2, 10**400),
    "a position is a text": lambda snapshot: _case(snapshot)[1][0].__setitem__(0, "0"),
    "a status is a list": lambda snapshot: _case(snapshot)[1][0].__setitem__(1, ["active"]),
    "since when is an object": lambda snapshot: _case(snapshot)[1][0].__setitem__(2, {}),
    "a field is missing": lambda snapshot: _case(snapshot)[1][0].__delitem__(slice(2, None)),
    "what waits is a text": lambda snapshot: snapshot["waiting"].update({"1": ["late", 0, []]}),
    "a count is infinite": lambda snapshot: snapshot["totals"].update(cases=float("inf")),
}


@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES)
def test_damaged_state_is_refused(damage: Callable[[Any], object]) -> None:
    snapshot = _snapshot()
    _monitor().restore(copy.deepcopy(snapshot))
    damage(snapshot)
    with pytest.raises(Unrestorable, match="damaged"):
        _monitor().restore(snapshot)
