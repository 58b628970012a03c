"""Steps of runs as a log has them: what was sent and what arrived, with times."""

from __future__ import annotations

from typing import Final

from cplc.logs.events import Event
from cplc.system.model import Message, System

BEGINNING: Final = 1_767_225_600 * 10**9
"""When every run begins: with the year 2026."""
_STEP: Final = 10**6
"""A step takes a millisecond, or less where a tick is too short for that many."""


class Recorder:
    """Makes events of steps: a tick is time that passes, restarts are seen by nobody."""

    def __init__(self, system: System, tick: int, most: int) -> None:
        self._steps = system.steps
        self._messages: dict[str, Message] = system.message
        self._tick = tick
        self._step = min(_STEP, tick // (most + 1))
        self._sent: dict[str, dict[str, object]] = {}
        """What each message carried when it was sent last."""
        self._case: int | None = None
        self._ticks = self._taken = 0

    def event(self, run: int, step: int) -> Event | None:
        """Return what a log says of the next step of a run."""
        if run != self._case:
            self._case, self._ticks, self._taken = run, 0, 0
            self._sent.clear()
        taken = self._steps[step]
        match taken.kind:
            case "tick":
                self._ticks += 1
                return None
            case "send" | "exchange":
                values = self._sent[taken.event] = dict(taken.payload)
            case "receive":
                values = self._sent.get(taken.event, {})
            case "restart":
                return None
        message = self._messages[taken.event]
        self._taken += 1
        return Event(
            "",
            str(run + 1),
            taken.event,
            message.sender,
            (message.receiver,),
            values=values,
            time=BEGINNING + self._ticks * self._tick + self._taken * self._step,
            kind="message" if taken.kind == "exchange" else "sent" if taken.kind == "send" else "received",
        )
