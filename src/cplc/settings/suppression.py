"""Suppression of warnings: by the nearest `cplc.toml`, or `[tool.cplc]` of `pyproject.toml`, and by comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from cplc.diagnostics.core import Diagnostic, Edit, Fix, Note, did_you_mean
from cplc.diagnostics.rules import BAD_IGNORE, BAD_SETTINGS, RULES, UNNEEDED_IGNORE
from cplc.records import dataclass
from cplc.runtime.file_access import NotRegular, TooManyBytes, is_below, marked_root, read_bytes
from cplc.source import Source, Span
from cplc.syntax.scanner import scan

_MAX_BYTES: Final = 1_000_000
_KEYS: Final = ("ignore",)
_AT_LINE: Final = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_TABLE: Final = re.compile(r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*cplc[ \t]*\]", re.MULTILINE)
_SEVERITY: Final = {rule.code: rule.severity for rule in RULES}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a project, and the problems of its settings file."""

    ignored: frozenset[str] = frozenset()
    """Codes of the suppressed warnings."""
    diagnostics: tuple[Diagnostic, ...] = ()


def settings_for(folder: Path) -> Settings:
    """Return the settings of the nearest settings file, in this folder or above."""
    read = (_read(place) for place in settings_paths(folder))
    return next((settings for settings in read if settings is not None), Settings())


def settings_paths(folder: Path) -> Iterator[Path]:
    """Yield the candidate settings files for this folder, the nearest first, up to the root of the project."""
    try:
        here = folder.resolve()
        root = marked_root(here)
    except (OSError, ValueError, RuntimeError):
        return
    for place in (here, *here.parents):
        yield place / "cplc.toml"
        yield place / "pyproject.toml"
        if place == root:
            return


def ignore_problem(code: str, span: Span) -> Diagnostic | None:
    """Return the problem of suppressing this rule, if there is one."""
    if code not in _SEVERITY:
        notes = did_you_mean(code, _SEVERITY) or (Note("`cplc explain` lists the rules"),)
        return BAD_IGNORE.at(span, f"There is no rule `{code}`", *notes)
    if _SEVERITY[code] == "error":
        return BAD_IGNORE.at(span, f"`{code}` is a mistake, and only warnings can be switched off")
    return None


def _read(path: Path) -> Settings | None:
    """Return the settings of a file; None if it does not exist or has no settings of this program."""
    try:
        place = path.resolve()
        if not is_below(place, marked_root(path.parent) or path.parent):
            return Settings(diagnostics=(_rejected(path, "The settings lead out of the project"),))
        data = read_bytes(place, _MAX_BYTES, follow=False)
    except TooManyBytes:
        if path.name == "pyproject.toml":
            return None
        return Settings(diagnostics=(_rejected(path, f"The settings have more than {_MAX_BYTES:,} bytes"),))
    except NotRegular:
        return Settings(diagnostics=(_rejected(path, "The settings are not in a regular file"),))
    except (OSError, ValueError, RuntimeError):
        return None
    if path.name == "pyproject.toml" and b"cplc" not in data:
        return None
    import tomllib  # most files have no settings in their project

    name = _display_path(path)
    try:
        source = Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        return Settings(diagnostics=(_rejected(path, f"The settings are not UTF-8 text (byte {problem.start})"),))
    try:
        document: object = tomllib.loads(source.text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        return Settings(diagnostics=(_unreadable(source, str(problem)),))
    except ValueError:  # Python limits how many digits it converts
        return Settings(diagnostics=(_unreadable(source, "a number has too many digits"),))
    if path.name == "pyproject.toml":
        tools = document.get("tool", {}) if isinstance(document, dict) else {}
        if not isinstance(tools, dict) or "cplc" not in tools:
            return None
        document = tools["cplc"]
    return _settings(document, source)


def _rejected(path: Path, message: str) -> Diagnostic:
    """Return the rejection of a file, without quoting it."""
    return BAD_SETTINGS.at(Span(Source(_display_path(path), ""), 0, 0), message)


def _display_path(path: Path) -> str:
    """Return the path relative to the working directory, if it is below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)


def _unreadable(source: Source, problem: str) -> Diagnostic:
    at = _AT_LINE.search(problem)
    offset = len(source.text.rstrip())
    if at and at[1]:
        lines = source.text.split("\n")
        offset = min(offset, sum(len(line) + 1 for line in lines[: int(at[1]) - 1]) + int(at[2]) - 1)
    reasons = _AT_LINE.sub("", problem).splitlines() or ["it is nested too deep"]
    return BAD_SETTINGS.at(Span(source, offset, offset + 1), f"This is not TOML: {reasons[0]}")


def _settings(document: object, source: Source) -> Settings:
    """Return the settings of a table, with the problems of its entries."""
    if not isinstance(document, dict):
        return Settings(diagnostics=(BAD_SETTINGS.at(_place(source, "cplc"), "`tool.cplc` is a table"),))
    problems = [
        BAD_SETTINGS.at(_place(source, key), f"There is no setting `{key}`", *_known(key))
        for key in document
        if key not in _KEYS
    ]
    codes = document.get("ignore", [])
    if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
        message = '`ignore` is a list of rules, for example `ignore = ["unused"]`'
        problems.append(BAD_SETTINGS.at(_place(source, "ignore"), message))
        codes = []
    wrong = dict(_wrong(codes, source))
    return Settings(frozenset(codes) - frozenset(wrong), (*problems, *wrong.values()))


def _known(key: str) -> tuple[Note, ...]:
    return did_you_mean(key, _KEYS) or (Note("settings are " + ", ".join(f"`{name}`" for name in _KEYS)),)


def _wrong(codes: list[str], source: Source) -> Iterator[tuple[str, Diagnostic]]:
    for code in codes:
        problem = ignore_problem(code, _place(source, code))
        if problem is not None:
            yield code, problem


def _place(source: Source, word: str) -> Span:
    """Return the place of a word in the settings, outside comments; the beginning if it is not found."""
    table = _TABLE.search(source.text)
    match = re.compile(rf"^[^#\n]*?(?<![\w-])({re.escape(word)})(?![\w-])", re.MULTILINE).search(
        source.text, table.end() if table else 0
    )
    return Span(source, match.start(1), match.end(1)) if match else Span(source, 0, 0)


# --- Comments that suppress warnings: `// cplc: ignore unused` for a line, `// cplc: ignore-file unused` for a file


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
    diagnostics: Iterable[Diagnostic], source: Source, settings: Settings, *, is_whole: bool
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a text and its imports without the suppressed ones.

    Problems of the suppressing comments are added. An unneeded one is reported only if all checks were run
    (``is_whole``).
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
            if one not in used and ignore_problem(one.code, one.span) is None and one.code not in settings.ignored
        ]
    return (*settings.diagnostics, *remaining, *(one for one in mine if one.code not in settings.ignored))


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
