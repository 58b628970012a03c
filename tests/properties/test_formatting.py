"""Formatting preserves the tree and is idempotent."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import Plan, text_of
from tests.support.generators.protocols import plans
from tests.support.generators.syntax_trees import files

from cplc.compilation import CplCompilation
from cplc.formatter import format_source
from cplc.source import Source
from cplc.syntax import printer
from cplc.syntax.parser import parse
from cplc.syntax.scanner import scan
from cplc.system.model import System

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("examples", "stdlib", "src", "tests", "benchmarks")
_WRITTEN = sorted(path for folder in _FOLDERS for path in (_ROOT / folder).glob("**/*.cpl"))

_BLANKS = (" ", "   ", "\t", "\n", "\n\n", "\n \n\n\n", "\r\n")
_COMMENTS = (" /* c */ ", "/* a\n     * b\n */", " /* f\n   g */", " // d  \n", "\n// e\n")


@st.composite
def untidy_files(draw: st.DrawFn) -> str:
    """Draw a file with blanks and comments at all places where they are allowed."""
    text = printer.file(draw(files()))
    pieces = re.split(r'(//[^\n]*\n|"(?:[^"\\]|\\.)*"|\s+|(?<=[(,])|(?=[),]))', text)
    return "".join(
        draw(st.sampled_from(_BLANKS + _COMMENTS)) if not piece.strip() and draw(st.integers(0, 3)) == 0 else piece
        for piece in pieces
    )


@given(untidy_files())
def test_formatting_changes_white_space_only(text: str) -> None:
    before = Source("untidy", text)
    tree, problems = parse(before)
    assert problems == ()
    formatted = format_source(before)
    after = Source("tidy", formatted.text)
    assert formatted.diagnostics == ()
    assert parse(after) == (tree, ())
    assert _docs(parse(after)[0]) == _docs(tree)
    assert _comments(after) == _comments(before)
    assert format_source(after).text == formatted.text, "it was not laid out yet"


@given(untidy_files())
def test_formatted_white_space_is_normalised(text: str) -> None:
    lines = format_source(Source("untidy", text)).text.replace("\r\n", "\n").split("\n")
    assert lines[-1] == ""
    assert lines[-2:-1] != [""]
    assert lines[0] or len(lines) == 1
    outside = "\n".join(lines)
    assert "\n\n\n" not in re.sub(r"/\*[\s\S]*?\*/", "c", outside)
    assert not any(line != line.rstrip() for line in lines)
    assert "\t" not in outside


@given(plans())
def test_formatting_preserves_system(plan: Plan) -> None:
    text = text_of(plan)
    formatted = format_source(Source("p", text)).text
    before, after = CplCompilation(Source("p", text)), CplCompilation(Source("p", formatted))
    assert before.ok == after.ok
    if before.ok:
        assert _without_places(after.system) == _without_places(before.system)


def _without_places(system: System) -> System:
    """Return the system without the places of its hazards, which layout moves."""
    return replace(system, hazards=tuple((text, condition, None) for text, condition, _ in system.hazards))


@pytest.mark.parametrize("path", _WRITTEN, ids=lambda path: str(path.relative_to(_ROOT)))
def test_files_of_repository_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_source(Source(path.name, text)).text == text


def _docs(node: object) -> list[object]:
    if isinstance(node, tuple):
        return [doc for each in node for doc in _docs(each)]
    if not is_dataclass(node) or isinstance(node, Source):
        return []
    below = [doc for field in fields(node) if field.name != "span" for doc in _docs(getattr(node, field.name))]
    return [getattr(node, "doc", None), *below]


def _comments(source: Source) -> list[list[str]]:
    return [[line.strip() for line in source.text[start:end].split("\n")] for start, end in scan(source).comments]
