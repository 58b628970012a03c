"""Memoisation of functions of a system."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from cplc.system.model import System

T = TypeVar("T")

_MAX_SYSTEMS = 4
"""Maximum number of systems whose results are cached, so that unused systems can be freed."""


class _IdentityKey:
    """A system as a key, compared by identity since comparing values is slow."""

    def __init__(self, system: System) -> None:
        self.system = system

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _IdentityKey) and self.system is other.system

    def __hash__(self) -> int:
        return id(self.system)


def memoize_per_system(make: Callable[[System], T]) -> Callable[[System], T]:
    """Cache the results of a function for the most recent systems."""

    @lru_cache(maxsize=_MAX_SYSTEMS)
    def made(itself: _IdentityKey) -> T:
        return make(itself.system)

    return lambda system: made(_IdentityKey(system))
