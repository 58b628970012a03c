"""Formula parser: precedence, contextual operator letters, and error messages."""

from __future__ import annotations

import logging
import re

import lark
import pytest

from cplc.runtime.file_access import shipped
from cplc.source import Source
from cplc.syntax import ast
from cplc.syntax.parser import parse_formula
from cplc.syntax.tree import operands


def _read(text: str) -> ast.Expr:
    expression, problems = parse_formula(Source("formula", text))
    assert problems == ()
    assert expression is not None
    return expression


def _problem(text: str) -> str:
    expression, problems = parse_formula(Source("formula", text))
    assert expression is None
    (problem,) = problems
    notes = "".join(f" ({note.message})" for note in problem.notes)
    return f"{problem.span.start}: {problem.message}{notes}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("AG p -> q", "(AG p) -> q"),
        ("!p & q", "(!p) & q"),
        ("! x = 3", "!(x = 3)"),
        ("p & q | r", "(p & q) | r"),
        ("p | q & r", "p | (q & r)"),
        ("p & q U r", "p & (q U r)"),
        ("p U q U r", "p U (q U r)"),
        ("p U q W r S s", "p U (q W (r S s))"),
        ("AG p U q", "(AG p) U q"),
        ("F p U q", "(F p) U q"),
        ("p -> q -> r", "p -> (q -> r)"),
        ("p <-> q <-> r", "(p <-> q) <-> r"),
        ("p -> q <-> r", "(p -> q) <-> r"),
        ("p therefore q -> r", "(p therefore q) -> r"),
        ("p | q therefore r", "(p | q) therefore r"),
        ("x + 2 * y = z % 3 - 1", "(x + (2 * y)) = ((z % 3) - 1)"),
        ("a - b - c = 0", "((a - b) - c) = 0"),
        ("-x * y = 0", "((-x) * y) = 0"),
        ("x<-1", "x < (-1)"),
        ("forall c in Cus: p -> q", "forall c in Cus: (p -> q)"),
        ("p & forall c in Cus: q | r", "p & (forall c in Cus: (q | r))"),
        ("AG forall c in Cus: p <-> q", "AG (forall c in Cus: (p <-> q))"),
        ("!exists i in 1..n + 1: p U q", "!(exists i in 1..(n + 1): (p U q))"),
        ("A G F p", "A (G (F p))"),
        ("E(p U q)", "E[p U q]"),
        ("A (p U q) & r", "(A[p U q]) & r"),
        ("E{does(pay)} F p", "E{(does(pay))} (F p)"),
        ("E { does(pay) } [p U q]", "E{does(pay)} (p U q)"),
        ("<<i, j>> F p -> q", "(<<i, j>> (F p)) -> q"),
        ("AF <= 3 p", "AF<=3 p"),
        ("F<=k (p)", "F<=k p"),
        ("p U <= (k + 1) q", "p U<=(k + 1) q"),
        ("AG !C(A -> B, p) & q", "(AG (!C(A -> B, p))) & q"),
    ],
)
def test_binding(written: str, meant: str) -> None:
    assert _read(written) == _read(meant)


def test_combined_operators_are_two() -> None:
    match _read("AF<=3 p"):
        case ast.OverPaths("A", ast.Unary("F", ast.Ref(), ast.Literal_(3)), None):
            pass
        case other:
            pytest.fail(repr(other))


def test_bound_belongs_to_until() -> None:
    match _read("E[p U<=3 q]"):
        case ast.OverPaths("E", ast.Binary("U", ast.Ref(), ast.Ref(), ast.Literal_(3)), None):
            pass
        case other:
            pytest.fail(repr(other))


def _roles(expression: ast.Expr) -> list[str]:
    refs = [child for child in operands(expression) if isinstance(child, ast.Ref)]
    return [".".join(segment.name.text for segment in ref.segments) for ref in refs]


@pytest.mark.parametrize(
    ("written", "roles"),
    [
        ("C(A -> B, p)", ["A", "B", "p"]),
        ("Fu(E -> X, p)", ["E", "X", "p"]),
        ("SC( U->W , p)", ["U", "W", "p"]),
        ("K(A, p)", ["A", "p"]),
        ("EK({A, F}, p)", ["A", "F", "p"]),
        ("CK(G, p)", ["G", "p"]),
        ("does(A)", ["A"]),
        ("does(send X)", ["X"]),
        ("<<A, E>> p", ["A", "E", "p"]),
        ("goods@C", ["goods", "C"]),
        ("knows(A, p)", ["A", "p"]),
        ("knows(p, AG)", ["p", "AG"]),
        ("A.stock > F.stock", ["A.stock", "F.stock"]),
        ("C.x U S.x", ["C.x", "S.x"]),
    ],
)
def test_roles_may_be_called_like_operators(written: str, roles: list[str]) -> None:
    assert _roles(_read(written)) == roles


@pytest.mark.parametrize(
    ("written", "verb", "subject", "other"),
    [
        ("does(pay)", None, "pay", None),
        ("does(send pay)", "send", "pay", None),
        ("does(delegate a to b)", "delegate", "a", "b"),
        ("does(justify p with q)", "justify", "p", "q"),
        ("does(accept)", None, "accept", None),
        ("does(accept to)", "accept", "to", None),
    ],
)
def test_does(written: str, verb: str | None, subject: str, other: str | None) -> None:
    match _read(written):
        case ast.Does(name, ast.Ref((ast.Segment(first, ()),)), second):
            assert (name.text if name else None, first.text) == (verb, subject)
            assert (second.segments[0].name.text if second else None) == other
        case unexpected:
            pytest.fail(repr(unexpected))


def test_spans_cover_what_was_written_with_its_parentheses() -> None:
    text = "  (p | q) & AG (r -> /* so */ C(A -> B, s[1]))"
    match _read(text):
        case ast.Junction("&", (left, ast.OverPaths(_, ast.Unary(_, inner)) as right)) as whole:
            assert whole.span.text == text.strip()
            assert left.span.text == "p | q"
            assert right.span.text == "AG (r -> /* so */ C(A -> B, s[1]))"
            assert inner.span.text == "r -> /* so */ C(A -> B, s[1])"
        case other:
            pytest.fail(repr(other))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("p &", "3: Expected an operand after `&`, found the end of the expression"),
        ("p q", "2: Expected an operator or the end of the expression after `p`, found `q` "
         "(conditions are joined by `&`, `|` or `->`, arguments are separated by `,`)"),
        ("(p q)", "3: Expected an operator or `)` after `p`, found `q` "
         "(conditions are joined by `&`, `|` or `->`, arguments are separated by `,`)"),
        ("(p", "2: Expected an operator or `)` after `p`, found the end of the expression"),
        ("p && q", "2: `&&` is the notation of another language (write `&`)"),
        ("p or q", "2: `or` is the notation of another language (write `|`)"),
        ("x == 3", "2: `==` is the notation of another language (write `=`)"),
        ("x < y < z", "6: Expected an operator or the end of the expression after `y`, found `<` "
                      "(comparisons do not chain: join two of them with `&`)"),
        ("AGF p", "4: Expected an operator or the end of the expression after `AGF`, found `p` "
                  "(temporal operators stand apart: `A G F`)"),
        ("AG", "2: Expected an operand after `AG`, found the end of the expression"),
        ("C(A p)", "4: Expected an operator or `)` after `A`, found `p` "
         "(conditions are joined by `&`, `|` or `->`, arguments are separated by `,`)"),
        ("forall c Cus: p", "9: Expected `in` after `c`, found `Cus`"),
        ("", "0: Expected an operand, found the end of the expression"),
        ("p # q", "2: The language has no character `#` (comments begin with `//`)"),
        ("X<=3 p", "1: Expected an operand after `X`, found `<=`"),
    ],
)  # fmt: skip
def test_mistakes(written: str, message: str) -> None:
    assert _problem(written) == message


@pytest.mark.parametrize("text", ["!" * 10_000 + "p", "(" * 10_000 + "p" + ")" * 10_000, "forall c in C: " * 900 + "p"])
def test_depth_is_limited(text: str) -> None:
    expression, problems = parse_formula(Source("formula", text))
    assert expression is None
    assert [problem.code for problem in problems] == ["too-deep"]


def test_expression_at_depth_limit_is_parsed_compared_and_printed() -> None:
    text = "!" * 199 + "p"
    assert _read(text) == _read(text)
    assert repr(_read(text))
    assert _read("(" * 200 + "p" + ")" * 200) == _read("p")


def test_number_of_many_digits_is_refused() -> None:
    assert _problem("x = " + "9" * 5000) == "4: A number has at most 18 digits"


def test_only_the_reach_of_quantifiers_leaves_the_parser_a_choice(caplog: pytest.LogCaptureFixture) -> None:
    """Without them, lark resolves no shift/reduce conflict of the grammar silently."""
    grammar = (shipped("grammar") / "formula.lark").read_text(encoding="utf-8")
    without = re.sub(r"\n    \| QUANTIFIER .*", "", grammar)
    assert without != grammar
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        lark.Lark(without, parser="lalr", lexer="contextual", maybe_placeholders=False, debug=True)
    assert not [record.getMessage() for record in caplog.records if "conflict" in record.getMessage().lower()]


def test_chains_may_be_long_and_nesting_may_not() -> None:
    for op in ("&", "|"):
        text = f" {op} ".join(f"p{number}" for number in range(5000))
        match _read(text):
            case ast.Junction(sign, operands):
                assert (sign, len(operands)) == (op, 5000)
            case other:
                pytest.fail(repr(other))
    mixed = " | ".join("p & !q & r" for _ in range(3000))
    match _read(mixed):
        case ast.Junction("|", operands):
            assert all(isinstance(operand, ast.Junction) and len(operand.operands) == 3 for operand in operands)
        case other:
            pytest.fail(repr(other))
    deepest = "p & (q | " * 90 + "p" + ")" * 90
    assert isinstance(_read(deepest), ast.Junction)
    for deep in ("!" * 5000 + "p", "p -> " * 5000 + "p", "p" + " + p" * 5000, f"AX (p -> {deepest}) -> " * 20 + "p"):
        expression, problems = parse_formula(Source("formula", deep))
        assert expression is None
        assert [problem.code for problem in problems] == ["too-deep"]


def test_parentheses_in_a_chain_stay() -> None:
    match _read("(p & q) & r & (s & t) & (u | v)"):
        case ast.Junction("&", (ast.Junction("&", (_, _)), ast.Ref(), ast.Junction("&"), ast.Junction("|"))):
            pass
        case other:
            pytest.fail(repr(other))
