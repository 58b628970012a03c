"""How far a search has come, for whoever looks on: one place where searches say so, and nobody has to listen.

What is said has no bearing on what is found. Saying it is an assignment, so that it can be done in the innermost loops;
words are made by whoever asks. There is one search at a time in a process.
"""

from __future__ import annotations

from cplc.records import dataclass


@dataclass(frozen=True, slots=True)
class Explored:
    """States that were found one by one, and how many of them are still to be looked at."""

    states: int
    waiting: int

    def text(self) -> str:
        return f"{self.states:,} states, {self.waiting:,} of them to be looked at"


@dataclass(frozen=True, slots=True)
class Swept:
    """Passes over the steps with decision diagrams, and the nodes that there are now."""

    passes: int
    nodes: int

    def text(self) -> str:
        return f"pass {self.passes:,}, {self.nodes:,} nodes"


@dataclass(frozen=True, slots=True)
class Met:
    """States that a search on the fly remembers."""

    states: int

    def text(self) -> str:
        return f"{self.states:,} states met"


Progress = Explored | Swept | Met
_said: list[Progress | None] = [None]


def say(progress: Progress | None) -> None:
    _said[0] = progress


def swept(nodes: int) -> None:
    """Say that another pass is over."""
    match _said[0]:
        case Swept(passes, _):
            _said[0] = Swept(passes + 1, nodes)
        case _:
            _said[0] = Swept(1, nodes)


def text() -> str:
    """Return what was said last; nothing if nothing was said since `say(None)`."""
    found = _said[0]
    return "" if found is None else found.text()
