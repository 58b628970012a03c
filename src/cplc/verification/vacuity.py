"""What a verdict may hide: implications that never apply, and commitments that have nothing to check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cplc.system.expr import FALSE
from cplc.system.formula import (
    Atom,
    Commits,
    Formula,
    Fulfils,
    Iff,
    Implies,
    Not,
    OnPaths,
    Past,
    Taken,
    children,
    is_state_formula,
    subformulas,
)
from cplc.system.model import State
from cplc.system.printer import formula_text
from cplc.verification.results import Remark


class Reachable(Protocol):
    """What is known of reachable states."""

    def occurs(self, formula: Formula) -> bool:
        """Whether the formula holds in any."""
        ...

    def example(self, formula: Formula) -> State | None:
        """Return one in which it holds."""
        ...


def vacuous_implications(reachable: Reachable, formula: Formula) -> Iterator[Remark]:
    """Yield the implications in positive position whose left side never holds.

    What is said of a path is so somewhere on a run if and only if some run begins with it, as long as it does not
    speak of what came before; of that nothing is said here.
    """
    for left, along in dict.fromkeys(positive_lefts(formula)):
        if is_state_formula(left):
            where, never = left, "holds in no reachable state"
        elif any(isinstance(part, Past) for part in _on_this_path(left)):
            continue
        else:
            where, never = OnPaths("E", left, along), "is true nowhere on any run"
        if not reachable.occurs(where):
            yield Remark("vacuous-implication", f"the left side of an implication, `{formula_text(left)}`, {never}")


Left = tuple[Formula, Taken | None]
"""The left side of an implication, and along which steps the runs go that it is said of."""


def positive_lefts(formula: Formula, positive: bool = True, along: Taken | None = None) -> Iterator[Left]:
    """Yield the left sides of the implications that the formula is the more true the truer they are."""
    match formula:
        case Implies(left, right):
            if positive:
                yield left, along
            yield from positive_lefts(left, not positive, along)
            yield from positive_lefts(right, positive, along)
        case Not(operand):
            yield from positive_lefts(operand, not positive, along)
        case Iff():
            return
        case OnPaths(_, path, steps):
            yield from positive_lefts(path, positive, steps)
        case _:
            for child in children(formula):
                yield from positive_lefts(child, positive, along)


def _on_this_path(formula: Formula) -> Iterator[Formula]:
    """Yield what is said of the path itself."""
    if not is_state_formula(formula):
        yield formula
        for child in children(formula):
            yield from _on_this_path(child)


def not_serial(reachable: Reachable, formula: Formula) -> Iterator[Remark]:
    """Yield the channels in the formula whose promises are, from some reachable state on, nowhere kept together."""
    nothing = Atom(FALSE, "false")
    channels = {part.channel: None for part in subformulas(formula) if isinstance(part, Commits | Fulfils)}
    for channel in channels:
        no_successor = Commits(channel, nothing)
        if reachable.occurs(no_successor) and (example := reachable.example(no_successor)) is not None:
            yield Remark(
                "not-serial",
                f"in some reachable states `C({channel.name}, …)` is true because no reachable state keeps what is "
                "promised there",
                example,
            )
