"""The texts that mutations begin with: examples, the library, blocks of the tests, and what is made from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.literate.blocks import blocks

from cplc.ispl.syntax import ast as ispl_words
from cplc.language import words as language_words

ROOT: Final = Path(__file__).parents[2]
_LONGEST: Final = 2_500
"""Bytes of a text of the corpus: short texts reach as much code in less time."""
_FORMULA: Final = re.compile(r"(?:property\s+\w+[^:\n]*:|fact\s+\w+\s*=|define\s+\w+\([^)]*\)\s*=)\s*([^\n]+)")
_ISPL_FORMULA: Final = re.compile(r"Formulae(.*?)end Formulae", re.DOTALL)


def _markdown(*folders: str) -> Iterable[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.md"))


def _short(texts: Iterable[str]) -> tuple[bytes, ...]:
    """Return the texts that are short enough, each once."""
    data = dict.fromkeys(text.encode() for text in texts)
    return tuple(one for one in data if len(one) <= _LONGEST)


@cache
def protocols() -> tuple[bytes, ...]:
    """Return protocols: right ones, and those that tests expect to be wrong."""
    files = [
        *sorted(ROOT.glob("examples/*.cpl")),
        *sorted(ROOT.glob("stdlib/*.cpl")),
        *sorted(ROOT.rglob("tests/cases*/*.cpl")),
    ]
    texts = [file.read_text(encoding="utf-8") for file in files]
    for page in _markdown("tests/language", "docs"):
        texts += [block.text for block in blocks(page) if block.language == "cpl"]
    return _short(texts)


@cache
def models() -> tuple[bytes, ...]:
    """Return models in ISPL."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(ROOT.rglob("examples/*.ispl"))]
    texts += [file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("tests/golden/*/*.ispl"))]
    for page in _markdown("tests/language/ispl", "tests/cli", "docs"):
        texts += [block.text for block in blocks(page) if block.language == "ispl"]
    return _short(texts)


@cache
def formulas() -> tuple[bytes, ...]:
    """Return formulas of both languages."""
    texts = [formula for text in protocols() for formula in _FORMULA.findall(text.decode())]
    for model in models():
        for section in _ISPL_FORMULA.findall(model.decode()):
            texts += [one.strip() for one in section.split(";")]
    return _short(re.sub(r"\s*//.*|\s+expect\s+\w+\s*$", "", one).strip() for one in texts if one.strip())


@cache
def blocks_of(language: str) -> tuple[bytes, ...]:
    """Return the blocks in a language of all documents."""
    pages = _markdown("docs", "tests/cli", "tests/language")
    return _short(block.text for page in pages for block in blocks(page) if block.language == language)


def words_of_protocols() -> Sequence[bytes]:
    """Return the words and signs of the protocol language."""
    signs = '-> : ( ) { } [ ] , | & ! = := .. <= @ << >> " . + - * % <-> // /* */ 1 0 2 true false C claim bool'
    operators = "AG EF AX A E F G X U W R S Y O H K DK CK does send receive forall exists tick active violated null"
    words = {*language_words.RESERVED, *language_words.CONTEXTUAL, *signs.split(), *operators.split()}
    return [word.encode() for word in sorted(words)]


def words_of_models() -> Sequence[bytes]:
    """Return the words and signs of ISPL."""
    words: set[str] = set()
    for value in vars(ispl_words).values():
        if isinstance(value, (frozenset, tuple, dict)):
            words.update(word for word in value if isinstance(word, str))
    signs = ": ; , = { } ( ) [ ] .. . ! -> < <= > >= + - * / | & ^ -- ~ true false Other if and or end"
    return [word.encode() for word in sorted({*words, *signs.split()})]
