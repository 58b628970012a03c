"""Progress of the search that runs in this process, for display.

Reporting progress has no effect on results. It is a single assignment, cheap enough for inner loops; the reader makes
the text. A process runs one search at a time.
"""

from __future__ import annotations

from cplc.records import dataclass


@dataclass(frozen=True, slots=True)
class ExplorationProgress:
    """Explicit states found, and how many of them are still unexplored."""

    states: int
    waiting: int

    def text(self) -> str:
        return f"{self.states:,} states, {self.waiting:,} of them unexplored"


@dataclass(frozen=True, slots=True)
class FixpointProgress:
    """Iterations of a symbolic fixpoint, and the present number of nodes of decision diagrams."""

    iterations: int
    nodes: int

    def text(self) -> str:
        return f"iteration {self.iterations:,}, {self.nodes:,} nodes"


@dataclass(frozen=True, slots=True)
class StoredStates:
    """States stored by an on-the-fly search."""

    states: int

    def text(self) -> str:
        return f"{self.states:,} states stored"


Progress = ExplorationProgress | FixpointProgress | StoredStates
_latest: list[Progress | None] = [None]


def report(progress: Progress | None) -> None:
    _latest[0] = progress


def report_iteration(nodes: int) -> None:
    """Report the end of an iteration of a fixpoint."""
    match _latest[0]:
        case FixpointProgress(iterations, _):
            _latest[0] = FixpointProgress(iterations + 1, nodes)
        case _:
            _latest[0] = FixpointProgress(1, nodes)


def text() -> str:
    """Return the latest progress as text; empty since `report(None)`."""
    latest = _latest[0]
    return "" if latest is None else latest.text()
