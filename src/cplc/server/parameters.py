"""Parameters of protocols: their values in this editor, and changes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from lsprotocol.types import CodeLens, Command

from cplc.compilation import CplCompilation
from cplc.semantics.instantiate import COMMAND_LINE
from cplc.server.compiled_document import Compiled, Given
from cplc.server.open_imports import Buffers, recording
from cplc.syntax import ast

LIST: Final = "cplc.parameters"
SET: Final = "cplc.setParameters"
ASK: Final = "cplc.askParameters"
"""Command of the client that prompts for values."""


class NotFit(Exception):
    """Reason why a parameter cannot have a value, as a sentence."""


def read(settings: object) -> Given:
    """Return the values of parameters in the client's settings; invalid ones are ignored."""
    if not isinstance(settings, dict):
        return {}
    return {
        str(protocol): {str(name): text(value) for name, value in values.items()}
        for protocol, values in settings.items()
        if isinstance(values, dict)
    }


def text(value: object) -> str:
    """Return a JSON value as text for `-D`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def listed(compiled: Compiled, name: str | None) -> list[dict[str, str | None]]:
    """Return the parameters of a protocol, the last one unless it is named."""
    protocol = protocol_named(compiled, name)
    if protocol is None:
        return []
    given = compiled.given.get(protocol.name.text, {})
    return [
        {
            "name": one.name.text,
            "type": one.type.span.text,
            "default": None if one.default is None else one.default.span.text,
            "given": given.get(one.name.text),
        }
        for one in protocol.parameters
    ]


def protocol_named(compiled: Compiled, name: str | None) -> ast.Protocol | None:
    protocols = [one for one in compiled.file.protocols if name is None or one.name.text == name]
    return protocols[-1] if protocols else None


def check(compiled: Compiled, protocol: str, values: Mapping[str, str], buffers: Buffers) -> None:
    """Refuse values that the protocol cannot have."""
    path = compiled.compilation.path
    load = recording(compiled.document.path, buffers, {})
    tried = CplCompilation(compiled.source, path, values, protocol=protocol, load=load)
    for problem in tried.diagnostics:
        if problem.span.source.name == COMMAND_LINE:
            raise NotFit(". ".join((problem.message, *(note.message for note in problem.notes if note.span is None))))
    before = replace(tried, parameters={})
    if before.ok and not tried.ok:
        raise NotFit(next(problem.message for problem in tried.diagnostics if problem.is_error))


def lenses(compiled: Compiled) -> list[CodeLens]:
    """Return the code lenses of protocols with parameters, for a client that can prompt for values."""
    result = []
    for protocol in compiled.file.protocols:
        given = compiled.given.get(protocol.name.text, {})
        shown = ", ".join(
            f"{one.name.text} = {given.get(one.name.text) or (one.default.span.text if one.default else '?')}"
            for one in protocol.parameters
        )
        if shown:
            arguments: list[Any] = [compiled.document.uri, protocol.name.text]
            changed = " (given)" if given else ""
            range_ = compiled.text.of(protocol.name.span)
            result.append(CodeLens(range_, Command(f"{shown}{changed}", ASK, arguments=arguments)))
    return result
