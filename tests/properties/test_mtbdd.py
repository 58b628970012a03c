"""Multi-terminal BDDs: a diagram is written as an expression equal to the one it was built from."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.lowering.mtbdd import Diagram, Manager
from cplc.system.interpreter import value

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
            *(
                e.Equal(e.Read(name), e.Const(constant))
                for name in ("life", "clock", "turn")
                for constant in DOMAINS[name]
            ),
        ]
    ),
    lambda inner: st.one_of(
        inner.map(e.Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda operands: e.And(tuple(operands))),
        st.lists(inner, min_size=2, max_size=3).map(lambda operands: e.Or(tuple(operands))),
    ),
    max_leaves=6,
)
_values: st.SearchStrategy[Expr] = st.recursive(
    st.sampled_from([e.Read("life"), *(e.Const(constant) for constant in DOMAINS["life"])]),
    lambda inner: st.builds(e.Ite, _conditions, inner, inner),
    max_leaves=8,
)


def built(mtbdd: Manager, expression: Expr) -> Diagram:
    match expression:
        case e.Ite(condition, then, otherwise):
            return mtbdd.ite(mtbdd.condition(condition, {}, ""), built(mtbdd, then), built(mtbdd, otherwise))
        case e.Const() | e.Read("life"):
            return mtbdd.variable("life") if isinstance(expression, e.Read) else mtbdd.leaf(expression)
        case _:
            return mtbdd.condition(expression, {}, "")


def normal_form(expression: Expr, decided: Iterable[str], first: str) -> Expr:
    """Build the diagram over the ``decided`` variables, and return its expression."""
    mtbdd = Manager({name: DOMAINS[name] for name in decided})
    return mtbdd.expression(built(mtbdd, expression), first)


@given(_values | _conditions, st.sampled_from(list(DOMAINS)), st.sets(st.sampled_from(list(DOMAINS))))
def test_normal_form_is_equal(expression: Expr, first: str, hidden: set[str]) -> None:
    normal = normal_form(expression, set(DOMAINS) - hidden | {"life"}, first)
    for values in product(*DOMAINS.values()):
        state = dict(zip(DOMAINS, values, strict=True))
        assert value(normal, state) == value(expression, state)


@given(_values)
def test_normal_form_is_idempotent(expression: Expr) -> None:
    normal = normal_form(expression, DOMAINS, "life")
    assert normal_form(normal, DOMAINS, "life") == normal


@given(_values, _values)
def test_equal_values_are_one_node(first: Expr, second: Expr) -> None:
    mtbdd = Manager(DOMAINS)
    states = [dict(zip(DOMAINS, values, strict=True)) for values in product(*DOMAINS.values())]
    same = all(value(first, state) == value(second, state) for state in states)
    assert (built(mtbdd, first) == built(mtbdd, second)) == same


@given(_values, _conditions, _values)
def test_large_diagram_gets_an_auxiliary_variable_and_stays_equal(first: Expr, condition: Expr, second: Expr) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cplc.lowering.mtbdd.MAX_SIZE", 2)
        test_normal_form_is_equal.hypothesis.inner_test(e.Ite(condition, first, second), "life", set())  # type: ignore[attr-defined]
        test_normal_form_is_equal.hypothesis.inner_test(condition, "life", set())  # type: ignore[attr-defined]


def test_auxiliary_variables_are_substituted() -> None:
    definitions = {"?0": e.And((e.Read("a"), e.Read("b")))}
    assert e.substitute(e.Ite(e.Read("?0"), e.Const("x"), e.Read("c")), definitions) == e.Ite(
        definitions["?0"], e.Const("x"), e.Read("c")
    )


def test_numbers_are_not_truth_values() -> None:
    number = e.Ite(e.Equal(e.Read("turn"), e.Const(1)), e.Const(0), e.Const(1))
    normal = normal_form(number, DOMAINS, "turn")
    assert isinstance(normal, e.Ite)
    assert normal.condition != e.Read("turn")
