"""Models in ISPL: what is printed reads back, and every model that is read has diagnostics or a system."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.ispl_syntax_trees import files, formulas, logics

from cplc.compilation import IsplCompilation
from cplc.ispl.syntax import ast, printer
from cplc.ispl.syntax.parser import parse, parse_formula
from cplc.source import Source

_TOKEN = re.compile(r"(CTL\*|\w+|->|<>|<=|>=|!=|\.\.|\S)")


@given(files())
def test_a_file_reads_back(tree: ast.File) -> None:
    text = printer.file(tree)
    read, problems = parse(Source("printed", text))
    assert problems == (), text
    assert read == tree, text
    assert printer.file(read) == text


@given(formulas(), logics)
def test_a_formula_reads_back(formula: ast.Formula, logic: ast.Logic) -> None:
    text = printer.formula(formula)
    read, problems = parse_formula(Source("printed", text), logic)
    assert problems == (), text
    assert read == formula, text


@given(files())
def test_blanks_and_comments_mean_nothing(tree: ast.File) -> None:
    spread = _TOKEN.sub(r" \1 -- end ;\n", printer.file(tree))
    read, problems = parse(Source("printed", spread))
    assert problems == (), spread
    assert read == tree, spread


@given(files())
def test_whatever_can_be_read_is_checked(tree: ast.File) -> None:
    reading = IsplCompilation(Source("printed", printer.file(tree)))
    assert reading.ok == (not any(problem.is_error for problem in reading.diagnostics))
    assert all(problem.span.end <= len(reading.source.text) + 1 for problem in reading.diagnostics)


_SIGNS = tuple(":;={}()<>-.")
_PIECES = st.sampled_from(
    (
        *("Agent", "end", "Vars", "Protocol", "Evaluation", "InitStates", "Formulae", "RedStates", "Action", "Other"),
        *("if", "and", "p", "x", "1", "AG", "LTL", "U", "ä", "--", "..", *_SIGNS),
    )
)


@given(files(), st.data())
def test_whatever_is_done_to_a_file_something_is_said(tree: ast.File, data: st.DataObject) -> None:
    """Words put in, left out or changed: no exception, and every place is in the text."""
    words = re.split(r"(\W)", printer.file(tree))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words)))
        pieces = data.draw(st.lists(_PIECES, max_size=2))
        words[at : at + data.draw(st.integers(0, 3))] = [" ".join(pieces)]
    text = "".join(words)
    reading = IsplCompilation(Source("changed", text))
    for problem in reading.diagnostics:
        assert 0 <= problem.span.start <= problem.span.end <= len(text) + 1, problem.concise()
        assert problem.message


@given(st.text(max_size=200) | st.lists(_PIECES, max_size=60).map(" ".join))
def test_any_text_is_refused(text: str) -> None:
    assert not IsplCompilation(Source("any", text)).ok
