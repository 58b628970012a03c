"""What a sweep consists of: items, each a pure value that can be answered anywhere, and the rows that answer it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Literal, get_args

from cplc.records import dataclass

SweepCommand = Literal["verify", "analyze", "coverage", "simulate", "stats"]
SWEEP_COMMANDS: tuple[SweepCommand, ...] = get_args(SweepCommand)
Cell = str | int | float | bool | None
Assignments = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SweepOptions:
    """How everything in a sweep is answered."""

    ask: SweepCommand = "verify"
    channels: Literal["sync", "async"] | None = None
    protocol: str | None = None
    engine: Literal["auto", "symbolic", "explicit", "onthefly", "reduced"] = "auto"
    strategies: Literal["full", "uniform"] = "full"
    exact: bool = False
    steps: int = 100
    """The longest run of a simulation."""
    bias: Literal["coverage", "uniform"] = "coverage"


@dataclass(frozen=True)
class SourceText:
    """A file as it was read when the sweep began: what happens to it later does not matter, nor where it is read."""

    name: str
    text: str
    imports: Assignments = ()
    """Every file that it imports by a path, and those that they import, each with its text."""


@dataclass(frozen=True)
class Job:
    """One piece of work. Its rows depend on nothing else: not on who answers it, nor on what was answered before."""

    file: SourceText
    options: SweepOptions
    parameters: Assignments = ()
    beliefs: Assignments = ()
    """Probabilities that agents are to believe in, like ``("Tom.pay", "0.3")``."""
    names: tuple[str, ...] = ()
    """Properties and checks, or agents; none stands for all."""
    first: int = 0
    """Of changes to the protocol, or of runs: those from here on."""
    count: int = 0
    seed: int = 0

    @property
    def point(self) -> Assignments:
        """What is varied, and the values that it has here."""
        return (*self.parameters, *self.beliefs)

    def key(self, program: str) -> str:
        """Return a short name for all that the rows rest on; ``program`` says who answers."""
        content = json.dumps([program, asdict(self)], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class ResultRow:
    """One line of the table, without what all rows of its item have in common."""

    subject: str
    """What is asked about: a property, a figure of an agent, a change, a commitment; nothing for the whole."""
    answer: str
    figures: tuple[tuple[str, Cell], ...] = ()
    reason: str = ""
    """Why it is unknown, or wrong, or what the verdict warns of."""
    expected: bool | None = None
    """Whether that is what the file expects; None where it expects nothing, or that is not known."""

    @property
    def is_settled(self) -> bool:
        """Whether asking again could only give the same."""
        return self.answer not in ("unknown", "error")


@dataclass(frozen=True)
class JobLimits:
    """What one item may take."""

    seconds: float | None = None
    memory: int | None = None
    """In bytes."""


@dataclass(frozen=True)
class JobResult:
    """An item with all its rows."""

    number: int
    """Its place in the sweep, from 0."""
    job: Job
    rows: tuple[ResultRow, ...]
    seconds: float

    @property
    def is_settled(self) -> bool:
        return all(row.is_settled for row in self.rows)


def unknown(subject: str, reason: str) -> ResultRow:
    return ResultRow(subject, "unknown", reason=reason)


def chunks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield parts of a whole: where each begins, and how large it is."""
    for first in range(0, count, size):
        yield first, min(size, count - first)


def chunk_seed(seed: int, part: int) -> int:
    """Return what chance begins with in a part of many runs; the first part begins as the whole would."""
    if part == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{part}".encode()).digest()[:6], "big")
