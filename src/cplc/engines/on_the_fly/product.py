"""The product of a system with the automaton of a path formula, computed on the fly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property

from cplc.automata.lazy_automaton import Edge, LazyAutomaton
from cplc.engines.on_the_fly.lazy_states import LazyStateSpace, Successors
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula, Taken
from cplc.records import dataclass
from cplc.system.model import Justice

Node = int
"""A state of the system and one of the automaton, packed into one number."""
Test = Callable[[int], bool]
"""A predicate on states."""

_BITS = 16
"""Bits of a node that hold the automaton state."""
_STATE = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class ProductEdge:
    """An edge of the automaton taken together with a step of the system, or with the idle one (None)."""

    edge: Edge
    step: int | None
    target: Node
    marks: int


@dataclass(frozen=True, slots=True)
class GoodPrefix:
    """The prefix is good: no obligation is left, and every fair continuation is accepted."""

    edge: Edge | None


@dataclass(frozen=True, slots=True)
class AcceptingCycle:
    """The run repeats these edges forever."""

    hops: tuple[ProductEdge, ...]


@dataclass(frozen=True)
class Product:
    """The generalised Büchi automaton of the fair runs on which a path formula holds.

    Acceptance marks are on edges, a bit for each until of the formula, justice and fairness condition.
    """

    world: LazyStateSpace
    moves: Callable[[int], Successors]
    """The successor function, possibly reduced."""
    automaton: LazyAutomaton
    test: Callable[[Formula], Test]
    """Returns the predicate of a state formula."""
    allowed: frozenset[int] | None
    """The steps that may be taken; None for all."""
    justice: tuple[int, ...]
    """For each step the bits of the justices that it meets."""
    waiting: int
    """The bits of all justices."""
    conditions: tuple[tuple[int, Callable[[int], bool]], ...]
    """The fairness conditions: their bits and predicates."""
    endless: Test | None
    """True if a fair run continues from a state, where that is not always so."""
    steps_of: Callable[[Taken], frozenset[int]]
    tests: dict[int, list[tuple[Edge, list[tuple[Test, bool]]]]] = field(default_factory=dict)
    """Cache: the edges of each automaton state with the predicates of their claims."""

    @cached_property
    def all_marks(self) -> int:
        marks = self.automaton.all_marks | self.waiting
        for bit, _ in self.conditions:
            marks |= bit
        return marks

    @property
    def finite(self) -> bool:
        """True if every accepted run has a good prefix."""
        return self.automaton.ends and (self.endless is not None or not self.conditions)

    def node(self, state: int) -> Node:
        """Return the initial node of runs from the state."""
        return state << _BITS | self.automaton.first

    def split(self, node: Node) -> tuple[int, int]:
        """Return the system state and the automaton state."""
        return node >> _BITS, node & _STATE

    def is_done(self, node: Node) -> bool:
        """Tell whether every fair run from the node is accepted, and there is one."""
        return node & _STATE == self.automaton.done and self._goes_on(node)

    def _goes_on(self, node: Node) -> bool:
        return not self.conditions if self.endless is None else self.endless(node >> _BITS)

    def open_edges(self, node: Node) -> Iterator[Edge]:
        """Yield lazily the automaton edges whose claims are true in the state."""
        state, place = node >> _BITS, node & _STATE
        edges = self.tests.get(place)
        if edges is None:
            edges = self.tests[place] = [
                (edge, [(self.test(formula), value) for formula, value in edge.claims])
                for edge in self.automaton.edges(place)
            ]
        for edge, claims in edges:
            for test, value in claims:
                if test(state) is not value:
                    break
            else:
                yield edge

    def hops(self, node: Node) -> Iterator[ProductEdge]:
        """Yield the outgoing product edges; for each automaton edge the idle step comes first."""
        state = node >> _BITS
        moves: Sequence[tuple[int, int]] | None = None
        here = 0
        for edge in self.open_edges(node):
            if moves is None:
                moves, here = self._moves(state)
            marks = edge.marks | here
            if edge.may_idle and self.world.has_idle_step:
                yield ProductEdge(edge, None, state << _BITS | edge.target, marks)
            demands = [(self.steps_of(taken), value) for taken, value in edge.demands]
            justice = self.justice
            for step, after in moves:
                if demands and any((step in steps) is not value for steps, value in demands):
                    continue
                yield ProductEdge(edge, step, after << _BITS | edge.target, marks | justice[step])

    def outcome(self, node: Node) -> GoodPrefix | AcceptingCycle | None:
        """Return a proof of acceptance at this node alone: a good prefix or a self-loop; otherwise None."""
        if self.is_done(node):
            return GoodPrefix(None)
        state, here = node & _STATE, None
        for edge in self.open_edges(node):
            if edge.target == self.automaton.done and not edge.demands and self._goes_on(node):
                return GoodPrefix(edge)
            if edge.target == state and edge.may_idle and self.world.has_idle_step:
                if here is None:
                    here = self._moves(node >> _BITS)[1]
                if edge.marks | here == self.all_marks:
                    return AcceptingCycle((ProductEdge(edge, None, node, edge.marks | here),))
        return None

    def _moves(self, state: int) -> tuple[Sequence[tuple[int, int]], int]:
        """Return the permitted successors, and the marks that the state itself meets."""
        moves: Sequence[tuple[int, int]] = self.moves(state)
        if self.allowed is not None:
            moves = [move for move in moves if move[0] in self.allowed]
        enabled = 0
        for step, _ in moves:
            enabled |= self.justice[step]
        met = self.waiting & ~enabled
        for bit, holds in self.conditions:
            if holds(state):
                met |= bit
        return moves, met


def product(
    world: LazyStateSpace,
    moves: Callable[[int], Successors],
    automaton: LazyAutomaton,
    test: Callable[[Formula], Test],
    along: Taken | None,
    justice: Sequence[Justice],
    fairness: Sequence[Expr],
    steps_of: Callable[[Taken], frozenset[int]],
    endless: Test | None,
) -> Product:
    """Return the product. Steps outside of ``along`` do not count as enabled."""
    allowed = None if along is None else steps_of(along)
    bit = 1 << automaton.marks
    met_by = [0] * len(world.relation.labels)
    waiting = 0
    for constraint in justice:
        steps = [step for step in constraint.steps if allowed is None or step in allowed]
        if steps:
            waiting |= bit
            for step in steps:
                met_by[step] |= bit
            bit <<= 1
    conditions = tuple((bit << number, world.condition(expr)) for number, expr in enumerate(fairness))
    return Product(world, moves, automaton, test, allowed, tuple(met_by), waiting, conditions, endless, steps_of)
