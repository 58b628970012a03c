"""Call hierarchy: messages are callers of the steps and states that they enable."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol.types import (
    CallHierarchyIncomingCall,
    CallHierarchyItem,
    CallHierarchyOutgoingCall,
    SymbolKind,
)

from cplc.semantics.symbol_index import Declared
from cplc.server.compiled_document import Compiled
from cplc.server.message_effects import effects, effects_of, mentions
from cplc.source import Span
from cplc.syntax import ast

_KINDS = {
    "message": SymbolKind.Event,
    "commitment": SymbolKind.Interface,
    "claim": SymbolKind.Interface,
    "fact": SymbolKind.Boolean,
}

Causes = dict[Declared, list[Span]]


def prepare(compiled: Compiled, offset: int) -> list[CallHierarchyItem]:
    """Return the message, fact, commitment or claim at an offset."""
    name = compiled.name_at(offset)
    return [_item(compiled, name[1])] if name is not None and name[1].kind in _KINDS else []


def _item(compiled: Compiled, declared: Declared) -> CallHierarchyItem:
    location = compiled.location(declared.span)
    node = declared.node
    detail = f"{node.sender.span.text} -> {node.receiver.span.text}" if isinstance(node, ast.Message) else declared.kind
    return CallHierarchyItem(
        declared.name.text,
        _KINDS[declared.kind],
        location.uri,
        compiled.range(node.span),
        location.range,
        detail=detail,
    )


def named(compiled: Compiled, item: CallHierarchyItem) -> Declared | None:
    """Return the declaration of an item."""
    for declared in compiled.index.declared.values():
        if declared.name.text == item.name and declared.kind in _KINDS:
            location = compiled.location(declared.span)
            if location.range == item.selection_range and location.uri == item.uri:
                return declared
    return None


def incoming(compiled: Compiled, item: CallHierarchyItem) -> list[CallHierarchyIncomingCall]:
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
        CallHierarchyIncomingCall(_item(compiled, cause), [compiled.range(span) for span in _within(cause, spans)])
        for cause, spans in causes.items()
    ]


def _within(cause: Declared, spans: Iterable[Span]) -> list[Span]:
    """Return the places inside the cause; for an atom of a condition, the name of the cause."""
    node = cause.node
    whole: Span = node.span
    inside = [span for span in spans if span.source is whole.source and whole.start <= span.start < whole.end]
    return inside or [cause.span]


def outgoing(compiled: Compiled, item: CallHierarchyItem) -> list[CallHierarchyOutgoingCall]:
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
        CallHierarchyOutgoingCall(_item(compiled, effect), [compiled.range(span) for span in _within(declared, spans)])
        for effect, spans in causes.items()
    ]
