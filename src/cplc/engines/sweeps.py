"""Least fixpoints over steps: what can be reached from a set, and what can reach one.

Steps are grouped by what they have to do with each other; each group is applied to its own fixpoint before the next,
from the bottom of the variable order upwards. A group is looked at again only when one that it depends on has
changed the set: steps that write nothing the other reads or writes can be taken in either order, so a set that is
closed under one of them stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cplc.engines.bdd import Node
from cplc.engines.encoding import Encoding
from cplc.engines.transitions import Transition

Image = Callable[[Transition, Node], Node]


_BUDGET = 200_000
"""Searches whose sets have more nodes than this go on among the reachable states only."""


@dataclass(frozen=True)
class Group:
    """Steps within one component of the system."""

    component: int
    transitions: tuple[Transition, ...]

    @cached_property
    def writes(self) -> frozenset[str]:
        return frozenset().union(*(transition.step.writes for transition in self.transitions))

    @cached_property
    def footprint(self) -> frozenset[str]:
        return frozenset().union(*(transition.step.footprint for transition in self.transitions))


class _TooLarge(Exception):
    """A search has found a set that is too large to go on with unreachable states in it."""

    def __init__(self, states: Node) -> None:
        self.states = states


class Sweeps:
    """Fixpoints over the steps of one system."""

    def __init__(
        self,
        encoding: Encoding,
        transitions: Sequence[Transition],
        part: Mapping[str, int],
        components: Sequence[frozenset[str]],
    ) -> None:
        self._encoding = encoding
        self._diagrams = encoding.diagrams
        self._components = components
        self.groups = _grouped(encoding, transitions, part, components)

    @cached_property
    def reachable(self) -> Node:
        """What the initial states lead to: the product of what they lead to in each component."""
        found = self._encoding.true
        for component in reversed(range(len(self._components))):
            inside = {number for number, group in enumerate(self.groups) if group.component == component}
            start = self._encoding.initial(self._components[component])
            found = self._close(start, inside, lambda transition, states: transition.after(states)) & found
        return found

    @cached_property
    def _related(self) -> tuple[frozenset[int], ...]:
        """For each group those that are to be looked at again when it has changed a set."""
        touching: dict[str, set[int]] = {}
        writing: dict[str, set[int]] = {}
        for number, group in enumerate(self.groups):
            for name in group.footprint:
                touching.setdefault(name, set()).add(number)
            for name in group.writes:
                writing.setdefault(name, set()).add(number)
        related = []
        for number, group in enumerate(self.groups):
            found: set[int] = set()
            for name in group.writes:
                found |= touching[name]
            for name in group.footprint:
                found |= writing.get(name, set())
            related.append(frozenset(found - {number}))
        return tuple(related)

    def backward(self, goal: Node, within: Node, cover: Node | None = None) -> Node:
        """Return the states of ``within`` that lead to the goal inside of it, and the goal itself.

        The answer may be wrong for states that are not reachable, and it may be incomplete where it contains all of
        ``cover``.
        """
        try:
            return self._backward(goal, within, cover, _BUDGET)
        except _TooLarge as reason:
            found = reason.states & self.reachable
            return self._backward(found, within & self.reachable, cover, None)

    def _backward(self, goal: Node, within: Node, cover: Node | None, budget: int | None) -> Node:
        support, limits = self._encoding.variables_in(goal), self._encoding.variables_in(within)
        pending = {
            number
            for number, group in enumerate(self.groups)
            if support is None or not support.isdisjoint(group.writes)
        }
        return self._close(
            goal,
            pending,
            lambda transition, states: transition.before(states) & within,
            is_free=lambda group: limits is not None and limits.isdisjoint(group.writes),
            is_done=None if cover is None else lambda states: cover & ~states == self._encoding.false,
            budget=budget,
        )

    def _close(
        self,
        states: Node,
        pending: set[int],
        image: Image,
        *,
        is_free: Callable[[Group], bool] = lambda group: True,
        is_done: Callable[[Node], bool] | None = None,
        budget: int | None = None,
    ) -> Node:
        """Apply groups until nothing new is found. ``is_free``: no step of the group crosses a limit of the search."""
        everything = frozenset(range(len(self.groups)))
        ceiling = None if budget is None else self._diagrams.nodes() + budget
        while pending:
            for number in sorted(pending):
                pending.discard(number)
                group = self.groups[number]
                found = self._exhausted(group, states, image)
                if found == states:
                    continue
                states = found
                if is_done is not None and is_done(states):
                    return states
                pending |= self._related[number] if is_free(group) else everything - {number}
                if budget is not None and ceiling is not None and self._diagrams.nodes() > ceiling:
                    if self._diagrams.size(states) > budget:
                        raise _TooLarge(states)
                    ceiling = self._diagrams.nodes() + budget
        return states

    def _exhausted(self, group: Group, states: Node, image: Image) -> Node:
        while True:
            before = states
            for transition in group.transitions:
                states = states | image(transition, states)
            self._diagrams.tidy()
            if states == before:
                return states


def _grouped(
    encoding: Encoding,
    transitions: Sequence[Transition],
    part: Mapping[str, int],
    components: Sequence[frozenset[str]],
) -> tuple[Group, ...]:
    """Put the steps of each pair of agents and part of the order together, those furthest down in the order first.

    Restarts go with the only pair whose variables they write, if there is only one.
    """
    pairs = {message.name: tuple(sorted((message.sender, message.receiver))) for message in encoding.system.messages}
    component = {name: number for number, names in enumerate(components) for name in names}
    members: dict[tuple[int, tuple[str, ...], frozenset[int]], list[Transition]] = {}
    others: list[Transition] = []
    for transition in transitions:
        step = transition.step
        if step.event in pairs and step.writes:
            parts = frozenset(part[name] for name in step.footprint if name in part)
            key = component[next(iter(step.writes))], pairs[step.event], parts
            members.setdefault(key, []).append(transition)
        elif step.writes:
            others.append(transition)
    fitting: dict[int, list[int]] = {}
    together = list(members.values())
    for number, (_, _, parts) in enumerate(members):
        for touched in parts:
            fitting.setdefault(touched, []).append(number)
    for transition in others:
        parts = frozenset(part[name] for name in transition.step.footprint if name in part)
        found = {number for touched in parts for number in fitting.get(touched, ())}
        if len(found) == 1:
            together[found.pop()].append(transition)
        else:
            together.append([transition])

    def highest(group: Group) -> int:
        return min((encoding.bits[name][0] for name in group.writes if encoding.bits[name]), default=0)

    groups = [Group(component[next(iter(some[0].step.writes))], tuple(some)) for some in together]
    return tuple(sorted(groups, key=highest, reverse=True))
