"""Validation of strategies: explore the outcomes of a strategy and check that every just one reaches the goal.

The interpreter executes the system state by state, independently of the engines: with all steps of the others and the
steps that the group insists on, or in rounds with the advised actions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count, product
from math import prod
from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.statespace.graph_algorithms import strongly_connected_components
from cplc.system.interpreter import Interpreter, Key, holds, interpreter_of, key
from cplc.system.model import Justice, State, Step, System
from cplc.system.trace import Advice, Evidence

MAX_STATES = 20_000
"""Maximum number of states explored under a strategy."""
MAX_STATES_IN_ROUNDS = 5_000
MAX_ROUNDS = 200_000
"""Maximum number of joint actions explored."""
MAX_INITIAL = 100_000
"""Maximum number of combinations of initial values enumerated to check that all initial states are covered."""
MAX_GUARD_EVALUATIONS = 600_000
"""Maximum number of guards evaluated per exploration."""

Truth = Callable[[Formula, State], bool]
Advised = Callable[[State], Mapping[str, Collection[str]]]
"""The advised actions in a state, by the choice variables of the players."""


def propositional_value(formula: Formula, state: State) -> bool:
    """Return the value of a propositional formula."""
    match formula:
        case f.Atom(condition):
            return holds(condition, state)
        case f.Not(operand):
            return not propositional_value(operand, state)
        case f.And(operands):
            return all(propositional_value(operand, state) for operand in operands)
        case f.Derived():
            return propositional_value(formula.definition, state)
        case f.PathOperator() | f.StateOperator():
            raise ValueError("more than one state decides the formula")
        case _:
            assert_never(formula)


def is_send_of(step: Step, group: Collection[str]) -> bool:
    return step.actor in group and step.kind in {"send", "exchange"}


class StrategyPlay(ABC):
    """The states reachable under a strategy from some starts until the goal, and the transitions between them."""

    max_states: int
    """Maximum number of states explored under a strategy."""

    def __init__(self, system: System, formula: f.Enforces, starts: Sequence[State], truth: Truth) -> None:
        self.system = system
        self.formula = formula
        self.states = list({key(start): start for start in starts}.values())
        self.transitions: list[list[tuple[int, int]]] = []
        """For each explored state, the steps and the positions of their successors; rounds have the number 0."""
        self.over: list[bool] = []
        """For each explored state, whether the goal is reached."""
        self.is_complete = True
        self._interpreter = Interpreter(system)
        self._truth = truth
        self._starts = len(self.states)

    def _explore(self) -> None:
        number: dict[Key, int] = {key(state): position for position, state in enumerate(self.states)}
        for position in count():
            if position == len(self.states):
                return
            state = self.states[position]
            if position >= self.max_states or not self._may_expand(state):
                self.is_complete = False
                return
            self.over.append(self._is_over(state, position))
            transitions: dict[tuple[int, int], None] = {}
            for step, after in () if self.over[position] else self._moves(state):
                target = number.setdefault(key(after), len(self.states))
                if target == len(self.states):
                    self.states.append(after)
                transitions[step, target] = None
            self.transitions.append(list(transitions))

    def _may_expand(self, state: State) -> bool:
        """Tell whether the limits allow to expand another state."""
        return True

    @abstractmethod
    def _moves(self, state: State) -> Iterator[tuple[int, State]]:
        """Yield the steps under the strategy with their successors."""

    def _is_over(self, state: State, position: int) -> bool:
        goal = self.formula.goal
        match goal:
            case f.Finally(reached) | f.Until(_, reached):
                return self._truth(reached, state)
            case f.Globally():
                return False
            case f.Next():
                return position >= self._starts
            case _:
                assert_never(goal)

    def _hold_in_all(self, operand: Formula) -> bool:
        return all(self._truth(operand, state) for state in self.states)

    def _leads_astray(self, left: Formula) -> bool:
        """Tell whether the condition fails before the goal is reached."""
        return not all(over or self._truth(left, state) for over, state in zip(self.over, self.states, strict=True))

    def _components(self) -> Iterator[list[int]]:
        """Yield the strongly connected components of the states in which the goal is not reached."""
        after = [[target for _, target in transitions] for transitions in self.transitions]
        return strongly_connected_components(after.__getitem__, bytes(not over for over in self.over))


class StepPlay(StrategyPlay):
    """The play of a strategy that insists on sends, with all steps of the others."""

    def __init__(
        self,
        system: System,
        formula: f.Enforces,
        starts: Sequence[State],
        insisted: Callable[[State], Collection[int]],
        truth: Truth = propositional_value,
    ) -> None:
        super().__init__(system, formula, starts, truth)
        self.max_states = min(MAX_STATES, MAX_GUARD_EVALUATIONS // (len(system.steps) + 1) + 1)
        self._insisted = insisted
        self._unrestricted = [number for number, step in enumerate(system.steps) if not is_send_of(step, formula.group)]
        self._overdue = {message.name: message.overdue for message in system.bounded}
        self._stopped: set[int] = set()
        """The explored states in which the clock waits for a send that the group insists on."""
        self._explore()

    def _moves(self, state: State) -> Iterator[tuple[int, State]]:
        insisted = self._insisted(state)
        is_stopped = any(self._is_overdue(step, state) for step in insisted)
        if is_stopped:
            self._stopped.add(len(self.transitions))
        for step in (*self._unrestricted, *insisted):
            if is_stopped and self.system.steps[step].kind == "tick":
                continue
            for after in self._interpreter.after(state, step):
                yield step, after

    def _is_overdue(self, step: int, state: State) -> bool:
        overdue = self._overdue.get(self.system.steps[step].event)
        return overdue is not None and holds(overdue, state) and self._interpreter.is_enabled(state, step)

    def problems(self, assuming: frozenset[str]) -> Iterator[str]:
        """Yield why the strategy does not enforce the goal."""
        if not self.is_complete:
            yield "more states are reachable under the strategy than can be explored"
            return
        goal = self.formula.goal
        match goal:
            case f.Next(operand) | f.Globally(operand):
                if not self._hold_in_all(operand):
                    yield "the strategy does not keep what it should"
                elif isinstance(goal, f.Globally) and self._can_stop_the_clock(assuming):
                    yield "the strategy stops the clock for good"
            case f.Until(left, _) if self._leads_astray(left):
                yield "the strategy leads through states that it should not"
            case f.Until() | f.Finally():
                if self._can_avoid_goal(assuming):
                    yield "a just run never reaches the goal under the strategy"
            case _:
                assert_never(goal)

    def _can_avoid_goal(self, assuming: frozenset[str]) -> bool:
        """Tell whether some just run avoids the goal: no justice constraint forces it out of some component."""
        return any(self._is_just(set(part), assuming) for part in self._components())

    def _can_stop_the_clock(self, assuming: frozenset[str]) -> bool:
        """Tell whether the group stops the clock again and again on a just run without further ticks."""
        ticks = {number for number, step in enumerate(self.system.steps) if step.kind == "tick"}
        if not self._stopped:
            return False
        after = [[target for step, target in moves if step not in ticks] for moves in self.transitions]
        parts = map(set, strongly_connected_components(after.__getitem__, b"\1" * len(after)))
        return any(
            not self._stopped.isdisjoint(part) and self._is_just(part, assuming, without=ticks) for part in parts
        )

    def _is_just(self, part: Collection[int], assuming: frozenset[str], without: Collection[int] = ()) -> bool:
        """Tell whether a run that stays in a component, without these steps, may meet every constraint."""
        taken = {
            step
            for transitions in self.transitions
            for step, _ in transitions
            if is_send_of(self.system.steps[step], self.formula.group)
        }
        constraints = self.system.constraints(assuming)
        if any(one.recurs and not one.is_condition and self._keeps_time_out(one, part, without) for one in constraints):
            return False
        waiting = [frozenset(one.steps) for one in constraints if not one.recurs or one.is_condition]
        waiting += [frozenset({step}) for step in taken]
        return not any(self._forces_exit(steps, part) for steps in waiting)

    def _keeps_time_out(self, justice: Justice, part: Collection[int], without: Collection[int]) -> bool:
        """Tell whether no tick stays in the component, and the group stops the clock in none of its states."""
        ticks = set(justice.steps).difference(without)
        return not any(
            state in self._stopped or any(step in ticks and target in part for step, target in self.transitions[state])
            for state in part
        )

    def _forces_exit(self, steps: frozenset[int], part: Collection[int]) -> bool:
        """Tell whether one of the steps is enabled throughout a component, and each leads out of it."""
        return all(
            any(step in steps for step, _ in self.transitions[state])
            and all(step not in steps or target not in part for step, target in self.transitions[state])
            for state in part
        )


class RoundPlay(StrategyPlay):
    """The play of a strategy in rounds: members follow the advice if it is allowed; all else is open."""

    max_states = MAX_STATES_IN_ROUNDS

    def __init__(
        self, system: System, formula: f.Enforces, starts: Sequence[State], advised: Advised, truth: Truth
    ) -> None:
        super().__init__(system, formula, starts, truth)
        self._advised = advised
        self._rounds = 0
        self._has_deadlock = False
        self._allowed: list[list[str]] = []
        self._explore()

    def _may_expand(self, state: State) -> bool:
        advised = self._advised(state)
        self._allowed = []
        for player in self.system.players:
            allowed = self._interpreter.allowed(player, state)
            chosen = [name for name in allowed if name in advised.get(player.choice, ())]
            self._allowed.append(chosen or allowed)
        self._rounds += prod(map(len, self._allowed))
        return self._rounds <= MAX_ROUNDS

    def _moves(self, state: State) -> Iterator[tuple[int, State]]:
        if not all(self._allowed):
            self._has_deadlock = True
        for actions in product(*self._allowed):
            for after in self._interpreter.after_round(state, actions):
                yield 0, after

    def problems(self) -> Iterator[str]:
        """Yield why the strategy does not enforce the goal."""
        if not self.is_complete:
            yield "more rounds are possible under the strategy than can be played"
            return
        if self._has_deadlock:
            yield "the strategy leads to where somebody has nothing to do"
        goal = self.formula.goal
        match goal:
            case f.Next(operand):
                follow = {target for some in self.transitions[: self._starts] for _, target in some}
                if not all(self._truth(operand, self.states[number]) for number in follow):
                    yield "the strategy does not bring about what it should"
            case f.Globally(operand):
                if not self._hold_in_all(operand):
                    yield "the strategy does not keep what it should"
            case f.Until(left, _) if self._leads_astray(left):
                yield "the strategy leads through states that it should not"
            case f.Until() | f.Finally():
                if any(len(part) > 1 or (0, part[0]) in self.transitions[part[0]] for part in self._components()):
                    yield "a run never reaches the goal under the strategy"
            case _:
                assert_never(goal)


def strategy_problems(system: System, evidence: Evidence, assuming: frozenset[str]) -> Iterator[str]:
    """Yield the problems of a strategy as a witness of what a group can enforce."""
    formula, strategy = evidence.formula, evidence.strategy
    if not isinstance(formula, f.Enforces) or not evidence.holds or evidence.run.moves:
        yield "a strategy is given for what needs none"
        return
    missing = [*_missing_starts(system, evidence)]
    yield from missing
    if missing:
        return
    if system.is_synchronous:
        if all(map(f.is_propositional, f.children(formula.goal))):
            yield from _round_strategy_problems(system, evidence)
        else:
            yield "whether the goal is reached cannot be seen from one state"
        return
    wrong = [*_wrong_advice(system, formula, strategy)]
    yield from wrong
    if wrong:
        return
    if not all(map(f.is_propositional, f.children(formula.goal))):
        yield "whether the goal is reached cannot be seen from one state"
        return

    def insisted(state: State) -> list[int]:
        return [advice.step for advice in strategy if advice.applies(state)]

    played = system.played_by(system.bounded_members(formula.group))
    yield from StepPlay(played, formula, evidence.starts, insisted).problems(assuming)


def can_list_initial_states(system: System) -> bool:
    """Tell whether the combinations of initial values are few enough to be enumerated."""
    return prod(len(variable.initial) for variable in system.variables) <= MAX_INITIAL


def _missing_starts(system: System, evidence: Evidence) -> Iterator[str]:
    """Yield why the strategy does not start from the states that it should.

    The set of indistinguishable states comes from the engine and is not checked.
    """
    interpreter = interpreter_of(system)
    starts = set(map(key, evidence.starts))
    if key(evidence.run.start) not in starts:
        yield "the strategy is not played from the state that it is shown for"
    if not all(map(interpreter.is_state, evidence.starts)):
        yield "the strategy is played from what is not a state"
    if evidence.scope == "all initial" and not (
        can_list_initial_states(system) and all(key(state) in starts for state in interpreter.initial_states())
    ):
        yield "the strategy is not played from every initial state"


def _wrong_advice(system: System, formula: f.Enforces, strategy: tuple[Advice, ...]) -> Iterator[str]:
    for advice in strategy:
        if not 0 <= advice.step < len(system.steps) or not is_send_of(system.steps[advice.step], formula.group):
            yield "the strategy insists on what is no send of the group"
            return
        tested = {name for case in advice.cases for name, _, _ in case}
        actor = system.steps[advice.step].actor
        observable = system.agent[actor].local if formula.uniform else system.variable
        if advice.agent != (actor if formula.uniform else None) or not tested <= set(observable):
            yield f"the strategy asks {actor} to decide by what it does not see"


def advised_by(strategy: Sequence[Advice], system: System) -> Advised:
    """Return the advice of a table as a function of the state."""

    def advised(state: State) -> Mapping[str, Collection[str]]:
        actions: dict[str, set[str]] = {}
        for advice in strategy:
            if advice.applies(state):
                player = system.player[advice.choice]
                actions.setdefault(advice.choice, set()).add(player.actions[advice.step].name)
        return actions

    return advised


def _round_strategy_problems(system: System, evidence: Evidence) -> Iterator[str]:
    """Yield the problems of a strategy in a synchronous system."""
    formula = evidence.formula
    assert isinstance(formula, f.Enforces)
    for advice in evidence.strategy:
        player = system.player.get(advice.choice)
        if player is None or player.agent not in formula.group or not 0 <= advice.step < len(player.actions):
            yield "the strategy advises what is no action of the group"
            return
        tested = {name for case in advice.cases for name, _, _ in case}
        observable = system.agent[player.agent].local if formula.uniform else system.variable
        if advice.agent != (player.agent if formula.uniform else None) or not tested <= set(observable):
            yield f"the strategy asks {player.agent} to decide by what it does not see"
            return
    advised = advised_by(evidence.strategy, system)
    yield from RoundPlay(system, formula, evidence.starts, advised, propositional_value).problems()
