"""Explicit-state oracle for engines: formulas evaluated by their definitions, on dictionaries and sets.

It is written down from the semantics of the language, pair by pair and without regard to speed. The nested fixpoint of
Emerson and Lei finds fair runs. Universal path formulas of CTL have fixpoints of their own and are not negated
existential ones, so that no algorithm is shared with the explicit engine. Other path formulas go to the tableau of
`path_tableau.py`, which decides those of CTL as well, for comparison; games go to `games.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import cast

from tests.support.oracles import path_tableau as tableau
from tests.support.oracles.games import Game
from tests.support.oracles.path_tableau import Runs

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Binding, Channel, Commits, Conditional, Fulfils, Offer, Offering, SociallyCommits
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import CtlPath, Formula, OnPaths, Taken
from cplc.system.model import Justice, State, System

Frozen = tuple[Value, ...]
States = frozenset[Frozen]


def evaluate(expr: Expr, state: State) -> Value:
    match expr:
        case e.Const(value):
            return value
        case e.Read(variable):
            return state[variable]
        case e.Not(operand):
            return not evaluate(operand, state)
        case e.And(operands):
            return all(evaluate(operand, state) for operand in operands)
        case e.Or(operands):
            return any(evaluate(operand, state) for operand in operands)
        case e.Equal(left, right):
            return evaluate(left, state) == evaluate(right, state)
        case e.Less(left, right):
            return _number(left, state) < _number(right, state)
        case e.Arith("+", left, right):
            return _number(left, state) + _number(right, state)
        case e.Arith("-", left, right):
            return _number(left, state) - _number(right, state)
        case e.Arith("*", left, right):
            return _number(left, state) * _number(right, state)
        case e.Arith("/", left, right):
            quotient = Fraction(_number(left, state), _number(right, state) or 1)
            return int(quotient) if _number(right, state) else 0
        case e.Arith(_, left, right):
            divisor = _number(right, state)
            return _number(left, state) % divisor if divisor != 0 else 0
        case e.Ite(condition, then, otherwise):
            return evaluate(then if evaluate(condition, state) else otherwise, state)


def _number(expr: Expr, state: State) -> int:
    value = evaluate(expr, state)
    assert isinstance(value, int)
    return value


@dataclass(frozen=True)
class Naive:
    """The reachable part of one system, and what holds where in it."""

    system: System

    # --- states and edges

    def thaw(self, state: Frozen) -> State:
        return {variable.name: value for variable, value in zip(self.system.variables, state, strict=True)}

    @cached_property
    def initial(self) -> States:
        return frozenset(product(*(variable.initial for variable in self.system.variables)))

    def taken(self, state: Frozen, step: int) -> States:
        """Return where one step leads from a state."""
        before = self.thaw(state)
        taken = self.system.steps[step]
        if not evaluate(taken.guard, before):
            return frozenset()
        after = before | {name: evaluate(value, before) for name, value in taken.updates}
        choices = product(*(self.system.variable[name].initial for name in taken.free))
        return frozenset(tuple((after | dict(zip(taken.free, choice, strict=True))).values()) for choice in choices)

    @cached_property
    def edges(self) -> dict[Frozen, frozenset[tuple[int, Frozen]]]:
        """The steps out of every reachable state; the idle step is not among them."""
        edges_of: dict[Frozen, frozenset[tuple[int, Frozen]]] = {}
        new = set(self.initial)
        while new:
            state = new.pop()
            edges_of[state] = frozenset(
                (step, target) for step in range(len(self.system.steps)) for target in self.taken(state, step)
            )
            new |= {target for _, target in edges_of[state]} - edges_of.keys()
        return edges_of

    @cached_property
    def reachable(self) -> States:
        return frozenset(self.edges)

    @cached_property
    def _next(self) -> dict[Frozen, States]:
        """Successors of each state, itself included."""
        return {state: frozenset({state, *(target for _, target in edges)}) for state, edges in self.edges.items()}

    def where(self, condition: Expr) -> States:
        return frozenset(state for state in self.reachable if evaluate(condition, self.thaw(state)))

    def successors(self, states: States, steps: frozenset[int]) -> States:
        return frozenset(target for state in states for step, target in self.edges[state] if step in steps)

    def predecessors(self, states: States, steps: frozenset[int]) -> States:
        return frozenset(
            state for state in self.reachable if any(step in steps and to in states for step, to in self.edges[state])
        )

    def _before(self, states: States) -> States:
        """Return where some next state is in the set."""
        return frozenset(state for state in self.reachable if self._next[state] & states)

    def _bound_for(self, states: States, fair: States) -> States:
        """Return where every next state from which a fair run starts is in the set."""
        return frozenset(state for state in self.reachable if self._next[state] & fair <= states)

    # --- fairness

    def fair_globally(self, keep: States, assuming: frozenset[str]) -> States:
        constraints = [self._progress(justice) for justice in self.system.constraints(assuming)]
        constraints += [self._visit(condition) for condition in self.system.fairness]

        def stays_fair(z: States) -> States:
            ways = (self._reaching(z, z & progress(z)) for progress in constraints)
            return (z & self._before(z)).intersection(*ways)

        return _greatest(keep, stays_fair)

    def _reaching(self, through: States, goal: States) -> States:
        return _least(lambda y: goal | (through & self._before(y)))

    def _progress(self, justice: Justice) -> Callable[[States], States]:
        """Return the states that wait for nothing, or go on within a set by a step of the constraint."""
        steps = frozenset(justice.steps)
        waits = self.waits(justice)
        return lambda z: (z - waits) | self.predecessors(z, steps)

    def waits(self, justice: Justice) -> States:
        """Return where the constraint waits: always, where a step is due, or where a step is enabled."""
        if justice.due is not None:
            return self.where(justice.due)
        return frozenset[Frozen]().union(*(self.where(self.system.steps[number].guard) for number in justice.steps))

    def _visit(self, condition: Expr) -> Callable[[States], States]:
        holds = self.where(condition)
        return lambda z: z & holds

    # --- formulas

    @cached_property
    def _decided(self) -> dict[tuple[Formula, frozenset[str]], States]:
        return {}

    def satisfying(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> States:
        if (formula, assuming) not in self._decided:
            self._decided[formula, assuming] = self._satisfying(formula, assuming)
        return self._decided[formula, assuming]

    def _satisfying(self, formula: Formula, assuming: frozenset[str]) -> States:
        def states(operand: Formula) -> States:
            return self.satisfying(operand, assuming)

        everywhere = self.reachable
        match formula:
            case f.Atom(condition):
                return self.where(condition)
            case f.Not(operand):
                return everywhere - states(operand)
            case f.And(operands):
                return everywhere.intersection(*map(states, operands))
            case f.Or(operands):
                return frozenset().union(*map(states, operands))
            case f.Implies(left, right):
                return (everywhere - states(left)) | states(right)
            case f.Iff(left, right):
                return everywhere - (states(left) ^ states(right))
            case f.OnPaths(quantifier):
                path = f.ctl_path(formula)
                if path is None:
                    return self.by_tableau(formula, assuming)
                return self._some_path(path, assuming) if quantifier == "E" else self._every_path(path, assuming)
            case f.Enforces(group, goal, uniform):
                game = self.game(group, assuming)
                if uniform:
                    return game.won_uniformly(self.look, self.as_path(goal), self.sees(assuming))
                return self._won(game, goal, assuming)
            case Commits(channel, operand):
                holds = states(operand)
                bound = self.where(channel.bound)
                return frozenset(state for state in bound if self.accessible_by(channel, state) <= holds)
            case Fulfils(channel, operand):
                committed = states(Commits(channel, operand))
                return frozenset().union(*(self.accessible_by(channel, state) for state in committed))
            case Conditional():
                return self._conditional(formula, states(formula.antecedent), states(formula.consequent))
            case SociallyCommits(_, bindings, operand, trigger):
                return self._socially_commits(bindings, operand, trigger, assuming)
            case f.KnownFrom(observed, operand):
                holds = states(operand)
                return frozenset(state for state in everywhere if self.agreeing_with(observed, state) <= holds)
            case f.Knows("each", agents, operand):
                return everywhere.intersection(*(self._known((agent,), states(operand)) for agent in agents))
            case f.Knows("together", agents, operand):
                return self._known(agents, states(operand))
            case f.Knows(_, agents, operand):
                operand_states = states(operand)
                return _greatest(
                    everywhere,
                    lambda z: everywhere.intersection(*(self._known((a,), operand_states & z) for a in agents)),
                )
            case _:
                raise AssertionError(f"a path formula, not a state formula: {formula}")

    def _conditional(self, formula: Conditional, p: States, q: States) -> States:
        """Return where a modality of conditional commitment holds, by the definition over pairs of states."""
        channel, everywhere = formula.channel, frozenset(self.reachable)

        def weak(offering: Offering, *, counted: bool = False) -> States:
            return frozenset(
                state
                for state in everywhere
                if self._offers_or_promises(offering, state, counted)
                and self._led_to(offering, state, counted) & p <= q
            )

        def strong(offering: Offering, *, counted: bool = False) -> States:
            assigned = weak(offering, counted=counted)
            return frozenset(state for state in assigned if self._led_to(offering, state, counted) & p)

        bound_states = self.where(channel.promises.bound) & self.where(channel.promises.caught_up)
        match formula.operation:
            case "WCC":
                return weak(channel)
            case "SCC":
                return strong(channel)
            case "FuW":
                return bound_states & weak(channel) & q
            case "FuS":
                return bound_states & strong(channel) & p
            case _:
                ended = frozenset[Frozen]().union(*(self.where(offer.ended) for offer in channel.offers))
                assigned = (ended & strong(channel, counted=True)) - strong(channel) - p
                return assigned if formula.other is None else assigned & strong(formula.other)

    def _offers_or_promises(self, offering: Offering, state: Frozen, counted: bool) -> bool:
        return state in self.where(offering.promises.bound) or any(
            self._is_offered(offer, state, counted) for offer in offering.offers
        )

    def _is_offered(self, offer: Offer, state: Frozen, counted: bool) -> bool:
        return state in self.where(offer.offered) or (counted and state in self.where(offer.ended))

    def _led_to(self, offering: Offering, state: Frozen, counted: bool) -> States:
        """Return the states in which what is promised here is kept, and what is offered here is offered or kept."""
        states = self.where(offering.promises.caught_up)
        offered = [offer for offer in offering.offers if self._is_offered(offer, state, counted)]
        for offer in offered:
            states &= self.where(offer.offered) | self.where(offer.fulfilled)
        for promised in offering.promises.promised:
            if all(promised != offer.promised for offer in offered):
                promised_states = self.where(promised)
                states &= promised_states if state in promised_states else frozenset(self.reachable) - promised_states
        return states

    def _socially_commits(
        self, bindings: tuple[Binding, ...], operand: Formula, trigger: Formula | None, assuming: frozenset[str]
    ) -> States:
        """Sort the states by what binds there: then what a run has to keep is the same for all of one sort."""
        places = [self.satisfying(one.where, assuming) for one in bindings]
        committed: set[Frozen] = set()
        for pattern in product((False, True), repeat=len(bindings)):
            here = {state for state in self.reachable if [state in place for place in places] == list(pattern)}
            if not here or not any(pattern):
                continue
            contents = [one.keeping for one, binds in zip(bindings, pattern, strict=True) if binds]
            contents += [] if trigger is None else [f.Finally(trigger)]

            def some_run(*parts: Formula) -> States:
                return self.by_tableau(OnPaths("E", f.And(parts)), assuming)

            committed |= here & some_run(*contents) - some_run(*contents, f.Not(operand))
        return frozenset(committed)

    def _some_path(self, path: CtlPath, assuming: frozenset[str]) -> States:
        def states(operand: Formula) -> States:
            return self.satisfying(operand, assuming)

        fair = self.fair_globally(self.reachable, assuming)
        if _has_window(path):
            return self._by_counting(path, assuming, holds=True)
        match path:
            case f.Next(operand):
                return self._before(states(operand) & fair)
            case f.Finally(operand) if path.bound is None:
                return self._reaching(self.reachable, states(operand) & fair)
            case f.Finally(operand, f.Bound(bound)):
                return self._within(bound, self.reachable, states(operand) & fair)
            case f.Globally(operand) if path.bound is None:
                return self.fair_globally(states(operand), assuming)
            case f.Globally(operand, f.Bound(bound)):
                # What holds for so many steps: the last of them begins a fair run.
                keep = states(operand)
                fixpoint = keep & fair
                for _ in range(bound):
                    fixpoint = keep & self._before(fixpoint)
                return fixpoint
            case f.Until(left, right) if path.bound is None:
                return self._reaching(states(left), states(right) & fair)
            case f.Until(left, right, f.Bound(bound)):
                return self._within(bound, states(left), states(right) & fair)
            case f.WeakUntil(left, right):
                return self._some_path(f.Until(left, right), assuming) | self.fair_globally(states(left), assuming)
            case f.Release(left, right):
                return self._some_path(f.WeakUntil(right, f.And((left, right))), assuming)
            case f.StrongRelease(left, right):
                return self._reaching(states(right), states(left) & states(right) & fair)
            case _:
                raise AssertionError(path)

    def _within(self, bound: int, through: States, goal: States) -> States:
        if bound == 0:
            return goal
        return goal | (through & self._before(self._within(bound - 1, through, goal)))

    def _by_counting(self, path: CtlPath, assuming: frozenset[str], *, holds: bool) -> States:
        """Return where some fair run gives the operator this value, by its definition over positions.

        The positions of a run are the states of a graph that also counts the steps of the bound, up to one more.
        """
        assert isinstance(path, f.Finally | f.Globally | f.Until | f.WeakUntil | f.Release | f.StrongRelease)
        bound = path.bound
        assert bound is not None
        runs, sees, most = self.runs(assuming), self.sees(assuming), bound.high + 1
        counts = range(most + 1)

        def counted(state: Frozen, count: int, move: int | None) -> int:
            return min(most, count + (bound.ticks is None or sees(bound.ticks, state, move)))

        graph = Runs(
            {
                (state, count): [(move, (target, counted(state, count, move))) for move, target in moves]
                for state, moves in runs.moves.items()
                for count in counts
            },
            [(frozenset((s, c) for s in waits for c in counts), served) for waits, served in runs.justice],
            [frozenset((s, c) for s in visited for c in counts) for visited in runs.often],
        )
        inside, before_end = tableau.Seen("inside"), tableau.Seen("before the end")

        def seen(what: Hashable, node: tuple[Frozen, int], move: int | None) -> bool:
            if what == "inside":
                return bound.low <= node[1] <= bound.high
            return node[1] <= bound.high if what == "before the end" else sees(what, node[0], move)

        operands = [self.as_path(operand) for operand in f.children(path)]
        first, last = operands[0], operands[-1]
        no_first, no_last = tableau.no(first), tableau.no(last)

        def until(left: tableau.Path, right: tableau.Path) -> tableau.Path:
            return tableau.Until(left, tableau.Both(inside, right))

        def weak(left: tableau.Path, right: tableau.Path) -> tableau.Path:
            return tableau.some((until(left, right), tableau.globally(tableau.implies(before_end, left))))

        match path:
            case f.Finally():
                meaning = tableau.eventually(tableau.Both(inside, last))
            case f.Globally():
                meaning = tableau.globally(tableau.implies(inside, last))
            case f.Until():
                meaning = until(first, last)
            case f.Release():
                meaning = tableau.no(until(no_first, no_last))
            case f.WeakUntil():
                meaning = weak(first, last)
            case f.StrongRelease():
                meaning = tableau.no(weak(no_first, no_last))
        nodes = graph.satisfying(meaning if holds else tableau.no(meaning), seen)
        return frozenset(state for state, count in nodes if count == 0)

    def _every_path(self, path: CtlPath, assuming: frozenset[str]) -> States:
        """Universal formulas by the laws of expansion; where no fair run starts they all hold."""

        def states(operand: Formula) -> States:
            return self.satisfying(operand, assuming)

        fair = self.fair_globally(self.reachable, assuming)
        unfair = self.reachable - fair

        def always_or(keep: States, release: States) -> States:
            """Return where ``keep W release`` holds on every fair run."""
            return _greatest(self.reachable, lambda z: unfair | release | (keep & self._bound_for(z, fair)))

        def eventually(goal: States) -> States:
            return self.reachable - self.fair_globally(self.reachable - goal, assuming)

        def within(bound: int, through: States, goal: States) -> States:
            if bound == 0:
                return goal | unfair
            return goal | unfair | (through & self._bound_for(within(bound - 1, through, goal), fair))

        if _has_window(path):
            return self.reachable - self._by_counting(path, assuming, holds=False)
        match path:
            case f.Next(operand):
                return self._bound_for(states(operand), fair)
            case f.Finally(operand) if path.bound is None:
                return eventually(states(operand))
            case f.Finally(operand, f.Bound(bound)):
                return within(bound, self.reachable, states(operand))
            case f.Globally(operand) if path.bound is None:
                return always_or(states(operand), frozenset())
            case f.Globally(operand, f.Bound(bound)):
                satisfying_states = self.reachable
                for _ in range(bound + 1):
                    satisfying_states = unfair | (states(operand) & self._bound_for(satisfying_states, fair))
                return satisfying_states
            case f.Until(left, right) if path.bound is None:
                return always_or(states(left), states(right)) & eventually(states(right))
            case f.Until(left, right, f.Bound(bound)):
                return within(bound, states(left), states(right))
            case f.WeakUntil(left, right):
                return always_or(states(left), states(right))
            case f.Release(left, right):
                return always_or(states(right), states(left) & states(right))
            case f.StrongRelease(left, right):
                return always_or(states(right), states(left) & states(right)) & eventually(states(left))
            case _:
                raise AssertionError(path)

    # --- any path formula, and games

    def by_tableau(self, formula: OnPaths, assuming: frozenset[str] = frozenset()) -> States:
        path = self.as_path(formula.path)
        runs, sees = self.runs(assuming, formula.along), self.sees(assuming)
        if formula.quantifier == "E":
            return runs.satisfying(path, sees)
        return self.reachable - runs.satisfying(tableau.no(path), sees)

    def runs(self, assuming: frozenset[str], along: Taken | None = None) -> Runs[Frozen, int | None]:
        """Return the fair runs; with ``along`` those of the system that has these steps alone."""
        steps = self.system.steps
        remaining_steps = frozenset(n for n, step in enumerate(steps) if along is None or step.name in along.steps)
        moves = {
            state: [(step, to) for step, to in edges if step in remaining_steps] for state, edges in self.edges.items()
        }

        constraints = [
            justice
            if along is None
            else replace(
                justice,
                steps=tuple(step for step in justice.steps if step in remaining_steps),
                due=justice.due if justice.recurs else None,
            )
            for justice in self.system.constraints(assuming)
        ]
        constraints = [justice for justice in constraints if justice.steps or justice.is_condition]
        return Runs(
            {state: [(None, state), *edges] for state, edges in moves.items()},
            [(self.waits(justice), frozenset[int | None](justice.steps)) for justice in constraints],
            [self.where(condition) for condition in self.system.fairness],
        )

    def sees(self, assuming: frozenset[str]) -> Callable[[Hashable, Frozen, int | None], bool]:
        """Return what is seen at a state and a move: a state formula of the state, a step of the move."""

        def seen(what: Hashable, state: Frozen, move: int | None) -> bool:
            if isinstance(what, Taken):
                return move is not None and self.system.steps[move].name in what.steps
            return state in self.satisfying(cast(Formula, what), assuming)

        return seen

    def as_path(self, formula: Formula) -> tableau.Path:
        """Return a path formula over what is seen: what states decide, and steps."""
        path = self.as_path
        if f.is_state_formula(formula) or isinstance(formula, Taken):
            return tableau.Seen(formula)
        match formula:
            case f.Shorthand(operand):
                return path(operand)
            case f.Not(operand):
                return tableau.no(path(operand))
            case f.And(operands):
                return tableau.every(map(path, operands))
            case f.Or(operands):
                return tableau.some(map(path, operands))
            case f.Implies(left, right):
                return tableau.implies(path(left), path(right))
            case f.Iff(left, right):
                return tableau.iff(path(left), path(right))
            case f.Next(operand):
                return tableau.Next(path(operand))
            case f.Finally(operand, bound):
                return _within(tableau.ALWAYS_SO, path(operand), bound)
            case f.Globally(operand, bound):
                return tableau.no(_within(tableau.ALWAYS_SO, tableau.no(path(operand)), bound))
            case f.Until(left, right, bound):
                return _within(path(left), path(right), bound)
            case f.WeakUntil(left, right, None):
                return tableau.weak_until(path(left), path(right))
            case f.WeakUntil(left, right, bound):
                assert bound is not None
                lasting = tableau.no(_within(tableau.ALWAYS_SO, tableau.no(path(left)), replace(bound, low=0)))
                return tableau.some((lasting, _within(path(left), path(right), bound)))
            case f.Release(left, right, bound):
                return tableau.no(_within(tableau.no(path(left)), tableau.no(path(right)), bound))
            case f.StrongRelease(left, right, None):
                return tableau.until(path(right), tableau.every((path(left), path(right))), None)
            case f.StrongRelease(left, right, bound):
                return path(f.Not(f.WeakUntil(f.Not(left), f.Not(right), bound)))
            case f.Previous(operand):
                return tableau.Yesterday(path(operand))
            case f.Once(operand):
                return tableau.once(path(operand))
            case f.Historically(operand):
                return tableau.historically(path(operand))
            case f.Since(left, right):
                return tableau.Since(path(left), path(right))
            case _:
                raise AssertionError(formula)

    def game(self, group: tuple[str, ...], assuming: frozenset[str] = frozenset()) -> Game[Frozen]:
        sends = {
            member: frozenset(
                number
                for number, step in enumerate(self.system.steps)
                if step.kind in {"send", "exchange"} and step.actor == member
            )
            for member in group
        }
        justice = tuple(frozenset(justice.steps) for justice in self.system.constraints(assuming))
        return Game(self.edges, sends, justice)

    def look(self, agent: str, state: Frozen) -> tuple[Value, ...]:
        """Return an agent's local state."""
        here = self.thaw(state)
        return tuple(here[name] for name in self.system.agent[agent].local)

    def _won(self, game: Game[Frozen], goal: Formula, assuming: frozenset[str]) -> States:
        match goal:
            case f.Next(operand):
                return game.is_next(self.satisfying(operand, assuming))
            case f.Globally(operand):
                return game.stays(self.satisfying(operand, assuming))
            case f.Finally(operand):
                return game.reaches(self.reachable, self.satisfying(operand, assuming))
            case f.Until(left, right):
                return game.reaches(self.satisfying(left, assuming), self.satisfying(right, assuming))
            case _:
                raise AssertionError(goal)

    # --- knowledge and commitments

    def alike(self, agents: tuple[str, ...], one: Frozen, other: Frozen) -> bool:
        left, right = self.thaw(one), self.thaw(other)
        return all(left[name] == right[name] for agent in agents for name in self.system.agent[agent].local)

    def _known(self, agents: tuple[str, ...], content: States) -> States:
        return frozenset(
            state
            for state in self.reachable
            if all(other in content for other in self.reachable if self.alike(agents, state, other))
        )

    def agreeing_with(self, observed: Iterable[Expr], state: Frozen) -> States:
        """Return the states in which these expressions have the values that they have here."""

        def values(one: Frozen) -> list[Value]:
            return [evaluate(expr, self.thaw(one)) for expr in observed]

        return frozenset(other for other in self.reachable if values(other) == values(state))

    def accessible_by(self, channel: Channel, state: Frozen) -> States:
        """Return the states that a channel leads to: the debtor's end is the same, and the creditor's has caught up."""
        return self.agreeing_with(channel.promised, state) & self.where(channel.caught_up)

    def accessible_from(self, debtor: str, creditor: str, state: Frozen) -> States:
        """Return the states that ``debtor -> creditor`` leads to, by the definition of CTLC+."""
        shared = self.system.shared_between(debtor, creditor)
        private = set(self.system.agent[creditor].local) - {at_creditor for _, at_creditor in shared}
        here = self.thaw(state)

        def leads_to(other: Frozen) -> bool:
            target = self.thaw(other)
            return (
                all(here[name] == target[name] for name in self.system.agent[debtor].local)
                and all(here[at_debtor] == target[at_creditor] for at_debtor, at_creditor in shared)
                and all(here[name] == target[name] for name in private)
            )

        return frozenset(filter(leads_to, self.reachable))


def _least(step: Callable[[States], States]) -> States:
    fixpoint: States = frozenset()
    while (more := step(fixpoint)) != fixpoint:
        fixpoint = more
    return fixpoint


def _greatest(start: States, step: Callable[[States], States]) -> States:
    fixpoint = start
    while (fewer := fixpoint & step(fixpoint)) != fixpoint:
        fixpoint = fewer
    return fixpoint


def _has_window(path: CtlPath) -> bool:
    """Return whether the operator has a bound other than ``<=k`` of steps, or none of the oldest operators."""
    bound = getattr(path, "bound", None)
    oldest = isinstance(path, f.Finally | f.Globally | f.Until)
    return bound is not None and (bound.low > 0 or bound.ticks is not None or not oldest)


def _within(left: tableau.Path, right: tableau.Path, bound: f.Bound | None) -> tableau.Path:
    """Return until within the bound, unfolded step by step or tick by tick."""
    if bound is None:
        return tableau.Until(left, right)
    reached = tableau.no(tableau.ALWAYS_SO)
    tick = tableau.ALWAYS_SO if bound.ticks is None else tableau.Seen(bound.ticks)
    for count in range(bound.high, -1, -1):
        now = [right] if count >= bound.low else []
        later = [] if count == bound.high else [tableau.every((left, tick, tableau.Next(reached)))]
        reached = tableau.some((*now, *later))
        if bound.ticks is not None:
            reached = tableau.Until(tableau.Both(left, tableau.no(tick)), reached)
    return reached
