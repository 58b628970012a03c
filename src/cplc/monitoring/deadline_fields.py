"""Deadlines in the fields of a log: durations and dates of ISO 8601, as ticks of the protocol.

A parameter that is the deadline of a commitment, as in `within days`, is a number of ticks in the protocol. A log may
have a length of time in its field (`P3D`, `36 h`), or the moment at which the deadline runs out (`2026-03-01`,
`2026-03-01T12:00:00Z`). A length is a whole number of ticks. A moment is measured from the time of the event, and
rounded up to whole ticks: a deadline never runs out before the moment that the log gives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, tzinfo

from cplc.language.durations import duration_text, nanoseconds
from cplc.logic.expressions import Value
from cplc.logs.events import Event
from cplc.logs.mapping import family_of
from cplc.logs.timestamps import clock
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel

_NUMBER = re.compile(r"\s*[+-]?\d+(\.\d+)?\s*")
_SHORT = 60
"""Maximum number of characters of a value in a message."""


class BadDeadline(Exception):
    """A field with a deadline that is no number of ticks, with the reason."""


class DeadlineFields:
    """The fields of messages that are deadlines of the commitments that they create."""

    def __init__(self, model: CheckedModel, tick: int, zone: tzinfo = UTC) -> None:
        """``tick`` is the length of a tick in nanoseconds, or 0; dates without a zone are in ``zone``."""
        self._tick = tick
        self._read_moment = clock("iso", zone)
        self._parameters = _deadline_parameters(model)

    def in_ticks(self, event: Event) -> Event:
        """Return the event with deadlines as numbers of ticks. Raise `BadDeadline` if one has no such number."""
        names = self._parameters.get(event.message)
        if names is None or not any(_is_text(event.values.get(name)) for name in names):
            return event
        if event.kind == "received":  # the payload is that of the sending
            return replace(event, values={name: value for name, value in event.values.items() if name not in names})
        values = dict(event.values)
        for name in names:
            value = values.get(name)
            if isinstance(value, str) and _is_text(value):
                values[name] = self._ticks_in_range(name, value.strip(), event)
        return replace(event, values=values)

    def _ticks_in_range(self, name: str, text: str, event: Event) -> int:
        shown = text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
        ticks, domain = self._ticks(name, text, shown, event), self._parameters[event.message][name]
        if ticks not in domain:
            raise BadDeadline(f"`{name}` is {shown}, which is {ticks:,} ticks, not in {domain[0]}..{domain[-1]}")
        return ticks

    def _ticks(self, name: str, text: str, shown: str, event: Event) -> int:
        length = nanoseconds(text)
        moment = self._moment(text) if length is None else None
        if length is None and moment is None:
            forms = "neither a number of ticks nor a duration (`P3D`, `36 h`) nor a date (`2026-03-01`)"
            raise BadDeadline(f"`{name}` is {shown}, {forms}")
        if not self._tick:
            raise BadDeadline(f"`{name}` is {shown}, and neither `clock tick` nor --tick says how long a tick is")
        if length is not None:
            ticks, rest = divmod(length, self._tick)
            if rest:
                raise BadDeadline(f"`{name}` is {shown}, no multiple of a tick of {duration_text(self._tick)}")
            return ticks
        assert moment is not None
        if event.time is None:
            raise BadDeadline(f"`{name}` is {shown}, and the event has no time to measure it from")
        if moment <= event.time:
            raise BadDeadline(f"`{name}` is {shown}, which is not after the event")
        return -(-(moment - event.time) // self._tick)

    def _moment(self, text: str) -> int | None:
        try:
            return self._read_moment(text)
        except (ValueError, OverflowError):
            return None


def _is_text(value: object) -> bool:
    """Return whether the value is no number, nor a number written as text."""
    return isinstance(value, str) and not _NUMBER.fullmatch(value)


def _deadline_parameters(model: CheckedModel) -> Mapping[str, Mapping[str, tuple[Value, ...]]]:
    """Return, for each message and each family of messages, the parameters that are deadlines, with their domains."""
    deadlines = {
        one.name: [by.value.parameter for _, by in one.payload_deadlines if isinstance(by.value, t.Own)]
        for one in model.commitments
    }
    parameters: dict[str, dict[str, tuple[Value, ...]]] = {}
    for message in model.messages:
        domains = {one.name: one.domain for one in message.parameters}
        for operation in message.operations:
            for name in deadlines.get(operation.created or "", ()):
                if name in domains:
                    for called in (message.name, family_of(message.name)):
                        parameters.setdefault(called, {})[name] = domains[name]
    return parameters
