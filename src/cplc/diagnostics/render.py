"""Rendering of diagnostics: as text, with the line of each place and a caret mark, and as data.

Nothing of the text under examination reaches the terminal uninterpreted: control characters are shown as symbols,
tabs as blanks, and a line that is too long is cut around the place that matters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass
from cplc.source import Span

Part = Literal["error", "warning", "remark", "note", "place", "frame", "message"]
Style = Callable[[str, Part], str]

TAB_WIDTH = 4
MAX_COLUMNS_BEFORE, MAX_COLUMNS_MARKED, MAX_COLUMNS_AFTER = 60, 80, 40
"""Columns of a line that are shown before, in and after the marked place."""
_MIN_LINE_COLUMNS = 20
"""Columns of a source line that are shown on the narrowest page."""


def plain(text: str, part: Part) -> str:
    """Return the text as it is: no colours."""
    return text


def _one_line(text: str, hanging: str) -> Sequence[str]:
    return (text,)


@dataclass(frozen=True)
class Page:
    """The width of the output, and how paragraphs are broken; without a width, each message is one line."""

    width: int | None = None
    lines: Callable[[str, str], Sequence[str]] = _one_line
    """Breaks a paragraph into lines; the second argument is their hanging indentation."""


_ENDLESS = Page()


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics sorted by file and place, without duplicates."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda unique: (unique.span.source.name, unique.span.start, unique.span.end, unique.code))


def rendered(diagnostics: Iterable[Diagnostic], style: Style = plain, *, limit: int = 50, page: Page = _ENDLESS) -> str:
    """Return all diagnostics with their frames, errors first, and a line that counts them; ``limit`` in full."""
    ordered = sorted(in_order(diagnostics), key=lambda one: not one.is_error)
    if not ordered:
        return ""
    blocks = ["\n".join(_diagnostic(diagnostic, style, page)) for diagnostic in ordered[:limit]]
    if len(ordered) > limit:
        blocks.append(f"… and {len(ordered) - limit} more")
    blocks.append(summary(ordered))
    return "\n\n".join(blocks) + "\n"


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return ``2 errors, 1 warning``."""
    kinds = [diagnostic.severity for diagnostic in diagnostics]
    counts = [(kinds.count(kind), kind) for kind in ("error", "warning", "remark")]
    return ", ".join(f"{count} {kind}{'s' * (count > 1)}" for count, kind in counts if count) or "no problems"


def _width(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.category(char) in {"Mn", "Me", "Cf"} else 1


def _diagnostic(diagnostic: Diagnostic, style: Style, page: Page) -> Iterator[str]:
    label = f"{diagnostic.severity}[{diagnostic.code}]"
    first, *further = page.lines(f"{label}: {printable(diagnostic.message)}", "  ")
    yield style(label, diagnostic.severity) + style(first.removeprefix(label), "message")
    yield from (style(line, "message") for line in further)
    gutter = _gutter(diagnostic.span)
    yield from _frame(diagnostic.span, gutter, diagnostic.severity, style, page)
    bar = style("=", "frame")
    for note in diagnostic.notes:
        if note.span is None:
            beginning = f"{' ' * gutter} = {note.label}: "
            first, *further = page.lines(f"{beginning}{printable(note.message)}", " " * len(beginning))
            yield f"{' ' * gutter} {bar} {style(note.label, 'note')}: {first.removeprefix(beginning)}"
            yield from further
    for note in diagnostic.notes:
        if note.span is not None:
            first, *further = page.lines(f"{note.label}: {printable(note.message)}", "  ")
            yield style(note.label, "note") + first.removeprefix(note.label)
            yield from further
            yield from _frame(note.span, gutter, "note", style, page)


def _gutter(span: Span) -> int:
    return len(str(span.position[0]))


def _frame(span: Span, gutter: int, part: Part, style: Style, page: Page) -> Iterator[str]:
    """Yield the place and, if there is text, its line and the caret line."""
    gutter = max(gutter, _gutter(span))
    arrow = style(f"{' ' * gutter}-->", "frame")
    if not span.source.text:
        yield f"{arrow} {style(printable(span.source.name), 'place')}"
        return
    line, column = span.position
    yield f"{arrow} {style(f'{printable(span.source.name)}:{line}:{column}', 'place')}"
    room = None if page.width is None else max(page.width - gutter - 3, _MIN_LINE_COLUMNS)
    shown, caret = _fitted_line(span, room)
    bar = style("|", "frame")
    yield f"{' ' * gutter} {bar}"
    yield f"{style(str(line).rjust(gutter), 'frame')} {bar} {shown}".rstrip()
    yield f"{' ' * gutter} {bar} {caret[0]}{style(caret[1], part)}"


def _fitted_line(span: Span, room: int | None) -> tuple[str, tuple[str, str]]:
    """Return the line and the caret line, in that many columns at most."""
    characters = MAX_COLUMNS_BEFORE + MAX_COLUMNS_MARKED + MAX_COLUMNS_AFTER
    while True:
        shown, caret = _marked_line(span, characters)
        excess = 0 if room is None else _columns(shown) - room
        if excess <= 0 or characters <= 1:
            return shown, caret
        characters = max(1, min(characters, len(shown)) - excess)


def _marked_line(span: Span, characters: int) -> tuple[str, tuple[str, str]]:
    """Return so many characters of the line as shown, and the caret line as its indentation and its mark."""
    number, column = span.position
    line = span.source.line(number)
    first = min(column - 1, len(line))
    last = max(first, min(first + span.end - span.start, len(line)))
    whole = MAX_COLUMNS_BEFORE + MAX_COLUMNS_MARKED + MAX_COLUMNS_AFTER
    before, marked, after = (
        columns * characters // whole for columns in (MAX_COLUMNS_BEFORE, MAX_COLUMNS_MARKED, MAX_COLUMNS_AFTER)
    )
    cut_from = max(0, min(first - before, len(line) - characters))
    cut_to = min(len(line), max(min(last, first + marked) + after, cut_from + characters))
    last = min(last, cut_to)
    head = "…" if cut_from else ""
    tail = "…" if cut_to < len(line) else ""
    left_part = head + _expanded(line[cut_from:first], len(head))
    marked_part = _expanded(line[first:last], _columns(left_part))
    right_part = _expanded(line[last:cut_to], _columns(left_part) + _columns(marked_part))
    indent = " " * _columns(left_part)
    return f"{left_part}{marked_part}{right_part}{tail}", (indent, "^" * max(1, _columns(marked_part)))


def _expanded(text: str, column: int) -> str:
    """Return the text with tabs expanded, beginning in that column, and nothing in it that steers a terminal."""
    out: list[str] = []
    for char in text:
        if char == "\t":
            piece = " " * (TAB_WIDTH - column % TAB_WIDTH)
        else:
            piece = printable(char)
        out.append(piece)
        column += _columns(piece)
    return "".join(out)


def _columns(text: str) -> int:
    return sum(map(_width, text))


# --- data, for documents in JSON


def diagnostics_data(diagnostics: Iterable[Diagnostic]) -> list[dict[str, object]]:
    """Return diagnostics in the order of their places, each with its fixes."""
    return [
        {
            "code": diagnostic.code,
            "severity": diagnostic.severity,
            "message": diagnostic.message,
            "place": place_data(diagnostic.span),
            "notes": [{"message": note.message, "place": place_data(note.span)} for note in diagnostic.notes],
            "fixes": [
                {
                    "title": fix.title,
                    "certainty": fix.certainty,
                    "edits": [{"place": place_data(edit.span), "text": edit.text} for edit in fix.edits],
                }
                for fix in diagnostic.fixes
            ],
        }
        for diagnostic in in_order(diagnostics)
    ]


def place_data(span: Span | None) -> dict[str, object] | None:
    """Return where a span is: lines and columns from one, the end exclusive."""
    if span is None:
        return None
    line, column = span.position
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }
