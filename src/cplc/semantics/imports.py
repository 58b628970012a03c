"""Import resolution below the root of the project; each file is read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note, Rule, did_you_mean
from cplc.records import dataclass
from cplc.runtime.file_access import (
    MAX_BYTES,
    MAX_SIZE,
    NotRegular,
    TooManyBytes,
    is_below,
    project_root,
    read_bytes,
    shipped,
)
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.source import Source
from cplc.syntax import ast

Parse = Callable[[Source], tuple[ast.File, tuple[Diagnostic, ...]]]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file that was read, with its syntax diagnostics."""

    source: Source
    file: ast.File
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """The reason why a file could not be read."""

    reason: str
    notes: tuple[Note, ...] = ()
    rule: Rule = rules.UNREADABLE_FILE


class Load(Protocol):
    """A function that reads an import. Two imports of one file give sources of one name."""

    def __call__(self, importing: Source, target: str, is_path: bool) -> Loaded | NotLoaded: ...


@dataclass(frozen=True, slots=True)
class Unit:
    """One file and the positions of its imports in the program; None for an unreadable one."""

    source: Source
    file: ast.File
    imports: tuple[tuple[ast.Import, int | None], ...]


Program = tuple[Unit, ...]
"""All files, the main one first."""


_SUFFIX: Final = ".cpl"
_ROOT_NOTE: Final = Note(
    "imports stay below the nearest folder upwards with `cplc.toml` or `.git`, or else below the folder of the file"
)


def loader(
    path: Path | None,
    parse: Parse,
    buffers: Mapping[str, str] = MappingProxyType({}),
    *,
    only_buffers: bool = False,
) -> Load:
    """Return how a file at this path (or a text without a path, in the working directory) imports others from disk.

    ``buffers`` are texts, by their absolute paths, that replace what is on disk. With ``only_buffers`` nothing but the
    standard library is read from disk. Elsewhere, only files below the root of the project are read.
    """
    folder_here = path.parent if path else Path()
    imported: set[str] = set()
    root: Path | None = None

    def load(importing: Source, target: str, is_path: bool) -> Loaded | NotLoaded:
        nonlocal root
        if not is_path:
            place = _in_library(target)
            if isinstance(place, NotLoaded):
                return place
            imported.add(str(place))
            return buffered(str(place)) or _read(str(place), target, parse)
        if not target.strip():
            return NotLoaded("the import names no file", (Note('write `import "./file.cpl"`'),))
        folder = Path(importing.name).parent if importing.name in imported else folder_here
        name = os.path.normpath(folder / target)
        if only_buffers:
            imported.add(name)
            return buffered(name) or NotLoaded(f"`{target}` was not read when the work was planned")
        root = root or project_root(folder_here)
        place = _below(name, target, root)
        if isinstance(place, NotLoaded):
            return place
        imported.add(name)
        return buffered(name) or _read(name, target, parse, place)

    def buffered(name: str) -> Loaded | None:
        text = buffers.get(os.path.abspath(name)) if buffers else None
        if text is None:
            return None
        source = Source(name, text)
        return Loaded(source, *parse(source))

    return load


def _below(name: str, target: str, root: Path) -> Path | NotLoaded:
    """Return the file that a path leads to, links resolved, unless it is outside of the project.

    The answer for an outside path does not depend on what is there.
    """
    try:
        place = Path(os.path.realpath(name))
    except (OSError, ValueError) as error:
        return NotLoaded(f"`{target}` cannot be read: {getattr(error, 'strerror', None) or error}")
    if is_below(place, root) or is_below(place, Path(os.path.realpath(shipped("stdlib")))):
        return place
    return NotLoaded(f"`{target}` leads out of the project", (_ROOT_NOTE,), rules.OUTSIDE_PROJECT)


def _in_library(target: str) -> Path | NotLoaded:
    """Return the file of a name of the standard library."""
    first, *rest = target.split(".")
    if first != "std" or not rest:
        return NotLoaded(
            f"`{target}` is neither a path in quotes nor a name of the standard library",
            (Note('write `import "./file.cpl"` for a file and `import std.name` for the standard library'),),
        )
    folder = shipped("stdlib")
    path = folder.joinpath(*rest).with_suffix(".cpl")
    if os.path.isfile(path):  # false where the name is too long for one
        return path
    names = [".".join(("std", *p.relative_to(folder).with_suffix("").parts)) for p in sorted(folder.rglob("*.cpl"))]
    return NotLoaded(f"the standard library has no `{target}`", did_you_mean(target, names))


def _read(name: str, target: str, parse: Parse, place: Path | None = None) -> Loaded | NotLoaded:
    """Read a file; ``place`` is its path with links resolved, and no further link is followed."""
    path = Path(name) if place is None else place
    try:
        if path.suffix.lower() != _SUFFIX and path.is_file():
            return NotLoaded(f"`{target}` is not a `{_SUFFIX}` file")
        text = read_bytes(path, MAX_BYTES, follow=place is None).decode("utf-8")
    except FileNotFoundError:
        return NotLoaded(f"there is no file `{target}`", (Note(f"looked for `{name}`"),))
    except IsADirectoryError:
        return NotLoaded(f"`{target}` is a directory")
    except NotRegular:
        return NotLoaded(f"`{target}` is not a regular file")
    except TooManyBytes:
        reason = f"`{target}` has more than the {MAX_SIZE:,} characters that can be read"
        return NotLoaded(reason, rule=rules.FILE_TOO_LARGE)
    except UnicodeDecodeError as error:
        return NotLoaded(f"`{target}` is not UTF-8 text: byte {error.start} cannot be read")
    except (OSError, ValueError) as error:
        return NotLoaded(f"`{target}` cannot be read: {getattr(error, 'strerror', None) or error}")
    source = Source(name, text)
    return Loaded(source, *parse(source))


def load_program(source: Source, file: ast.File, load: Load, problems: DiagnosticSink) -> Program:
    """Return the file with its direct and indirect imports."""
    files = [(source, file)]
    positions = {os.path.normpath(source.name): 0}
    units: list[Unit] = []
    while len(units) < len(files):
        importing, tree = files[len(units)]
        imports: list[tuple[ast.Import, int | None]] = []
        for import_ in tree.imports:
            outcome = load(importing, import_.target, import_.is_path)
            if isinstance(outcome, NotLoaded):
                problems.report(outcome.rule, import_.span, _sentence(outcome.reason), *outcome.notes)
                imports.append((import_, None))
                problems.is_incomplete, problems.unread = True, None
                continue
            key = os.path.normpath(outcome.source.name)
            if key not in positions:
                positions[key] = len(files)
                files.append((outcome.source, outcome.file))
                problems.extend(outcome.diagnostics)
                if any(diagnostic.is_error for diagnostic in outcome.diagnostics):
                    problems.is_incomplete, problems.unread = True, None
            imports.append((import_, positions[key]))
        units.append(Unit(importing, tree, tuple(imports)))
    _report_cycles(units, problems)
    return tuple(units)


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:] if not reason.startswith("`") else reason


def _report_cycles(units: list[Unit], problems: DiagnosticSink) -> None:
    """Report each import that closes a cycle."""
    done: set[int] = set()
    for start in range(len(units)):
        path: list[int] = []
        stack: list[tuple[int, bool]] = [(start, True)]
        while stack:
            position, entering = stack.pop()
            if not entering:
                path.pop()
                done.add(position)
                continue
            if position in done:
                continue
            path.append(position)
            stack.append((position, False))
            for import_, target in units[position].imports:
                if target in path:
                    cycle = [*path[path.index(target) :], target]
                    shown = " -> ".join(Path(units[p].source.name).name for p in cycle)
                    problems.report(rules.IMPORT_CYCLE, import_.span, f"Cyclic import: {shown}")
                elif target is not None and target not in done:
                    stack.append((target, True))
