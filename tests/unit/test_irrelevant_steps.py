"""Irrelevant steps: without them a run is still one of the protocol, and the formula has the same value on it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from tests.support.generators.systems import conditions_over, systems
from tests.support.random_examples import examples

from cplc.checking.irrelevant_steps import irrelevant_steps
from cplc.checking.replay import run_problems
from cplc.checking.results import Result
from cplc.checking.three_valued import ThreeValuedRun
from cplc.compilation import CplCompilation
from cplc.logic import formulas as f
from cplc.report.html import fragment
from cplc.report.text import result_text
from cplc.report.trace_narration import told
from cplc.source import Source
from cplc.system.interpreter import interpreter_of
from cplc.system.model import System
from cplc.system.trace import Move, Run

_SHOP = """cpl 2
protocol Shop(customers: 1..3 = 2) {
  role Mer { var stock: 0..1 = 1 }
  role Cus[customers]
  for c in Cus {
    Mer -> c : offer
    c -> Mer : pay      after offer
    Mer -> c : deliver  after pay  if Mer.stock > 0  set stock := stock - 1
    Mer -> c : sorry    after offer  unless deliver  restart
  }
  property paid: AF pay[1]
  property owed assuming Mer: AG (pay[1] -> AF deliver[1])
  property next: AG (pay[1] -> AX AF deliver[1])
  property known: AG K(Mer, !sent(pay[1]))
  check none
}
"""
_CHAIN = """cpl 2
protocol Chain sync {
  role A
  role B
  A -> B : ask
  B -> A : look      after ask
  A -> B : try       after look | again  resets again  repeatable
  B -> A : again     after try  resets try  repeatable
  A -> B : clear     after again
  B -> A : answer    after clear
  property answered assuming all: AF answer
  check none
}
"""


def _result(text: str, name: str) -> Result:
    compilation = CplCompilation(Source("p.cpl", text))
    (result,) = compilation.verify(compilation.questions([name]))
    return result


def _sliced(system: System, run: Run, irrelevant: frozenset[int]) -> Run | None:
    """Return the run of the other steps, None if the interpreter cannot take them."""
    interpreter, state, moves = interpreter_of(system), run.start, list[Move]()
    for position, move in enumerate(run.moves):
        if position in irrelevant:
            continue
        if move.step is not None:
            after = interpreter.after(state, move.step)
            written = system.steps[move.step].free
            state = next((one for one in after if all(one[name] == move.state[name] for name in written)), state)
            if not after:
                return None
        moves.append(replace(move, state=state))
    loop = None if run.loop is None else run.loop - sum(position < run.loop for position in irrelevant)
    if loop == len(moves):  # the whole loop is irrelevant: nothing happens forever
        moves.append(Move(None, state))
    return Run(run.start, tuple(moves), loop)


@st.composite
def _lassos(draw: st.DrawFn, system: System) -> Run:
    """Draw a walk through the system up to a state that it was in before."""
    interpreter = interpreter_of(system)
    start = draw(st.sampled_from(list(interpreter.initial_states())))
    moves: list[Move] = []
    states = [start]
    while states[-1] not in states[:-1]:
        enabled = [
            step for step in interpreter.enabled(states[-1]) if states[-1] not in interpreter.after(states[-1], step)
        ]
        step = draw(st.sampled_from(enabled)) if enabled else None
        after = [states[-1]] if step is None else interpreter.after(states[-1], step)
        moves.append(Move(step, draw(st.sampled_from(after))))
        states.append(moves[-1].state)
    return Run(start, tuple(moves), states.index(states[-1]))


@st.composite
def _goals(draw: st.DrawFn, system: System) -> f.Formula:
    """Draw a path formula over one or two variables and now and then a step."""
    variables = draw(st.lists(st.sampled_from(system.variables), min_size=1, max_size=2))

    def operand() -> f.Formula:
        if draw(st.integers(0, 3)) == 0:
            return f.Taken(frozenset({draw(st.sampled_from(system.steps)).name}), "does")
        return f.Atom(draw(conditions_over(variables)), "p")

    p, q = operand(), operand()
    within = f.Bound(draw(st.integers(1, 2)), 0, f.Taken(frozenset({system.steps[0].name}), "tick"))
    goals: list[f.Formula] = [
        f.Finally(p),
        f.Globally(f.Finally(p)),
        f.Finally(f.Globally(f.Not(p))),
        f.Globally(f.Implies(p, f.Finally(q))),
        f.Until(p, q),
        f.Globally(f.Implies(p, f.Finally(q, within))),
    ]
    return draw(st.sampled_from(goals))


@examples(60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_sliced_run_is_a_run_with_the_same_value(data: st.DataObject) -> None:
    system = data.draw(systems(lifelike=True, states=200))
    assume(system.steps)
    run, path = data.draw(_lassos(system)), data.draw(_goals(system))
    holds = ThreeValuedRun(system, run, ()).truth(path)
    irrelevant = irrelevant_steps(system, f.OnPaths("E" if holds else "A", path), run)
    assume(irrelevant)
    shorter = _sliced(system, run, irrelevant)
    assert shorter is not None, "a step is not enabled without the irrelevant ones"
    problems = [one for one in run_problems(interpreter_of(system), shorter) if one != "the loop does not close"]
    assert problems == []
    assert ThreeValuedRun(system, shorter, ()).truth(path) is holds


@pytest.mark.parametrize("name", ["paid", "owed"])
def test_steps_of_another_customer_are_folded(name: str) -> None:
    result = _result(_SHOP, name)
    assert result.evidence is not None
    narration = told(result.system, result.evidence)
    events = {result.system.steps[narration.run.moves[at].step or 0].event for at in narration.irrelevant}
    assert events <= {"offer[2]", "sorry[2]", "pay[2]", "deliver[2]", "Cus[2]", ""}
    assert narration.folds
    text, everything = result_text(result), result_text(result, detail="everything")
    assert text.count("steps that do not matter") == len(narration.folds)
    assert "do not matter" not in everything
    assert "sorry[2]" in everything
    assert f"{len(narration.run.moves)}. " in everything


def test_page_folds_steps_within_a_loop() -> None:
    result = _result(_SHOP, "paid")
    assert result.evidence is not None
    narration = told(result.system, result.evidence)
    shown = fragment(1, result, "not as expected")
    for fold in narration.folds:
        assert f"<summary>… {len(fold)} steps that do not matter</summary>" in shown
    assert shown.count("<li data-step=") == len(narration.run.moves)


@pytest.mark.parametrize("name", ["next", "known"])
def test_formulas_that_count_steps_or_observe_have_no_irrelevant_steps(name: str) -> None:
    result = _result(_SHOP, name)
    assert result.evidence is not None
    assert told(result.system, result.evidence).irrelevant == frozenset()


def test_steps_that_the_awaited_message_waits_for_are_relevant() -> None:
    result = _result(_CHAIN, "answered")
    assert result.evidence is not None
    narration = told(result.system, result.evidence)
    assert narration.run.loop is not None
    assert narration.irrelevant == frozenset()
