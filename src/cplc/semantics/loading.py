"""Imports: which files a file needs, read once each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note, did_you_mean
from cplc.records import dataclass
from cplc.resources import shipped
from cplc.semantics.problems import Problems
from cplc.source import Source
from cplc.syntax import ast

Parse = Callable[[Source], tuple[ast.File, tuple[Diagnostic, ...]]]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file that was read; ``diagnostics`` are those of its syntax."""

    source: Source
    file: ast.File
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """Why a file could not be read, as a sentence."""

    reason: str
    notes: tuple[Note, ...] = ()


class Load(Protocol):
    """How imports are read. Two imports of one file give sources of one name."""

    def __call__(self, importing: Source, target: str, is_path: bool) -> Loaded | NotLoaded: ...


@dataclass(frozen=True, slots=True)
class Unit:
    """One file and what its imports are, as positions in the program; None where one could not be read."""

    source: Source
    file: ast.File
    imports: tuple[tuple[ast.Import, int | None], ...]


Program = tuple[Unit, ...]
"""All files, the main one first."""


def loader(path: Path | None, parse: Parse, buffers: Mapping[str, str] = MappingProxyType({})) -> Load:
    """Return how a file at this path (or standing nowhere, in the working directory) imports others from disk.

    ``buffers`` are texts, by their absolute paths, that count instead of what is on disk.
    """
    read_here: set[str] = set()

    def load(importing: Source, target: str, is_path: bool) -> Loaded | NotLoaded:
        if is_path:
            if importing.name in read_here:
                folder = Path(importing.name).parent
            else:
                folder = path.parent if path else Path()
            name = os.path.normpath(folder / target)
        else:
            found = _in_library(target)
            if isinstance(found, NotLoaded):
                return found
            name = str(found)
        read_here.add(name)
        if buffers and (text := buffers.get(os.path.abspath(name))) is not None:
            source = Source(name, text)
            return Loaded(source, *parse(source))
        return _read(name, target, parse)

    return load


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
    if path.is_file():
        return path
    known = [".".join(("std", *p.relative_to(folder).with_suffix("").parts)) for p in sorted(folder.rglob("*.cpl"))]
    return NotLoaded(f"the standard library has no `{target}`", did_you_mean(target, known))


def _read(name: str, target: str, parse: Parse) -> Loaded | NotLoaded:
    try:
        text = Path(name).read_bytes().decode("utf-8")
    except FileNotFoundError:
        return NotLoaded(f"there is no file `{target}`", (Note(f"looked for `{name}`"),))
    except IsADirectoryError:
        return NotLoaded(f"`{target}` is a directory")
    except UnicodeDecodeError as error:
        return NotLoaded(f"`{target}` is not UTF-8 text: byte {error.start} cannot be read")
    except (OSError, ValueError) as error:
        return NotLoaded(f"`{target}` cannot be read: {getattr(error, 'strerror', None) or error}")
    source = Source(name, text)
    return Loaded(source, *parse(source))


def load_program(source: Source, file: ast.File, load: Load, problems: Problems) -> Program:
    """Return the file with all that it imports, directly or not."""
    files = [(source, file)]
    positions = {os.path.normpath(source.name): 0}
    units: list[Unit] = []
    while len(units) < len(files):
        importing, tree = files[len(units)]
        imports: list[tuple[ast.Import, int | None]] = []
        for wanted in tree.imports:
            outcome = load(importing, wanted.target, wanted.is_path)
            if isinstance(outcome, NotLoaded):
                problems.report(rules.UNREADABLE_FILE, wanted.span, _sentence(outcome.reason), *outcome.notes)
                imports.append((wanted, None))
                problems.is_incomplete, problems.unread = True, None
                continue
            key = os.path.normpath(outcome.source.name)
            if key not in positions:
                positions[key] = len(files)
                files.append((outcome.source, outcome.file))
                problems.extend(outcome.diagnostics)
                if any(diagnostic.is_error for diagnostic in outcome.diagnostics):
                    problems.is_incomplete, problems.unread = True, None
            imports.append((wanted, positions[key]))
        units.append(Unit(importing, tree, tuple(imports)))
    _report_cycles(units, problems)
    return tuple(units)


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:] if not reason.startswith("`") else reason


def _report_cycles(units: list[Unit], problems: Problems) -> None:
    """Report each import that leads back to a file on the way to it."""
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
            for wanted, target in units[position].imports:
                if target in path:
                    cycle = [*path[path.index(target) :], target]
                    shown = " -> ".join(Path(units[p].source.name).name for p in cycle)
                    problems.report(rules.IMPORT_CYCLE, wanted.span, f"This import leads back to itself: {shown}")
                elif target is not None and target not in done:
                    stack.append((target, True))
