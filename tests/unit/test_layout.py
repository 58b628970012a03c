"""Lines of text reports at every width."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from cplc.checking.results import Result
from cplc.cli import output
from cplc.compilation import CplCompilation
from cplc.report.layout import MAX_WIDTH, MIN_WIDTH, Layout, formula_lines, list_lines, wrapped
from cplc.report.text import result_text
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
