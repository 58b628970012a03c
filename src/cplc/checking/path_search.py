"""Product construction: runs that satisfy a path formula, searched in the product of a system and its automaton.

The location of the automaton is one more variable of the state. The idle step is a step of the product, since the
automaton may move with it. Acceptance marks are fairness conditions on the location. So runs and fair loops of the
product are searched like those of a system. A set of product states is a tuple of sets of the engine, one per location.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Generic, assert_never

from cplc.automata.path_automaton import Automaton, LabelledEdge, automaton
from cplc.checking.replay import Goal, goals, steps_along
from cplc.checking.shortest_paths import (
    MAX_STATES_FOR_SHORTEST,
    RunSearch,
    step_groups,
    stutter_condition,
    stutter_loop,
)
from cplc.engines.interface import Engine, S
from cplc.logic import formulas as f
from cplc.logic.claims import Claim
from cplc.logic.expressions import Const, Equal, Expr, Read, disj, reads
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.interpreter import Interpreter, holds
from cplc.system.model import Justice, State, System
from cplc.system.trace import Move, Run

# --- Path goals: the kinds of runs that give a CTL operator its value


@dataclass(frozen=True, slots=True)
class Reach:
    """Reach a state in which ``target`` holds, through states in which ``along`` holds."""

    along: tuple[Claim, ...]
    target: tuple[Claim, ...]
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Invariant:
    """Stay in states in which ``along`` holds, forever or for ``bound`` steps."""

    along: tuple[Claim, ...]
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class NextStep:
    """Take one step to a state in which ``target`` holds."""

    target: tuple[Claim, ...]


def path_goals(path: f.CtlPath, holds: bool) -> tuple[Reach | Invariant | NextStep, ...]:
    """Return the runs that give the path formula this value, the simplest kind first.

    There are none for ticks and for windows that open later: these runs are searched for in the product.
    """
    match path:
        case f.Next(operand):
            return (NextStep(((operand, holds),)),)
        case f.Until(bound=f.Bound(_, low, ticks)) | f.Release(bound=f.Bound(_, low, ticks)) if (
            low or ticks is not None
        ):
            return ()
        case f.Until(left, right, bound) if holds:
            return (Reach(_unless_trivial(left, True), ((right, True),), _steps(bound)),)
        case f.Until(left, right, bound):
            forever = Invariant(((right, False),), _steps(bound))
            neither = ((left, False), (right, False))
            return (forever,) if left == f.VALID else (Reach(((right, False),), neither, _steps(bound)), forever)
        case f.Release(left, right, bound) if holds:
            forever = Invariant(((right, True),), _steps(bound))
            both = ((left, True), (right, True))
            return (forever,) if left == f.UNSATISFIABLE else (Reach(((right, True),), both, _steps(bound)), forever)
        case f.Release(left, right, bound):
            return (Reach(_unless_trivial(left, False), ((right, False),), _steps(bound)),)
        case f.WeakUntil(left, right, None) if holds:
            return (Reach(((left, True),), ((right, True),)), Invariant(((left, True),)))
        case f.WeakUntil(left, right, None):
            return (Reach(((right, False),), ((left, False), (right, False))),)
        case f.Derived():
            return path_goals(f.ctl_core(path), holds)
        case _:
            assert_never(path)


def _steps(bound: f.Bound | None) -> int | None:
    return None if bound is None else bound.high


def _unless_trivial(formula: Formula, value: bool) -> tuple[Claim, ...]:
    """Return the claim; none where every state meets it."""
    return () if formula == (f.VALID if value else f.UNSATISFIABLE) else ((formula, value),)


LOCATION = ""
"""Name of the variable for the location of the automaton; no other variable has this name."""

IDLE = -1
"""The idle step among the steps of a product."""

MAX_LOCATIONS = 2_000

ProductSet = tuple[S, ...]
"""A set of states for each location."""


@dataclass(frozen=True)
class PathQuery:
    """A path formula, the value that a run must give it, and the steps that the run may take."""

    path: Formula
    holds: bool
    along: f.Taken | None


@dataclass(frozen=True)
class _Arc:
    """One transition of the automaton: state conditions, steps that it may be taken with, and target location."""

    target: int
    labels: tuple[Claim, ...]
    steps: tuple[int, ...] | None
    """None for all rounds of a synchronous system."""
    idle: bool


class _Locations:
    """Locations of an automaton: a state and the marks of the transition just taken."""

    def __init__(self, read: Automaton, system: System, allowed: frozenset[int]) -> None:
        self._system, self._allowed = system, allowed
        self._number: dict[tuple[int, frozenset[int]], int] = {}
        self._states: list[int] = []
        self.initial = tuple(self._at(state, frozenset()) for state in read.initial)
        self.arcs: list[tuple[_Arc, ...]] = []
        for state in self._states:  # grows
            self.arcs.append(tuple(self._arc(edge) for edge in read.edges[state]))
            if len(self._states) > MAX_LOCATIONS:
                raise ResourceExhausted(
                    f"the automaton of the path formula has more than {MAX_LOCATIONS:,} states: no run is searched for"
                )
        self.marks = tuple(self._where(mark) for mark in range(read.marks))
        self.done = frozenset(place for place, state in enumerate(self._states) if read.accepts_everything(state))
        """The locations that accept every continuation."""

    def _at(self, state: int, marks: frozenset[int]) -> int:
        if (state, marks) not in self._number:
            self._number[state, marks] = len(self._states)
            self._states.append(state)
        return self._number[state, marks]

    def _arc(self, edge: LabelledEdge) -> _Arc:
        if not self._system.has_idle_step:
            return _Arc(self._at(edge.target, edge.marks), edge.labels, None, False)
        steps = self._allowed
        for taken, is_taken in edge.taken:
            named = steps_along(self._system, taken)
            steps = steps & named if is_taken else steps - named
        idle = not any(is_taken for _, is_taken in edge.taken)
        return _Arc(self._at(edge.target, edge.marks), edge.labels, tuple(sorted(steps)), idle)

    def _where(self, mark: int) -> Expr:
        return disj(
            Equal(Read(LOCATION), Const(number)) for (_, marks), number in self._number.items() if mark in marks
        )


class _ProductInterpreter(Interpreter):
    """Interpreter of the product of the system and the automaton."""

    def __init__(self, system: System, follow: Callable[[State, int], tuple[int, ...]]) -> None:
        super().__init__(system)
        self._next_locations = follow

    def after(self, state: State, step: int) -> tuple[State, ...]:
        successors = (state,) if step == IDLE else super().after(state, step)
        return tuple(after | {LOCATION: place} for after in successors for place in self._next_locations(state, step))


class Product(Generic[S]):
    """Product of the engine's state space with the automaton of a path formula."""

    def __init__(
        self,
        engine: Engine[S],
        watched: PathQuery,
        assuming: frozenset[str],
        where: Callable[[tuple[Formula, bool]], S],
    ) -> None:
        self.engine = engine
        self.system = engine.system
        self.allowed = steps_along(engine.system, watched.along)
        read = automaton(watched.path if watched.holds else f.Not(watched.path))
        self.locations = _Locations(read, engine.system, self.allowed)
        self.goals: tuple[Goal, ...] = (*goals(engine.system, assuming, watched.along), *self.locations.marks)
        self._where = where
        self._labels: dict[tuple[Claim, ...], S] = {}
        self.empty = engine.difference(engine.reachable, engine.reachable)

    # --- sets
    def at_locations(self, states: S, locations: Iterable[int]) -> ProductSet[S]:
        """Return these states at any of these locations."""
        chosen = frozenset(locations)
        return tuple(states if number in chosen else self.empty for number in range(len(self.locations.arcs)))

    @cached_property
    def all_states(self) -> ProductSet[S]:
        return (self.engine.reachable,) * len(self.locations.arcs)

    def where(self, condition: Expr) -> ProductSet[S]:
        if LOCATION not in reads(condition):
            return (self.engine.where(condition),) * len(self.locations.arcs)
        places = range(len(self.locations.arcs))
        return self.at_locations(
            self.engine.reachable, [place for place in places if holds(condition, {LOCATION: place})]
        )

    def recurrent(self, condition: Expr | f.Regardless) -> ProductSet[S]:
        if isinstance(condition, f.Regardless):
            return (self.engine.recurrent(condition),) * len(self.locations.arcs)
        return self.where(condition)

    def waiting(self, justice: Justice) -> ProductSet[S]:
        return self.where(self.system.waiting(justice))

    def intersection(self, left: ProductSet[S], right: ProductSet[S]) -> ProductSet[S]:
        return tuple(map(self.engine.intersection, left, right))

    def union(self, left: ProductSet[S], right: ProductSet[S]) -> ProductSet[S]:
        return tuple(map(self.engine.union, left, right))

    def difference(self, left: ProductSet[S], right: ProductSet[S]) -> ProductSet[S]:
        return tuple(map(self.engine.difference, left, right))

    def complement(self, states: ProductSet[S]) -> ProductSet[S]:
        return self.difference(self.all_states, states)

    def is_empty(self, states: ProductSet[S]) -> bool:
        return all(map(self.engine.is_empty, states))

    def pick(self, states: ProductSet[S]) -> State:
        place = next(place for place, some in enumerate(states) if not self.engine.is_empty(some))
        return self.engine.pick(states[place]) | {LOCATION: place}

    def singleton(self, state: State) -> ProductSet[S]:
        return self.at_locations(self.engine.singleton(without_location(state)), [int(state[LOCATION])])

    def contains(self, states: ProductSet[S], state: State) -> bool:
        return self.engine.contains(states[int(state[LOCATION])], without_location(state))

    # --- steps, including the idle step
    def states_allowing(self, arc: _Arc) -> S:
        """Return the states that satisfy the labels of the transition."""
        if arc.labels not in self._labels:
            states = self.engine.reachable
            for claim in arc.labels:
                states = self.engine.intersection(states, self._where(claim))
            self._labels[arc.labels] = states
        return self._labels[arc.labels]

    def _taking(self, arc: _Arc, chosen: frozenset[int] | None) -> tuple[int, ...] | None:
        if chosen is None or arc.steps is None:
            return arc.steps
        return tuple(step for step in arc.steps if step in chosen)

    def successors(self, states: ProductSet[S], steps: Iterable[int] | None = None) -> ProductSet[S]:
        chosen = None if steps is None else frozenset(steps)
        targets = [self.empty] * len(states)
        for place, here in enumerate(states):
            if self.engine.is_empty(here):
                continue
            for arc in self.locations.arcs[place]:
                leaving = self.engine.intersection(here, self.states_allowing(arc))
                if self.engine.is_empty(leaving):
                    continue
                taking = self._taking(arc, chosen)
                reached = [self.engine.successors(leaving, taking)] if taking != () else []
                reached += [leaving] if arc.idle and (chosen is None or IDLE in chosen) else []
                for some in reached:
                    targets[arc.target] = self.engine.union(targets[arc.target], some)
        return tuple(targets)

    def predecessors(self, states: ProductSet[S], steps: Iterable[int] | None = None) -> ProductSet[S]:
        chosen = None if steps is None else frozenset(steps)
        before: dict[tuple[int, tuple[int, ...] | None], S] = {}

        def leading(arc: _Arc) -> S:
            taking = self._taking(arc, chosen)
            sources = before.get((arc.target, taking))
            if sources is None:
                sources = self.engine.predecessors(states[arc.target], taking) if taking != () else self.empty
                before[arc.target, taking] = sources
            if arc.idle and (chosen is None or IDLE in chosen):
                sources = self.engine.union(sources, states[arc.target])
            return self.engine.intersection(sources, self.states_allowing(arc))

        filled = [not self.engine.is_empty(some) for some in states]
        result: list[S] = []
        for arcs in self.locations.arcs:
            sources = self.empty
            for arc in arcs:
                if filled[arc.target]:
                    sources = self.engine.union(sources, leading(arc))
            result.append(sources)
        return tuple(result)

    def next_locations(self, state: State, step: int | None) -> tuple[int, ...]:
        """Return the next locations when this step is taken in the state; without a step, by a round."""
        here = without_location(state)
        targets = (
            arc.target
            for arc in self.locations.arcs[int(state[LOCATION])]
            if (arc.steps is None or (arc.idle if step == IDLE else step in arc.steps))
            and self.engine.contains(self.states_allowing(arc), here)
        )
        return tuple(dict.fromkeys(targets))

    # --- acceptance and fairness
    def accepting_states(self, fair: S) -> ProductSet[S]:
        """Return the product states from which every fair run is accepted, whichever step comes next."""
        return tuple(
            fair if place in self.locations.done else self._finishing(arcs, fair)
            for place, arcs in enumerate(self.locations.arcs)
        )

    def _finishing(self, arcs: tuple[_Arc, ...], fair: S) -> S:
        accepting = self.empty
        for arc in arcs:
            any_move = arc.steps is None or (arc.idle and len(arc.steps) == len(self.allowed))
            if any_move and arc.target in self.locations.done:
                accepting = self.engine.union(accepting, self.states_allowing(arc))
        return self.engine.intersection(accepting, fair)

    def fair_states(
        self, states: ProductSet[S], before: Callable[[ProductSet[S]], ProductSet[S]], goals: Iterable[Goal]
    ) -> ProductSet[S]:
        """Return the states from which some run stays in the set forever and meets every goal infinitely often."""
        goals = tuple(goals)
        while True:
            # Emerson and Lei: `states` contains every state with such a run, and shrinks until each goal is met again.
            before_round = states
            states = self._staying(states, before)
            for goal in goals:
                states = self._reaching(self._moves_to_meet(goal, states), states, before)
            if self.is_empty(self.difference(before_round, states)):
                return states

    def _moves_to_meet(self, goal: Goal, states: ProductSet[S]) -> ProductSet[S]:
        if not isinstance(goal, Justice):
            return self.intersection(states, self.recurrent(goal))
        met = self.difference(states, self.waiting(goal))
        return self.union(met, self.intersection(states, self.predecessors(states, goal.steps))) if goal.steps else met

    def _staying(self, states: ProductSet[S], before: Callable[[ProductSet[S]], ProductSet[S]]) -> ProductSet[S]:
        while True:
            fewer = self.intersection(states, before(states))
            if self.is_empty(self.difference(states, fewer)):
                return states
            states = fewer

    def _reaching(
        self, target: ProductSet[S], within: ProductSet[S], before: Callable[[ProductSet[S]], ProductSet[S]]
    ) -> ProductSet[S]:
        reaching = front = target
        while not self.is_empty(front):
            front = self.difference(self.intersection(before(front), within), reaching)
            reaching = self.union(reaching, front)
        return reaching

    def reachable_from(self, starts: ProductSet[S]) -> ProductSet[S]:
        """Return the product states reachable from these."""
        reachable = front = starts
        while not self.is_empty(front):
            front = self.difference(self.successors(front), reachable)
            reachable = self.union(reachable, front)
        return reachable


class ProductRunSearch(RunSearch[ProductSet[S]], Generic[S]):
    """Search for short runs of a product; lassos that end in stuttering are preferred."""

    def __init__(
        self,
        engine: Engine[S],
        watched: PathQuery,
        assuming: frozenset[str],
        where: Callable[[tuple[Formula, bool]], S],
    ) -> None:
        self.product: Product[S] = Product(engine, watched, assuming, where)
        groups = [tuple(step for step in group if step in self.product.allowed) for group in step_groups(engine.system)]
        super().__init__(
            self.product,
            _ProductInterpreter(engine.system, self.product.next_locations),
            self.product.goals,
            [group for group in (*groups, (IDLE,)) if group],
            is_small=engine.count(engine.reachable) <= MAX_STATES_FOR_SHORTEST,
        )

    # --- steps
    def non_idle_moves(self, state: State) -> Iterator[Move]:
        enabled = (step for step in self.interpreter.enabled(state) if step in self.product.allowed)
        return self.moves_by(state, (*enabled, IDLE))

    def idle_moves(self, state: State) -> Iterator[Move]:
        return self.moves_by(state, (IDLE,))

    def moves_by(self, state: State, steps: Iterable[int]) -> Iterator[Move]:
        return (Move(None if move.step == IDLE else move.step, move.state) for move in super().moves_by(state, steps))

    def repeated(self, state: State, move: Move) -> Move | None:
        moves = list(self.moves_by(state, (IDLE if move.step is None else move.step,)))
        alike = [one for one in moves if one.state[LOCATION] == move.state[LOCATION]]
        return alike[0] if len(alike) == 1 else None

    def allows(self, state: State, target: State) -> bool:
        return target[LOCATION] in self.product.next_locations(state, None)

    def system_state(self, state: State) -> State:
        return without_location(state)

    # --- runs
    def finite_run(self, starts: S, fair: S) -> Run | None:
        """Return a finite run that decides the formula for every continuation, and from whose end a fair run begins."""
        accepted = self.product.accepting_states(fair)
        if self.product.is_empty(accepted):
            return None
        run = self.run_from(self._initial_states(starts), self.product.all_states, accepted)
        return None if run is None else _plain(run)

    def lasso_run(self, starts: S) -> Run | None:
        """Return a lasso, one whose loop only stutters if there is one."""
        rests = self.product.system.has_idle_step
        stem = (
            self.run_from(self._initial_states(starts), self.product.all_states, self._stutter_states)
            if rests
            else None
        )
        if stem is not None:
            last = without_location(stem.states[-1])
            still = stutter_loop(Interpreter(self.product.system), self._justice, last)
            run = _plain(stem)
            return Run(run.start, run.moves + still, len(run.moves))
        product = self.product
        begun = self._initial_states(starts)
        states = product.reachable_from(begun) if self._is_small else product.all_states
        states = product.fair_states(states, product.predecessors, self.goals)
        begun = product.intersection(begun, states)
        return None if product.is_empty(begun) else _plain(self.fair_lasso(product.pick(begun), states))

    def _initial_states(self, starts: S) -> ProductSet[S]:
        return self.product.at_locations(starts, self.product.locations.initial)

    @cached_property
    def _justice(self) -> tuple[Goal, ...]:
        return self.goals[: len(self.goals) - len(self.product.locations.marks)]

    @cached_property
    def _stutter_states(self) -> ProductSet[S]:
        """The product states in which the system may stutter forever while the automaton visits every mark."""
        product = self.product
        quiet = product.engine.where(stutter_condition(product.system, self._justice))
        ticks = [index for index, step in enumerate(product.system.steps) if step.kind == "tick"]
        through = [
            [arc for arc in arcs if arc.idle and set(ticks) & product.allowed <= set(arc.steps or ())]
            for arcs in product.locations.arcs
        ]

        def before(states: ProductSet[S]) -> ProductSet[S]:
            sources = []
            for arcs in through:
                some = product.empty
                for arc in arcs:
                    leading = product.engine.intersection(states[arc.target], product.states_allowing(arc))
                    some = product.engine.union(some, leading)
                sources.append(product.engine.intersection(some, quiet))
            return tuple(sources)

        return product.fair_states((quiet,) * len(through), before, product.locations.marks)


def without_location(state: State) -> State:
    """Return the state of the system alone."""
    return {name: value for name, value in state.items() if name != LOCATION}


def _plain(run: Run) -> Run:
    moves = tuple(replace(move, state=without_location(move.state)) for move in run.moves)
    return Run(without_location(run.start), moves, run.loop)
