"""The reference, `docs/language.md`, has an example of everything that the language has, and its examples are run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, Token, Tree
from tests.support.literate.blocks import blocks
from tests.support.literate.language import LanguageTest, check_language, language_tests
from textx import metamodel_from_file

from cplc.language.lifecycle import CLAIM_PREDICATES, CLAIM_VERBS, COMMITMENT_PREDICATES, JOINED, VERBS
from cplc.language.words import CHECKS, EVENTS, LITERALS, OPERATORS
from cplc.runtime.file_access import shipped
from cplc.source import Source
from cplc.syntax import formula_parser
from cplc.syntax.parser import parse
from cplc.syntax.scanner import scan

_PAGE = Path(__file__).parents[1] / "docs" / "language.md"
_TESTS = language_tests(_PAGE)
_GRAMMAR = (shipped("grammar") / "cpl.tx").read_text(encoding="utf-8")
_FORMULAS = (shipped("grammar") / "formula.lark").read_text(encoding="utf-8")
_TEXTS = [block.text for block in blocks(_PAGE) if block.language == "cpl"]


@pytest.mark.parametrize("test", [pytest.param(test, id=test.name) for test in _TESTS])
def test_example_means_what_the_page_says(test: LanguageTest, tmp_path: Path) -> None:
    check_language(test, tmp_path)


def test_examples_that_ask_something_are_verified() -> None:
    asking = [test.name for test in _TESTS if re.search(r"^ *(property|check)\b", test.block.text, re.MULTILINE)]
    assert [test.name for test in _TESTS if test.verifies] == asking


@cache
def _rules_and_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the rules of the grammar of files that the examples go through, and the words that they have."""
    metamodel: Any = metamodel_from_file(shipped("grammar") / "cpl.tx")
    rules: set[str] = set()
    words: set[str] = set()
    for text in _TEXTS:
        model = metamodel.model_from_str(scan(Source("example.cpl", text)).text)
        for node in _below(model._tx_parser.parse_tree):
            rules.add(node.rule_name)
            words.add(str(node))
    return frozenset(rules), frozenset(words)


def _below(node: Any) -> Iterator[Any]:
    yield node
    if isinstance(node, list):
        for child in node:
            yield from _below(child)


@cache
def _expressions() -> tuple[Tree[Token], ...]:
    """Return the expressions of the examples, as the grammar of formulas reads them."""
    read: list[str] = []
    whole = formula_parser.read

    def listening(source: Source, text: str, offset: int) -> Any:
        read.append(text)
        return whole(source, text, offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cplc.syntax.textx_conversion.read", listening)
        for text in _TEXTS:
            parse(Source("example.cpl", text))
    assert len(read) > 50
    parser = Lark(_FORMULAS, parser="lalr", lexer="contextual", maybe_placeholders=False)
    return tuple(parser.parse(text) for text in read)


def _tokens() -> set[str]:
    return {str(token) for tree in _expressions() for token in tree.scan_values(lambda one: isinstance(one, Token))}


def test_every_rule_of_the_grammar_has_an_example() -> None:
    rules, _ = _rules_and_words()
    # Those below are how expressions are skipped over; the grammar of formulas says what they are.
    declared = re.findall(r"^(\w+):", _GRAMMAR[: _GRAMMAR.index("Expr: raw=")], re.MULTILINE)
    assert len(declared) > 50
    assert set(declared) - rules - {"Identifier", "Digits", "Quoted", "Name", "Text"} == set()


def test_every_word_of_the_grammar_has_an_example() -> None:
    _, words = _rules_and_words()
    grammar_words = set(re.findall(r"/([a-z]+)\\b/", _GRAMMAR))
    assert {"protocol", "unordered", "receipt", "believes", "as"} <= grammar_words
    assert grammar_words - words == {"ticks"}  # a unit of bounds, which has a table of examples instead


def test_every_form_of_a_formula_has_an_example() -> None:
    forms = set(re.findall(r"-> (\w+)", _FORMULAS))
    assert {"bounded_binary", "along_paths", "does_by", "view"} <= forms
    used = {str(tree.data) for whole in _expressions() for tree in whole.iter_subtrees()}
    assert forms - used == set()


def test_every_operator_has_an_example() -> None:
    operators = OPERATORS - {"sent", "inflight", "terminal"} | LITERALS
    operators |= set("+-*%<>=!&|") | {"->", "<->", "<=", ">=", "!=", "<<"}
    assert operators - _tokens() == set()


def test_every_state_operation_and_check_has_an_example() -> None:
    text = "\n".join(_TEXTS)
    missing = [
        name for name in {*COMMITMENT_PREDICATES, *CLAIM_PREDICATES, *EVENTS} if not re.search(rf"\b{name}\(", text)
    ]
    done = [verb for verb in {*VERBS, *CLAIM_VERBS} if not re.search(rf"(means|,) +{verb} \w", text)]
    joined = [verb for verb, word in JOINED.items() if not re.search(rf"\b{verb} \S+ {word} \w", text)]
    checked = [name for name in CHECKS if not re.search(rf"\bcheck [^\n]*\b{name}\b", text)]
    assert (missing, done, joined, checked, "terminal" in text) == ([], [], [], [], True)
