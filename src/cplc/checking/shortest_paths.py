"""Shortest runs and fair lassos within sets of states, for any engine.

Distance layers are computed backwards on the engine's sets. The interpreter then follows them forwards, state by state.
If the two disagree one of them is wrong: `EvidenceError`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Generic, Protocol, Self

from cplc.checking.replay import EvidenceError, Goal, goals, unmet_goals
from cplc.checking.rounds import actions_between
from cplc.engines.interface import Engine, S
from cplc.logic.expressions import Equal, Expr, Read, conj, disj, negate
from cplc.logic.formulas import Regardless
from cplc.system.interpreter import Interpreter, Key, key
from cplc.system.model import Justice, State, System
from cplc.system.trace import Move, Run

# --- Distance layers to a target: exact breadth-first layers, or coarse layers by groups of steps
#
# Exact distances in a product are sums over its components, and sets of states with equal sums have large decision
# diagrams. Saturating the steps of one pair of agents at a time keeps the components apart.


class Arena(Protocol[S]):
    """State space in which runs are searched: an engine, or its product with an automaton."""

    system: System

    def where(self, condition: Expr) -> S: ...
    def recurrent(self, condition: Expr | Regardless) -> S: ...
    def waiting(self, justice: Justice) -> S: ...
    def intersection(self, left: S, right: S) -> S: ...
    def union(self, left: S, right: S) -> S: ...
    def difference(self, left: S, right: S) -> S: ...
    def complement(self, states: S) -> S: ...
    def is_empty(self, states: S) -> bool: ...
    def pick(self, states: S) -> State: ...
    def singleton(self, state: State) -> S: ...
    def contains(self, states: S, state: State) -> bool: ...
    def successors(self, states: S, steps: Iterable[int] | None = None) -> S: ...
    def predecessors(self, states: S, steps: Iterable[int] | None = None) -> S: ...


def exact_layers(engine: Arena[S], starts: S, within: S, target: S) -> tuple[S, ...] | None:
    """Return the states on shortest runs by their distance from the target, up to the nearest start.

    Bidirectional breadth-first search. All states but those of the target are within the given set. A layer may contain
    states of its distance that are on no shortest run. None if no start reaches the target.
    """
    ahead, behind = _Front(target), _Front(starts)
    while engine.is_empty(engine.intersection(ahead.last, behind.last)):
        # Invariant: layer i of a front has the states at distance i from its start; the cheaper front goes first.
        with ahead if ahead.seconds <= behind.seconds else behind as front:
            if front is ahead:
                layer_ahead = engine.intersection(engine.predecessors(front.last), within)
            else:
                layer_ahead = engine.successors(engine.intersection(front.last, within))
            layer_ahead = engine.difference(layer_ahead, front.seen)
            if engine.is_empty(layer_ahead):
                return None
            front.layers.append(layer_ahead)
            front.seen = engine.union(front.seen, layer_ahead)
    layers = ahead.layers
    for layer in reversed(behind.layers[:-1]):
        before = engine.intersection(engine.predecessors(layers[-1]), within)
        layers.append(engine.intersection(before, layer))
    return tuple(layers)


def coarse_layers(
    engine: Arena[S], groups: Iterable[tuple[int, ...]], starts: S, within: S, target: S
) -> tuple[S, ...] | None:
    """Return growing sets from the target up to one that contains a start, saturating the steps group by group.

    Invariant: from each state of a set some step leads into the set before. All states but those of the target are
    within the given set. None if no start reaches the target.
    """
    sets = [target]
    groups = list(groups)
    idle = 0
    while engine.is_empty(engine.intersection(sets[-1], starts)):
        if idle == len(groups):
            return None
        steps, *_ = groups
        groups = [*groups[1:], steps]
        idle += 1
        frontier = sets[-1]
        while not engine.is_empty(frontier):
            before = engine.intersection(engine.predecessors(frontier, steps), within)
            frontier = engine.difference(before, sets[-1])
            if not engine.is_empty(frontier):
                idle = 0
                sets.append(engine.union(sets[-1], frontier))
                if not engine.is_empty(engine.intersection(frontier, starts)):
                    break
    return tuple(sets)


def step_groups(system: System) -> list[tuple[int, ...]]:
    """Group the steps by the two agents of their message; steps without message by kind and event."""
    groups: dict[object, list[int]] = {}
    for index, step in enumerate(system.steps):
        message = system.message.get(step.event)
        about = frozenset(message.roles) if message else (step.kind, step.event)
        groups.setdefault(about, []).append(index)
    return [tuple(steps) for steps in groups.values()]


class _Front(Generic[S]):
    """One side of a bidirectional search and the time spent on it: the cheaper side is expanded next.

    The order of expansion does not change the layers.
    """

    def __init__(self, states: S) -> None:
        self.layers = [states]
        self.seen = states
        self.seconds = 0.0

    @property
    def last(self) -> S:
        return self.layers[-1]

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._began


Moves = tuple[Move, ...]

MAX_STATES_FOR_SHORTEST = 1_000_000
"""Maximum number of reachable states for which runs are shortest ones."""


class RunSearch(Generic[S]):
    """Search for runs in one state space; infinite runs meet each goal infinitely often."""

    def __init__(
        self,
        engine: Arena[S],
        interpreter: Interpreter,
        goals: Sequence[Goal],
        groups: Iterable[tuple[int, ...]],
        *,
        is_small: bool,
    ) -> None:
        self.engine = engine
        self.interpreter = interpreter
        self.goals = tuple(goals)
        self._groups = tuple(groups)
        self._is_small = is_small
        self._moves: dict[Key, Moves] = {}
        self._transitions: _Transitions[S] = _Steps(self) if engine.system.has_idle_step else _Rounds(self)

    def contains(self, states: S, state: State) -> bool:
        return self.engine.contains(states, state)

    # --- finite runs
    def moves_to(self, start: State, within: S, target: S, *, shortest: bool = False) -> Moves | None:
        """Return the moves of a run from a state into the target, if there is one, within the set except for its end.

        It is a shortest run if requested, or if there are not too many states.
        """
        run = self.run_from(self.engine.singleton(start), within, target, shortest=shortest)
        return None if run is None else run.moves

    def run_from(self, starts: S, within: S, target: S, *, shortest: bool = False) -> Run | None:
        """Return a run into the target from the nearest start, exactly or by coarse layers."""
        if shortest or self._is_small or isinstance(self._transitions, _Rounds):
            layers = exact_layers(self.engine, starts, within, target)
            if layers is None:
                return None
            start = self.engine.pick(self.engine.intersection(layers[-1], starts))
            return Run(start, self._descent(start, layers))
        sets = coarse_layers(self.engine, self._groups, starts, within, target)
        if sets is None:
            return None
        start = self.engine.pick(self.engine.intersection(sets[-1], starts))
        return Run(start, self._trimmed(start, self._fast_descent(start, sets), within, target))

    def _descent(self, start: State, layers: tuple[S, ...]) -> Moves:
        moves: Moves = ()
        for layer in reversed(layers[:-1]):
            moves += (self._transitions.into(layer, end(start, moves)),)
        return moves

    def _fast_descent(self, start: State, sets: tuple[S, ...]) -> Moves:
        """Return a greedy descent through growing sets: each step leads to the smallest set possible."""
        moves: Moves = ()
        height = self._height(start, sets)
        while height:
            lowest, best = height, None
            for move in self.moves(end(start, moves)):
                if lowest and self.contains(sets[lowest - 1], move.state):
                    lowest, best = self._height(move.state, sets[: lowest - 1]), move
            if best is None:
                raise EvidenceError("the engine knows a step that the interpreter cannot take")
            moves, height = (*moves, best), lowest
        return moves

    def _height(self, state: State, sets: tuple[S, ...]) -> int:
        """Return the position of the first of the growing sets that contains the state, or else their number."""
        return bisect_left(sets, True, key=lambda growing: self.engine.contains(growing, state))

    def _trimmed(self, start: State, moves: Moves, within: S, target: S) -> Moves:
        """Remove steps that the rest of the run does not need, long stretches first."""
        bounds = None if self.engine.is_empty(self.engine.complement(within)) else within
        size = len(moves) // 2
        while size:
            position = 0
            while position + size <= len(moves):
                here = end(start, moves[:position])
                shorter = self._replayed(here, moves[position + size :], bounds, target)
                if shorter is not None:
                    moves = moves[:position] + shorter
                else:
                    position += 1
            size //= 2
        return moves

    def _replayed(self, state: State, moves: Moves, within: S | None, target: S) -> Moves | None:
        """Replay the steps from another state, if they reach the target within the set; None is all states."""
        states, taken = [state], []
        for move in moves:
            again = self.repeated(states[-1], move)
            if again is None:
                return None
            taken.append(again)
            states.append(again.state)
        *before, last = states
        if not self.contains(target, last) or not (within is None or all(self.contains(within, one) for one in before)):
            return None
        return tuple(taken)

    def repeated(self, state: State, move: Move) -> Move | None:
        """Return the same step taken from another state, if its successor is unique."""
        after = () if move.step is None else self.interpreter.after(state, move.step)
        return Move(move.step, after[0]) if len(after) == 1 else None

    def moves(self, state: State) -> Moves:
        """Return the possible moves without idle steps that change nothing, cached."""
        state_key = key(state)
        if state_key not in self._moves:
            self._moves[state_key] = tuple(self.non_idle_moves(state))
        return self._moves[state_key]

    def non_idle_moves(self, state: State) -> Iterator[Move]:
        """Yield every possible move, without idle steps that change nothing."""
        return self.moves_by(state, self.interpreter.enabled(state))

    def idle_moves(self, state: State) -> Iterator[Move]:
        """Yield the moves by the idle step."""
        yield Move(None, state)

    def moves_by(self, state: State, steps: Iterable[int]) -> Iterator[Move]:
        for step in steps:
            for after in self.interpreter.after(state, step):
                yield Move(step, after)

    def first_into(self, states: S, moves: Iterable[Move]) -> Move:
        """Return the first move into the set; the engine claims that there is one."""
        for move in moves:
            if self.contains(states, move.state):
                return move
        raise EvidenceError("the engine knows a step that the interpreter cannot take")

    def next_move_into(self, states: S, state: State) -> Move:
        """Return a move into the set, possibly the idle step."""
        return self._transitions.into_or_idle(states, state)

    def allows(self, state: State, target: State) -> bool:
        """Tell whether the product, apart from the system, allows one state to follow the other."""
        return True

    def system_state(self, state: State) -> State:
        """Return the state of the system alone."""
        return state

    # --- lassos
    def fair_lasso(self, start: State, within: S) -> Run:
        """Return a short fair lasso within a set from each state of which a fair lasso begins."""
        return self._shortened_lasso(self._lasso(start, within), within)

    def _lasso(self, start: State, within: S) -> Run:
        """Return a lasso that meets each goal in turn.

        If no run leads back to the entry, the search resumes from the state reached. It has left a strongly connected
        component for good, so it terminates.
        """
        before: Moves = ()
        while True:
            entry = end(start, before)
            loop = self._fair_cycle(entry, within)
            back = self.moves_to(end(entry, loop), within, self.engine.singleton(entry))
            if back is not None:
                return Run(start, before + loop + back, len(before))
            before += loop

    def _fair_cycle(self, entry: State, within: S) -> Moves:
        moves: Moves = ()
        missing = self._unmet_goals(self.goals, Run(entry, moves))
        while missing:
            moves += self._moves_to_meet(missing[0], end(entry, moves), within)
            missing = self._unmet_goals(missing[1:], Run(entry, moves))
        return moves or (self._transitions.within(within, entry),)

    def _unmet_goals(self, goals: Sequence[Goal], loop: Run) -> tuple[Goal, ...]:
        return unmet_goals(
            self.interpreter, goals, loop, lambda goal, at: self.contains(self.engine.recurrent(goal), at)
        )

    def _moves_to_meet(self, goal: Goal, state: State, within: S) -> Moves:
        """Return moves that meet the goal: into a state that satisfies it, or by one of its steps."""
        engine = self.engine
        if not isinstance(goal, Justice):
            return self._existing_path(state, within, engine.intersection(within, engine.recurrent(goal)))
        off = engine.difference(within, engine.waiting(goal))
        taking = engine.intersection(within, engine.predecessors(within, goal.steps))
        moves = self._existing_path(state, within, engine.union(off, taking))
        here = end(state, moves)
        if self.contains(off, here):
            return moves
        return (*moves, self.first_into(within, self.moves_by(here, goal.steps)))

    def _existing_path(self, state: State, within: S, target: S) -> Moves:
        moves = self.moves_to(state, within, target)
        if moves is None:
            raise EvidenceError("a part of a fair run was not found although the engine claims one")
        return moves

    # --- shorter lassos
    def _shortened_lasso(self, run: Run, within: S) -> Run:
        entry = run.loop or 0
        loop = self._without_detours(Run(run.states[entry], run.moves[entry:], 0))
        on_loop = self.engine.singleton(loop.start)
        for move in loop.moves:
            on_loop = self.engine.union(on_loop, self.engine.singleton(move.state))
        prefix = self._existing_path(run.start, within, on_loop)
        turn = loop.states.index(end(run.start, prefix))
        return Run(run.start, prefix + loop.moves[turn:] + loop.moves[:turn], len(prefix))

    def _without_detours(self, loop: Run) -> Run:
        """Remove detours that a fair loop does not need, the longest first."""
        while True:
            # Invariant: `loop` meets every goal. Each cut is shorter, so the search terminates.
            fair = (run for run in self._cuts(loop) if not self._unmet_goals(self.goals, run))
            shorter = next(fair, None)
            if shorter is None:
                return loop
            loop = shorter

    def _cuts(self, loop: Run) -> Iterator[Run]:
        states, size = loop.states, len(loop.moves)
        for length in range(size, 0, -1):
            for first in range(size - length + 1):
                last = first + length
                if states[first] == states[last] and length < size:
                    yield Run(loop.start, loop.moves[:first] + loop.moves[last:], 0)
                if length > 1:
                    for move in self._transitions.between(states[first], states[last]):
                        yield Run(loop.start, (*loop.moves[:first], move, *loop.moves[last:]), 0)


class _Transitions(ABC, Generic[S]):
    """The single moves of a search."""

    def __init__(self, search: RunSearch[S]) -> None:
        self.search = search

    @abstractmethod
    def into(self, states: S, state: State) -> Move:
        """Return a move from the state into the set; the engine claims that there is one."""

    def into_or_idle(self, states: S, state: State) -> Move:
        """Return a move into the set, possibly the idle step."""
        return self.into(states, state)

    @abstractmethod
    def within(self, states: S, state: State) -> Move:
        """Return a move that stays in the set, preferably one that changes nothing."""

    @abstractmethod
    def between(self, state: State, target: State) -> Iterator[Move]:
        """Yield the moves from one state to the other."""


class _Steps(_Transitions[S]):
    """Moves by one step."""

    def into(self, states: S, state: State) -> Move:
        return self.search.first_into(states, self.search.moves(state))

    def into_or_idle(self, states: S, state: State) -> Move:
        return self.search.first_into(states, (*self.search.moves(state), Move(None, state)))

    def within(self, states: S, state: State) -> Move:
        return self.search.first_into(states, (*self.search.idle_moves(state), *self.search.moves(state)))

    def between(self, state: State, target: State) -> Iterator[Move]:
        return (move for move in self.search.moves(state) if move.state == target)


class _Rounds(_Transitions[S]):
    """Moves by one round of all players; the joint action is reconstructed from the two states."""

    def into(self, states: S, state: State) -> Move:
        engine = self.search.engine
        target = engine.intersection(engine.successors(engine.singleton(state)), states)
        move = None if engine.is_empty(target) else next(self.between(state, engine.pick(target)), None)
        if move is None:
            raise EvidenceError("the engine knows a round that the interpreter cannot find")
        return move

    def within(self, states: S, state: State) -> Move:
        return next(self.between(state, state), None) or self.into(states, state)

    def between(self, state: State, target: State) -> Iterator[Move]:
        search = self.search
        if search.allows(state, target):
            before, after = search.system_state(state), search.system_state(target)
            actions = actions_between(search.engine.system, before, after)
            if actions is not None:
                yield Move(None, target, actions)


class EngineRunSearch(RunSearch[S]):
    """Search for runs on one engine; fair runs keep these roles going."""

    def __init__(self, engine: Engine[S], assuming: frozenset[str]) -> None:
        system = engine.system
        is_small = engine.count(engine.reachable) <= MAX_STATES_FOR_SHORTEST
        super().__init__(engine, Interpreter(system), goals(system, assuming), step_groups(system), is_small=is_small)
        self.everything = engine.reachable
        self.initial = engine.initial

    def from_initial(self, target: S) -> Run:
        """Return a run from an initial state into a set of reachable states that is not empty."""
        run = self.run_from(self.initial, self.everything, target)
        if run is None:
            raise EvidenceError("no run leads to a state that the engine claims to be reachable")
        return run

    def lasso(self, start: State, within: S) -> Run:
        """Return a fair run from a state of a set in which every state begins a fair run that never leaves it."""
        if not self.engine.system.has_idle_step:
            return self.fair_lasso(start, within)
        at_rest = self.moves_to(start, within, self.engine.intersection(within, self._stutter_states))
        if at_rest is not None:
            return Run(start, at_rest + self.stutter_loop(end(start, at_rest)), len(at_rest))
        return self.fair_lasso(start, within)

    @cached_property
    def _stutter_states(self) -> S:
        return self.engine.where(stutter_condition(self.engine.system, self.goals))

    def stutter_loop(self, state: State) -> Moves:
        """Return the moves of a loop that stays in the state forever."""
        return stutter_loop(self.interpreter, self.goals, state)


def stutter_condition(system: System, goals: Iterable[Goal]) -> Expr:
    """Return where a fair run may stutter forever: no step that must happen is enabled or changes anything."""
    return conj(_rests(system, goal) for goal in goals)


def _rests(system: System, goal: Goal) -> Expr:
    assert not isinstance(goal, Regardless), "with an idle step the variables decide fairness conditions"
    if not isinstance(goal, Justice):
        return goal
    steps = (system.steps[index] for index in goal.steps)
    idle_ticks = (
        conj((step.guard, *(Equal(value, Read(name)) for name, value in step.updates)))
        for step in steps
        if step.kind == "tick" and not step.free
    )
    return disj((negate(system.waiting(goal)), *idle_ticks))


def stutter_loop(interpreter: Interpreter, goals: Iterable[Goal], state: State) -> Moves:
    """Return the moves of a stuttering loop: the ticks that must go on and change nothing."""
    ticks: dict[int | None, Move] = {}
    for goal in goals:
        if isinstance(goal, Justice) and any(interpreter.is_enabled(state, step) for step in goal.steps):
            still = (step for step in goal.steps if state in interpreter.after(state, step))
            ticks.update((step, Move(step, state)) for step in islice(still, 1))
    return tuple(ticks.values()) or (Move(None, state),)


def end(start: State, moves: Moves) -> State:
    """Return the last state of the moves."""
    return moves[-1].state if moves else start
