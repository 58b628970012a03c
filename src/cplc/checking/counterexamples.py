"""Counterexamples and witnesses for a value of a formula: shortest runs, lassos and pairs of states, from any engine.

A value that one run or state shows (`E` true, `A` false, `K` false, `C` false, `Fu` true) gets that run or state. A
value that depends on all of them is marked `exhaustive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Generic, assert_never

from cplc.checking.path_search import Invariant, NextStep, PathQuery, ProductRunSearch, Reach, path_goals
from cplc.checking.replay import EvidenceError, needs_fair_continuation, some_fair_run
from cplc.checking.rounds import actions_between, led_here, none_leads
from cplc.checking.shortest_paths import EngineRunSearch
from cplc.checking.three_valued import ThreeValuedRun
from cplc.engines.interface import Engine, S
from cplc.logic import formulas as f
from cplc.logic.claims import Claim, needed_claims
from cplc.logic.expressions import Const, Read, conj, equal
from cplc.logic.formulas import Formula
from cplc.system.interpreter import Key, key
from cplc.system.model import State
from cplc.system.trace import Evidence, Move, Run

# --- Indistinguishable states that refute knowledge, and runs that reach them
#
# Several claims of ignorance share as few indistinguishable states as possible. A state is chosen to refute expected
# claims too, and earlier runs are reused.


_Pair = tuple[tuple[str, ...], Key]
"""The agents that confuse states, and the key of the actual state."""


class EpistemicWitnesses(Generic[S]):
    def __init__(self, engine: Engine[S], paths: EngineRunSearch[S], lacking: Callable[[Formula], S]) -> None:
        self._engine = engine
        self._paths = paths
        self._refuting = lacking
        self._expected: dict[_Pair, dict[Formula, None]] = {}
        self._runs: dict[_Pair, list[Run]] = {}
        self._alike: dict[_Pair, S] = {}

    def expect(self, state: State, claims: Iterable[tuple[Formula, bool]]) -> None:
        """Register claims that will be shown in the state."""
        here = key(state)
        for formula, holds in claims:
            if isinstance(formula, f.Knows) and not holds:
                for group in (formula.agents,) if formula.mode == "together" else ((one,) for one in formula.agents):
                    self._expected.setdefault((group, here), {})[formula.operand] = None

    def indistinguishable_from(self, agents: tuple[str, ...], state: State) -> S:
        """Return the states that these agents together cannot distinguish from this one."""
        pair = agents, key(state)
        if pair not in self._alike:
            self._alike[pair] = self._engine.indistinguishable(agents, self._engine.singleton(state))
        return self._alike[pair]

    def run(self, agents: tuple[str, ...], state: State, targets: S) -> Run:
        """Return a run to a target that the agents cannot distinguish from the state: the state itself if possible."""
        pair = agents, key(state)
        runs = self._runs.setdefault(pair, [])
        if self._paths.contains(targets, state):
            return next((run for run in runs if run.states[-1] == state), None) or self._found(
                runs, self._engine.singleton(state)
            )
        for run in runs:
            if self._paths.contains(targets, run.states[-1]):
                return run
        for operand in self._expected.get(pair, ()):
            fewer = self._engine.intersection(targets, self._refuting(operand))
            if not self._engine.is_empty(fewer):
                targets = fewer
        return self._found(runs, targets)

    def _found(self, runs: list[Run], targets: S) -> Run:
        runs.append(self._paths.from_initial(targets))
        return runs[-1]


# --- Minimal evidence: a subset-minimal set of claims about the states of a run that decides its path formula


Shown = tuple[int, Formula, bool]
"""A formula and its value at a position of a run."""


def non_propositional_parts(formula: f.OnPaths, run: Run) -> Iterator[tuple[int, Formula, State]]:
    """Yield the maximal state subformulas that variables do not decide, at each position of the run."""
    parts = tuple(dict.fromkeys(part for part in _said_of_states(formula.path) if not f.is_propositional(part)))
    states = run.states if run.loop is None else run.states[:-1]
    return ((position, part, state) for position, state in enumerate(states) for part in parts)


def _said_of_states(formula: Formula) -> Iterator[Formula]:
    """Yield the maximal state subformulas."""
    if f.is_state_formula(formula):
        yield formula
    else:
        for child in f.children(formula):
            yield from _said_of_states(child)


def is_exhaustive(formula: Formula, holds: bool) -> bool:
    """Tell whether the value depends on all runs or all states."""
    match formula:
        case f.OnPaths(quantifier):
            return holds == (quantifier == "A")
        case f.Knows() | f.KnownFrom():
            return holds
        case f.Enforces() | f.Adjacent():
            return not holds
        case f.Not(operand):
            return is_exhaustive(operand, not holds)
        case f.Regardless(operand):
            return is_exhaustive(operand, holds)
        case f.And(operands):
            return holds and any(is_exhaustive(operand, True) for operand in operands)
        case f.Implies() | f.Iff():
            return False
        case f.Derived():
            return is_exhaustive(formula.definition, holds)
        case f.Atom() | f.PathOperator():
            return False
        case _:
            assert_never(formula)


def minimise_claims(claims: list[Shown], enough: Callable[[list[Shown]], bool]) -> list[Shown]:
    """Return a minimal subset that is still enough, by removing blocks of decreasing size (delta debugging)."""
    size = len(claims)
    while size:
        position = 0
        while position < len(claims):
            # Invariant: `claims` is enough, and each block of this size before `position` was needed when it was
            # tested.
            fewer = claims[:position] + claims[position + size :]
            if enough(fewer):
                claims = fewer
            else:
                position += size
        size //= 2
    return sorted(claims, key=lambda claim: claim[0])


Part = tuple[int, Evidence]


def explain(
    engine: Engine[S], formula: Formula, state: State, holds: bool, assuming: frozenset[str] = frozenset()
) -> Evidence:
    """Return evidence for the value that the engine has computed for the formula in a reachable state."""
    return _Explainer(engine, assuming).evidence(formula, state, holds)


def explain_initial(engine: Engine[S], formula: Formula, assuming: frozenset[str] = frozenset()) -> Evidence:
    """Return a witness from one initial state if the formula is valid, or else a counterexample."""
    explainer = _Explainer(engine, assuming)
    failing = engine.difference(engine.beginning, engine.satisfying(formula, assuming))
    holds = engine.is_empty(failing)
    states = engine.beginning if holds else failing
    return explainer.evidence(formula, explainer.choice(formula, states, holds), holds)


class _Explainer(Generic[S]):
    def __init__(self, engine: Engine[S], assuming: frozenset[str]) -> None:
        self.engine = engine
        self.assuming = assuming
        self.paths: EngineRunSearch[S] = EngineRunSearch(engine, assuming)
        self.fair = (
            engine.satisfying(f.SOME_FAIR_RUN, assuming) if engine.system.may_lack_fair_runs else engine.reachable
        )
        self._some_do_not_count = engine.system.excludes_unfair_states
        self.considered = self.fair if self._some_do_not_count else engine.reachable
        """The states that knowledge and commitments quantify over."""
        self.elsewhere: EpistemicWitnesses[S] = EpistemicWitnesses(engine, self.paths, self._refuting)
        self._cache: dict[tuple[Formula, bool, Key], Evidence] = {}
        self._searches: dict[PathQuery, ProductRunSearch[S]] = {}

    # --- sets
    def where(self, claim: Claim) -> S:
        formula, value = claim
        satisfying = self.engine.satisfying(formula, self.assuming)
        return satisfying if value else self.engine.complement(satisfying)

    def where_all(self, claims: Iterable[Claim]) -> S:
        states = self.engine.reachable
        for claim in claims:
            states = self.engine.intersection(states, self.where(claim))
        return states

    def _refuting(self, operand: Formula) -> S:
        """Return the states that refute knowledge of the operand, or a commitment to it."""
        return self.engine.intersection(self.where((operand, False)), self.considered)

    def holds_in(self, claim: Claim, state: State) -> bool:
        return self.paths.contains(self.where(claim), state)

    def choice(self, formula: Formula, states: S, holds: bool) -> State:
        """Return the state of the set from which the evidence is shortest."""
        engine = self.engine
        if engine.count(states) == 1:
            return engine.pick(states)
        if isinstance(formula, f.Not):
            return self.choice(formula.operand, states, not holds)
        if isinstance(formula, f.And | f.Or) and holds == isinstance(formula, f.Or):
            for operand in formula.operands:
                some = engine.intersection(states, self.where((operand, holds)))
                if not engine.is_empty(some):
                    return self.choice(operand, some, holds)
        if isinstance(formula, f.OnPaths) and holds == (formula.quantifier == "E"):
            path = f.ctl_path(formula)
            if path is None or not path_goals(path, holds):
                return next(self._candidate_runs(formula, states, holds)).start
            for path_goal in path_goals(path, holds):
                if isinstance(path_goal, Reach):
                    target = engine.intersection(self.where_all(path_goal.target), self.fair)
                    run = self.paths.run_from(states, self.where_all(path_goal.along), target)
                    if run is not None:
                        return run.start
        return engine.pick(states)

    # --- evidence
    def evidence(self, formula: Formula, state: State, holds: bool) -> Evidence:
        claim_at = (formula, holds, key(state))
        if claim_at not in self._cache:
            self._cache[claim_at] = self._evidence(formula, state, holds)
        return self._cache[claim_at]

    def _evidence(self, formula: Formula, state: State, holds: bool) -> Evidence:
        match formula:
            case f.OnPaths(quantifier) if holds == (quantifier == "E"):
                path = f.ctl_path(formula)
                if path is None or not path_goals(path, holds):
                    return self._path_evidence(formula, state, holds)
                return self._on_path(formula, path, state, holds)
            case f.Knows() if not holds:
                return self._ignorance(formula, state)
            case f.KnownFrom(observed, operand) if not holds:
                alike = self.engine.agreeing(observed, self.engine.singleton(state))
                candidates = self.engine.intersection(alike, self._refuting(operand))
                return self._pair_of_states(formula, holds, state, candidates, (operand, False), ())
            case f.Enforces() if holds:
                from cplc.checking.strategy_tables import strategy_evidence

                return strategy_evidence(self.engine, formula, state, self.assuming)
            case f.Adjacent() if holds:
                return self._round_before(formula, state) if formula.back else self._one_round(formula, state)
            case f.Adjacent() if none_leads(self.paths.interpreter, formula, state):
                return Evidence(formula, holds, Run(state, ()))
            case f.OnPaths() | f.Enforces() | f.KnownFrom() | f.Knows() | f.Adjacent():
                return Evidence(formula, holds, Run(state, ()), exhaustive=True)
            case f.Regardless(operand):
                return Evidence(
                    formula, holds, Run(state, ()), ((0, self._regardless.evidence(operand, state, holds)),)
                )
            case f.Atom() | f.Not() | f.And() | f.Derived():
                return Evidence(formula, holds, Run(state, ()), self._parts(0, state, [(formula, holds)]))
            case f.PathOperator():
                raise EvidenceError(f"{formula} is a path formula")
            case _:
                assert_never(formula)

    def _parts(self, position: int, state: State, claims: Iterable[Claim]) -> tuple[Part, ...]:
        """Return the evidence for the claims that the variables of this state do not decide."""
        needed = dict.fromkeys(
            need
            for claim in claims
            for need in needed_claims(
                claim,
                lambda formula: self.holds_in((formula, True), state),
                lambda several: self._cheapest(several, state),
            )
        )
        self.elsewhere.expect(state, needed)
        return tuple((position, self.evidence(formula, state, holds)) for formula, holds in needed)

    def _cheapest(self, claims: list[Claim], state: State) -> Claim:
        """Return one true claim: propositional if possible, otherwise not exhaustive if possible."""
        for claim in sorted(claims, key=lambda claim: (not f.is_propositional(claim[0]), is_exhaustive(*claim))):
            if self.holds_in(claim, state):
                return claim
        raise EvidenceError("no operand gives the formula its value")

    # --- runs
    def _on_path(self, formula: Formula, path: f.CtlPath, state: State, holds: bool) -> Evidence:
        for path_goal in path_goals(path, holds):
            run_and_parts = self._run(path_goal, state)
            if run_and_parts is not None:
                run, parts = run_and_parts
                if run.loop is None and self.engine.system.may_lack_fair_runs:
                    last = run.states[-1]
                    parts = (*parts, (len(run.moves), self.evidence(f.SOME_FAIR_RUN, last, True)))
                return Evidence(formula, holds, run, (*parts, *self._recurring(run)))
        raise EvidenceError("no run was found although the engine claims one")

    def _run(self, path_goal: Reach | Invariant | NextStep, state: State) -> tuple[Run, tuple[Part, ...]] | None:
        match path_goal:
            case Reach(along, target, bound):
                goal = self.engine.intersection(self.where_all(target), self.fair)
                moves = self.paths.moves_to(state, self.where_all(along), goal, shortest=bound is not None)
                if moves is None or (bound is not None and len(moves) > bound):
                    return None
                run = Run(state, moves)
                return run, (*self._all_along(run.states[:-1], along), *self._parts(len(moves), run.states[-1], target))
            case NextStep(target):
                goal = self.engine.intersection(self.where_all(target), self.fair)
                run = Run(state, (self.paths.next_move_into(goal, state),))
                return run, self._parts(1, run.states[1], target)
            case Invariant(along, None):
                always = f.OnPaths("E", f.Globally(_conjunction(along)))
                staying = self.engine.satisfying(always, self.assuming)
                if not self.paths.contains(staying, state):
                    return None
                run = self.paths.lasso(state, staying)
                return run, self._all_along(run.states[:-1], along)
            case Invariant(along, bound):
                run = Run(state, (Move(None, state),) * (bound or 0))
                return run, self._all_along(run.states, along)

    def _all_along(self, states: tuple[State, ...], along: tuple[Claim, ...]) -> tuple[Part, ...]:
        return tuple(part for position, state in enumerate(states) for part in self._parts(position, state, along))

    def _recurring(self, run: Run) -> Iterator[Part]:
        """Yield evidence that a lasso meets the fairness conditions that its variables do not decide."""
        loop = () if run.loop is None else range(run.loop, len(run.moves))
        for condition in self.engine.system.recurring if loop else ():
            positions = (position for position in loop if self.holds_in((condition, True), run.states[position]))
            position = next(positions, None)
            if position is None:
                raise EvidenceError("a lasso that should be fair never meets a fairness condition")
            yield position, self.evidence(condition, run.states[position], True)

    @cached_property
    def _regardless(self) -> _Explainer[S]:
        return _Explainer(self.engine.regardless, self.assuming)

    def _one_round(self, formula: f.Adjacent, state: State) -> Evidence:
        """Return a round that matches the formula and leads to a state in which the operand holds."""
        engine = self.engine
        ends = engine.intersection(engine.successors(engine.singleton(state)), self.where((formula.operand, True)))
        ends = engine.intersection(ends, self.considered)
        ends = engine.intersection(
            ends, engine.where(conj(equal(Read(then), Const(state[now])) for now, then in formula.same))
        )
        while not engine.is_empty(ends):
            target = engine.pick(ends)
            actions = actions_between(engine.system, state, target, formula.choice)
            if actions is not None:
                run = Run(state, (Move(None, target, actions),))
                lasting = [(f.SOME_FAIR_RUN, True)] if self._some_do_not_count else []
                return Evidence(formula, True, run, self._parts(1, target, [(formula.operand, True), *lasting]))
            ends = engine.difference(ends, engine.singleton(target))
        raise EvidenceError("no round was found although the engine claims one")

    def _round_before(self, formula: f.Adjacent, state: State) -> Evidence:
        """Return a predecessor in which the operand holds, by a round that matches the formula."""
        engine = self.engine
        begins = engine.intersection(engine.predecessors(engine.singleton(state)), self.where((formula.operand, True)))
        begins = engine.intersection(begins, self.considered)
        same = conj(equal(Read(now), Const(state[then])) for now, then in formula.same)
        begins = engine.intersection(begins, engine.where(same))
        while not engine.is_empty(begins):
            before = engine.pick(begins)
            if led_here(self.paths.interpreter, formula, before, state):
                return self._pair_of_states(formula, True, state, engine.singleton(before), (formula.operand, True), ())
            begins = engine.difference(begins, engine.singleton(before))
        raise EvidenceError("no preceding round was found although the engine claims one")

    # --- runs in the product with an automaton
    def _path_evidence(self, formula: f.OnPaths, state: State, holds: bool) -> Evidence:
        """Return a run on which the path formula has its value, with a minimal set of parts that decide it."""
        for run in self._candidate_runs(formula, self.engine.singleton(state), holds):
            shown = [
                (position, part, self.holds_in((part, True), at))
                for position, part, at in non_propositional_parts(formula, run)
            ]
            shown.sort(key=lambda one: not is_exhaustive(one[1], one[2]))
            if not self._decides(formula, run, holds, shown):
                continue
            needed = minimise_claims(shown, partial(self._decides, formula, run, holds))
            parts: list[Part] = []
            for position, at in enumerate(run.states):
                claims = [(part, value) for place, part, value in needed if place == position]
                parts.extend(self._parts(position, at, claims))
            if run.loop is None and needs_fair_continuation(self.engine.system, formula):
                going_on = some_fair_run(formula.along)
                parts.append((len(run.moves), self.evidence(going_on, run.states[-1], True)))
            return Evidence(formula, holds, run, (*parts, *self._recurring(run)))
        raise EvidenceError("no run was found although the engine claims one")

    def _candidate_runs(self, formula: f.OnPaths, starts: S, holds: bool) -> Iterator[Run]:
        """Yield runs from these states that give the path formula its value, a finite one first."""
        watched = PathQuery(formula.path, holds, formula.along)
        if watched not in self._searches:
            self._searches[watched] = ProductRunSearch(self.engine, watched, self.assuming, self.where)
        watching = self._searches[watched]
        going_on = some_fair_run(formula.along)
        if formula != going_on:
            fair = (
                self.where((going_on, True))
                if needs_fair_continuation(self.engine.system, formula)
                else self.engine.reachable
            )
            run = watching.finite_run(starts, fair)
            if run is not None:
                yield run
        run = watching.lasso_run(starts)
        if run is None:
            raise EvidenceError("no run was found although the engine claims one")
        yield run

    def _decides(self, formula: f.OnPaths, run: Run, holds: bool, shown: list[Shown]) -> bool:
        return ThreeValuedRun(self.engine.system, run, shown).truth(formula.path) is holds

    # --- pairs of states
    def _pair_of_states(
        self, formula: Formula, holds: bool, state: State, candidates: S, claim: Claim, agents: tuple[str, ...]
    ) -> Evidence:
        if self.engine.is_empty(candidates):
            raise EvidenceError("no related state was found although the engine claims one")
        elsewhere = self.elsewhere.run(agents, state, candidates)
        other = elsewhere.states[-1]
        other_evidence = self.evidence(claim[0], other, claim[1])
        lasting = self.evidence(f.SOME_FAIR_RUN, other, True) if self._some_do_not_count else None
        return Evidence(
            formula,
            holds,
            Run(state, ()),
            elsewhere=elsewhere,
            alternative=other_evidence,
            agents=agents,
            lasting=lasting,
        )

    def _ignorance(self, formula: f.Knows, state: State) -> Evidence:
        engine, agents = self.engine, formula.agents
        here, lacking = engine.singleton(state), self._refuting(formula.operand)
        match formula.mode:
            case "together":
                candidates = engine.intersection(self.elsewhere.indistinguishable_from(agents, state), lacking)
                return self._pair_of_states(formula, False, state, candidates, (formula.operand, False), agents)
            case "each":
                steps = 1
            case "common":
                # Invariant: `near` has the states from which a chain of `steps` links leads to a state where the
                # operand fails.
                steps, near = 1, self._indistinguishable_from(agents, lacking)
                while engine.is_empty(engine.intersection(near, here)):
                    steps, near = (
                        steps + 1,
                        self._indistinguishable_from(agents, engine.intersection(near, self.considered)),
                    )
        return self._common_knowledge_pair(formula, state, lacking, steps)

    def _indistinguishable_from(self, agents: tuple[str, ...], states: S) -> S:
        """Return the states that some single agent cannot distinguish from a state of the set."""
        union = states
        for agent in agents:
            union = self.engine.union(union, self.engine.indistinguishable((agent,), states))
        return union

    def _common_knowledge_pair(self, formula: f.Knows, state: State, lacking: S, steps: int) -> Evidence:
        """Return the first pair of a chain of ``steps`` indistinguishable states that ends where the operand fails."""
        engine, nearer = self.engine, lacking
        for _ in range(steps - 1):
            nearer = engine.intersection(self._indistinguishable_from(formula.agents, nearer), self.considered)
        claim: Claim = (formula.operand, False) if steps == 1 else (formula, False)
        for agent in formula.agents:
            candidates = engine.intersection(self.elsewhere.indistinguishable_from((agent,), state), nearer)
            if not engine.is_empty(candidates):
                return self._pair_of_states(formula, False, state, candidates, claim, (agent,))
        raise EvidenceError("every agent knows although the engine claims that one does not")


def _conjunction(claims: tuple[Claim, ...]) -> Formula:
    match claims:
        case ((formula, holds),):
            return formula if holds else f.opposite(formula)
        case _:
            return f.And(tuple(_conjunction((claim,)) for claim in claims))
