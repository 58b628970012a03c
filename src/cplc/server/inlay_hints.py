"""Inlay hints: senders of choices, debtors and creditors, arguments, and values of parameters."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import InlayHint, InlayHintKind

from cplc.semantics.symbol_index import Declared, walk
from cplc.server.compiled_document import Compiled
from cplc.server.hover import parameter_value
from cplc.server.message_effects import meant
from cplc.syntax import ast


def hints(compiled: Compiled, start: int, end: int) -> list[InlayHint]:
    """Return the hints between two offsets, in the order of the text."""
    visible = [hint for hint in _all(compiled) if start <= hint[0] <= end]
    text = compiled.text
    return [
        InlayHint(text.position(at), label, kind, padding_left=label[0] not in "=:", padding_right=label.endswith(":"))
        for at, label, kind in sorted(dict.fromkeys(visible), key=lambda hint: hint[0])
    ]


_Hint = tuple[int, str, InlayHintKind | None]


def _all(compiled: Compiled) -> Iterator[_Hint]:
    for protocol in compiled.file.protocols:
        for node in walk(protocol):
            match node:
                case ast.Choice(members):
                    yield from _chooser(compiled, node, members)
                case ast.Operation():
                    yield from _parties(compiled, node)
                case ast.Call():
                    yield from _arguments(compiled, node)
                case ast.Use():
                    yield from _defaults(compiled, node)
                case ast.Role(size=ast.Ref() as size):
                    yield from _size(compiled, size)
                case ast.For(domain=ast.Range(_, ast.Ref() as high)):
                    yield from _size(compiled, high)
                case _:
                    pass


def _chooser(compiled: Compiled, choice: ast.Choice, members: tuple[ast.Ref, ...]) -> Iterator[_Hint]:
    """Show the senders of a choice."""
    senders = {
        target.node.sender.span.text
        for ref in members
        if (target := meant(compiled, ref)) is not None and isinstance(target.node, ast.Message)
    }
    if len(senders) == 1:
        yield choice.span.end, f"{senders.pop()} chooses", None


def _parties(compiled: Compiled, operation: ast.Operation) -> Iterator[_Hint]:
    """Show debtor and creditor of the commitment of an operation."""
    target = meant(compiled, operation.subject)
    match None if target is None else target.node:
        case ast.Commitment(_, first, second) | ast.Claim(_, first, second):
            yield operation.subject.span.end, f"{first.span.text} → {second.span.text}", InlayHintKind.Type
        case _:
            pass


def _arguments(compiled: Compiled, call: ast.Call) -> Iterator[_Hint]:
    """Show the names of the parameters of a macro with several."""
    target = compiled.index.uses.get(call.name.span)
    declared = None if target is None else compiled.index.declared.get(target)
    if declared is None or not isinstance(declared.node, ast.Define) or len(call.arguments) < 2:
        return
    for parameter, argument in zip(declared.node.parameters, call.arguments, strict=False):
        if argument.span.text != parameter.text:
            yield argument.span.start, f"{parameter.text}:", InlayHintKind.Parameter


def _defaults(compiled: Compiled, use: ast.Use) -> Iterator[_Hint]:
    """Show the default values of omitted parameters."""
    target = compiled.index.uses.get(use.protocol.segments[-1].name.span)
    used = None if target is None else compiled.index.declared.get(target)
    if used is None or not isinstance(used.node, ast.Protocol):
        return
    given = {argument.name.text for argument in use.arguments}
    omitted = [p for p in used.node.parameters if p.name.text not in given and p.default is not None]
    if omitted:
        shown = ", ".join(f"{p.name.text} = {p.default.span.text}" for p in omitted if p.default is not None)
        yield use.span.end, shown, InlayHintKind.Parameter


def _size(compiled: Compiled, ref: ast.Ref) -> Iterator[_Hint]:
    """Show the value of a size parameter."""
    target = meant(compiled, ref)
    value = None if target is None else _value(compiled, target)
    if value is not None:
        yield ref.span.end, f"= {value}", InlayHintKind.Parameter


def _value(compiled: Compiled, declared: Declared) -> str | None:
    return parameter_value(compiled, declared) if declared.kind == "parameter" else None
