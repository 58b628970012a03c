"""Variables that only look on: no step asks for them, and nothing that matters is made from them.

Mostly these are commitments that a question does not speak of and no guard mentions. Let V be variables such that

* every guard, every condition of fairness and every atom of a formula reads V alone, and so does every value that a
  step gives to a variable of V;
* of every step that the formula is about (``does(…)``) V has all that it reads or writes; and
* of every agent that the formula says knows something V has the whole local state, and all that both ends of the
  channel of a ``C`` or ``Fu`` read.

Cut down to V, a state has the steps that it has in the whole, by the same names, and they lead to the same states cut
down to V. So runs are the same, fair ones too, as justice speaks of guards and of steps taken; and who cannot tell two
states apart cannot do so in the whole. The formula has the same value at a state and at that state cut down to V.
Strategies are left alone: how they are shown depends on all that there is to see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from cplc.logic.expressions import reads
from cplc.logic.formulas import (
    Atom,
    Commits,
    Conditional,
    Enforces,
    Formula,
    Fulfils,
    KnownFrom,
    Knows,
    OnPaths,
    Taken,
    subformulas,
)
from cplc.reductions.components import message_variables, restrict_declarations
from cplc.system.model import Step, System


class ConeOfInfluence:
    """Who only looks on in one system; what all questions have in common is found out once."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._everything = frozenset(system.variable)
        self._needed: dict[Formula, frozenset[str]] = {}

    def needed(self, formula: Formula) -> frozenset[str]:
        """Return the variables without those that only look on while the formula is asked."""
        found = self._needed.get(formula)
        if found is None:
            asked = None if self.system.is_synchronous else self._asked(formula)
            found = self._needed[formula] = self._everything if asked is None else self._closed(asked)
        return found

    def _asked(self, formula: Formula) -> set[str] | None:
        """Return the variables that the formula itself needs; None for all."""
        asked: set[str] = set()
        for part in subformulas(formula):
            match part:
                case Atom(condition):
                    asked |= reads(condition)
                case Taken(steps) | OnPaths(along=Taken(steps)):
                    asked.update(*(self._footprints[name] for name in steps if name in self._footprints))
                case Commits(channel) | Fulfils(channel):
                    asked |= channel.reads
                case Conditional(channel=one, other=other):
                    asked |= one.reads if other is None else one.reads | other.reads
                case KnownFrom(observed):
                    asked = asked.union(*map(reads, observed))
                case Knows(_, agents):
                    asked |= self._seen(agents)
                case Enforces():
                    return None
                case _:
                    pass
        return asked

    def _seen(self, agents: Iterable[str]) -> set[str]:
        return {name for agent in agents for name in self.system.agent[agent].local}

    @cached_property
    def _footprints(self) -> dict[str, frozenset[str]]:
        return {step.name: step.footprint for step in self.system.steps}

    @cached_property
    def _always(self) -> frozenset[str]:
        """What guards and conditions of fairness read, and all that it is made from."""
        read = (*(step.guard for step in self.system.steps), *self.system.fairness)
        return self._with_sources(frozenset().union(*map(reads, read)))

    @cached_property
    def _made_from(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for step in self.system.steps:
            for name, value in step.updates:
                found.setdefault(name, set()).update(reads(value))
        return found

    def _closed(self, asked: Iterable[str]) -> frozenset[str]:
        """Return these, what every question needs, and all that they are made from."""
        return self._always | self._with_sources(self._everything.intersection(asked))

    def _with_sources(self, names: frozenset[str]) -> frozenset[str]:
        found, waiting = set(names), list(names)
        while waiting:
            more = self._made_from.get(waiting.pop(), set()) - found
            found |= more
            waiting += more
        return frozenset(found)


def project_to_cone(system: System, kept: frozenset[str]) -> System:
    """Return the system with these variables alone. It has the same steps, but for what these write besides."""
    return replace(
        restrict_declarations(system, kept, message_variables(system)),
        steps=tuple(_without(step, kept) for step in system.steps),
    )


def _without(step: Step, kept: frozenset[str]) -> Step:
    if step.footprint <= kept:
        return step
    return replace(
        step,
        updates=tuple((name, value) for name, value in step.updates if name in kept),
        free=tuple(name for name in step.free if name in kept),
        operations=tuple(
            operation
            for operation in step.operations
            if reads(operation.applicable) | reads(operation.state_before) <= kept
        ),
    )
