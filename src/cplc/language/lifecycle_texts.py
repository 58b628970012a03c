"""Rows of the life cycle table as Markdown, for hover texts and the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from cplc.language.lifecycle import (
    BY_CONDITIONS,
    CLAIM,
    CLAIM_NOT_OPEN,
    CLAIM_OPEN,
    CLAIM_STATES,
    COMMITMENT_STATES,
    CONDITIONS,
    FORMER,
    MOVES,
    NOT_OPEN,
    OPEN,
    OPERATIONS,
    PARTIES,
    RULES,
    UNANSWERED,
    Transition,
)


class Row(NamedTuple):
    """One transition by an operation: how it is written, the performer, the source states and the target."""

    operation: str
    by: str
    source: str
    target: str


def operation_rows(verb: str, of: str) -> Iterator[Row]:
    """Yield the transitions of an operation or move on a commitment or claim."""
    for row in OPERATIONS:
        if (row.verb, row.of) == (verb, of):
            written = f"{verb} c{' to d' if row.joined else ''}{' retaining' if row.when == 'retaining' else ''}"
            condition = {"suspended": " by `suspend`", "retaining": ""}.get(
                row.when, f", {row.when}" if row.when else ""
            )
            yield Row(written, row.by, _source(row) + condition, _target(row.target) + row.note)
    for move in MOVES:
        if move.verb == verb:
            written = f"{verb} c{' with q' if move.joined else ''}"
            is_open = "`open`" if of == CLAIM else "open"
            yield Row(written, PARTIES[of][move.side], f"{is_open}, any standing", f"standing `{move.standing}`")


def rule_rows(of: str) -> Iterator[tuple[str, str, str]]:
    """Yield the source, the target and the condition of each automatic rule."""
    for row in RULES:
        if row.of == of and not row.when.startswith("content"):
            delegated = ", delegated `retaining`" if row.successor else ""
            successor = " or ".join((", ".join(row.successor[:-1]), *row.successor[-1:])).removeprefix(" or ")
            source = ", ".join(f"`{state}`" for state in row.source)
            yield source + delegated, _target(row.target), CONDITIONS.get(row.when, f"its successor is {successor}")


def _source(row: Transition) -> str:
    whole = {OPEN: "open", NOT_OPEN: "`null`, closed", CLAIM_NOT_OPEN: "`null`, closed", CLAIM_OPEN: "`open`"}
    return whole.get(row.source) or ", ".join(f"`{state}`" for state in row.source)


def _target(target: str) -> str:
    if target == BY_CONDITIONS:
        return f"`fulfilled`, `active` or `conditional`, {BY_CONDITIONS}"
    return target if target == FORMER else f"`{target}`"


def _meanings() -> Iterator[tuple[str, str]]:
    meanings: dict[str, str] = {}
    for state in (*COMMITMENT_STATES, *CLAIM_STATES):
        closed = "closed: " if state.phase == "closed" else ""
        before = meanings.get(state.name)
        is_other = before is not None and not before.endswith(state.meaning)
        meanings[state.name] = f"{before}; of a claim, {state.meaning}" if is_other else closed + state.meaning
    yield from meanings.items()
    yield "closed", "over, whatever its end"
    yield UNANSWERED, "open, and nobody has moved on it"
    yield from ((move.standing, f"open, and {move.meaning}") for move in MOVES)


STATE_MEANINGS: Final = dict(_meanings())
"""Each state predicate and standing with its meaning."""
