"""Both transition relations lead where the interpreter goes, one state at a time and in the explored graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.synchronous_systems import synchronous_systems
from tests.support.generators.systems import systems

from cplc.statespace.state_graph import explore
from cplc.statespace.transition_relation import transition_relation
from cplc.system.interpreter import Interpreter
from cplc.system.model import System

_MAX_STATES = 10_000


def _expected(interpreter: Interpreter, packed: int) -> set[tuple[int, int]]:
    """Return the labels and targets of all transitions from a state, by the interpreter."""
    system, packing = interpreter.system, transition_relation(interpreter.system).packing
    state = packing.unpack(packed)
    steps = {
        (step, packing.pack(after)) for step in range(len(system.steps)) for after in interpreter.after(state, step)
    }
    if not system.players:
        return steps
    return {
        (0, packing.pack(after)) for done in interpreter.rounds(state) for after in interpreter.after_round(state, done)
    }


@given(st.one_of(systems(), synchronous_systems()))
def test_transitions_match_interpreter(system: System) -> None:
    interpreter, relation, graph = Interpreter(system), transition_relation(system), explore(system, _MAX_STATES)
    initial = {relation.packing.pack(state) for state in interpreter.initial_states()}
    assert set(relation.initial_states()) == initial == set(graph.states[: graph.initial])
    assert relation.has_idle_step == system.has_idle_step
    for number, state in enumerate(graph.states[:40]):
        expected = _expected(interpreter, state)
        assert set(relation.transitions(state)) == expected
        assert {(label, graph.states[target]) for label, target in graph.edges(number)} == expected
        assert all(0 <= label < len(relation.labels) for label, _ in expected)
