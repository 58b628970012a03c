"""Language versions: constructs whose meaning changed in version 2, found in files that name no version.

Version 1 had no line `cpl …`. All files have the meaning of version 2, so each construct with another former meaning is
reported, once. `docs/versions.md` has the constructs before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cplc.diagnostics.core import Diagnostic, Edit, Fix, Note
from cplc.diagnostics.rules import MEANING_CHANGED
from cplc.language.lifecycle import CLAIM_VERBS, VERBS
from cplc.language.words import VERSION
from cplc.records import dataclass
from cplc.source import Span
from cplc.syntax import ast
from cplc.syntax.tree import walk

_RENAMED_CHECKS: Final = {"deadlock_free": "no_dangling"}
"""Checks of version 1, each with the equivalent checks of version 2."""
_STRENGTHENED_CHECKS: Final = frozenset({"consistent", "honourable"})


@dataclass(frozen=True, slots=True)
class Change:
    """One construct of a file whose meaning changed; ``edit`` restores its former meaning, if possible."""

    construct: str
    """The construct in words, its code in backquotes."""
    span: Span
    explanation: str
    edit: Edit | None = None


def remarks(file: ast.File) -> tuple[Diagnostic, ...]:
    """Return the remark about a file that names no version, if it has a construct whose meaning changed."""
    changes = first_of_each(changes_in(file))
    if file.version is not None or not changes:
        return ()
    constructs = [change.construct for change in changes]
    listed = ", ".join(constructs[:-1]) + (" and " if constructs[1:] else "") + constructs[-1]
    starts = [item.span.start for items in (file.imports, file.defines, file.types, file.protocols) for item in items]
    start = min(starts, default=0)
    end = start + len(file.span.source.text[start:].split(maxsplit=1)[0])
    message = f"The file names no version of the language, and version {VERSION} changed the meaning of {listed}"
    advice = Note(f"`cplc check --fix` writes `cpl {VERSION}` and changes what has one certain equivalent")
    notes = [Note(f"{change.construct} {change.explanation}", change.span) for change in changes]
    version, *rest = migration(file)
    fixes = [Fix(f"Write `cpl {VERSION}`", (version,))]
    if rest:
        fixes.append(Fix(f"Write `cpl {VERSION}`, and what has one equivalent as that", (version, *rest)))
    return (MEANING_CHANGED.at(Span(file.span.source, start, end), message, advice, *notes, fixes=fixes),)


def remarks_on_migration(before: ast.File, migrated: ast.File) -> tuple[Diagnostic, ...]:
    """Return a remark for each construct that a migration left unchanged, at its place in the new text."""
    former = {change.construct for change in changes_in(before)}
    return tuple(
        MEANING_CHANGED.at(change.span, f"Version {VERSION}: {change.construct} {change.explanation}")
        for change in first_of_each(changes_in(migrated))
        if change.construct in former
    )


def migration(file: ast.File) -> tuple[Edit, ...]:
    """Return the certain edits that migrate a file to version 2; none if it names a version."""
    changes = list(changes_in(file))
    if file.version is not None or not changes:
        return ()
    text = file.span.source.text
    start = 1 if text.startswith("\ufeff") else 0
    line_end = "\r\n" if "\r\n" in text else "\n"
    version = Edit(Span(file.span.source, start, start), f"cpl {VERSION}{line_end}{line_end}")
    return (version, *dict.fromkeys(change.edit for change in changes if change.edit is not None))


def first_of_each(changes: Iterator[Change]) -> list[Change]:
    """Return the first place of each construct, in the order of the text."""
    first: dict[str, Change] = {}
    for change in sorted(changes, key=lambda change: change.span.start):
        first.setdefault(change.construct, change)
    return list(first.values())


def changes_in(file: ast.File) -> Iterator[Change]:
    """Yield every construct of a file whose meaning changed."""
    for protocol in file.protocols:
        yield from _of_protocol(protocol)
    for node in walk(file):
        match node:
            case ast.Social("SC", span=span):
                yield Change("`SC`", span, "is about every run on which promises are kept, not about some run")
            case ast.Social("C" | "Fu" as modality, span=span):
                yield Change(f"`{modality}`", span, "is about declared commitments, not about messages sent")
            case ast.Does(verb, span=span, by=None) if verb is not None and verb.text in (*VERBS, *CLAIM_VERBS, "test"):
                yield _done(verb, span)
            case ast.Means(operations):
                yield from _tests(node, operations)
            case ast.Claim(span=span):
                explanation = "has a content about runs; a move changes its standing and leaves it open"
                yield Change("`claim`", _head(span, "claim"), explanation)
            case _:
                pass


def _of_protocol(protocol: ast.Protocol) -> Iterator[Change]:
    nodes = list(walk(protocol))
    checks = [item for node in nodes if isinstance(node, ast.Check) for item in node.checks]
    for item in checks:
        if (former := _RENAMED_CHECKS.get(item.name.text)) is not None:
            span = item.name.span
            is_checked = all(one.name.text != former for one in checks)
            edit = Edit(span, former) if is_checked else None
            text = f"asks only for what is owed at the end; `{former}` asks for all that is open"
            yield Change(f"`{item.name.text}`", span, text, edit)
        elif item.name.text in _STRENGTHENED_CHECKS:
            yield Change(
                f"`{item.name.text}`", item.name.span, "takes a promise that is released or on course for kept"
            )
    if any(isinstance(node, ast.Property | ast.Check | ast.Commitment) for node in nodes):
        text = "always asks `live`, `deadlock_free` and `no_debt_forgotten`, unless with `check none`"
        yield Change("`protocol`", _head(protocol.span, "protocol"), text)


def _done(verb: ast.Name, span: Span) -> Change:
    text = "is true of every change it names, automatic ones too; `does(message operation …)` is about messages alone"
    if verb.text == "test":
        return Change("`does(test …)`", span, "is gone: ask for `satisfied` or `violated`")
    before = Span(span.source, verb.span.start, verb.span.start)
    return Change("`does(operation …)`", span, text, Edit(before, "message "))


def _tests(means: ast.Means, operations: tuple[ast.Operation, ...]) -> Iterator[Change]:
    """Yield the operations `test p`: a claim is satisfied or violated as soon as its content is decided."""
    explanation = "is gone: a claim is satisfied or violated as soon as its content is decided"
    source = means.span.source
    tested = [one for one in operations if one.verb.text == "test" and one.target is None]
    for index, operation in enumerate(operations):
        if operation not in tested:
            continue
        if len(tested) == len(operations):
            span = Span(source, len(source.text[: means.span.start].rstrip(" \t")), means.span.end)
        elif index:
            span = Span(source, operations[index - 1].span.end, operation.span.end)
        else:
            span = Span(source, operation.span.start, operations[1].span.start)
        yield Change("`test`", operation.span, explanation, Edit(span, ""))


def _head(span: Span, word: str) -> Span:
    """Return the place of the first word of a declaration."""
    return Span(span.source, span.start, span.start + len(word))
