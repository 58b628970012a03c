"""A formula that is printed and read again is the same formula."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.strategies import paths

from cplc.source import Source
from cplc.syntax import ast
from cplc.syntax.formulas import read
from cplc.system import formula as f
from cplc.system.expr import TRUE
from cplc.system.formula import Formula
from cplc.system.printer import formula_text

Shape = tuple[object, ...] | str
"""A tree without its spans; conjunctions and disjunctions have any number of operands."""

_TEXTS = (
    "p",
    "q[1]",
    "!p",
    "p & q",
    "p | q",
    "p -> q",
    "p <-> q",
    "m.x = 3",
    "m.x + 1 <= 3",
    "active(c@Mer)",
    "!m.x = 3",
)
_GROUPS: tuple[tuple[str, ...], ...] = (("Mer",), ("Mer", "Cus"))


def formulas() -> SearchStrategy[Formula]:
    return st.recursive(st.sampled_from(_TEXTS).map(lambda text: f.Atom(TRUE, text)), _compound, max_leaves=8)


def _compound(inner: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        inner.map(f.Not),
        several.map(f.And),
        several.map(f.Or),
        st.builds(f.Implies, inner, inner),
        st.builds(f.Iff, inner, inner),
        st.builds(f.OnPaths, st.sampled_from(("A", "E")), paths(inner)),
        st.builds(f.Commits, st.just("Mer"), st.just("Cus"), inner),
        st.builds(f.Fulfils, st.just("Cus"), st.just("Mer"), inner),
        st.builds(f.Knows, st.sampled_from(("each", "together", "common")), st.sampled_from(_GROUPS), inner),
    )


def parsed(text: str) -> Shape:
    expression, problems = read(Source("formula", text), text, 0)
    assert expression is not None, (text, problems)
    return read_shape(expression)


def read_shape(expression: ast.Expr) -> Shape:
    """Return what the parser has made of a text."""
    match expression:
        case ast.Unary(op, operand, bound):
            return op, _number(bound), read_shape(operand)
        case ast.Binary("&" | "|" as op, left, right):
            return joined(op, [read_shape(left), read_shape(right)])
        case ast.Binary(op, left, right, bound):
            return op, _number(bound), read_shape(left), read_shape(right)
        case ast.OverPaths(quantifier, path):
            return quantifier, read_shape(path)
        case ast.Social(modality, debtor, creditor, body):
            return modality, debtor.span.text, creditor.span.text, read_shape(body)
        case ast.Knowledge(modality, group, body):
            return modality, tuple(agent.span.text for agent in group), read_shape(body)
        case _:
            return expression.span.text


def _number(bound: ast.Expr | None) -> int | None:
    assert bound is None or isinstance(bound, ast.Literal_)
    return None if bound is None else int(bound.value)


def joined(op: str, operands: list[Shape]) -> Shape:
    flat: list[object] = []
    for operand in operands:
        flat.extend(operand[1:] if isinstance(operand, tuple) and operand[0] == op else [operand])
    return op, *flat


def shape(formula: Formula) -> Shape:
    """Return what the parser should make of the formula."""
    match formula:
        case f.Atom(_, text):
            return parsed(text)
        case f.Not(operand):
            return "!", None, shape(operand)
        case f.And(operands):
            return joined("&", [shape(operand) for operand in operands])
        case f.Or(operands):
            return joined("|", [shape(operand) for operand in operands])
        case f.Implies(left, right):
            return "->", None, shape(left), shape(right)
        case f.Iff(left, right):
            return "<->", None, shape(left), shape(right)
        case f.OnPaths(quantifier, path):
            return quantifier, _path_shape(path)
        case f.Commits(debtor, creditor, operand):
            return "C", debtor, creditor, shape(operand)
        case f.Fulfils(debtor, creditor, operand):
            return "Fu", debtor, creditor, shape(operand)
        case f.Knows("each", (agent,), operand):
            return "K", (agent,), shape(operand)
        case f.Knows(mode, agents, operand):
            return {"each": "EK", "together": "DK", "common": "CK"}[mode], agents, shape(operand)


def _path_shape(path: f.Path) -> Shape:
    match path:
        case f.Next(operand):
            return "X", None, shape(operand)
        case f.Finally(operand, bound):
            return "F", bound, shape(operand)
        case f.Globally(operand, bound):
            return "G", bound, shape(operand)
        case f.Until(left, right, bound):
            return "U", bound, shape(left), shape(right)
        case f.WeakUntil(left, right):
            return "W", None, shape(left), shape(right)
        case f.Release(left, right):
            return "R", None, shape(left), shape(right)


@settings(max_examples=300)
@given(formulas())
def test_printed_and_read_again(formula: Formula) -> None:
    assert parsed(formula_text(formula)) == shape(formula)
