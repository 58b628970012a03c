"""Explanations at the cursor: hover texts, signature help, and inlay hints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from lsprotocol import types as lsp

from cplc.language.lifecycle import CLAIM_VERBS, PARTIES, PREDICATES, VERBS
from cplc.language.lifecycle_texts import STATE_MEANINGS, Row, operation_rows
from cplc.language.words import EVENTS, NO_USUAL_CHECKS, PARAMETERS, USUAL_CHECKS, WORD
from cplc.records import dataclass
from cplc.semantics.symbol_index import Declared
from cplc.server.compiled_document import Compiled
from cplc.source import Span
from cplc.syntax import ast
from cplc.syntax.tokens import Token
from cplc.syntax.tree import walk

# --- Effects of messages on commitments, and the conditions of declarations, computed from the syntax trees


@dataclass(frozen=True, slots=True)
class Effect:
    """A message performs an operation."""

    message: Declared
    verb: str
    on: Declared
    span: Span


def effects(compiled: Compiled) -> list[Effect]:
    """Return the effects of all messages, in the order of the declarations."""
    return [effect for declared in compiled.index.declared.values() for effect in effects_of(compiled, declared)]


def effects_of(compiled: Compiled, message: Declared) -> Iterator[Effect]:
    """Yield the effects of a message; an argument that it uses is put forward too."""
    if not isinstance(message.node, ast.Message):
        return
    for clause in message.node.clauses:
        if isinstance(clause, ast.Means):
            for operation in clause.operations:
                for ref in (operation.subject, operation.target):
                    on = None if ref is None else meant(compiled, ref)
                    if on is not None:
                        yield Effect(message, operation.verb.text, on, operation.span)


def meant(compiled: Compiled, ref: ast.Ref) -> Declared | None:
    """Return the declaration of the last name of a reference."""
    target = compiled.index.uses.get(ref.segments[-1].name.span)
    return None if target is None else compiled.index.declared.get(target)


def conditions(node: object) -> list[object]:
    """Return the conditions in a declaration: guards, antecedents, contents."""
    match node:
        case ast.Message(clauses=clauses):
            return [clause for clause in clauses if isinstance(clause, ast.After | ast.If | ast.Unless)]
        case ast.Commitment(antecedent=antecedent, consequent=consequent):
            return [antecedent, consequent]
        case ast.Claim(content=content):
            return [content]
        case ast.Fact(value=value):
            return [value]
        case _:
            return []


def mentions(compiled: Compiled, node: object) -> list[tuple[Declared, Span]]:
    """Return the messages, facts, commitments and claims in the conditions of a declaration, with their places."""
    refs = [part for condition in conditions(node) for part in walk(condition) if isinstance(part, ast.Ref)]
    references = [(declared, ref.span) for ref in refs if (declared := meant(compiled, ref)) is not None]
    return [pair for pair in references if pair[0].kind in ("message", "fact", "commitment", "claim")]


_KINDS = {
    "argument": "parameter of a macro",
    "payload": "parameter of a message",
    "part": "used protocol",
    "variable": "variable of a role",
}


def hover(compiled: Compiled, offset: int, verdict: str | None) -> lsp.Hover | None:
    """Return the hover text; ``verdict`` is the cached verdict of the property there."""
    name = compiled.name_at(offset)
    if name is not None:
        span, declared = name
        return _hover(compiled, span.start, span.end, "\n\n".join(_of_name(compiled, declared, verdict)))
    token = compiled.tokens.at(offset)
    if token is None or token.kind not in ("word", "sign") or compiled.tokens.inside(offset):
        return None
    explanation = meaning(token.text)
    if explanation is None:
        return None
    return _hover(compiled, token.start, token.end, "\n\n".join(part for part in (explanation, verdict) if part))


def _hover(compiled: Compiled, start: int, end: int, markdown: str) -> lsp.Hover:
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown), compiled.text.range(start, end))


def _of_name(compiled: Compiled, declared: Declared, verdict: str | None) -> Iterator[str]:
    yield code(head(declared))
    kind = _KINDS.get(declared.kind, declared.kind)
    yield f"*{kind}*" + (f" of `{declared.inside.name.text}`" if declared.inside else "")
    if declared.doc:
        yield declared.doc
    match declared.kind:
        case "commitment" | "claim":
            yield from _lifecycle(compiled, declared)
        case "parameter":
            yield from _value(compiled, declared)
        case "property" | "agent" if verdict:
            yield verdict
        case "message":
            yield from _causes(compiled, declared)
        case _:
            pass


def code(text: str) -> str:
    return f"```cpl\n{text}\n```"


def head(declared: Declared) -> str:
    """Return a declaration without its block."""
    node = declared.node
    span: Span = getattr(node, "span", declared.span)
    match node:
        case ast.Protocol(_, parameters, title, sync):
            shown = f"({', '.join(one.span.text for one in parameters)})" if parameters else ""
            named = f' "{title}"' if title else ""
            return f"protocol {node.name.text}{shown}{named}{' sync' if sync else ''}"
        case ast.For(variable, domain):
            return f"for {variable.text} in {domain.span.text}"
        case ast.ForEach(key, type_):
            return f"for each {key.text}: {type_.span.text}"
        case ast.Quantifier(kind, variable, domain):
            return f"{kind} {variable.text} in {domain.span.text}"
        case ast.Define() if declared.kind == "argument":
            return f"{declared.name.text}  // in define {node.name.text}({', '.join(p.text for p in node.parameters)})"
        case _:
            lines = span.text.strip().split("\n")
            return "\n".join(lines[:12]) + ("\n…" if len(lines) > 12 else "")


def _lifecycle(compiled: Compiled, declared: Declared) -> Iterator[str]:
    """Return the lifecycle table of a commitment or claim: the messages that change it."""
    relevant = [effect for effect in effects(compiled) if effect.on is declared]
    if not relevant:
        yield f"No message performs an operation on this {declared.kind}."
        return
    rows = [row for effect in relevant for row in _rows(effect)]
    yield "\n".join(("| Message | Operation | From | To |", "| --- | --- | --- | --- |", *dict.fromkeys(rows)))


def _rows(effect: Effect) -> Iterator[str]:
    rows = tuple(operation_rows(effect.verb, effect.on.kind)) or (Row("", "", "?", "?"),)
    for row in rows:
        yield f"| `{effect.message.name.text}` | `{effect.verb}` | {row.source} | {row.target} |"


def _causes(compiled: Compiled, declared: Declared) -> Iterator[str]:
    """Return the effects of a message."""
    done = [f"`{effect.verb} {effect.on.name.text}`" for effect in effects(compiled) if effect.message is declared]
    if done:
        yield f"Performs {', '.join(done)}."


def _value(compiled: Compiled, declared: Declared) -> Iterator[str]:
    value = parameter_value(compiled, declared)
    if value is not None:
        yield f"Checked here with the value `{value}`."


def parameter_value(compiled: Compiled, declared: Declared) -> str | None:
    """Return the value in the instantiated protocol, if the parameter belongs to it."""
    model = compiled.compilation.model if compiled.compilation.ok else None
    owner = declared.inside
    if model is None or owner is None or owner.name.text != model.name:
        return None
    values = dict(model.parameters)
    if owner.span.source.name != compiled.source.name or declared.name.text not in values:
        return None
    return str(values[declared.name.text]).lower()


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


# --- Signature help for macros, used protocols and lifecycle atoms


_DECLARING = {
    "C": ("debtor", "creditor", "antecedent", "consequent"),
    "claim": ("maker", "addressee", "content"),
}


def _dotted(before: Sequence[Token]) -> tuple[str, int]:
    """Return the dotted name that ends with the first of these tokens, and the number of its tokens."""
    dotted = before[0].text
    position = 1
    while position + 1 < len(before) and before[position].text == "." and before[position + 1].kind == "word":
        dotted = f"{before[position + 1].text}.{dotted}"
        position += 2
    return dotted, position


def signature_help(compiled: Compiled, offset: int) -> lsp.SignatureHelp | None:
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
    dotted, position = _dotted(before)
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


def _of_protocol(compiled: Compiled, used: Declared, offset: int, start: int) -> lsp.SignatureHelp:
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


def _help(label: str, parts: tuple[str, ...], active: int, doc: str | None, within: int = 0) -> lsp.SignatureHelp:
    """Return a signature; its parameters occur in the label from left to right."""
    parameters: list[lsp.ParameterInformation] = []
    at = max(within, label.find("("))
    for part in parts:
        at = label.find(part, at)
        # Offsets are units of the client's encoding; labels with other than ASCII characters give the text instead.
        parameters.append(lsp.ParameterInformation((at, at + len(part)) if label.isascii() else part))
        at += len(part)
    documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, doc) if doc else None
    last = max(0, len(parts) - 1)
    shown = lsp.SignatureInformation(label, documentation=documentation, parameters=parameters)
    return lsp.SignatureHelp([shown], 0, min(active, last))


# --- Inlay hints: senders of choices, debtors and creditors, arguments, and values of parameters


def hints(compiled: Compiled, start: int, end: int) -> list[lsp.InlayHint]:
    """Return the hints between two offsets, in the order of the text."""
    visible = [hint for hint in _all(compiled) if start <= hint[0] <= end]
    text = compiled.text
    return [
        lsp.InlayHint(
            text.position(at), label, kind, padding_left=label[0] not in "=:", padding_right=label.endswith(":")
        )
        for at, label, kind in sorted(dict.fromkeys(visible), key=lambda hint: hint[0])
    ]


_Hint = tuple[int, str, lsp.InlayHintKind | None]


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
            yield operation.subject.span.end, f"{first.span.text} → {second.span.text}", lsp.InlayHintKind.Type
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
            yield argument.span.start, f"{parameter.text}:", lsp.InlayHintKind.Parameter


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
        yield use.span.end, shown, lsp.InlayHintKind.Parameter


def _size(compiled: Compiled, ref: ast.Ref) -> Iterator[_Hint]:
    """Show the value of a size parameter."""
    target = meant(compiled, ref)
    value = None if target is None else _parameter_hint(compiled, target)
    if value is not None:
        yield ref.span.end, f"= {value}", lsp.InlayHintKind.Parameter


def _parameter_hint(compiled: Compiled, declared: Declared) -> str | None:
    return parameter_value(compiled, declared) if declared.kind == "parameter" else None
