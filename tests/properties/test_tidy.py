"""The normal form of updates says what the expression said, for every value of its variables."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from cplc.lowering.tidy import restore, tidy
from cplc.system import expr as e
from cplc.system.expr import Expr, Value
from cplc.verification.interpreter import value

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


@given(_values | _conditions, st.sampled_from(list(DOMAINS)))
def test_normal_form_is_equal(expression: Expr, first: str) -> None:
    neat = tidy(expression, DOMAINS, first)
    for values in product(*DOMAINS.values()):
        state = dict(zip(DOMAINS, values, strict=True))
        assert value(neat, state) == value(expression, state)


@given(_values)
def test_normal_form_of_the_normal_form_is_itself(expression: Expr) -> None:
    neat = tidy(expression, DOMAINS, "life")
    assert tidy(neat, DOMAINS, "life") == neat


def test_restoring_puts_conditions_back() -> None:
    stands_for = {"?0": e.And((e.Read("a"), e.Read("b")))}
    assert restore(e.Ite(e.Read("?0"), e.Const("x"), e.Read("c")), stands_for) == e.Ite(
        stands_for["?0"], e.Const("x"), e.Read("c")
    )


def test_numbers_are_no_truth_values() -> None:
    number = e.Ite(e.Equal(e.Read("turn"), e.Const(1)), e.Const(0), e.Const(1))
    neat = tidy(number, DOMAINS, "turn")
    assert isinstance(neat, e.Ite)
    assert neat.condition != e.Read("turn")
