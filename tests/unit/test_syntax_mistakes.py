"""Files that are not as they should be: every mistake is said at its place, once, and the rest is read."""

from __future__ import annotations

import random
import string
import time
from typing import Any

import pytest
from tests.fuzz.budget import processor_time

from cplc.compilation import CplCompilation
from cplc.source import Source
from cplc.syntax import ast, recovery
from cplc.syntax.parser import parse
from cplc.syntax.textx_parser import read


def _said(text: str) -> list[str]:
    _, problems = parse(Source("test.cpl", text))
    return ["{}:{}: {}".format(*problem.span.position, problem.message) for problem in problems]


def _inside(text: str) -> list[str]:
    return _said(f"protocol P {{\n{text}\n}}\n")


def _kinds(text: str) -> list[str]:
    tree, _ = parse(Source("test.cpl", f"protocol P {{\n{text}\n}}\n"))
    return [type(item).__name__ for item in tree.protocols[0].declarations]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fact f x", "2:8: Expected `=` after `f`, found `x`"),
        ("fact f =", "2:9: Expected an operand after `=`, found the end of the line"),
        ("fact f = x &\nfact g = y", "2:13: Expected an operand after `&`, found the end of the line"),
        ("fact f = a b", "2:12: Expected an operator or the next declaration after `a`, found `b`"),
        ("fact f = (a b)", "2:13: Expected an operator or `)` after `a`, found `b`"),
        ("A -> B m", "2:8: Expected `:` after `B`, found `m`"),
        ("A => B : m", "2:3: `=>` is the notation of another language"),
        ("A -> B : m(p)", "2:13: Expected `:` after `p`, found `)`"),
        ("A -> B : m set x = 3", "2:18: Expected `:=` after `x`, found `=`"),
        ("A -> B : m on x := 3", "2:15: Expected `receipt` after `on`, found `x`"),
        ("A -> B : m after\nmeans create g", "2:17: Expected an operand after `after`, found the end of the line"),
        ("commitment c = C(A, B, p)", "2:16: `C(A, B, p)` is the notation of another language"),
        ("commitment c = X(A, B, p, q)", "2:16: Expected `C` after `=`, found `X`"),
        ("commitment c = C(A, B, p, q) within 3 within 4", "2:39: `within` is written twice"),
        ("property p: x expect holds expect fails", "2:28: `expect` is written twice"),
        ("property p assuming A assuming B: x", "2:23: `assuming` is written twice"),
        ('property p "one" "two": x', "2:18: The title is written twice"),
        ("check sound expect fails expect holds, live", "2:26: `expect` is written twice"),
        ("analyze A: benefit > 1 expect fails expect fails", "2:37: `expect` is written twice"),
        ("agent A plays B { chooses m when x when y }", "2:36: `when` is written twice"),
        ("agent A plays B { believes C when x when y: pay 1 }", "2:37: `when` is written twice"),
        ("use P as q as r", "2:12: `as` is written twice"),
        ("use P as q after x as r", "2:20: Expected `,` or the next declaration after `x`, found `as`"),
        ("choice a, b", "2:9: Expected `|` or the next declaration after `a`, found `,`"),
        ("check sound expect maybe", "2:20: Expected `holds` or `fails` after `expect`, found `maybe`"),
        ("property p AG x", "2:12: Expected `:` or `assuming` or a text in double quotes after `p`, found `AG`"),
        ("role A { stock: 0..3 }", "2:10: Expected `}` or `var` after `{`, found `stock`"),
        ("for c Cus { fact f = x }", "2:7: Expected `in` after `c`, found `Cus`"),
        ("for c in 3 { fact f = x }", "2:10: Expected a family of roles or a range like `1..n`"),
        ("fact f = (a | b\nfact g = x", "2:10: `(` is never closed"),
        ("fact f = a)", "2:11: `)` closes nothing"),
        ('property p "what: AG x', "2:12: This string does not end on its line"),
        ("fact f = x;", "2:11: The language has no character `;`"),
        ("fact caf\u00e9 = x", "2:9: The language has no character `\u00e9`"),
        ("fact f =\u00a0x", "2:9: The language has no no-break space (U+00A0)"),
        ("import std.x", "2:1: An `import` stands at the beginning of the file"),
        ("claim c = C(A, B, x)", "2:11: Expected `claim` after `=`, found `C`"),
        ("claim c = claim(A, B)", "2:21: Expected `,` after `B`, found `)`"),
        ("claim c = claim(A, B, x, y)", "2:24: Expected `)` after `x`, found `,`"),
        ("agent A { goal x }", "2:9: Expected `plays` after `A`, found `{`"),
        ("agent A plays B { goal x\nvalue pay +10 }", "3:11: Expected `:` after `pay`, found `+`"),
        ("agent A plays B { believes C: pay 1 | refuse }", "2:46: Expected `(` or a number after `refuse`, found `}`"),
        (
            "agent A plays B { role X }",
            "2:19: An agent can contain only `goal`, `value`, `believes`, `chooses` and `for`",
        ),
        ("goal x", "2:1: This belongs inside an `agent … plays … { … }`"),
        ("analyze A: benefit < 0.8", "2:20: Expected `>=` or `>` after `benefit`, found `<`"),
        ("analyze A: benefit > much", "2:22: Expected a number after `>`, found `much`"),
        ("nonsense", "2:1: Expected a declaration, found `nonsense`"),
        ("stuff is here", "2:1: Expected a declaration, found `stuff`"),
    ],
)
def test_one_mistake_is_one_message_and_the_next_declaration_is_read(text: str, message: str) -> None:
    assert _inside(text) == [message]
    assert len(_inside(f"role First\n{text}\nrole Last")) == 1
    kinds = _kinds(f"role First\n{text}\nrole Last")
    assert (kinds[0], kinds[-1]) == ("Role", "Role")
    assert kinds.count("Role") >= 2


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("property p: x expect holds expect fails", "expect holds"),
        ("property p assuming A, B assuming C: x", "assuming A, B"),
        ("commitment c = C(A, B, p, q) within 3 revocable within 4", "within 3"),
        ("commitment c = C(A, B, p, q) expires 3 expires 4", "expires 3"),
        ("commitment c = C(A, B, p, q) revocable revocable", "revocable"),
        ("use P as q as r", "as q"),
    ],
)
def test_duplicated_clause_names_the_place_of_the_first(text: str, first: str) -> None:
    _, (problem,) = parse(Source("test.cpl", f"protocol P {{ {text} }}"))
    (note,) = problem.notes
    assert note.message == "the first is here"
    assert note.span is not None
    assert note.span.text == first


@pytest.mark.parametrize(
    "text",
    [
        "property p: EF m expect holds expect fails expect expect",
        "check sound expect holds expect fails as assuming expect",
        "commitment c = C(A, B, p, q) within 3 within expires within revocable expires",
        "use P as q after x as as as as when within",
        'import "x" as a after as b',
        "agent A plays B { chooses m when n when plays when }",
        " ".join(["A -> B : m aftr x unles y"] * 40),
        "A -> B : m " + "aftr x unles y maens create c " * 200,
        "property p: m " + "expct holds " * 300,
        "A -> B : m( " + "aftr x unles y maens create c " * 400,
        "A -> B : m ) " + "aftr x unles y maens create c " * 400,
    ],
)
def test_recovery_ends_whatever_is_repeated(text: str) -> None:
    with processor_time(20):
        assert _inside(text)


def test_declaration_of_many_misspelt_words_is_read_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def counting(text: str, nesting: int) -> Any:
        texts.append(text)
        return read(text, nesting)

    monkeypatch.setattr(recovery, "read", counting)
    _inside("A -> B : m ) " + "aftr x unles y maens create c " * 100)
    assert 2 < len(texts) <= 30


def test_correction_replaces_a_word_by_another_and_goes_on_behind_it() -> None:
    tree, problems = parse(Source("test.cpl", "protocol P { property p: x expct holds expct fails }"))
    assert [problem.span.text for problem in problems] == ["expct", "expct", "expct fails"]
    assert all(note.message != "did you mean `expct`?" for problem in problems for note in problem.notes)
    assert isinstance(tree.protocols[0].declarations[0], ast.Property)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\ufeff\ufeffprotocol P { }", "1:2: The language has no zero width no-break space (U+FEFF)"),
        ("protocol P {\n\ufeffrole A }", "2:1: The language has no zero width no-break space (U+FEFF)"),
    ],
)
def test_byte_order_mark_inside_a_file_is_a_mistake(text: str, message: str) -> None:
    assert _said(text) == [message]


@pytest.mark.parametrize(
    ("text", "meant", "kinds"),
    [
        ("comitment g = C(A, B, p, q)", "commitment", ["Commitment"]),
        ("rol A", "role", ["Role"]),
        ("Role A", "role", ["Role"]),
        ("fro c in Cus { fact f = x }", "for", ["For"]),
        ("role A rol B", "role", ["Role", "Role"]),
        ("A -> B : m aftr x means create g", "after", ["Message"]),
        ("A -> B : m after x maens create g", "means", ["Message"]),
        ("A -> B : m(p: {a, b}) repeatble restart", "repeatable", ["Message"]),
        ("property p assumin A: x", "assuming", ["Property"]),
        ("property p: AG x expct fails", "expect", ["Property"]),
        ("commitment g = C(A, B, p, q) wthin 3", "within", ["Commitment"]),
        ("use P(x = y) ass q", "as", ["Use"]),
    ],
)
def test_misspelt_words_are_understood(text: str, meant: str, kinds: list[str]) -> None:
    tree, problems = parse(Source("test.cpl", f"protocol P {{\n{text}\n}}"))
    (problem,) = problems
    notes = [note.message for note in problem.notes]
    if kinds:
        assert f"did you mean `{meant}`?" in notes
    assert [type(item).__name__ for item in tree.protocols[0].declarations] == kinds


def test_places_after_a_misspelt_word_are_right() -> None:
    text = "protocol P {\n  A -> B : m aftr one means create two unles three & four\n}"
    tree, problems = parse(Source("test.cpl", text))
    assert [problem.span.text for problem in problems] == ["aftr", "unles"]
    (message,) = tree.protocols[0].declarations
    assert isinstance(message, ast.Message)
    after, means, unless = message.clauses
    assert isinstance(after, ast.After)
    assert isinstance(means, ast.Means)
    assert isinstance(unless, ast.Unless)
    assert after.condition.span.text == "one"
    assert means.operations[0].span.text == "create two"
    assert unless.condition.span.text == "three & four"
    assert (after.span.text, unless.span.text) == ("aftr one", "unles three & four")


def test_all_mistakes_of_a_file_come_in_one_run() -> None:
    text = """protocl Trade(n: 1..3 = 2) {
  role A
  rol B
  fact f = (x
  for c in Cus {
    A -> c : pay aftr order means create g h
    fact g = x && y
    commitment c = C(A, c, pay)
  }
  property p: AG (x -> )
}
}
define d = AF"""
    assert _said(text) == [
        "1:1: Expected a declaration, found `protocl`",
        "3:3: Expected a declaration, found `rol`",
        "4:12: `(` is never closed",
        "6:18: Expected a clause or the next declaration after `pay`, found `aftr`",
        "6:44: Expected a clause or the next declaration after `g`, found `h`",
        "7:16: `&&` is the notation of another language",
        "8:20: `C(A, c, pay)` is the notation of another language",
        "10:24: Expected an operand after `->`, found `)`",
        "12:1: `}` closes nothing",
        "13:14: Expected an operand after `AF`, found the end of the file",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("protocol P { role A", "1:12: `{` is never closed"),
        ("protocol P {\nprotocol Q { role A }", "1:12: `{` is never closed"),
        ("protocol P { role A } }", "1:23: `}` closes nothing"),
        ("role A", "1:1: This declaration stands outside any protocol"),
        ("protocol { role A }", "1:10: Expected a name after `protocol`, found `{`"),
        ("protocol P { /* role A }", "1:14: This comment is never closed with `*/`"),
        ("a\0b", "1:2: The file contains NUL characters: it is no text"),
        ("protocol \udc80", "1:10: The file is not UTF-8 text"),
        ("protocol P(n) { role A }", "1:13: Expected `:` after `n`, found `)`"),
    ],
)
def test_broken_files(text: str, message: str) -> None:
    assert message in _said(text)
    assert len(_said(text)) <= 2


def test_protocol_with_wrong_head_keeps_name_and_body() -> None:
    tree, _ = parse(Source("test.cpl", "protocol P(n) { role A }"))
    assert [(item.name.text, len(item.declarations)) for item in tree.protocols] == [("P", 1)]


def test_only_unreadable_text_is_left_out() -> None:
    text = """protocol P(n: 1..(2 3) = 2, m: 1..3 = 2) {
      role A { var x: 0..(1 1)  var y: bool }
      A -> B : m after (x y) means create g unless z
      commitment g = C(A, B, (p q), r)
      for c in (D E) { fact f = x }
      for c in D { fact f = (x y)  fact g = x }
    }"""
    tree, problems = parse(Source("test.cpl", text))
    assert [problem.span.position[0] for problem in problems] == [1, 2, 3, 4, 5, 6]
    (protocol,) = tree.protocols
    assert [parameter.name.text for parameter in protocol.parameters] == ["m"]
    role, message, loop = protocol.declarations
    assert isinstance(role, ast.Role)
    assert isinstance(message, ast.Message)
    assert isinstance(loop, ast.For)
    assert [variable.name.text for variable in role.variables] == ["y"]
    assert [type(clause).__name__ for clause in message.clauses] == ["Means", "Unless"]
    assert [fact.name.text for fact in loop.body if isinstance(fact, ast.Fact)] == ["g"]


_SOUP = random.Random(7)
_HOSTILE = {
    "binary": "".join(map(chr, range(1, 256))) * 100,
    "ten megabytes of one line": "  A -> B : m after x\n" * 500_000,
    "soup": "".join(_SOUP.choices('ab{}()[]"/*->:=.,!& \n', k=300_000)),
    "letters": "".join(_SOUP.choices(string.ascii_letters + " ", k=300_000)),
    "one word": "a" * 900_000,
    "words": "foo bar " * 100_000,
    "keywords": "fact " * 100_000,
    "heads": "fact f = \n" * 90_000,
    "openings": "(" * 900_000,
    "closings": "}" * 900_000,
    "quotes": '"' * 900_000,
    "lines with quotes": '"\n' * 400_000,
    "stars": "/*" * 400_000,
    "umlauts": "\u00e4 x" * 300_000,
    "digits": "9" * 900_000,
    "arrows": "a->" * 100_000,
    "blocks": "for c in D {" * 80_000,
    "deep parentheses": "protocol P { fact f = " + "(" * 10_000 + "x" + ")" * 10_000 + "}",
    "deep negation": "protocol P { fact f = " + "!" * 10_000 + "x }",
    "deep quantifiers": "protocol P { fact f = " + "forall c in D: " * 10_000 + "x }",
    "deep blocks": "protocol P { " + "for c in D {" * 10_000 + "}" * 10_000 + "}",
    "a long chain": "protocol P { fact f = " + "x -> " * 1000 + "x }",
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_text_is_refused_in_time(name: str) -> None:
    text = _HOSTILE[name]
    started = time.process_time()
    _, problems = parse(Source("test.cpl", text))
    assert time.process_time() - started < 10
    assert 0 < len(problems) <= 100
    assert all(problem.is_error for problem in problems)
    assert all(0 <= problem.span.start <= problem.span.end <= len(text) for problem in problems)
    assert all(len(problem.message) < 200 for problem in problems)


@pytest.mark.parametrize("name", [name for name in _HOSTILE if name.startswith(("deep", "a long"))])
def test_depth_is_reported_once(name: str) -> None:
    _, problems = parse(Source("test.cpl", _HOSTILE[name]))
    assert [problem.code for problem in problems] == ["too-deep"]


@pytest.mark.parametrize(
    ("text", "message", "first"),
    [
        ("A -> B : m set x := 1 set x := 2", "`A.x` is given two values at once", "x := 1"),
        ("A -> B : m use Q(R = A, S = B, R = B) as q", "`R` is bound twice", "R"),
    ],
)
def test_second_of_two_names_the_place_of_the_first(text: str, message: str, first: str) -> None:
    part = "protocol Q { role R role S R -> S : n }"
    whole = f"{part} protocol P {{ role A {{ var x: 0..3 }} role B {text} }}"
    problem = next(one for one in CplCompilation(Source("test.cpl", whole)).diagnostics if one.message == message)
    (note,) = problem.notes
    assert note.message == "the first is here"
    assert note.span is not None
    assert note.span.text == first
    assert note.span.start < problem.span.start
