"""Interrupted searches resume and return the result of an uninterrupted search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.synchronous_systems import synchronous_systems
from tests.support.generators.systems import formulas, roles, systems
from tests.support.interrupted_searches import Keeping, kept_by
from tests.support.random_examples import examples

from cplc.checking.results import Question
from cplc.checking.verify import Verifier
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.symbolic.bdd_checkpoint import _read, _written
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.runtime.context import Context, ResourceExhausted, use_context
from cplc.statespace import packing, state_graph
from cplc.statespace.state_graph import StateGraph, explore
from cplc.system.model import System

_ENOUGH = 1 << 20
_BACKENDS = ("oxidd", "dd.autoref")


@contextmanager
def _small_pieces() -> Iterator[None]:
    """Let searches through few states come by as many moments as others do, and nothing be too little to be kept."""
    with (
        patch.multiple(state_graph, STATES_PER_SAFEPOINT=3, REGROUPING_STATES=(5, 20)),
        patch("cplc.statespace.graph_checkpoint.MIN_STATES_TO_SAVE", 0),
        patch("cplc.engines.symbolic.bdd_checkpoint.MIN_NODES_TO_SAVE", 0),
    ):
        yield


def _told(graph: StateGraph) -> tuple[object, ...]:
    """Return all that there is in a graph: two that say the same give the same verdicts and the same evidence."""
    numbers = list(map(graph.number.__getitem__, graph.states))
    return graph.states, numbers, graph.initial, graph.first, graph.target, graph.label


def _interrupted(run: Callable[[], object], data: st.DataObject) -> Keeping:
    """End a run once or twice at some moment; return what is kept of it."""
    counted = Keeping()
    with kept_by(counted):
        run()
    content: dict[str, bytes] = {}
    for _ in range(data.draw(st.integers(1, 2))):
        keeping = Keeping(content, end_at=data.draw(st.integers(1, max(1, counted.moments))))
        with kept_by(keeping):
            run()
        assert keeping.refused == []
        content = keeping.content
    return Keeping(content)


@given(st.data(), st.booleans())
def test_state_graph_unchanged_after_resume(data: st.DataObject, in_rounds: bool) -> None:
    system = data.draw(synchronous_systems() if in_rounds else systems())
    with _small_pieces():
        whole = _told(explore(system, _ENOUGH))
        keeping = _interrupted(lambda: explore(system, _ENOUGH), data)
        with kept_by(keeping):
            again = _told(explore(system, _ENOUGH))
    assert keeping.refused == []
    assert again == whole


@given(st.data(), st.booleans())
def test_limit_is_kept_after_resume(data: st.DataObject, in_rounds: bool) -> None:
    """A search that was given up is kept, too: it must not pass for one that came to its end."""
    system = data.draw(synchronous_systems() if in_rounds else systems())
    with _small_pieces():
        whole = explore(system, _ENOUGH)
        limit, other = (data.draw(st.integers(1, len(whole.states) + 5)) for _ in range(2))
        keeping = Keeping()

        def graph(most: int) -> StateGraph | None:
            with kept_by(keeping):
                try:
                    return explore(system, most)
                except ResourceExhausted:
                    return None
                finally:
                    keeping.write()

        for most in (limit, other, _ENOUGH, other):
            outcome = graph(most)
            assert (outcome is None) == (len(whole.states) > most)
            assert outcome is None or _told(outcome) == _told(whole)


@pytest.mark.parametrize("backend", _BACKENDS)
@examples(20)
@given(st.data(), st.booleans())
def test_bdd_unchanged_after_resume(backend: str, data: st.DataObject, in_rounds: bool) -> None:
    pytest.importorskip(backend)
    system = data.draw(synchronous_systems() if in_rounds else systems())
    formula = data.draw(formulas(system))
    judge = ExplicitEngine(system)
    with _small_pieces():
        keeping = _interrupted(lambda: SymbolicEngine(system, backend).reachable, data)
        with kept_by(keeping):
            engine = SymbolicEngine(system, backend)
            assert engine.count(engine.reachable) == judge.size
            states = (judge.pick(judge.singleton(state)) for state in _states(judge))
            assert all(engine.contains(engine.reachable, state) for state in states)
            assert engine.is_valid(formula) == judge.is_valid(formula)
    assert keeping.refused == []


def _states(engine: ExplicitEngine) -> Iterator[dict[str, bool | int | str]]:
    return map(engine._graph.packing.unpack, engine._graph.states)


@pytest.mark.parametrize("method", ["explicit", "symbolic"])
@examples(20)
@given(st.data())
def test_verdicts_and_evidence_unchanged_after_resume(method: str, data: st.DataObject) -> None:
    system = data.draw(systems())
    assuming = data.draw(roles(system))
    question = Question("asked", "formula", data.draw(formulas(system)), "asked", assuming=assuming)

    def told() -> tuple[object, ...]:
        result = Verifier(system, "explicit" if method == "explicit" else "symbolic").answer(question)
        return result.answer, result.evidence, result.blame, result.no_return, result.remarks

    with _small_pieces():
        whole = told()
        with kept_by(_interrupted(told, data)):
            assert told() == whole


@pytest.mark.parametrize("backend", _BACKENDS)
@examples(20)
@given(st.data())
def test_bdd_round_trips_through_bytes(backend: str, data: st.DataObject) -> None:
    pytest.importorskip(backend)
    system = data.draw(systems())
    engine = SymbolicEngine(system, backend)
    diagrams, levels = engine._encoding.diagrams, engine._encoding.variable_at
    roots = [engine.satisfying(data.draw(formulas(system))) for _ in range(2)]
    sets = [*roots, None, diagrams.true, diagrams.false, ~roots[0] & engine.reachable]
    content = _written(diagrams, sets)
    assert _read(diagrams, content, levels) == sets
    # What is not what was written is nothing, or other sets of states; that it is noticed rests on the digest.
    place = data.draw(st.integers(0, len(content) - 1))
    _read(diagrams, content[:place], levels)
    _read(
        diagrams, content[:place] + bytes([content[place] ^ data.draw(st.integers(1, 255))]) + content[place:], levels
    )
    assert _read(diagrams, content + b"\0", levels) is None


@given(systems())
def test_states_are_told_apart_by_several_tables_too(system: System) -> None:
    """Overflow of a full table into a second one leaves the graph the same."""
    with _small_pieces():
        whole = _told(explore(system, _ENOUGH))
        with patch.multiple(packing, _SMALL=2, _PART=1 << 20), use_context(Context(bytes_left=lambda: 1)):
            assert _told(explore(system, _ENOUGH)) == whole
