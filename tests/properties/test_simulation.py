"""Random runs are runs: each is a path of the explicit engine, and the plain interpreter takes the same steps."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Final
from unittest.mock import patch

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import Logic, logic_formulas, path_formulas
from tests.support.generators.protocol_drafts import text_of
from tests.support.generators.protocols import plans
from tests.support.generators.systems import roles, systems
from tests.support.random_examples import examples

from cplc.automata.formula_progression import NotProgressible, progression
from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.expressions import Const, Equal, Read, conj
from cplc.logic.formulas import And, Atom, Bound, Finally, Formula, Globally, Next, Not, OnPaths, Taken
from cplc.report.json_data import run_data, run_trace
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.interactive_session import RunVerdicts
from cplc.simulation.random_walk import Bias, draw
from cplc.simulation.run_replay import recording, replayed
from cplc.source import Source
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.interpreter import Interpreter, holds
from cplc.system.model import State, System
from cplc.system.trace import Run

_BIASES: tuple[Bias, ...] = ("coverage", "uniform")
_OPEN = ("conditional", "active", "pending")


def protocols() -> st.SearchStrategy[System]:
    def compiled(text: str) -> System:
        compilation = CplCompilation(Source("random.cpl", text))
        assert compilation.ok, (text, [one.message for one in compilation.diagnostics])
        return compilation.system

    return plans().map(text_of).map(compiled)


def is_run(interpreter: Interpreter, run: Run) -> bool:
    return interpreter.is_initial(run.start) and all(
        move.step is not None and move.state in interpreter.after(before, move.step)
        for before, move in zip(run.states, run.moves, strict=False)
    )


@given(st.one_of(protocols(), systems()), st.sampled_from(_BIASES), st.integers(0, 2**64))
@examples(25)
def test_random_runs_are_runs(system: System, bias: Bias, seed: int) -> None:
    drawn = [one for one, _ in draw(system, bias, None, seed=seed, runs=3, most=25, keep=3) if one is not None]
    interpreter = Interpreter(system)
    assert len(drawn) == 3
    assert all(is_run(interpreter, one.run) for one in drawn)
    assert drawn == [one for one, _ in draw(system, bias, None, seed=seed, runs=3, most=25, keep=3) if one is not None]
    try:
        engine = ExplicitEngine(system, limit=20_000)
        for one in drawn:
            here = engine.singleton(one.run.start)
            assert not engine.is_empty(engine.intersection(here, engine.initial))
            for move in one.run.moves:
                assert move.step is not None
                state_set = engine.singleton(move.state)
                assert not engine.is_empty(engine.intersection(engine.successors(here, [move.step]), state_set))
                here = state_set
    except ResourceExhausted:
        pass
    for one in drawn:  # a run ends only where it must
        last = one.run.states[-1]
        ahead = [(step, state) for step in range(len(system.steps)) for state in interpreter.after(last, step)]
        moving = [step for step, state in ahead if state != last or system.steps[step].kind != "tick"]
        assert (one.ending == "nothing") == (not ahead)
        assert (one.ending == "time") == (bool(ahead) and not moving)


@given(st.one_of(protocols(), systems()))
@examples(25)
def test_compiled_steps_match_interpreter(system: System) -> None:
    """All ways from the states of a run are the same, before steps are looked up together and after."""
    interpreter = Interpreter(system)
    with patch("cplc.statespace.interleaved.REGROUPING_STATES", (4, 9)):
        relation = InterleavedRelation(system)
    drawn, _ = next(draw(system, "coverage", None, seed=1, runs=1, most=15, keep=1))
    assert drawn is not None
    states = drawn.run.states
    for _ in range(2):
        for state in states:
            expected = Counter(
                (step, relation.packing.pack(after))
                for step in range(len(system.steps))
                for after in {tuple(one.items()): one for one in interpreter.after(state, step)}.values()
            )
            assert Counter(relation.transitions(relation.packing.pack(state))) == expected


@given(protocols(), st.integers(0, 2**32))
@examples(25)
def test_commitment_statistics_match_states(system: System, seed: int) -> None:
    """Counts through tables equal those from the interpreter's operations and states, step by step."""
    *_, (_, statistics) = draw(system, "coverage", None, seed=seed, runs=2, most=25, keep=2)
    runs = [one for one, _ in draw(system, "coverage", None, seed=seed, runs=2, most=25, keep=2) if one is not None]
    expected: dict[str, Counter[str]] = {one.name: Counter() for one in system.commitments}
    for one in runs:
        for commitment in system.commitments:
            expected[commitment.name].update(_endings(system, one.run, commitment.name))
    endings = {course.name: Counter(course.endings) for course in statistics.courses if not course.is_claim}
    assert endings == expected


@given(protocols(), st.sampled_from(_BIASES), st.integers(0, 2**32))
@examples(25)
def test_recorded_run_replays(system: System, bias: Bias, seed: int) -> None:
    """Whole, and up to a step that was changed."""
    drawn, _ = next(draw(system, bias, None, seed=seed, runs=1, most=12, keep=1))
    assert drawn is not None
    for text in (json.dumps({"runs": [run_data(system, drawn.run)]}), run_trace(system, drawn.run, "", "")):
        (recorded,) = recording(text).runs
        again = replayed(system, recorded)
        assert again.misfit is None
        assert again.run == drawn.run
    if drawn.run.moves:
        (recorded,) = recording(json.dumps(run_data(system, drawn.run))).runs
        at = seed % len(recorded.steps)
        other = replace(recorded.steps[at], name="no such step")
        spoilt = replace(recorded, steps=(*recorded.steps[:at], other, *recorded.steps[at + 1 :]))
        again = replayed(system, spoilt)
        assert again.misfit is not None
        assert again.misfit.at == at + 1
        assert again.run == Run(drawn.run.start, drawn.run.moves[:at])


_PATHS: Final = Logic(games=False, social=False, weight=3, depth=1)


@given(st.data(), systems(fairness=False), st.integers(0, 2**32))
@examples(40)
def test_progression_equals_the_formula_over_the_whole_path(data: st.DataObject, system: System, seed: int) -> None:
    """Judged by the engine: a path that begins with the run is one that a chain of next operators describes."""
    drawn, _ = next(draw(system, "coverage", None, seed=seed, runs=1, most=4, keep=1))
    assert drawn is not None
    run, path = drawn.run, data.draw(path_formulas(system, _PATHS))
    engine = ExplicitEngine(system, limit=20_000)

    def begins(formula: Formula, state: State) -> bool:
        satisfying = engine.satisfying(OnPaths("E", Finally(formula, Bound(0))))
        return not engine.is_empty(engine.intersection(engine.singleton(state), satisfying))

    def truth(formula: Formula, at: int) -> bool:
        return not engine.is_empty(engine.intersection(engine.singleton(run.states[at]), engine.satisfying(formula)))

    chain: Formula = _in_state(system, run.states[-1])
    for before, move in reversed(list(zip(run.states, run.moves, strict=False))):
        assert move.step is not None
        step = Taken(frozenset({system.steps[move.step].name}), "step")
        chain = And((_in_state(system, before), step, Next(chain)))
    names = [system.steps[move.step].name for move in run.moves if move.step is not None]
    with suppress(ResourceExhausted, NotProgressible):
        rest = progression(path, names, truth)
        assert begins(rest, run.states[-1]) == begins(And((chain, path)), run.start)


def _in_state(system: System, state: State) -> Formula:
    return Atom(conj(Equal(Read(v.name), Const(state[v.name])) for v in system.variables), "here")


@given(st.data(), st.one_of(protocols(), systems()), st.sampled_from(_BIASES), st.integers(0, 2**32))
@examples(60)
def test_run_verdict_is_the_verdict_wherever_a_run_decides(
    data: st.DataObject, system: System, bias: Bias, seed: int
) -> None:
    drawn, _ = next(draw(system, bias, None, seed=seed, runs=1, most=8, keep=1))
    assert drawn is not None
    formula = data.draw(logic_formulas(system, Logic(games=False, weight=3)))
    assuming = data.draw(roles(system))
    with suppress(ResourceExhausted):
        engine = ExplicitEngine(system, limit=20_000)
        whole = engine.is_empty(engine.difference(engine.initial, engine.satisfying(formula, assuming)))
        shown = RunVerdicts(system, 20_000).verdict(formula, assuming, drawn.run).verdict
        assert shown in ("undecided", "unknown", "holds" if whole else "fails")


@given(protocols(), st.integers(0, 2**32))
@examples(25)
def test_run_never_refutes_existential_or_proves_universal_formula(system: System, seed: int) -> None:
    drawn, _ = next(draw(system, "coverage", None, seed=seed, runs=1, most=10, keep=1))
    assert drawn is not None
    verdicts = RunVerdicts(system, 20_000)

    def verdict(formula: Formula) -> str:
        shown = verdicts.verdict(formula, frozenset(), drawn.run)
        assume(shown.verdict != "unknown")  # more reachable states than the limit
        return shown.verdict

    for message in system.messages:
        sent = Atom(message.received, message.name)
        for path in (Finally(sent), Globally(sent), Globally(Finally(sent))):
            assert verdict(OnPaths("A", path)) != "holds"
            assert verdict(OnPaths("E", path)) != "fails"
        if any(holds(message.received, state) for state in drawn.run.states):
            shown = verdict(OnPaths("E", Finally(sent)))
            assert shown == ("holds" if all(len(one.initial) == 1 for one in system.variables) else "undecided")
            assert verdict(OnPaths("A", Globally(Not(sent)))) == "fails"


def _is_in_force(system: System, name: str, state: State) -> bool:
    former = [v.name for v in system.variables if v.kind == "former" and v.about == name]
    value = state[system.commitment[name].variable]
    return value == "active" or (value == "pending" and all(state[one] == "active" for one in former))


def _endings(system: System, run: Run, name: str) -> list[str]:
    variable = system.commitment[name].variable
    endings: list[str] = []
    current = run.start[variable]
    for before, move in zip(run.states, run.moves, strict=False):
        assert move.step is not None
        created = any(
            operation.verb == "create" and operation.commitment == name and holds(operation.applicable, before)
            for operation in system.steps[move.step].operations
        )
        new = move.state[variable]
        if new == "null" and _is_in_force(system, name, before):
            current = "on course" if holds(system.commitment[name].on_course, before) else "forgotten"
        if current != "null" and (created or new == "null" or (current not in _OPEN and new in _OPEN)):
            endings.append(str(current))
        current = new
    if holds(system.commitment[name].on_course, run.states[-1]):
        current = "on course"
    return [*endings, *([str(current)] if current != "null" else [])]
