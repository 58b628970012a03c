"""What is built case by case and written out says what the expression said, for every value of its variables."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.checking.interpreter import value
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.lowering.mtbdd import Cases, Outcome

DOMAINS: dict[str, tuple[Value, ...]] = {
    "life": ("null", "active", "violated"),
    "clock": (0, 1, 2),
    "turn": (0, 1),
    "seen": (False, True),
}

_conditions: st.SearchStrategy[Expr] = st.recursive(
    st.sampled_from(
        [
            e.Read("seen"),
            *(e.Equal(e.Read(name), e.Const(known)) for name in ("life", "clock", "turn") for known in DOMAINS[name]),
        ]
    ),
    lambda inner: st.one_of(
        inner.map(e.Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda found: e.And(tuple(found))),
        st.lists(inner, min_size=2, max_size=3).map(lambda found: e.Or(tuple(found))),
    ),
    max_leaves=6,
)
_values: st.SearchStrategy[Expr] = st.recursive(
    st.sampled_from([e.Read("life"), *(e.Const(known) for known in DOMAINS["life"])]),
    lambda inner: st.builds(e.Ite, _conditions, inner, inner),
    max_leaves=8,
)


def built(cases: Cases, expression: Expr) -> Outcome:
    match expression:
        case e.Ite(condition, then, otherwise):
            return cases.choose(cases.condition(condition, {}, ""), built(cases, then), built(cases, otherwise))
        case e.Const() | e.Read("life"):
            return cases.variable("life") if isinstance(expression, e.Read) else cases.leaf(expression)
        case _:
            return cases.condition(expression, {}, "")


def tidy(expression: Expr, told_apart: Iterable[str], first: str) -> Expr:
    """Build and write it; what is not told apart occurs only as a whole."""
    cases = Cases({name: DOMAINS[name] for name in told_apart})
    return cases.expression(built(cases, expression), first)


@given(_values | _conditions, st.sampled_from(list(DOMAINS)), st.sets(st.sampled_from(list(DOMAINS))))
def test_normal_form_is_equal(expression: Expr, first: str, hidden: set[str]) -> None:
    neat = tidy(expression, set(DOMAINS) - hidden | {"life"}, first)
    for values in product(*DOMAINS.values()):
        state = dict(zip(DOMAINS, values, strict=True))
        assert value(neat, state) == value(expression, state)


@given(_values)
def test_normal_form_of_the_normal_form_is_itself(expression: Expr) -> None:
    neat = tidy(expression, DOMAINS, "life")
    assert tidy(neat, DOMAINS, "life") == neat


@given(_values, _values)
def test_equal_values_are_one_node(first: Expr, second: Expr) -> None:
    cases = Cases(DOMAINS)
    states = [dict(zip(DOMAINS, values, strict=True)) for values in product(*DOMAINS.values())]
    same = all(value(first, state) == value(second, state) for state in states)
    assert (built(cases, first) == built(cases, second)) == same


@given(_values, _conditions, _values)
def test_what_has_many_cases_gets_a_name_and_stays_equal(first: Expr, condition: Expr, second: Expr) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cplc.lowering.mtbdd._MANY", 2)
        test_normal_form_is_equal.hypothesis.inner_test(e.Ite(condition, first, second), "life", set())  # type: ignore[attr-defined]
        test_normal_form_is_equal.hypothesis.inner_test(condition, "life", set())  # type: ignore[attr-defined]


def test_expressions_are_put_in_the_place_of_names() -> None:
    stands_for = {"?0": e.And((e.Read("a"), e.Read("b")))}
    assert e.substitute(e.Ite(e.Read("?0"), e.Const("x"), e.Read("c")), stands_for) == e.Ite(
        stands_for["?0"], e.Const("x"), e.Read("c")
    )


def test_numbers_are_no_truth_values() -> None:
    number = e.Ite(e.Equal(e.Read("turn"), e.Const(1)), e.Const(0), e.Const(1))
    neat = tidy(number, DOMAINS, "turn")
    assert isinstance(neat, e.Ite)
    assert neat.condition != e.Read("turn")
