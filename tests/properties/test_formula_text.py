"""A formula that is printed and read again is the same formula."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.support.commitment_channels import promises
from tests.support.generators.property_formulas import Sample, protocols
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils, Offering, SociallyCommits
from cplc.logic.expressions import TRUE
from cplc.logic.formulas import Formula
from cplc.source import Source
from cplc.syntax import ast
from cplc.syntax.formula_parser import read
from cplc.system.printer import formula_text

Shape = tuple[object, ...] | str
Limits = tuple[int, int, bool]
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
_ACTIONS = ("does(m)", "!does(m)", "does(send m)", "does(Mer) | does(delegate c to d)", "does(p) -> (does(q) & true)")
_PAIR, _ONE = promises("Mer -> Cus", []), promises("goods", [])
_GROUPS: tuple[tuple[str, ...], ...] = (("Mer",), ("Mer", "Cus"))


def formulas() -> SearchStrategy[Formula]:
    """Formulas on states and on paths; to the printer they are alike."""
    atoms = st.sampled_from(_TEXTS).map(lambda text: f.Atom(TRUE, text))
    return st.recursive(atoms | _actions(), _compound, max_leaves=8)


def _actions() -> SearchStrategy[f.Taken]:
    return st.sampled_from(_ACTIONS).map(lambda text: f.Taken(frozenset(), text))


def _compound(inner: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    ticks = st.none() | st.just(f.Taken(frozenset({"tick"}), "does(tick)"))
    windows = st.builds(lambda low, more, by: f.Bound(low + more, low, by), st.integers(0, 2), st.integers(0, 3), ticks)
    bounds = st.none() | windows
    quantifiers, groups = st.sampled_from(("A", "E")), st.sampled_from(_GROUPS)
    goals = st.one_of(
        st.builds(f.Next, inner), st.builds(f.Finally, inner), st.builds(f.Globally, inner),
        st.builds(f.Until, inner, inner),
    )  # fmt: skip
    return st.one_of(
        inner.map(f.Not),
        several.map(f.And),
        several.map(f.Or),
        st.builds(f.Implies, inner, inner),
        st.builds(f.Iff, inner, inner),
        *(inner.map(kind) for kind in (f.Next, f.Previous, f.Once, f.Historically)),
        *(st.builds(kind, inner, bounds) for kind in (f.Finally, f.Globally)),
        *(st.builds(kind, inner, inner, bounds) for kind in (f.Until, f.WeakUntil, f.Release, f.StrongRelease)),
        st.builds(f.Since, inner, inner),
        st.builds(f.OnPaths, quantifiers, inner, st.none() | _actions()),
        st.builds(f.OnPaths, quantifiers, inner),
        st.builds(f.Enforces, groups, goals, st.booleans()),
        st.builds(Commits, st.sampled_from((_PAIR, _ONE)), inner),
        st.builds(Fulfils, st.sampled_from((_PAIR, _ONE)), inner),
        st.builds(
            Conditional,
            st.sampled_from((Offering(_PAIR, ()), Offering(_ONE, ()))),
            st.sampled_from(("WCC", "SCC", "FuW", "FuS", "CaS", "ReS")),
            inner,
            inner,
        ),
        st.builds(
            Conditional,
            st.just(Offering(_PAIR, ())),
            st.sampled_from(("DeS", "AsS")),
            inner,
            inner,
            st.just(Offering(_PAIR, ())),
            st.just("Bank[1]"),
        ),
        st.builds(f.Knows, st.sampled_from(("each", "together", "common")), groups, inner),
    )


def parsed(text: str) -> Shape:
    expression, problems = read(Source("formula", text), text, 0)
    assert expression is not None, (text, problems)
    return read_shape(expression)


def read_shape(expression: ast.Expr) -> Shape:
    """Return what the parser has made of a text."""
    match expression:
        case ast.Unary(op, operand, bound, in_ticks, low):
            return op, _limits(low, bound, in_ticks), read_shape(operand)
        case ast.Junction(op, operands):
            return joined(op, [read_shape(operand) for operand in operands])
        case ast.Binary(op, left, right, bound, in_ticks, low):
            return op, _limits(low, bound, in_ticks), read_shape(left), read_shape(right)
        case ast.OverPaths(quantifier, path, along):
            return quantifier, None if along is None else read_shape(along), read_shape(path)
        case ast.Strategic(group, path):
            return "<<>>", tuple(agent.span.text for agent in group), read_shape(path)
        case ast.Social(modality, between, body):
            return modality, " -> ".join(ref.span.text for ref in between), read_shape(body)
        case ast.Conditional(modality, between, other, antecedent, consequent):
            parties = " -> ".join(ref.span.text for ref in between)
            third = None if other is None else other.span.text
            return modality, parties, third, read_shape(antecedent), read_shape(consequent)
        case ast.Knowledge(modality, group, body):
            return modality, tuple(agent.span.text for agent in group), read_shape(body)
        case _:
            return expression.span.text


def _limits(low: ast.Expr | None, bound: ast.Expr | None, in_ticks: bool) -> Limits | None:
    assert low is None or isinstance(low, ast.Literal_)
    assert bound is None or isinstance(bound, ast.Literal_)
    return None if bound is None else (0 if low is None else int(low.value), int(bound.value), in_ticks)


def limits(bound: f.Bound | None) -> Limits | None:
    return None if bound is None else (bound.low, bound.high, bound.ticks is not None)


def joined(op: str, operands: list[Shape]) -> Shape:
    flat: list[object] = []
    for operand in operands:
        flat.extend(operand[1:] if isinstance(operand, tuple) and operand[0] == op else [operand])
    return op, *flat


def shape(formula: Formula) -> Shape:
    """Return what the parser should make of the formula."""
    match formula:
        case f.Atom(_, text) | f.Taken(_, text) | f.Shorthand(_, text):
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
        case f.OnPaths(quantifier, path, along):
            return quantifier, None if along is None else parsed(along.text), shape(path)
        case f.Enforces(group, goal):
            return "<<>>", group, shape(goal)
        case Commits(channel, operand):
            return "C", channel.name, shape(operand)
        case Fulfils(channel, operand):
            return "Fu", channel.name, shape(operand)
        case Conditional(channel, modality, antecedent, consequent, _, other):
            return modality, channel.name, other, shape(antecedent), shape(consequent)
        case SociallyCommits(pair, _, operand, None):
            return "SC", pair, shape(operand)
        case SociallyCommits(pair, _, operand, trigger):
            assert trigger is not None
            return "SCc", pair, shape(trigger), shape(operand)
        case f.KnownFrom():
            raise AssertionError("the language has no syntax for it")
        case f.Knows("each", (agent,), operand):
            return "K", (agent,), shape(operand)
        case f.Knows(mode, agents, operand):
            return {"each": "EK", "together": "DK", "common": "CK"}[mode], agents, shape(operand)
        case f.Next(operand):
            return "X", None, shape(operand)
        case f.Finally(operand, bound):
            return "F", limits(bound), shape(operand)
        case f.Globally(operand, bound):
            return "G", limits(bound), shape(operand)
        case f.Until(left, right, bound):
            return "U", limits(bound), shape(left), shape(right)
        case f.WeakUntil(left, right, bound):
            return "W", limits(bound), shape(left), shape(right)
        case f.StrongRelease(left, right, bound):
            return "M", limits(bound), shape(left), shape(right)
        case f.Release(left, right, bound):
            return "R", limits(bound), shape(left), shape(right)
        case f.Since(left, right):
            return "S", None, shape(left), shape(right)
        case f.Previous(operand):
            return "Y", None, shape(operand)
        case f.Once(operand):
            return "O", None, shape(operand)
        case f.Historically(operand):
            return "H", None, shape(operand)
        case f.Adjacent() | f.Regardless() | f.Derived():
            raise AssertionError("nothing of protocols is said so")


@examples(300)
@given(formulas())
def test_printed_and_read_again(formula: Formula) -> None:
    assert parsed(formula_text(formula)) == shape(formula)


@examples(20, suppress_health_check=[HealthCheck.too_slow])
@given(protocols(3))
def test_printed_formula_is_parsed_again(sample: Sample) -> None:
    """It says the same; once constants are folded, in the same words."""
    compilation = CplCompilation(Source("sample.cpl", sample.text), None)
    assume(compilation.model is not None)
    for question in compilation.declared_questions():
        if question.question.kind == "property":
            again = compilation.formula_question(question.question.text)
            assert not isinstance(again, tuple), (question.question.text, again)
            once_more = compilation.formula_question(formula_text(again.question.formula))
            assert not isinstance(once_more, tuple)
            assert once_more.question.formula == again.question.formula
