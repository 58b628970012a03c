"""What is printed reads back as the same tree, in one piece and in pieces."""

from __future__ import annotations

from hypothesis import given
from tests.strategies_syntax import declarations, expressions, files

from cplc.source import Source
from cplc.syntax import ast, printer
from cplc.syntax.parser import parse, parse_formula


@given(expressions())
def test_formula_reads_back(expression: ast.Expr) -> None:
    text = printer.formula(expression)
    read, problems = parse_formula(Source("printed", text))
    assert problems == (), text
    assert read == expression, text
    assert printer.formula(read) == text


@given(files())
def test_file_reads_back(tree: ast.File) -> None:
    text = printer.file(tree)
    read, problems = parse(Source("printed", text))
    assert problems == (), text
    assert read == tree, text
    assert printer.file(read) == text, "comments are kept too"


@given(files())
def test_a_mistake_at_the_end_leaves_the_rest_of_the_file_as_it_is(tree: ast.File) -> None:
    text = printer.file(tree) + "\nimport 1\n"
    read, problems = parse(Source("printed", text))
    assert [problem.code for problem in problems] == ["syntax"], text
    assert read == tree, text


@given(declarations(), declarations())
def test_no_declaration_needs_a_terminator(first: ast.Declaration, second: ast.Declaration) -> None:
    """Everything on one line: an expression ends where the next declaration begins."""
    text = f"protocol P {{ {printer.declaration(first)} {printer.declaration(second)} }}"
    tree, problems = parse(Source("printed", "\n".join(line.partition("//")[0] for line in text.splitlines())))
    assert problems == (), text
    assert tree.protocols[0].declarations == (first, second), text
