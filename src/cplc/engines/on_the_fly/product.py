"""The automaton of a path formula together with the system: where a run of the one is a walk of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property

from cplc.engines.on_the_fly.lazy_states import LazyStateSpace, Successors
from cplc.engines.on_the_fly.tableau import Edge, Tableau
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula, Taken
from cplc.records import dataclass
from cplc.system.model import Justice

Node = int
"""A state of the system and one of the automaton in a single number."""
Test = Callable[[int], bool]
"""Whether something is so in a state."""

_BITS = 16
"""How many bits of a node are the automaton's."""
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
    """Nothing is left to show after these hops, and any fair run goes on from there."""

    edge: Edge | None


@dataclass(frozen=True, slots=True)
class AcceptingCycle:
    """The run goes round by these hops for ever."""

    hops: tuple[ProductEdge, ...]


@dataclass(frozen=True)
class Product:
    """The runs on which a path formula holds, along some steps and under some conditions.

    A mark is met on a hop, a bit for each: untils of the formula, justice, conditions of fairness.
    """

    world: LazyStateSpace
    moves: Callable[[int], Successors]
    """What may come next in a state, as far as it is of interest."""
    tableau: Tableau
    test: Callable[[Formula], Test]
    """What a state formula is worth in a state, as a function."""
    allowed: frozenset[int] | None
    """The steps that may be taken; None for all."""
    justice: tuple[int, ...]
    """For each step the bits of the justice that taking it meets."""
    waiting: int
    """The bits of all justice."""
    conditions: tuple[tuple[int, Callable[[int], bool]], ...]
    """The bits of the conditions of fairness, and when they hold."""
    endless: Test | None
    """Where nothing is left to show: whether a fair run goes on from a state, if that is not clear by itself."""
    steps_of: Callable[[Taken], frozenset[int]]
    tests: dict[int, list[tuple[Edge, list[tuple[Test, bool]]]]] = field(default_factory=dict)
    """The edges of each state of the automaton with their claims, as far as they have been needed."""

    @cached_property
    def all_marks(self) -> int:
        marks = self.tableau.all_marks | self.waiting
        for bit, _ in self.conditions:
            marks |= bit
        return marks

    @property
    def finite(self) -> bool:
        """Whether every good run is good by a finite beginning."""
        return self.tableau.ends and (self.endless is not None or not self.conditions)

    def node(self, state: int) -> Node:
        """Return where a run that begins in the state begins."""
        return state << _BITS | self.tableau.first

    def split(self, node: Node) -> tuple[int, int]:
        """Return the state of the system and that of the automaton."""
        return node >> _BITS, node & _STATE

    def is_done(self, node: Node) -> bool:
        """Whether any fair run from there will do, and there is one."""
        return node & _STATE == self.tableau.done and self._goes_on(node)

    def _goes_on(self, node: Node) -> bool:
        return not self.conditions if self.endless is None else self.endless(node >> _BITS)

    def open_edges(self, node: Node) -> Iterator[Edge]:
        """Yield the edges of the automaton whose claims are true in the state, lazily."""
        state, place = node >> _BITS, node & _STATE
        edges = self.tests.get(place)
        if edges is None:
            edges = self.tests[place] = [
                (edge, [(self.test(formula), value) for formula, value in edge.claims])
                for edge in self.tableau.edges(place)
            ]
        for edge, claims in edges:
            for test, value in claims:
                if test(state) is not value:
                    break
            else:
                yield edge

    def hops(self, node: Node) -> Iterator[ProductEdge]:
        """Yield the ways to go on; for each edge the idle step comes first."""
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
        """Return how a run from there can be seen to end well without going anywhere, if it can."""
        if self.is_done(node):
            return GoodPrefix(None)
        state, here = node & _STATE, None
        for edge in self.open_edges(node):
            if edge.target == self.tableau.done and not edge.demands and self._goes_on(node):
                return GoodPrefix(edge)
            if edge.target == state and edge.may_idle and self.world.has_idle_step:
                if here is None:
                    here = self._moves(node >> _BITS)[1]
                if edge.marks | here == self.all_marks:
                    return AcceptingCycle((ProductEdge(edge, None, node, edge.marks | here),))
        return None

    def _moves(self, state: int) -> tuple[Sequence[tuple[int, int]], int]:
        """Return the steps that may be taken, and the bits of what the state itself meets."""
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
    tableau: Tableau,
    test: Callable[[Formula], Test],
    along: Taken | None,
    justice: Sequence[Justice],
    fairness: Sequence[Expr],
    steps_of: Callable[[Taken], frozenset[int]],
    endless: Test | None,
) -> Product:
    """Return the product; along some steps, the others do not count as enabled."""
    allowed = None if along is None else steps_of(along)
    bit = 1 << tableau.marks
    met_by = [0] * max(1, len(world.system.steps))
    waiting = 0
    for constraint in justice:
        steps = [step for step in constraint.steps if allowed is None or step in allowed]
        if steps:
            waiting |= bit
            for step in steps:
                met_by[step] |= bit
            bit <<= 1
    conditions = tuple((bit << number, world.condition(expr)) for number, expr in enumerate(fairness))
    return Product(world, moves, tableau, test, allowed, tuple(met_by), waiting, conditions, endless, steps_of)
