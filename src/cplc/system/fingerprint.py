"""Fingerprint of a system: a digest that is equal for equal systems in every run."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from cplc.source import Span
from cplc.system.model import System


def fingerprint(system: System) -> str:
    """Return the digest of the system. Source positions do not affect it."""
    return _Digests().of(system).hex()


class _Digests:
    """Digests of values, memoised because expressions share subexpressions."""

    def __init__(self) -> None:
        from hashlib import sha256  # the library is loaded where a system is saved only

        self._sha256 = sha256
        self._cache: dict[int, bytes] = {}

    def of(self, value: object) -> bytes:
        digest = self._cache.get(id(value))
        if digest is None:
            digest = self._sha256(self._encoded(value)).digest()
            if is_dataclass(value) or isinstance(value, tuple):  # their parts stay alive, so that identities are stable
                self._cache[id(value)] = digest
        return digest

    def _encoded(self, value: object) -> bytes:
        name = type(value).__name__.encode()
        match value:
            case Span():
                return name
            case None | bool() | int() | str():
                return name + b":" + str(value).encode("utf-8", "surrogatepass")
            case tuple() | list():
                return name + b":" + b"".join(map(self.of, value))
            case frozenset() | set():
                return name + b":" + b"".join(sorted(map(self.of, value)))
            case dict():
                return name + b":" + b"".join(sorted(self.of(key) + self.of(one) for key, one in value.items()))
            case _ if is_dataclass(value):
                return name + b":" + b"".join(self.of(getattr(value, one.name)) for one in fields(value))
            case _:
                raise TypeError(f"a {type(value).__name__} has no fingerprint")
