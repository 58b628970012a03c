"""Hover texts for names, and for the words and operators of the language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lsprotocol.types import Hover, MarkupContent, MarkupKind

from cplc.language.lifecycle import CLAIM_VERBS, PARTIES, VERBS
from cplc.language.lifecycle_texts import STATE_MEANINGS, Row, operation_rows
from cplc.language.words import NO_USUAL_CHECKS, USUAL_CHECKS, WORD
from cplc.semantics.symbol_index import Declared
from cplc.server.compiled_document import Compiled
from cplc.server.message_effects import Effect, effects
from cplc.source import Span
from cplc.syntax import ast

_KINDS = {
    "argument": "parameter of a macro",
    "payload": "parameter of a message",
    "part": "used protocol",
    "variable": "variable of a role",
}


def hover(compiled: Compiled, offset: int, verdict: str | None) -> Hover | None:
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


def _hover(compiled: Compiled, start: int, end: int, markdown: str) -> Hover:
    return Hover(MarkupContent(MarkupKind.Markdown, markdown), compiled.text.range(start, end))


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
