"""Optimisations of the explicit engine change no result.

Small systems never reach the sizes at which it regroups steps, drops caches or splits conditions.
So these sizes are made small here.
"""

from __future__ import annotations

from unittest.mock import patch

from benchmarks.explicit import counters, rings
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.systems import atoms, every_kind, formulas, roles, systems
from tests.support.random_examples import examples

from cplc.engines.explicit import engine as explicit
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.expressions import Const, Equal, Read
from cplc.logic.formulas import Atom, Bound, Finally, Knows, OnPaths
from cplc.statespace import interleaved, packing, state_graph
from cplc.system.model import System


def edges(engine: ExplicitEngine, system: System) -> list[tuple[int, int]]:
    """Return how many states each step leads from and to."""
    everywhere = engine.reachable
    return [
        (
            engine.count(engine.predecessors(everywhere, [step])),
            engine.count(engine.successors(everywhere, [step])),
        )
        for step in range(len(system.steps))
    ]


@examples(30)
@given(st.data())
def test_batch_sizes_do_not_change_graph(data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q, nested = data.draw(atoms(system)), data.draw(atoms(system)), data.draw(formulas(system))
    assuming = data.draw(roles(system))
    sample_formulas = [*every_kind(system, p, q), nested]
    plain = ExplicitEngine(system)
    counts = [plain.count(plain.satisfying(formula, assuming)) for formula in sample_formulas]
    moved = edges(plain, system)
    with (
        patch.object(interleaved, "SAMPLE_STATES", 8),
        patch.object(state_graph, "REGROUPING_STATES", (1, 2, 5, 9)),
        patch.object(packing, "MAX_TABLE_ENTRIES", 2),
        patch.object(explicit, "_WIDE", 0),
        patch.object(explicit, "_REMEMBERED_BYTES", 0),
    ):
        pressed = ExplicitEngine(system)
        assert [pressed.count(pressed.satisfying(formula, assuming)) for formula in sample_formulas] == counts
        assert edges(pressed, system) == moved
        everywhere = plain.reachable
        while not plain.is_empty(everywhere):
            state = plain.pick(everywhere)
            everywhere = plain.difference(everywhere, plain.singleton(state))
            for formula in sample_formulas:
                expected = plain.intersection(plain.singleton(state), plain.satisfying(formula, assuming))
                witness = pressed.intersection(pressed.singleton(state), pressed.satisfying(formula, assuming))
                assert plain.is_empty(expected) == pressed.is_empty(witness)


def test_many_counters() -> None:
    system = counters(4, 11)
    engine = ExplicitEngine(system)
    assert engine.count(engine.reachable) == 11**4
    assert edges(engine, system) == [(11**4, 11**4)] * 4
    last = Atom(Equal(Read("count@3"), Const(10)), "the last")
    assert engine.count(engine.satisfying(last)) == 11**3
    assert engine.is_valid(OnPaths("A", Finally(last)))
    assert engine.count(engine.satisfying(OnPaths("E", Finally(last, Bound(4))))) == 5 * 11**3
    assert engine.count(engine.satisfying(Knows("each", ("A[3]",), last))) == 11**3
    assert engine.count(engine.satisfying(Knows("each", ("A[2]",), last))) == 0


def test_many_pairs() -> None:
    """Each of four messages of a pair is not sent, in flight or received, in turn: nine states a pair."""
    system = rings(4, 4)
    engine = ExplicitEngine(system)
    assert engine.count(engine.reachable) == 9**4
    assert edges(engine, system) == [(9**3, 9**3)] * (9 * 4)
