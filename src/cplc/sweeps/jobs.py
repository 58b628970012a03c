"""Jobs of a sweep, each a pure value that any worker can run, and the rows of their results."""

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
    """Options that all jobs of a sweep share."""

    ask: SweepCommand = "verify"
    channels: Literal["sync", "async"] | None = None
    protocol: str | None = None
    engine: Literal["auto", "symbolic", "explicit", "onthefly", "reduced"] = "auto"
    strategies: Literal["full", "uniform"] = "full"
    exact: bool = False
    steps: int = 100
    """Maximum number of steps of a simulated run."""
    bias: Literal["coverage", "uniform"] = "coverage"
    measure: bool = False
    """True if verdicts come with the number of states, the time and the memory they took."""


@dataclass(frozen=True)
class SourceText:
    """A file as it was read at the start of the sweep; later changes have no effect."""

    name: str
    text: str
    imports: Assignments = ()
    """Every file that it imports by path, directly or indirectly, with its text."""


@dataclass(frozen=True)
class Job:
    """A unit of work. Its rows depend on the job alone, not on the worker or on earlier jobs."""

    file: SourceText
    options: SweepOptions
    parameters: Assignments = ()
    beliefs: Assignments = ()
    """Probabilities to set in beliefs, such as ``("Tom.pay", "0.3")``."""
    names: tuple[str, ...] = ()
    """Properties and checks, or agents; empty for all."""
    first: int = 0
    """The first mutant, or the first run, of the job."""
    count: int = 0
    seed: int = 0

    @property
    def point(self) -> Assignments:
        """The varied parameters and beliefs, with their values."""
        return (*self.parameters, *self.beliefs)

    def key(self, program: str) -> str:
        """Return a hash of everything that determines the rows; ``program`` is the fingerprint of the program."""
        content = json.dumps([program, asdict(self)], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class ResultRow:
    """One row of the table, without the columns that all rows of its job share."""

    subject: str
    """A property, an aspect of an agent, a mutant or a commitment; empty for a total."""
    answer: str
    figures: tuple[tuple[str, Cell], ...] = ()
    reason: str = ""
    """The reason of an unknown or an error, or the warnings of the verdict."""
    expected: bool | None = None
    """True if the file expects this answer; None if it expects nothing, or the answer is unknown."""

    @property
    def is_settled(self) -> bool:
        """True if running the job again would give the same row."""
        return self.answer not in ("unknown", "error")


@dataclass(frozen=True)
class JobResult:
    """A job with all its rows."""

    number: int
    """Its position in the sweep, from 0."""
    job: Job
    rows: tuple[ResultRow, ...]
    seconds: float

    @property
    def is_settled(self) -> bool:
        return all(row.is_settled for row in self.rows)


def unknown(subject: str, reason: str) -> ResultRow:
    return ResultRow(subject, "unknown", reason=reason)


def chunks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the size of each chunk of a range."""
    for first in range(0, count, size):
        yield first, min(size, count - first)


def chunk_seed(seed: int, part: int) -> int:
    """Return the seed of a chunk of runs; the first chunk has the seed of the whole."""
    if part == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{part}".encode()).digest()[:6], "big")
