"""Navigation: definitions, references, renaming, and the hierarchy of causes and effects of messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

from lsprotocol import types as lsp

from cplc.diagnostics.rules import SYNTAX
from cplc.language.words import RESERVED
from cplc.runtime.file_access import shipped
from cplc.semantics.symbol_index import Declared
from cplc.server.compiled_document import Compiled, Document, compiled, uri_of
from cplc.server.hover import effects, effects_of, mentions
from cplc.server.open_imports import Buffers
from cplc.server.positions import Text
from cplc.source import Span
from cplc.syntax import ast

_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Refused(Exception):
    """Reason why a name cannot be changed, as a sentence."""


def definition(compiled: Compiled, offset: int) -> list[lsp.LocationLink] | None:
    """Return the declaration of the name at an offset, or the file imported there."""
    for imported in compiled.index.imports:
        span = imported.node.span
        if span.source is compiled.source and span.start <= offset <= span.end and imported.source is not None:
            start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            return [lsp.LocationLink(uri_of(imported.source.name), start, start, compiled.range(span))]
    name = compiled.name_at(offset)
    if name is None:
        return None
    span, declared = name
    target = declared
    if declared.kind == "part" and (used := compiled.index.uses.get(span)) in compiled.index.declared:
        target = compiled.index.declared[used]  # `use P` without `as`: go to the declaration of P
    whole: Span = getattr(target.node, "span", target.span)
    location = compiled.location(target.span)
    return [lsp.LocationLink(location.uri, compiled.range(whole), location.range, compiled.range(span))]


def links(compiled: Compiled) -> list[lsp.DocumentLink]:
    """Return the imported files as links."""
    result: list[lsp.DocumentLink] = []
    for imported in compiled.index.imports:
        if imported.node.span.source is compiled.source and imported.source is not None:
            text = imported.node.span.text
            at = text.find(imported.node.target)
            if at >= 0:
                start = imported.node.span.start + at
                range_ = compiled.text.range(start, start + len(imported.node.target))
                result.append(lsp.DocumentLink(range_, uri_of(imported.source.name)))
    return result


def highlights(compiled: Compiled, offset: int) -> list[lsp.DocumentHighlight]:
    """Return the places of the name in this file; its declaration counts as a write."""
    name = compiled.name_at(offset)
    if name is None:
        return []
    declared = name[1].span
    kinds = lsp.DocumentHighlightKind
    return [
        lsp.DocumentHighlight(compiled.range(span), kinds.Write if span == declared else kinds.Read)
        for span in compiled.index.occurrences(declared)
        if span.source.name == compiled.source.name
    ]


# --- over several files

Place = tuple[str, int, int]
"""A file and two offsets: identifies a span in all programs that read the file."""


def place(span: Span) -> Place:
    return span.source.name, span.start, span.end


def occurrences(declared: Span, programs: Iterable[Compiled]) -> dict[Place, Span]:
    """Return every place of a name, in all programs that contain it."""
    declared_place = place(declared)
    spans: dict[Place, Span] = {declared_place: declared}
    for program in programs:
        for here in program.index.declared:
            if place(here) == declared_place:
                spans.update((place(span), span) for span in program.index.occurrences(here))
    return spans


def references(
    compiled: Compiled, offset: int, programs: Iterable[Compiled], *, with_declaration: bool
) -> list[tuple[str, lsp.Range]]:
    """Return the places of the name as the names of sources and ranges."""
    name = compiled.name_at(offset)
    if name is None:
        return []
    declared = name[1].span
    places = occurrences(declared, [compiled, *programs])
    return [
        (span.source.name, compiled.range(span))
        for where, span in sorted(places.items())
        if with_declaration or where != place(declared)
    ]


def located(ranges: Iterable[tuple[str, lsp.Range]], uri_of_name: dict[str, str]) -> list[lsp.Location]:
    return [lsp.Location(uri_of_name.get(name, uri_of(name)), range_) for name, range_ in ranges]


# --- renaming


def renamable(compiled: Compiled, offset: int) -> tuple[Span, Declared]:
    """Return the name to rename, or refuse."""
    name = compiled.name_at(offset)
    if name is None:
        token = compiled.tokens.at(offset)
        is_word = token is not None and token.kind == "word" and not compiled.tokens.inside(offset)
        raise Refused(
            f"`{token.text}` is a word of the language, or nothing declares it" if token and is_word else "No name here"
        )
    library = str(shipped("stdlib").resolve()) + os.sep
    if os.path.realpath(name[1].span.source.name).startswith(library):
        raise Refused(f"`{name[1].name.text}` belongs to the standard library")
    return name


def renamed(
    current: Compiled, offset: int, name: str, programs: Sequence[Compiled], buffers: Buffers
) -> dict[str, list[Span]]:
    """Return the places to change, by source; refuse a change of meaning.

    The change is tried on a copy: every name of every program must refer to the same declaration as before.
    """
    _, declared = renamable(current, offset)
    if name == declared.name.text:
        return {}
    if not _NAME.fullmatch(name):
        raise Refused(f"`{name}` is not a name: a letter or `_`, then letters, digits and `_`")
    if name in RESERVED:
        raise Refused(f"`{name}` is a word of the language")
    every = [current, *(program for program in programs if program.source.name != current.source.name)]
    places = occurrences(declared.span, every)
    changed: dict[str, list[Span]] = {}
    for _, span in sorted(places.items()):
        changed.setdefault(span.source.name, []).append(span)
    texts = {source: _replaced(spans, name) for source, spans in changed.items()}
    for program in every:
        if any(file.span.source.name in texts for file in program.index.files):
            _must_be_read(program, declared.name.text)
            _must_mean_the_same(program, name, set(places), texts, buffers)
    return changed


def _must_be_read(program: Compiled, name: str) -> None:
    """Refuse if the name occurs in unparsed text, where its meaning is unknown."""
    if not any(problem.code == SYNTAX.code for problem in program.diagnostics):
        return
    index = program.index
    places = {(span.source.name, span.start) for span in (*index.uses, *index.declared)}
    for token in program.tokens.code:
        if token.kind == "word" and token.text == name and (program.source.name, token.start) not in places:
            where = _shown(Span(program.source, token.start, token.end))
            raise Refused(f"`{name}` may be meant in {where}, which cannot be read: mend the mistakes there first")


def _replaced(spans: Sequence[Span], name: str) -> str:
    text = spans[0].source.text
    for span in sorted(spans, key=lambda span: -span.start):
        text = text[: span.start] + name + text[span.end :]
    return text


def _must_mean_the_same(
    before: Compiled, name: str, places: set[Place], texts: dict[str, str], buffers: Buffers
) -> None:
    text = texts.get(before.source.name, before.text.text)
    document = Document(before.document.uri, Text(text, before.text.units), before.document.version)
    after = compiled(document, {**buffers, **texts})
    errors = [problem for problem in after.diagnostics if problem.is_error]
    old_codes = {problem.code for problem in before.diagnostics if problem.is_error}
    for problem in errors:
        if problem.code not in old_codes or len(errors) > sum(one.is_error for one in before.diagnostics):
            raise Refused(f"`{name}` cannot be the name: {problem.message} ({_shown(problem.span)})")
    shift = _Shift(places, len(name))
    expected = {(shift(place(span)), shift(place(target))) for span, target in before.index.uses.items()}
    uses = {(place(span), place(target)) for span, target in after.index.uses.items()}
    if expected != uses:
        odd = min(expected ^ uses)[0]
        raise Refused(f"`{name}` would change what is meant at {_where(odd, after)}")


class _Shift:
    """Maps places to their positions after the renaming."""

    def __init__(self, places: set[Place], length: int) -> None:
        self._places = sorted(places)
        self._known = places
        self._length = length

    def __call__(self, where: Place) -> Place:
        name, start, end = where
        moved = sum(
            self._length - (one_end - one_start)
            for one_name, one_start, one_end in self._places
            if one_name == name and one_start < start
        )
        length = self._length if where in self._known else end - start
        return name, start + moved, start + moved + length


def _shown(span: Span) -> str:
    return f"{os.path.basename(span.source.name)}:{span.position[0]}"


def _where(where: Place, program: Compiled) -> str:
    for file in program.index.files:
        if file.span.source.name == where[0]:
            return _shown(Span(file.span.source, where[1], where[2]))
    return os.path.basename(where[0])


def edit(
    spans_by_file: dict[str, list[Span]], name: str, current: Compiled, uri_of_name: dict[str, str]
) -> lsp.WorkspaceEdit:
    """Return the workspace edit for all places."""
    changes: dict[str, list[lsp.TextEdit]] = {}
    for source, spans in spans_by_file.items():
        uri = uri_of_name.get(source, uri_of(source))
        changes[uri] = [lsp.TextEdit(current.range(span), name) for span in spans]
    return lsp.WorkspaceEdit(changes=changes)


# --- Call hierarchy: messages are callers of the steps and states that they enable


_KINDS = {
    "message": lsp.SymbolKind.Event,
    "commitment": lsp.SymbolKind.Interface,
    "claim": lsp.SymbolKind.Interface,
    "fact": lsp.SymbolKind.Boolean,
}

Causes = dict[Declared, list[Span]]


def prepare_calls(compiled: Compiled, offset: int) -> list[lsp.CallHierarchyItem]:
    """Return the message, fact, commitment or claim at an offset."""
    name = compiled.name_at(offset)
    return [_item(compiled, name[1])] if name is not None and name[1].kind in _KINDS else []


def _item(compiled: Compiled, declared: Declared) -> lsp.CallHierarchyItem:
    location = compiled.location(declared.span)
    node = declared.node
    detail: str = declared.kind
    if isinstance(node, ast.Message):
        detail = f"{node.sender.span.text} -> {', '.join(receiver.span.text for receiver in node.receivers)}"
    return lsp.CallHierarchyItem(
        declared.name.text,
        _KINDS[declared.kind],
        location.uri,
        compiled.range(node.span),
        location.range,
        detail=detail,
    )


def named(compiled: Compiled, item: lsp.CallHierarchyItem) -> Declared | None:
    """Return the declaration of an item."""
    for declared in compiled.index.declared.values():
        if declared.name.text == item.name and declared.kind in _KINDS:
            location = compiled.location(declared.span)
            if location.range == item.selection_range and location.uri == item.uri:
                return declared
    return None


def incoming_calls(compiled: Compiled, item: lsp.CallHierarchyItem) -> list[lsp.CallHierarchyIncomingCall]:
    """Return its causes: messages that operate on it, and the atoms of its conditions."""
    declared = named(compiled, item)
    if declared is None:
        return []
    causes: Causes = {}
    for effect in effects(compiled):
        if effect.on is declared:
            causes.setdefault(effect.message, []).append(effect.span)
    for mentioned, span in mentions(compiled, declared.node):
        causes.setdefault(mentioned, []).append(span)
    return [
        lsp.CallHierarchyIncomingCall(_item(compiled, cause), [compiled.range(span) for span in _within(cause, spans)])
        for cause, spans in causes.items()
    ]


def _within(cause: Declared, spans: Iterable[Span]) -> list[Span]:
    """Return the places inside the cause; for an atom of a condition, the name of the cause."""
    node = cause.node
    whole: Span = node.span
    inside = [span for span in spans if span.source is whole.source and whole.start <= span.start < whole.end]
    return inside or [cause.span]


def outgoing_calls(compiled: Compiled, item: lsp.CallHierarchyItem) -> list[lsp.CallHierarchyOutgoingCall]:
    """Return its effects: the operations of a message, and the declarations whose conditions mention it."""
    declared = named(compiled, item)
    if declared is None:
        return []
    causes: Causes = {}
    for effect in effects_of(compiled, declared):
        causes.setdefault(effect.on, []).append(effect.span)
    for other in compiled.index.declared.values():
        spans = [span for mentioned, span in mentions(compiled, other.node) if mentioned is declared]
        if spans and other.kind in _KINDS:
            causes.setdefault(other, []).extend(spans)
    return [
        lsp.CallHierarchyOutgoingCall(
            _item(compiled, effect), [compiled.range(span) for span in _within(declared, spans)]
        )
        for effect, spans in causes.items()
    ]
