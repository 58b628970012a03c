"""Imports of open documents: buffers take precedence over files, and all lookups are recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from cplc.diagnostics.core import Diagnostic
from cplc.semantics.imports import Load, Loaded, NotLoaded, loader
from cplc.source import Source
from cplc.syntax import ast
from cplc.syntax.parser import parse

Stamp = str | tuple[int, int] | None
"""Version of a file: the text of a buffer, time and size of a file on disk, or None for a missing file."""

Buffers = Mapping[str, str]
"""Open documents, by absolute path."""


def stamp(path: str, buffers: Buffers) -> Stamp:
    """Return the stamp of a file, which changes with its content."""
    if path in buffers:
        return buffers[path]
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _parsed(source: Source) -> tuple[ast.File, tuple[Diagnostic, ...]]:
    """Parse an imported file; cached, since many files import the same ones."""
    return parse(source)


def recording(path: str | None, buffers: Buffers, reads: dict[str, Stamp]) -> Load:
    """Return a loader that reads buffers first and records all lookups."""
    load = loader(Path(path) if path else None, _parsed, buffers)

    def recorded(importing: Source, target: str, is_path: bool) -> Loaded | NotLoaded:
        if is_path and "\0" not in target:
            sought = os.path.abspath(os.path.join(os.path.dirname(importing.name), target))
            reads[sought] = stamp(sought, buffers)
        return load(importing, target, is_path)

    return recorded
