"""Blocks with keys (`for each order: id { … }`): what they may refer to, and the number of their instances.

Definition: a block is *closed* if its declarations name nothing that is declared outside of it but roles and
parameters, and if no declaration outside names something in it. Formulas, which only look, may name all.

Claim: the system of a protocol with closed blocks is a product of what is outside of all blocks and of the instances of
every block; ticks alone synchronise them. Proof: a guard reads copies of messages, views and variables that its block
declares, and those of the same key alone, since an index of the block's own key is the key itself. The same holds for
assignments, conditions of commitments and operations. Each instance has channels of its own, and no restart outside
reaches into a block. (`cplc.checking.any_number` has the consequence for verdicts, and `cplc.monitoring` for logs.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import resolved
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.model import KeyedBlock
from cplc.source import Source, Span

MAX_KEYS: Final = 64
"""Maximum number of instances of a block in verification and simulation."""
_ASKING: Final = (resolved.Property, resolved.Check)
_OF_THE_PROTOCOL: Final = {
    resolved.Channel: "A channel",
    resolved.Fairness: "A fairness condition",
    resolved.Agent: "A participant",
    resolved.Analyze: "An analysis",
}


# --- what blocks may refer to


def check_closed(template: resolved.Template, problems: DiagnosticSink) -> None:
    """Report references into and out of blocks with keys."""
    keys = template.signature.keys
    if not keys:
        return
    for body in template.body:
        if isinstance(body, resolved.Loop) and body.binder.is_key:
            for inner in _declarations(body.body):
                _check_inside(inner, body.binder, problems)
        elif not isinstance(body, _ASKING):
            for inner in _declarations((body,)):
                _check_outside(inner, next(iter(keys.values())), problems)


def _declarations(bodies: Iterable[resolved.Body]) -> Iterator[resolved.Body]:
    for body in bodies:
        if isinstance(body, resolved.Loop):
            yield from _declarations(body.body)
        else:
            yield body


def _check_inside(body: resolved.Body, binder: resolved.Binder, problems: DiagnosticSink) -> None:
    what = next((name for kind, name in _OF_THE_PROTOCOL.items() if isinstance(body, kind)), None)
    if what is not None:
        message = f"{what} belongs to the protocol as a whole and cannot stand in `for each {binder.name}`"
        problems.report(rules.MISPLACED_DECLARATION, _place(body), message)
        return
    if isinstance(body, _ASKING):
        return
    for name, span, indices in _references(body):
        own = [index for around, index in indices if around is binder]
        if own == [resolved.LoopValue(binder)]:
            continue
        if own:
            message = f"`{name}` is of another `{binder.name}`: instances share nothing"
        else:
            message = f"`{name}` is declared outside of `for each {binder.name}`, so all instances would share it"
        hint = Note("declare it inside the block; a property may speak of both")
        problems.report(rules.SHARED_BY_KEYS, span, message, hint)


def _check_outside(body: resolved.Body, binder: resolved.Binder, problems: DiagnosticSink) -> None:
    for name, span, indices in _references(body):
        if (key := next((around for around, _ in indices if around.is_key), None)) is not None:
            message = f"`{name}` is declared in `for each {key.name}`, and only formulas outside may speak of it"
            hint = Note("put this declaration into the block, or write a `define` for formulas")
            problems.report(rules.SHARED_BY_KEYS, span, message, hint)
    if isinstance(body, resolved.Message) and body.restarts and not body.symbol.chain:
        message = f"`{body.symbol.name}` would end the round of every instance of `for each {binder.name}`"
        hint = Note("let a message in the block end the round of its instance")
        problems.report(rules.SHARED_BY_KEYS, body.symbol.span, message, hint)
    if isinstance(body, resolved.Agent | resolved.Analyze):
        message = f"Probabilities depend on the number of instances of `for each {binder.name}`"
        hint = Note("analyse the participant in a protocol of one instance, without the block")
        problems.report(rules.SHARED_BY_KEYS, _place(body), message, hint)


def _loops_around(owner: tuple[resolved.PartSymbol, ...], symbol: resolved.Indexed) -> resolved.Chain:
    """Return the binders of all indices of an instance, outermost first."""
    return tuple(binder for one in (*owner, symbol) for binder in one.chain)


_Indices = tuple[tuple[resolved.Binder, resolved.Tree], ...]


def _references(body: resolved.Body) -> Iterator[tuple[str, Span, _Indices]]:
    """Yield every message, fact, commitment and variable that a declaration names, with the binders of its indices."""
    for node in (body, *resolved.nodes(body)):
        match node:
            case resolved.Instance(symbol, owner, indices, _, span):
                binders = _loops_around(owner, symbol)
                yield symbol.name, span, tuple(zip(binders, indices, strict=False))
            case resolved.EveryInstance(message, owner, span):
                every = _loops_around(owner, message)
                yield message.name, span, tuple((binder, resolved.TRUE) for binder in every)
            case resolved.VariableOf(role, name, span, key) | resolved.Assignment(role, name, _, span, key):
                chain = _variable_chain(role, name)
                yield name, span, () if key is None else tuple((binder, key) for binder in chain)
            case resolved.Quantified(_, binder, _, span) if binder.is_key:
                yield span.text, span, ((binder, resolved.TRUE),)
            case _:
                pass


def _variable_chain(role: resolved.RoleTree, name: str) -> resolved.Chain:
    match role:
        case resolved.RoleAt(symbol) | resolved.LoopValue(resolved.Binder(domain=resolved.FamilyDomain(symbol))):
            variable = symbol.variables.get(name)
            return () if variable is None else variable.chain
        case _:
            return ()


def _place(body: resolved.Body) -> Span:
    match body:
        case resolved.Agent(symbol):
            return symbol.span
        case resolved.Analyze(node):
            return node.span
        case resolved.Channel(span=span) | resolved.Fairness(span=span):
            return span
        case _:
            raise AssertionError(f"no place is needed of {type(body).__name__}")


# --- the number of instances


def blocks_of(
    template: resolved.Template, given: Mapping[str, str], problems: DiagnosticSink
) -> tuple[KeyedBlock, ...] | None:
    """Return the blocks with their numbers of instances; None after a reported error.

    Unless a number is given, there is one more than a property relates: what depends on all instances shows thereby.
    """
    blocks: list[KeyedBlock] = []
    for key, binder in template.signature.keys.items():
        related = dict(_related(template.body, key))
        count = 1 + max(related.values(), default=1)
        if key in given:
            text = given[key].strip()
            count = int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 0
        if not 1 <= count <= MAX_KEYS:
            source = Source("-D", f"{key}={given.get(key, count)}")
            message = f"The number of instances of `for each {key}` is in 1..{MAX_KEYS}"
            problems.report(
                rules.VALUE_OUT_OF_RANGE, Span(source, 0, len(source.text)), message, Note("declared here", binder.span)
            )
            return None
        blocks.append(KeyedBlock(key, count, key in given, related, span=binder.span))
    return tuple(blocks)


def _related(bodies: Iterable[resolved.Body], key: str, inside: int = 0) -> Iterator[tuple[str, int]]:
    for body in bodies:
        match body:
            case resolved.Loop(binder, inner):
                yield from _related(inner, key, inside + (binder.is_key and binder.name == key))
            case resolved.Property(node, _, formula):
                yield node.name.text, inside + related_by(formula, key)
            case _:
                pass


def related_by(formula: object, key: str) -> int:
    """Return the largest number of instances that a formula relates: nested quantifiers, and numbered instances."""
    deepest, highest = _quantified(formula, key)
    return max(1, deepest + highest)


def _quantified(node: object, key: str) -> tuple[int, int]:
    """Return how deep quantifiers over keys are nested, and the highest number of an instance."""
    below = [_quantified(child, key) for child in (node if isinstance(node, tuple) else resolved.children(node))]
    deepest, highest = max((one for one, _ in below), default=0), max((one for _, one in below), default=0)
    match node:
        case resolved.Quantified(_, resolved.Binder(domain=resolved.KeyDomain(name))) if name == key:
            deepest += 1
        case resolved.Instance(symbol, owner, indices):
            binders = _loops_around(owner, symbol)
            for binder, index in zip(binders, indices, strict=False):
                if binder.is_key and binder.name == key and isinstance(index, resolved.LiteralTree):
                    highest = max(highest, int(index.value))
        case resolved.VariableOf(role, name, _, resolved.LiteralTree(number)):
            if any(binder.name == key for binder in _variable_chain(role, name)):
                highest = max(highest, int(number))
        case _:
            pass
    return deepest, highest
