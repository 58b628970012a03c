"""Round trip of the printer: printed text parses to the same tree, whole and in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from hypothesis import assume, given
from tests.support.generators.syntax_trees import NOWHERE, declarations, expressions, files

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
def test_error_at_end_preserves_rest_of_file(tree: ast.File) -> None:
    text = printer.file(tree) + "\nimport 1\n"
    # Recovery takes a name that is spelt like the beginning of an item of an agent (`goal goal`) for that item.
    assume("agent " not in text)
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


def _ref(text: str) -> ast.Ref:
    return ast.Ref((ast.Segment(ast.Name(text, span=NOWHERE)),), span=NOWHERE)


_P, _Q, _A = _ref("p"), _ref("q"), _ref("A")
_VARIABLE = ast.Name("c", span=NOWHERE)
_ATOMS: tuple[ast.Expr, ...] = (_P, _A)


def _around(hole: ast.Expr) -> Iterator[ast.Expr]:
    """Yield every way to put an expression directly into another."""
    for op in get_args(ast.BinaryOp):
        yield ast.Binary(op, hole, _Q, span=NOWHERE)
        yield ast.Binary(op, _Q, hole, span=NOWHERE)
    for junction in ("&", "|"):
        for operands in ((hole, _Q), (_Q, hole), (hole, _P, hole), (_P, hole, _Q)):
            yield ast.Junction(junction, operands, span=NOWHERE)
    for unary in get_args(ast.UnaryOp):
        yield ast.Unary(unary, hole, span=NOWHERE)
    yield ast.Unary("F", hole, _Q, span=NOWHERE)
    yield ast.Unary("G", _Q, hole, span=NOWHERE)
    yield ast.Binary("U", hole, _P, _Q, span=NOWHERE)
    yield ast.Binary("U", _P, _Q, hole, span=NOWHERE)
    yield ast.OverPaths("A", hole, span=NOWHERE)
    yield ast.OverPaths("E", ast.Unary("F", hole, hole, span=NOWHERE), span=NOWHERE)
    yield ast.OverPaths("E", hole, _P, span=NOWHERE)
    yield ast.OverPaths("E", _P, hole, span=NOWHERE)
    yield ast.Quantifier("forall", _VARIABLE, _P, hole, span=NOWHERE)
    yield ast.Quantifier("exists", _VARIABLE, ast.Range(hole, hole, span=NOWHERE), _Q, span=NOWHERE)
    yield ast.Call(ast.Name("f", span=NOWHERE), (hole, _P), span=NOWHERE)
    yield ast.Call(ast.Name("f", span=NOWHERE), (_P, hole), span=NOWHERE)
    yield ast.Social("C", (_A, _A), hole, span=NOWHERE)
    yield ast.Social("Fu", (_A,), hole, span=NOWHERE)
    yield ast.Conditional("WCC", (_A, _A), None, hole, _A, span=NOWHERE)
    yield ast.Conditional("FuS", (_A,), None, _A, hole, span=NOWHERE)
    yield ast.Conditional("DeS", (_A, _A), _A, hole, hole, span=NOWHERE)
    yield ast.Knowledge("CK", (_A, _P), hole, span=NOWHERE)
    yield ast.Strategic((_A,), hole, span=NOWHERE)
    yield ast.Ref((ast.Segment(ast.Name("m", span=NOWHERE), (hole, hole)),), span=NOWHERE)


def test_everything_inside_everything_reads_back() -> None:
    for atom in _ATOMS:
        for inner in _around(atom):
            for outer in _around(inner):
                text = printer.formula(outer)
                read, problems = parse_formula(Source("printed", text))
                assert problems == (), text
                assert read == outer, text


def test_no_parentheses_are_printed_that_are_not_needed() -> None:
    for text in (
        "AG p -> q | r & s U t U u",
        "!p & (q -> r) <-> (forall c in Cus: p | q)",
        "A[p U<=3 q] therefore E{does(pay)} F !p",
        "-x + 2 * y % 3 - (z - 1) <= m[i + 1].price",
        "<<i, j>>[p U q] -> <<i>> F (p | q)",
        "p -> q -> (r <-> s)",
        "forall c in Cus: exists i in 1..n + 1: AF<=(k + 1) active(goods[c, i]@Mer)",
    ):
        read, problems = parse_formula(Source("written", text))
        assert problems == ()
        assert read is not None
        assert printer.formula(read) == text
