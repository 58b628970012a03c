"""Formatting of models in ISPL: the same tree, the same comments, and formatting twice is formatting once."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.generators.ispl_models import Features, model
from tests.support.generators.ispl_syntax_trees import files

from cplc.formatter.ispl import format_ispl
from cplc.ispl.syntax import ast, printer
from cplc.ispl.syntax.parser import parse
from cplc.source import Source

_ROOT = Path(__file__).parents[2]
_MODELS = sorted(
    path for folder in ("examples", "tests", "benchmarks", "playground") for path in (_ROOT / folder).rglob("*.ispl")
    if "node_modules" not in path.parts
)  # fmt: skip
_TOKEN = re.compile(r"(CTL\*|\w+|->|<>|<=|>=|!=|\.\.|\S)")
_BLANKS = st.sampled_from((" ", "  ", "\n", "\n\n\n", "\t", " -- end ;\n", "\n-- x : {\n\n", "\n  --\n"))


def _formatted(text: str) -> str:
    """Return the formatted text, which the formatter itself has compared with the original."""
    formatted = format_ispl(Source("model.ispl", text))
    assert formatted.diagnostics == (), text
    return formatted.text


def _check(text: str) -> None:
    once = _formatted(text)
    tree, problems = parse(Source("model.ispl", text))
    again, problems_after = parse(Source("model.ispl", once))
    assert again == tree
    assert problems == problems_after == ()
    assert [line.strip() for line in re.findall("--.*", once)] == [one.strip() for one in re.findall("--.*", text)]
    assert _formatted(once) == once
    lines = once.splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert once.endswith("\n")
    assert all(lines[at] or lines[at + 1] for at in range(len(lines) - 1)), "two empty lines"


@given(files(), st.data())
def test_formatting_keeps_tree_and_comments(tree: ast.File, data: st.DataObject) -> None:
    words = _TOKEN.findall(printer.file(tree))
    _check("".join(word + data.draw(_BLANKS) for word in words))


@given(files())
def test_layout_does_not_depend_on_blanks(tree: ast.File) -> None:
    words = _TOKEN.findall(printer.file(tree))
    assert _formatted(" ".join(words)) == _formatted(" \t ".join(words))


@given(st.integers(0, 1_000_000))
def test_formatting_of_whole_models(seed: int) -> None:
    text = model(Random(seed), Features(), formulas=3)
    assume(not parse(Source("model.ispl", text))[1])  # an agent may have no action
    _check(text)


@pytest.mark.parametrize("path", _MODELS, ids=lambda path: path.name)
def test_formatting_of_every_model_of_the_repository(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    _check(text)
    if path.parent.name == "examples":
        assert _formatted(text) == text


def test_line_ends_and_byte_order_mark_are_kept() -> None:
    text = (_ROOT / "examples" / "train_gate.ispl").read_text(encoding="utf-8")
    windows = "\ufeff" + text.replace("\n", "\r\n")
    assert format_ispl(Source("model.ispl", windows)).text == windows


def test_syntax_errors_leave_the_text_unchanged() -> None:
    text = "Agent Environment\n  Vars: x : ; end Vars\n"
    formatted = format_ispl(Source("model.ispl", text))
    assert formatted.text == text
    assert any(one.is_error for one in formatted.diagnostics)
