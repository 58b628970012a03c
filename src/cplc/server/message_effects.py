"""Effects of messages on commitments, and the conditions of declarations, computed from the syntax trees."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.records import dataclass
from cplc.semantics.symbol_index import Declared, walk
from cplc.server.compiled_document import Compiled
from cplc.source import Span
from cplc.syntax import ast


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
