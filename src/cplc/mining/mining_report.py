"""Reports of log mining: as text, as JSON, and as beliefs in the language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from cplc.control_characters import printable
from cplc.mining.observed_choices import (
    VARIABLE,
    BeliefEstimates,
    EstimatedBelief,
    LogCoverage,
    MessageCoverage,
    PromiseCoverage,
)
from cplc.report.json_data import Data
from cplc.report.layout import DEFAULT_WIDTH, Style, plain, wrapped


def beliefs_text(estimates: BeliefEstimates, width: int = DEFAULT_WIDTH, *, points: bool) -> Iterator[str]:
    """Yield the beliefs in the language, with the counts as comments, in lines of this width."""
    for belief in estimates.beliefs:
        yield from comment_lines(_counted(belief), width)
        for line in _lines(belief, points=points):
            yield from _declaration_lines(line, width)
    for belief in estimates.left_out:
        events = " | ".join(estimate.event for estimate in belief.estimates)
        overlap = f"left out, because it overlaps: {belief.role}: {events}; {_counted(belief)}"
        yield from comment_lines(overlap, width)


def comment_lines(text: str, width: int) -> Sequence[str]:
    """Return a text as comments of the language."""
    return wrapped(text, width, "// ", "// ")


def _declaration_lines(line: str, width: int) -> Iterator[str]:
    """Yield a declaration in lines that break between two alternatives."""
    first, *further = line.split(" | ")
    current = first
    for alternative in further:
        if len(current) + len(" | ") + len(alternative) > width:
            yield current
            current = f"    | {alternative}"
        else:
            current += f" | {alternative}"
    yield current


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


def beliefs_data(estimates: BeliefEstimates) -> Data:
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


# --- coverage

_MAX_NAMED_MEMBERS = 12
_REPORTED_STATES = ("fulfilled", "violated")


def coverage_text(coverage: LogCoverage, style: Style = plain) -> Iterator[str]:
    """Yield the uncovered items, and then the totals."""
    for message in coverage.messages:
        if unseen := _unseen(message):
            yield f"{style('never sent', 'bad')}: {printable(unseen)}"
    for choice in coverage.choices:
        went = ", ".join(f"{way} {count:,}" for way, count in choice.ways.items() if count)
        for way in choice.never:
            yield f"{style('never chosen', 'bad')}: {printable(choice.role)} {printable(way)}, but {printable(went)}"
    for promise in coverage.promises:
        if not promise.states:
            yield f"{style('never made', 'bad')}: {printable(promise.name)}"
    for promise in coverage.promises:
        if promise.states and not promise.is_claim and (never := _never(promise)):
            yield f"{style('never', 'warning')} {never}: {printable(promise.name)}"
    yield f"{coverage.seen:,} of {coverage.all:,} seen ({coverage.percent:.0f} %): {_counts(coverage)}"


def _unseen(message: MessageCoverage) -> str:
    if message.members == 1 or len(message.missing) == message.members:
        return message.name if message.missing else ""
    named = ", ".join(message.missing[:_MAX_NAMED_MEMBERS])
    more = len(message.missing) - _MAX_NAMED_MEMBERS
    return f"{named} and {more:,} more" if more > 0 else named


def _never(promise: PromiseCoverage) -> str:
    return " or ".join(state for state in _REPORTED_STATES if not promise.states.get(state))


def _counts(coverage: LogCoverage) -> str:
    messages = sum(bool(one.count) for one in coverage.messages)
    ways = [count for one in coverage.choices for count in one.ways.values()]
    made = sum(bool(one.states) for one in coverage.promises)
    return (
        f"messages {messages} of {len(coverage.messages)}, ways of choices {sum(map(bool, ways))} of {len(ways)}, "
        f"promises {made} of {len(coverage.promises)}"
    )


def coverage_data(coverage: LogCoverage) -> Data:
    return {
        "messages": [
            {"name": one.name, "count": one.count, "members": one.members, "never_sent": list(one.missing)}
            for one in coverage.messages
        ],
        "choices": [
            {"role": one.role, "ways": dict(one.ways), "never_chosen": list(one.never)} for one in coverage.choices
        ],
        "promises": [
            {"name": one.name, "kind": "claim" if one.is_claim else "commitment", "states": dict(one.states)}
            for one in coverage.promises
        ],
        "seen_percent": round(coverage.percent, 2),
    }
