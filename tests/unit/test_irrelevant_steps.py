"""Irrelevant steps: without them a run is still one of the protocol, and the formula has the same value on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from cplc.drawing.sequence import run_chart
from cplc.logic import formulas as f
from cplc.report.html import fragment
from cplc.report.json_data import result_data, trace
from cplc.report.outcome import Outcome
from cplc.report.run_charts import Life, chart_of, columns_of
from cplc.report.sarif import file_part
from cplc.report.text import result_text
from cplc.report.trace_narration import Narration, told
from cplc.simulation.run_replay import recording
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


def _folded_story(name: str) -> tuple[Result, Narration]:
    result = _result(_SHOP, name)
    assert result.evidence is not None
    narration = told(result.system, result.evidence)
    assert narration.folds
    return result, narration


def test_json_marks_the_irrelevant_steps() -> None:
    result, narration = _folded_story("owed")
    story = result_data(result)["story"]
    irrelevant = {at for at, step in enumerate(story["steps"]) if not step["relevant"]}  # type: ignore[index]
    assert narration.irrelevant <= irrelevant  # a loop may go round twice in the data
    assert {step["event"] for step in story["steps"] if not step["relevant"]} <= {  # type: ignore[index]
        "offer[2]", "sorry[2]", "pay[2]", "deliver[2]", "Cus[2]"
    }  # fmt: skip


def test_trace_marks_the_irrelevant_steps_and_a_drawing_of_it_folds_them() -> None:
    result, narration = _folded_story("owed")
    text = trace(result)
    assert text is not None
    (recorded,) = recording(text).runs
    marked = frozenset(at for at, step in enumerate(recorded.steps) if not step.is_relevant)
    assert narration.irrelevant <= marked
    chart = run_chart(result.system, narration.run, "run", str, narration.folds)
    folds = [event for event in chart.events if "do not matter" in event.label]
    assert [event.label for event in folds] == [f"… {len(fold)} steps that do not matter" for fold in narration.folds]
    whole = run_chart(result.system, narration.run, "run", str)
    assert len(chart.events) < len(whole.events)
    (loop,) = chart.frames
    assert loop.last < len(chart.events)
    assert not any("sorry[2]" in event.label for event in chart.events)


def test_code_flows_name_the_irrelevant_steps_unimportant() -> None:
    result, _ = _folded_story("owed")
    part: Any = file_part(Outcome("verify", "p.cpl", "1", results=[(result, "not as expected")]))
    flows = part["results"][0]["codeFlows"][0]["threadFlows"]
    importance = {
        step["location"]["message"]["text"].partition(";")[0]: step["importance"]
        for flow in flows
        for step in flow["locations"]
    }
    assert importance["Mer -> Cus[1] : sorry[1]"] == "important"
    assert importance["Mer -> Cus[2] : sorry[2]"] == "unimportant"


def test_page_folds_irrelevant_steps_in_its_pictures_and_shows_all_on_demand() -> None:
    result, narration = _folded_story("owed")
    short, whole = (chart_of(result.system, narration, folds) for folds in (narration.folds, ()))
    assert short is not None
    assert whole is not None
    assert short.height < whole.height
    assert [stroke.last for stroke in short.strokes if stroke.last] == [fold.stop for fold in narration.folds]
    shown = fragment(1, result, "not as expected")
    picture, _, rest = shown.partition('<details class="whole">')
    assert "steps that do not matter</text>" in picture
    assert "sorry[2]</text>" not in picture
    assert "sorry[2]</text>" in rest


def test_columns_of_folded_steps_are_one() -> None:
    columns = columns_of(6, [range(1, 4)])
    assert [(one.first, one.last) for one in columns] == [(0, 0), (1, 1), (2, 4), (5, 5)]
    life = Life("c", "", (("null", 0, 3), ("active", 3, 1), ("fulfilled", 4, 2)))
    assert life.columns(columns) == (("null", 0, 1, 2), ("fulfilled", 2, 5, 2))


def test_loop_that_begins_among_irrelevant_steps_leaves_one_fold() -> None:
    _, narration = _folded_story("owed")
    run = narration.run
    irrelevant = frozenset(range(2, 9))
    moving = replace(narration, run=replace(run, loop=5), marks=(), asides=(), irrelevant=irrelevant)
    assert moving.folds == (range(2, 9),)
    resting = Run(run.start, (*run.moves[:5], *(replace(one, state=run.moves[4].state) for one in run.moves[5:])), 5)
    assert replace(moving, run=resting).folds == (range(2, 5), range(5, 9))
