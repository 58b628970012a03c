"""Lines of text reports at every width."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from cplc.checking.results import Result
from cplc.cli import output
from cplc.cli.main import run
from cplc.compilation import CplCompilation
from cplc.report.layout import MAX_WIDTH, MIN_WIDTH, Layout, fitted, formula_lines, list_lines, reflowed, wrapped
from cplc.report.text import result_text
from cplc.runtime.file_access import shipped
from cplc.source import Source, Span

_EXAMPLE = Path(__file__).parents[2] / "examples" / "netbill.cpl"
_FORMULA = "forall c in Cus: AG !(Fu(c -> Mer, pay[c]) & AG !C(Mer -> c, deliver[c]))"


@cache
def _results() -> tuple[Result, ...]:
    compilation = CplCompilation(Source("netbill.cpl", _EXAMPLE.read_text(encoding="utf-8")))
    return tuple(compilation.verify(compilation.questions()))


@pytest.mark.parametrize("width", [MIN_WIDTH, 80, 100, 120, MAX_WIDTH])
def test_report_fits_its_width_and_breaks_no_word(width: int) -> None:
    names = {name for result in _results() for name in _names(result_text(result, detail="everything"))}
    for result in _results():
        text = result_text(result, Layout(width=width), detail="everything")
        assert max(map(len, text.splitlines())) <= width, text
        assert _names(text) <= names


def _names(text: str) -> set[str]:
    """Return the words with an index, such as `goods[1]`."""
    return {word.strip("`,.;:()!") for word in text.split() if "[" in word or "]" in word}


def test_report_names_its_file_once() -> None:
    for result in _results():
        assert result_text(result, detail="everything").count("netbill.cpl") <= 1


def test_formula_breaks_after_operators_only() -> None:
    for width in range(30, 100):
        lines = formula_lines(_FORMULA, width, "  ")
        assert " ".join(line.strip() for line in lines) == _FORMULA
        if width >= 44:
            assert max(map(len, lines)) <= width
            assert all(line.endswith((":", "&", "|", "->", ",")) for line in lines[:-1])
    assert formula_lines(_FORMULA, 80, "") == [_FORMULA]


def test_list_breaks_between_its_parts() -> None:
    parts = [f"goods[{number}]: null -> conditional" for number in range(4)]
    for width in range(40, 140):
        lines = list(list_lines(parts, width, "    "))
        assert ", ".join(parts) == " ".join(line.strip() for line in lines)
        assert all(line.endswith(",") for line in lines[:-1])
        assert max(map(len, lines)) <= width
    assert list(list_lines([], 80, "")) == []


def test_short_formula_in_a_sentence_is_not_broken() -> None:
    lines = wrapped("It could never come to `AG (p -> AF q)` again, which is what was asked.", 40, "  ")
    assert any("`AG (p -> AF q)`" in line for line in lines)
    assert max(map(len, lines)) <= 40


def test_places_are_links_in_terminals_that_show_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "shop.cpl"
    file.write_text("cpl 2\n", encoding="utf-8")
    span = Span(Source(str(file), "cpl 2\n"), 0, 3)
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    linked = output.layout_for("never").place(span, "line 1")
    assert "line 1" in linked
    assert f"]8;;{file.as_uri()}#1" in linked
    monkeypatch.setenv("FORCE_HYPERLINK", "0")
    assert output.layout_for("never").place(span, "line 1") == "line 1"
    monkeypatch.delenv("FORCE_HYPERLINK")
    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    assert output.layout_for("always").place(span, "line 1").count("]8;;") == 0, "standard output is no terminal here"


def test_width_is_that_of_the_terminal_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("20", MIN_WIDTH), ("100", 100), ("500", MAX_WIDTH)):
        monkeypatch.setenv("COLUMNS", columns)
        assert output.layout_for("never").width == width


def test_fitted_lines_break_at_blanks_and_keep_short_formulas() -> None:
    text = (
        "  `Cus[1] -> Mer : pay[1]` cannot happen then in the old one; what could: `Mer -> Cus[1] : offer[1](2)`\n"
        "short\n"
    )
    for width in (40, 60, 80, 200):
        shown = fitted(text, width)
        assert shown.split() == text.split()
        assert all(len(line) <= width for line in shown.splitlines())
        assert "`Mer -> Cus[1] : offer[1](2)`" in shown
        assert shown.endswith("\nshort\n")
    assert fitted(text, 200) == text
    assert (
        fitted("goods  35  kept 3 (50 %), broken 1\n", 20)
        == "goods  35  kept 3\n           (50 %),\n           broken 1\n"
    )
    assert fitted("a" * 90 + " b\n", 60) == "a" * 90 + "\n    b\n"


def test_colours_do_not_count_as_columns() -> None:
    text = "\x1b[1mword\x1b[0m " * 12 + "\n"
    visible = re.compile("\x1b\\[[0-9;]*m")
    shown = fitted(text, 60, lambda part: len(visible.sub("", part)))
    assert [len(visible.sub("", line).rstrip()) for line in shown.splitlines()] == [59]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_reflowed_page_has_the_same_words_and_code(width: int) -> None:
    for path in [*shipped("rules").glob("*.md"), *shipped("checks").glob("*.md")]:
        page = path.read_text(encoding="utf-8")
        shown = reflowed(page, width)
        assert shown.split() == page.split(), path
        code = re.compile("^```.*?^```", re.MULTILINE | re.DOTALL)
        assert code.findall(shown) == code.findall(page)
        for line in code.sub("", shown).splitlines():
            assert len(line) <= width or line.startswith(("#", "|", "    ")) or "`" in line or " " not in line, line


def test_explain_reflows_a_page_for_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    run(["explain", "no_dangling"])
    page = capsys.readouterr().out
    monkeypatch.setattr("cplc.cli.output.is_terminal", lambda err=False: True)
    run(["explain", "no_dangling"])
    shown = capsys.readouterr().out
    assert page == (shipped("checks") / "no_dangling.md").read_text(encoding="utf-8").rstrip("\n") + "\n"
    assert shown == reflowed(page, 60) != page
