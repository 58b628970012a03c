"""Components that ticks alone connect: slices of them preserve formulas where none has a timelock by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import logic_formulas, quantified
from tests.support.generators.reducible_systems import ticking_parts
from tests.support.generators.systems import comparisons_over, roles
from tests.support.generators.timed_protocols import TimedSample, divided_protocols
from tests.support.oracles.games import TooManyStrategies
from tests.support.oracles.model_checker import Frozen, Naive
from tests.support.random_examples import examples
from tests.support.timed_verdicts import compare, compiled, is_timelock

from cplc.checking.engine_selector import EngineSelector
from cplc.checking.realizability import Realizability
from cplc.checking.replay import run_problems
from cplc.compilation import CplCompilation, EngineName
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.reductions.component_slicing import RunLifting
from cplc.reductions.timed_components import TimedComponents
from cplc.system.interpreter import Interpreter
from cplc.system.model import Agent, Justice, Step, System, Variable

ENGINES: tuple[EngineName, ...] = ("explicit", "symbolic", "onthefly", "reduced")

# --- the theorem


def _unfair(system: System, assuming: frozenset[str]) -> frozenset[Frozen]:
    naive = Naive(system)
    return naive.reachable - naive.satisfying(f.SOME_FAIR_RUN, assuming)


def _is_free_of_timelocks(timed: TimedComponents) -> bool:
    everybody = timed.system.assumable
    return not any(_unfair(timed.slice(component), everybody) for component in timed.components)


def disagreements(timed: TimedComponents, formula: Formula, assuming: frozenset[str]) -> list[Frozen]:
    """Return the states of the whole at which the slice says something else, both by the definitions."""
    whole = timed.system
    part = timed.slice(timed.components_of(formula))
    positions = [position for position, variable in enumerate(whole.variables) if variable.name in part.variable]
    large, small = Naive(whole), Naive(part)
    in_whole, in_part = large.satisfying(formula, assuming), small.satisfying(formula, assuming)
    assert {tuple(state[n] for n in positions) for state in large.reachable} == small.reachable
    return [
        state for state in large.reachable if (state in in_whole) != (tuple(state[n] for n in positions) in in_part)
    ]


@st.composite
def _questions(draw: st.DrawFn, only_paths: bool = False) -> tuple[TimedComponents, Formula, frozenset[str]]:
    one, whole = draw(ticking_parts())
    formula = draw(quantified(one) if only_paths else logic_formulas(one))
    return TimedComponents(whole), formula, draw(roles(one))


@examples(150)
@given(_questions())
def test_slice_along_ticks_preserves_value_at_every_state(
    question: tuple[TimedComponents, Formula, frozenset[str]],
) -> None:
    timed, formula, assuming = question
    if timed.divides(formula) and _is_free_of_timelocks(timed):
        event("divided")
        assert list(timed.slice(timed.components_of(formula)).problems()) == []
        try:
            assert disagreements(timed, formula, assuming) == []
        except TooManyStrategies:
            assume(False)


@examples(200)
@given(_questions(only_paths=True))
def test_slice_along_ticks_preserves_runs(question: tuple[TimedComponents, Formula, frozenset[str]]) -> None:
    timed, formula, assuming = question
    if timed.divides(formula) and _is_free_of_timelocks(timed):
        event("divided")
        assert disagreements(timed, formula, assuming) == []


@examples(60)
@given(ticking_parts(), st.data())
def test_whole_has_a_timelock_iff_a_component_has_one(parts: tuple[System, System], data: st.DataObject) -> None:
    _, whole = parts
    timed, assuming = TimedComponents(whole), data.draw(roles(whole))
    locked = any(_unfair(timed.slice(component), assuming) for component in timed.components)
    event("locked" if locked else "free")
    assert bool(_unfair(whole, assuming)) == locked


@examples(40)
@given(ticking_parts(), st.data())
def test_selector_finds_the_timelocks_of_components(parts: tuple[System, System], data: st.DataObject) -> None:
    _, whole = parts
    assuming = data.draw(roles(whole))
    unfair = _unfair(whole, assuming)
    for method in ("symbolic", "onthefly"):
        realizability = Realizability(EngineSelector(whole, method, auto=False))
        excluded = realizability.excluded(assuming)
        assert (excluded is not None) == bool(unfair)
        if excluded is not None:
            assert tuple(excluded.run.states[-1][variable.name] for variable in whole.variables) in unfair
        naive = Naive(whole)
        assert realizability.has_fair_run(assuming) == (not naive.initial <= unfair)


# --- protocols


@examples(12)
@given(divided_protocols())
def test_verdicts_on_components_are_those_of_the_reference(sample: TimedSample) -> None:
    compare(sample, ["symbolic", "onthefly", "reduced"], Counter(), limit=1500)


SHOPS = """protocol Shops(n: 1..9 = 3) {{
  role Shop
  role Buyer[n]
  channel within {delay}
  for b in Buyer {{
    commitment goods = C(Shop, b, pay, deliver)  within {deadline}
    b -> Shop : order
    Shop -> b : offer    after order    means create goods
    b -> Shop : pay      after offer
    Shop -> b : deliver  after pay      {rounds}
  }}
  property kept assuming all within {bound}:   forall b in Buyer: AG !violated(goods[b])
  property early assuming all within {bound}:  AG !violated(goods[1]) | AG !violated(goods[2])
  property both assuming all within {bound}:   EF (pay[1] & !order[2])
  property apart assuming all within {bound}:  AG (!pay[1] | !pay[2])
  property later assuming all within {bound}:  EF (violated(goods[1]) & !sent(order[2]))
  property known assuming all within {bound}:  AG (pay[1] -> K(Buyer[1], active(goods[1])))
  property shop assuming all within {bound}:   AG (pay[1] -> K(Shop, order[1]))
  property won assuming all within {bound}:    <<Buyer[2]>> F order[2]
  property order assuming all within {bound}:  AG (pay[1] -> AF[1..4] ticks !pay[1])
  property along assuming all within {bound}:  E{{!does(order[2])}} F pay[1]
  check none
}}
"""


def _shops(
    customers: int, deadline: int = 4, bound: int = 1, delay: int = 1, rounds: str = "restart"
) -> CplCompilation:
    text = SHOPS.format(deadline=deadline, bound=bound, delay=delay, rounds=rounds).replace(
        "1..9 = 3", f"1..9 = {customers}"
    )
    compilation = compiled(text)
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    return compilation


def _divided(compilation: CplCompilation) -> Iterator[str]:
    """Yield the properties that are decided on some of the components that ticks connect."""
    for question in compilation.questions():
        selector = EngineSelector(question.question.system or question.system, "symbolic", auto=False)
        for part in selector.parts(question.question.formula):
            if any(one.by.name == "components" for one in selector.reduced(part.formula).applications):
                yield question.question.name


def test_question_about_one_customer_is_decided_on_its_component() -> None:
    assert Counter(_divided(_shops(3))) == {
        "kept": 3, "early": 1, "both": 1, "apart": 1, "later": 1, "known": 1, "order": 1
    }  # fmt: skip


def test_next_step_is_looked_at_in_the_product() -> None:
    """A tick that is the next step of a component waits for others in the whole system."""
    part, whole = _waiting()
    ticks = f.Taken(frozenset({"tick"}), "does(tick)")
    done = f.Atom(e.Read("done"), "done")
    for path, divided in (
        (f.Next(done), False),
        (ticks, False),
        (f.Finally(done), True),
        (f.Finally(ticks), True),
        (f.Until(f.Not(done), done, f.Bound(1, ticks=ticks)), True),
    ):
        formula = f.OnPaths("E", path)
        assert TimedComponents(whole).divides(formula) == divided
        values = {ExplicitEngine(part).is_valid(formula), ExplicitEngine(whole).is_valid(formula)}
        assert values == ({True} if divided else {True, False})


def _waiting() -> tuple[System, System]:
    """Return a component that the tick finishes, and its product with one that has to start before the tick."""
    done, started = (Variable(name, (False, True), (False,), "own", "Env", name) for name in ("done", "started"))
    tick = Step("tick", "tick", "Env", "", (), e.TRUE, (("done", e.TRUE),))
    start = Step("start", "send", "A", "start", (), e.Not(e.Read("started")), (("started", e.TRUE),))
    part = System(
        "Waiting", (), (done,), (Agent("A", "A", ()),), (), (), (), (tick,), (Justice("tick", (0,), None, e.TRUE),), ()
    )
    both = (replace(tick, guard=e.Read("started")), start)
    return part, replace(part, variables=(done, started), steps=both)


@pytest.mark.parametrize(("deadline", "bound", "delay"), [(2, 0, 0), (2, 1, 0), (4, 1, 0), (3, 0, 1)])
def test_verdicts_on_components_are_those_on_the_product(deadline: int, bound: int, delay: int) -> None:
    compilation = _shops(2, deadline, bound, delay)
    answers = {
        engine: [(one.question.name, one.answer) for one in compilation.verify(compilation.questions(), engine)]
        for engine in ("explicit", "symbolic")
    }
    assert answers["symbolic"] == answers["explicit"]
    assert len({answer for _, answer in answers["symbolic"]} & {"holds", "fails"}) == 2 or (bound, delay) == (0, 0)


# --- evidence


def test_run_of_a_component_is_a_run_of_the_whole() -> None:
    """Before each tick other components do what the tick waits for."""
    compilation = _shops(3, deadline=2)
    (question,) = compilation.questions(["kept"])
    (result,) = compilation.verify([question], "symbolic")
    assert result.answer == "fails"
    assert result.evidence is not None
    whole = question.question.system
    assert whole is not None
    run = RunLifting(TimedComponents(whole), result.system).run(result.evidence.run)
    assert list(run_problems(Interpreter(whole), run)) == []
    own = [result.system.steps[move.step].name for move in result.evidence.run.moves if move.step is not None]
    lifted = [whole.steps[move.step].name for move in run.moves if move.step is not None]
    assert [name for name in lifted if name in {step.name for step in result.system.steps}] == own
    assert own.count("tick") == lifted.count("tick") > 1
    assert "send order[2]" in lifted


# --- timelocks

LOCKED = """protocol Locked(n: 1..2 = 1) sync {{
  role A
  role B
  role C
  role D[n]
  commitment job = C(A, B, true, done)  within 2
  A -> B : start             means create job
  A -> B : done   after start
  for d in D {{
    C -> d : begin
    C -> d : ping   after begin  resets ping
  }}
  property asked assuming A within {mine}, ping within {other}: {formula}
}}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("formula", "free", "locked"),
    [
        ("AG !violated(job)", "holds", "unknown"),
        ("AF done", "holds", "unknown"),
        ("E F done", "holds", "holds"),
        ("E F violated(job)", "fails", "unknown"),
        ("A F violated(job)", "fails", "fails"),
    ],
)
def test_timelock_of_another_component_leaves_universal_verdicts_open(
    engine: EngineName, formula: str, free: str, locked: str
) -> None:
    for other, expected in ((1, free), (0, locked)):
        compilation = compiled(LOCKED.format(mine=1, other=other, formula=formula))
        (result,) = compilation.verify(compilation.questions(["asked"]), engine)
        assert result.answer == expected
        assert is_timelock(result) == (other == 0)


# --- formulas about several components


@st.composite
def _lasting(draw: st.DrawFn) -> tuple[TimedComponents, Formula, frozenset[str]]:
    """Draw invariants one of which is about each of two components, mostly with violations that last."""
    one, whole = draw(ticking_parts())
    second_part = [variable for variable in whole.variables if variable.name not in one.variable]

    def claim(variables: list[Variable]) -> Formula:
        atom = f.Atom(draw(comparisons_over(variables)), "p")
        return draw(st.sampled_from([f.OnPaths("A", f.Finally(atom))] * 3 + [f.Not(atom)]))

    operands = (claim(list(one.variables)), claim(second_part))
    return TimedComponents(whole), f.OnPaths("A", f.Globally(f.Or(operands))), draw(roles(whole))


@examples(40)
@given(_lasting())
def test_violations_that_last_are_decided_component_by_component(
    question: tuple[TimedComponents, Formula, frozenset[str]],
) -> None:
    timed, formula, assuming = question
    naive = Naive(timed.system)
    selector = EngineSelector(timed.system, "symbolic", auto=False)
    event(f"{len(selector.alternatives(formula))} alternatives")
    assert selector.is_valid(formula, assuming) == (naive.initial <= naive.satisfying(formula, assuming))


def test_goals_of_several_components_are_decided_on_their_product() -> None:
    """An order is sent within a tick, and a violation takes more: they never meet, though both are possible."""
    compilation = _shops(2, deadline=2, rounds="")
    (question,) = compilation.questions(["later"])
    assert question.question.system is not None
    selector = EngineSelector(question.question.system, "symbolic", auto=False)
    assuming = question.question.assuming
    assert not selector.is_valid(question.question.formula, assuming)
    goal = f.possibility(question.question.formula)
    assert isinstance(goal, f.And)
    assert [selector.is_valid(f.OnPaths("E", f.Finally(one)), assuming) for one in goal.operands] == [True, True]


@pytest.mark.parametrize(("deadline", "answer"), [("within 4", "holds"), ("", "fails")])
def test_ends_of_customers_are_looked_for_apart(deadline: str, answer: str) -> None:
    """Each customer is at an end by itself, where time alone still closes what has a deadline."""
    text = SHOPS.format(deadline=4, bound=1, delay=1, rounds="unless order").replace("1..9 = 3", "1..9 = 2")
    compilation = compiled(text.replace("check none", "check deadlock_free").replace("within 4", deadline))
    (question,) = compilation.questions(["deadlock_free"])
    selector = EngineSelector(question.question.system or question.system, "symbolic", auto=False)
    parts = selector.parts(question.question.formula)
    assert [len(selector.alternatives(part.formula)) for part in parts] == [2, 2]
    for engine in ENGINES:
        (result,) = compilation.verify([question], engine)
        assert result.answer == answer, engine
