"""Random syntax trees: everything that the language can express, without regard to meaning."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, cast

from hypothesis import strategies as st

from cplc.source import Source, Span
from cplc.syntax import ast

NOWHERE: Final = Span(Source("nowhere", ""), 0, 0)

_OPERATOR_WORDS = ("A", "E", "X", "F", "G", "U", "W", "R", "M", "S", "Y", "O", "H", "AG", "EF", "C", "K", "Fu", "does")
_CONTEXTUAL = (
    "to", "with", "in", "as", "expect", "holds", "fails", "receipt", "within", "revocable", "retaining",
    "goal", "value", "believes", "chooses", "plays", "when", "any", "each",
)  # fmt: skip
_PLAIN = ("a", "b", "pay", "goods", "Mer", "Cus", "_x1", "therefore2", "AGx", "important", "settle", "stop", "trueish")

plain_names = st.sampled_from(_PLAIN)
any_names = st.sampled_from(
    _PLAIN
    + _OPERATOR_WORDS
    + _CONTEXTUAL
    + ("channel", "var", "sync", "unordered", "fifo", "lossy", "duplicating", "expires", "record", "returns", "else")
)
family_names = st.sampled_from(_PLAIN + _CONTEXTUAL)
"""Names that may have indices: those of operators and before roles may not."""

literals = st.builds(
    ast.Literal_, st.one_of(st.booleans(), st.integers(min_value=0, max_value=10**18 - 1)), span=st.just(NOWHERE)
)


def _name(text: str) -> ast.Name:
    return ast.Name(text, span=NOWHERE)


names = any_names.map(_name)
titles = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029"), max_size=12)
docs = st.none() | st.lists(plain_names, min_size=1, max_size=3).map("\n".join)


def _refs(indices: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Ref]:
    lone = any_names.map(lambda text: ast.Segment(_name(text)))
    indexed = st.builds(ast.Segment, family_names.map(_name), st.lists(indices, min_size=1, max_size=2).map(tuple))
    dotted = st.tuples(lone | indexed, lone | indexed)
    segments = st.one_of(lone.map(lambda one: (one,)), indexed.map(lambda one: (one,)), dotted)
    return st.builds(ast.Ref, segments, span=st.just(NOWHERE))


refs = _refs(literals | plain_names.map(lambda text: ast.Ref((ast.Segment(_name(text)),), span=NOWHERE)))
_joining = st.sampled_from(("to", "with"))
_call_names = family_names.map(_name)


_of_pairs = st.sampled_from(("WCC", "SCC", "FuW", "FuS", "CaS", "ReS"))


def _group(least: int, most: int = 3) -> st.SearchStrategy[tuple[ast.Ref, ...]]:
    return st.lists(refs, min_size=least, max_size=most).map(lambda group: tuple(group))


_members = st.builds(ast.Group, _group(1), st.none(), span=st.just(NOWHERE))
_debtors = st.builds(ast.Group, _group(1), st.none() | st.sampled_from(("any", "each")), span=st.just(NOWHERE))
_creditors = st.builds(ast.Group, _group(1), st.none(), span=st.just(NOWHERE))
_between = _group(1, 2) | st.tuples(_members, refs) | st.tuples(refs, _members) | st.tuples(_members, _members)
"""A commitment, or two sides."""


def _domains(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Domain]:
    return refs | _ranges(inner)


def _ranges(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Range]:
    return st.builds(ast.Range, inner, inner, span=st.just(NOWHERE))


def _compound(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    here = st.just(NOWHERE)
    bounds = st.none() | inner
    path_ops = st.sampled_from(("F", "G"))
    unary_ops = st.sampled_from(("!", "-", "X", "Y", "O", "H", "F", "G"))
    binary_ops = st.sampled_from(
        ("*", "%", "+", "-", "=", "!=", "<", "<=", ">", ">=", "U", "W", "R", "M", "S", "therefore", "->", "<->")
    )
    verbs = st.sampled_from(("create", "send", "delegate", "A", "to")).map(_name)
    return st.one_of(
        _refs(inner),
        st.builds(ast.View, refs.filter(_is_no_operator), refs, span=here),
        st.builds(ast.Call, _call_names, st.lists(inner, max_size=3).map(tuple), span=here),
        st.builds(ast.Unary, cast("st.SearchStrategy[ast.UnaryOp]", unary_ops), inner, span=here),
        st.builds(ast.Unary, cast("st.SearchStrategy[ast.UnaryOp]", path_ops), inner, bounds, span=here),
        st.builds(ast.Binary, cast("st.SearchStrategy[ast.BinaryOp]", binary_ops), inner, inner, span=here),
        st.builds(ast.Binary, st.just("U"), inner, inner, bounds, span=here),
        st.builds(
            ast.Junction, st.sampled_from(("&", "|")), st.lists(inner, min_size=2, max_size=4).map(tuple), span=here
        ),
        st.builds(ast.Quantifier, st.sampled_from(("forall", "exists")), names, _domains(inner), inner, span=here),
        st.builds(ast.OverPaths, st.sampled_from(("A", "E")), inner, bounds, span=here),
        st.builds(ast.Conditional, _of_pairs, _between, st.none(), inner, inner, span=here),
        st.builds(ast.Conditional, st.sampled_from(("DeS", "AsS")), _between, refs, inner, inner, span=here),
        st.builds(ast.Social, st.sampled_from(("C", "Fu", "SC")), _between, inner, span=here),
        st.builds(ast.Knowledge, st.just("K"), refs.map(lambda ref: (ref,)), inner, span=here),
        st.builds(ast.Knowledge, st.sampled_from(("EK", "DK", "CK")), _group(1), inner, span=here),
        st.builds(ast.Does, st.none(), refs, span=here),
        st.builds(ast.Does, verbs, refs, span=here),
        st.builds(ast.Does, verbs, refs, refs, _joining, span=here),
        st.builds(ast.Strategic, _group(1), inner, span=here),
    )


def _is_no_operator(ref: ast.Ref) -> bool:
    return ref.segments[0].name.text not in _OPERATOR_WORDS


_expressions: st.SearchStrategy[ast.Expr] = st.recursive(literals | refs, _compound, max_leaves=8)


@st.composite
def expressions(draw: st.DrawFn) -> ast.Expr:
    """Draw anything that can stand where a condition, a value or a formula can."""
    return draw(_expressions)


_here = st.just(NOWHERE)
_enums = st.builds(ast.EnumType, st.lists(names, min_size=1, max_size=3).map(tuple), span=_here)
_types = st.one_of(st.builds(ast.BoolType, span=_here), _ranges(expressions()), _enums)
_open_types = st.builds(ast.DataType, st.sampled_from(("id", "text", "money(EUR)", "decimal(2)")), span=_here)
_maybe = st.none() | expressions()


def _some(inner: st.SearchStrategy[object], least: int = 0) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(inner, min_size=least, max_size=2).map(tuple)


_parameters = st.builds(ast.Parameter, names, _types, _maybe, span=_here)
_payloads = st.builds(ast.Parameter, names, _types, span=_here)
_variables = st.builds(ast.RoleVariable, names, _types, _maybe, docs, span=_here)
_operations = st.builds(ast.Operation, names, refs, st.none(), st.booleans(), span=_here) | st.builds(
    ast.Operation, names, refs, refs, st.booleans(), _joining, span=_here
)
_assignments = st.builds(ast.Assignment, refs, expressions(), span=_here)
_conditions: st.SearchStrategy[ast.Condition] = st.one_of(
    *(st.builds(kind, expressions(), span=_here) for kind in (ast.After, ast.Unless, ast.If)),
)
_clause_kinds: st.SearchStrategy[ast.Clause] = st.one_of(
    _conditions,
    st.builds(ast.Means, _some(_operations, 1), span=_here),
    *(st.builds(kind, _some(_assignments, 1), span=_here) for kind in (ast.Set, ast.OnReceipt)),
    st.builds(ast.Resets, _some(refs, 1), span=_here),
    st.builds(ast.Restart, span=_here),
    st.builds(ast.Repeatable, span=_here),
)


_reply_clauses: st.SearchStrategy[ast.ReplyClause] = st.one_of(
    st.builds(ast.If, expressions(), span=_here),
    st.builds(ast.Means, _some(_operations, 1), span=_here),
    *(st.builds(kind, _some(_assignments, 1), span=_here) for kind in (ast.Set, ast.OnReceipt)),
)
_replies = st.builds(ast.Reply, names, _some(names), _some(_reply_clauses), span=_here)


@st.composite
def _clauses(draw: st.DrawFn) -> ast.Clause:
    return draw(_clause_kinds)


@st.composite
def _all_clauses(draw: st.DrawFn) -> tuple[ast.Clause, ...]:
    """Draw the clauses of a message; what follows `returns` belongs to the answers."""
    clauses = draw(st.lists(_clauses(), max_size=3))
    if draw(st.integers(0, 5)) == 5:
        clauses.append(ast.Returns(tuple(draw(st.lists(_replies, min_size=1, max_size=3))), span=NOWHERE))
    return tuple(clauses)


_verdicts = st.sampled_from(("holds", "fails"))
_defines = st.builds(ast.Define, names, _some(names), expressions(), docs, span=_here)
_arguments = st.builds(ast.Argument, names, expressions(), span=_here)

_decimals = st.builds(
    lambda digits, places: ast.Decimal(Fraction(digits, 10**places), span=NOWHERE),
    st.integers(min_value=0, max_value=10**12), st.integers(min_value=0, max_value=6),
)  # fmt: skip
_amounts = _decimals | _decimals.map(lambda amount: ast.Decimal(-amount.value, span=NOWHERE))


def _is_operator_word(value: ast.Expr) -> bool:
    return isinstance(value, ast.Ref) and value.segments[-1].name.text in _OPERATOR_WORDS


_values = expressions().filter(lambda value: not _is_operator_word(value))
"""Payloads: only single roles have names of operators, and no payload is a role."""
_events = st.builds(ast.Event, refs, _some(_values), _decimals, st.none() | _decimals, span=_here)
_agent_items: st.SearchStrategy[ast.AgentItem] = st.recursive(
    st.one_of(
        st.builds(ast.Goal, expressions(), span=_here),
        st.builds(ast.Values, _some(st.builds(ast.Worth, refs, _amounts, span=_here), 1), span=_here),
        st.builds(ast.Belief, refs, _maybe, _some(_events, 1), _maybe, span=_here),
        st.builds(ast.Decision, _some(refs, 1), _maybe, span=_here),
    ),
    lambda inner: st.builds(ast.Each, names, _domains(expressions()), _some(inner), span=_here),
    max_leaves=3,
)
_thresholds = st.builds(
    ast.Threshold, names, st.sampled_from((">", ">=")), _decimals, st.none() | _verdicts, span=_here
)

_assumed = st.builds(ast.Assumed, refs, _maybe, span=_here)
_ends = st.one_of(st.just((None, None)), st.tuples(refs, refs))
_counted = st.sampled_from((None, False, True))
_carrying = st.tuples(st.booleans(), st.booleans(), _counted, _counted, st.booleans()).filter(
    lambda options: options != (False, False, None, None, False)
)
"""Options of a channel: unordered, with a delay, lossy and duplicating with a bound (true) or without (false), fifo."""


@st.composite
def _some_channels(draw: st.DrawFn) -> ast.Channel:
    """Draw a channel with at least one option."""
    (sender, receiver), (is_unordered, is_bounded, counts_losses, counts_duplicates, is_queue) = (
        draw(_ends),
        draw(_carrying),
    )
    return ast.Channel(
        sender,
        receiver,
        is_unordered,
        draw(expressions()) if is_bounded else None,
        counts_losses is not None,
        draw(expressions()) if counts_losses else None,
        counts_duplicates is not None,
        draw(expressions()) if counts_duplicates else None,
        draw(expressions()) if is_queue else None,
        span=NOWHERE,
    )


_channels = _some_channels()

_declarations: st.SearchStrategy[ast.Declaration] = st.recursive(
    st.one_of(
        st.builds(ast.Role, names, _maybe, _some(_variables), st.booleans(), docs, span=_here),
        st.builds(ast.Message, names, refs, _some(refs, 1), _some(_payloads), _all_clauses(), docs, span=_here),
        st.builds(ast.Choice, _some(refs, 1), span=_here),
        st.builds(ast.Fact, names, expressions(), docs, span=_here),
        st.builds(
            ast.Commitment, names, refs | _debtors, refs | _creditors, expressions(), expressions(), _maybe, _maybe,
            st.booleans(), docs, span=_here,
        ),
        st.builds(ast.Claim, names, refs, refs, expressions(), docs, span=_here),
        _channels,
        st.builds(
            ast.Empower, _some(refs, 1), _some(st.builds(ast.Power, names, refs, span=_here), 1), span=_here
        ),
        st.builds(ast.Use, refs, _some(_arguments), st.none() | names, _some(_conditions), docs, span=_here),
        _defines,
        st.builds(
            ast.Property, names, st.none() | titles, _some(_assumed), expressions(), _verdicts, docs, span=_here
        ),
        st.builds(ast.Check, _some(st.builds(ast.CheckItem, names, _verdicts), 1), _some(_assumed), span=_here),
        st.builds(ast.Fairness, expressions(), span=_here),
        st.builds(ast.Agent, names, _some(refs, 1), _some(_agent_items), docs, span=_here),
        st.builds(ast.Analyze, refs, _some(_assumed), _some(_thresholds, 1), span=_here),
        st.builds(ast.Memory, refs, _types | _open_types, _maybe, docs, span=_here),
    ),
    lambda inner: st.builds(ast.For, names, _domains(expressions()), _some(inner), span=_here)
    | st.builds(ast.ForEach, names, _open_types, _some(inner), span=_here),
    max_leaves=3,
)  # fmt: skip


@st.composite
def declarations(draw: st.DrawFn) -> ast.Declaration:
    """Draw anything that can stand in a protocol."""
    return draw(_declarations)


_protocols = st.builds(
    ast.Protocol, names, _some(_parameters), st.none() | titles, st.booleans(), _some(declarations()), docs, span=_here
)
_imports = st.builds(ast.Import, plain_names, st.just(False), st.none() | names, span=_here) | st.builds(
    ast.Import, titles, st.just(True), st.none() | names, span=_here
)
_files: st.SearchStrategy[ast.File] = st.builds(
    ast.File, _some(_imports), _some(_protocols), _some(_defines), span=_here
)


@st.composite
def files(draw: st.DrawFn) -> ast.File:
    """Draw a whole file."""
    return draw(_files)
