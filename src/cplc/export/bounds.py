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
        return _branching(formula, with_children(path, tuple(map(with_step_bounds, children(path)))))
    operands = children(formula)
    return _linear(with_children(formula, tuple(map(with_step_bounds, operands))) if operands else formula)


def _branching(formula: OnPaths, path: Formula) -> Formula:
    match path:
        case WeakUntil(bound=Bound()) | StrongRelease(bound=Bound()):
            return _branching(formula, path.definition)
        case Until(bound=Bound() as bound) | Release(bound=Bound() as bound) if _is_unfolded(bound):
            inner: Formula = _branching(formula, _opened(path))
            for _ in range(bound.low):
                here, later = replace(formula, path=path.left), replace(formula, path=Next(inner))
                inner = And((here, later)) if isinstance(path, Until) else Or((here, later))
            return inner
        case Finally(bound=Bound() as bound) | Globally(bound=Bound() as bound) if _is_unfolded(bound):
            inner = _branching(formula, _opened(path))
            for _ in range(bound.low):
                inner = replace(formula, path=Next(inner))
            return inner
        case Release(bound=Bound()):
            return Not(replace(formula, quantifier="E" if formula.quantifier == "A" else "A", path=dual(path)))
        case _:
            return replace(formula, path=path)


def _linear(path: Formula) -> Formula:
    match path:
        case WeakUntil(bound=Bound()) | StrongRelease(bound=Bound()):
            return with_step_bounds(path.definition)
        case Until(bound=Bound() as bound) | Release(bound=Bound() as bound) if _is_unfolded(bound):
            inner = _linear(_opened(path))
            for _ in range(bound.low):
                inner = And((path.left, Next(inner))) if isinstance(path, Until) else Or((path.left, Next(inner)))
            return inner
        case Finally(bound=Bound() as bound) | Globally(bound=Bound() as bound) if _is_unfolded(bound):
            inner = _linear(_opened(path))
            for _ in range(bound.low):
                inner = Next(inner)
            return inner
        case Release(bound=Bound()):
            return Not(dual(path))
        case _:
            return path


def _is_unfolded(bound: Bound) -> bool:
    return bound.ticks is None and 0 < bound.low <= MAX_UNFOLDED


def _opened(path: Until | Release | Finally | Globally) -> Formula:
    """Return the operator for the position at which its window opens."""
    assert path.bound is not None
    return replace(path, bound=replace(path.bound, high=path.bound.high - path.bound.low, low=0))
