"""Shortest ways through sets of states, and fair cycles in them, on any engine.

Distances come from the engine's sets, walking backwards from where the run is to end; the run itself is then walked
forwards state by state with the interpreter. Where the two disagree one of them is wrong: `EvidenceError`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Generic

from cplc.checking.distance_layers import Arena, coarse_layers, exact_layers, step_groups
from cplc.checking.interpreter import Interpreter, Key, key
from cplc.checking.joint_actions import actions_between
from cplc.checking.replay import EvidenceError, Goal, goals, unmet_goals
from cplc.engines.interface import Engine, S
from cplc.logic.expressions import Equal, Expr, Read, conj, disj, negate
from cplc.logic.formulas import Regardless
from cplc.system.model import Justice, State, System
from cplc.system.trace import Move, Run

Moves = tuple[Move, ...]

MAX_STATES_FOR_SHORTEST = 1_000_000
"""With more reachable states than this, the way that is shown need not be a shortest one."""


class RunSearch(Generic[S]):
    """Runs in one arena, the endless ones such that they meet the goals again and again."""

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

    def contains(self, states: S, state: State) -> bool:
        return self.engine.contains(states, state)

    # --- finite ways
    def moves_to(self, start: State, within: S, target: S, *, shortest: bool = False) -> Moves | None:
        """Return a way from a state into the target, if there is one, all but its end within the given set.

        It is a shortest one if that is asked for, or where there are not too many states to look for it.
        """
        run = self.run_from(self.engine.singleton(start), within, target, shortest=shortest)
        return None if run is None else run.moves

    def run_from(self, starts: S, within: S, target: S, *, shortest: bool = False) -> Run | None:
        """Return a way into the target from the start for which it is shortest, or seems to be."""
        if shortest or self._is_small or self.engine.system.is_synchronous:
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
            moves += (self.move_into(layer, end(start, moves)),)
        return moves

    def _fast_descent(self, start: State, sets: tuple[S, ...]) -> Moves:
        """Return a way down growing sets, by the step that leads down most."""
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
        """Return the position of the first of the growing sets that contains the state; their number if none does."""
        return bisect_left(sets, True, key=lambda growing: self.engine.contains(growing, state))

    def _trimmed(self, start: State, moves: Moves, within: S, target: S) -> Moves:
        """Leave out steps that the rest of the way can do without, long stretches first."""
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
        """Return the same steps from another state, if they lead within the set to the target; None is all states."""
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
        """Return the same step taken from another state, where it is plain which of its ends is meant."""
        after = () if move.step is None else self.interpreter.after(state, move.step)
        return Move(move.step, after[0]) if len(after) == 1 else None

    def moves(self, state: State) -> Moves:
        """Return what can happen next, the idle step left out."""
        state_key = key(state)
        if state_key not in self._moves:
            self._moves[state_key] = tuple(self.non_idle_moves(state))
        return self._moves[state_key]

    def non_idle_moves(self, state: State) -> Iterator[Move]:
        """Yield every move that is possible, but for idling where nothing changes by it."""
        return self.moves_by(state, self.interpreter.enabled(state))

    def idle_moves(self, state: State) -> Iterator[Move]:
        """Yield what idling leads to."""
        yield Move(None, state)

    def moves_by(self, state: State, steps: Iterable[int]) -> Iterator[Move]:
        for step in steps:
            for after in self.interpreter.after(state, step):
                yield Move(step, after)

    def first_into(self, states: S, moves: Iterable[Move]) -> Move:
        """Return the first move into the set; the engine says that there is one."""
        for move in moves:
            if self.contains(states, move.state):
                return move
        raise EvidenceError("the engine knows a step that the interpreter cannot take")

    # --- one move
    def move_into(self, states: S, state: State) -> Move:
        """Return a move from the state into the set; the engine says that there is one."""
        if not self.engine.system.is_synchronous:
            return self.first_into(states, self.moves(state))
        target = self.engine.intersection(self.engine.successors(self.engine.singleton(state)), states)
        if not self.engine.is_empty(target):
            for move in self.moves_between(state, self.engine.pick(target)):
                return move
        raise EvidenceError("the engine knows a round that the interpreter cannot find")

    def moves_between(self, state: State, target: State) -> Iterator[Move]:
        """Yield the moves that lead from one state to the other; of rounds one is enough."""
        if not self.engine.system.is_synchronous:
            yield from (move for move in self.moves(state) if move.state == target)
        elif self.allows(state, target):
            actions = actions_between(self.engine.system, self.system_state(state), self.system_state(target))
            if actions is not None:
                yield Move(None, target, actions)

    def next_move_into(self, states: S, state: State) -> Move:
        """Return a move into the set, be it that nothing happens."""
        if self.engine.system.is_synchronous:
            return self.move_into(states, state)
        return self.first_into(states, (*self.moves(state), Move(None, state)))

    def allows(self, state: State, target: State) -> bool:
        """Whether nothing but the system itself keeps the one state from following the other."""
        return True

    def system_state(self, state: State) -> State:
        """Return the state of the system alone."""
        return state

    def move_within(self, state: State, within: S) -> Move:
        """Return a move that stays in the set, one that changes nothing if there is such."""
        if not self.engine.system.is_synchronous:
            return self.first_into(within, (*self.idle_moves(state), *self.moves(state)))
        return next(self.moves_between(state, state), None) or self.move_into(within, state)

    # --- endless ways
    def fair_lasso(self, start: State, within: S) -> Run:
        """Return a fair lasso within a set, the shorter the better, from each state of which one begins."""
        return self._shortened_lasso(self._lasso(start, within), within)

    def _lasso(self, start: State, within: S) -> Run:
        """Return a lasso that visits what every constraint asks for in turn.

        Where no way leads back to the entry the search goes on from where it got to; it never comes back, so it ends.
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
        return moves or (self.move_within(entry, within),)

    def _unmet_goals(self, goals: Sequence[Goal], loop: Run) -> tuple[Goal, ...]:
        return unmet_goals(
            self.interpreter, goals, loop, lambda goal, at: self.contains(self.engine.recurrent(goal), at)
        )

    def _moves_to_meet(self, goal: Goal, state: State, within: S) -> Moves:
        """Return a way that meets the goal: a state that is as asked for, or one of its steps taken."""
        engine = self.engine
        if not isinstance(goal, Justice):
            return self._existing_path(state, within, engine.intersection(within, engine.recurrent(goal)))
        off = engine.difference(within, engine.enabled(goal))
        taking = engine.intersection(within, engine.predecessors(within, goal.steps))
        moves = self._existing_path(state, within, engine.union(off, taking))
        here = end(state, moves)
        if self.contains(off, here):
            return moves
        return (*moves, self.first_into(within, self.moves_by(here, goal.steps)))

    def _existing_path(self, state: State, within: S, target: S) -> Moves:
        moves = self.moves_to(state, within, target)
        if moves is None:
            raise EvidenceError("a fair run is said to exist and a part of it cannot be found")
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
        """Leave out what a fair loop can do without, the longest detours first."""
        while True:
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
                    for move in self.moves_between(states[first], states[last]):
                        yield Run(loop.start, (*loop.moves[:first], move, *loop.moves[last:]), 0)


class EngineRunSearch(RunSearch[S]):
    """Runs on one engine, fair when these roles keep going."""

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
            raise EvidenceError("a state is called reachable and no run leads there")
        return run

    def lasso(self, start: State, within: S) -> Run:
        """Return a fair run from a state of a set in which every state begins a fair run that never leaves it."""
        if self.engine.system.is_synchronous:
            return self.fair_lasso(start, within)
        at_rest = self.moves_to(start, within, self.engine.intersection(within, self._stutter_states))
        if at_rest is not None:
            return Run(start, at_rest + self.stutter_loop(end(start, at_rest)), len(at_rest))
        return self.fair_lasso(start, within)

    @cached_property
    def _stutter_states(self) -> S:
        return self.engine.where(stutter_condition(self.engine.system, self.goals))

    def stutter_loop(self, state: State) -> Moves:
        """Return the moves that go on for ever in a state at rest."""
        return stutter_loop(self.interpreter, self.goals, state)


def stutter_condition(system: System, goals: Iterable[Goal]) -> Expr:
    """Return where a fair run may stay for ever: nothing that must happen is enabled or changes anything."""
    return conj(_rests(system, goal) for goal in goals)


def _rests(system: System, goal: Goal) -> Expr:
    assert not isinstance(goal, Regardless), "where there is an idle step the variables decide conditions of fairness"
    if not isinstance(goal, Justice):
        return goal
    steps = (system.steps[index] for index in goal.steps)
    idle_ticks = (
        conj((step.guard, *(Equal(value, Read(name)) for name, value in step.updates)))
        for step in steps
        if step.kind == "tick" and not step.free
    )
    return disj((negate(system.enabled(goal)), *idle_ticks))


def stutter_loop(interpreter: Interpreter, goals: Iterable[Goal], state: State) -> Moves:
    """Return the moves that go on for ever in a state at rest: the ticks that must go on and change nothing."""
    ticks: dict[int | None, Move] = {}
    for goal in goals:
        if isinstance(goal, Justice) and any(interpreter.is_enabled(state, step) for step in goal.steps):
            still = (step for step in goal.steps if state in interpreter.after(state, step))
            ticks.update((step, Move(step, state)) for step in islice(still, 1))
    return tuple(ticks.values()) or (Move(None, state),)


def end(start: State, moves: Moves) -> State:
    """Return where the moves lead."""
    return moves[-1].state if moves else start
