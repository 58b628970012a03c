"""What a group can enforce: engines against strategies tried one by one, and laws that hold in every system."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.engines.every_engine import MakeEngine, members, on_every_engine
from tests.naive import Naive
from tests.naive_games import TooManyStrategies
from tests.strategies import atoms, roles, systems

from cplc.engines.explicit import ExplicitEngine
from cplc.engines.interface import Engine
from cplc.system import expr as e
from cplc.system.formula import Atom, Enforces, Finally, Formula, Globally, Next, Not, OnPaths, Until
from cplc.system.model import System
from cplc.system.printer import formula_text

TRUE, FALSE = Atom(e.TRUE, "true"), Atom(e.FALSE, "false")


def groups(system: System) -> SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from([agent.name for agent in system.agents]), min_size=1, unique=True).map(tuple)


def goals(system: System) -> SearchStrategy[Next | Finally | Globally | Until]:
    """Goals over conditions, most of them to be reached."""
    p = atoms(system)
    until = st.builds(Until, p, p)
    return st.one_of(until, until, st.builds(Finally, p), st.builds(Finally, p), st.builds(Globally, p), st.builds(Next, p))


def games(system: System, uniform: SearchStrategy[bool]) -> SearchStrategy[Enforces]:
    return st.builds(Enforces, groups(system), goals(system), uniform)


def _found(engine: Engine[Any], formula: Formula, assuming: frozenset[str]) -> frozenset[tuple[object, ...]]:
    names = [variable.name for variable in engine.system.variables]
    satisfying = engine.satisfying(formula, assuming)
    return frozenset(tuple(state[name] for name in names) for state in members(engine, satisfying))


@on_every_engine
@pytest.mark.parametrize("uniform", [False, True], ids=["full", "uniform"])
@settings(max_examples=25)
@given(data=st.data())
def test_against_the_definition(make: MakeEngine, uniform: bool, data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(games(system, st.just(uniform)))
    assuming = data.draw(roles(system))
    try:
        expected = Naive(system).satisfying(formula, assuming)
    except TooManyStrategies:
        assume(False)
    assert _found(make(system), formula, assuming) == expected, formula_text(formula)
