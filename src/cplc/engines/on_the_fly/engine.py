"""The on-the-fly engine: it decides one question at a time and explores only the states that the verdict needs.

It does not implement `Engine`, since it computes no sets of states. It decides a formula in the initial states and
returns evidence with runs that come from its searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from cplc.automata.lazy_automaton import Edge
from cplc.engines.on_the_fly.checker import Checker, PathSearch, RunFromInitial, SharedSearchData
from cplc.engines.on_the_fly.distance_heuristic import DistanceHeuristic
from cplc.engines.on_the_fly.lazy_states import (
    Indistinguishability,
    LazyStateSpace,
    ObservationClass,
    ReachableStates,
    StubbornSuccessors,
)
from cplc.engines.on_the_fly.search import AcceptingCycle, GoodPrefix, ProductEdge
from cplc.logic import formulas as f
from cplc.logic.claims import Claim, needed_claims
from cplc.logic.formulas import Formula
from cplc.reductions.ctl_fragment import ReachabilityGoals, reachability_goals
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Move, Run

# --- Evidence (counterexamples and witnesses) from the results of the searches


Part = tuple[int, Evidence]


class EvidenceBuilder:
    """Builds evidence from the results of one checker."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self._world = checker.context.world
        self._cache: dict[tuple[Formula, bool, int], Evidence] = {}

    def evidence(self, formula: Formula, state: int, holds: bool) -> Evidence:
        """Return evidence that the formula has this value in a state, as the checker has decided."""
        key = (formula, holds, state)
        if key not in self._cache:
            self._cache[key] = self._evidence(formula, state, holds)
        return self._cache[key]

    def _evidence(self, formula: Formula, state: int, holds: bool) -> Evidence:
        views = self.checker.context.views
        match formula:
            case f.OnPaths(quantifier, path, along) if holds == (quantifier == "E"):
                return self._run(formula, state, self.checker.path_search(path, holds, along), holds)
            case f.Knows("together", agents, operand) if not holds:
                return self._pair(formula, state, (operand, False), views.of_agents(agents, state), agents)
            case f.Knows("each", agents, operand) if not holds:
                looks = [(agent, views.of_agents((agent,), state)) for agent in agents]
                agent, view = next(
                    one
                    for one in looks
                    if self.checker.indistinguishable_state(operand, False, one[1], state) is not None
                )
                return self._pair(formula, state, (operand, False), view, (agent,))
            case f.Knows() if not holds:
                return self._chain(formula, state)
            case f.KnownFrom(observed, operand) if not holds:
                return self._pair(formula, state, (operand, False), views.of_observers(observed, state), ())
            case f.Adjacent(back=False) if holds:
                return self._round(formula, state)
            case f.Adjacent(operand) if holds:
                before = self.checker.round_predecessor(formula, state)
                assert before is not None, "the state was decided to have a predecessor by a round, but none exists"
                return self._pair_with(before, formula, state, (operand, True), ())
            case f.OnPaths() | f.KnownFrom() | f.Knows() | f.Adjacent():
                return Evidence(formula, holds, self._here(state), exhaustive=True)
            case f.Atom() | f.Not() | f.And() | f.Derived():
                return Evidence(formula, holds, self._here(state), tuple(self._parts(0, state, [(formula, holds)])))
            case f.PathOperator() | f.Enforces() | f.Regardless():
                raise AssertionError(f"the engine does not decide {formula}")
            case _:
                assert_never(formula)

    def _here(self, state: int) -> Run:
        return Run(self._world.state(state), ())

    # --- parts

    def _parts(self, position: int, state: int, claims: Iterable[Claim]) -> list[Part]:
        """Return the evidence that the claims need besides the values of the variables."""
        needed = dict.fromkeys(
            need
            for claim in claims
            for need in needed_claims(
                claim,
                lambda formula: self.checker.holds(formula, state),
                lambda several: self._first_true(several, state),
            )
        )
        return [(position, self.evidence(formula, state, holds)) for formula, holds in needed]

    def _first_true(self, claims: list[Claim], state: int) -> Claim:
        """Return one true claim, preferably one that the variables decide."""
        plain_first = sorted(claims, key=lambda claim: not f.is_propositional(claim[0]))
        return next(claim for claim in plain_first if self.checker.holds(claim[0], state) is claim[1])

    # --- runs

    def _run(self, formula: Formula, state: int, runs: PathSearch, holds: bool) -> Evidence:
        """Return the run that the search has found, with the evidence for the state formulas along it."""
        runs.start_of_run((state,))
        node = runs.product.node(state)
        moves: list[Move] = []
        parts: list[Part] = []
        loop: int | None = None

        def see(edge: Edge | None, state: int) -> None:
            if edge is not None:
                parts.extend(self._parts(len(moves), state, edge.claims))

        def go(hop: ProductEdge) -> int:
            see(hop.edge, runs.product.split(node)[0])
            moves.append(
                Move(
                    hop.step if self._world.has_idle_step else None,
                    self._world.state(runs.product.split(hop.target)[0]),
                )
            )
            return hop.target

        while isinstance(way := runs.results.continuations[node], ProductEdge):
            node = go(way)
        match way:
            case GoodPrefix(edge):
                last, _ = runs.product.split(node)
                see(edge, last)
                if runs.product.endless is not None:
                    parts.append((len(moves), self.evidence(f.SOME_FAIR_RUN, last, True)))
            case AcceptingCycle(hops):
                loop = len(moves)
                for hop in hops:
                    node = go(hop)
        return Evidence(formula, holds, Run(self._world.state(state), tuple(moves), loop), tuple(parts))

    def _round(self, formula: f.Adjacent, state: int) -> Evidence:
        target = self.checker.round_successor(formula, state)
        assert target is not None, "the state was decided to have a successor by a round, but none exists"
        run = Run(self._world.state(state), (Move(None, self._world.state(target)),))
        lasting = [(f.SOME_FAIR_RUN, True)] if self.checker.excludes_unfair_states else []
        return Evidence(formula, True, run, tuple(self._parts(1, target, [(formula.operand, True), *lasting])))

    # --- pairs of states

    def _pair(
        self, formula: Formula, state: int, claim: Claim, view: ObservationClass, agents: tuple[str, ...]
    ) -> Evidence:
        other = self.checker.indistinguishable_state(*claim, view, state)
        assert other is not None, "the state was decided to have an indistinguishable one, but none exists"
        return self._pair_with(other, formula, state, claim, agents)

    def _pair_with(self, other: int, formula: Formula, state: int, claim: Claim, agents: tuple[str, ...]) -> Evidence:
        holds = isinstance(formula, f.Adjacent)
        operand_evidence = self.evidence(claim[0], other, claim[1])
        lasting, elsewhere = self._lasting(other), self._run_to(other)
        return Evidence(
            formula,
            holds,
            self._here(state),
            elsewhere=elsewhere,
            alternative=operand_evidence,
            agents=agents,
            lasting=lasting,
        )

    def _lasting(self, other: int) -> Evidence | None:
        return self.evidence(f.SOME_FAIR_RUN, other, True) if self.checker.excludes_unfair_states else None

    def _chain(self, formula: f.Knows, state: int) -> Evidence:
        chain = self.checker.common_knowledge_chain(formula, state)
        assert chain is not None, "common knowledge was refuted, but there is no chain"
        here = [state, *(other for _, other in chain[:-1])]
        evidence = self.evidence(formula.operand, chain[-1][1], False)
        for before, (agent, other) in reversed(list(zip(here, chain, strict=True))):
            lasting, elsewhere = self._lasting(other), self._run_to(other)
            evidence = Evidence(
                formula,
                False,
                self._here(before),
                elsewhere=elsewhere,
                alternative=evidence,
                agents=(agent,),
                lasting=lasting,
            )
        return evidence

    def _run_to(self, state: int) -> Run:
        trail: RunFromInitial = self.checker.run_to(state)
        moves = tuple(
            Move(step if self._world.has_idle_step else None, self._world.state(after)) for step, after in trail[1:]
        )
        return Run(self._world.state(trail[0][1]), moves)


LIMIT = 2_000_000
"""States that all searches together may store."""


def supports(formula: Formula) -> bool:
    """Tell whether this engine can decide the formula: all but strategic ones (`<<…>>`)."""
    return not any(isinstance(part, f.Enforces) for part in f.subformulas(formula))


class OnTheFlyEngine:
    """One system, explored on demand. Its searches store at most ``limit`` states.

    With ``effort`` they also give up after that much work, which is counted in states and hence deterministic.
    """

    name = "onthefly"

    def __init__(self, system: System, limit: int = LIMIT, effort: int | None = None) -> None:
        if system.recurring:
            raise ResourceExhausted(
                "the engine `onthefly` does not decide fairness conditions with knowledge or path operators"
            )
        self.system = system
        world = LazyStateSpace(system, limit, effort)
        self._context = SharedSearchData(
            world, ReachableStates(world), Indistinguishability(world), DistanceHeuristic(world)
        )
        self._checkers: dict[tuple[frozenset[str], ReachabilityGoals | None], Checker] = {}
        self._may_reduce = system.has_idle_step and not system.may_lack_fair_runs

    @property
    def stored(self) -> int:
        """The number of states that all searches have stored."""
        return self._context.world.stored

    def is_valid(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> bool:
        """Tell whether the formula holds in every initial state."""
        return self._counterexample(formula, assuming) is None

    def decide(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> tuple[bool, Evidence]:
        """Return whether the formula holds in every initial state, and the evidence."""
        failing = self._counterexample(formula, assuming)
        holds = failing is None
        state = next(self._considered_initial(), self._context.world.initial()[0]) if failing is None else failing
        return holds, EvidenceBuilder(self._checker(assuming, formula)).evidence(formula, state, holds)

    def holds(self, formula: Formula, state: State, assuming: frozenset[str] = frozenset()) -> bool:
        """Tell whether the formula holds in this reachable state."""
        return self._checker(assuming).holds(formula, self._context.world.packing.pack(state))

    def example(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> State | None:
        """Return a reachable state that satisfies the formula, or None."""
        trail = self._checker(assuming).run_to_formula(formula)
        return None if trail is None else self._context.world.state(trail[-1][1])

    def count(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> tuple[int, int]:
        """Return the number of reachable states that satisfy the formula, and the number of all."""
        test = self._checker(assuming).test(formula)
        values = [
            test(state) for state in self._context.reached.states_in(ObservationClass(self._context.views.nothing, 0))
        ]
        return sum(values), len(values)

    def run_to_first(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> Run | None:
        """Return a shortest run to a state that satisfies the formula, or None.

        The search is breadth-first and separate from those of other questions, which follow heuristics.
        """
        world, test = self._context.world, self._checker(assuming).test(formula)
        reached = ReachableStates(world)
        state = next(filter(test, reached.states_in(ObservationClass(self._context.views.nothing, 0))), None)
        if state is None:
            return None
        (_, start), *steps = reached.run_to(state)
        moves = (Move(step if world.has_idle_step else None, world.state(after)) for step, after in steps)
        return Run(world.state(start), tuple(moves))

    def _checker(self, assuming: frozenset[str], formula: Formula | None = None) -> Checker:
        """Return the checker for any state, or with partial-order reduction for this formula in the initial states."""
        plan = reachability_goals(formula) if formula is not None and self._may_reduce else None
        checker = self._checkers.get((assuming, plan))
        if checker is None:
            moves = None if plan is None else StubbornSuccessors(self._context.world, plan)
            checker = self._checkers[assuming, plan] = Checker(self._context, assuming, moves)
        return checker

    def _considered_initial(self) -> Iterator[int]:
        """Yield the initial states in which formulas are evaluated."""
        return filter(self._checker(frozenset()).is_considered, self._context.world.initial())

    @property
    def begins(self) -> bool:
        """Tell whether there is an initial state in which formulas are evaluated."""
        return next(self._considered_initial(), None) is not None

    def _counterexample(self, formula: Formula, assuming: frozenset[str]) -> int | None:
        """Return an initial state in which the formula does not hold, or None."""
        checker, initial = self._checker(assuming, formula), self._considered_initial()
        if isinstance(formula, f.OnPaths) and formula.quantifier == "A":
            return checker.path_search(formula.path, False, formula.along).start_of_run(initial)
        test = checker.test(formula)
        return next((state for state in initial if not test(state)), None)
