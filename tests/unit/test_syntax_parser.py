"""Files that are as they should be: where declarations end, what names may be, what comments document."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from cplc.language import words
from cplc.source import Source, Span
from cplc.syntax import ast, parser, printer

_CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.cpl"))

_EVERYTHING = """
import std.payments
import "./ship \\"x\\".cpl" as ship

// Answers come.
define responds(p, q) = AG (p -> AF q)
define calm = !E F loud

/* Trade, with
 * everything.
 */
protocol Trade(n: 1..8 = 2, lossy: bool = false) "A \\\\ B" sync {
  role Mer { var stock: 0..3 = 3  var mood: {calm, cross}  var open: bool }
  role Cus[n]
  channel Mer -> Mer unordered
  for c in Cus {
    for i in 1..n + 1 {
      commitment g = C(Mer, c, pay[i] | bank, deliver) within 3 expires n + 1 revocable
    }
    c -> Mer : order(item: 0..3, gift: bool, size: {s, m})  if item < Mer.stock  set x := item, y := 2
    Mer -> c : ship  after order unless cancel means create g, delegate a to b retaining, release h
      on receipt stock := Mer.stock - 1  resets order, cancel  restart  repeatable
  }
  choice order | cancel[1]
  fact done = ship | false
  use ship.Payment(payer = A, amount = n + 1, on_time = true) as part
  use Plain
  fairness !loud
  property p "title" assuming Mer, Cus: forall c in Cus: AG done expect fails
  property q assuming all: done
  check sound, live expect fails, robust
}
"""


def _read(text: str) -> ast.File:
    tree, problems = parser.parse(Source("test.cpl", text))
    assert problems == ()
    return tree


def _body(text: str) -> tuple[ast.Declaration, ...]:
    return _read(f"protocol P {{ {text} }}").protocols[0].declarations


def _kinds(text: str) -> list[str]:
    return [type(item).__name__ for item in _body(text)]


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_cases_are_read_and_printed(path: Path) -> None:
    tree = _read(path.read_text(encoding="utf-8"))
    assert tree.protocols[0].declarations
    assert _read(printer.file(tree)) == tree


def test_there_are_cases() -> None:
    assert len(_CASES) >= 6


def test_everything_at_once() -> None:
    tree = _read(_EVERYTHING)
    assert _read(printer.file(tree)) == tree
    payments, ship = tree.imports
    assert (payments.target, payments.is_path, payments.alias) == ("std.payments", False, None)
    assert (ship.target, ship.is_path) == ('./ship "x".cpl', True)
    (trade,) = tree.protocols
    assert trade.title == "A \\ B"
    assert trade.sync
    assert [item.doc for item in tree.defines] == ["Answers come.", None]
    assert trade.doc == "Trade, with\neverything."
    loop = next(item for item in trade.declarations if isinstance(item, ast.For))
    ship_message = next(item for item in loop.body if isinstance(item, ast.Message) and item.name.text == "ship")
    kinds = [type(clause).__name__ for clause in ship_message.clauses]
    assert kinds == ["After", "Unless", "Means", "OnReceipt", "Resets", "Restart", "Repeatable"]
    check = next(item for item in trade.declarations if isinstance(item, ast.Check))
    assert [(item.name.text, item.expect) for item in check.checks] == [
        ("sound", "holds"),
        ("live", "fails"),
        ("robust", "holds"),
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("fact f = x | y  A -> B : m", ["Fact", "Message"]),
        ("fact f = x  E -> U : m", ["Fact", "Message"]),
        ("fact f = x  S -> U : m", ["Fact", "Message"]),
        ("A -> B : m after x  U -> B : n", ["Message", "Message"]),
        ("A -> B : m after x  W -> R : n after y S -> W : o", ["Message"] * 3),
        ("A -> B : m after x[1]  F -> G : n", ["Message", "Message"]),
        ("A -> B : m after x & !y  X -> A : n", ["Message", "Message"]),
        ("fact f = A.x > 3  A -> B : m", ["Fact", "Message"]),
        ("fact f = x -> y  Cus[1] -> B[i + 1] : m", ["Fact", "Message"]),
        ("fact f = (x)  therefore -> to : m", ["Fact", "Message"]),
        ("fact f = x channel A -> B unordered", ["Fact", "Channel"]),
        ("fact f = x channel -> B : m", ["Fact", "Message"]),
        ("property p: AG x expect holds expect -> B : m", ["Property", "Message"]),
        ("property p: AG x expect -> B : m", ["Property", "Message"]),
        ("check sound expect -> B : m", ["Check", "Message"]),
        ("commitment c = C(A, B, p, q) within 3 within -> B : m", ["Commitment", "Message"]),
        ("commitment c = C(A, B, p, q) revocable -> B : m", ["Commitment", "Message"]),
        ("commitment c = C(A, B, p, q) within n U -> B : m", ["Commitment", "Message"]),
        ("A -> B : m means create g to -> B : n", ["Message", "Message"]),
        ("A -> B : m means delegate g to h retaining -> B : n", ["Message", "Message"]),
        ("A -> B : m set x := y  A -> B : n", ["Message", "Message"]),
        ("choice a | b  A -> B : n", ["Choice", "Message"]),
        ("use P  as -> B : n", ["Use", "Message"]),
        ("fact f = forall c in 1..n: x  A -> B : n", ["Fact", "Message"]),
        ("role A { var x: 0..3 = 1 + 2 var y: bool } A -> B : n", ["Role", "Message"]),
    ],
)
def test_declarations_need_no_terminator(text: str, kinds: list[str]) -> None:
    assert _kinds(text) == kinds


@pytest.mark.parametrize("word", sorted(words.CONTEXTUAL | {"accept", "create", "sound", "C", "K", "U", "AG"}))
def test_contextual_words_can_be_names(word: str) -> None:
    (message, fact) = _body(f"{word} -> B : {word} after y fact {word} = y")
    assert isinstance(message, ast.Message)
    assert isinstance(fact, ast.Fact)
    assert (message.name.text, message.sender.segments[0].name.text, fact.name.text) == (word, word, word)


@pytest.mark.parametrize("word", sorted(words.RESERVED))
def test_reserved_words_cannot_be_names(word: str) -> None:
    _, problems = parser.parse(Source("test.cpl", f"protocol P {{\n A -> B : {word}\n}}"))
    (problem,) = problems
    assert (problem.code, problem.span.text) == ("syntax", word)
    assert problem.message == f"Expected a name after `:`, found the keyword `{word}`"


def test_names_that_begin_like_keywords() -> None:
    message, fact = _body("A -> B : afterwards after important | format fact settle = ifs")
    assert isinstance(message, ast.Message)
    assert (message.name.text, len(message.clauses), isinstance(fact, ast.Fact)) == ("afterwards", 1, True)


def test_comments_directly_above_document() -> None:
    items = _body(
        """
        role A   // beside A
        // of m, first line
        // and second
        A -> B : m   // beside m
        A -> B : n

        // apart

        A -> B : o
        /** of p */
        A -> B : p
        /// of q
        fact q = "//" // no
        """.replace('"//"', "x")
    )
    docs = [item.doc for item in items if isinstance(item, ast.Message | ast.Fact | ast.Role)]
    assert docs == [None, "of m, first line\nand second", None, None, "of p", "of q"]


def test_comments_and_strings_hide_what_is_in_them() -> None:
    tree = _read('protocol P "a // b { /* \\"" { /* } "*/ fact f = x // ) } \n | y }')
    assert tree.protocols[0].title == 'a // b { /* "'
    assert printer.file(tree) == 'protocol P "a // b { /* \\"" {\n  fact f = x | y\n}\n'


@pytest.mark.parametrize("text", ["", " \r\n\t", "// nothing", "\ufeff"])
def test_empty_text_is_a_file(text: str) -> None:
    assert _read(text) == ast.File((), (), (), span=Span(Source("", ""), 0, 0))


def test_other_line_ends_tabs_and_a_mark_at_the_beginning() -> None:
    text = "protocol P {\n  // doc\n  role A\n\tA -> B : m\n}\n"
    tree = _read(text)
    assert _read("\ufeff" + text.replace("\n", "\r\n")) == tree
    role = _read(text.replace("\n", "\r\n")).protocols[0].declarations[0]
    assert isinstance(role, ast.Role)
    assert role.doc == "doc"


def test_spans_point_into_the_file() -> None:
    source = Source("test.cpl", "protocol P {\n  A -> B : m after (x) & y[1]  means create g\n}")
    tree, _ = parser.parse(source)
    (message,) = tree.protocols[0].declarations
    assert message.span.text == "A -> B : m after (x) & y[1]  means create g"
    assert isinstance(message, ast.Message)
    after, means = message.clauses
    assert isinstance(after, ast.After)
    assert isinstance(means, ast.Means)
    assert (after.condition.span.text, after.span.text) == ("(x) & y[1]", "after (x) & y[1]")
    assert (means.operations[0].span.text, message.name.span.text) == ("create g", "m")
    assert str(message.receivers[0].span) == "test.cpl:2:8"


def test_deep_blocks_are_read_and_the_recursion_limit_stays() -> None:
    before = sys.getrecursionlimit()
    (outer,) = _body("for c in D {" * 190 + "}" * 190)
    depth = 0
    while isinstance(outer, ast.For) and outer.body:
        (outer,) = outer.body
        depth += 1
    assert depth == 189
    assert sys.getrecursionlimit() == before


def test_threads_do_not_disturb_each_other() -> None:
    texts = [f"protocol P{n} {{ " + f"fact f{n} = p{n} & AG (q{n} -> r{n}) " * 20 + "}" for n in range(4)]
    expected = [_read(text) for text in texts]
    wrong: list[str] = []

    def read(index: int) -> None:
        for _ in range(5):
            tree, problems = parser.parse(Source(f"{index}", texts[index]))
            facts = [item for item in tree.protocols[0].declarations if isinstance(item, ast.Fact)]
            if tree != expected[index] or problems or {fact.value.span.source.name for fact in facts} != {f"{index}"}:
                wrong.append(texts[index])

    threads = [threading.Thread(target=read, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
