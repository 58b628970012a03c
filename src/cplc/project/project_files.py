"""The files of a project: those that match the patterns of its settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import BAD_SETTINGS
from cplc.records import dataclass
from cplc.runtime.file_access import files_below, is_below, project_root
from cplc.settings import Pattern, Settings
from cplc.settings.globs import literal_prefix, matches


@dataclass(frozen=True)
class ProjectFiles:
    """The files of a project, in the order of their paths, and the problems of its patterns."""

    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def project_files(settings: Settings, endings: tuple[str, ...]) -> ProjectFiles:
    """Return the files with these endings that the settings name; paths are relative to the working directory.

    A pattern that matches nothing is an error: a misspelt one would leave files unverified.
    """
    assert settings.path is not None
    folder = settings.path.parent
    present: dict[str, None] = {}
    problems = []
    for pattern in settings.files:
        matching = sorted(_matching(folder, pattern, endings))
        if not matching:
            note = Note(f"files of protocols end in {' or '.join(f'`{one}`' for one in endings)}")
            problems.append(BAD_SETTINGS.at(pattern.span, f"`{pattern.text}` matches no file", note))
        present |= dict.fromkeys(matching)
    excluded = {name for name in present if any(matches(one.text, name) for one in settings.exclude)}
    names = sorted((name for name in present if name not in excluded), key=lambda name: name.split("/"))
    return ProjectFiles(tuple(_displayed(folder / name) for name in names), tuple(problems))


def _matching(folder: Path, pattern: Pattern, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the matching files, relative to the folder; hidden folders are searched if the pattern names them."""
    start = folder / literal_prefix(pattern.text)
    if not is_below(Path(os.path.realpath(start)), project_root(folder)):
        return
    if start.is_file():
        if start.name.endswith(endings):
            yield start.relative_to(folder).as_posix()
        return
    for path in files_below(str(start), endings, lambda name: name.startswith(".")):
        name = Path(path).relative_to(folder).as_posix()
        if matches(pattern.text, name):
            yield name


def _displayed(path: Path) -> str:
    """Return the path relative to the working directory if it is below, else as it is."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return os.path.relpath(path)
