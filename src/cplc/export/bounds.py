"""Bounds of path operators in the languages of other tools: at most k steps, and nothing else.

An interval of steps is unfolded one step at a time until it opens, and a bounded release is written as the negation of
an until. No target counts the ticks of a protocol.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cplc.export.request import NotExpressible
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula

MAX_UNFOLDED: Final = 100
"""Maximum number of steps before an interval opens."""


def step_count(bound: f.Bound) -> int:
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
    if isinstance(formula, f.OnPaths) and (path := f.ctl_path(formula)) is not None:
        return _unfolded(f.with_children(path, tuple(map(with_step_bounds, f.children(path)))), formula)
    operands = f.children(formula)
    return _unfolded(f.with_children(formula, tuple(map(with_step_bounds, operands))) if operands else formula, None)


def _unfolded(path: Formula, quantified: f.OnPaths | None) -> Formula:
    """Return the path formula with step bounds, below the quantifier of this formula if there is one."""

    def below(part: Formula) -> Formula:
        return part if quantified is None else replace(quantified, path=part)

    if isinstance(path, f.WeakUntil | f.StrongRelease) and path.bound is not None:
        return with_step_bounds(below(path.definition))
    bound = path.bound if isinstance(path, f.Until | f.Release | f.Finally | f.Globally) else None
    if bound is None or not isinstance(path, f.Until | f.Release | f.Finally | f.Globally):
        return below(path)
    if bound.ticks is None and 0 < bound.low <= MAX_UNFOLDED:
        later = _unfolded(replace(path, bound=f.Bound(bound.high - bound.low)), quantified)
        for _ in range(bound.low):
            later = below(f.Next(later))
            if isinstance(path, f.Until):
                later = f.And((below(path.left), later))
            elif isinstance(path, f.Release):
                later = f.Or((below(path.left), later))
        return later
    if not isinstance(path, f.Release):
        return below(path)
    if quantified is None:
        return f.Not(f.dual(path))
    return f.Not(replace(quantified, quantifier="E" if quantified.quantifier == "A" else "A", path=f.dual(path)))
