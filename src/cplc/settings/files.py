"""Settings of a project: the nearest `cplc.toml`, or table `[tool.cplc]` of `pyproject.toml`, upwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cplc.diagnostics.core import Diagnostic, Note, did_you_mean
from cplc.diagnostics.rules import BAD_IGNORE, BAD_SETTINGS, RULES
from cplc.records import dataclass
from cplc.runtime.file_access import NotRegular, TooManyBytes, is_below, marked_root, read_bytes
from cplc.source import Source, Span

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
