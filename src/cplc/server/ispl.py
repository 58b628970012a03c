"""Models in ISPL: symbols and navigation.

A name is looked up in the scopes of its section: the agent, then the observable part of the environment, then the
global names.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import DocumentHighlight, DocumentHighlightKind, DocumentSymbol, Location, SymbolKind

from cplc.ispl.syntax import ast
from cplc.ispl.syntax.ast import ENVIRONMENT
from cplc.records import dataclass
from cplc.server.compiled_document import CompiledIspl
from cplc.source import Span
from cplc.syntax.ast import Name
from cplc.syntax.tree import children, walk


def document_symbols(compiled: CompiledIspl) -> list[DocumentSymbol]:
    """Return the symbols of a model: agents with their declarations, propositions, groups, formulas."""
    file = compiled.reading.file
    symbols = [
        _symbol(compiled, agent.name, SymbolKind.Class, agent.span, list(_of_agent(compiled, agent)))
        for agent in file.agents
    ]
    symbols += [_symbol(compiled, one.name, SymbolKind.Boolean, one.span) for one in file.propositions]
    symbols += [_symbol(compiled, one.name, SymbolKind.Array, one.span) for one in file.groups]
    for number, specification in enumerate(file.specifications, 1):
        name = Name(f"formula {number}", span=specification.span)
        symbols.append(_symbol(compiled, name, SymbolKind.Method, specification.span))
    return sorted(symbols, key=lambda symbol: (symbol.range.start.line, symbol.range.start.character))


def _of_agent(compiled: CompiledIspl, agent: ast.Agent) -> Iterator[DocumentSymbol]:
    for variable in (*agent.obsvars, *agent.variables):
        yield _symbol(compiled, variable.name, SymbolKind.Field, variable.span)
    for action in agent.actions:
        yield _symbol(compiled, action, SymbolKind.Event, action.span)


def _symbol(
    compiled: CompiledIspl, name: Name, kind: SymbolKind, span: Span, inside: list[DocumentSymbol] | None = None
) -> DocumentSymbol:
    whole = Span(span.source, min(span.start, name.span.start), max(span.end, name.span.end))
    return DocumentSymbol(
        name.text, kind, compiled.text.of(whole), compiled.text.of(name.span), children=inside or None
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """Scope of the names of an agent's sections, or of the global sections."""

    file: ast.File
    agent: ast.Agent | None

    def agent_called(self, name: str) -> ast.Agent | None:
        return next((agent for agent in self.file.agents if agent.name.text == name), None)

    def variable(self, agent: ast.Agent | None, name: str) -> Span | None:
        for variable in () if agent is None else (*agent.obsvars, *agent.variables):
            if variable.name.text == name:
                return variable.name.span
            if isinstance(variable.type, ast.Enumeration):
                for value in variable.type.values:
                    if value.text == name:
                        return value.span
        return None

    def action(self, agent: ast.Agent | None, name: str) -> Span | None:
        return next((one.span for one in (agent.actions if agent else ()) if one.text == name), None)

    def global_name(self, name: str) -> Span | None:
        names = [one.name for one in self.file.propositions]
        names += [one.name for one in self.file.groups]
        names += [one.name for one in self.file.agents]
        return next((one.span for one in names if one.text == name), None)

    def lookup(self, name: Name, owner: str | None) -> Span | None:
        """Return the declaration of a name; ``owner`` is the agent written before it."""
        if owner is not None:
            agent = self.agent_called(owner)
            return self.variable(agent, name.text) or self.action(agent, name.text)
        environment = self.agent_called(ENVIRONMENT)
        own = self.variable(self.agent, name.text) or self.action(self.agent, name.text)
        return own or self.variable(environment, name.text) or self.global_name(name.text)


def definition(compiled: CompiledIspl, offset: int) -> Location | None:
    """Return the declaration of the name at an offset."""
    for name, parent, names in _written(compiled):
        if name.span.start <= offset <= name.span.end and (declared := _meant(names, parent, name)) is not None:
            return Location(compiled.document.uri, compiled.text.of(declared))
    return None


def occurrences(compiled: CompiledIspl, offset: int) -> tuple[Span, tuple[Span, ...]] | None:
    """Return the declaration of the name at an offset, and all its places in order."""
    meant = [
        (name.span, target) for name, parent, names in _written(compiled) if (target := _meant(names, parent, name))
    ]
    here = [target for span, target in meant if span.start <= offset <= span.end]
    here += [target for _, target in meant if target.start <= offset <= target.end]
    if not here:
        return None
    declared = here[0]
    places = {declared, *(span for span, target in meant if target == declared)}
    return declared, tuple(sorted(places, key=lambda span: span.start))


def highlights(compiled: CompiledIspl, offset: int) -> list[DocumentHighlight]:
    """Return the places of the name; its declaration counts as a write."""
    declared, places = occurrences(compiled, offset) or (None, ())
    kinds = DocumentHighlightKind
    return [
        DocumentHighlight(compiled.text.of(span), kinds.Write if span == declared else kinds.Read) for span in places
    ]


def references(compiled: CompiledIspl, offset: int, *, with_declaration: bool) -> list[Location]:
    declared, places = occurrences(compiled, offset) or (None, ())
    return [
        Location(compiled.document.uri, compiled.text.of(span))
        for span in places
        if with_declaration or span != declared
    ]


def _written(compiled: CompiledIspl) -> Iterator[tuple[Name, object, _Names]]:
    """Yield each name with its parent and its scope."""
    file = compiled.reading.file
    inside = {id(part): agent for agent in file.agents for part in walk(agent)}
    for parent in walk(file):
        names = _Names(file, inside.get(id(parent)))
        for child in children(parent):
            if isinstance(child, Name) and child.text:
                yield child, parent, names


def _meant(names: _Names, parent: object, name: Name) -> Span | None:
    match parent:
        case ast.Ref(owner, last) | ast.Acts(owner, last) if owner is not None:
            if last is name:
                return names.lookup(name, owner.text)
            agent = names.agent_called(name.text)
            return agent.name.span if agent else None
        case ast.Acts(None, _) | ast.ProtocolLine():
            return names.action(names.agent, name.text)
        case ast.Prop() | ast.Knows() | ast.Enforces() | ast.Commits() | ast.Group() | ast.ColourAtom():
            return names.global_name(name.text)
        case _:
            return names.lookup(name, None)
