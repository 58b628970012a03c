"""Rounds between states of a synchronous system: reconstruction of joint actions, and evidence for `Adjacent`.

Each rule made a change whose values are those after the round. Given the state before, this is a condition on the
choices alone. A satisfying assignment of the conjunction is a joint action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from math import prod

from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic.expressions import TRUE, And, Expr, conj, disj, is_false, is_true, negate, partially_evaluate
from cplc.logic.formulas import Adjacent
from cplc.system.interpreter import Interpreter, holds, value
from cplc.system.memoize import memoize_per_system
from cplc.system.model import State, System
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.synchronous import Change
from cplc.system.trace import Evidence, Move, Run


def actions_between(
    system: System, before: State, after: State, only: tuple[str, str] | None = None
) -> tuple[str, ...] | None:
    """Return a joint action, in the order of the players; None if no round leads from one state to the other.

    With ``only``, a choice and an action, the player of that choice takes that action.
    """
    return _joint_actions(system).between(before, after, only)


class _JointActions:
    """The joint actions of one system, cached, since the runs for its formulas share rounds."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._names = tuple(variable.name for variable in system.variables)
        rules = [rule for player in system.players for rule in player.rules]
        self._rules = [(rule, {name for change in rule for name, _ in change.updates}) for rule in rules]
        self._kept = set(self._names).difference(*(written for _, written in self._rules))
        self._found: dict[object, tuple[str, ...] | None] = {}

    def between(self, before: State, after: State, only: tuple[str, str] | None) -> tuple[str, ...] | None:
        key = tuple(before[name] for name in self._names), tuple(after[name] for name in self._names), only
        if key not in self._found:
            self._found[key] = self._search(before, after, only)
        return self._found[key]

    def _search(self, before: State, after: State, only: tuple[str, str] | None) -> tuple[str, ...] | None:
        if any(before[name] != after[name] for name in self._kept):
            return None
        explained = []
        for rule, written in self._rules:
            explained.append(_explained(rule, written, before, after))
            if is_false(explained[-1]):
                return None
        domains = {
            player.choice: [
                action.name
                for action in player.actions
                if (only is None or only[0] != player.choice or only[1] == action.name)
                and holds(action.allowed, before)
            ]
            for player in self._system.players
        }
        choices = next(satisfying_assignments(domains, And(tuple(explained))), None)
        return None if choices is None else tuple(str(choices[player.choice]) for player in self._system.players)


@memoize_per_system
def _joint_actions(system: System) -> _JointActions:
    return _JointActions(system)


def with_actions(system: System, evidence: Evidence) -> Evidence:
    """Add the joint action to each round of the evidence, if there are rounds; searches return states alone."""
    if not system.players:
        return evidence
    only = evidence.formula.choice if isinstance(evidence.formula, Adjacent) else None
    return replace(
        evidence,
        run=_run_with_actions(system, evidence.run, only),
        parts=tuple((position, with_actions(system, part)) for position, part in evidence.parts),
        elsewhere=evidence.elsewhere and _run_with_actions(system, evidence.elsewhere, None),
        alternative=evidence.alternative and with_actions(system, evidence.alternative),
        lasting=evidence.lasting and with_actions(system, evidence.lasting),
    )


def _run_with_actions(system: System, run: Run, only: tuple[str, str] | None) -> Run:
    moves: list[Move] = []
    for before, move in zip(run.states, run.moves, strict=False):
        moves.append(replace(move, actions=actions_between(system, before, move.state, only) or ()))
    return replace(run, moves=tuple(moves))


def _explained(rule: Sequence[Change], written: set[str], before: State, after: State) -> Expr:
    """Return the condition on the choices under which the rule writes the values after the round."""
    made = []
    for change in rule:
        if _writes(change, written, before, after):
            made.append(partially_evaluate(change.guard, before))
            if is_true(made[-1]):
                return TRUE
    if all(before[name] == after[name] for name in written):
        made.append(conj(negate(partially_evaluate(change.guard, before)) for change in rule))
    return disj(made)


def _writes(change: Change, written: set[str], before: State, after: State) -> bool:
    """Tell whether this change gives the variables of the rule their values after the round."""
    updates = {name: value(update, before) for name, update in change.updates}
    return all(updates.get(name, before[name]) == after[name] for name in written)


MAX_SUCCESSORS = 1_000
"""Maximum number of joint actions, and of successors, that are enumerated."""


def agree(formula: Adjacent, before: State, after: State) -> bool:
    """Tell whether the variables that the formula relates across the round agree."""
    return all(before[now] == after[then] for now, then in formula.same)


def led_here(interpreter: Interpreter, formula: Adjacent, before: State, here: State) -> bool:
    """Tell whether a round that matches the formula leads from the one state to the other."""
    actions = actions_between(interpreter.system, before, here, formula.choice)
    return actions is not None and agree(formula, before, here) and interpreter.leads_to(before, actions, here)


def none_leads(interpreter: Interpreter, formula: Adjacent, state: State) -> bool:
    """Tell whether enumeration shows that no round that matches the formula leads from here to its operand.

    It does not if there are too many rounds, or if the variables alone do not decide the operand.
    """
    if formula.back or prod(_allowed(interpreter, state)) > MAX_SUCCESSORS:
        return False
    doers = [player.choice for player in interpreter.system.players]
    tried = 0
    for actions in interpreter.rounds(state):
        if formula.choice is not None and actions[doers.index(formula.choice[0])] != formula.choice[1]:
            continue
        for after in islice(interpreter.after_round(state, actions), MAX_SUCCESSORS):
            tried += 1
            if tried >= MAX_SUCCESSORS or (agree(formula, state, after) and _may_hold(interpreter, formula, after)):
                return False
    return True


def _allowed(interpreter: Interpreter, state: State) -> list[int]:
    players = interpreter.system.players
    return [sum(holds(action.allowed, state) for action in player.actions) for player in players]


def _may_hold(interpreter: Interpreter, formula: Adjacent, state: State) -> bool:
    return ThreeValuedRun(interpreter.system, Run(state, ()), ()).truth(formula.operand) is not False
