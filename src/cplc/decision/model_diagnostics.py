"""Diagnostics of beliefs that the construction of an MDP collects."""

from __future__ import annotations

from collections.abc import Callable

from cplc.records import dataclass
from cplc.system.model import State


@dataclass(frozen=True)
class ModelDiagnostics:
    """Findings about the beliefs, each with an example state that is computed on demand."""

    partial: dict[int, tuple[int, Callable[[], State]]]
    overlapping: dict[tuple[int, int], Callable[[], State]]
    applied: frozenset[int]
    stuck: Callable[[], State] | None
