"""Suppression of warnings: by the settings of the project, and by comments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final

from cplc.diagnostics.core import Diagnostic, Edit, Fix, Note
from cplc.diagnostics.rules import BAD_IGNORE, UNNEEDED_IGNORE
from cplc.records import dataclass
from cplc.settings.settings_file import Settings, ignore_problem
from cplc.source import Source, Span
from cplc.syntax.scanner import scan

# Comments that suppress warnings: `// cplc: ignore unused` for a line, `// cplc: ignore-file unused` for a file.

_DIRECTIVE: Final = re.compile(r"(?://+|/\*+|--)\s*cplc:\s*(?P<word>[\w-]*)(?P<codes>(?:[\s,]+(?!--)[\w-]+)*)")
_CODE: Final = re.compile(r"[\w-]+")
_ISPL_COMMENT: Final = re.compile(r"--[^\n]*")
_FORM: Final = Note("write `cplc: ignore <rule>` for this line or the next, `cplc: ignore-file <rule>` for the file")


@dataclass(frozen=True, slots=True)
class _Ignore:
    """Suppression of one rule on a line; None for the whole file."""

    code: str
    span: Span
    line: int | None


def apply_ignores(
    diagnostics: Iterable[Diagnostic],
    source: Source,
    settings: Settings,
    *,
    is_whole: bool,
    undecided: Collection[str] = (),
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a text and its imports without the suppressed ones.

    Problems of the suppressing comments are added. An unneeded one is reported only if all checks were run
    (``is_whole``), except for ``undecided`` rules, of which verification may give warnings too.
    """
    reported = list(diagnostics)
    remaining: list[Diagnostic] = []
    used: set[_Ignore] = set()
    for diagnostic in reported:
        if diagnostic.is_error:
            remaining.append(diagnostic)
            continue
        switches = [one for one in _ignores(diagnostic.span.source) if _applies_to(one, diagnostic)]
        used.update(switches)
        if not switches and diagnostic.code not in settings.ignored:
            remaining.append(diagnostic)
    mine = list(_problems(source))
    if is_whole and not any(diagnostic.is_error for diagnostic in reported):
        mine += [
            UNNEEDED_IGNORE.at(
                one.span, f"There is no warning `{one.code}` here to be switched off", fixes=_removals(one)
            )
            for one in _ignores(source)
            if one not in used
            and one.code not in {*settings.ignored, *undecided}
            and ignore_problem(one.code, one.span) is None
        ]
    return (*settings.diagnostics, *remaining, *(one for one in mine if one.code not in settings.ignored))


def not_suppressed(diagnostics: Iterable[Diagnostic], settings: Settings) -> tuple[Diagnostic, ...]:
    """Return the warnings that neither a comment nor the settings suppress."""
    return tuple(
        one
        for one in diagnostics
        if one.code not in settings.ignored
        and not any(_applies_to(ignore, one) for ignore in _ignores(one.span.source))
    )


def _applies_to(ignore: _Ignore, diagnostic: Diagnostic) -> bool:
    if ignore.code != diagnostic.code:
        return False
    return ignore.line is None or ignore.line == diagnostic.span.position[0]


@lru_cache(maxsize=64)
def _directives(source: Source) -> tuple[tuple[re.Match[str], int | None], ...]:
    """Return the directives in comments, each with the line to which it applies."""
    if "cplc:" not in source.text:
        return ()
    if source.is_ispl:
        comments: Iterable[tuple[int, int]] = [match.span() for match in _ISPL_COMMENT.finditer(source.text)]
        code = _ISPL_COMMENT.sub(lambda match: " " * len(match.group()), source.text)
    else:
        scanned = scan(source)
        comments, code = scanned.comments, scanned.text
    directives: list[tuple[re.Match[str], int | None]] = []
    for start, end in comments:
        directive = _DIRECTIVE.match(source.text, start, end)
        if directive is not None:
            directives.append(
                (directive, None if directive["word"] == "ignore-file" else _line_meant(source, code, start, end))
            )
    return tuple(directives)


def _line_meant(source: Source, code: str, start: int, end: int) -> int:
    """Return the line that a comment ends, or else the next line with code."""
    line = source.position(start)[0]
    if code[code.rfind("\n", 0, start) + 1 : start].strip():
        return line
    following = re.compile(r"\S").search(code, end)
    return source.position(following.start())[0] if following else line


def _ignores(source: Source) -> Iterator[_Ignore]:
    for directive, line in _directives(source):
        if directive["word"] in ("ignore", "ignore-file"):
            for word in _CODE.finditer(source.text, *directive.span("codes")):
                yield _Ignore(word.group(), Span(source, *word.span()), line)


def _problems(source: Source) -> Iterator[Diagnostic]:
    """Yield the problems of directives."""
    for directive, _ in _directives(source):
        span = Span(source, *directive.span("word"))
        if directive["word"] not in ("ignore", "ignore-file"):
            yield BAD_IGNORE.at(span, f"`cplc: {directive['word']}` means nothing", _FORM)
        elif not directive["codes"]:
            yield BAD_IGNORE.at(span, "This comment does not say which rules it switches off", _FORM)
    for one in _ignores(source):
        problem = ignore_problem(one.code, one.span)
        if problem is not None:
            yield problem


def _removals(ignore: _Ignore) -> Iterator[Fix]:
    """Yield the fix that removes a rule from its directive; a directive without rules is deleted."""
    source = ignore.span.source
    for directive, _ in _directives(source):
        words = list(_CODE.finditer(source.text, *directive.span("codes")))
        needed = [word.group() for word in words if word.start() != ignore.span.start]
        if words and not needed:
            edit = Edit(Span(source, *_whole(source.text, directive.start())), "")
        elif len(needed) < len(words):
            edit = Edit(Span(source, *directive.span("codes")), " " + ", ".join(needed))
        else:
            continue
        yield Fix(f"Remove `{ignore.code}`", (edit,), "certain")


def _whole(text: str, start: int) -> tuple[int, int]:
    """Return the range of a comment, with the blanks before it, and with its line if nothing else is on it."""
    closing = text.find("*/", start) + 2 if text.startswith("/*", start) else text.find("\n", start)
    end = closing if closing > 1 else len(text)
    before = text[:start].rstrip(" \t")
    rest = re.compile(r"[ \t\r]*(\n|\Z)").match(text, end)
    if before.endswith("\n") or not before:
        return len(before), rest.end() if rest else end
    return len(before), end
