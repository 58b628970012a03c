"""Validation of strategies: explore the outcomes of a strategy and check that every just one reaches the goal.

The interpreter executes the system state by state, independently of the engines, with all steps of the others and the
steps that the group insists on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count
from math import prod
from typing import assert_never

from cplc.checking.synchronous_strategy_play import round_strategy_problems
from cplc.logic.formulas import (
    Adjacent,
    And,
    Atom,
    Derived,
    Enforces,
    Finally,
    Formula,
    Globally,
    KnownFrom,
    Knows,
    Next,
    Not,
    OnPaths,
    Previous,
    Regardless,
    Release,
    Since,
    Taken,
    Until,
    children,
    is_propositional,
)
from cplc.statespace.graph_algorithms import strongly_connected_components
from cplc.system.interpreter import Interpreter, Key, holds, interpreter_of, key
from cplc.system.model import State, Step, System
from cplc.system.trace import Advice, Evidence

MAX_STATES = 20_000
"""Maximum number of states explored under a strategy."""
MAX_INITIAL = 100_000
"""Maximum number of combinations of initial values enumerated to check that all initial states are covered."""
MAX_GUARD_EVALUATIONS = 600_000
"""Maximum number of guards evaluated per exploration."""

Truth = Callable[[Formula, State], bool]


def propositional_value(formula: Formula, state: State) -> bool:
    """Return the value of a propositional formula."""
    match formula:
        case Atom(condition):
            return holds(condition, state)
        case Not(operand):
            return not propositional_value(operand, state)
        case And(operands):
            return all(propositional_value(operand, state) for operand in operands)
        case Derived():
            return propositional_value(formula.definition, state)
        case (
            Next() | Until() | Release() | Previous() | Since() | Taken()
            | OnPaths() | Enforces() | KnownFrom() | Knows() | Adjacent() | Regardless()
        ):  # fmt: skip
            raise ValueError("more than one state decides the formula")
        case _:
            assert_never(formula)


def is_send_of(step: Step, group: Collection[str]) -> bool:
    return step.actor in group and step.kind in {"send", "exchange"}


class StrategyPlay:
    """The states reachable under a strategy from some starts until the goal, and the moves between them."""

    def __init__(
        self,
        system: System,
        formula: Enforces,
        starts: Sequence[State],
        insisted: Callable[[State], Collection[int]],
        truth: Truth = propositional_value,
    ) -> None:
        self.system = system
        self.formula = formula
        self.states = list({key(start): start for start in starts}.values())
        self.moves: list[list[tuple[int, int]]] = []
        """For each explored state, its steps and the positions of their successors."""
        self.over: list[bool] = []
        """For each explored state, whether the goal is reached."""
        self._truth = truth
        self._starts = len(self.states)
        self._explore(insisted)

    @property
    def is_complete(self) -> bool:
        return len(self.moves) == len(self.states)

    def _explore(self, insisted: Callable[[State], Collection[int]]) -> None:
        interpreter = Interpreter(self.system)
        unrestricted = [
            number for number, step in enumerate(self.system.steps) if not is_send_of(step, self.formula.group)
        ]
        most = min(MAX_STATES, MAX_GUARD_EVALUATIONS // (len(self.system.steps) + 1) + 1)
        number: dict[Key, int] = {key(state): position for position, state in enumerate(self.states)}
        for position in count():
            if position >= min(len(self.states), most):
                return
            state = self.states[position]
            moves: list[tuple[int, int]] = []
            self.over.append(self._is_over(state, position))
            if not self.over[position]:
                for step in (*unrestricted, *insisted(state)):
                    for after in interpreter.after(state, step):
                        target = number.setdefault(key(after), len(self.states))
                        if target == len(self.states):
                            self.states.append(after)
                        moves.append((step, target))
            self.moves.append(moves)

    def _is_over(self, state: State, position: int) -> bool:
        goal = self.formula.goal
        match goal:
            case Finally(reached) | Until(_, reached):
                return self._truth(reached, state)
            case Globally():
                return False
            case Next():
                return position >= self._starts
            case _:
                assert_never(goal)

    # --- the goal

    def problems(self, assuming: frozenset[str]) -> Iterator[str]:
        """Yield why the strategy does not enforce the goal."""
        if not self.is_complete:
            yield "more states are reachable under the strategy than can be explored"
            return
        goal = self.formula.goal
        match goal:
            case Next(operand) | Globally(operand):
                if not all(self._truth(operand, state) for state in self.states):
                    yield "the strategy does not keep what it should"
            case Until(left, _) if not all(
                over or self._truth(left, state) for over, state in zip(self.over, self.states, strict=True)
            ):
                yield "the strategy leads through states that it should not"
            case Until() | Finally():
                if self._can_avoid_goal(assuming):
                    yield "a just run never reaches the goal under the strategy"
            case _:
                assert_never(goal)

    def _can_avoid_goal(self, assuming: frozenset[str]) -> bool:
        """Tell whether some just run avoids the goal: no justice constraint forces it out of some component."""
        taken = {
            step for moves in self.moves for step, _ in moves if is_send_of(self.system.steps[step], self.formula.group)
        }
        constraints = [frozenset(justice.steps) for justice in self.system.constraints(assuming)]
        constraints += [frozenset({step}) for step in taken]
        return any(
            not any(self._forces_exit(constraint, part) for constraint in constraints) for part in self._components()
        )

    def _forces_exit(self, steps: frozenset[int], part: Collection[int]) -> bool:
        """Tell whether one of the steps is enabled throughout a component, and each leads out of it."""
        return all(
            any(step in steps for step, _ in self.moves[state])
            and all(step not in steps or target not in part for step, target in self.moves[state])
            for state in part
        )

    def _components(self) -> Iterator[set[int]]:
        """Yield the strongly connected components of the states in which the goal is not reached."""
        after = [[target for _, target in moves] for moves in self.moves]
        return map(set, strongly_connected_components(after.__getitem__, bytes(not over for over in self.over)))


def strategy_problems(system: System, evidence: Evidence, assuming: frozenset[str]) -> Iterator[str]:
    """Yield the problems of a strategy as a witness of what a group can enforce."""
    formula, strategy = evidence.formula, evidence.strategy
    if not isinstance(formula, Enforces) or not evidence.holds or evidence.run.moves:
        yield "a strategy is given for what needs none"
        return
    missing = [*_missing_starts(system, evidence)]
    yield from missing
    if missing:
        return
    if system.is_synchronous:
        if all(map(is_propositional, children(formula.goal))):
            yield from round_strategy_problems(system, evidence, propositional_value)
        else:
            yield "whether the goal is reached cannot be seen from one state"
        return
    wrong = [*_wrong_advice(system, formula, strategy)]
    yield from wrong
    if wrong:
        return
    if not all(map(is_propositional, children(formula.goal))):
        yield "whether the goal is reached cannot be seen from one state"
        return

    def insisted(state: State) -> list[int]:
        return [advice.step for advice in strategy if advice.applies(state)]

    yield from StrategyPlay(system, formula, evidence.starts, insisted).problems(assuming)


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


def _wrong_advice(system: System, formula: Enforces, strategy: tuple[Advice, ...]) -> Iterator[str]:
    for advice in strategy:
        if not 0 <= advice.step < len(system.steps) or not is_send_of(system.steps[advice.step], formula.group):
            yield "the strategy insists on what is no send of the group"
            return
        tested = {name for case in advice.cases for name, _, _ in case}
        actor = system.steps[advice.step].actor
        observable = system.agent[actor].local if formula.uniform else system.variable
        if advice.agent != (actor if formula.uniform else None) or not tested <= set(observable):
            yield f"the strategy asks {actor} to decide by what it does not see"
