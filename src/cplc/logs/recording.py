"""Conversion of simulated steps to log events, with times."""

from __future__ import annotations

from typing import Final

from cplc.logs.events import Event
from cplc.system.model import Message, System

BEGINNING: Final = 1_767_225_600 * 10**9
"""When every run begins: with the year 2026."""
_STEP: Final = 10**6
"""Nanoseconds of a step: a millisecond, or less where a tick is shorter."""


class Recorder:
    """Converts steps to events: ticks advance the time, restarts are unobservable."""

    def __init__(self, system: System, tick: int, most: int) -> None:
        self._steps = system.steps
        self._messages: dict[str, Message] = system.message
        self._tick = tick
        self._step = min(_STEP, tick // (most + 1))
        self._sent: dict[str, dict[str, object]] = {}
        """The payload of each message when it was sent last."""
        self._case: int | None = None
        self._ticks = self._taken = 0

    def event(self, run: int, step: int) -> Event | None:
        """Return the event of the next step of a run, or None."""
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
