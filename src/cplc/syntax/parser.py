"""Parser of `.cpl` files (`grammar/cpl.tx`), the only module that uses textX.

A text that the grammar accepts is read as a whole. Any other is cut into its declarations, each is read on its own,
and every one that cannot be read is reported: one run shows all the mistakes.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, Final

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import SYNTAX, UNKNOWN_VERSION
from cplc.language.words import VERSION
from cplc.runtime.file_access import shipped
from cplc.source import Source, Span
from cplc.syntax import ast, formula_parser
from cplc.syntax.input_limits import unreadable
from cplc.syntax.other_notation import Context, applied, declared_message, translations
from cplc.syntax.peg import recogniser
from cplc.syntax.recovery import Piece, pieces
from cplc.syntax.scanner import MAX_PROBLEMS, Scan, scan
from cplc.syntax.syntax_error_messages import Rejection, correction, rejection
from cplc.syntax.textx_conversion import (
    MISPLACED_VERSION,
    Conversion,
    Excerpt,
    Item,
    agent_items,
    declarations,
    first_word,
)

_NAMED: Final = re.compile(r"protocol\s+([A-Za-z_]\w*)")

MAX_CORRECTIONS: Final = 20
"""Misspelt words corrected in one declaration, which is parsed again after each."""

MAX_SHALLOW_NESTING: Final = 15
"""Nesting for which the default recursion limit suffices."""


def parse(source: Source) -> tuple[ast.File, tuple[Diagnostic, ...]]:
    """Parse a file: return the readable part of its tree, and all diagnostics."""
    problem = unreadable(source)
    if problem:
        return _file(source, (), []), (problem,)
    scanned = scan(source)
    problems = list(scanned.problems)
    if not problems and scanned.balanced:
        nodes = _accepted(scanned.text, scanned.nesting)
        if nodes is not None:
            conversion = Conversion(scanned, Excerpt(scanned.text, ((0, 0),)))
            items = conversion.items(nodes)
            return _file(source, items, conversion.problems), _ordered(conversion.problems)
    items = _Recovery(scanned, problems).items()
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
            case _:
                problems.append(SYNTAX.at(first_word(item.span), "This declaration stands outside any protocol"))
    whole = Span(source, 0, len(source.text))
    return ast.File(tuple(imports), tuple(protocols), tuple(defines), version, span=whole)


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


class _Recovery:
    """Error recovery: parses the declarations of a rejected text one by one."""

    def __init__(self, scanned: Scan, problems: list[Diagnostic]) -> None:
        self.scanned = scanned
        self.problems = problems
        self.lexical = [problem.span.start for problem in problems]
        self.in_agent = False

    def items(self) -> tuple[Item, ...]:
        declarations, problems = pieces(self.scanned.source, self.scanned.text, cut=self.scanned.cut)
        self.problems.extend(problems)
        return self._read(declarations)

    def _read(self, declarations: list[Piece]) -> tuple[Item, ...]:
        items: list[Item] = []
        for piece in declarations:
            if len(self.problems) > MAX_PROBLEMS:
                break
            items.extend(self._leaf(piece) if piece.body is None else self._block(piece, piece.body))
        return tuple(items)

    def _leaf(self, piece: Piece) -> tuple[Item, ...]:
        text = self.scanned.text[piece.start : piece.end].rstrip()
        return self._declarations(piece, text)

    def _block(self, piece: Piece, body: list[Piece]) -> tuple[Item, ...]:
        """Parse a block. With an unreadable head, a protocol keeps its name, and the body of a loop is dropped."""
        head = self._declarations(piece, self.scanned.text[piece.start : piece.head_end] + "}")
        outside, self.in_agent = self.in_agent, self.in_agent or piece.keyword == "agent"
        inside = self._read(body)
        self.in_agent = outside
        span = Span(self.scanned.source, piece.start, piece.end)
        match head:
            case (ast.Protocol() as protocol,):
                return (replace(protocol, declarations=declarations(inside, self.problems), span=span),)
            case (ast.For() as loop,):
                return (replace(loop, body=declarations(inside, self.problems), span=span),)
            case (ast.Agent() as agent,):
                return (replace(agent, body=agent_items(inside, self.problems), span=span),)
            case (ast.Each() as each,):
                return (replace(each, body=agent_items(inside, self.problems), span=span),)
            case _ if piece.keyword == "agent" or self.in_agent:
                return ()
            case _ if name := _NAMED.match(self.scanned.text, piece.start):
                here = ast.Name(name.group(1), span=Span(self.scanned.source, *name.span(1)))
                return (ast.Protocol(here, (), None, False, declarations(inside, self.problems), span=span),)
            case _:
                return inside

    def _declarations(self, piece: Piece, text: str) -> tuple[Item, ...]:
        """Parse one declaration, or the head of a block with an empty body; misspelt words are corrected."""
        excerpt = Excerpt(text, ((0, piece.start),))
        if piece.written and text[: piece.written] != piece.keyword:
            excerpt = excerpt.replaced(0, piece.written, piece.keyword)
        excused = piece.excused or self._marked(piece.start, piece.head_end or piece.end)
        corrected = corrections = 0  # no word before the offset `corrected` is corrected again
        remaining = len(text) + 1
        if _accepted(excerpt.text, self.scanned.nesting) is None:
            excerpt = self._translated(excerpt, piece.keyword)
        while isinstance(result := _model(excerpt.text, self.scanned.nesting), Rejection):
            if not excused:
                at = excerpt.original(result.offset)
                self.problems.append(result.diagnostic(self.scanned, piece.keyword, at))
            may_correct = result.offset >= corrected and corrections < MAX_CORRECTIONS
            repaired = correction(result, piece.keyword) if may_correct else None
            if repaired is not None:
                start, _, word = repaired
                excerpt, corrected, corrections = excerpt.replaced(*repaired), start + len(word), corrections + 1
            elif result.between_declarations and 0 < result.offset < len(excerpt.text):
                # What was complete before stays; what follows is given up.
                excerpt, excused = replace(excerpt, text=excerpt.text[: result.offset].rstrip()), True
            else:
                return ()
            # Variant of this loop: a correction moves `corrected` on, anything else shortens the text.
            before, remaining = remaining, len(excerpt.text) - corrected
            if remaining >= before or len(self.problems) > MAX_PROBLEMS:
                return ()
        conversion = Conversion(self.scanned, excerpt, in_agent=self.in_agent)
        items = conversion.items(result)
        if not excused:
            self.problems.extend(conversion.problems)
        return items

    def _translated(self, excerpt: Excerpt, keyword: str) -> Excerpt:
        """Return the declaration translated from other notation, if that makes it readable, and report the notation."""
        declared = declared_message(excerpt.text) if keyword == "message" else None
        if declared is not None:
            place = excerpt.original(declared.start), excerpt.original(declared.end)
            self.problems.append(declared.diagnostic(Span(self.scanned.source, *place)))
            excerpt = excerpt.replaced(declared.start, declared.end, declared.text)
        contexts: dict[str, Context] = {"commitment": "commitment", "message": "means"}
        edits = translations(excerpt.text, contexts.get(keyword, "formula"), file=self.scanned.source.text)
        if not edits or _accepted(applied(excerpt.text, edits), self.scanned.nesting) is None:
            return excerpt
        places = [(excerpt.original(edit.start), excerpt.original(edit.end)) for edit in edits]
        self.problems.extend(
            edit.diagnostic(Span(self.scanned.source, *place)) for edit, place in zip(edits, places, strict=True)
        )
        for edit in reversed(edits):
            excerpt = excerpt.replaced(edit.start, edit.end, edit.text)
        return excerpt

    def _marked(self, start: int, end: int) -> bool:
        """Return whether something between two offsets has been reported before parsing."""
        return bisect_left(self.lexical, start) < bisect_left(self.lexical, end)


@cache
def _metamodel() -> Any:
    from textx import metamodel_from_file

    return metamodel_from_file(shipped("grammar") / "cpl.tx")


def _accepted(text: str, nesting: int) -> list[Any] | None:
    """Return the items of a text, as objects of textX or equivalent ones; None if the grammar rejects it."""
    prepared = recogniser("cpl")
    if prepared is None:
        result = _model(text, nesting)
        return None if isinstance(result, Rejection) else result
    with _recursion_limit_for(nesting):
        model = prepared.read(text)
    return None if model is None else list(model.items)


def _model(text: str, nesting: int) -> list[Any] | Rejection:
    """Return the items of a text, or else where and why textX rejects it."""
    if not text or text.isspace():
        return []  # textX makes no object of nothing
    if recogniser("cpl") is not None and (nodes := _accepted(text, nesting)) is not None:
        return nodes
    from textx.exceptions import TextXSyntaxError

    with _recursion_limit_for(nesting):
        try:
            return list(_metamodel().model_from_str(text).items)
        except TextXSyntaxError as error:
            return rejection(text, error.line, error.col, error.expected_rules)


@contextmanager
def _recursion_limit_for(nesting: int) -> Iterator[None]:
    """Raise the recursion limit for textX, which recurses over the text; its Python frames are on the heap."""
    limit = sys.getrecursionlimit()
    if nesting <= MAX_SHALLOW_NESTING:
        yield
        return
    sys.setrecursionlimit(max(limit, 1000 + 60 * nesting))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
