"""Bounds of path operators in the languages of other tools: at most k steps, and nothing else.

An interval of steps is unfolded one step at a time until it opens, and a bounded release is written as the negation of
an until. No target counts the ticks of a protocol.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cplc.export.request import NotExpressible
from cplc.logic.formulas import (
    And,
    Bound,
    Finally,
    Formula,
    Globally,
    Next,
    Not,
    OnPaths,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakUntil,
    children,
    ctl_path,
    dual,
    with_children,
)

MAX_UNFOLDED: Final = 100
"""Maximum number of steps before an interval opens."""


def step_count(bound: Bound) -> int:
    """Return the number of steps of a bound; raise `NotExpressible` for ticks and for intervals that open too late."""
    if bound.ticks is not None:
        raise NotExpressible("bounds that count ticks")
    if bound.low:
        raise NotExpressible("intervals this large")
    return bound.high


def with_step_bounds(formula: Formula) -> Formula:
    """Return an equivalent formula in which steps are counted by ``F<=k``, ``G<=k`` and ``U<=k`` alone.

    A formula of CTL remains one: each step has a path quantifier of its own.
    """
    if isinstance(formula, OnPaths) and (path := ctl_path(formula)) is not None:
        return _unfolded(with_children(path, tuple(map(with_step_bounds, children(path)))), formula)
    operands = children(formula)
    return _unfolded(with_children(formula, tuple(map(with_step_bounds, operands))) if operands else formula, None)


def _unfolded(path: Formula, quantified: OnPaths | None) -> Formula:
    """Return the path formula with step bounds, below the quantifier of this formula if there is one."""

    def below(part: Formula) -> Formula:
        return part if quantified is None else replace(quantified, path=part)

    if isinstance(path, WeakUntil | StrongRelease) and path.bound is not None:
        return with_step_bounds(below(path.definition))
    bound = path.bound if isinstance(path, Until | Release | Finally | Globally) else None
    if bound is None or not isinstance(path, Until | Release | Finally | Globally):
        return below(path)
    if bound.ticks is None and 0 < bound.low <= MAX_UNFOLDED:
        later = _unfolded(replace(path, bound=Bound(bound.high - bound.low)), quantified)
        for _ in range(bound.low):
            later = below(Next(later))
            if isinstance(path, Until):
                later = And((below(path.left), later))
            elif isinstance(path, Release):
                later = Or((below(path.left), later))
        return later
    if not isinstance(path, Release):
        return below(path)
    if quantified is None:
        return Not(dual(path))
    return Not(replace(quantified, quantifier="E" if quantified.quantifier == "A" else "A", path=dual(path)))
