"""Encoding of results as bytes. Decoding is safe: it constructs only the data classes of results."""

from __future__ import annotations

import io
import pickle
import sys
import zlib
from dataclasses import is_dataclass, replace
from typing import Final

from cplc.checking.results import Question, Result
from cplc.system.model import System

_MAX_BYTES: Final = 512 * 2**20
_MODULES: Final = ("cplc.logic.", "cplc.system.", "cplc.checking.", "cplc.source")
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
    stream = io.BytesIO()
    try:
        _Writer(stream, result.question, system).dump(result)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
        return None
    return zlib.compress(stream.getvalue(), 1)


def decode_result(content: bytes, question: Question, system: System) -> Result | None:
    """Return the decoded result, bound to this question; None if the content is not a result of it."""
    try:
        whole = zlib.decompressobj().decompress(content, _MAX_BYTES)
        result = _Reader(io.BytesIO(whole), question, system).load()
    except Exception:  # a damaged entry must not fail a run
        return None
    return replace(result, cached=True) if isinstance(result, Result) and result.question is question else None
