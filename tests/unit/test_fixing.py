"""Repairs: what is certain, what is tried out, and what stays of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cplc.cli.main import run
from cplc.compilation import CplCompilation
from cplc.compilation.automatic_fixes import fix_text
from cplc.diagnostics.core import did_you_mean
from cplc.source import Source


def _repaired(text: str) -> tuple[str, int]:
    fixed = fix_text(CplCompilation(Source("p.cpl", text)))
    return fixed.text, fixed.count


@pytest.mark.parametrize(
    ("written", "candidates", "meant"),
    [
        ("oder", ["order", "offer"], "order"),
        ("ordder", ["order"], "order"),
        ("ordre", ["order"], "order"),
        ("orter", ["order"], "order"),
        ("offre", ["order", "offer"], "offer"),
        ("ordexy", ["order"], None),
        ("pat", ["pay", "pan"], None),
        ("a1", ["a2"], None),
        ("ba", ["abc"], None),
    ],
)
def test_correction_is_certain_if_unique_at_distance_one(
    written: str, candidates: list[str], meant: str | None
) -> None:
    replacements = [one for note in did_you_mean(written, candidates) for one in note.replacements]
    assert [one.text for one in replacements if one.certainty == "certain"] == ([meant] if meant else [])


def test_fix_that_adds_an_error_is_not_applied() -> None:
    """The guard would look at what its sender cannot see."""
    text = (
        "protocol P {\n  role A\n  role B\n  role C { var stock: bool }\n"
        "  A -> B : m   if C.stok\n  B -> A : reply   after mm\n}\n"
    )
    assert _repaired(text) == (text, 0)
    assert _repaired(text.replace("mm", "replly")) == (text.replace("mm", "reply"), 1)


def test_errors_hidden_by_others_are_fixed_in_same_run() -> None:
    text = "protocol P {\n  role A\n  role B\n  A -> B : order   // cplc: ignore unused\n  B -> A : n   after oder\n}\n"
    assert _repaired(text) == ("protocol P {\n  role A\n  role B\n  A -> B : order\n  B -> A : n   after order\n}\n", 2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  // cplc: ignore unused\n  A -> B : m\n", "  A -> B : m\n"),
        ("  A -> B : m /* cplc: ignore unused */\n", "  A -> B : m\n"),
        ("  A -> B : m /* cplc: ignore unused */ after n B -> A : n\n", "  A -> B : m after n B -> A : n\n"),
        ("  fact f = m // cplc: ignore never-sent, unused\n  A -> B : m\n", None),
        ("  A -> B : m\n  // cplc: ignore-file unused, never-sent -- both\n", "  A -> B : m\n"),
    ],
)
def test_comments_against_nothing_are_removed_with_nothing_else(before: str, after: str | None) -> None:
    head = "protocol P {\n  role A\n  role B\n"
    expected = after or "  fact f = m // cplc: ignore unused\n  A -> B : m\n"
    assert _repaired(f"{head}{before}}}\n")[0] == f"{head}{expected}}}\n"


def test_fixing_keeps_line_ends_and_byte_order_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.cpl"
    path.write_bytes(b"\xef\xbb\xbfprotocol P {\r\n  role A\r\n  role Bob\r\n  A -> Boob : m\r\n}\r\n")
    assert run(["check", "--diff", str(path)]) == 2
    assert b"Boob" in path.read_bytes()
    assert run(["check", "--fix", str(path)]) == 0
    assert path.read_bytes() == b"\xef\xbb\xbfprotocol P {\r\n  role A\r\n  role Bob\r\n  A -> Bob : m\r\n}\r\n"
    assert run(["check", "--diff", str(path)]) == 0
    assert "1 repaired" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("  A -> B : m\n", 0),
        ("  A -> B : m after nothing\n", 2),  # an error that cannot be repaired
        ("  A -> B m\n", 2),
        ("  A -> B : m // cplc: ignore unused\n", 1),  # a repair, and nothing else
    ],
)
@pytest.mark.parametrize("form", ["text", "concise", "json", "github"])
def test_diff_has_the_exit_code_of_check_and_1_for_repairs(text: str, code: int, form: str, tmp_path: Path) -> None:
    path = tmp_path / "p.cpl"
    path.write_text(f"protocol P {{\n  role A\n  role B\n{text}}}\n", encoding="utf-8")
    arguments = [str(path), "--format", form]
    assert run(["check", *arguments]) == (code if code == 2 else 0)
    assert run(["check", "--diff", *arguments]) == code
    assert run(["check", "--fix", *arguments]) == (code if code == 2 else 0)


def test_fix_writes_replacement_of_its_note() -> None:
    text = """protocol P {
  role A
  role B
  commitment goods = C(A, B, true, m)
  A -> B : m   means create goods
  property p: EF Create(A, goods)
  property q: EF does(create goods)
}
"""
    compilation = CplCompilation(Source("p.cpl", text))
    (diagnostic,) = compilation.diagnostics
    (fix,) = diagnostic.fixes
    assert [edit.text for edit in fix.edits] == ["does(create goods)"]
    assert fix.certainty == "certain"
    after = fix_text(compilation).text
    assert "property p: EF does(create goods)\n" in after
    assert after.startswith("cpl 2\n")
