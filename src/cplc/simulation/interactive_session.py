"""Interactive simulation: the possible moves, the run so far, undo and redo, and verdicts of the run so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress, islice
from math import prod
from typing import Final, Literal, Protocol, assert_never

from cplc.automata.formula_progression import (
    NotProgressible,
    conjunction,
    disjunction,
    negation,
    progression,
)
from cplc.checking.replay import some_fair_run
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic import formulas as f
from cplc.logic import kleene
from cplc.logic.expressions import TRUE, Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.random_walk import RoundSampler, draw_initial_state
from cplc.simulation.rng import RandomSource
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System
from cplc.system.trace import Move, Run

MAX_CHOICES: Final = 1_000
"""Maximum number of joint actions that are listed."""


@dataclass(frozen=True)
class Choice:
    """A possible move: an enabled step, or a joint action, with one of its successors."""

    move: Move
    chosen: tuple[tuple[str, Value], ...] = ()
    """The values of variables that the step initialises again, where there are several initial values."""


class ChoiceTable(Protocol):
    """The possible moves of a system, state by state."""

    system: System

    def choices(self, state: State) -> tuple[Choice, ...]:
        """Return the choices, in order; of very many, the first."""
        ...

    def draw(self, state: State, dice: RandomSource) -> Choice | None:
        """Return a random choice; None if there is none."""
        ...

    def named(self, text: str, state: State) -> Sequence[Choice]:
        """Return the choices that match a name."""
        ...


class StepChoices:
    """The enabled steps of an interleaved system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._relation = InterleavedRelation(system)

    def choices(self, state: State) -> tuple[Choice, ...]:
        packing = self._relation.packing
        return tuple(
            self._choice(step, packing.unpack(target))
            for step, target in self._relation.transitions(packing.pack(state))
        )

    def _choice(self, step: int, after: State) -> Choice:
        return Choice(Move(step, after), tuple((name, after[name]) for name in self.system.steps[step].free))

    def draw(self, state: State, dice: RandomSource) -> Choice | None:
        choices = self.choices(state)
        return choices[dice.below(len(choices))] if choices else None

    def named(self, text: str, state: State) -> Sequence[Choice]:
        """Return the choices of exactly that step, of that message, or with that prefix."""
        choices = self.choices(state)
        steps = [self.system.steps[choice.move.step] for choice in choices if choice.move.step is not None]
        for fitting in (
            [step.name == text for step in steps],
            [step.event == text for step in steps],
            [step.event.startswith(text) or step.name.startswith(text) for step in steps],
        ):
            if any(fitting):
                return tuple(compress(choices, fitting))
        return ()


class RoundChoices:
    """The joint actions of a synchronous system, each with its outcomes."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._sampler = RoundSampler(system)
        self._positions = {player.agent: position for position, player in enumerate(system.players)}

    def choices(self, state: State) -> tuple[Choice, ...]:
        return tuple(map(Choice, islice(self._sampler.moves(state), MAX_CHOICES)))

    def draw(self, state: State, dice: RandomSource) -> Choice | None:
        move = self._sampler.draw(state, dice)
        return None if move is None else Choice(move)

    def named(self, text: str, state: State) -> Sequence[Choice]:
        """Return the choices that contain all actions of a list such as ``Gate: open, Train: stay``.

        The agent may be left out if a single agent has an action of that name.
        """
        given: dict[int, str] = {}
        for part in text.split(","):
            owners, action = agents_acting(self.system, part)
            if len(owners) != 1:
                return ()
            given[self._positions[owners[0]]] = action
        return tuple(map(Choice, islice(self._sampler.moves(state, given), MAX_CHOICES)))


def agents_acting(system: System, text: str) -> tuple[tuple[str, ...], str]:
    """Return the agents that ``Agent: action``, ``Agent = action`` or ``action`` may mean, and the action."""
    agent, _, action = (word.strip() for word in text.replace("=", ":").rpartition(":"))
    owners = (
        player.agent
        for player in system.players
        if agent in ("", player.agent) and any(one.name == action for one in player.actions)
    )
    return tuple(owners), action


def choice_table(system: System) -> ChoiceTable:
    """Return the choices of a system."""
    return RoundChoices(system) if system.players else StepChoices(system)


@dataclass(frozen=True)
class Session:
    """A position in a run. Undone steps can be redone until another choice is taken."""

    table: ChoiceTable
    whole: Run
    at: int = 0

    @property
    def system(self) -> System:
        return self.table.system

    @property
    def state(self) -> State:
        return self.whole.moves[self.at - 1].state if self.at else self.whole.start

    @property
    def run(self) -> Run:
        """The run up to the current position."""
        return Run(self.whole.start, self.whole.moves[: self.at])

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        return self.table.choices(self.state)

    def take(self, choice: Choice) -> Session:
        """Take this choice. It discards undone moves, unless it repeats the first of them."""
        if self.whole.moves[self.at : self.at + 1] == (choice.move,):
            return self.jump(self.at + 1)
        moves = (*self.whole.moves[: self.at], choice.move)
        return Session(self.table, Run(self.whole.start, moves), self.at + 1)

    def jump(self, at: int) -> Session:
        """Go to the state of this number, or to the nearest one."""
        return replace(self, at=max(0, min(at, len(self.whole.moves))))

    def at_random(self, dice: RandomSource, count: int) -> Session:
        """Make this number of random moves, or fewer if there is none."""
        now = self
        for _ in range(count):
            choice = now.table.draw(now.state, dice)
            if choice is None:
                break
            now = now.take(choice)
        return now

    def named(self, text: str) -> Sequence[Choice]:
        """Return the choices that match a name."""
        return self.table.named(text, self.state)


def begin(system: System, dice: RandomSource, given: dict[str, Value] | None = None) -> Session | None:
    """Return a session in an initial state with the given values, others random; None if there is no such state."""
    if system.start != TRUE:
        drawn = draw_initial_state(system, dice, given)
        return None if drawn is None else Session(choice_table(system), Run(drawn, ()))
    start = {
        variable.name: variable.initial[dice.below(len(variable.initial)) if len(variable.initial) > 1 else 0]
        for variable in system.variables
    }
    return Session(choice_table(system), Run(start | (given or {}), ()))


# --- Verdicts of a finite run: what its prefix alone proves, for every continuation
#
# A run refutes ``A path`` if no fair run that begins so satisfies the path formula, and witnesses ``E path`` if all
# of them do. Everything else is open: one run can neither prove ``A`` nor refute ``E``. What follows the run is
# explored from its last state; the run itself is taken into account by formula progression.


LIMIT: Final = 100_000
"""Maximum number of explored states of a part of the system; beyond it the verdict is unknown."""

Verdict = Literal["holds", "fails", "undecided", "unknown"]
"""The run is a witness, a counterexample, or neither; or the limit was exceeded."""


@dataclass(frozen=True)
class RunVerdict:
    verdict: Verdict
    reason: str = ""


class RunVerdicts:
    """Verdicts of runs of one system. Only the components that a formula depends on are explored, each once."""

    def __init__(self, system: System, limit: int = LIMIT) -> None:
        self._system = system
        self._slices = IndependentComponents(system)
        self._limit = limit
        self._engines: dict[frozenset[str], ExplicitEngine] = {}

    def verdict(self, formula: Formula, assuming: frozenset[str], run: Run) -> RunVerdict:
        """Return the verdict of the run on a formula about all initial states."""
        try:
            truth = self._truth(formula, assuming, run)
        except (ResourceExhausted, NotProgressible) as problem:
            return RunVerdict("unknown", str(problem))
        if truth is None or (truth and not self._has_one_initial_state):
            return RunVerdict("undecided")
        reason = "a question of the initial state" if is_about_first_state(formula) else ""
        return RunVerdict("holds" if truth else "fails", reason)

    @property
    def _has_one_initial_state(self) -> bool:
        return self._system.start == TRUE and prod(len(set(one.initial)) for one in self._system.variables) == 1

    def _truth(self, formula: Formula, assuming: frozenset[str], run: Run) -> bool | None:
        """Return the value in the first state, or None if the run does not decide it."""
        match formula:
            case f.Atom():
                return self._holds(formula, assuming, run.start)
            case f.Not(operand):
                return kleene.negation(self._truth(operand, assuming, run))
            case f.And(operands):
                return kleene.conjunction(self._truth(operand, assuming, run) for operand in operands)
            case f.OnPaths("A", path, along):
                return False if self._refutes(path, along, assuming, run) else None
            case f.OnPaths(_, path, along):
                return True if self._refutes(f.Not(path), along, assuming, run) else None
            case f.Or() | f.Implies() | f.Iff():
                return self._truth(formula.definition, assuming, run)
            case f.StateOperator():  # knowledge, commitment and strategies in the first state, which no run changes
                return self._holds(formula, assuming, run.start)
            case f.Derived() if f.is_state_formula(formula):
                return self._truth(f.core(formula), assuming, run)
            case f.PathOperator() | f.Derived():
                return None
            case _:
                assert_never(formula)

    def _refutes(self, path: Formula, along: f.Taken | None, assuming: frozenset[str], run: Run) -> bool:
        """Tell whether the run has fair continuations, none of which satisfies the path formula."""
        names = [None if move.step is None else self._system.steps[move.step].name for move in run.moves]
        if along is not None and any(name is not None and name not in along.steps for name in names):
            return False
        last = run.states[-1]
        if not self._holds(some_fair_run(along), assuming, last):
            return False
        states = run.states
        rest = progression(
            _without_universal(path) if along is None else path,
            names,
            lambda part, at: self._holds(part, assuming, states[at]),
        )
        if rest in (f.VALID, f.UNSATISFIABLE):
            return rest == f.UNSATISFIABLE
        return not self._holds(f.OnPaths("E", f.Finally(rest, f.Bound(0)), along), assuming, last)

    def _holds(self, formula: Formula, assuming: frozenset[str], state: State) -> bool:
        variables = self._slices.components_of(formula)
        engine = self._engines.get(variables)
        if engine is None:
            engine = self._engines[variables] = ExplicitEngine(self._slices.slice(variables), self._limit)
        here = engine.singleton({variable.name: state[variable.name] for variable in engine.system.variables})
        return not engine.is_empty(engine.intersection(here, engine.satisfying(formula, assuming)))


def is_about_first_state(formula: Formula) -> bool:
    """Tell whether the formula has no path quantifier outside of knowledge, commitments and strategies."""
    match formula:
        case f.OnPaths():
            return False
        case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
            return all(map(is_about_first_state, f.children(formula)))
        case f.Atom() | f.Derived() | f.PathOperator() | f.StateOperator():
            return True
        case _:
            assert_never(formula)


def _without_universal(path: Formula, *, positive: bool = True) -> Formula:
    """Return the path formula without ``A`` at positive positions and ``E`` at negative ones, which weakens it.

    ``A (p -> A F q)`` is refuted by a run on which q does not follow p, and not by one that could only have gone so.
    """
    match path:
        case f.Not(operand):
            return negation(_without_universal(operand, positive=not positive))
        case f.And(operands):
            return conjunction(_without_universal(operand, positive=positive) for operand in operands)
        case f.Or(operands):
            return disjunction(_without_universal(operand, positive=positive) for operand in operands)
        case f.Implies(left, right):
            return _without_universal(f.Or((f.Not(left), right)), positive=positive)
        case f.OnPaths(quantifier, inner, along):
            if along is None and (quantifier == "A") == positive and not f.mentions_past(inner):
                return _without_universal(inner, positive=positive)
            return path
        case f.Next() | f.Until() | f.Release():
            return f.with_children(path, tuple(_without_universal(one, positive=positive) for one in f.children(path)))
        case f.Derived():
            if isinstance(f.core(path), f.CtlOperator) and all(f.polarities(path)):
                return path.with_parts(tuple(_without_universal(one, positive=positive) for one in path.parts))
            return path
        case f.Atom() | f.PathOperator() | f.StateOperator():
            return path
        case _:
            assert_never(path)


def carried_over(run: Run, system: System, onto: System) -> Run | None:
    """Return the run in another system of the same protocol with more variables, such as views.

    None if that system does not have these steps.
    """
    interpreter = Interpreter(onto)
    common = [name for name in onto.variable if name in system.variable]
    positions = {step.name: index for index, step in enumerate(onto.steps)}
    start = {variable.name: run.start.get(variable.name, variable.initial[0]) for variable in onto.variables}
    moves: list[Move] = []
    state = start
    for move in run.moves:
        taken = _step_over(interpreter, positions, state, system, move, common)
        if taken is None:
            return None
        moves.append(taken)
        state = taken.state
    return Run(start, tuple(moves))


def _step_over(
    interpreter: Interpreter, positions: dict[str, int], state: State, system: System, move: Move, common: list[str]
) -> Move | None:
    if move.step is None:
        return Move(None, state)
    position = positions.get(system.steps[move.step].name)
    if position is None:
        return None
    ways = interpreter.after(state, position)
    return next((Move(position, way) for way in ways if all(way[name] == move.state[name] for name in common)), None)
