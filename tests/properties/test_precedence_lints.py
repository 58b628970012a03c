"""Suggestions for an easily misread formula: the first is its meaning, the second is not."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from cplc.semantics.lints import precedence_warnings
from cplc.source import Source
from cplc.syntax import ast
from cplc.syntax.parser import parse_formula

_ATOMS = st.sampled_from(["p", "q[1]", "!r", "F p", "(p & q)", "(p U q)", "f(p, q)"])
_SIGNS = st.sampled_from([" U ", " W ", " U<=3 ", " S", " R ", " & ", " | ", " -> ", " <-> ", " /* ) */ & "])
_INNER = st.lists(st.tuples(_SIGNS, _ATOMS), min_size=1, max_size=4).flatmap(
    lambda rest: _ATOMS.map(lambda first: first + "".join(sign + " " + atom for sign, atom in rest))
)
_FORMULAS = st.builds("{}{}{}".format, st.sampled_from(["A[", "E [ ", "<<A>>["]), _INNER, st.just(" ]")) | st.builds(
    "{}{}{}".format, st.sampled_from(["A (", "!(", "AG (s -> "]), _INNER, st.just(")")
)


def _read(text: str) -> ast.Expr:
    formula, problems = parse_formula(Source("formula", text))
    assert formula is not None, (text, problems)
    return formula


@given(_FORMULAS)
def test_first_suggestion_is_equivalent_and_second_is_not(text: str) -> None:
    tree = _read(text)
    for problem in precedence_warnings(tree):
        ((first, *alternatives),) = [re.findall(r"`([^`]+)`", note.message) for note in problem.notes]
        span = problem.span
        assert _read(text[: span.start] + first + text[span.end :]) == tree
        for other in alternatives:
            changed = _read(text[: span.start] + other + text[span.end :])
            assert changed != tree


@given(_FORMULAS)
def test_with_every_suggestion_taken_nothing_is_misread(text: str) -> None:
    for _ in range(20):
        warning = next(precedence_warnings(_read(text)), None)
        if warning is None:
            return
        first = re.findall(r"`([^`]+)`", warning.notes[0].message)[0]
        text = text[: warning.span.start] + first + text[warning.span.end :]
    raise AssertionError(text)
