"""Keys of the result cache: a digest of the question, the input files and the program.

The digest covers the files of the program, not only its version, so a patched program reuses no old result.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from cplc import __version__
from cplc.checking.results import Question
from cplc.runtime.file_access import shipped

_LIBRARIES = ("textX", "Arpeggio", "lark", "oxidd", "dd", "astutils", "ply", "numpy")
"""Libraries that parse the language or compute verdicts."""


def result_key(reading: Mapping[str, object], question: Question) -> str:
    """Return the cache key of a result; ``reading`` describes the inputs and options of the verification."""
    span = question.span
    question_data = {
        "name": question.name,
        "kind": question.kind,
        "text": question.text,
        "expected": question.expected,
        "assuming": sorted(question.assuming),
        "title": question.title,
        "place": None if span is None else [span.source.name, span.start, span.end],
    }
    document = json.dumps([program_fingerprint(), reading, question_data], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(document.encode()).hexdigest()


@cache
def program_fingerprint() -> str:
    """Return a digest of the program, its libraries and Python. Raise `OSError` if a file of it is unreadable."""
    sha256 = hashlib.sha256()
    for part in (__version__, sys.version, sys.platform, *_versions()):
        sha256.update(part.encode() + b"\0")
    for path in _files([Path(__file__).parents[1], shipped("grammar"), shipped("stdlib")]):
        content = path.read_bytes()
        sha256.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return sha256.hexdigest()


def _versions() -> Iterator[str]:
    from importlib import metadata  # slow to import, and not needed where the cache is off

    for library in _LIBRARIES:
        try:
            yield f"{library} {metadata.version(library)}"
        except metadata.PackageNotFoundError:
            yield f"no {library}"


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(path for path in folder.rglob("*") if path.suffix != ".pyc" and path.is_file())
