"""States without fair run: their number, a shortest run to one, and verdicts that have no run to be about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.properties.test_explicit_engine import steps_taken
from tests.support.generators.reducible_systems import beside
from tests.support.generators.synchronous_systems import synchronous_systems
from tests.support.generators.systems import atoms, conditions_over, formulas, roles, systems
from tests.support.oracles.model_checker import Frozen, Naive, States
from tests.support.oracles.synchronous_model_checker import NaiveRounds
from tests.support.random_examples import examples

from cplc.checking.engine_selector import EngineName
from cplc.checking.replay import run_problems
from cplc.checking.results import ExcludedStates, Question, Result
from cplc.checking.verify import Verifier
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import SOME_FAIR_RUN, Formula, OnPaths
from cplc.reductions import cone_of_influence
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System

ENGINES: tuple[EngineName, ...] = ("explicit", "symbolic", "onthefly", "reduced", "auto")


def asked(formula: Formula, assuming: frozenset[str] = frozenset()) -> Question:
    return Question("q", "property", formula, "q", assuming=assuming)


def excluded_by(result: Result) -> ExcludedStates | None:
    """Return the number of states without fair run along any steps, as the result reports it."""
    excluded = [remark.excluded for remark in result.remarks if remark.code == "unrealizable-fairness"]
    assert len(excluded) <= 1
    return excluded[0] if excluded else None


def distances(initial: States, after: Mapping[Frozen, States]) -> dict[Frozen, int]:
    distance = dict.fromkeys(initial, 0)
    layer = list(initial)
    while layer:
        layer = [
            new
            for state in layer
            for new in after[state]
            if new not in distance and not distance.update({new: distance[state] + 1})
        ]
    return distance


def frozen(system: System, state: State) -> Frozen:
    return tuple(state[variable.name] for variable in system.variables)


def judge(result: Result, system: System, initial: States, unfair: States, after: Mapping[Frozen, States]) -> None:
    """Compare a result with the states that begin no fair run by the definition."""
    excluded = excluded_by(result)
    if initial <= unfair:
        assert result.answer == "unknown"
        assert [remark.code for remark in result.remarks] == ["no-fair-run"]
        return
    assert (excluded is not None) == bool(unfair)
    if excluded is None:
        return
    assert (excluded.states, excluded.reachable) == (len(unfair), len(after))
    assert excluded.system is system
    run, interpreter = excluded.run, Interpreter(system)
    assert not list(run_problems(interpreter, run))
    assert interpreter.is_initial(run.start)
    assert frozen(system, run.states[-1]) in unfair
    distance = distances(initial, after)
    assert len(run.moves) == min(distance[state] for state in unfair)


def unfair_states(oracle: Naive, formula: OnPaths, assuming: frozenset[str]) -> States:
    fair = oracle.satisfying(formula, assuming) if formula.along is None else oracle.by_tableau(formula, assuming)
    return oracle.reachable - fair


def successors(oracle: Naive) -> dict[Frozen, States]:
    return {state: frozenset(target for _, target in edges) for state, edges in oracle.edges.items()}


@st.composite
def two_fair_parts(draw: DrawFn) -> System:
    """A system of two parts that have nothing to do with each other; both may have conditions of fairness."""
    return beside(draw(systems(states=24, fairness=True)), draw(systems(states=24)))


@examples(60)
@given(st.data())
@pytest.mark.parametrize("engine", ENGINES)
def test_states_without_fair_run_match_definition(engine: EngineName, data: st.DataObject) -> None:
    system = data.draw(systems(fairness=True) | systems(fairness=True, lifelike=True) | two_fair_parts())
    formula = f.OnPaths(data.draw(st.sampled_from("AE")), f.Finally(data.draw(atoms(system))))
    assuming = data.draw(roles(system))
    oracle = Naive(system)
    result = Verifier(system, engine).answer(asked(formula, assuming))
    judge(result, system, oracle.initial, unfair_states(oracle, SOME_FAIR_RUN, assuming), successors(oracle))


@examples(40)
@given(st.data())
def test_states_without_fair_run_are_counted_with_variables_outside_the_cone(data: st.DataObject) -> None:
    system = data.draw(two_fair_parts())
    formula = f.OnPaths("A", f.Globally(data.draw(atoms(system))))
    oracle = Naive(system)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cone_of_influence, "MIN_BITS", 0)
        result = Verifier(system, "symbolic").answer(asked(formula))
    judge(result, system, oracle.initial, unfair_states(oracle, SOME_FAIR_RUN, frozenset()), successors(oracle))


@examples(40)
@given(st.data())
@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
def test_states_without_fair_run_along_steps_match_definition(engine: EngineName, data: st.DataObject) -> None:
    system = data.draw(systems(fairness=True, states=24))
    along = data.draw(steps_taken(system))
    formula = f.OnPaths(data.draw(st.sampled_from("AE")), f.Globally(data.draw(atoms(system))), along)
    assuming = data.draw(roles(system))
    oracle = Naive(system)
    unfair = unfair_states(oracle, OnPaths("E", f.Globally(f.And(())), along), assuming)
    result = Verifier(system, engine).answer(asked(formula, assuming))
    judge(result, system, oracle.initial, unfair, successors(oracle))


@examples(60)
@given(st.data())
@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly"])
def test_rounds_without_fair_run_match_definition(engine: EngineName, data: st.DataObject) -> None:
    system = data.draw(synchronous_systems())
    assume(system.conditions and not system.recurring)
    formula = f.OnPaths(data.draw(st.sampled_from("AE")), f.Finally(data.draw(atoms(system))))
    oracle = NaiveRounds(system)
    after = {state: frozenset(target for _, target in rounds) for state, rounds in oracle.rounds.items()}
    result = Verifier(system, engine).answer(asked(formula))
    judge(result, system, oracle.initial, frozenset(after) - oracle.reachable, after)


@given(st.data())
def test_justice_alone_excludes_no_state(data: st.DataObject) -> None:
    """The claim of `cplc.checking.realizability`, which is why nothing is searched for without conditions."""
    system = data.draw(systems(fairness=False) | systems(fairness=False, lifelike=True))
    along = data.draw(st.none() | steps_taken(system))
    assuming = data.draw(roles(system))
    oracle = Naive(system)
    some = f.OnPaths("E", f.Globally(f.And(())), along)
    assert oracle.by_tableau(some, assuming) == oracle.reachable


@given(st.data())
def test_no_question_about_runs_is_decided_where_no_run_is_fair(data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False))
    condition = data.draw(conditions_over(system.variables))
    system = replace(system, fairness=(e.And((condition, e.Not(condition))),))
    question = asked(data.draw(formulas(system)), data.draw(roles(system)))
    is_about_runs = any(isinstance(part, OnPaths) for part in f.subformulas(question.formula))
    for engine in ("explicit", "symbolic", "onthefly"):
        verifier = Verifier(system, engine)
        answer = verifier.answer(question).answer
        assert (answer == "unknown") == is_about_runs
        assert (verifier.decide(question) == "unknown") == is_about_runs
