"""Cached results: their keys, digests of the question, the input files and the program; and their encoding.

The digest covers the files of the program, not only its version, so a patched program reuses no old result.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from cplc import __version__
from cplc.checking.results import Question, Result
from cplc.runtime.file_access import shipped
from cplc.system.model import System

_LIBRARIES = ("textX", "Arpeggio", "lark", "oxidd", "dd", "astutils", "ply", "numpy")
"""Libraries that parse the language or compute verdicts."""
_COMPILED: Final = "__pycache__"


def result_key(reading: Mapping[str, object], question: Question) -> str:
    """Return the cache key of a result; ``reading`` describes the inputs and options of the verification."""
    span = question.span
    question_data = {
        "name": question.name,
        "kind": question.kind,
        "text": question.text,
        "expected": question.expected,
        "assuming": sorted(question.assuming),
        "bounds": question.bounds,
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
    """Yield the files of the program; compiled modules, which Python writes at any time, are no part of it."""
    for folder in folders:
        yield from sorted(path for path in folder.rglob("*") if path.parent.name != _COMPILED and path.is_file())


# --- Encoding of results as bytes. Decoding is safe: it constructs only the data classes of results


_MAX_BYTES: Final = 512 * 2**20
_MODULES: Final = ("cplc.logic.", "cplc.system.", "cplc.checking.", "cplc.source")
_MAX_ATTEMPTS: Final = 5
_QUESTION: Final = "question"
_SYSTEM: Final = "system"
_OWN_SYSTEM: Final = "own system"


class _Writer(pickle.Pickler):
    """Omits the question and its system, which the reader has anyway."""

    def __init__(self, stream: io.BytesIO, question: Question, system: System) -> None:
        super().__init__(stream, protocol=5)
        self._known = {id(question): _QUESTION, id(system): _SYSTEM}
        if question.system is not None:
            self._known[id(question.system)] = _OWN_SYSTEM

    def persistent_id(self, value: object) -> str | None:
        return self._known.get(id(value))


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, question: Question, system: System) -> None:
        super().__init__(stream)
        self._known = {_QUESTION: question, _SYSTEM: system, _OWN_SYSTEM: question.system}

    def persistent_load(self, name: object) -> object:
        target = self._known.get(str(name))
        if target is None:
            raise pickle.UnpicklingError(f"nothing is called {name}")
        return target

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("fractions", "Fraction"):
            return super().find_class(module, name)
        if module.startswith(_MODULES) and module in sys.modules and "." not in name:
            candidate = getattr(sys.modules[module], name, None)
            if isinstance(candidate, type) and is_dataclass(candidate):
                return candidate
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a result")


def encode_result(result: Result, system: System) -> bytes | None:
    """Return the encoded result of a question about this system; None if it cannot be encoded."""
    for _ in range(_MAX_ATTEMPTS):
        stream = io.BytesIO()
        try:
            _Writer(stream, result.question, system).dump(result)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            return None
        except RuntimeError:  # the thread that reports an earlier result derives a value of the same system
            continue
        return zlib.compress(stream.getvalue(), 1)
    return None


def decode_result(content: bytes, question: Question, system: System) -> Result | None:
    """Return the decoded result, bound to this question; None if the content is not a result of it."""
    try:
        whole = zlib.decompressobj().decompress(content, _MAX_BYTES)
        result = _Reader(io.BytesIO(whole), question, system).load()
    except Exception:  # a damaged entry must not fail a run
        return None
    return replace(result, cached=True) if isinstance(result, Result) and result.question is question else None
