"""Random syntax trees of ISPL, without regard to meaning."""

from __future__ import annotations

from typing import Final, cast, get_args

from hypothesis import strategies as st

from cplc.ispl.syntax import ast
from cplc.source import Source, Span

NOWHERE: Final = Span(Source("nowhere", ""), 0, 0)

_NAMES = ("a", "b", "pay", "Mer", "x1", "AGx", "android", "order", "iffy", "ending", "C", "Fu", "trueish", "Otherwise")

names = st.sampled_from(_NAMES).map(lambda text: ast.Name(text, span=NOWHERE))
_somewhere = st.just(NOWHERE)
_environment = ast.Name("Environment", span=NOWHERE)
_agents = names | st.just(_environment)
_sets = st.lists(names, max_size=3).map(tuple)
_full_sets = st.lists(names, min_size=1, max_size=3).map(tuple)

_refs = st.builds(ast.Ref, st.none() | _agents, names, span=_somewhere)
_simple_values = st.one_of(
    _refs,
    st.builds(ast.Number, st.integers(-(10**9), 10**9), span=_somewhere),
    st.builds(ast.Truth, st.booleans(), span=_somewhere),
)


def values() -> st.SearchStrategy[ast.Value]:
    def over(inner: st.SearchStrategy[ast.Value]) -> st.SearchStrategy[ast.Value]:
        operators = st.sampled_from(("+", "-", "*", "/", "&", "|", "^"))
        return st.builds(ast.Operation, operators, inner, inner, span=_somewhere) | st.builds(
            ast.Complement, inner, span=_somewhere
        )

    return st.recursive(cast("st.SearchStrategy[ast.Value]", _simple_values), over, max_leaves=5)


def _joined(inner: st.SearchStrategy[ast.Condition]) -> st.SearchStrategy[ast.Condition]:
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    junctions = st.builds(ast.Junction, st.sampled_from(("and", "or")), several, span=_somewhere)
    return cast("st.SearchStrategy[ast.Condition]", junctions | st.builds(ast.Not, inner, span=_somewhere))


def conditions() -> st.SearchStrategy[ast.Condition]:
    relations = st.sampled_from(get_args(ast.Relation))
    plain = st.builds(ast.Comparison, relations, _refs, _simple_values, span=_somewhere)
    any_ = st.builds(ast.Comparison, relations, values(), values(), span=_somewhere)
    acts = st.builds(ast.Acts, st.none() | _agents, names, span=_somewhere)
    return st.recursive(cast("st.SearchStrategy[ast.Condition]", st.one_of(plain, any_, acts)), _joined, max_leaves=6)


_MANY: Final = {"DeS": (3, 2), "AsS": (3, 2), "C": (2, 1), "Fu": (2, 1)}
"""Numbers of agents and operands of commitments; other operators have two of each."""


@st.composite
def _commits(draw: st.DrawFn, inner: st.SearchStrategy[ast.Formula]) -> ast.Commits:
    op = draw(st.sampled_from(get_args(ast.Commitment)))
    agents, operands = _MANY.get(op, (2, 2))
    who = draw(st.lists(_agents, min_size=agents, max_size=agents))
    what = draw(st.lists(inner, min_size=operands, max_size=operands))
    degree = None
    if op in ("Tp", "Tc"):
        degree = draw(st.tuples(st.sampled_from(get_args(ast.Relation)), st.integers(0, 1000)))
    return ast.Commits(op, tuple(who), tuple(what), degree, span=NOWHERE)


def _over(inner: st.SearchStrategy[ast.Formula]) -> st.SearchStrategy[ast.Formula]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return cast(
        "st.SearchStrategy[ast.Formula]",
        st.one_of(
            st.builds(ast.Not, inner, span=_somewhere),
            st.builds(ast.Junction, st.sampled_from(("and", "or")), several, span=_somewhere),
            st.builds(ast.Unary, st.sampled_from(get_args(ast.Prefix)), inner, span=_somewhere),
            st.builds(ast.Binary, st.sampled_from(("U", "->")), inner, inner, span=_somewhere),
            st.builds(ast.Knows, st.sampled_from(get_args(ast.Knowledge)), _agents, inner, span=_somewhere),
            st.builds(ast.Enforces, names, inner, span=_somewhere),
            _commits(inner),
        ),
    )


def formulas() -> st.SearchStrategy[ast.Formula]:
    props = st.builds(ast.Prop, names, span=_somewhere)
    coloured = st.builds(ast.ColourAtom, _agents, st.sampled_from(get_args(ast.Colour)), span=_somewhere)
    return st.recursive(cast("st.SearchStrategy[ast.Formula]", props | coloured), _over, max_leaves=8)


logics = st.sampled_from(get_args(ast.Logic))
specifications = st.builds(ast.Specification, logics, formulas(), span=_somewhere)

_types = st.one_of(
    st.builds(ast.Boolean, span=_somewhere),
    st.builds(ast.Enumeration, _sets, span=_somewhere),
    st.builds(ast.Bounded, st.integers(-9, 9), st.integers(-9, 9), span=_somewhere),
)
_variables = st.builds(ast.Variable, names, _types, span=_somewhere)
_assignments = st.builds(ast.Assignment, names, values(), span=_somewhere)
_evolution_lines = st.builds(
    ast.EvolutionLine, st.lists(_assignments, min_size=1, max_size=3).map(tuple), conditions(), span=_somewhere
)
_protocol_lines = st.builds(ast.ProtocolLine, conditions(), _full_sets, span=_somewhere)
_others = st.builds(ast.ProtocolLine, st.none(), _full_sets, span=_somewhere)


@st.composite
def _agent(draw: st.DrawFn, *, environment: bool) -> ast.Agent:
    least = 0 if environment else 1
    lines = draw(st.lists(_protocol_lines, max_size=2))
    other_lines = draw(st.lists(_others, min_size=least if not lines else 0, max_size=1))
    return ast.Agent(
        _environment if environment else draw(names),
        tuple(draw(st.lists(_variables, max_size=2))) if environment else (),
        () if environment else draw(_sets),
        tuple(draw(st.lists(_variables, min_size=least, max_size=2))),
        draw(st.none() | conditions()),
        draw(_sets if environment else _full_sets),
        (*lines, *other_lines),
        tuple(draw(st.lists(_evolution_lines, min_size=least, max_size=2))),
        span=NOWHERE,
    )


@st.composite
def files(draw: st.DrawFn) -> ast.File:
    propositions = st.builds(ast.Proposition, names, conditions(), span=_somewhere)
    groups = st.builds(ast.Group, names, _full_sets, span=_somewhere)
    return ast.File(
        draw(st.sampled_from((None, "MA", "SA"))),
        (*draw(st.lists(_agent(environment=True), max_size=1)), *draw(_agents_of())),
        tuple(draw(st.lists(propositions, min_size=1, max_size=2))),
        draw(conditions()),
        tuple(draw(st.lists(groups, max_size=2))),
        tuple(draw(st.lists(formulas(), max_size=2))),
        tuple(draw(st.lists(specifications, min_size=1, max_size=2))),
        span=NOWHERE,
    )


def _agents_of() -> st.SearchStrategy[list[ast.Agent]]:
    return st.lists(_agent(environment=False), min_size=1, max_size=2)
