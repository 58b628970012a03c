"""Reference semantics of path formulas and strategies on the graph of the reference interpreter.

The tableau of `tests/support/oracles/path_tableau.py` decides every path formula. That module, and the enumeration of
uniform strategies, is shared with the oracle for systems. Other games are solved here, from the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import eq
from typing import cast

from tests.reference.lifecycle import Change
from tests.reference.states import Graph, Move, State
from tests.support.oracles import path_tableau as tableau
from tests.support.oracles.games import Game
from tests.support.oracles.path_tableau import Path, Runs

from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Term

States = frozenset[int]
Decided = Callable[[Term], States]
"""The states that satisfy a state formula."""

_OF_RUNS = {"X", "F", "G", "U", "W", "R", "M", "Y", "O", "H", "S", "therefore"}
_BOOLEAN = {"!", "&", "|", "->", "<->"}


def is_about_states(term: Term) -> bool:
    """Return whether it is a state formula."""
    match term:
        case t.Does():
            return False
        case t.Apply(operator, operands):
            return operator not in _OF_RUNS and all(map(is_about_states, operands))
        case _:
            return True


def is_done(model: CheckedModel, action: Term, move: Move | None, changes: Callable[[], Collection[Change]]) -> bool:
    """Return whether a step is such an action; None is the idle step."""

    def done(operand: Term) -> bool:
        return is_done(model, operand, move, changes)

    match action:
        case t.Const(value):
            return value is True
        case t.Apply("!", (operand,)):
            return not done(operand)
        case t.Apply("&", operands):
            return all(map(done, operands))
        case t.Apply("|", operands):
            return any(map(done, operands))
        case t.Apply("->", (left, right)):
            return not done(left) or done(right)
        case t.Apply("<->", (left, right)):
            return done(left) == done(right)
        case t.Does("idle"):
            return move is None
        case t.Does():
            return move is not None and _is_taken(model, action, move, changes)
        case _:
            raise AssertionError(f"no action: {action}")


def _is_taken(model: CheckedModel, action: t.Does, move: Move, changes: Callable[[], Collection[Change]]) -> bool:
    takes_effect = move.kind in ("receive", "exchange") and not move.is_further
    is_sent = move.kind in ("send", "exchange")
    match action:
        case t.Does("take", message):
            return takes_effect and move.event == message
        case t.Does("send", message):
            return is_sent and move.event == message
        case t.Does("act", role):
            if is_sent:
                return model.message[move.event].sender == role
            if move.kind != "receive":
                return False
            return (move.receiver or model.message[move.event].receivers[0]) == role
        case t.Does("tick"):
            return move.kind == "tick"
        case t.Does(verb, subject, other, by_message):
            return any(
                (change.verb, change.subject, change.by_message) == (verb, subject, by_message)
                and (other is None or change.target == other)
                for change in changes()
            )
        case _:
            raise AssertionError(f"no action: {action}")


def path_of(term: Term) -> Path:
    """Return a path formula over what is seen: what states decide, and actions."""
    if is_about_states(term) or isinstance(term, t.Does):
        return tableau.Seen(term)
    match term:
        case t.Apply("!", (operand,)):
            return tableau.no(path_of(operand))
        case t.Apply("&", operands):
            return tableau.every(map(path_of, operands))
        case t.Apply("|", operands):
            return tableau.some(map(path_of, operands))
        case t.Apply("->", (left, right)):
            return tableau.implies(path_of(left), path_of(right))
        case t.Apply("<->", (left, right)):
            return tableau.iff(path_of(left), path_of(right))
        case t.Apply("therefore", (left, right)):
            return tableau.Both(path_of(left), tableau.Next(tableau.implies(path_of(left), path_of(right))))
        case t.Apply("X", (operand,)):
            return tableau.Next(path_of(operand))
        case t.Apply("F", (operand,)):
            return _within(term, tableau.ALWAYS_SO, path_of(operand))
        case t.Apply("G", (operand,)):
            return tableau.no(_within(term, tableau.ALWAYS_SO, tableau.no(path_of(operand))))
        case t.Apply("U", (left, right)):
            return _within(term, path_of(left), path_of(right))
        case t.Apply("W", (left, right)):
            return _weak(term, path_of(left), path_of(right))
        case t.Apply("R", (left, right)):
            return tableau.no(_within(term, tableau.no(path_of(left)), tableau.no(path_of(right))))
        case t.Apply("M", (left, right)):
            return tableau.no(_weak(term, tableau.no(path_of(left)), tableau.no(path_of(right))))
        case t.Apply("Y", (operand,)):
            return tableau.Yesterday(path_of(operand))
        case t.Apply("O", (operand,)):
            return tableau.once(path_of(operand))
        case t.Apply("H", (operand,)):
            return tableau.historically(path_of(operand))
        case t.Apply("S", (left, right)):
            return tableau.Since(path_of(left), path_of(right))
        case _:
            raise AssertionError(f"not a path formula: {term}")


def _within(term: t.Apply, left: Path, right: Path) -> Path:
    """Return until within the bound of the operator, one step or tick after the other."""
    if term.bound is None:
        return tableau.Until(left, right)
    tick: Path = tableau.Seen(t.Does("tick", "")) if term.in_ticks else tableau.ALWAYS_SO
    reached = tableau.no(tableau.ALWAYS_SO)
    for passed in range(term.bound, -1, -1):
        ways = [tableau.every((left, tick, tableau.Next(reached)))] if passed < term.bound else []
        reached = tableau.some((right, *ways) if passed >= term.low else ways)
        if term.in_ticks:
            reached = tableau.Until(tableau.Both(left, tableau.no(tick)), reached)
    return reached


def _weak(term: t.Apply, left: Path, right: Path) -> Path:
    lasting = tableau.no(_within(replace(term, low=0), tableau.ALWAYS_SO, tableau.no(left)))
    return tableau.some((lasting, _within(term, left, right)))


@dataclass(frozen=True)
class Justice:
    """A justice constraint: infinitely often it does not wait, or one of its moves is taken."""

    serves: Callable[[Move], bool]
    due: States | None = None
    """The states in which the constraint waits; those in which such a move is enabled if omitted."""
    blocked: Move | None = None
    """The move that it waits for where none is enabled."""

    def waits_in(self, state: int, steps: Collection[tuple[Move, int]]) -> bool:
        if self.due is not None:
            return state in self.due
        return any(self.serves(move) for move, _ in steps)


@dataclass(frozen=True)
class RunGraph:
    """The graph that runs go along, what makes them fair, and the state formulas that have been decided."""

    model: CheckedModel
    graph: Graph
    justice: list[Justice]
    often: list[States]
    decided: Decided
    changes: Callable[[State, Move], frozenset[Change]]
    """The lifecycle changes of a move."""
    changes_by_move: dict[tuple[int, Move], frozenset[Change]] = field(default_factory=dict)

    # --- runs

    def some_run(self, path: Term, along: Term | None, *, may_idle: bool = True) -> States:
        """Return where some fair run of the allowed steps satisfies the path formula."""
        return self._runs(along, may_idle=may_idle).satisfying(path_of(path), self.sees)

    def every_run(self, path: Term, along: Term | None, *, may_idle: bool = True) -> States:
        doubtful = self._runs(along, may_idle=may_idle).satisfying(tableau.no(path_of(path)), self.sees)
        return frozenset(range(len(self.graph.states))) - doubtful

    @property
    def runs(self) -> Runs[int, Move | None]:
        """The fair runs."""
        return self._runs(None, may_idle=True)

    def sees(self, what: Hashable, state: int, move: Move | None) -> bool:
        if isinstance(what, t.Does):
            return self._is_done(what, state, move)
        return state in self.decided(cast(Term, what))

    def _is_done(self, action: Term, state: int, move: Move | None) -> bool:
        return is_done(self.model, action, move, lambda: self._changed(state, move) if move is not None else ())

    def _changed(self, state: int, move: Move) -> frozenset[Change]:
        if (state, move) not in self.changes_by_move:
            self.changes_by_move[state, move] = self.changes(self.graph.states[state], move)
        return self.changes_by_move[state, move]

    def _runs(self, along: Term | None, *, may_idle: bool) -> Runs[int, Move | None]:
        remaining = [
            [(move, target) for move, target in steps if along is None or self._is_done(along, n, move)]
            for n, steps in enumerate(self.graph.steps)
        ]
        every_move = {move for steps in remaining for move, _ in steps}

        def constraint(just: Justice) -> tuple[States, frozenset[Move | None]]:
            waits = (n for n, steps in enumerate(self.graph.steps) if just.waits_in(n, steps))
            allowed = frozenset(n for n in waits if along is None or self._may_serve(just, n, remaining[n], along))
            return allowed, frozenset(filter(just.serves, every_move))

        moves: dict[int, list[tuple[Move | None, int]]] = {
            n: [*([(None, n)] if may_idle else []), *steps] for n, steps in enumerate(remaining)
        }
        return Runs(moves, list(map(constraint, self.justice)), self.often)

    def _may_serve(self, just: Justice, state: int, allowed: Collection[tuple[Move, int]], along: Term) -> bool:
        """Return whether an enabled move that serves is allowed; where all are blocked, whether it would be."""
        if any(just.serves(move) for move, _ in self.graph.steps[state]):
            return any(just.serves(move) for move, _ in allowed)
        return just.blocked is not None and is_done(self.model, along, just.blocked, tuple)

    # --- strategies

    def enforced(self, group: tuple[str, ...], goal: Term) -> States:
        """Return the states where the group has a winning strategy for the goal by its sends."""
        all_states = frozenset(range(len(self.graph.states)))
        match goal:
            case t.Apply("X", (operand,)):
                goal_states = self.decided(operand)
                return frozenset(n for n in goal_states if self._others(group, n) <= goal_states)
            case t.Apply("G", (operand,)):
                return self._others_stay_inside(group, self.decided(operand), frozenset())
            case t.Apply("F", (operand,)):
                return self._progress_states(group, all_states, self.decided(operand))
            case t.Apply("U", (left, right)):
                return self._progress_states(group, self.decided(left), self.decided(right))
            case _:
                raise AssertionError(f"no goal: {goal}")

    def enforced_uniformly(self, group: tuple[str, ...], goal: Term, look: Callable[[str, int], Hashable]) -> States:
        """Return where some strategy of the group brings it about by which each decides by what it looks at alone.

        All strategies are tried. One wins if it succeeds from all states that look the same to all of the group.
        """
        moves = list(dict.fromkeys(move for steps in self.graph.steps for move, _ in steps))
        number = {move: n for n, move in enumerate(moves)}
        game = Game(
            {n: [(number[move], target) for move, target in steps] for n, steps in enumerate(self.graph.steps)},
            {role: frozenset(number[move] for move in moves if self._is_group_move((role,), move)) for role in group},
            tuple(frozenset(number[move] for move in moves if just.serves(move)) for just in self.justice),
        )

        def sees(what: Hashable, state: int, move: int | None) -> bool:
            return self.sees(what, state, None if move is None else moves[move])

        return game.won_uniformly(look, path_of(goal), sees)

    def _is_group_move(self, group: tuple[str, ...], move: Move) -> bool:
        return move.kind in ("send", "exchange") and self.model.message[move.event].sender in group

    def _others(self, group: tuple[str, ...], state: int) -> States:
        return frozenset(target for move, target in self.graph.steps[state] if not self._is_group_move(group, move))

    def _others_stay_inside(self, group: tuple[str, ...], keep: States, ways_out: States) -> States:
        """Return the states where other agents leave a set only by the given exits."""
        while True:
            fewer = frozenset(n for n in keep if self._others(group, n) <= keep | ways_out)
            if fewer == keep:
                return keep
            keep = fewer

    def _progress_states(self, group: tuple[str, ...], through: States, goal: States) -> States:
        """Return where one move that must come, ours or one that justice demands, leads nearer whenever it comes."""
        ours = {move for steps in self.graph.steps for move, _ in steps if self._is_group_move(group, move)}
        pushes: list[Callable[[Move], bool]] = [
            *(just.serves for just in self.justice),
            *(partial(eq, move) for move in ours),
        ]
        near = goal
        while True:
            nearer = near
            for push in pushes:
                works = frozenset(n for n in through if self._works(group, push, n, near))
                nearer |= self._others_stay_inside(group, works, near)
            if nearer == near:
                return near
            near = nearer

    def _works(self, group: tuple[str, ...], push: Callable[[Move], bool], state: int, near: States) -> bool:
        """Return whether it makes progress: for all targets if others choose, for some target if the group chooses."""
        steps = [(move, target) for move, target in self.graph.steps[state] if push(move)]
        theirs = {target for move, target in steps if not self._is_group_move(group, move)}
        ours = {move for move, _ in steps if self._is_group_move(group, move)}
        good = {move for move in ours if all(target in near for other, target in steps if other == move)}
        return bool(theirs or good) and theirs <= near
