"""Explanations of the words and operators of the language, from its tables."""

from __future__ import annotations

from typing import Final

from cplc.language.lifecycle import CLAIM_VERBS, PARTIES, VERBS
from cplc.language.lifecycle_texts import STATE_MEANINGS, operation_rows
from cplc.language.words import NO_USUAL_CHECKS, USUAL_CHECKS, WORD


def meaning(word: str) -> str | None:
    """Return the explanation of a word or operator, as Markdown."""
    if word == NO_USUAL_CHECKS:
        usual = ", ".join(f"`{one}`" for one in USUAL_CHECKS)
        return f"`check {word}`: the usual checks ({usual}) are not asked, but for those that the file names"
    row = WORD.get(word)
    if row is not None and row.kind != "check" and row.meaning:
        is_sentence = row.kind not in _NAMED or row.meaning.startswith("`")
        return row.meaning if is_sentence else f"`{word}`: {row.meaning}"
    if word in STATE_MEANINGS:
        return f"`{word}(c)`: {STATE_MEANINGS[word]}"
    if word in VERBS or word in CLAIM_VERBS:
        return operation_meaning(word)
    return None if row is None or not row.meaning else f"`check {word}`: {row.meaning}"


_NAMED: Final = frozenset({"prefix", "infix", "atom", "modality", "quantifier", "sign", "constant"})
"""Kinds whose explanation begins with the word itself."""


def operation_meaning(verb: str) -> str:
    """Return the performer, source states and target state of an operation, as a table."""
    rows = [
        f"| `{row.operation}` of a {of} | {row.by} | {row.source} | {row.target} |"
        for of in PARTIES
        for row in operation_rows(verb, of)
    ]
    return "\n".join(("| Operation | By | From | To |", "| --- | --- | --- | --- |", *rows))
