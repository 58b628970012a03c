"""Expressions cache their hashes, and pickling leaves the cache out."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.systems import conditions_over, systems

from cplc.logic.expressions import Expr, substitute


@given(st.data())
def test_equal_expressions_have_equal_hashes(data: st.DataObject) -> None:
    expr: Expr = data.draw(conditions_over(data.draw(systems()).variables))
    again: Expr = pickle.loads(pickle.dumps(expr))
    assert again == expr
    assert hash(again) == hash(expr) == hash(expr)
    simplified = substitute(expr, {})
    assert hash(substitute(again, {})) == hash(simplified)


@given(st.data())
def test_pickled_expression_has_no_cached_hash(data: st.DataObject) -> None:
    """The next process has other hashes for the same words."""
    expr: Expr = data.draw(conditions_over(data.draw(systems()).variables))
    before = pickle.dumps(expr)
    hash(expr)
    assert pickle.dumps(expr) == before
