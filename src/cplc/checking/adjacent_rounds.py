"""Evidence for `Adjacent` from single rounds: one round that leads here, or none among few that leads there."""

from __future__ import annotations

from itertools import islice
from math import prod

from cplc.checking.joint_actions import actions_between
from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic.formulas import Adjacent
from cplc.system.interpreter import Interpreter, holds
from cplc.system.model import State
from cplc.system.trace import Run

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
