"""The formatter preserves the contents of files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cplc.cli import check, load
from cplc.cli.main import run
from cplc.formatter import Formatted, format_source
from cplc.source import Source


def _laid_out(text: str) -> str:
    formatted = format_source(Source("p.cpl", text))
    assert formatted.diagnostics == ()
    return formatted.text


def test_short_role_block_stays_on_one_line() -> None:
    assert _laid_out("protocol P{role A{var x:bool var y:{b,c}=b}}") == (
        "protocol P {\n  role A { var x: bool  var y: {b, c} = b }\n}\n"
    )
    variables = " ".join(f"var variable{index}: bool" for index in range(9))
    assert _laid_out(f"protocol P {{ role A {{ {variables} }} }}").count("\n") == 13


def test_operators_keep_to_their_operands() -> None:
    formula = (
        "AG(!p&-x+-1<=m [ i-1 ].price)->E{does(pay)}F<=3 q|<<A,B>>[p U<=k (q)]&forall i in 1 .. n+1 :K ( A , p@B )"
    )
    assert _laid_out(f"protocol P {{ property f: {formula} }}").splitlines()[1] == (
        "  property f: AG (!p & -x + -1 <= m[i - 1].price) -> E{does(pay)} F<=3 q"
        " | <<A, B>>[p U<=k (q)] & forall i in 1..n + 1: K(A, p@B)"
    )


def test_braces_of_a_group_have_no_blanks_inside() -> None:
    text = "protocol P{role any{var x:bool} commitment c=C(each{A ,any}, {B , D},p,q) for i in each{A->B:m}}"
    assert _laid_out(text).splitlines()[1:] == [
        "  role any { var x: bool }",
        "  commitment c = C(each {A, any}, {B, D}, p, q)",
        "  for i in each {",
        "    A -> B : m",
        "  }",
        "}",
    ]


def test_breaks_inside_a_declaration_are_kept_and_indented_by_what_is_open() -> None:
    text = (
        "protocol P {\nproperty f:\nAG (a ->\nAF (b\n| c\n)\n)\n"
        "A -> B : m\nafter a\n& b\nmeans create c,\ncreate d\n}\n"
    )
    assert _laid_out(text) == (
        "protocol P {\n  property f:\n    AG (a ->\n      AF (b\n        | c\n      )\n    )\n"
        "  A -> B : m\n    after a\n      & b\n    means create c,\n      create d\n}\n"
    )


def test_long_line_is_not_aligned() -> None:
    wide = " | ".join(["something"] * 8)
    text = _laid_out(f"protocol P {{ A -> B : m after {wide} means create c\nA -> B : note after m means create d }}")
    assert f"  A -> B : m  after {wide}   means create c\n" in text
    assert "  A -> B : note  after m   means create d\n" in text


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    assert _laid_out("\ufeffprotocol P {\r\nrole A\nrole B\r\n}") == (
        "\ufeffprotocol P {\r\n  role A\r\n  role B\r\n}\r\n"
    )


@pytest.mark.parametrize(
    ("text", "laid_out"),
    [
        ("\ufeff// doc\nprotocol P { }", "\ufeff// doc\nprotocol P {\n}\n"),
        ("\ufeff/* a */ // b\nprotocol P { }", "\ufeff/* a */ // b\nprotocol P {\n}\n"),
        ("\ufeff\r\n // doc\r\nprotocol P { }", "\ufeff// doc\r\nprotocol P {\r\n}\r\n"),
        ("\ufeff// doc", "\ufeff// doc\n"),
        ("\ufeff", "\ufeff"),
        (f"protocol P {{ role A{' ' * 600}// of A\nrole B }}", "protocol P {\n  role A   // of A\n  role B\n}\n"),
    ],
)
def test_byte_order_mark_and_comment_stay(text: str, laid_out: str) -> None:
    assert format_source(Source("test.cpl", text)) == Formatted(laid_out)
    assert format_source(Source("test.cpl", laid_out)) == Formatted(laid_out)


def test_empty_text_is_formatted_as_empty() -> None:
    assert _laid_out("") == ""
    assert _laid_out("\n\n  \n") == ""
    assert _laid_out("\n\n// alone") == "// alone\n"


def test_columns_of_long_file_are_computed_in_time() -> None:
    messages = "\n".join(f"A -> B : m{index} after {'a' * (index % 130)}x" for index in range(400))
    assert _laid_out(f"protocol P {{\n{messages}\n}}").count("\n") == 402


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_formatting_keeps_permissions_and_links(tmp_path: Path) -> None:
    (tmp_path / "p.cpl").write_text("protocol P { }")
    (tmp_path / "p.cpl").chmod(0o640)
    (tmp_path / "link.cpl").symlink_to("p.cpl")
    assert run(["fmt", str(tmp_path / "link.cpl")]) == 0
    assert (tmp_path / "link.cpl").is_symlink()
    assert (tmp_path / "p.cpl").read_text() == "protocol P {\n}\n"
    assert stat.S_IMODE((tmp_path / "p.cpl").stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.cpl", "p.cpl"]


def test_folders_are_searched_hidden_ones_are_not(tmp_path: Path) -> None:
    for folder in (".hidden", "shown/deeper"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "p.cpl").write_text("protocol P { }")
    (tmp_path / "shown" / "notes.txt").write_text("protocol P { }")
    assert run(["fmt", str(tmp_path)]) == 0
    assert (tmp_path / ".hidden" / "p.cpl").read_text() == "protocol P { }"
    assert (tmp_path / "shown" / "notes.txt").read_text() == "protocol P { }"
    assert (tmp_path / "shown" / "deeper" / "p.cpl").read_text() == "protocol P {\n}\n"


def _failing_on(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return work that meets a bug at the files of one name."""

    def failing(first: Any, *arguments: Any, **options: Any) -> Any:
        if getattr(first, "name", first) == name:
            raise RuntimeError("a bug")
        return work(first, *arguments, **options)

    return failing


def test_folder_is_laid_out_although_one_file_meets_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        Path(f"{name}.cpl").write_text(f"protocol {name.upper()} {{ }}\n", encoding="utf-8")
    Path("a.cpl").write_text("protocol   A { }", encoding="utf-8")
    Path("c.cpl").write_text("protocol   C { }", encoding="utf-8")
    monkeypatch.setattr("cplc.formatter.format_source", _failing_on("b.cpl", format_source))
    assert run(["fmt", "."]) == 2
    printed = capsys.readouterr()
    assert printed.out == "2 files changed, 1 file with errors\n"
    assert "b.cpl: cplc" in printed.err
    assert "this is a bug in cplc: RuntimeError: a bug" in printed.err
    assert Path("c.cpl").read_text(encoding="utf-8") == "protocol C {\n}\n"


def test_folder_is_checked_although_one_file_meets_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        Path(f"{name}.cpl").write_text("protocol P { role A role B A -> B : m }\n", encoding="utf-8")
    monkeypatch.setattr(check, "diagnostics_of", _failing_on("b.cpl", load.diagnostics_of))
    assert run(["check", "."]) == 2
    printed = capsys.readouterr()
    assert "c.cpl: no problems" in printed.out
    assert "b.cpl: cplc" in printed.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_folder_is_laid_out_although_one_file_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = tmp_path / "a"
    closed.mkdir()
    (closed / "a.cpl").write_text("protocol   A { }", encoding="utf-8")
    (tmp_path / "b.cpl").write_text("protocol   B { }", encoding="utf-8")
    closed.chmod(0o500)
    assert run(["fmt", str(tmp_path)]) == 2
    closed.chmod(0o700)
    assert "cannot write" in capsys.readouterr().err
    assert (tmp_path / "b.cpl").read_text(encoding="utf-8") == "protocol B {\n}\n"
