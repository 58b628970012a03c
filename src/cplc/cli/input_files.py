"""Digests of the files that a run reads, for the result cache and ``--watch``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cplc.cli import output
from cplc.runtime.file_access import open_regular

if TYPE_CHECKING:
    import hashlib

    from cplc.compilation import Compilation

FILES_READ = "CPLC_FILES_READ"
"""Environment variable with the path where a watched run records the files that it reads."""

Contents = dict[str, str | None]
"""Map from files to digests; None for a missing file that would be read if it existed."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 2**20


def digest(path: str) -> str | None:
    """Return the present digest of a regular file."""
    sha256 = _sha256()
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            sha256.update(stream.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK))
            while chunk := stream.read(_CHUNK):
                sha256.update(chunk)
    except (OSError, ValueError):
        return None
    return sha256.hexdigest()


def input_digests(compilation: Compilation) -> Contents:
    """Return the digests of all inputs: the file, its imports, and the settings."""
    from cplc.settings import settings_paths

    digests: Contents = {os.path.normpath(path): None for path in compilation.import_candidates}
    digests |= {os.path.normpath(source.name): _digest(source.text) for source in compilation.sources}
    if compilation.path is not None:
        digests |= {str(place): digest(str(place)) for place in settings_paths(compilation.path.parent)}
    return digests


def input_description(compilation: Compilation) -> dict[str, object]:
    """Return a description of all inputs of the system, for the cache key."""
    return {
        "files": input_digests(compilation),
        "name": compilation.source.name,
        "by": compilation.strategies,
        **compilation.options,
    }


def _digest(text: str) -> str:
    sha256 = _sha256()
    sha256.update(text.encode("utf-8", "surrogatepass"))
    return sha256.hexdigest()


def _sha256() -> hashlib._Hash:
    """Return a new digest; the library is imported on use, for the start-up time."""
    import hashlib

    return hashlib.sha256()


def report_files_read(compilation: Compilation) -> None:
    """Record the files read, for a watching process and for the cache of reports."""
    capture = output.current_capture()
    if capture is not None:  # one of several files: the process that writes the report records what all of them read
        capture.reads |= input_digests(compilation)
    elif os.environ.get(FILES_READ):
        record_files_read(input_digests(compilation))


def record_files_read(digests: Mapping[str, str | None]) -> None:
    """Record the files read, for a watching process if there is one."""
    place = os.environ.get(FILES_READ)
    if place:
        import json

        output.write_file(Path(place), json.dumps(dict(files_read(place)) | dict(digests)))


def files_read(place: str) -> Iterator[tuple[str, str | None]]:
    """Yield the recorded files and digests; none before the first record."""
    import json

    try:
        document = json.loads(Path(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(document, dict):
        yield from document.items()
