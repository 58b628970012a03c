"""Reachability: forward and backward fixpoints over partitioned steps with chaining (saturation by groups).

Steps are grouped by the agents they belong to. Each group is iterated to its own fixpoint before the next group, from
the bottom of the variable order upwards, then downwards, and so on: effects propagate through all groups in one turn.

Invariant: the set is closed under every step that is not pending. After a step has enlarged the set, exactly the steps
that depend on it become pending. Steps are independent if neither writes what the other reads or writes; they can be
taken in either order, so a set that is closed under one remains closed. Backwards this holds for reachable states, if
the limits of the search read none of the variables written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial

from cplc.engines.symbolic.bdd import NODES_PER_UNIT, Diagrams, Node, Substitution
from cplc.engines.symbolic.bdd_checkpoint import ReachabilityCheckpoint
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.transitions import Transition
from cplc.records import dataclass
from cplc.runtime.context import current

Image = Callable[[int, Node], Node]
"""Image or preimage of a set under the step of this position."""


BUDGET = 200_000
"""Maximum number of nodes of a set that is not cut down to the reachable states."""
_MIN_RESTRICTED_NODES = 2000
"""Smaller sets are never cut down to the reachable states."""
_MAX_SIZE_RATIO = 4
"""Larger ones are, once they have this many times as many nodes as the set of reachable states."""
_MAX_BLOCK_VARIABLES = 64
"""Maximum number of variables of a block, unless its component is small."""
_MAX_COMPONENT_NODES = 50_000
"""Maximum number of nodes of the reachable states of a small component."""


@dataclass(frozen=True)
class Group:
    """Steps within one component of the system, by their positions."""

    component: int
    steps: tuple[int, ...]
    writes: frozenset[str]
    mask: int
    """The steps as a bit mask."""


@dataclass(frozen=True)
class _Search:
    image: Image
    is_free: Callable[[int], bool] = lambda number: True
    """Returns whether the step writes no variable of the limits of the search."""
    is_done: Callable[[Node], bool] | None = None
    note: Callable[[Node], None] = lambda _: current().safepoint()
    """Called with the current set after each pass."""
    is_backward: bool = False
    """True if the steps of a group are applied in reverse order."""


class _SetTooLarge(Exception):
    """A set with unreachable states exceeded its budget."""

    def __init__(self, states: Node) -> None:
        self.states = states


class ChainedFixpoints:
    """Fixpoints over the steps of one system.

    A backward search runs into unreachable states. Intersecting every set with the reachable states couples all
    variables; not intersecting admits local states that occur in no run. As a compromise the variables that a group
    writes form a block, and a set is intersected with the projection of the reachable states to each block in its
    support.
    """

    def __init__(
        self,
        encoding: Encoding,
        transitions: Sequence[Transition],
        part: Mapping[str, int],
        components: Sequence[frozenset[str]],
        budget: int = BUDGET,
    ) -> None:
        self._budget = budget
        self._encoding = encoding
        self._diagrams = encoding.diagrams
        self._transitions = transitions
        self._components = components
        self._component_of = {name: number for number, names in enumerate(components) for name in names}
        self.groups = _grouped(encoding, transitions, part, self._component_of)
        self._everything = _mask(number for group in self.groups for number in group.steps)
        self._partial_sets: dict[int, Node] = {}
        """States reached so far in each component."""

    @property
    def idles(self) -> bool:
        """Return whether every state has an idle step."""
        return self._encoding.system.has_idle_step

    def restricted_to(self, allowed: Collection[int]) -> ChainedFixpoints:
        """Return searches by these steps alone; reachable states and blocks remain those of all steps."""
        self._compute_shared()
        narrowed = copy(self)
        narrowed.groups = tuple(
            _group(self._transitions, steps, group.component)
            for group in self.groups
            if (steps := tuple(index for index in group.steps if index in allowed))
        )
        narrowed._everything = self._everything & _mask(allowed)
        return narrowed

    def _compute_shared(self) -> None:
        """Compute the parts that copies share."""
        _ = self.transitions, self._blocks, self._dependent

    # --- what is reachable

    @cached_property
    def _reachable_in(self) -> tuple[Node, ...]:
        """Reachable states of each component."""
        return self._explored(None)

    def reaches_within(self, budget: int) -> bool:
        """Compute the reachable states; return False if an intermediate set exceeds the budget of nodes.

        A later call with a larger budget resumes from there.
        """
        if "_reachable_in" not in vars(self):
            try:
                vars(self)["_reachable_in"] = self._explored(budget)
            except _SetTooLarge:
                return False
        return True

    def _explored(self, budget: int | None) -> tuple[Node, ...]:
        so_far = ReachabilityCheckpoint(self._encoding, len(self._components))
        for number, component in enumerate(self._components):
            start = self._partial_sets.get(number)
            if start is None:
                start = so_far.start(number, self._encoding.initial_states(component))
            steps = _mask(index for group in self.groups if group.component == number for index in group.steps)
            search = _Search(self._forward, note=partial(so_far.update, number))
            try:
                self._partial_sets[number] = self._close(start, steps, search, Limit(self._diagrams, budget))
            except _SetTooLarge as reason:
                self._partial_sets[number] = reason.states
                so_far.suspend()
                raise
        so_far.finish()
        return tuple(self._partial_sets[number] for number in range(len(self._components)))

    def _forward(self, number: int, states: Node) -> Node:
        return self._transitions[number].image(states)

    @cached_property
    def reachable(self) -> Node:
        """The reachable states: the product over the components."""
        return self._product(range(len(self._components)))

    def reachable_in_components(self, variables: Iterable[str] | None) -> Node:
        """Return the product over the components of these variables; over all for None."""
        if variables is None:
            return self.reachable
        return self._product({self._component_of[name] for name in variables})

    def _product(self, components: Iterable[int]) -> Node:
        product = self._encoding.true
        for number in sorted(components, reverse=True):
            product = self._reachable_in[number] & product
        return product

    @cached_property
    def _blocks(self) -> tuple[tuple[frozenset[str], Node], ...]:
        """Blocks of variables, with the projection of the reachable states to each.

        In a synchronous system all players act at once, so all variables form one block.
        """
        if not self.idles:
            return ((frozenset(self._component_of), self.reachable),)
        blocks = []
        for variables in dict.fromkeys(group.writes for group in self.groups):
            number = self._component_of[next(iter(variables))]
            if (
                len(variables) <= _MAX_BLOCK_VARIABLES
                or self._diagrams.size(self._reachable_in[number]) <= _MAX_COMPONENT_NODES
            ):
                hidden = self._encoding.cube(self._components[number] - variables)
                blocks.append((variables, self._diagrams.exists(self._reachable_in[number], hidden)))
        return tuple(blocks)

    def restricted_to_blocks(self, states: Node) -> Node:
        """Return a set with the same reachable states and usually fewer unreachable ones."""
        support = self._encoding.variables_in(states)
        for variables, local in self._blocks:
            if support is None or not support.isdisjoint(variables):
                states = local & states
        return states

    @cached_property
    def budget(self) -> int:
        """Maximum number of nodes of a set that is not intersected with the reachable states."""
        return min(self._budget, _MIN_RESTRICTED_NODES + _MAX_SIZE_RATIO * self._diagrams.size(self.reachable))

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        """All steps, restricted to blocks with values of reachable states."""
        return tuple(transition.restricted_to(self._care(transition)) for transition in self._transitions)

    def _care(self, step: Transition) -> Node:
        care = self._encoding.true
        for variables, local in self._blocks:
            if not variables.isdisjoint(step.writes):
                care = local & care
        return care

    def preimage(self, states: Node, steps: Iterable[int] | None = None) -> Node:
        """Return from where one of the steps (of all, for None) leads into the set; maybe without unreachable ones."""
        states_before, limit = self._encoding.false, Limit(self._diagrams, self.budget)
        for number in range(len(self.transitions)) if steps is None else steps:
            states_before = states_before | self.transitions[number].preimage(states)
            if limit.is_passed(states_before):
                states_before = states_before & self.reachable
        self._diagrams.collect_if_needed()
        return states_before

    # --- fixpoints

    @cached_property
    def _dependent(self) -> _DependentTransitions:
        return _DependentTransitions(self._transitions)

    def backward(self, goal: Node, within: Node, cover: Node | None = None) -> Node:
        """Return the states of ``within`` that reach the goal inside of it, and the goal itself.

        The result is exact on reachable states alone. It may be incomplete if it contains all of ``cover``.
        """
        goal = self.restricted_to_blocks(goal)
        if within == self._encoding.true and len(factors := self._factors(goal)) > 1:
            product = self._encoding.true
            for factor in factors:
                product = self.backward(factor, within) & product
            return product
        try:
            return self._backward(goal, within, cover, self.budget)
        except _SetTooLarge as reason:
            product = reason.states & self.reachable
        # Not inside the except clause, where the error keeps the frames with their nodes alive.
        return self._backward(product, within & self.reachable, cover, None)

    def _factors(self, states: Node) -> list[Node]:
        """Return sets of one component each whose product is this set; the set itself if there are none.

        The backward closure of a product is the product of the closures, since components take their steps in any
        order.
        """
        support = self._encoding.variables_in(states)
        concerned = set(
            self._component_of.values() if support is None else map(self._component_of.__getitem__, support)
        )
        if len(concerned) < 2:
            return [states]
        factors = [
            self._diagrams.exists(states, self._encoding.cube(self._component_of.keys() - self._components[number]))
            for number in sorted(concerned, reverse=True)
        ]
        product = self._encoding.true
        for factor in factors:
            product = factor & product
        return factors if product == states else [states]

    def _backward(self, goal: Node, within: Node, cover: Node | None, budget: int | None) -> Node:
        support, limits = self._encoding.variables_in(goal), self._encoding.variables_in(within)
        pending = _mask(
            number
            for group in self.groups
            for number in group.steps
            if support is None or not support.isdisjoint(self._transitions[number].writes)
        )
        search = _Search(
            lambda number, states: self.transitions[number].preimage(states) & within,
            is_free=lambda number: limits is not None and limits.isdisjoint(self._transitions[number].writes),
            is_done=None if cover is None else lambda states: cover & ~states == self._encoding.false,
            is_backward=True,
        )
        return self._close(goal, pending, search, Limit(self._diagrams, budget))

    def _close(self, states: Node, pending: int, search: _Search, limit: Limit) -> Node:
        """Apply the pending steps, a bit mask, until the set is closed.

        Invariant: the set is closed under every step that is not pending.
        """
        groups = self.groups
        while pending:
            for group in groups:
                if not pending & group.mask:
                    continue
                closed, pending = self._saturated(group, states, pending, search, limit)
                if closed != states and search.is_done is not None and search.is_done(closed):
                    return closed
                states = closed
            groups = groups[::-1]
        return states

    def _saturated(self, group: Group, states: Node, pending: int, search: _Search, limit: Limit) -> tuple[Node, int]:
        """Apply the group's steps until the set is closed under them; return the set and the pending steps.

        The steps apply to the new states alone if these are few. Invariant: a step that is not pending finds nothing in
        the states from before this pass.
        """
        size = self._diagrams.size
        steps = group.steps[::-1] if search.is_backward else group.steps
        front = states
        while pending & group.mask:
            before = states
            for number in steps:
                if not pending >> number & 1:
                    continue
                pending &= ~(1 << number)
                more = search.image(number, front)
                union = states | more
                if union == states:
                    continue
                front, states = front | more, union
                pending |= self._everything & (self._dependent.dependent_on(number) if search.is_free(number) else -1)
                if limit.is_passed(states):
                    raise _SetTooLarge(states)
            self._diagrams.collect_if_needed()
            context = current()
            context.charge(size(states) // NODES_PER_UNIT)
            context.report_iteration(self._diagrams.nodes())
            search.note(states)
            front = states & ~before
            if size(front) * 2 > size(states):
                front = states
        return states, pending


class Limit:
    """Checks the size of a set whenever enough nodes were made that it may exceed the budget."""

    def __init__(self, diagrams: Diagrams[Node, Substitution], budget: int | None) -> None:
        self._diagrams = diagrams
        self._budget = budget
        self._ceiling = 0 if budget is None else diagrams.nodes() + budget

    def is_passed(self, states: Node) -> bool:
        if self._budget is None:
            return False
        held = self._diagrams.nodes()
        self._ceiling = min(self._ceiling, held + self._budget)  # dead nodes may have been dropped since
        if held <= self._ceiling:
            return False
        self._ceiling = held + self._budget
        return self._diagrams.size(states) > self._budget


class _DependentTransitions:
    """The steps that depend on a step, as bit masks.

    Independent steps write nothing that the other reads or writes.
    """

    def __init__(self, transitions: Sequence[Transition]) -> None:
        self._transitions = transitions
        self._users: dict[str, int] = {}
        self._writers: dict[str, int] = {}
        self._cached: dict[int, int] = {}
        for number, step in enumerate(transitions):
            for name in step.footprint:
                self._users[name] = self._users.get(name, 0) | 1 << number
            for name in step.writes:
                self._writers[name] = self._writers.get(name, 0) | 1 << number

    def dependent_on(self, number: int) -> int:
        disturbed = self._cached.get(number)
        if disturbed is None:
            step = self._transitions[number]
            disturbed = 0
            for name in step.writes:
                disturbed |= self._users[name]
            for name in step.footprint:
                disturbed |= self._writers.get(name, 0)
            self._cached[number] = disturbed
        return disturbed


def _mask(numbers: Iterable[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _grouped(
    encoding: Encoding, transitions: Sequence[Transition], part: Mapping[str, int], component_of: Mapping[str, int]
) -> tuple[Group, ...]:
    """Group the steps by pairs of agents and part of the order, those furthest down in the order first.

    A restart joins the only group whose variables include those it writes, if there is exactly one.
    """
    pairs = {message.name: tuple(sorted(message.roles)) for message in encoding.system.messages}
    members: dict[tuple[int, tuple[str, ...], frozenset[int]], list[int]] = {}
    unpaired: list[int] = []
    for index, transition in enumerate(transitions):
        if transition.event in pairs and transition.writes:
            key = component_of[next(iter(transition.writes))], pairs[transition.event], _parts(transition, part)
            members.setdefault(key, []).append(index)
        elif transition.writes:
            unpaired.append(index)
    together = list(members.values())
    touched = [frozenset[str]().union(*(transitions[index].footprint for index in steps)) for steps in together]
    for index in unpaired:
        fitting = [number for number, names in enumerate(touched) if transitions[index].writes <= names]
        if len(fitting) == 1:
            together[fitting[0]].append(index)
        else:
            together.append([index])

    def group(steps: list[int]) -> Group:
        made = _group(transitions, steps, 0)
        return replace(made, component=component_of[next(iter(made.writes))])

    def highest(group: Group) -> int:
        return min((encoding.bits[name][0] for name in group.writes if encoding.bits[name]), default=0)

    return tuple(sorted(map(group, together), key=highest, reverse=True))


def _group(transitions: Sequence[Transition], steps: Sequence[int], component: int) -> Group:
    taken = [transitions[index] for index in steps]
    writes = frozenset[str]().union(*(step.writes for step in taken))
    return Group(component, tuple(steps), writes, _mask(steps))


def _parts(step: Transition, part: Mapping[str, int]) -> frozenset[int]:
    return frozenset(part[name] for name in step.writes if name in part)
