"""MCMAS agrees with the engines on states and verdicts of ISPL models.

It differs where it is known to be wrong. Of ``F`` and ``U`` of a group, a goal that is true nowhere is never reached,
says MCMAS, although it counts what leads nowhere as won if the goal is true somewhere. With uniform strategies it says
that a group wins nowhere, not even at the goal, where it wins at the goal alone. A group of several wins too often with
them, for it is enough that one member follows the strategy (`test_blind_coalition_cannot_guess_coin`).
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference_tools.mcmas import MCMAS, ask_partially
from tests.reference_tools.nusmv import NUSMV, ask
from tests.reference_tools.tool_answer import printed_count
from tests.support.generators.ispl_models import Features, model
from tests.support.random_examples import examples

from cplc.compilation import IsplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.interface import Engine, S
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.export import ExportedFormula, Origin, Request, export
from cplc.logic.formulas import Enforces, Finally, Formula, Until, subformulas
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source

_mcmas = pytest.mark.skipif(not MCMAS, reason="CPLC_MCMAS is not set")
_nusmv = pytest.mark.skipif(not NUSMV, reason="CPLC_NUSMV is not set")
_chance = st.integers(0, 2**32).map(Random)


def _reading(text: str, *, uniform: bool = False) -> IsplCompilation | None:
    """Return the compilation; None for a model with errors or certain warnings."""
    reading = IsplCompilation(Source("model.ispl", text), strategies="uniform" if uniform else "full")
    return reading if reading.ok else None


def _goal_is_nowhere(engine: Engine[S], formula: Formula) -> bool:
    """Tell whether the goal of some strategy formula holds in no state."""
    goals = [part.goal for part in subformulas(formula) if isinstance(part, Enforces)]
    targets = [
        goal.right if isinstance(goal, Until) else goal.operand for goal in goals if isinstance(goal, Until | Finally)
    ]
    return any(engine.is_empty(engine.satisfying(one)) for one in targets)


def _wins_at_the_goal_alone(engine: Engine[S], formula: Enforces) -> bool:
    if not isinstance(formula.goal, Until | Finally):
        return False
    goal = formula.goal.right if isinstance(formula.goal, Until) else formula.goal.operand
    won = engine.intersection(engine.enforcing(replace(formula, uniform=False)).winning_region, engine.reachable)
    return engine.is_empty(engine.difference(won, engine.satisfying(goal)))


@_mcmas
@examples(60)
@given(_chance)
def test_verdicts(chance: Random) -> None:
    text = model(chance, Features(crashing_fairness=False))
    reading = _reading(text)
    if reading is None:
        return
    try:
        states, theirs, _ = ask_partially(text, "-atlk", "1", seconds=20)
    except subprocess.TimeoutExpired:
        return
    system = reading.system
    engines: tuple[Engine[Any], ...] = (ExplicitEngine(system), SymbolicEngine(system))
    for engine in engines:
        assert system.conditions or printed_count(engine.count(engine.reachable)) == states, text
        for one, verdict in zip(reading.questions(), theirs, strict=False):
            formula = one.question.formula
            if not _goal_is_nowhere(engine, formula):
                assert engine.is_valid(formula) == verdict, (text, one.question.text)


@_mcmas
@examples(30)
@given(_chance, st.sampled_from(("X p0", "F p0", "G p0", "(p1 U p0)")))
def test_uniform_strategies(chance: Random, goal: str) -> None:
    features = Features(fairness=False, deadlocks=False)
    text = f"{model(chance, features).partition('Formulae')[0]}Formulae <{chance.choice('ghk')}> {goal}; end Formulae\n"
    reading = _reading(text, uniform=True)
    if reading is None:
        return
    try:
        _, theirs, _ = ask_partially(text, "-atlk", "2", seconds=20)
    except subprocess.TimeoutExpired:
        return
    (one,) = reading.questions()
    formula = one.question.formula
    assert isinstance(formula, Enforces)
    engines: tuple[Engine[Any], ...] = (ExplicitEngine(reading.system), SymbolicEngine(reading.system))
    for engine in engines:
        if theirs and not _wins_at_the_goal_alone(engine, formula):
            try:
                holds = engine.is_valid(formula)
            except ResourceExhausted:
                return
            assert holds == theirs[0] or (len(formula.group) > 1 and theirs[0]), text


COIN = """
Agent Environment
  Vars: coin : boolean; end Vars
  Actions = {none};
  Protocol: Other : {none}; end Protocol
  Evolution: coin = true if coin = true; end Evolution
end Agent
Agent P
  Vars: done : boolean; end Vars
  Actions = {a, b};
  Protocol: Other : {a, b}; end Protocol
  Evolution: done = true if Action = a; end Evolution
end Agent
Agent Q
  Vars: said : {nothing, heads, tails}; end Vars
  Actions = {h, t};
  Protocol: Other : {h, t}; end Protocol
  Evolution: said = heads if Action = h and said = nothing; said = tails if Action = t and said = nothing; end Evolution
end Agent
Evaluation
  right if (Q.said = heads and Environment.coin = true) or (Q.said = tails and Environment.coin = false);
end Evaluation
InitStates Q.said = nothing and P.done = false; end InitStates
Groups both = {P, Q}; one = {Q}; end Groups
Formulae <one> F right; <both> F right; <one> X right; <both> X right; end Formulae
"""


@_mcmas
def test_blind_coalition_cannot_guess_coin() -> None:
    _, theirs, _ = ask_partially(COIN, "-atlk", "2")
    assert theirs == (False, True, False, True), "MCMAS is repaired: compare groups of several again"
    reading = _reading(COIN, uniform=True)
    assert reading is not None
    assert [result.answer for result in reading.verify(reading.questions())] == ["fails"] * 4


@_mcmas
@examples(20)
@given(_chance)
def test_reexported_model_equivalent(chance: Random) -> None:
    reading = _reading(model(chance, Features(crashing_fairness=False)))
    if reading is None:
        return
    request = _request(reading)
    exported = export("ispl", request)
    again = _reading(exported.text)
    assert again is not None, exported.text
    before, after = ExplicitEngine(reading.system), ExplicitEngine(again.system)
    assert before.count(before.reachable) == after.count(after.reachable)
    asked_of = {one.name: one.formula for one in request.formulas}
    try:
        _, theirs, _ = ask_partially(exported.text, "-atlk", "1", seconds=20)
    except subprocess.TimeoutExpired:
        theirs = ()
    for number, (name, one) in enumerate(zip(exported.written, again.questions(), strict=False)):
        holds = before.is_valid(asked_of[name])
        assert after.is_valid(one.question.formula) == holds, exported.text
        if number < len(theirs) and not _goal_is_nowhere(before, asked_of[name]):
            assert theirs[number] == holds, exported.text


@_nusmv
@examples(20)
@given(_chance)
def test_nusmv(chance: Random) -> None:
    reading = _reading(model(chance, Features(knowledge=False, games=False, deep_fairness=False)))
    if reading is None:
        return
    request = _request(reading)
    exported = export("smv", request)
    engine = ExplicitEngine(reading.system)
    states = engine.count(engine.reachable)
    try:
        answer = ask(exported.text, seconds=5)
    except subprocess.TimeoutExpired:
        return
    assert answer.states in (
        (printed_count(states), printed_count(states + 1)) if "halted" in exported.text else (printed_count(states),)
    ), exported.text
    asked_of = {one.name: one.formula for one in request.formulas}
    for name, verdict in zip(exported.written, answer.verdicts, strict=True):
        assert engine.is_valid(asked_of[name]) == (verdict != (name in exported.negated)), (name, exported.text)


def _request(reading: IsplCompilation) -> Request:
    questions = [one.question for one in reading.questions()]
    formulas = [ExportedFormula(question.name, question.formula, question.text) for question in questions]
    return Request(reading.system, formulas, Origin("model.ispl", "0"))
