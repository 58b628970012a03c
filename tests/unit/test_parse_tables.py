"""Stored parse tables match the grammars, and a parser without them gives the same trees."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import lark
import pytest
from tests.fuzz import corpus

from cplc.compilation import CplCompilation
from cplc.ispl.syntax import statements
from cplc.language.words import words_of
from cplc.source import Source
from cplc.syntax import formula_parser, parse_tables
from cplc.syntax.parse_tables import tables_of

_GRAMMARS = {"formula": ("start",), "ispl": statements.KINDS}
_FOLDER = Path(__file__).parents[2] / "grammar"
_PROTOCOL = "protocol P { role A role B A -> B : m  if true property p: AG (m -> E{!does(m)} X (m & K(A, m))) }"


@pytest.fixture
def fresh_parsers() -> Iterator[None]:
    _forget()
    yield
    _forget()


def _forget() -> None:
    formula_parser._prepared.cache_clear()
    formula_parser._lark.cache_clear()


_WRITTEN_BY = json.loads((_FOLDER / "formula.tables.json").read_text(encoding="utf-8"))["lark"]
same_lark = pytest.mark.skipif(
    lark.__version__ != _WRITTEN_BY, reason=f"the tables were computed by lark {_WRITTEN_BY}, which is not installed"
)


@same_lark
@pytest.mark.parametrize("grammar", _GRAMMARS)
def test_tables_are_those_of_the_grammar(grammar: str, update_golden: bool) -> None:
    """They are equal but for the numbers of their states, which differ from one process to the next."""
    path = _FOLDER / f"{grammar}.tables.json"
    computed = tables_of(grammar, _GRAMMARS[grammar])
    if update_golden and (not path.exists() or _shape(path.read_text(encoding="utf-8")) != _shape(computed)):
        path.write_text(computed, encoding="utf-8")
    assert _shape(path.read_text(encoding="utf-8")) == _shape(computed), "make golden writes the tables again"


def _shape(tables: str) -> object:
    """Return what does not depend on how states are numbered."""
    content = json.loads(tables)
    data = content["parser"]
    token = data["parser"]["parser"]["tokens"]
    actions = (
        sorted((token[number], shift_or_reduce) for number, (shift_or_reduce, _) in row.items())
        for row in data["parser"]["parser"]["states"].values()
    )
    rules = (json.dumps(content["memo"][str(rule["@"])], sort_keys=True) for rule in data["rules"])
    return content["lark"], content["grammar"], data["options"], sorted(actions), sorted(rules)


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"lark": 1}', "{"])
def test_parser_without_tables_is_built_from_grammar(
    content: str | None, fresh_parsers: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = CplCompilation(Source("p.cpl", _PROTOCOL)).system
    (tmp_path / "formula.lark").write_text((_FOLDER / "formula.lark").read_text(encoding="utf-8"), encoding="utf-8")
    if content is not None:
        (tmp_path / "formula.tables.json").write_text(content, encoding="utf-8")
    _forget()
    monkeypatch.setattr(parse_tables, "shipped", lambda folder: tmp_path)
    assert CplCompilation(Source("p.cpl", _PROTOCOL)).system == expected


@pytest.mark.parametrize("changed", ["lark", "grammar"])
def test_tables_of_another_grammar_are_not_used(
    changed: str, fresh_parsers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if changed == "lark":
        monkeypatch.setattr(lark, "__version__", "0.0")
    else:
        monkeypatch.setattr(parse_tables, "_checksum", lambda text: 0)
    monkeypatch.setattr(lark.Lark, "_load_from_dict", lambda *_, **__: pytest.fail("these tables are stale"))
    assert formula_parser._lark() is not None
    assert (formula_parser._prepared() is None) == (changed == "grammar")
    assert CplCompilation(Source("p.cpl", _PROTOCOL)).ok


@same_lark
def test_tables_are_used(fresh_parsers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lark.Lark, "__init__", lambda *_, **__: pytest.fail("this takes long"))
    assert CplCompilation(Source("p.cpl", _PROTOCOL)).ok


def test_prepared_parser_and_lark_read_the_same(fresh_parsers: None) -> None:
    """Formulas with some tokens removed, replaced or inserted: the same trees with the same places, or none."""
    prepared = formula_parser._prepared()
    assert prepared is not None
    formulas = [text.decode() for text in corpus.formulas()]
    words = [
        *(word for text in formulas for word in re.findall(r"\w+|\S", text)),
        *words_of("prefix", "infix", "modality"),
    ]
    rng = random.Random(7)
    accepted = 0
    for _ in range(3000):
        tokens = re.findall(r"\s+|\w+|<->|->|<=|>=|!=|<<|>>|\.\.|\S", rng.choice(formulas))
        for _ in range(rng.randrange(3)):
            place = rng.randrange(len(tokens)) if tokens else 0
            tokens[place : place + rng.randrange(2)] = [f" {rng.choice(words)}"] * rng.randrange(2)
        text = "".join(tokens)
        tree = prepared.parse(text)
        try:
            assert repr(tree) == repr(formula_parser._lark().parse(text)), text
            accepted += 1
        except lark.UnexpectedInput:
            assert tree is None, text
    assert 500 < accepted < 2500
