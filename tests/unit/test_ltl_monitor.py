"""Monitors of LTL formulas, against evaluation on lassos and small cases."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.automata import ltl
from cplc.automata.buchi import TooManyStates
from cplc.automata.ltl import FALSE, TICK, TRUE, And, Letter, Literal, Ltl, Or, Release, Until
from cplc.automata.monitor import MAX_STATES, NO_STEP, Monitor, monitor_of, states_before_minimisation

HOLDING: tuple[Letter, ...] = tuple(frozenset(some) for some in ((), (0,), (1,), (0, 1)))
STEPS: tuple[Letter, ...] = (NO_STEP, frozenset({2}), frozenset({TICK}))

Position = tuple[int, int]
Word = tuple[list[Position], list[Position]]
"""A lasso: positions that come once, and positions that repeat, in `HOLDING` and `STEPS`."""


def literals() -> st.SearchStrategy[Ltl]:
    return st.builds(Literal, st.sampled_from([0, 1, 2]), st.booleans())


def _combined(inner: st.SearchStrategy[Ltl]) -> st.SearchStrategy[Ltl]:
    bounds = st.sampled_from([None, None, 0, 1, 2])
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(ltl.conjunction),
        pairs.map(ltl.disjunction),
        st.builds(Until, inner, inner, bounds),
        st.builds(Release, inner, inner, bounds),
        st.builds(ltl.finally_, inner, bounds),
        st.builds(ltl.globally, inner, bounds),
        st.builds(ltl.weak_until, inner, inner),
    )


def formulas() -> st.SearchStrategy[Ltl]:
    return st.recursive(st.one_of(literals(), st.sampled_from([TRUE, FALSE])), _combined, max_leaves=4)


def positions() -> st.SearchStrategy[Position]:
    return st.tuples(st.integers(0, len(HOLDING) - 1), st.integers(0, len(STEPS) - 1))


def words() -> st.SearchStrategy[Word]:
    return st.tuples(st.lists(positions(), max_size=4), st.lists(positions(), min_size=1, max_size=3))


def holds(formula: Ltl, word: Word) -> bool:
    """Evaluate a formula on a lasso by its definition, going round the loop often enough."""
    prefix, loop = word
    rounds = 4 + _largest_bound(formula)
    letters = [HOLDING[h] | STEPS[s] for h, s in prefix + loop * rounds * (1 + _depth(formula))]
    return _holds(formula, letters, 0, len(loop) * rounds)


def _largest_bound(formula: Ltl) -> int:
    match formula:
        case And(operands) | Or(operands):
            return max(map(_largest_bound, operands), default=0)
        case Until(left, right, bound) | Release(left, right, bound):
            return max(bound or 0, _largest_bound(left), _largest_bound(right))
        case _:
            return 0


def _depth(formula: Ltl) -> int:
    match formula:
        case And(operands) | Or(operands):
            return max(map(_depth, operands), default=0)
        case Until(left, right) | Release(left, right):
            return 1 + max(_depth(left), _depth(right))
        case _:
            return 0


def _holds(formula: Ltl, letters: list[Letter], at: int, reach: int) -> bool:
    """Evaluate where ``reach`` positions ahead show all that an operator can still meet."""
    match formula:
        case Literal(atom, positive):
            return (atom in letters[at]) == positive
        case And(operands):
            return all(_holds(operand, letters, at, reach) for operand in operands)
        case Or(operands):
            return any(_holds(operand, letters, at, reach) for operand in operands)
        case Until(left, right, bound):
            ticks = 0
            for later in range(at, min(len(letters), at + reach)):
                if bound is not None and ticks > bound:
                    return False
                if _holds(right, letters, later, reach):
                    return True
                if not _holds(left, letters, later, reach):
                    return False
                ticks += TICK in letters[later]
            return False
        case Release():
            return not _holds(ltl.negation(formula), letters, at, reach)


def read(monitor: Monitor, word: list[Position], state: int = 0) -> int:
    for h, s in word:
        state = monitor.successor[state][h][s]
    return state


@given(formulas(), words())
def test_decided_word_has_verdict_on_all_continuations(formula: Ltl, word: Word) -> None:
    monitor = monitor_of(formula, HOLDING, STEPS)
    prefix, loop = word
    truth = holds(formula, word)
    for end in range(len(prefix) + 1):
        verdict = monitor.decided[read(monitor, prefix[:end])]
        assert verdict in (None, truth)
    assert monitor.decided[read(monitor, prefix + loop * 3)] in (None, truth)


@given(formulas(), st.lists(positions(), max_size=3))
def test_open_word_has_continuations_with_both_verdicts(formula: Ltl, word: list[Position]) -> None:
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
def test_at_rest_is_value_of_stuttering_word(formula: Ltl, word: list[Position], h: int) -> None:
    monitor = monitor_of(formula, HOLDING, STEPS)
    assert monitor.at_rest[read(monitor, word)][h] == holds(formula, (word, [(h, 0)]))


@given(formulas())
def test_negation_swaps_verdicts(formula: Ltl) -> None:
    one, other = monitor_of(formula, HOLDING, STEPS), monitor_of(ltl.negation(formula), HOLDING, STEPS)
    assert len(one.decided) == len(other.decided)
    assert {None if v is None else not v for v in one.decided} == set(other.decided)


@given(formulas())
def test_equivalent_formulas_have_one_monitor(formula: Ltl) -> None:
    assert monitor_of(formula, HOLDING, STEPS) == monitor_of(ltl.negation(ltl.negation(formula)), HOLDING, STEPS)
    doubled = ltl.conjunction((formula, Until(FALSE, formula)))
    assert monitor_of(formula, HOLDING, STEPS) == monitor_of(doubled, HOLDING, STEPS)


P, Q = Literal(0, True), Literal(1, True)


@pytest.mark.parametrize(
    ("formula", "open_states", "is_decided"),
    [
        (ltl.globally(ltl.negation(P)), 1, True),
        (ltl.finally_(P), 1, True),
        (Until(ltl.negation(P), Q), 1, True),
        (ltl.finally_(P, 3), 4, True),
        (ltl.globally(ltl.finally_(P)), 1, False),
        (ltl.globally(ltl.disjunction((ltl.negation(P), ltl.finally_(Q)))), 2, False),
        (TRUE, 0, True),
    ],
)
def test_monitor_is_minimal(formula: Ltl, open_states: int, is_decided: bool) -> None:
    monitor = monitor_of(formula, HOLDING, STEPS)
    assert (monitor.open_states, monitor.is_ever_decided) == (open_states, is_decided)


def test_entering_a_state_decides_what_no_step_changes() -> None:
    monitor = monitor_of(Until(ltl.negation(P), Q), HOLDING, STEPS)
    assert [monitor.on_entering(0, h) for h in range(4)] == [None, False, True, True]
    steps = monitor_of(ltl.globally(Literal(2, False)), HOLDING, STEPS)
    assert [steps.on_entering(0, h) for h in range(4)] == [None] * 4


def test_monitor_above_limit_is_rejected() -> None:
    with pytest.raises(TooManyStates):
        monitor_of(ltl.finally_(P, MAX_STATES + 1), HOLDING, STEPS)


@pytest.mark.parametrize("bound", [4, 40, 100])
def test_size_of_response_within_ticks_is_linear(bound: int) -> None:
    response = ltl.globally(ltl.disjunction((Literal(0, False), ltl.finally_(Literal(1, True), bound))))
    assert states_before_minimisation(response, HOLDING, STEPS) == bound + 3
    assert monitor_of(response, HOLDING, STEPS).open_states == bound + 2
