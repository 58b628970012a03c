"""On-demand evaluation of state formulas, under justice for the assumed roles, with memoisation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from cplc.automata.lazy_automaton import LazyAutomaton
from cplc.engines.on_the_fly.distance_heuristic import DistanceHeuristic, ProductHeuristic
from cplc.engines.on_the_fly.lazy_states import (
    Indistinguishability,
    LazyStateSpace,
    ObservationClass,
    ReachableStates,
    Successors,
)
from cplc.engines.on_the_fly.search import (
    Product,
    ProductEdge,
    SearchResults,
    accepting_start,
    nearest_accepting_start,
    product,
)
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.graph_algorithms import SearchTree

Test = Callable[[int], bool]
RunFromInitial = list[tuple[int | None, int]]
"""A run: the initial state, then each step with its successor."""

_MAX_GUIDED_STATES = 400
"""States that a guided search for one state of an observation class may visit."""


@dataclass
class SharedSearchData:
    """Data of the system that all questions share: states, observation classes and distance estimates."""

    world: LazyStateSpace
    reached: ReachableStates
    views: Indistinguishability
    heuristic: DistanceHeuristic


@dataclass(frozen=True)
class PathSearch:
    """The search for a fair run on which a path formula has a given value."""

    product: Product
    results: SearchResults
    guide: ProductHeuristic | None

    def start_of_run(self, starts: Iterable[int]) -> int | None:
        """Return one of the states from which such a run begins, or None."""
        node = accepting_start(self.product, self.results, [self.product.node(state) for state in starts], self.guide)
        return None if node is None else self.product.split(node)[0]


class Checker:
    """Decides state formulas in the states of one system, on runs that are just to the assumed roles."""

    def __init__(
        self, context: SharedSearchData, assuming: frozenset[str], moves: Callable[[int], Successors] | None = None
    ) -> None:
        self.context = context
        self.moves = context.world.moves if moves is None else moves
        self.assuming = assuming
        self._tests: dict[Formula, Test] = {}
        self._runs: dict[tuple[Formula, bool, f.Taken | None], PathSearch] = {}
        self._indistinguishable_states: dict[tuple[Formula, ObservationClass], int | None] = {}
        self._steps: dict[f.Taken, frozenset[int]] = {}
        self._round_predecessors: dict[f.Adjacent, dict[int, int]] = {}

    def holds(self, formula: Formula, state: int) -> bool:
        return self.test(formula)(state)

    def test(self, formula: Formula) -> Test:
        """Return the formula as a predicate on states."""
        test = self._tests.get(formula)
        if test is None:
            test = self._tests[formula] = self._test(formula)
        return test

    def _test(self, formula: Formula) -> Test:
        match formula:
            case f.Atom(condition):
                return self.context.world.condition(condition)
            case f.Not(operand):
                inner = self.test(operand)
                return lambda state: not inner(state)
            case f.And(operands):
                conjuncts = self._plain_first(operands)
                return lambda state: all(conjunct(state) for conjunct in conjuncts)
            case f.Or(operands):
                disjuncts = self._plain_first(operands)
                return lambda state: any(disjunct(state) for disjunct in disjuncts)
            case f.Implies(left, right):
                return self.test(f.Or((f.Not(left), right)))
            case f.Iff(left, right):
                one, other = self.test(left), self.test(right)
                return lambda state: one(state) == other(state)
            case f.OnPaths(quantifier, path, along):
                runs = self.path_search(path, quantifier == "E", along)
                return lambda state: (runs.start_of_run((state,)) is not None) == (quantifier == "E")
            case f.Knows("common", _, _):
                return lambda state: self.common_knowledge_chain(formula, state) is None
            case f.Knows("each", agents, operand):
                return lambda state: all(
                    self.indistinguishable_state(operand, False, self.context.views.of_agents((agent,), state), state)
                    is None
                    for agent in agents
                )
            case f.Knows(_, agents, operand):
                return lambda state: (
                    self.indistinguishable_state(operand, False, self.context.views.of_agents(agents, state), state)
                    is None
                )
            case f.KnownFrom(observed, operand):
                return lambda state: (
                    self.indistinguishable_state(
                        operand, False, self.context.views.of_observers(observed, state), state
                    )
                    is None
                )
            case f.Adjacent(back=False):
                return lambda state: self.round_successor(formula, state) is not None
            case f.Adjacent():
                return lambda state: self.round_predecessor(formula, state) is not None
            case f.Enforces():
                raise ResourceExhausted("the engine `onthefly` does not decide what groups can enforce (`<<…>>`)")
            case f.Derived():
                return self.test(formula.definition)
            case f.PathOperator() | f.Regardless():
                raise AssertionError(f"no formula on states: {formula}")
            case _:
                assert_never(formula)

    def _plain_first(self, formulas: Iterable[Formula]) -> list[Test]:
        return [self.test(formula) for formula in sorted(formulas, key=lambda formula: not f.is_propositional(formula))]

    # --- runs

    def path_search(self, path: Formula, value: bool, along: f.Taken | None) -> PathSearch:
        """Return the cached search for fair runs on which the path formula has the value."""
        key = (path, value, along)
        search = self._runs.get(key)
        if search is None:
            search = self._runs[key] = self._new_path_search(path, value, along, fair=True)
        return search

    def _new_path_search(self, path: Formula, value: bool, along: f.Taken | None, *, fair: bool) -> PathSearch:
        automaton = LazyAutomaton(path, value, f.is_propositional)
        assuming = self.assuming if fair else None
        endless = self.begins if fair and self._needs_endless_run(f.OnPaths("E", path, along)) else None
        built = product(self.context.world, self.moves, automaton, self.test, along, assuming, self._steps_of, endless)
        return PathSearch(
            built,
            SearchResults(),
            ProductHeuristic(self.context.heuristic, built) if self.context.world.has_idle_step else None,
        )

    def _needs_endless_run(self, formula: f.OnPaths) -> bool:
        """Tell whether finite prefixes prove nothing: where runs may end, for formulas beyond CTL or under fairness."""
        system = self.context.world.system
        return not system.has_idle_step and (bool(system.fairness) or f.ctl_path(formula) is None)

    def begins(self, state: int) -> bool:
        """Tell whether a fair run begins in the state."""
        return self.test(f.SOME_FAIR_RUN)(state)

    def is_considered(self, state: int) -> bool:
        """Tell whether accessibility relations include the state: in rounds those with a fair run alone."""
        return not self.excludes_unfair_states or self.begins(state)

    @property
    def excludes_unfair_states(self) -> bool:
        return self.context.world.system.excludes_unfair_states

    def _among_considered(self, claim: Formula) -> Formula:
        return f.And((claim, f.SOME_FAIR_RUN)) if self.excludes_unfair_states else claim

    def _steps_of(self, taken: f.Taken) -> frozenset[int]:
        matching_steps = self._steps.get(taken)
        if matching_steps is None:
            steps = enumerate(self.context.world.system.steps)
            matching_steps = self._steps[taken] = frozenset(
                number for number, step in steps if step.name in taken.steps
            )
        return matching_steps

    # --- reachable states, without fairness

    def run_to_formula(self, formula: Formula, effort: int | None = None) -> RunFromInitial | None:
        """Return a run to a reachable state that satisfies the formula, or None.

        With a limit on the effort, None may also mean that the search was given up.
        """
        runs = self._new_path_search(f.Finally(formula), True, None, fair=False)
        starts = [runs.product.node(state) for state in self.context.world.initial()]
        node = nearest_accepting_start(runs.product, runs.results, starts, runs.guide, effort)
        if node is None:
            return None
        trail: RunFromInitial = [(None, runs.product.split(node)[0])]
        while isinstance(hop := runs.results.continuations[node], ProductEdge):
            node = hop.target
            trail.append((hop.step, runs.product.split(node)[0]))
        return trail

    def run_to(self, state: int) -> RunFromInitial:
        """Return a run from an initial state to a reachable state."""
        reached = self.context.reached
        if not reached.contains(state):
            whole = ObservationClass(self.context.views.whole, state)
            trail = self.run_to_formula(f.Atom(self.context.views.condition(whole), "state"), _MAX_GUIDED_STATES)
            if trail is not None:
                reached.add_run(trail)
            else:
                next(reached.states_in(whole))
        return reached.run_to(state)

    def indistinguishable_state(self, formula: Formula, value: bool, view: ObservationClass, here: int) -> int | None:
        """Return a reachable state of the class in which the formula has the value, preferably ``here``, or None."""
        claim = formula if value else f.Not(formula)
        inside = view.sight.of(here) == view.pattern and self.is_considered(here)
        if inside and self.test(claim)(here):
            return here
        key = (claim, view)
        if key not in self._indistinguishable_states:
            alike = self._is_determined_by(formula, view)
            self._indistinguishable_states[key] = (
                None if alike and inside else self._find_indistinguishable(self._among_considered(claim), view)
            )
        return self._indistinguishable_states[key]

    def _is_determined_by(self, formula: Formula, view: ObservationClass) -> bool:
        """Tell whether the formula has the same value in all states of the class.

        Conditions on observed variables do, and so does knowledge from observations that the class determines.
        """
        determines = self.context.views.determines
        match formula:
            case f.Atom(condition):
                return determines(view.sight, (condition,))
            case f.Not() | f.And():
                return all(self._is_determined_by(child, view) for child in f.children(formula))
            case f.KnownFrom(observed):
                return determines(view.sight, observed)
            case f.Derived():
                return self._is_determined_by(formula.definition, view)
            case f.PathOperator() | f.StateOperator():
                return False
            case _:
                assert_never(formula)

    def _find_indistinguishable(self, claim: Formula, view: ObservationClass) -> int | None:
        reached, test = self.context.reached, self.test(claim)
        for state in reached.reached_in(view):
            if test(state):
                return state
        if reached.may_search_separately(_MAX_GUIDED_STATES):
            trail = self.run_to_formula(
                f.And((f.Atom(self.context.views.condition(view), "view"), claim)), _MAX_GUIDED_STATES
            )
            if trail is not None:
                reached.add_run(trail)
                return trail[-1][1]
        return next(filter(test, reached.states_in(view)), None)

    # --- rounds

    def round_successor(self, formula: f.Adjacent, state: int) -> int | None:
        """Return a successor by a round of the formula's kind in which its operand holds, or None."""
        test = self.test(self._among_considered(formula.operand))
        return next(filter(test, self.context.world.neighbours(formula)(state)), None)

    def round_predecessor(self, formula: f.Adjacent, state: int) -> int | None:
        """Return a predecessor by a round of the formula's kind in which its operand holds, or None.

        The predecessors of all states are computed once, from all reachable states.
        """
        predecessor_of = self._round_predecessors.get(formula)
        if predecessor_of is None:
            test, ahead = self.test(self._among_considered(formula.operand)), self.context.world.neighbours(formula)
            predecessor_of = {}
            for before in filter(test, self.context.reached.states_in(ObservationClass(self.context.views.nothing, 0))):
                predecessor_of.update(dict.fromkeys(ahead(before), before))
            self._round_predecessors[formula] = predecessor_of
        return predecessor_of.get(state)

    # --- common knowledge

    def common_knowledge_chain(self, formula: f.Knows, state: int) -> list[tuple[str, int]] | None:
        """Return a chain of indistinguishable states, each with its agent, to one where the operand fails, or None."""
        views, reached, test = self.context.views, self.context.reached, self.test(formula.operand)
        tree: SearchTree[int, str] = SearchTree((state,))
        if not test(state):
            return [(formula.agents[0], state)]
        origin_of_class = {(agent, views.of_agents((agent,), state)): state for agent in formula.agents}
        fresh = list(origin_of_class)
        position = 0
        while True:
            # Breadth first over classes of indistinguishable states, while the reachable states are enumerated: every
            # stored state is compared with every class on a chain, whichever of the two comes first.
            frontier, fresh = fresh, []
            old = [
                (member, agent, origin)
                for agent, view in frontier
                for origin in (origin_of_class[agent, view],)
                for member in reached.reached_in(view)
            ]
            new = [
                (member, agent, origin_of_class[agent, view])
                for member in reached.states[position:]
                for agent in formula.agents
                for view in (views.of_agents((agent,), member),)
                if (agent, view) in origin_of_class
            ]
            position = len(reached.states)
            for member, agent, origin in (*old, *new):
                if member in tree or not self.is_considered(member):
                    continue
                tree.parents[member] = (origin, agent)
                if not test(member):
                    return tree.path_to(member)[1]
                for other in formula.agents:
                    key = (other, views.of_agents((other,), member))
                    if key not in origin_of_class:
                        origin_of_class[key] = member
                        fresh.append(key)
            if not fresh and position == len(reached.states) and not reached.expand():
                return None
