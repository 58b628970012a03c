"""Lazy state space: successors, observation classes and reachable states, computed on demand and cached.

Successors are those of all steps, or of stubborn sets of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cplc.logic.expressions import Const, Expr, Read, conj, equal, negate, reads
from cplc.logic.formulas import Adjacent
from cplc.records import dataclass
from cplc.reductions.ctl_fragment import ReachabilityGoals
from cplc.reductions.partial_order import DependencyRelation, StubbornSets
from cplc.runtime.context import ResourceExhausted, StoredStates, current
from cplc.statespace.graph_algorithms import SearchTree
from cplc.statespace.packing import MemoTable
from cplc.statespace.synchronous import SynchronousRelation, agreeing
from cplc.statespace.transition_relation import transition_relation
from cplc.system.model import State, System

Successors = tuple[tuple[int, int], ...]
"""Labels of transitions with their targets."""

_MAX_REMEMBERED = 1 << 15


class LazyStateSpace:
    """One system on packed states. It counts stored states and work, and enforces the limits."""

    def __init__(self, system: System, limit: int, effort: int | None = None) -> None:
        self.system = system
        self.relation = transition_relation(system, limit, self.spend)
        self.packing = self.relation.packing
        self._limit = limit
        self.stored = 0
        """States that the searches have stored."""
        self._effort = effort
        self._cache: dict[int, Successors] = {}

    def store(self, number: int = 1) -> None:
        """Count stored states. Raise `ResourceExhausted` beyond the limit."""
        self.stored += number
        current().report(StoredStates(self.stored))
        self.spend(number)
        if self.stored > self._limit:
            raise ResourceExhausted(f"the search on the fly has met more than {self._limit:,} states")

    def spend(self, effort: int) -> None:
        """Count work in units of one visited state. Raise `ResourceExhausted` when the effort is used up."""
        current().charge(effort)
        if self._effort is not None:
            self._effort -= effort
            if self._effort < 0:
                raise ResourceExhausted("a bounded search did not decide the question")

    @property
    def has_idle_step(self) -> bool:
        """True if every state has an idle step."""
        return self.relation.has_idle_step

    def initial(self) -> list[int]:
        return self.relation.initial_states(self._limit)

    def state(self, packed: int) -> State:
        return self.packing.unpack(packed)

    def moves(self, state: int) -> Successors:
        """Return every transition from a state, in the order of labels."""
        successors = self._cache.get(state)
        if successors is None:
            if len(self._cache) >= _MAX_REMEMBERED:
                self._cache.clear()
            successors = self._cache[state] = tuple(self.relation.transitions(state))
        return successors

    def neighbours(self, formula: Adjacent) -> Callable[[int], Iterator[int]]:
        """Return the successor function by rounds of the formula's kind."""
        relation = self.relation
        assert isinstance(relation, SynchronousRelation), "adjacency by a round requires a synchronous system"
        agree = agreeing(self.packing, formula.same)
        return lambda state: (one for one in relation.by_action(state, formula.choice) if agree(state, one))

    def condition(self, expr: Expr) -> Callable[[int], bool]:
        """Return the condition as a memoised predicate on states."""
        mask = self.packing.mask(reads(expr))
        holds = MemoTable(self.packing.condition(expr))
        return lambda state: holds[state & mask]


# --- Partial-order reduction on the fly: successors by stubborn sets (Valmari), for reachability questions
#
# Following every step is always sound. A search therefore begins without reduction, computes stubborn sets only once
# it takes longer, and stops computing them if they leave out few steps.


_UNREDUCED_STATES = 1024
"""States that are expanded without reduction, since stubborn sets need preparations."""
_SAMPLE_STATES = 1024
_MAX_FOLLOWED_FRACTION = 0.7
_COMBINATIONS_PER_UNIT = 32
"""Combinations of values that are enumerated in one unit of work."""


class StubbornSuccessors:
    """The successor function that preserves the reachability of a plan's goals."""

    def __init__(self, world: LazyStateSpace, plan: ReachabilityGoals) -> None:
        self._world = world
        self._plan = plan
        self._cache: dict[int, Successors] = {}
        self._calls = self._possible = self._followed = self._charged = 0
        self._dependency: DependencyRelation | None = None
        self._stubborn: StubbornSets | None = None

    def __call__(self, state: int) -> Successors:
        successors = self._cache.get(state)
        if successors is None:
            if len(self._cache) >= _MAX_REMEMBERED:
                self._cache.clear()
            successors = self._cache[state] = self._choose(state)
        return successors

    def _choose(self, state: int) -> Successors:
        moves = self._world.moves(state)
        self._calls += 1
        if self._calls <= _UNREDUCED_STATES or len(moves) < 2 or not self._is_worthwhile:
            return moves
        if self._stubborn is None or self._dependency is None:
            self._dependency = DependencyRelation(self._world.system)
            self._stubborn = StubbornSets(self._dependency, self._plan.goals)
        enabled = 0
        for step, _ in moves:
            enabled |= 1 << step
        steps = self._stubborn(state, enabled, range(len(self._plan.goals)))
        self._charge(self._dependency.effort)
        self._possible += enabled.bit_count()
        self._followed += steps.bit_count()
        return moves if steps == enabled else tuple(move for move in moves if steps >> move[0] & 1)

    @property
    def _is_worthwhile(self) -> bool:
        return (
            self._calls <= _UNREDUCED_STATES + _SAMPLE_STATES
            or self._followed <= _MAX_FOLLOWED_FRACTION * self._possible
        )

    def _charge(self, effort: int) -> None:
        """Count the work of computing the dependency relation."""
        units = (effort - self._charged) // _COMBINATIONS_PER_UNIT
        if units:
            self._charged += units * _COMBINATIONS_PER_UNIT
            self._world.spend(units)


# --- Indistinguishability: the accessibility relations of knowledge and commitments, as classes of equal observations
#
# There is one relation for each agent, for each group with distributed knowledge, and for each observer of the
# debtor's end of a channel: it relates states with equal observations (the reduction of Bentahar, El-Menshawy, Qu and
# Dssouli, "Communicative commitments: model checking and complexity analysis", 2012, with one label in place of their
# two; see `cplc.logic.formulas.meaning`).


class Observation:
    """An observation function: the variables under a mask, and the values of some conditions."""

    def __init__(self, world: LazyStateSpace, mask: int, conditions: tuple[Expr, ...] = ()) -> None:
        self.mask = mask
        self.conditions = conditions
        self._width = world.packing.width
        self._tests = tuple(map(world.condition, conditions))

    def of(self, state: int) -> int:
        """Return the observation of the state as one number."""
        pattern = state & self.mask
        for bit, test in enumerate(self._tests, start=self._width):
            pattern |= test(state) << bit
        return pattern


@dataclass(frozen=True, slots=True)
class ObservationClass:
    """The states with the same observation."""

    sight: Observation
    pattern: int


class Indistinguishability:
    """The observation classes of one system."""

    def __init__(self, world: LazyStateSpace) -> None:
        self.world = world
        self.system: System = world.system
        self._of_agents: dict[tuple[str, ...], Observation] = {}
        self._of_observers: dict[tuple[Expr, ...], Observation] = {}
        self.whole = Observation(world, (1 << world.packing.width) - 1)
        self.nothing = Observation(world, 0)

    def of_agents(self, agents: tuple[str, ...], state: int) -> ObservationClass:
        """Return the class of the state under the joint observation of these agents."""
        sight = self._of_agents.get(agents)
        if sight is None:
            local = (name for agent in agents for name in self.system.agent[agent].local)
            sight = self._of_agents[agents] = Observation(self.world, self.world.packing.mask(local))
        return ObservationClass(sight, sight.of(state))

    def of_observers(self, observed: tuple[Expr, ...], state: int) -> ObservationClass:
        """Return the class of the state under these variables and conditions."""
        sight = self._of_observers.get(observed)
        if sight is None:
            mask = self.world.packing.mask(expr.variable for expr in observed if isinstance(expr, Read))
            conditions = tuple(expr for expr in observed if not isinstance(expr, Read))
            sight = self._of_observers[observed] = Observation(self.world, mask, conditions)
        return ObservationClass(sight, sight.of(state))

    def condition(self, view: ObservationClass) -> Expr:
        """Return the class as a condition on the variables."""
        packing, sight = self.world.packing, view.sight
        values = [
            equal(Read(name), Const(packing.value(name, view.pattern)))
            for name in self.system.variable
            if packing.mask((name,)) & sight.mask
        ]
        for bit, condition in enumerate(sight.conditions, start=packing.width):
            values.append(condition if view.pattern >> bit & 1 else negate(condition))
        return conj(values)

    def determines(self, sight: Observation, observed: Iterable[Expr]) -> bool:
        """Tell whether these expressions are constant in every class of this observation."""
        return all(
            expr in sight.conditions or self.world.packing.mask(reads(expr)) & ~sight.mask == 0 for expr in observed
        )


# --- Reachable states, enumerated by one incremental search that all questions share


_CHUNK = 64


class ReachableStates:
    """Reachable states in breadth-first order, enumerated on demand and indexed by observation class."""

    def __init__(self, world: LazyStateSpace) -> None:
        self.world = world
        self.states: list[int] = []
        self._tree: SearchTree[int, int] = SearchTree()
        self._next = 0
        self._views: dict[Observation, tuple[dict[int, list[int]], list[int]]] = {}
        self._begun = False
        self._attempts = 0

    def may_search_separately(self, effort: int) -> bool:
        """Tell whether a separate guided search may be tried: in total it takes no longer than this search."""
        if self._begun and self._next == len(self.states):
            return False
        if self._attempts * effort > len(self.states) + 8 * effort:
            return False
        self._attempts += 1
        return True

    def add_run(self, trail: list[tuple[int | None, int]]) -> None:
        """Add the states of a run from an initial state."""
        before: int | None = None
        for step, state in trail:
            self._add(state, None if before is None or step is None else (before, step))
            before = state

    def expand(self) -> bool:
        """Expand some more states; return False if all were expanded before."""
        if not self._begun:
            self._begun = True
            for state in self.world.initial():
                self._add(state, None)
        if self._next == len(self.states):
            return False
        for state in self.states[self._next : self._next + _CHUNK]:
            self._next += 1
            for step, target in self.world.moves(state):
                self._add(target, (state, step))
        return True

    def _add(self, state: int, parent: tuple[int, int] | None) -> None:
        if state not in self._tree.parents:
            self.world.store()
            self._tree.parents[state] = parent
            self.states.append(state)

    def states_in(self, view: ObservationClass) -> Iterator[int]:
        """Yield every reachable state of the class, beginning with those that were reached before."""
        position = 0
        while True:
            while position < len(members := self.reached_in(view)):
                yield members[position]
                position += 1
            if not self.expand():
                return

    def reached_in(self, view: ObservationClass) -> list[int]:
        """Return the states of the class that have been reached so far."""
        views, done = self._views.setdefault(view.sight, ({}, [0]))
        for state in self.states[done[0] :]:
            views.setdefault(view.sight.of(state), []).append(state)
        done[0] = len(self.states)
        return views.get(view.pattern, [])

    def run_to(self, state: int) -> list[tuple[int | None, int]]:
        """Return a run to a stored state: the initial state, then each step with its successor."""
        start, path = self._tree.path_to(state)
        return [(None, start), *path]

    def contains(self, state: int) -> bool:
        return state in self._tree
