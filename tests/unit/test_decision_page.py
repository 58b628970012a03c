"""The page of an analysis: everything that is asked and drawn is there, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from cplc.cli.main import run

_MARKET = str(Path(__file__).parents[2] / "examples/marketplace.cpl")


Said = Callable[..., tuple[str, int]]


@pytest.fixture
def output_of(capsys: pytest.CaptureFixture[str]) -> Said:
    """Output of `cplc analyze`, and its exit code."""

    def analyze(*arguments: str, form: str = "html") -> tuple[str, int]:
        code = run(["analyze", *arguments, "--format", form])
        return capsys.readouterr().out, code

    return analyze


def test_the_page_says_what_the_text_says(output_of: Said, tmp_path: Path) -> None:
    page, code = output_of(_MARKET, "--charts", str(tmp_path))
    text, _ = output_of(_MARKET, form="text")
    assert code == 0
    blocks = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    shown = "\n".join(unescape(re.sub(r"</?span[^>]*>", "", block)) for block in blocks)
    assert shown.split() == text.split()
    assert page.count("<section") == 5
    drawings = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")]
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg"}
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="cplc-figure"') == len(drawings) == 11
    assert page.count('<span class="verdict good">') == 6
    assert '<p class="lead">Take part only if <code>Buyer</code> does' in page
    assert "no proof" not in page


def test_the_page_of_an_estimate_says_what_it_is(output_of: Said) -> None:
    page, code = output_of(_MARKET, "--runs", "50", "--agent", "Tom", "--scheduler", "uniform")
    assert code == 3
    assert "an estimate, no proof" in page
    assert page.count('<td class="verdict warning">unknown') == 1
    assert page.count('class="cplc-figure"') == 1


@pytest.mark.parametrize("arguments", [(_MARKET,), (_MARKET, "--runs", "5")])
def test_the_page_needs_nothing_else(output_of: Said, arguments: tuple[str, ...]) -> None:
    page, _ = output_of(*arguments)
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', page) == []
    assert "<script" not in page


def test_a_mistaken_file_has_a_page_too(output_of: Said, tmp_path: Path) -> None:
    (tmp_path / "a.cpl").write_text("protocol P {\n  role A\n  A -> B : <b>\n}\n", encoding="utf-8")
    page, code = output_of(str(tmp_path / "a.cpl"))
    assert code == 2
    assert "not analyzed" in page
    assert "<b>" not in page


def test_the_page_shows_the_front(output_of: Said) -> None:
    translation = str(Path(__file__).parents[2] / "examples/translation.cpl")
    page, code = output_of(translation, "--agent", "Tara")
    assert code == 0
    rows = re.findall(r"<tr><td>(\d+ %)</td><td>([\d.]+)</td></tr>", page)
    assert rows == [("100 %", "0"), ("90 %", "65.5")] * 2
    assert page.count("conformance and value together</text>") == 2
