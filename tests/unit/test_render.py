"""Rendering of diagnostics."""

from __future__ import annotations

from textwrap import dedent

import pytest

from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic, Note, Rule, other_name
from cplc.diagnostics.render import in_order, rendered, summary
from cplc.source import Source, Span

_RULE = Rule("unknown-name", "a name that nothing has")
_ADVICE = Rule("unused", "a name that nothing uses", severity="warning")


def _at(text: str, part: str, *notes: Note, name: str = "m.cpl") -> Diagnostic:
    source = Source(name, text)
    start = text.index(part)
    return _RULE.at(Span(source, start, start + len(part)), "Nothing is called so", *notes)


def test_frame_marks_the_place() -> None:
    assert rendered([_at("role A\nA -> Bob : m\n", "Bob")]) == dedent("""\
        error[unknown-name]: Nothing is called so
         --> m.cpl:2:6
          |
        2 | A -> Bob : m
          |      ^^^

        1 error
        """)


def test_notes_have_frames_of_their_own_and_hints_have_not() -> None:
    text = "role A\nA -> Bob : m\n"
    declared = Note("`A` is declared here", Span(Source("m.cpl", text), 5, 6))
    assert rendered([_at(text, "Bob", other_name("Rob"), declared)]) == dedent("""\
        error[unknown-name]: Nothing is called so
         --> m.cpl:2:6
          |
        2 | A -> Bob : m
          |      ^^^
          = hint: did you mean `Rob`?
        note: `A` is declared here
         --> m.cpl:1:6
          |
        1 | role A
          |      ^

        1 error
        """)


@pytest.mark.parametrize(
    ("line", "part", "shown", "caret"),
    [
        ("\tX y", "X", "    X y", "    ^"),
        ("a\tX", "X", "a   X", "    ^"),
        ("X\ty", "X\ty", "X   y", "^^^^^"),
        ("日本 X", "X", "日本 X", "     ^"),
        ("日本", "本", "日本", "  ^^"),
        ("e\u0301 X", "X", "e\u0301 X", "  ^"),
        ("\x1b[31m X", "X", "␛[31m X", "      ^"),
        ("\u202ea X", "X", "\ufffda X", "   ^"),
    ],
    ids=["tab", "tab-inside", "tab-marked", "wide", "wide-marked", "combining", "escape", "bidirectional"],
)
def test_caret_stands_below_what_is_meant(line: str, part: str, shown: str, caret: str) -> None:
    lines = rendered([_at(line, part)]).splitlines()
    assert lines[3] == f"1 | {shown}"
    assert lines[4] == f"  | {caret}"


def test_long_lines_are_cut_around_the_place() -> None:
    lines = rendered([_at("a" * 5000 + " X " + "b" * 5000, "X")]).splitlines()
    assert len(lines[3]) < 200
    assert lines[3].startswith("1 | …aaa")
    assert lines[3].endswith("bbb…")
    assert lines[3][lines[4].index("^")] == "X"


def test_long_mark_ends_with_shown_line() -> None:
    lines = rendered([_at("x" * 5000, "x" * 5000)]).splitlines()
    assert len(lines[3]) < 200
    assert set(lines[4][4:]) == {"^"}
    assert len(lines[4]) <= len(lines[3])


def test_multiline_span_marks_first_line() -> None:
    lines = rendered([_at("ab {\n  c\n}\n", "{\n  c\n}")]).splitlines()
    assert lines[3:5] == ["1 | ab {", "  |    ^"]


def test_empty_text_has_no_frame() -> None:
    diagnostic = _RULE.at(Span(Source("gone.cpl", ""), 0, 0), "There is no such file")
    assert rendered([diagnostic]) == "error[unknown-name]: There is no such file\n --> gone.cpl\n\n1 error\n"


def test_end_of_text_is_a_place() -> None:
    source = Source("m.cpl", "role A\n")
    assert rendered([_RULE.at(Span(source, 7, 7), "It ends here")]).splitlines()[1:5] == [
        " --> m.cpl:2:1",
        "  |",
        "2 |",
        "  | ^",
    ]


def test_messages_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b]0;x\x07\x85") == "a␛]0;x␇\ufffd"


def test_diagnostics_come_in_order_of_place_and_once() -> None:
    text = "X Y\n"
    first, second = _at(text, "X"), _at(text, "Y")
    assert in_order([second, first, second]) == [first, second]


def test_diagnostics_beyond_limit_are_counted() -> None:
    text = "X " * 60
    source = Source("m.cpl", text)
    diagnostics = [_RULE.at(Span(source, 2 * i, 2 * i + 1), "No") for i in range(60)]
    shown = rendered(diagnostics)
    assert shown.count("error[") == 50
    assert shown.endswith("… and 10 more\n\n60 errors\n")


def test_summary_counts_errors_and_warnings() -> None:
    error = _at("X", "X")
    advice = _ADVICE.at(error.span, "Unused")
    assert summary([]) == "no problems"
    assert summary([error, advice, advice]) == "1 error, 2 warnings"


def test_style_colours_the_parts() -> None:
    shown = rendered([_at("X", "X")], lambda text, part: f"<{part}>{text}</>")
    assert "<error>error[unknown-name]</><message>: Nothing is called so</>" in shown
    assert "<error>^</>" in shown
