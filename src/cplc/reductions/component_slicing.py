"""Slicing into components: the pass, and lifting of runs from a slice to the whole system.

The theorems are those of `cplc.reductions.components` and, where components are free of timelocks by themselves, of
`cplc.reductions.timed_components`. A run of a slice is lifted by taking the same steps. Before a tick, components
outside the slice take steps of their own until it is possible for them; a breadth-first search finds the fewest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from cplc.reductions.problem import LiftingError, Pass, PerSystem, Problem
from cplc.reductions.timed_components import TimedComponents
from cplc.runtime.context import ResourceExhausted
from cplc.system.interpreter import Interpreter, Key, holds, key
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Move, Run

MAX_STATES_BEFORE_A_TICK = 20_000
"""Maximum number of states of one component that are searched for a state in which the tick is possible."""


class ComponentSlicing(Pass):
    """Keep the components that the formula depends on.

    Evidence shows these components. `lift` executes its runs in the whole system, while other components stutter.
    """

    name = "components"
    lifts_states = False

    def __init__(self) -> None:
        self._components = PerSystem(TimedComponents)

    def apply(self, problem: Problem) -> Problem | None:
        timed = self._components(problem.system)
        components = timed if problem.is_timelock_free and timed.divides(problem.formula) else timed.independent
        part = components.slice(components.components_of(problem.formula))
        return None if part is problem.system else replace(problem, system=part)

    def lift(self, evidence: Evidence, original: Problem, reduced: Problem) -> Evidence | None:
        RunLifting(self._components(original.system), reduced.system).check(evidence)
        return evidence


# --- lifting of evidence


class _TimeStops(LiftingError):
    """Another component never makes the next tick possible."""


class RunLifting:
    """Lifting of runs of a slice to the whole system."""

    def __init__(self, components: TimedComponents, part: System) -> None:
        self._system = components.system
        self._interpreter = Interpreter(self._system)
        self._part = part
        self._position = {step.name: index for index, step in enumerate(self._system.steps)}
        ticking = components.is_divided and not components.connected_in_time <= part.variable.keys()
        self._tick = components.tick if ticking else None
        self._others = [
            _ComponentBeforeTick(components, one)
            for one in (components.synchronised if ticking else ())
            if not one <= part.variable.keys()
        ]
        self._checked: dict[tuple[int, Key], Evidence] = {}
        """By the identity of the evidence, which the entry keeps alive, and the state where it begins."""

    def run(self, run: Run, *, until_time_stops: bool = False) -> Run:
        """Lift a run, from an initial state; a loop is run once.

        ``until_time_stops`` ends the run before a tick that another component never makes possible.
        """
        state = _initial_state(self._system, run.start)
        moves: list[Move] = []
        try:
            for lifted in self._lifted(run, state):
                moves += lifted
        except _TimeStops:
            if not until_time_stops:
                raise
        return Run(state, tuple(moves))

    def _lifted(self, run: Run, state: State) -> Iterator[list[Move]]:
        """Yield for each move of the run the moves of the whole system from this state on, the same one last."""
        for move in run.moves:
            step = None if move.step is None else self._position[self._part.steps[move.step].name]
            moves: list[Move] = []
            if step is not None:
                if step == self._tick:
                    moves += self._before_tick(state)
                    state = moves[-1].state if moves else state
                state = self._after(state, step, move.state)
            yield [*moves, Move(step, state)]

    def _states(self, run: Run, start: State) -> list[State]:
        """Return for each state of the run the state of the whole system."""
        return [start, *(moves[-1].state for moves in self._lifted(run, start))]

    def _after(self, state: State, step: int, target: State) -> State:
        """Return the state after the step in which these variables have these values."""
        for after in self._interpreter.after(state, step):
            if target.items() <= after.items():
                return after
        name = self._system.steps[step].name
        raise LiftingError(f"`{name}` is possible in a part of the system and not in the whole")

    def _before_tick(self, state: State) -> Iterator[Move]:
        """Yield the steps of other components until the tick is possible for each of them."""
        for other in self._others:
            for name, target in other.steps(state):
                state = self._after(state, self._position[name], target)
                yield Move(self._position[name], state)

    def check(self, evidence: Evidence, start: State | None = None) -> None:
        """Execute all runs of the evidence in the whole system, from this state or an initial one.

        Raise `LiftingError` where that is impossible.
        """
        begin = _initial_state(self._system, evidence.run.start) if start is None else start
        if (id(evidence), key(begin)) in self._checked:
            return
        self._checked[id(evidence), key(begin)] = evidence
        states = self._states(evidence.run, begin)
        for position, part in evidence.parts:
            self.check(part, states[position])
        if evidence.elsewhere is not None:
            elsewhere = self._states(evidence.elsewhere, _initial_state(self._system, evidence.elsewhere.start))
            if evidence.alternative is not None:
                self.check(evidence.alternative, elsewhere[-1])


def _initial_state(system: System, part: State) -> State:
    return {variable.name: variable.initial[0] for variable in system.variables} | part


class _ComponentBeforeTick:
    """The steps of one component outside of a slice that come before a tick."""

    def __init__(self, components: TimedComponents, component: frozenset[str]) -> None:
        self._components = components
        self._component = component
        self._guard = components.guard_of(component)
        self._paths: dict[Key, tuple[tuple[str, State], ...]] = {}

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter(self._components.slice(self._component))

    def steps(self, whole: State) -> tuple[tuple[str, State], ...]:
        """Return the fewest steps to a state in which the tick is possible: their names, and the states after them."""
        if holds(self._guard, whole):
            return ()
        here = {name: whole[name] for name in self._component}
        start = key(here)
        if start not in self._paths:
            self._paths[start] = tuple(self._shortest_path(here))
        return self._paths[start]

    def _shortest_path(self, start: State) -> list[tuple[str, State]]:
        interpreter = self._interpreter
        steps = [index for index, step in enumerate(interpreter.system.steps) if step.kind != "tick"]
        before: dict[Key, tuple[State, str]] = {}
        visited, level = {key(start)}, [start]
        while level:
            following = []
            for state in level:
                for step in steps:
                    for after in interpreter.after(state, step):
                        if key(after) in visited:
                            continue
                        visited.add(key(after))
                        before[key(after)] = state, interpreter.system.steps[step].name
                        if holds(self._guard, after):
                            return _path(before, start, after)
                        following.append(after)
            if len(visited) > MAX_STATES_BEFORE_A_TICK:
                raise ResourceExhausted(f"no tick after {MAX_STATES_BEFORE_A_TICK:,} states of another component")
            level = following
        raise _TimeStops("time passes in a part of the system and not in the whole")


def _path(before: dict[Key, tuple[State, str]], start: State, end: State) -> list[tuple[str, State]]:
    path: list[tuple[str, State]] = []
    while end != start:
        previous, name = before[key(end)]
        path.append((name, end))
        end = previous
    return path[::-1]
