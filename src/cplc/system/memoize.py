"""Memoisation of functions of a system."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from cplc.system.model import System

T = TypeVar("T")

_MAX_SYSTEMS = 4
"""How many systems are remembered: those that are left for good shall not be held."""


class _IdentityKey:
    """A system as a key: this one, not one that is equal to it, as comparing them takes long."""

    def __init__(self, system: System) -> None:
        self.system = system

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _IdentityKey) and self.system is other.system

    def __hash__(self) -> int:
        return id(self.system)


def memoize_per_system(make: Callable[[System], T]) -> Callable[[System], T]:
    """Let what a function makes of a system be made once."""

    @lru_cache(maxsize=_MAX_SYSTEMS)
    def made(itself: _IdentityKey) -> T:
        return make(itself.system)

    return lambda system: made(_IdentityKey(system))
