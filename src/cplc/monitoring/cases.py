"""What is kept of a case while it goes on, and what of all cases together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from cplc.logs.events import Event
from cplc.monitoring.machine import States


class Life(NamedTuple):
    """How a commitment or claim stands, and since when and what."""

    state: str
    time: int | None
    place: str
    after: str | None
    """The message that made it so; None for time."""
    ran: int = 0
    """How long its deadline had run before: it stands still while a commitment is pending."""
    is_over: bool = False
    """Whether its deadline has run out, and it is not known whether it was kept before that."""


@dataclass(slots=True)
class Case:
    """One instance of the protocol, as far as it has come."""

    states: States
    lives: dict[int, Life] = field(default_factory=dict)
    """Those commitments and claims that there are, by position."""
    time: int | None = None
    """When its last event was."""
    place: str = ""


@dataclass(slots=True)
class Waiting:
    """Events of a case that an earlier one may still come before, in the order of their times."""

    events: list[tuple[int, int, Event]] = field(default_factory=list)
    newest: int = 0
    count: int = 0


@dataclass
class Totals:
    """What all cases have come to, those that are over too."""

    cases: int = 0
    over: int = 0
    """Cases in which nothing can happen any more."""
    events: int = 0
    accepted: int = 0
    found: Counter[str] = field(default_factory=Counter)
    """How many findings of each kind there were."""
    endings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many commitments and claims, by name, ended in each state."""
    violations: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a debtor violated a commitment."""
