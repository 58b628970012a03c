"""The traversals of terms: order, expansion of facts, polarity."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.semantics import terms as t

_NAMES = ("a", "b", "c")
_OPERATORS: list[t.Op] = ["&", "|", "->", "<->"]
_LEAVES = st.sampled_from([*map(t.Happened, _NAMES), t.FactRef("f"), t.Const(False)])
_TERMS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda term: t.Apply("!", (term,))),
        st.tuples(st.sampled_from(_OPERATORS), inner, inner).map(lambda one: t.Apply(one[0], one[1:])),
    ),
    max_leaves=8,
)
_MEANINGS: Mapping[str, t.Term] = {"f": t.Apply("->", (t.Happened("a"), t.Happened("b")))}


def _holds(term: t.Term, happened: frozenset[str]) -> bool:
    match term:
        case t.Const(value):
            return value is True
        case t.Happened(message):
            return message in happened
        case t.FactRef(fact):
            return _holds(_MEANINGS[fact], happened)
        case t.Apply(op, operands):
            values = [_holds(operand, happened) for operand in operands]
            return {
                "!": not values[0],
                "&": all(values),
                "|": any(values),
                "->": not values[0] or values[-1],
                "<->": values[0] == values[-1],
            }[op]
        case _:
            raise AssertionError(term)


@given(_TERMS)
def test_term_is_monotone_in_its_positive_atoms(term: t.Term) -> None:
    polarities = set(t.signed_atoms(term, _MEANINGS))
    for name in _NAMES:
        for chosen in product((False, True), repeat=len(_NAMES)):
            without = frozenset(other for other, is_set in zip(_NAMES, chosen, strict=True) if is_set) - {name}
            before, after = _holds(term, without), _holds(term, without | {name})
            assert before <= after or (t.Happened(name), False) in polarities
            assert after <= before or (t.Happened(name), True) in polarities


def test_payload_occurs_positively_in_a_comparison() -> None:
    compared = t.Apply("!=", (t.Field("pay", "amount"), t.Var("A.price")))
    assert list(t.signed_atoms(compared, {})) == [(t.Field("pay", "amount"), True), (t.Var("A.price"), False)]


def test_subterms_are_in_the_order_of_the_text() -> None:
    a, b, fact = t.Happened("a"), t.Happened("b"), t.FactRef("f")
    both = t.Apply("&", (fact, b))
    path = t.OverPaths("A", t.Apply("G", (both,)))
    assert list(t.subterms(path)) == [path, path.path, both, fact, b]
    assert list(t.atoms(path)) == [fact, b]
    assert list(t.subterms(fact, _MEANINGS)) == [fact, _MEANINGS["f"], a, b]


def test_subterms_of_a_deep_term_need_no_recursion() -> None:
    term: t.Term = t.Happened("a")
    for _ in range(100_000):
        term = t.Apply("!", (term,))
    assert sum(1 for _ in t.subterms(term)) == 100_001


def test_traversals_stand_in_one_module() -> None:
    """A function that only visits the operands of terms one after the other is a use of `subterms`."""
    source = Path(t.__file__).parents[1]
    plain = [
        f"{path.name}: {function.name}"
        for part in ("semantics", "lowering", "compilation", "monitoring", "mutation")
        for path in (source / part).glob("*.py")
        if path != Path(t.__file__)
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        if any(
            isinstance(loop, ast.For)
            and isinstance(loop.body[0], ast.Expr)
            and isinstance(loop.body[0].value, ast.YieldFrom)
            and ast.unparse(loop.iter) == "operands"
            for loop in ast.walk(function)
        )
    ]
    assert sorted(plain) == ["content_lints.py: _demanded", "instantiate.py: _binders_in", "value_ranges.py: _literals"]
    """The first and the last stop at some operators, the second walks over trees with loop variables."""


@pytest.mark.parametrize(
    ("op", "numbers", "expected"), [("-", [3], -3), ("-", [3, 5], -2), ("%", [7, 4], 3), ("%", [7, 0], 0)]
)
def test_arithmetic_on_constants(op: str, numbers: list[int], expected: int) -> None:
    assert t.calculated(op, numbers) == expected
