"""Index of the declarations of a file and its imports, with all uses of each name.

Declarations come from the trees, so there are some even where little could be read; what a name means was written down
while it was resolved. The place of a declaration is the place of its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from cplc.records import dataclass
from cplc.semantics.signatures import Library
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.replies import as_message, replies_to, variables_of
from cplc.syntax.tree import walk

Kind = Literal[
    "protocol", "parameter", "role", "variable", "message", "payload", "fact", "commitment", "claim", "part", "macro",
    "type", "argument", "loop variable", "import", "property", "agent",
]  # fmt: skip


Loops = tuple[ast.For | ast.ForEach, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A declared name and its container: a payload in its message, a message in its protocol."""

    kind: Kind
    name: ast.Name
    node: Any
    """The node that declares it."""
    inside: Declared | None = None
    loops: Loops = ()
    """The enclosing loops, outermost first."""

    @property
    def span(self) -> Span:
        return self.name.span

    @property
    def doc(self) -> str | None:
        doc: str | None = getattr(self.node, "doc", None)
        return doc

    @property
    def protocol(self) -> Declared | None:
        """The protocol it is declared in."""
        return self if self.kind == "protocol" else self.inside.protocol if self.inside else None


@dataclass(frozen=True, slots=True)
class Import:
    """An import and its source, if it could be read."""

    node: ast.Import
    source: Source | None


@dataclass(frozen=True)
class Index:
    """The names of a file and of all that it imports."""

    files: tuple[ast.File, ...]
    """The file itself first."""
    uses: Mapping[Span, Span]
    """The place of each use, with the place of the declaration."""
    imports: tuple[Import, ...]
    """The imports of all files."""
    visible: Mapping[str, tuple[Span, ...]]
    """The protocols and macros visible in the file, and their places."""

    @cached_property
    def declared(self) -> dict[Span, Declared]:
        return {declared.span: declared for file in self.files for declared in declarations(file)}

    @cached_property
    def _places(self) -> dict[str, list[tuple[Span, Span]]]:
        """The resolved names of each file with their declarations, in the order of the text."""
        places: dict[str, list[tuple[Span, Span]]] = {}
        for span, target in (*((span, span) for span in self.declared), *self.uses.items()):
            places.setdefault(span.source.name, []).append((span, target))
        for file_places in places.values():
            file_places.sort(key=lambda pair: (pair[0].start, pair[0].end))
        return places

    def places(self, source: Source) -> list[tuple[Span, Span]]:
        """Return the resolved names of a file with their declarations."""
        return self._places.get(source.name, [])

    def at(self, source: Source, offset: int) -> tuple[Span, Declared] | None:
        """Return the name at an offset, or just before it, and its declaration."""
        for span, target in self.places(source):
            if span.start <= offset <= span.end and target in self.declared:
                return span, self.declared[target]
        return None

    def occurrences(self, declared: Span) -> list[Span]:
        """Return every place of the name, its declaration first; `use P` without `as` names the part after `P`."""
        names = {declared}
        while (
            more := {
                other
                for span, target in self.uses.items()
                for other in (span, target)
                if span in self.declared and not names.isdisjoint((span, target))
            }
            - names
        ):
            names |= more
        places = {span: None for span, target in self.uses.items() if target in names}
        return list({declared: None, **dict.fromkeys(sorted(names, key=_place)), **places})

    def members(self, of: Declared) -> list[Declared]:
        """Return the direct members of a declaration; for a part, those of its protocol."""
        if of.kind == "part":
            target = self.uses.get(of.node.protocol.segments[-1].name.span)
            if target is None or target not in self.declared:
                return []
            of = self.declared[target]
        return [declared for declared in self.declared.values() if declared.inside is of]


def index_of(library: Library, uses: Mapping[Span, Span]) -> Index:
    """Return the names of a program."""
    definitions = dict(uses)
    imports: list[Import] = []
    for unit in library.program:
        imports.extend(
            Import(import_, None if target is None else library.program[target].source)
            for import_, target in unit.imports
        )
        aliases = {import_.alias.text: import_.alias.span for import_, _ in unit.imports if import_.alias}
        for use in (use for protocol in unit.file.protocols for use in _uses(protocol.declarations)):
            first = use.protocol.segments[0].name
            if len(use.protocol.segments) > 1 and first.text in aliases:
                definitions[first.span] = aliases[first.text]
    return Index(tuple(unit.file for unit in library.program), definitions, tuple(imports), library.visible(0))


def _uses(bodies: tuple[ast.Declaration, ...]) -> Iterator[ast.Use]:
    for node in bodies:
        match node:
            case ast.Use():
                yield node
            case ast.For(body=body) | ast.ForEach(body=body):
                yield from _uses(body)
            case _:
                pass


def _place(span: Span) -> tuple[str, int]:
    return span.source.name, span.start


def declarations(file: ast.File) -> Iterator[Declared]:
    """Yield the declarations of a file, outer before inner."""
    for import_ in file.imports:
        if import_.alias:
            yield Declared("import", import_.alias, import_)
    for define in file.defines:
        yield from _macro(define, None)
    for definition in file.types:
        yield Declared("type", definition.name, definition)
    for protocol in file.protocols:
        outer = Declared("protocol", protocol.name, protocol)
        yield outer
        for parameter in protocol.parameters:
            yield Declared("parameter", parameter.name, parameter, outer)
        yield from _inside(protocol.declarations, outer, ())


def _macro(define: ast.Define, inside: Declared | None) -> Iterator[Declared]:
    macro = Declared("macro", define.name, define, inside)
    yield macro
    for parameter in define.parameters:
        yield Declared("argument", parameter, define, macro)
    yield from _quantified(define.body, macro)


def _inside(bodies: tuple[ast.Declaration, ...], protocol: Declared, loops: Loops) -> Iterator[Declared]:
    for node in bodies:
        owner = protocol
        match node:
            case ast.For(variable):
                yield Declared("loop variable", variable, node, protocol, loops)
                yield from _inside(node.body, protocol, (*loops, node))
                continue
            case ast.ForEach(key):
                yield Declared("loop variable", key, node, protocol, loops)
                yield from _inside(node.body, protocol, (*loops, node))
                continue
            case ast.Memory(reference):
                yield Declared("variable", reference.segments[-1].name, node, protocol, loops)
            case ast.Define():
                yield from _macro(node, protocol)
                continue
            case ast.TypeDefinition(name):
                yield Declared("type", name, node, protocol)
                continue
            case ast.Role(name, _, variables):
                owner = Declared("role", name, node, protocol, loops)
                yield owner
                for declared in variables:
                    yield Declared("variable", declared.name, declared, owner)
            case ast.Message(name):
                owner = Declared("message", name, node, protocol, loops)
                yield owner
                for parameter in node.parameters:
                    yield Declared("payload", parameter.name, parameter, owner)
                for reply in replies_to(node):
                    own = variables_of(node.receivers[0], protocol.node.declarations, loops)
                    yield Declared("message", reply.name, as_message(node, reply, own), protocol, loops)
            case ast.Fact(name):
                yield (owner := Declared("fact", name, node, protocol, loops))
            case ast.Commitment(name):
                yield (owner := Declared("commitment", name, node, protocol, loops))
            case ast.Claim(name):
                yield (owner := Declared("claim", name, node, protocol, loops))
            case ast.Property(name):
                yield (owner := Declared("property", name, node, protocol, loops))
            case ast.Use(alias=alias):
                yield Declared("part", alias or node.protocol.segments[-1].name, node, protocol, loops)
            case _ if isinstance(declared_name := getattr(node, "name", None), ast.Name):
                yield Declared("agent", declared_name, node, protocol, loops)
            case _:
                pass
        yield from _quantified(node, owner)


def _quantified(node: object, inside: Declared) -> Iterator[Declared]:
    """Yield the variables bound by quantifiers and other binders below a node."""
    for inner in walk(node):
        variable = getattr(inner, "variable", None)
        if isinstance(variable, ast.Name) and not isinstance(inner, ast.For):
            yield Declared("loop variable", variable, inner, inside)
