"""Parser of `.cpl` files (`grammar/cpl.tx`).

A text that the grammar accepts is read as a whole. Any other is cut into its declarations, each is read on its own,
and every one that cannot be read is reported: one run shows all the mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import SYNTAX, UNKNOWN_VERSION
from cplc.language.words import VERSION
from cplc.source import Source, Span
from cplc.syntax import ast, formula_parser
from cplc.syntax.input_limits import unreadable
from cplc.syntax.scanner import MAX_PROBLEMS, scan
from cplc.syntax.textx_conversion import MISPLACED_VERSION, Conversion, Excerpt, Item, first_word
from cplc.syntax.textx_parser import accepted


def parse(source: Source) -> tuple[ast.File, tuple[Diagnostic, ...]]:
    """Parse a file: return the readable part of its tree, and all diagnostics."""
    problem = unreadable(source)
    if problem:
        return _file(source, (), []), (problem,)
    scanned = scan(source)
    problems = list(scanned.problems)
    if not problems and scanned.balanced:
        nodes = accepted(scanned.text, scanned.nesting)
        if nodes is not None:
            conversion = Conversion(scanned, Excerpt(scanned.text, ((0, 0),)))
            items = conversion.items(nodes)
            return _file(source, items, conversion.problems), _ordered(conversion.problems)
    from cplc.syntax.recovery import Recovery  # most files have no mistakes

    items = Recovery(scanned, problems).items()
    return _file(source, items, problems), _ordered(problems)


def parse_formula(source: Source) -> tuple[ast.Expr | None, tuple[Diagnostic, ...]]:
    """Parse a text that is one formula."""
    problem = unreadable(source)
    if problem:
        return None, (problem,)
    scanned = scan(source)
    if scanned.problems:
        return None, scanned.problems
    text = scanned.text.lstrip()
    return formula_parser.read(source, text.rstrip(), len(scanned.text) - len(text))


def _file(source: Source, items: tuple[Item, ...], problems: list[Diagnostic]) -> ast.File:
    """Sort the items at the top of a file, and report those that belong into a protocol."""
    imports: list[ast.Import] = []
    protocols: list[ast.Protocol] = []
    defines: list[ast.Define] = []
    types: list[ast.TypeDefinition] = []
    version: ast.Version | None = None
    for index, item in enumerate(items):
        match item:
            case ast.Version() if index == 0:
                version = item
                problems.extend(_unknown_version(item))
            case ast.Version():
                problems.append(SYNTAX.at(item.span, MISPLACED_VERSION))
            case ast.Import():
                imports.append(item)
            case ast.Protocol():
                protocols.append(item)
            case ast.Define():
                defines.append(item)
            case ast.TypeDefinition():
                types.append(item)
            case _:
                problems.append(SYNTAX.at(first_word(item.span), "This declaration stands outside any protocol"))
    whole = Span(source, 0, len(source.text))
    return ast.File(tuple(imports), tuple(protocols), tuple(defines), version, tuple(types), span=whole)


def _unknown_version(version: ast.Version) -> Iterator[Diagnostic]:
    """Report an unsupported version of the language."""
    if version.number != VERSION:
        notes = (Note(f"write `cpl {VERSION}`"),)
        if version.number == "1":
            notes = (Note("leave this line out: `cplc check --fix` then changes what has another meaning now"),)
        message = f"This program reads version {VERSION} of the language, not {version.number}"
        yield UNKNOWN_VERSION.at(version.span, message, *notes)


def _ordered(problems: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the problems in the order of the text, cut off where there are too many."""
    ordered = sorted(problems, key=lambda problem: (problem.span.start, problem.span.end))
    if len(ordered) <= MAX_PROBLEMS:
        return tuple(ordered)
    last = ordered[MAX_PROBLEMS - 1]
    note = Note("further mistakes in this file are not shown: correct these first")
    return (*ordered[: MAX_PROBLEMS - 1], replace(last, notes=(*last.notes, note)))
