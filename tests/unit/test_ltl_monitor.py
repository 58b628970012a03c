"""Monitors of LTL formulas, against evaluation on lassos and small cases."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.automata.letter_progression import Letter, TooManyStates
from cplc.automata.monitor import (
    MAX_STATES,
    NO_STEP,
    TICK,
    TICKS,
    Monitor,
    atom_formula,
    monitor_of,
    states_before_minimisation,
)
from cplc.logic import formulas as f
from cplc.logic.expressions import Read
from cplc.logic.formulas import Formula

HOLDING: tuple[Letter, ...] = tuple(frozenset(some) for some in ((), (0,), (1,), (0, 1)))
STEPS: tuple[Letter, ...] = (NO_STEP, frozenset({2}), frozenset({TICK}))

Position = tuple[int, int]
Word = tuple[list[Position], list[Position]]
"""A lasso: positions that come once, and positions that repeat, in `HOLDING` and `STEPS`."""


def literals() -> st.SearchStrategy[Formula]:
    atoms = st.sampled_from([0, 1, 2]).map(atom_formula)
    return st.one_of(atoms, atoms.map(f.Not))


def window(high: int | None, low: int = 0) -> f.Bound | None:
    return None if high is None else f.Bound(high, min(low, high), TICKS)


def _combined(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    bounds = st.builds(window, st.sampled_from([None, None, 0, 1, 2]), st.sampled_from([0, 0, 1]))
    pairs = st.tuples(inner, inner)
    return st.one_of(
        inner.map(f.Not),
        pairs.map(f.And),
        pairs.map(f.Or),
        st.builds(f.Iff, inner, inner),
        st.builds(f.Until, inner, inner, bounds),
        st.builds(f.Release, inner, inner, bounds),
        st.builds(f.Finally, inner, bounds),
        st.builds(f.Globally, inner, bounds),
        st.builds(f.WeakUntil, inner, inner, bounds),
        st.builds(f.StrongRelease, inner, inner, bounds),
    )


def formulas() -> st.SearchStrategy[Formula]:
    return st.recursive(st.one_of(literals(), st.sampled_from([f.VALID, f.UNSATISFIABLE])), _combined, max_leaves=4)


def positions() -> st.SearchStrategy[Position]:
    return st.tuples(st.integers(0, len(HOLDING) - 1), st.integers(0, len(STEPS) - 1))


def words() -> st.SearchStrategy[Word]:
    return st.tuples(st.lists(positions(), max_size=4), st.lists(positions(), min_size=1, max_size=3))


def holds(formula: Formula, word: Word) -> bool:
    """Evaluate a formula on a lasso by its definition, going round the loop often enough."""
    prefix, loop = word
    bounds = [
        one.bound.high for one in f.core_subformulas(formula) if isinstance(one, f.Until | f.Release) and one.bound
    ]
    rounds = 4 + max(bounds, default=0)
    letters = [HOLDING[h] | STEPS[s] for h, s in prefix + loop * rounds * (1 + _depth(formula))]
    return _holds(formula, letters, 0, len(loop) * rounds)


def _depth(formula: Formula) -> int:
    """Return how many operators about later positions are nested."""
    core = f.core(formula)
    return isinstance(core, f.Until | f.Release) + max(map(_depth, f.children(core)), default=0)


def _holds(formula: Formula, letters: list[Letter], at: int, reach: int) -> bool:
    """Evaluate where ``reach`` positions ahead show all that an operator can still meet."""
    match f.core(formula):
        case f.Atom(Read(number)):
            return int(number) in letters[at]
        case f.Atom():
            return formula == f.VALID
        case f.Not(operand):
            return not _holds(operand, letters, at, reach)
        case f.And(operands):
            return all(_holds(operand, letters, at, reach) for operand in operands)
        case f.Until(left, right, bound):
            ticks = 0
            for later in range(at, min(len(letters), at + reach)):
                if bound is not None and ticks > bound.high:
                    return False
                if (bound is None or ticks >= bound.low) and _holds(right, letters, later, reach):
                    return True
                if not _holds(left, letters, later, reach):
                    return False
                ticks += TICK in letters[later]
            return False
        case f.Release(left, right, bound):
            return not _holds(f.Until(f.Not(left), f.Not(right), bound), letters, at, reach)
        case other:
            raise AssertionError(other)


def read(monitor: Monitor, word: list[Position], state: int = 0) -> int:
    for h, s in word:
        state = monitor.successor[state][h][s]
    return state


@given(formulas(), words())
def test_decided_word_has_verdict_on_all_continuations(formula: Formula, word: Word) -> None:
    monitor = monitor_of(formula, HOLDING, STEPS)
    prefix, loop = word
    truth = holds(formula, word)
    for end in range(len(prefix) + 1):
        verdict = monitor.decided[read(monitor, prefix[:end])]
        assert verdict in (None, truth)
    assert monitor.decided[read(monitor, prefix + loop * 3)] in (None, truth)


@given(formulas(), st.lists(positions(), max_size=3))
def test_open_word_has_continuations_with_both_verdicts(formula: Formula, word: list[Position]) -> None:
    monitor = monitor_of(formula, HOLDING, STEPS)
    if monitor.decided[read(monitor, word)] is not None:
        return
    ends = [(list(stem), list(loop)) for stem in _short(2) for loop in _short(2) if loop]
    truths = {holds(formula, (word + stem, loop)) for stem, loop in ends}
    assert truths == {True, False}


def _short(most: int) -> list[tuple[Position, ...]]:
    letters = [(h, s) for h in (0, 1, 2, 3) for s in (0, 1, 2)]
    return [one for size in range(most) for one in product(letters, repeat=size)] + [
        (one, other) for one in letters[::5] for other in letters[::4]
    ]


@given(formulas(), st.lists(positions(), max_size=3), st.integers(0, len(HOLDING) - 1))
def test_at_rest_is_value_of_stuttering_word(formula: Formula, word: list[Position], h: int) -> None:
    monitor = monitor_of(formula, HOLDING, STEPS)
    assert monitor.at_rest[read(monitor, word)][h] == holds(formula, (word, [(h, 0)]))


@given(formulas())
def test_negation_swaps_verdicts(formula: Formula) -> None:
    one, other = monitor_of(formula, HOLDING, STEPS), monitor_of(f.Not(formula), HOLDING, STEPS)
    assert len(one.decided) == len(other.decided)
    assert {None if v is None else not v for v in one.decided} == set(other.decided)


@given(formulas())
def test_equivalent_formulas_have_one_monitor(formula: Formula) -> None:
    assert monitor_of(formula, HOLDING, STEPS) == monitor_of(f.Not(f.Not(formula)), HOLDING, STEPS)
    doubled = f.And((formula, f.Until(f.UNSATISFIABLE, formula)))
    assert monitor_of(formula, HOLDING, STEPS) == monitor_of(doubled, HOLDING, STEPS)


P, Q = atom_formula(0), atom_formula(1)


@pytest.mark.parametrize(
    ("formula", "open_states", "is_decided"),
    [
        (f.Globally(f.Not(P)), 1, True),
        (f.Finally(P), 1, True),
        (f.Until(f.Not(P), Q), 1, True),
        (f.Finally(P, window(3)), 4, True),
        (f.Globally(f.Finally(P)), 1, False),
        (f.Globally(f.Implies(P, f.Finally(Q))), 2, False),
        (f.VALID, 0, True),
    ],
)
def test_monitor_is_minimal(formula: Formula, open_states: int, is_decided: bool) -> None:
    monitor = monitor_of(formula, HOLDING, STEPS)
    assert (monitor.open_states, monitor.is_ever_decided) == (open_states, is_decided)


def test_entering_a_state_decides_what_no_step_changes() -> None:
    monitor = monitor_of(f.Until(f.Not(P), Q), HOLDING, STEPS)
    assert [monitor.on_entering(0, h) for h in range(4)] == [None, False, True, True]
    steps = monitor_of(f.Globally(f.Not(atom_formula(2))), HOLDING, STEPS)
    assert [steps.on_entering(0, h) for h in range(4)] == [None] * 4


def test_monitor_above_limit_is_rejected() -> None:
    with pytest.raises(TooManyStates):
        monitor_of(f.Finally(P, window(MAX_STATES + 1)), HOLDING, STEPS)


@pytest.mark.parametrize("bound", [4, 40, 100])
def test_size_of_response_within_ticks_is_linear(bound: int) -> None:
    response = f.Globally(f.Implies(P, f.Finally(Q, window(bound))))
    assert states_before_minimisation(response, HOLDING, STEPS) == bound + 3
    assert monitor_of(response, HOLDING, STEPS).open_states == bound + 2
