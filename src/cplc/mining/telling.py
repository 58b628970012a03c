"""Beliefs that were estimated from logs: to be pasted into an agent, and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from cplc.mining.beliefs import VARIABLE, EstimatedBelief, Estimates
from cplc.report.data import Data


def beliefs_text(estimates: Estimates, *, points: bool) -> Iterator[str]:
    """Yield the lines that say it in the language; what can only be said in words is a comment."""
    for belief in estimates.beliefs:
        yield f"// {_counted(belief)}"
        yield from _lines(belief, points=points)
    for belief in estimates.left_out:
        events = " | ".join(estimate.event for estimate in belief.estimates)
        yield f"// left out, because it overlaps: {belief.role}: {events}; {_counted(belief)}"


def _counted(belief: EstimatedBelief) -> str:
    shown = ", ".join(f"{estimate.event} {estimate.count:,}" for estimate in belief.estimates)
    situations = "situation" if belief.count == 1 else "situations"
    return f"{belief.count:,} {situations}: {shown}"


def _lines(belief: EstimatedBelief, *, points: bool) -> Iterator[str]:
    events = " | ".join(
        f"{estimate.event} {_decimal(estimate.share) if points else _bounds(estimate.low, estimate.high)}"
        for estimate in belief.estimates
    )
    line = f"believes {belief.role}: {events}"
    if not belief.members:
        yield line
    elif belief.over is not None:
        role = VARIABLE if belief.role == f"{belief.over}[{VARIABLE}]" else belief.role
        yield f"for {VARIABLE} in {belief.over} {{ believes {role}: {events} }}"
    elif _is_range(belief.members) and len(belief.members) > 1:
        yield f"for {VARIABLE} in {belief.members[0]}..{belief.members[-1]} {{ {line} }}"
    else:
        for member in belief.members:
            yield line.replace(f"[{VARIABLE}]", f"[{member}]")


def _is_range(members: Sequence[int]) -> bool:
    return members[-1] - members[0] == len(members) - 1


def _bounds(low: Decimal, high: Decimal) -> str:
    return _decimal(low) if low == high else f"{_decimal(low)}..{_decimal(high)}"


def _decimal(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def beliefs_data(estimates: Estimates) -> Data:
    return {
        "beliefs": [_data(belief) for belief in estimates.beliefs],
        "left_out": [_data(belief) for belief in estimates.left_out],
    }


def _data(belief: EstimatedBelief) -> Data:
    return {
        "role": belief.role,
        "members": list(belief.members),
        "situations": belief.count,
        "events": [
            {
                "event": estimate.event,
                "count": estimate.count,
                "share": float(estimate.share),
                "low": float(estimate.low),
                "high": float(estimate.high),
            }
            for estimate in belief.estimates
        ],
    }
