"""Variables that only look on: no step asks for them, and nothing that matters is made from them.

Mostly these are commitments that a question does not speak of and no guard mentions. Let V be variables such that

* every guard, every condition of fairness and every atom of a formula reads V alone, and so does every value that a
  step gives to a variable of V;
* of every step that the formula is about (``does(…)``) V has all that it reads or writes; and
* of every agent that the formula says knows something, and of debtor and creditor of its ``C`` and ``Fu``, V has the
  whole local state.

Cut down to V, a state has the steps that it has in the whole, by the same names, and they lead to the same states cut
down to V. So runs are the same, fair ones too, as justice speaks of guards and of steps taken; and who cannot tell two
states apart cannot do so in the whole. The formula has the same value at a state and at that state cut down to V.
Strategies are left alone: how they are shown depends on all that there is to see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cplc.system.expr import reads
from cplc.system.formula import Atom, Commits, Enforces, Formula, Fulfils, Knows, OnPaths, Taken, subformulas
from cplc.system.model import Step, System
from cplc.system.slicing import declared_within, read_by_messages


def needed(system: System, formula: Formula) -> frozenset[str]:
    """Return the variables without those that only look on while the formula is asked."""
    everything = frozenset(system.variable)
    if system.is_synchronous:
        return everything
    asked: set[str] = set()
    for condition in system.fairness:
        asked |= reads(condition)
    footprints = {step.name: step.footprint for step in system.steps}
    for part in subformulas(formula):
        match part:
            case Atom(condition):
                asked |= reads(condition)
            case Taken(steps) | OnPaths(along=Taken(steps)):
                asked.update(*(footprints[name] for name in steps if name in footprints))
            case Commits(debtor, creditor) | Fulfils(debtor, creditor):
                asked |= _seen(system, (debtor, creditor))
            case Knows(_, agents):
                asked |= _seen(system, agents)
            case Enforces():
                return everything
            case _:
                pass
    return _closed(system, asked)


def _seen(system: System, agents: Iterable[str]) -> set[str]:
    return {name for agent in agents for name in system.agent[agent].local}


def _closed(system: System, asked: set[str]) -> frozenset[str]:
    """Return these, what guards read, and all that they are made from."""
    found = asked & system.variable.keys()
    made_from: dict[str, set[str]] = {}
    for step in system.steps:
        found |= reads(step.guard)
        for name, value in step.updates:
            made_from.setdefault(name, set()).update(reads(value))
    waiting = list(found)
    while waiting:
        more = made_from.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return frozenset(found)


def without_bystanders(system: System, kept: frozenset[str]) -> System:
    """Return the system with these variables alone. It has the same steps, but for what these write besides."""
    return replace(
        declared_within(system, kept, read_by_messages(system)),
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
