"""The table of the language (`language/words.py`) and the grammars, editors and tables that repeat its words agree."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from re import _constants as codes
from re import _parser as regular_expressions
from typing import Any, Final

import pytest

from cplc.ispl.syntax import ast as ispl
from cplc.language.lifecycle import CLAIM_CHANGES, CLAIM_VERBS, PREDICATES, VERBS
from cplc.language.words import (
    AGENT_ITEMS,
    BETWEEN_ROLES,
    CHECKS,
    CLAUSES,
    CONTEXTUAL,
    CONTINUATIONS,
    DECLARATIONS,
    EVENTS,
    FORMS,
    FREE_AS_NAMES,
    LITERALS,
    MODALITIES,
    OPERATORS,
    PREFIXES,
    RESERVED,
    USUAL_CHECKS,
    WORD,
    WORDS,
    words_of,
)
from cplc.server.hover import meaning

_ROOT: Final = Path(__file__).parents[2]
_GRAMMAR: Final = (_ROOT / "grammar" / "cpl.tx").read_text(encoding="utf-8")
_FORMULAS: Final = (_ROOT / "grammar" / "formula.lark").read_text(encoding="utf-8")


def words_matched(pattern: str) -> set[str]:
    """Return all texts that a regular expression matches, if there are finitely many; assertions are left out."""
    return set(_texts(regular_expressions.parse(pattern)))


def _texts(parts: Any) -> list[str]:
    return ["".join(choice) for choice in product(*(_alternatives(kind, value) for kind, value in parts))]


def _alternatives(kind: Any, value: Any) -> list[str]:
    match kind:
        case codes.LITERAL:
            return [chr(value)]
        case codes.IN:
            return [chr(code) for _, code in value]
        case codes.BRANCH:
            return [text for branch in value[1] for text in _texts(branch)]
        case codes.SUBPATTERN:
            return _texts(value[-1])
        case codes.MAX_REPEAT if value[:2] == (0, 1):
            return ["", *_texts(value[2])]
        case codes.ASSERT | codes.ASSERT_NOT | codes.AT:
            return [""]
        case _:
            raise ValueError(f"{kind} matches more than words")


def _rule(name: str) -> str:
    """Return the first regular expression of a rule of the grammar."""
    rule = re.search(rf"^{name}: (?:\w+=)?/((?:\\.|[^/\n])+)/", _GRAMMAR, re.MULTILINE)
    assert rule is not None, name
    return rule[1]


def _terminals(*names: str) -> set[str]:
    """Return the words of terminals of the grammar of formulas."""
    words: set[str] = set()
    for name in names:
        terminal = re.search(rf'^{name}(?:\.1)?: (?:/(.+)/|"(\w+)")$', _FORMULAS, re.MULTILINE)
        assert terminal is not None, name
        words |= words_matched(terminal[1] or terminal[2])
    return words


def test_words_are_unique_and_explained() -> None:
    assert len(WORD) == len(WORDS)
    assert {word.name for word in WORDS if not word.meaning and not word.form} == {
        "in", "plays", "receipt", "to", "when", "with", "bool", "true", "false",
    }  # fmt: skip
    assert set(USUAL_CHECKS) <= set(CHECKS)
    assert {construct for word in WORDS for construct in word.continues} <= FORMS.keys()
    assert CONTINUATIONS["message"] == CLAUSES | {"returns", "else"}


def test_every_word_has_a_hover_text() -> None:
    for word in WORDS:
        assert (meaning(word.name) is not None) == bool(word.meaning)
    for name in (*PREDICATES, *VERBS, *CLAIM_VERBS, "none"):
        assert meaning(name)


# --- grammars


def test_grammar_reserves_the_reserved_words() -> None:
    reserved = re.match(r"\(\?!\((.*?)\)\\b\)", _rule("Identifier"))
    assert reserved is not None
    assert words_matched(reserved[1]) == RESERVED


def test_grammar_has_the_words_of_the_table() -> None:
    written = set(re.findall(r"/([a-z]+)\\b/", _GRAMMAR))
    of_files = {*words_of("declaration", "clause", "agent item", "contextual", "type", "open type"), "tick", "ticks"}
    assert written == of_files - {"all"}  # a name for the grammar
    assert words_matched(_rule("Temporal")) == PREFIXES
    assert words_matched(_rule("Until")) | {"therefore"} == set(words_of("infix"))


def test_grammar_of_formulas_has_the_operators_of_the_table() -> None:
    assert _terminals("STEP", "GOAL", "PATHS") == PREFIXES
    assert _terminals("UNTIL", "SINCE", "THEREFORE") == set(words_of("infix"))
    assert _terminals("QUANTIFIER", "TRUTH") == LITERALS
    between = _terminals("SOCIAL", "CONDITIONAL", "HANDING_OVER", "SOCIAL_IF")
    assert between == set(BETWEEN_ROLES)
    assert between | _terminals("KNOWS", "GROUP_KNOWS", "DOES") == set(MODALITIES)


# --- editors


@pytest.fixture(scope="module")
def textmate() -> dict[str, list[dict[str, Any]]]:
    path = _ROOT / "vscode-extension" / "syntaxes" / "cpl.tmLanguage.json"
    if not path.is_file():
        pytest.skip("the extension is not part of this copy")
    repository = json.loads(path.read_text(encoding="utf-8"))["repository"]
    return {name: part.get("patterns", [part]) for name, part in repository.items()}


def test_textmate_grammar_has_the_words_of_the_table(textmate: dict[str, list[dict[str, Any]]]) -> None:
    declarations, version, clauses, contextual, types, constants, quantifiers, checks = (
        words_matched(pattern["match"].partition(r"(?!\s*(->")[0].partition(r"(?=\s+\d")[0])
        for pattern in textmate["keywords"]
    )
    assert declarations == DECLARATIONS | FREE_AS_NAMES
    assert version == {"cpl"}
    assert clauses == CLAUSES
    assert contextual == (CONTEXTUAL | AGENT_ITEMS) - FREE_AS_NAMES - {"cpl", "therefore"}
    assert types == set(words_of("type", "open type"))
    assert constants | quantifiers == LITERALS | {"terminal"}
    assert checks == set(CHECKS)
    modal, prefix, infix, _ = (pattern["match"] for pattern in textmate["operators"])
    assert words_matched(modal) == set(MODALITIES) - {"does"}
    assert words_matched(prefix) == PREFIXES
    assert words_matched(infix) == {*words_of("infix"), "ticks"}
    (atoms,) = textmate["atoms"]
    assert words_matched(atoms["match"]) == {*PREDICATES, *EVENTS, "does"}
    (operations,) = textmate["operations"]
    assert words_matched(operations["match"]) == {*VERBS, *CLAIM_VERBS, *CLAIM_CHANGES, "message", "send"}


def test_words_for_other_grammars_are_those_of_the_table(update_golden: bool) -> None:
    """The grammars of Lezer and tree-sitter read `grammar/words.json`."""
    words = {
        "declarations": sorted(DECLARATIONS | FREE_AS_NAMES),
        "clauses": sorted(CLAUSES),
        "contextual": sorted(CONTEXTUAL - FREE_AS_NAMES - {"cpl", "therefore"}),
        "types": words_of("type"),
        "open_types": words_of("open type"),
        "constants": (*words_of("constant"), "terminal"),
        "quantifiers": words_of("quantifier"),
        "checks": CHECKS,
        "modalities": [word for word in MODALITIES if word != "does"],
        "prefixes": words_of("prefix"),
        "infixes": words_of("infix"),
        "predicates": sorted({*PREDICATES, *EVENTS, "does"}),
        "operations": sorted({*VERBS, *CLAIM_VERBS, *CLAIM_CHANGES, "message", "send"}),
    }
    path = _ROOT / "grammar" / "words.json"
    content = json.dumps(words, indent=1) + "\n"
    if update_golden:
        path.write_text(content, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == content, "make golden writes the words again"


def test_grammar_of_lezer_has_a_token_for_each_keyword() -> None:
    path = _ROOT / "playground" / "src" / "cpl.grammar"
    if not path.is_file():
        pytest.skip("the playground is not part of this copy")
    keywords = {word.lower() for word in re.findall(r"kw(\w+)\[@name=Keyword\]", path.read_text(encoding="utf-8"))}
    of_files = {*words_of("declaration", "clause", "agent item", "contextual", "type", "open type")}
    assert keywords == of_files - {"all", "any"}  # these are in parentheses or names of roles


def test_textmate_grammar_of_ispl_has_its_words() -> None:
    path = _ROOT / "vscode-extension" / "syntaxes" / "ispl.tmLanguage.json"
    if not path.is_file():
        pytest.skip("the extension is not part of this copy")
    repository = json.loads(path.read_text(encoding="utf-8"))["repository"]
    sections, *_ = (words_matched(part["match"]) for part in repository["sections"]["patterns"][2:])
    prefixed, control, types, constants, variables = (
        words_matched(part["match"]) for part in repository["keywords"]["patterns"]
    )
    joining, modal, temporal, _ = (part["match"] for part in repository["operators"]["patterns"])
    assert sections == {*ispl.SECTIONS, *ispl.LINES, "Agent", "GreenStates"}
    operators = words_matched(joining) | words_matched(temporal) | words_matched(modal)
    words = sections | control | types | constants | variables | operators | prefixed - {"CTL*"}
    assert words >= ispl.RESERVED
    assert operators - ispl.OPERATORS - _ispl_modalities() == set()
    assert _ispl_modalities() <= operators


def _ispl_modalities() -> set[str]:
    """Return the names of modalities in the grammar of ISPL."""
    grammar = (_ROOT / "grammar" / "ispl.lark").read_text(encoding="utf-8")
    terminals = re.findall(r"^(?:ONE|TWO|THREE|TRUST|KNOWS)\.1: /(.+)/$", grammar, re.MULTILINE)
    return {word for terminal in terminals for word in words_matched(terminal)}


# --- the reference


def _table(heading: str) -> list[list[str]]:
    """Return the cells of the table of the reference that begins with a heading."""
    text = (_ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    rows = text[text.index(f"\n| {heading} |") :].split("\n\n")[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_reference_has_the_clauses_and_checks_of_the_table() -> None:
    assert tuple(re.findall(r"`(\w+)", clause)[0] for clause, _ in _table("Clause")) == words_of("clause")
    assert {check.strip("`") for check, _ in _table("Check")} == set(CHECKS)
    assert {check.strip("`") for check, text in _table("Check") if "(usual" in text} == set(USUAL_CHECKS)


def test_reference_has_the_operators_of_the_table() -> None:
    written = {word for form, _ in _table("Formula") for word in re.findall(r"[A-Za-z]\w*", form)}
    variables = {*"acdeijkmnpqr", "Cus", "Mer", "stock", "price", "fact", "message", "also"}
    predicates_and_keywords = {"active", "open", "closed", "in", "and", "ticks"}
    paths = {word for word in PREFIXES if len(word) > 1}
    assert written - variables - predicates_and_keywords == (OPERATORS | LITERALS) - paths
