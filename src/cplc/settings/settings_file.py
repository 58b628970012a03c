"""The settings file of a project: the nearest `cplc.toml`, or the table `[tool.cplc]` of `pyproject.toml`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from cplc.diagnostics.core import Diagnostic, Note, did_you_mean
from cplc.diagnostics.rules import BAD_IGNORE, BAD_SETTINGS, RULES
from cplc.diagnostics.toml import toml_document
from cplc.records import dataclass
from cplc.runtime.file_access import NotRegular, TooManyBytes, is_below, marked_root, read_bytes
from cplc.source import Source, Span

if TYPE_CHECKING:
    from cplc.settings.settings_table import Setting, Table
    from cplc.settings.toml_places import TomlPlaces

_MAX_BYTES: Final = 1_000_000
_SEVERITY: Final = {rule.code: rule.severity for rule in RULES}

Toml = dict[str, object]
Channels = Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of paths, and its place in the settings file."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Override:
    """Options of some files and protocols."""

    files: tuple[Pattern, ...] = ()
    """The files to which it applies; empty for all."""
    protocol: str | None = None
    """The protocol to which it applies; None for the last one of a file."""
    parameters: tuple[tuple[str, str, Span], ...] = ()
    """Names and values of parameters, with their places."""
    channels: Channels | None = None
    assuming: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options that the settings give for one protocol of one file."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Span] = field(default_factory=dict)
    """Places of the parameters in the settings file."""
    channels: Channels | None = None
    assuming: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a project, and the problems of its settings file."""

    ignored: frozenset[str] = frozenset()
    """Codes of the suppressed warnings."""
    diagnostics: tuple[Diagnostic, ...] = ()
    path: Path | None = None
    """The settings file; None if there is none."""
    files: tuple[Pattern, ...] = ()
    """Patterns of the files of the project."""
    exclude: tuple[Pattern, ...] = ()
    verify: tuple[tuple[str, str | bool], ...] = ()
    """Defaults of the options of `cplc verify`, as text of the command line."""
    overrides: tuple[Override, ...] = ()

    def overrides_of(self, file: Path) -> tuple[Override, ...]:
        """Return the overrides that apply to some protocol of a file, a later one taking precedence."""
        if not self.overrides or self.path is None:
            return ()
        name = relative_name(file, self.path.parent)
        return tuple(one for one in self.overrides if name is not None and is_one_of(name, one.files, if_none=True))

    def options_of(self, file: Path, protocol: Callable[[], str | None]) -> FileOptions:
        """Return the options of a file; ``protocol`` returns its selected protocol, and is called if it matters."""
        overrides = self.overrides_of(file)
        if any(one.protocol for one in overrides):
            selected = protocol()
            overrides = tuple(one for one in overrides if one.protocol in (None, selected))
        parameters = {name: (value, span) for one in overrides for name, value, span in one.parameters}
        return FileOptions(
            {name: value for name, (value, _) in parameters.items()},
            {name: span for name, (_, span) in parameters.items()},
            next((one.channels for one in reversed(overrides) if one.channels), None),
            next((one.assuming for one in reversed(overrides) if one.assuming is not None), None),
        )


def is_one_of(name: str, patterns: Iterable[Pattern], *, if_none: bool = False) -> bool:
    """Return whether a relative path matches one of the patterns; ``if_none`` if there are no patterns."""
    from cplc.settings.globs import matches

    patterns = tuple(patterns)
    return any(matches(one.text, name) for one in patterns) if patterns else if_none


def relative_name(file: Path, folder: Path) -> str | None:
    """Return the path of a file relative to a folder, with `/` between its parts; None if it is elsewhere."""
    try:
        place = Path(os.path.realpath(file.parent), file.name)
        return place.relative_to(os.path.realpath(folder)).as_posix()
    except (OSError, ValueError):
        return None


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


_TABLE: Final = rb"""\btool["']?\s*(?:\.\s*["']?cplc\b|[]=])"""
"""The table `tool.cplc`, or the table `tool` by itself: without either, a document need not be parsed."""


def _read(path: Path) -> Settings | None:
    """Return the settings of a file; None if it does not exist or has no settings of this program."""
    try:
        place = path.resolve()
        if not is_below(place, marked_root(path.parent) or path.parent):
            return _rejected(path, "The settings lead out of the project")
        data = read_bytes(place, _MAX_BYTES, follow=False)
    except TooManyBytes:
        if path.name == "pyproject.toml":
            return None
        return _rejected(path, f"The settings have more than {_MAX_BYTES:,} bytes")
    except NotRegular:
        return _rejected(path, "The settings are not in a regular file")
    except (OSError, ValueError, RuntimeError):
        return None
    if path.name == "pyproject.toml" and not re.search(_TABLE, data):
        return None
    try:
        source = Source(_display_path(path), data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        return _rejected(path, f"The settings are not UTF-8 text (byte {problem.start})")
    document = toml_document(source, BAD_SETTINGS)
    if isinstance(document, Diagnostic):
        return Settings(diagnostics=(document,), path=path)
    keys: tuple[str, ...] = ()
    if path.name == "pyproject.toml":
        tools = document.get("tool", {})
        if not isinstance(tools, dict) or "cplc" not in tools:
            return None
        document, keys = tools["cplc"], ("tool", "cplc")
    return _Reader(path, source, keys).settings(document)


def _rejected(path: Path, message: str) -> Settings:
    """Return the rejection of a file, without quoting it."""
    problem = BAD_SETTINGS.at(Span(Source(_display_path(path), ""), 0, 0), message)
    return Settings(diagnostics=(problem,), path=path)


def _display_path(path: Path) -> str:
    """Return the path relative to the working directory, if it is below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)


Keys = tuple[str | int, ...]


class _Reader:
    """Reads the tables of a settings file, and reports what is wrong with its place."""

    def __init__(self, path: Path, source: Source, root: Keys) -> None:
        from cplc.settings.toml_places import TomlPlaces

        self._path = path
        self._source = source
        self._root = root
        self._places: TomlPlaces = TomlPlaces(source.text)
        self._problems: list[Diagnostic] = []

    def settings(self, document: object) -> Settings:
        from cplc.settings.settings_table import OVERRIDES, PROJECT, ROOT, TABLES, VERIFY

        if not isinstance(document, dict):
            return Settings(diagnostics=(BAD_SETTINGS.at(self._key(()), "`tool.cplc` is a table"),), path=self._path)
        self._check_names((), document, [*(one.name for one in ROOT), *TABLES])
        codes = self._texts(("ignore",), document.get("ignore", []), ROOT[0]) or ()
        project = self._values(("project",), self._table(("project",), document), PROJECT)
        verify = self._values(("verify",), self._table(("verify",), document), VERIFY)
        overrides = []
        tables = document.get("overrides", [])
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            self._report(self._key(("overrides",)), "`overrides` is an array of tables: write `[[overrides]]`")
            tables = []
        for number, table in enumerate(tables):
            overrides.append(Override(**self._values(("overrides", number), table, OVERRIDES)))
        wrong = dict(self._wrong_codes(codes))
        return Settings(
            frozenset(text for _, text in codes) - frozenset(wrong),
            (*self._problems, *wrong.values()),
            self._path,
            project.get("files", ()),
            project.get("exclude", ()),
            tuple(verify.items()),
            tuple(overrides),
        )

    def _table(self, keys: Keys, document: Toml) -> Toml:
        table = document.get(str(keys[-1]), {})
        if isinstance(table, dict):
            return table
        self._report(self._key(keys), f"`{keys[-1]}` is a table: write `[{keys[-1]}]`")
        return {}

    def _values(self, keys: Keys, table: Toml, settings: Table) -> dict[str, Any]:
        """Return the valid values of a table."""
        self._check_names(keys, table, [one.name for one in settings])
        values = {}
        for one in settings:
            if one.name in table:
                value = self._value((*keys, one.name), table[one.name], one)
                if value is not None:
                    values[one.name] = value
        return values

    def _value(self, keys: Keys, value: object, setting: Setting) -> object:
        """Return the value of a setting, None if it is wrong."""
        from cplc.settings import settings_table

        match setting.kind, value:
            case (("duration" | "size"), (int() | float())) if not isinstance(value, bool) and value > 0:
                return f"{value:f}" if isinstance(value, float) else str(value)
            case "duration", str() if _is_positive(settings_table.DURATION, value):
                return value
            case "size", str() if _is_positive(settings_table.SIZE, value):
                return value
            case "flag", bool():
                return value
            case "choice", str() if value in setting.choices:
                return value
            case "choice", str():
                hints = did_you_mean(value, setting.choices) or (_listing(setting.choices),)
                self._report(self._place(keys), f"`{setting.name}` cannot be `{value}`", *hints)
            case "text", str() if value:
                return value
            case "globs", list():
                return self._patterns(keys, value, setting)
            case "names", list():
                texts = self._texts(keys, value, setting)
                return None if texts is None else tuple(text for _, text in texts)
            case "parameters", dict():
                return tuple(self._parameters(keys, value))
            case _:
                self._report_type(keys, setting)
        return None

    def _patterns(self, keys: Keys, values: list[object], setting: Setting) -> tuple[Pattern, ...] | None:
        from cplc.settings.globs import problem_of

        texts = self._texts(keys, values, setting)
        if texts is None:
            return None
        patterns = []
        for span, text in texts:
            problem = problem_of(text)
            if problem is not None:
                self._report(span, f"`{text}` {problem}")
            else:
                patterns.append(Pattern(text, span))
        return tuple(patterns)

    def _parameters(self, keys: Keys, values: Toml) -> Iterator[tuple[str, str, Span]]:
        for name, value in values.items():
            span = Span(self._source, self._key((*keys, name)).start, self._place((*keys, name)).end)
            match value:
                case bool():
                    yield name, str(value).lower(), span
                case int():
                    yield name, str(value), span
                case str() if value:
                    yield name, value, span
                case _:
                    self._report(span, f"The value of the parameter `{name}` is a whole number, a name, true or false")

    def _texts(self, keys: Keys, values: object, setting: Setting) -> list[tuple[Span, str]] | None:
        """Return the texts of a list with their places; None if it is not a list of texts."""
        if not isinstance(values, list) or not all(isinstance(one, str) and one for one in values):
            self._report_type(keys, setting)
            return None
        return [(self._place((*keys, number)), text) for number, text in enumerate(values)]

    def _report_type(self, keys: Keys, setting: Setting) -> None:
        what = _TYPES[setting.kind]
        message = f"`{setting.name}` is {what}, for example `{setting.name} = {setting.example}`"
        self._report(self._key(keys), message)

    def _check_names(self, keys: Keys, table: Toml, names: list[str]) -> None:
        for name in table:
            if name not in names:
                hints = did_you_mean(name, names) or (_listing(names),)
                what = f" in `{keys[0]}`" if keys else ""
                self._report(self._key((*keys, name)), f"There is no setting `{name}`{what}", *hints)

    def _wrong_codes(self, codes: Iterable[tuple[Span, str]]) -> Iterator[tuple[str, Diagnostic]]:
        for span, code in codes:
            problem = ignore_problem(code, span)
            if problem is not None:
                yield code, problem

    def _report(self, span: Span, message: str, *notes: Note) -> None:
        self._problems.append(BAD_SETTINGS.at(span, message, *notes))

    def _key(self, keys: Keys) -> Span:
        return Span(self._source, *self._places.key((*self._root, *keys)))

    def _place(self, keys: Keys) -> Span:
        return Span(self._source, *self._places.value((*self._root, *keys)))


_TYPES: Final = {
    "rules": "a list of rules",
    "globs": "a list of patterns of paths",
    "duration": "a time",
    "size": "a size",
    "flag": "true or false",
    "choice": "a text",
    "text": "a text",
    "parameters": "a table of parameters",
    "names": "a list of names",
}


def _is_positive(pattern: str, text: str) -> bool:
    written = re.fullmatch(pattern, text)
    return written is not None and float(written[1]) > 0


def _listing(names: Iterable[str]) -> Note:
    return Note("it is one of " + ", ".join(f"`{name}`" for name in names))
