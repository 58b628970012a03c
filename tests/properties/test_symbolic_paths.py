"""Path formulas of every shape in the symbolic engine, against the textbook's tableau on explicit states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.support.generators.systems import atoms, formulas, roles, systems
from tests.support.oracles.model_checker import Frozen, Naive
from tests.support.random_examples import examples

from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula, Not, OnPaths, Taken
from cplc.logic.nnf import is_prefix_independent, to_nnf
from cplc.system.model import System


def takens(system: System) -> SearchStrategy[Taken]:
    names = st.sampled_from([step.name for step in system.steps] or ["none"])
    return st.builds(lambda steps: Taken(steps, "some step"), st.frozensets(names, min_size=1, max_size=3))


def paths(system: System, leaves: int = 5, *, past: bool = True) -> SearchStrategy[Formula]:
    """Path formulas with anything below anything."""
    basic: SearchStrategy[Formula] = st.one_of(atoms(system), atoms(system), takens(system))

    def compound(inner: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
        bounds = st.one_of(st.none(), st.none(), st.builds(f.Bound, st.integers(0, 3)))
        operands = st.lists(inner, min_size=2, max_size=3).map(tuple)
        shapes: list[SearchStrategy[Formula]] = [
            st.builds(Not, inner),
            st.builds(f.And, operands),
            st.builds(f.Or, operands),
            st.builds(f.Implies, inner, inner),
            st.builds(f.Next, inner),
            st.builds(f.Finally, inner, bounds),
            st.builds(f.Globally, inner, bounds),
            st.builds(f.Until, inner, inner, bounds),
            st.builds(f.Release, inner, inner),
            st.builds(f.WeakUntil, inner, inner),
            st.builds(f.StrongRelease, inner, inner),
            st.builds(lambda operand: f.Globally(f.Finally(operand)), inner),
            st.builds(lambda operand: f.Finally(f.Globally(operand)), inner),
        ]
        if past:
            shapes += [
                st.builds(f.Iff, inner, inner),
                st.builds(f.Previous, inner),
                st.builds(f.Once, inner),
                st.builds(f.Historically, inner),
                st.builds(f.Since, inner, inner),
            ]
        return st.one_of(shapes)

    return st.recursive(basic, compound, max_leaves=leaves)


def along(system: System) -> SearchStrategy[Taken | None]:
    return st.one_of(st.none(), takens(system))


def check(oracle: Naive, engine: SymbolicEngine, formula: OnPaths, assuming: frozenset[str]) -> None:
    expected: set[Frozen] = set(oracle.by_tableau(formula, assuming))
    for states in (engine.satisfying(formula, assuming), engine.by_tableau(formula, assuming)):
        assert {state for state in oracle.reachable if engine.contains(states, oracle.thaw(state))} == expected
        assert engine.count(states) == len(expected)


@pytest.mark.parametrize("past", [False, True], ids=["future alone", "with the past"])
@examples(40)
@given(st.data())
def test_path_formulas_match_explicit_tableau(past: bool, data: st.DataObject) -> None:
    system = data.draw(systems())
    path, assuming = data.draw(paths(system, past=past)), data.draw(roles(system))
    formula = OnPaths(data.draw(st.sampled_from("AE")), path, data.draw(along(system)))
    check(Naive(system), SymbolicEngine(system), formula, assuming)


@pytest.mark.parametrize(("variants", "backend"), [(0, None), (64, "dd.cudd"), (64, "dd.autoref")])
@examples(15)
@given(st.data())
def test_symbolic_tableau_matches_explicit_tableau(variants: int, backend: str | None, data: st.DataObject) -> None:
    if backend is not None:
        pytest.importorskip(backend)
    system = data.draw(systems())
    path, assuming = data.draw(paths(system)), data.draw(roles(system))
    formula = OnPaths(data.draw(st.sampled_from("AE")), path, data.draw(along(system)))
    check(Naive(system), SymbolicEngine(system, backend, variants=variants), formula, assuming)


@examples(20)
@given(st.data())
def test_conjunctions_of_invariants_and_eventualities(data: st.DataObject) -> None:
    system = data.draw(systems())
    simple = st.one_of(atoms(system), takens(system))
    lasting = st.one_of(
        st.builds(f.Globally, atoms(system)),
        st.builds(lambda operand: f.Finally(f.Globally(operand)), atoms(system)),
        st.builds(lambda operand: f.Globally(f.Finally(operand)), simple),
    )
    promised = st.one_of(
        simple,
        st.builds(Not, simple),
        st.builds(f.Next, simple),
        st.builds(f.Finally, st.one_of(simple, st.builds(f.Next, simple))),
        st.builds(f.Until, atoms(system), simple, st.sampled_from([None, None, f.Bound(2)])),
        st.builds(f.Release, simple, atoms(system)),
        st.builds(f.Globally, atoms(system), st.just(2)),
    )
    parts = data.draw(st.lists(st.one_of(lasting, promised), min_size=2, max_size=4))
    formula = OnPaths("E", f.And(tuple(parts)), data.draw(along(system)))
    check(Naive(system), SymbolicEngine(system), formula, data.draw(roles(system)))


@examples(20)
@given(st.data())
def test_path_quantifiers_below_path_operators(data: st.DataObject) -> None:
    """A quantifier begins a new past, at any position in a formula."""
    system = data.draw(systems())
    inner = data.draw(st.one_of(paths(system, 2).map(lambda path: OnPaths("E", path)), formulas(system)))
    look_back = f.And((inner, data.draw(paths(system, 3))))
    formula = OnPaths("A", f.Until(Not(look_back), f.Once(look_back)))
    check(Naive(system), SymbolicEngine(system), formula, frozenset())


@given(st.data())
def test_nnf_is_equivalent(data: st.DataObject) -> None:
    system = data.draw(systems())
    path = data.draw(paths(system))
    oracle = Naive(system)
    for one, other in ((path, to_nnf(path)), (Not(path), to_nnf(Not(path)))):
        assert oracle.by_tableau(OnPaths("E", one)) == oracle.by_tableau(OnPaths("E", other))
    if is_prefix_independent(path):
        assert oracle.by_tableau(OnPaths("E", f.Next(path))) == oracle.by_tableau(OnPaths("E", path))
