"""What is seen of beliefs while a decision model is built."""

from __future__ import annotations

from collections.abc import Callable

from cplc.records import dataclass
from cplc.system.model import State


@dataclass(frozen=True)
class ModelDiagnostics:
    """What whoever wrote the beliefs should know, with an example of a state, found when it is asked for."""

    partial: dict[int, tuple[int, Callable[[], State]]]
    overlapping: dict[tuple[int, int], Callable[[], State]]
    applied: frozenset[int]
    stuck: Callable[[], State] | None
