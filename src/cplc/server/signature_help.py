"""Signature help for macros, used protocols and lifecycle atoms."""

from __future__ import annotations

from itertools import pairwise

from lsprotocol.types import MarkupContent, MarkupKind, ParameterInformation, SignatureHelp, SignatureInformation

from cplc.language.lifecycle import PREDICATES
from cplc.language.words import EVENTS, PARAMETERS
from cplc.semantics.symbol_index import Declared
from cplc.server.compiled_document import Compiled
from cplc.server.hover import meaning
from cplc.syntax import ast

_DECLARING = {
    "C": ("debtor", "creditor", "antecedent", "consequent"),
    "claim": ("maker", "addressee", "content"),
}


def signature_help(compiled: Compiled, offset: int) -> SignatureHelp | None:
    """Return the signature for the innermost bracket."""
    opened = compiled.tokens.opening(offset)
    if opened is None or opened[0].text != "(" or compiled.tokens.inside(offset):
        return None
    sign, commas = opened
    before = compiled.tokens.before(sign.start)
    if not before or before[0].kind != "word":
        return None
    name = before[0].text
    if len(before) > 1 and before[1].text == "=" and name in _DECLARING:
        parts: tuple[str, ...] = _DECLARING[name]
        return _help(f"{name}({', '.join(parts)})", parts, commas, meaning("commitment" if name == "C" else "claim"))
    dotted = name
    position = 1
    while position + 1 < len(before) and before[position].text == "." and before[position + 1].kind == "word":
        dotted = f"{before[position + 1].text}.{dotted}"
        position += 2
    if position < len(before) and before[position].text == "use":
        used = _visible(compiled, dotted, "protocol")
        return None if used is None else _of_protocol(compiled, used, offset, sign.end)
    if name in PARAMETERS:
        return _help(f"{name}({', '.join(PARAMETERS[name])})", PARAMETERS[name], commas, meaning(name))
    macro = _macro(compiled, dotted, offset)
    if macro is not None and isinstance(macro.node, ast.Define):
        parts = tuple(parameter.text for parameter in macro.node.parameters)
        shown = f"define {name}({', '.join(parts)}) = {macro.node.body.span.text}"
        return _help(shown, parts, commas, macro.doc, within=len(f"define {name}"))
    if name in PREDICATES:
        return _help(f"{name}(commitment)", ("commitment",), commas, meaning(name))
    if name in EVENTS:
        return _help(f"{name}(message)", ("message",), commas, meaning(name))
    return None


def _visible(compiled: Compiled, name: str, kind: str) -> Declared | None:
    for place in compiled.index.visible.get(name, ()):
        declared = compiled.index.declared.get(place)
        if declared is not None and declared.kind == kind:
            return declared
    return None


def _macro(compiled: Compiled, name: str, offset: int) -> Declared | None:
    protocol = compiled.protocol_at(offset)
    own = [] if protocol is None else compiled.declared_in(protocol)
    macro = next((one for one in own if one.kind == "macro" and one.name.text == name), None)
    return macro or _visible(compiled, name, "macro")


def _of_protocol(compiled: Compiled, used: Declared, offset: int, start: int) -> SignatureHelp:
    """Return the signature of a protocol; the current argument is the named one, or the next one."""
    members = [one for one in compiled.index.members(used) if one.kind in ("role", "parameter")]
    parts = tuple(_shown(one) for one in members)
    written = [token for token in reversed(compiled.tokens.before(offset)) if token.start >= start]
    names = [one.text for one, sign in pairwise(written) if sign.text == "="]
    commas = sum(token.text == "," for token in written)
    active = commas
    if len(names) > commas:
        active = next((at for at, one in enumerate(members) if one.name.text == names[-1]), commas)
    return _help(f"{used.name.text}({', '.join(parts)})", parts, active, used.doc or getattr(used.node, "title", None))


def _shown(member: Declared) -> str:
    if isinstance(member.node, ast.Role):
        size = "" if member.node.size is None else f"[{member.node.size.span.text}]"
        return f"role {member.name.text}{size}"
    return str(member.node.span.text)


def _help(label: str, parts: tuple[str, ...], active: int, doc: str | None, within: int = 0) -> SignatureHelp:
    """Return a signature; its parameters occur in the label from left to right."""
    parameters: list[ParameterInformation] = []
    at = max(within, label.find("("))
    for part in parts:
        at = label.find(part, at)
        # Offsets are units of the client's encoding; labels with other than ASCII characters give the text instead.
        parameters.append(ParameterInformation((at, at + len(part)) if label.isascii() else part))
        at += len(part)
    documentation = MarkupContent(MarkupKind.Markdown, doc) if doc else None
    last = max(0, len(parts) - 1)
    shown = SignatureInformation(label, documentation=documentation, parameters=parameters)
    return SignatureHelp([shown], 0, min(active, last))
