"""MCMAS agrees on strategies of single roles, with full observation and with local states.

The game is written out state by state; insisting on a send, and justice, become conditions of fairness. Groups of
several are left out with uniform strategies, for there MCMAS is wrong: it takes a state and a choice of all members for
part of a strategy if one member does in it what it should, so two who see nothing guess a coin.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.reference_tools.games_as_ispl import game_as_ispl
from tests.reference_tools.mcmas import MCMAS, ask_partially
from tests.support.generators.imperfect_information import guessing_games, guessing_goals
from tests.support.generators.property_formulas import protocols
from tests.support.generators.systems import atoms, systems
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.interface import Engine
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.logic.formulas import Enforces, Finally, Globally, Next, Until
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source
from cplc.system.model import System

_mcmas = pytest.mark.skipif(not MCMAS, reason="CPLC_MCMAS is not set")
_STATES = 40


@st.composite
def _one_role(draw: st.DrawFn) -> tuple[System, Enforces]:
    """Draw a small system, guessing game or protocol, and a goal of one role."""
    kind = draw(st.sampled_from(("system", "guess", "protocol")))
    if kind == "guess":
        return draw(guessing_games()), replace(draw(guessing_goals()), group=("A",))
    if kind == "system":
        system = draw(systems(fairness=False, lifelike=True, states=24))
    else:
        compilation = CplCompilation(Source("generated.cpl", draw(protocols(formula_count=0)).text))
        assume(compilation.ok)
        system = replace(compilation.system, fairness=())
    p = atoms(system)
    reaching = st.builds(Until, p, p) | st.builds(Finally, p)
    goal = draw(reaching | reaching | st.builds(Globally, p) | st.builds(Next, p))
    return system, Enforces((draw(st.sampled_from([agent.name for agent in system.agents])),), goal)


@_mcmas
@examples(60)
@given(_one_role())
def test_one_role(drawn: tuple[System, Enforces]) -> None:
    system, game_formula = drawn
    try:
        ExplicitEngine(system, _STATES).satisfying(game_formula)
    except ResourceExhausted:
        assume(False)
    naive = Naive(system)
    engines: tuple[Engine[Any], ...] = (ExplicitEngine(system), SymbolicEngine(system))
    for uniform in (False, True):
        formula = replace(game_formula, uniform=uniform)
        text = game_as_ispl(naive, formula)
        try:
            states, theirs, _ = ask_partially(text, "-atlk", "2" if uniform else "1", seconds=20)
        except subprocess.TimeoutExpired:
            return
        assert states is not None, text
        for engine in engines:
            if theirs and not (uniform and _wins_at_the_goal_alone(engine, formula)):
                assert engine.is_valid(formula) == theirs[0], (uniform, text)


def _wins_at_the_goal_alone(engine: Engine[Any], formula: Enforces) -> bool:
    """Tell whether only goal states are winning, where MCMAS does not search uniform strategies."""
    if not isinstance(formula.goal, Until | Finally):
        return False
    goal = formula.goal.right if isinstance(formula.goal, Until) else formula.goal.operand
    won = engine.intersection(engine.enforcing(replace(formula, uniform=False)).winning_region, engine.reachable)
    return engine.is_empty(engine.difference(won, engine.satisfying(goal)))
