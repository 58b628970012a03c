"""Transition relations on packed states: the successors of a state, whether steps are interleaved or made in rounds.

The two implementations are `cplc.statespace.interleaved` and `cplc.statespace.synchronous`. Searches use this interface
alone, so every search works for both kinds of systems.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from itertools import islice, product
from math import prod
from typing import Protocol

from cplc.runtime.context import ResourceExhausted
from cplc.statespace.packing import Packing
from cplc.system.model import System
from cplc.system.satisfying_assignments import independent_groups, satisfying_assignments

Transition = tuple[int, int]
"""The label of a transition, by its position in `TransitionRelation.labels`, and its target."""
Changes = tuple[Sequence[int], "array[int]"]
"""For each successor the bits that change, and the label of the transition."""
MAX_STATES = 5_000_000
"""Default maximum number of states of a search."""


class SuccessorTable(Protocol):
    """The changes that some transitions make, as a memoised function of the bits that they depend on."""

    def __getitem__(self, pattern: int, /) -> Changes: ...


class TransitionRelation(ABC):
    """The transitions of one system. The idle step, where there is one, is not among them."""

    has_idle_step: bool
    """True if each state has an idle step. Otherwise a state without transitions is a deadlock: no run leaves it."""

    def __init__(self, system: System, packing: Packing, labels: tuple[str, ...]) -> None:
        self.system = system
        self.packing = packing
        self.labels = labels
        """The name of each label."""

    def initial_states(self, limit: int = MAX_STATES) -> list[int]:
        """Return the initial states. Raise `ResourceExhausted` if there are more than the limit."""
        return initial_states(self.packing, self.system, limit)

    @abstractmethod
    def transitions(self, state: int) -> Sequence[Transition]:
        """Return the transitions from a state, in the order of labels."""

    @abstractmethod
    def free_tables(self) -> None:
        """Free the memory of all tables; they are filled again when they are needed."""

    @abstractmethod
    def tables(self, sample: Sequence[int], stored: int) -> list[tuple[int, SuccessorTable]]:
        """Return tables that have all transitions together, each with the mask of the bits that it depends on.

        They are chosen to be quick for states like those of the sample. ``stored`` is the number of transitions that
        the search has stored before.
        """


def transition_relation(
    system: System, limit: int = MAX_STATES, spend: Callable[[int], None] | None = None
) -> TransitionRelation:
    """Return the transition relation of a system, for searches with at most so many states.

    It reports its work in units of one state to ``spend``.
    """
    if system.players:
        from cplc.statespace.synchronous import SynchronousRelation

        return SynchronousRelation(system, limit, spend)
    from cplc.statespace.interleaved import InterleavedRelation

    return InterleavedRelation(system, spend)


def initial_states(packing: Packing, system: System, limit: int) -> list[int]:
    """Return the initial states, as the product over independent parts of the initial condition."""
    domains = {variable.name: tuple(dict.fromkeys(variable.initial)) for variable in system.variables}
    parts: list[list[int]] = []
    for names, condition in independent_groups(domains, system.start):
        ways = satisfying_assignments({name: domains[name] for name in names}, condition)
        parts.append([sum(packing.bits(*one) for one in way.items()) for way in islice(ways, limit + 1)])
        if prod(map(len, parts)) > limit:
            raise ResourceExhausted(f"more than {limit:,} initial states")
    return [sum(bits) for bits in product(*parts)]
