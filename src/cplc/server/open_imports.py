"""Imports as the editor has them: texts that are open count instead of files, and what was looked for is known."""

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
"""What a file is now: the text of a buffer, time and size of a file on disk, or that there is none."""

Buffers = Mapping[str, str]
"""The texts that are open, by their absolute paths."""


def stamp(path: str, buffers: Buffers) -> Stamp:
    """Return what is to be compared to know whether a file has changed."""
    if path in buffers:
        return buffers[path]
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _parsed(source: Source) -> tuple[ast.File, tuple[Diagnostic, ...]]:
    """Read an imported file; many files import the same ones."""
    return parse(source)


def recording(path: str | None, buffers: Buffers, reads: dict[str, Stamp]) -> Load:
    """Return how imports are read, from buffers first; what was looked for is written down."""
    load = loader(Path(path) if path else None, _parsed, buffers)

    def recorded(importing: Source, target: str, is_path: bool) -> Loaded | NotLoaded:
        if is_path and "\0" not in target:
            sought = os.path.abspath(os.path.join(os.path.dirname(importing.name), target))
            reads[sought] = stamp(sought, buffers)
        return load(importing, target, is_path)

    return recorded
