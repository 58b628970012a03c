"""Stutter invariance: a formula has one value on a run and on every run with stutter steps inserted."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.support.oracles.lasso_words import holds
from tests.support.oracles.model_checker import evaluate
from tests.support.random_examples import examples

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula, Taken
from cplc.reductions.stutter import is_stutter_invariant

Letter = tuple[bool, bool, str | None]
"""True if p and q are so, and the step that is taken."""

P, Q = f.Atom(e.Read("p"), "p"), f.Atom(e.Read("q"), "q")
TRUE, FALSE = f.Atom(e.TRUE, "true"), f.Atom(e.FALSE, "false")
A, B, BOTH = (Taken(frozenset(steps), steps) for steps in ("a", "b", "ab"))

_BEGINNING = 12
"""Look-ahead of the formulas drawn below, in steps that change something."""

letters: SearchStrategy[Letter] = st.tuples(st.booleans(), st.booleans(), st.sampled_from((None, "a", "b")))
words = st.lists(letters, min_size=1, max_size=4)
pauses = st.lists(st.integers(0, 2), min_size=4, max_size=4)


def paths() -> SearchStrategy[Formula]:
    return st.recursive(st.sampled_from((P, Q, A, B, A, B, BOTH, TRUE, FALSE)), _compound, max_leaves=5)


def _compound(inner: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    ticks = st.none() | st.just(B)
    steps = st.builds(lambda low, more, by: f.Bound(low + more, low, by), st.integers(0, 1), st.integers(0, 2), ticks)
    bounds = st.none() | st.none() | steps
    unbounded = (f.Since, f.Implies, f.Iff)
    return st.one_of(
        inner.map(f.Not),
        several.map(f.And),
        several.map(f.Or),
        *(inner.map(kind) for kind in (f.Next, f.Previous, f.Once, f.Historically)),
        *(st.builds(kind, inner, inner) for kind in unbounded),
        *(st.builds(kind, inner, bounds) for kind in (f.Finally, f.Globally)),
        *(st.builds(kind, inner, inner, bounds) for kind in (f.Until, f.WeakUntil, f.Release, f.StrongRelease)),
    )


def _says(path: Formula, stem: list[Letter], loop: list[Letter]) -> bool:
    word = stem + loop

    def seen(part: Formula, position: int) -> bool:
        p, q, step = word[position if position < len(word) else (position - len(stem)) % len(loop) + len(stem)]
        if isinstance(part, Taken):
            return step in part.steps
        return _is_so(part, p, q)

    return holds(path, len(stem), len(loop), seen)


def _is_so(part: Formula, p: bool, q: bool) -> bool:
    match part:
        case f.Atom(condition):
            return bool(evaluate(condition, {"p": p, "q": q}))
        case f.Not(operand):
            return not _is_so(operand, p, q)
        case f.And(operands):
            return all(_is_so(operand, p, q) for operand in operands)
        case f.Or(operands):
            return any(_is_so(operand, p, q) for operand in operands)
        case f.Implies(left, right):
            return not _is_so(left, p, q) or _is_so(right, p, q)
        case f.Iff(left, right):
            return _is_so(left, p, q) is _is_so(right, p, q)
        case _:
            raise AssertionError(part)


def _with_pauses(word: list[Letter], copies: list[int]) -> list[Letter]:
    return [
        letter for (p, q, step), n in zip(word, copies, strict=False) for letter in [(p, q, None)] * n + [(p, q, step)]
    ]


@examples(400)
@given(paths(), words, words, pauses)
def test_stutter_steps_after_a_prefix_preserve_value(
    path: Formula, stem: list[Letter], loop: list[Letter], copies: list[int]
) -> None:
    assume(is_stutter_invariant(path))
    begun = stem + loop * _BEGINNING
    assert _says(path, stem, loop) == _says(path, begun, _with_pauses(loop, copies))


@examples(400)
@given(paths(), words, words, pauses, pauses)
def test_stutter_steps_from_the_start_preserve_value_without_next(
    path: Formula, stem: list[Letter], loop: list[Letter], copies: list[int], more: list[int]
) -> None:
    steady = f.Globally(f.Implies(A, path))  # that bears pauses if the last copies do in which `a` is taken
    assume(is_stutter_invariant(steady))
    assert _says(steady, stem, loop) == _says(steady, _with_pauses(stem, copies), _with_pauses(loop, more))


@pytest.mark.parametrize(
    "path",
    [
        f.Globally(f.Implies(A, f.Finally(B))),
        f.Globally(f.Implies(B, f.Once(A))),
        f.Globally(f.Implies(A, f.Next(P))),
        f.Finally(f.And((A, f.Since(P, B)))),
        f.Until(f.Not(A), B),
        f.WeakUntil(f.Implies(A, P), Q),
        f.Finally(f.Globally(f.Not(A))),
        f.Globally(f.Finally(f.And((P, A)))),
        f.Next(f.Next(A)),
        f.Finally(f.And((P, Q)), f.Bound(3)),
        f.Finally(f.And((P, Q)), f.Bound(3, ticks=B)),
        f.Globally(f.Implies(P, f.Finally(A, f.Bound(3, 1, B)))),
        f.And((A, f.Next(f.Globally(P)))),
    ],
)
def test_stutter_invariant_formulas(path: Formula) -> None:
    assert is_stutter_invariant(path)
    assert is_stutter_invariant(f.Not(path))


@pytest.mark.parametrize(
    "path",
    [
        f.Globally(A),
        f.Globally(f.Next(P)),
        f.Finally(f.Previous(P)),
        f.Globally(f.Finally(P, f.Bound(3))),
        f.Until(P, A),
        f.Finally(f.Or((f.Not(A), P))),
        f.Globally(f.Implies(P, f.Once(A))),
        f.Finally(f.And((A, f.Next(B)))),
    ],
)
def test_formulas_that_observe_stuttering(path: Formula) -> None:
    assert not is_stutter_invariant(path)
    assert not is_stutter_invariant(f.Not(path))
