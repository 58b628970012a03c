"""Evidence: what engines claim can be shown, what is shown replays, and what replays is true."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import logic_formulas
from tests.support.generators.systems import atoms, every_kind, roles, systems
from tests.support.oracles.model_checker import Naive

from cplc.checking import shortest_paths
from cplc.checking.counterexamples import explain, explain_initial
from cplc.checking.replay import replay
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.logic.formulas import Atom, Finally, Formula, OnPaths
from cplc.system.interpreter import Interpreter, holds, key
from cplc.system.model import State, System
from cplc.system.printer import formula_text
from cplc.system.trace import Evidence, Move, Run


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@pytest.mark.parametrize("example_count", [0, shortest_paths.MAX_STATES_FOR_SHORTEST])
@given(data=st.data())
def test_every_verdict_has_replayable_evidence(engine: str, example_count: int, data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shortest_paths, "MAX_STATES_FOR_SHORTEST", example_count)
        if engine == "explicit":
            evidence = explain_initial(ExplicitEngine(system), formula, assuming)
        else:
            evidence = explain_initial(SymbolicEngine(system), formula, assuming)
    assert replay(system, evidence, assuming) == []
    assert evidence.formula == formula
    oracle = Naive(system)
    assert evidence.holds == (oracle.initial <= oracle.satisfying(formula, assuming))


@given(data=st.data())
def test_every_operator_has_evidence(data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q, assuming = data.draw(atoms(system)), data.draw(atoms(system)), data.draw(roles(system))
    engine = ExplicitEngine(system)
    for formula in every_kind(system, p, q):
        assert replay(system, explain_initial(engine, formula, assuming), assuming) == [], formula_text(formula)


@given(data=st.data())
def test_evidence_from_any_state(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    engine = ExplicitEngine(system)
    satisfying = engine.satisfying(formula, assuming)
    for states, value in ((satisfying, True), (engine.complement(satisfying), False)):
        if not engine.is_empty(states):
            evidence = explain(engine, formula, engine.pick(states), value, assuming)
            problems = set(replay(system, evidence, assuming))
            assert problems <= {"the run does not begin in an initial state"}


@given(data=st.data())
def test_finite_runs_are_shortest(data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False))
    atom = data.draw(atoms(system))
    assert isinstance(atom, Atom)
    distance = _distance(system, atom)
    assume(distance is not None)
    engine = ExplicitEngine(system)
    formula = OnPaths("E", Finally(atom))
    shown = [
        len(explain(engine, formula, start, True).run.moves)
        for start in Interpreter(system).initial_states()
        if not engine.is_empty(engine.intersection(engine.singleton(start), engine.satisfying(formula)))
    ]
    assert min(shown) == distance


def _distance(system: System, atom: Atom) -> int | None:
    """Return how many steps lead from an initial state to where the condition holds."""
    interpreter = Interpreter(system)
    queue: deque[tuple[State, int]] = deque((state, 0) for state in interpreter.initial_states())
    visited = {key(state) for state, _ in queue}
    while queue:
        state, distance = queue.popleft()
        if holds(atom.condition, state):
            return distance
        for step in interpreter.enabled(state):
            for after in interpreter.after(state, step):
                if key(after) not in visited:
                    visited.add(key(after))
                    queue.append((after, distance + 1))
    return None


# --- what replays is true


@given(data=st.data())
def test_replayed_evidence_is_true(data: st.DataObject) -> None:
    """Evidence is changed at random: where it is still accepted, what it claims is so by the definitions."""
    system = data.draw(systems())
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    evidence = explain_initial(ExplicitEngine(system), formula, assuming)
    for _ in range(data.draw(st.integers(1, 3))):
        evidence = data.draw(_changed(system, evidence))
    if replay(system, evidence, assuming):
        return
    oracle = Naive(system)
    for claim in _claims(evidence):
        if claim.exhaustive:
            assume(_is_true(oracle, claim, assuming))
    for claim in _claims(evidence):
        assert _is_true(oracle, claim, assuming), formula_text(claim.formula)


def _is_true(oracle: Naive, evidence: Evidence, assuming: frozenset[str]) -> bool:
    satisfying = map(oracle.thaw, oracle.satisfying(evidence.formula, assuming))
    return any(state == evidence.run.start for state in satisfying) == evidence.holds


def _claims(evidence: Evidence) -> Iterator[Evidence]:
    yield evidence
    for _, part in evidence.parts:
        yield from _claims(part)
    if evidence.alternative is not None:
        yield from _claims(evidence.alternative)


@st.composite
def _changed(draw: st.DrawFn, system: System, evidence: Evidence) -> Evidence:
    """Change the evidence itself, or one that it rests on."""
    deeper = [number for number, (_, part) in enumerate(evidence.parts) if not part.exhaustive]
    if draw(st.booleans()) and deeper:
        chosen = draw(st.sampled_from(deeper))
        position, part = evidence.parts[chosen]
        changed = (position, draw(_changed(system, part)))
        return replace(evidence, parts=(*evidence.parts[:chosen], changed, *evidence.parts[chosen + 1 :]))
    if evidence.alternative is not None and draw(st.booleans()):
        return replace(evidence, alternative=draw(_changed(system, evidence.alternative)))
    match draw(st.sampled_from(("run", "loop", "value", "formula", "parts", "elsewhere", "agents", "kind"))):
        case "run":
            return replace(evidence, run=draw(_changed_run(system, evidence.run)))
        case "loop":
            loop = draw(st.none() | st.integers(0, len(evidence.run.moves)))
            return replace(evidence, run=replace(evidence.run, loop=loop))
        case "value":
            return replace(evidence, holds=not evidence.holds)
        case "formula":
            return replace(evidence, formula=draw(logic_formulas(system)))
        case "parts":
            return replace(evidence, parts=evidence.parts[1:])
        case "elsewhere" if evidence.elsewhere is not None:
            return replace(evidence, elsewhere=draw(_changed_run(system, evidence.elsewhere)))
        case "agents":
            names = st.lists(st.sampled_from([agent.name for agent in system.agents]), unique=True)
            return replace(evidence, agents=tuple(draw(names)))
        case "kind":
            return replace(evidence, exhaustive=not evidence.exhaustive)
        case _:
            return evidence


@st.composite
def _changed_run(draw: st.DrawFn, system: System, run: Run) -> Run:
    state = {variable.name: draw(st.sampled_from(variable.domain)) for variable in system.variables}
    if not run.moves or draw(st.integers(0, 3)) == 0:
        return replace(run, start=state)
    position = draw(st.integers(0, len(run.moves) - 1))
    before, move, after = run.moves[:position], run.moves[position], run.moves[position + 1 :]
    step = draw(st.none() | st.integers(0, len(system.steps) - 1))
    change = draw(st.sampled_from((None, Move(step, move.state), Move(move.step, state))))
    return replace(run, moves=before + (() if change is None else (change,)) + after)


def test_corrupted_evidence_rarely_replays() -> None:
    """The changes above are no blanks: most of them are rejected."""
    rejected: list[bool] = []

    @given(data=st.data())
    def collect(data: st.DataObject) -> None:
        system = data.draw(systems())
        formula: Formula = data.draw(logic_formulas(system))
        evidence = explain_initial(ExplicitEngine(system), formula)
        changed = data.draw(_changed(system, evidence))
        if changed != evidence:
            rejected.append(bool(replay(system, changed)))

    collect()
    assert rejected.count(True) > len(rejected) / 2
