"""Statistics of runs: final states of commitments, and frequencies of steps.

A commitment that is created again, after a restart say, is counted again: an *instance* begins when it is created or
comes into existence otherwise, and ends when its next one begins, when it ceases to exist, or with the run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Final, Literal

from cplc.language.lifecycle import OPEN
from cplc.logic.expressions import Expr, Read, disj, reads
from cplc.records import dataclass
from cplc.statespace.packing import MemoTable, Packing
from cplc.system.model import Claim, Commitment, Step, System

Ending = Literal["limit", "nothing", "time", "refused"]
"""Why a run ends: step limit, no enabled step, only ticks without effect, or all steps refused by the participant."""

FORGOTTEN: Final = "forgotten"
ON_COURSE: Final = "on course"
"""Listed among final states: the number of commitments in force that a new round erased."""


@dataclass(frozen=True, slots=True)
class CommitmentOutcomes:
    """The numbers of instances of a commitment or claim by final state, or by last state if still open.

    `FORGOTTEN` counts those that were active, or pending and active before, when a new round began.
    """

    name: str
    parties: tuple[str, str]
    is_claim: bool
    endings: dict[str, int]

    @property
    def instances(self) -> int:
        return sum(self.endings.values())


@dataclass(frozen=True)
class Statistics:
    runs: int
    steps: int
    longest: int
    endings: dict[Ending, int]
    courses: tuple[CommitmentOutcomes, ...]
    taken: tuple[tuple[str, int], ...]
    """Each step of the system, in its order, with how often it was taken."""

    @property
    def never(self) -> tuple[str, ...]:
        """The steps that no run took."""
        return tuple(name for name, count in self.taken if not count)


@dataclass
class StatisticsCollector:
    """Collects the statistics during the runs."""

    system: System
    packing: Packing
    runs: int = 0
    steps: int = 0
    longest: int = 0
    _endings: Counter[Ending] = field(default_factory=Counter)
    _over: Counter[tuple[int, str]] = field(default_factory=Counter)
    """The numbers of ended instances by index of the commitment or claim, and final state."""

    def __post_init__(self) -> None:
        self._kept: tuple[Commitment | Claim, ...] = (*self.system.commitments, *self.system.claims)
        self._taken = [0] * len(self.system.steps)
        self._effects = [effects_of(self.packing, self._kept, step) for step in self.system.steps]
        self._now = 0
        """The current state of the run."""
        self._last: dict[int, str] = {}
        """The lifecycle states of the existing instances."""
        self._on_course = {
            position: self.packing.condition(one.on_course)
            for position, one in enumerate(self.system.commitments)
            if one.content
        }
        self._former = {v.about: v.name for v in self.system.variables if v.kind == "former"}

    def begin(self, start: int) -> None:
        self._last = {}
        self._now = start
        for position, one in enumerate(self._kept):
            value = str(self.packing.value(one.variable, start))
            if value != "null":
                self._last[position] = value

    def step(self, before: int, step: int, after: int) -> None:
        self._taken[step] += 1
        self._now = after
        effects = self._effects[step]
        if effects is None:
            return
        mask, table = effects
        for position, value, is_new in table[before & mask]:
            if (is_new or value == "null") and position in self._last:
                last = self._last.pop(position)
                is_taken_back = value == "null" and self._is_in_force(position, last, before)
                if is_taken_back and position in self._on_course and self._on_course[position](before):
                    last = ON_COURSE
                elif is_taken_back:
                    last = FORGOTTEN
                self._over[position, last] += 1
            if value != "null":
                self._last[position] = value

    def _is_in_force(self, position: int, state: str, before: int) -> bool:
        one = self._kept[position]
        if isinstance(one, Claim) or state not in ("active", "pending"):
            return False
        former = self._former.get(one.name) if state == "pending" else None
        return former is None or self.packing.value(former, before) == "active"

    def end(self, length: int, ending: Ending) -> None:
        self.runs += 1
        self.steps += length
        self.longest = max(self.longest, length)
        self._endings[ending] += 1
        for position, state in self._last.items():
            is_on_course = position in self._on_course and self._on_course[position](self._now)
            self._over[position, ON_COURSE if is_on_course else state] += 1

    @property
    def statistics(self) -> Statistics:
        courses = tuple(
            CommitmentOutcomes(
                one.name,
                one.parties,
                isinstance(one, Claim),
                {
                    str(value): count
                    for value in (*self.system.variable[one.variable].domain, ON_COURSE, FORGOTTEN)
                    if (count := self._over[position, str(value)])
                },
            )
            for position, one in enumerate(self._kept)
        )
        names = (step.name for step in self.system.steps)
        return Statistics(
            self.runs,
            self.steps,
            self.longest,
            dict(self._endings),
            courses,
            tuple(zip(names, self._taken, strict=True)),
        )


Effect = tuple[int, str, bool]
"""A commitment or claim by index, its state after the step, and whether that is a new instance."""


def effects_of(
    packing: Packing, tracked: tuple[Commitment | Claim, ...], step: Step
) -> tuple[int, MemoTable[tuple[Effect, ...]]] | None:
    """Return the effects of a step on commitments, as a function of the bits that they depend on."""
    creations = [operation for operation in step.operations if operation.verb == "create"]
    created = {
        name: packing.condition(disj(one.applicable for one in creations if one.commitment == name))
        for name in dict.fromkeys(one.commitment for one in creations)
    }
    # What is created again may end in the state that it had, and then no update writes it.
    again: dict[str, Expr] = {one.variable: Read(one.variable) for one in tracked if one.name in created}
    updates = again | dict(step.updates)
    written = [(position, one) for position, one in enumerate(tracked) if one.variable in updates]
    if not written:
        return None
    needed: set[str] = set()
    for operation in step.operations:
        needed |= reads(operation.applicable)
    for _, one in written:
        needed |= {one.variable} | reads(updates[one.variable])
    values = {position: packing.evaluator(updates[one.variable]) for position, one in written}

    def effects(pattern: int) -> tuple[Effect, ...]:
        effects_of_pattern: list[Effect] = []
        for position, one in written:
            old, new = str(packing.value(one.variable, pattern)), str(values[position](pattern))
            is_created = one.name in created and created[one.name](pattern)
            is_new = is_created or (not isinstance(one, Claim) and old not in OPEN and new in OPEN)
            if is_new or old != new:
                effects_of_pattern.append((position, new, is_new))
        return tuple(effects_of_pattern)

    return packing.mask(needed), MemoTable(effects)
