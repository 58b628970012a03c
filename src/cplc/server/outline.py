"""Structure of a file: symbols, folding ranges, selection ranges."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types as lsp

from cplc.semantics.symbol_index import Declared, Kind
from cplc.server.compiled_document import Compiled
from cplc.source import Span
from cplc.syntax import ast
from cplc.syntax.tree import children

_KINDS: dict[Kind, lsp.SymbolKind] = {
    "protocol": lsp.SymbolKind.Module, "parameter": lsp.SymbolKind.Constant, "role": lsp.SymbolKind.Class,
    "variable": lsp.SymbolKind.Field, "message": lsp.SymbolKind.Event, "payload": lsp.SymbolKind.Property,
    "fact": lsp.SymbolKind.Boolean, "commitment": lsp.SymbolKind.Interface, "claim": lsp.SymbolKind.Interface,
    "part": lsp.SymbolKind.Package, "macro": lsp.SymbolKind.Function, "property": lsp.SymbolKind.Method,
    "agent": lsp.SymbolKind.Object, "import": lsp.SymbolKind.Namespace, "type": lsp.SymbolKind.Enum,
}  # fmt: skip

_INNER = frozenset({"variable", "payload", "parameter", "import"})


def document_symbols(compiled: Compiled) -> list[lsp.DocumentSymbol]:
    """Return the declarations of the file as a tree."""
    declarations = [one for one in compiled.index.declared.values() if one.span.source is compiled.source]
    by_owner: dict[Declared | None, list[Declared]] = {}
    for one in sorted(declarations, key=lambda one: one.span.start):
        if one.kind in _KINDS:
            by_owner.setdefault(one.inside, []).append(one)

    def symbols(owner: Declared | None) -> list[lsp.DocumentSymbol]:
        return [
            lsp.DocumentSymbol(
                one.name.text,
                _KINDS[one.kind],
                compiled.text.of(_around(one)),
                compiled.text.of(one.span),
                detail=_detail(one),
                children=symbols(one) or None,
            )
            for one in by_owner.get(owner, ())
        ]

    return symbols(None)


def _around(one: Declared) -> Span:
    """Return the span of the declaration around its name."""
    span: Span = getattr(one.node, "span", one.span)
    return Span(span.source, min(span.start, one.span.start), max(span.end, one.span.end))


def _detail(one: Declared) -> str | None:
    match one.node:
        case ast.Message(_, sender, receivers):
            return f"{sender.span.text} -> {', '.join(receiver.span.text for receiver in receivers)}"
        case ast.Commitment(_, debtor, creditor):
            return f"{debtor.span.text} owes {creditor.span.text}"
        case ast.Claim(_, maker, addressee):
            return f"{maker.span.text} to {addressee.span.text}"
        case ast.Protocol(title=title) | ast.Property(title=title):
            return title
        case _:
            return one.kind


def workspace_symbols(query: str, programs: Iterable[Compiled]) -> list[lsp.WorkspaceSymbol]:
    """Return the declarations whose names contain the letters of the query in order."""
    pattern = query.lower()
    symbols: dict[tuple[str, int], lsp.WorkspaceSymbol] = {}
    for program in programs:
        for one in program.index.declared.values():
            is_own = one.span.source is program.source and one.kind not in (
                "variable",
                "payload",
                "parameter",
                "import",
            )
            if is_own and one.kind in _KINDS and _matches(pattern, one.name.text.lower()):
                location = lsp.Location(program.document.uri, program.text.of(one.span))
                owner = one.inside.name.text if one.inside else None
                symbol = lsp.WorkspaceSymbol(location, one.name.text, _KINDS[one.kind], container_name=owner)
                symbols.setdefault((one.span.source.name, one.span.start), symbol)
    return list(symbols.values())[:1000]


def _matches(pattern: str, name: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in pattern)


def folding(compiled: Compiled) -> list[lsp.FoldingRange]:
    """Return the folding ranges: blocks, comments, imports and long declarations."""
    text = compiled.text
    ranges: dict[tuple[int, int], lsp.FoldingRange] = {}

    def add(start: int, end: int, kind: lsp.FoldingRangeKind | None, *, closing: bool = False) -> None:
        first, last = text.position(start).line, text.position(end).line - closing
        if last > first:
            ranges.setdefault((first, last), lsp.FoldingRange(first, last, kind=kind))

    for start, end in compiled.tokens.brackets:
        add(start, end - 1, None, closing=True)
    comments = compiled.tokens.comments
    index = 0
    while index < len(comments):
        last = index
        while last + 1 < len(comments) and not text.text[comments[last].end : comments[last + 1].start].strip():
            last += 1
        add(comments[index].start, comments[last].end, lsp.FoldingRangeKind.Comment)
        index = last + 1
    imports = compiled.file.imports
    if imports:
        add(imports[0].span.start, imports[-1].span.end, lsp.FoldingRangeKind.Imports)
    for one in compiled.index.declared.values():
        is_block = isinstance(one.node, ast.Protocol | ast.For | ast.ForEach)
        if one.span.source is compiled.source and not is_block and hasattr(one.node, "span"):
            add(one.node.span.start, one.node.span.end, None)
    return [ranges[key] for key in sorted(ranges)]


def selection(compiled: Compiled, offset: int) -> lsp.SelectionRange:
    """Return the word at an offset, and the enclosing ranges, from the inside out."""
    spans: set[tuple[int, int]] = {(0, len(compiled.text.text))}
    token = compiled.tokens.inside(offset) or compiled.tokens.at(offset)
    if token is not None:
        spans.add((token.start, token.end))
    for start, end in compiled.tokens.brackets:
        if start < offset < end:
            spans.update(((start, end), (start + 1, end - 1)))
    stack: list[object] = [compiled.file]
    while stack:
        node = stack.pop()
        span = getattr(node, "span", None)
        if isinstance(span, Span):
            if not (span.source is compiled.source and span.start <= offset <= span.end):
                continue
            first = compiled.tokens.at(span.start)
            if first is None or span.start in (first.start, first.end):  # not the F of AF
                spans.add((span.start, span.end))
        stack.extend(children(node))
    result: lsp.SelectionRange | None = None
    for start, end in _nested(spans):
        result = lsp.SelectionRange(compiled.text.range(start, end), result)
    assert result is not None
    return result


def _nested(spans: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return nested ranges; those that overlap otherwise are omitted."""
    nested: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if not nested or (nested[-1][0] <= start and end <= nested[-1][1]):
            nested.append((start, end))
    return nested
