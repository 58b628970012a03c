"""Games of a group: engines against the definition, laws of strategic logic, and strategies played."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.support.every_engine import MakeEngine, members, on_every_engine
from tests.support.generators.imperfect_information import guessing_games, guessing_goals
from tests.support.generators.systems import atoms, roles, systems
from tests.support.oracles.games import TooManyStrategies
from tests.support.oracles.model_checker import Naive
from tests.support.oracles.strategy_validation import strategy_mistakes
from tests.support.random_examples import examples

from cplc.checking.counterexamples import explain
from cplc.checking.strategy_play import strategy_problems
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.interface import Engine
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Atom, Enforces, Finally, Formula, Globally, Next, Not, OnPaths, Until
from cplc.system.model import Agent, Justice, Step, System, Variable
from cplc.system.printer import formula_text

TRUE, FALSE = Atom(e.TRUE, "true"), Atom(e.FALSE, "false")


def groups(system: System) -> SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from([agent.name for agent in system.agents]), min_size=1, unique=True).map(tuple)


def goals(system: System) -> SearchStrategy[Next | Finally | Globally | Until]:
    """Goals over conditions, most of them to be reached."""
    p = atoms(system)
    until = st.builds(Until, p, p)
    return st.one_of(
        until, until, st.builds(Finally, p), st.builds(Finally, p), st.builds(Globally, p), st.builds(Next, p)
    )


def games(system: System, uniform: SearchStrategy[bool]) -> SearchStrategy[Enforces]:
    return st.builds(Enforces, groups(system), goals(system), uniform)


def _found(engine: Engine[Any], formula: Formula, assuming: frozenset[str]) -> frozenset[tuple[object, ...]]:
    names = [variable.name for variable in engine.system.variables]
    satisfying = engine.satisfying(formula, assuming)
    return frozenset(tuple(state[name] for name in names) for state in members(engine, satisfying))


@on_every_engine
@pytest.mark.parametrize("uniform", [False, True], ids=["full", "uniform"])
@examples(25)
@given(data=st.data())
def test_winning_region_matches_definition(make: MakeEngine, uniform: bool, data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(games(system, st.just(uniform)))
    assuming = data.draw(roles(system))
    try:
        expected = Naive(system).satisfying(formula, assuming)
    except TooManyStrategies:
        assume(False)
    assert _found(make(system), formula, assuming) == expected, formula_text(formula)


@st.composite
def blind_walks(draw: DrawFn) -> System:
    """A walker sees its place alone, and where its three moves lead depends on what somebody else has set."""
    places, settings_ = (0, 1, 2, 3), (0, 1)
    where, hidden = e.Read("place"), e.Read("hidden")

    def led() -> Expr:
        cases = [(p, h, draw(st.sampled_from(places))) for p in places for h in settings_]
        expr: Expr = e.Const(0)
        for p, h, to in cases:
            here = e.conj((e.equal(where, e.Const(p)), e.equal(hidden, e.Const(h))))
            expr = e.ite(here, e.Const(to), expr)
        return expr

    def move(number: int) -> Step:
        return Step(f"move {number}", "send", "Walker", "", (), e.TRUE, (("place", led()),))

    changeable = e.disj(e.equal(where, e.Const(p)) for p in draw(st.sets(st.sampled_from(places))))
    change = Step("change", "send", "Other", "", (), changeable, (("hidden", e.arith("-", e.Const(1), hidden)),))
    return System(
        "Blind",
        (),
        (
            Variable("place", places, (0,), "own", "Walker", "place"),
            Variable("hidden", settings_, draw(st.sampled_from(((0,), settings_))), "own", "Other", "hidden"),
        ),
        (Agent("Walker", "Walker", ("place",)), Agent("Other", "Other", ("hidden",))),
        (),
        (),
        (),
        (*map(move, range(3)), change),
        (Justice("change", (3,), draw(st.sampled_from((None, "Other")))),),
        (),
    )


@pytest.mark.parametrize("make", [ExplicitEngine, SymbolicEngine])
@examples(60)
@given(data=st.data())
def test_uniform_strategies_that_need_search(make: MakeEngine, data: st.DataObject) -> None:
    """A choice that is best in one state is often wrong in those that look the same, where another choice wins."""
    system = data.draw(blind_walks())
    at_goal = Atom(e.Equal(e.Read("place"), e.Const(3)), "place = 3")
    formula = Enforces(("Walker",), Finally(at_goal), uniform=True)
    engine = make(system)
    assert _found(engine, formula, frozenset()) == Naive(system).satisfying(formula)
    for state in members(engine, engine.satisfying(formula)):
        evidence = explain(engine, formula, state, True)
        assert not list(strategy_problems(system, evidence, frozenset()))
        assert not list(strategy_mistakes(Naive(system), evidence))


@examples(40)
@given(data=st.data())
def test_laws_of_strategic_logic(data: st.DataObject) -> None:
    """Laws of games: more members, more knowledge and weaker goals do no harm; dualities."""
    system = data.draw(systems(fairness=False))
    group, goal, assuming = data.draw(groups(system)), data.draw(goals(system)), data.draw(roles(system))
    everybody = tuple(agent.name for agent in system.agents)
    engine = ExplicitEngine(system)

    def found(formula: Formula) -> frozenset[tuple[object, ...]]:
        return _found(engine, formula, assuming)

    won = found(Enforces(group, goal))
    assert won <= found(Enforces(everybody, goal))
    assert found(Enforces(group, goal, uniform=True)) <= won
    assert found(Enforces(group, Finally(TRUE))) == found(Enforces(group, Globally(TRUE))) == found(TRUE)
    assert not found(Enforces(group, Finally(FALSE))) | found(Enforces(group, Next(FALSE)))
    assert won == found(Enforces(group[::-1], goal))
    match goal:
        case Finally(operand):
            assert found(operand) | found(OnPaths("A", goal)) <= won <= found(OnPaths("E", goal))
            assert won == found(Enforces(group, Until(TRUE, operand)))
            # Others cannot keep away what the group can bring about, unless it counts on them; both can be helpless.
            opponents = tuple(name for name in everybody if name not in group)
            counted_on = {system.steps[step].actor for one in system.constraints(assuming) for step in one.steps}
            if counted_on.isdisjoint(opponents):
                assert not won & found(Enforces(opponents, Globally(Not(operand))))
        case Until(left, right):
            assert found(right) <= won <= found(left) | found(right)
            assert won <= found(Enforces(group, Finally(right)))
        case Globally(operand):
            assert found(OnPaths("A", goal)) <= won <= found(operand)
        case Next(operand):
            assert found(Enforces(group, Globally(operand))) <= won <= found(operand)


@examples(40)
@given(data=st.data())
def test_strategies_win_when_played(data: st.DataObject) -> None:
    """In every state in which the group wins there is a strategy to show, and it wins; from all initial ones if any."""
    if data.draw(st.booleans()):
        system, formula, assuming = data.draw(guessing_games()), data.draw(guessing_goals()), frozenset[str]()
    else:
        system = data.draw(systems(fairness=False))
        formula = data.draw(games(system, st.booleans()))
        assuming = data.draw(roles(system))
    engine = data.draw(st.sampled_from((ExplicitEngine, SymbolicEngine)))(system)
    naive = Naive(system)
    for state in list(members(engine, engine.satisfying(formula, assuming)))[:8]:
        evidence = explain(engine, formula, state, True, assuming)
        assert not evidence.exhaustive
        assert not list(strategy_problems(system, evidence, assuming))
        with suppress(TooManyStrategies):
            assert not list(strategy_mistakes(naive, evidence, assuming))
