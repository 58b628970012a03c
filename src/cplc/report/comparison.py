"""The same participant in two protocols, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isinf

from cplc.decision.results import Analysis, Bounds
from cplc.records import dataclass
from cplc.report.analysis import Judged, analysis_data
from cplc.report.layout import Style, plain
from cplc.report.number_text import LEVEL, bounds_text, number_data, number_text
from cplc.report.plan_text import verdict_text
from cplc.system.participant import Aspect, Participant

Data = dict[str, object]
_ASPECTS: tuple[Aspect, ...] = ("conformance", "achievement", "benefit")


@dataclass(frozen=True)
class Side:
    """One of the two: where, who, and what it can count on there."""

    label: str
    participant: Participant
    analysis: Analysis
    judged: Sequence[Judged]


@dataclass(frozen=True, slots=True)
class Compared:
    """One number in both; None where there is no such number."""

    name: str
    first: Bounds | None
    second: Bounds | None

    @property
    def difference(self) -> Bounds | None:
        """By how much the second is greater."""
        if self.first is None or self.second is None:
            return None
        if any(map(isinf, (self.first.low, self.first.high, self.second.low, self.second.high))):
            return None
        return Bounds(self.second.low - self.first.high, self.second.high - self.first.low)


def compared(first: Side, second: Side) -> Iterator[Compared]:
    """Yield every number that at least one of the two has."""
    for name, number in _NUMBERS:
        one, other = number(first.analysis), number(second.analysis)
        if one is not None or other is not None:
            yield Compared(name, one, other)


def _aspect(aspect: Aspect, best: bool) -> Callable[[Analysis], Bounds | None]:
    def number(analysis: Analysis) -> Bounds | None:
        figure = next((one for one in analysis.figures if one.aspect == aspect and not one.unsolved), None)
        return None if figure is None else figure.best if best else figure.guaranteed

    return number


def _worst(analysis: Analysis) -> Bounds | None:
    if analysis.gain is None or analysis.gain.distribution is None:
        return None
    mean = analysis.gain.distribution.conditional_value_at_risk(LEVEL)
    return Bounds(mean, mean)


_NUMBERS: tuple[tuple[str, Callable[[Analysis], Bounds | None]], ...] = (
    *(
        (f"{aspect} {'at best' if best else 'guaranteed'}", _aspect(aspect, best))
        for aspect in _ASPECTS
        for best in (False, True)
    ),
    ("expected value guaranteed", lambda analysis: None if analysis.gain is None else analysis.gain.guaranteed),
    ("expected value at best", lambda analysis: None if analysis.gain is None else analysis.gain.best),
    (f"mean of the worst {number_text(LEVEL * 100)} %", _worst),
)


def comparison_text(first: Side, second: Side, style: Style = plain) -> str:
    """Return the two side by side, as lines."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(first, second, style))


def _lines(first: Side, second: Side, style: Style) -> Iterator[str]:
    plays = [f"{', '.join(one.participant.agents) or 'nobody'} ({one.label})" for one in (first, second)]
    yield f"{style(first.participant.name, 'strong')} plays {' and '.join(plays)}"
    rows = [("", first.label, second.label, "difference")]
    for one in compared(first, second):
        numbers = ["-" if bounds is None else bounds_text(bounds) for bounds in (one.first, one.second)]
        rows.append((one.name, numbers[0], numbers[1], _difference(one)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    for side in (first, second):
        for line in side.judged:
            yield f"  {side.label}: {line.text} {verdict_text(line, style)}  {style(line.place, 'place')}"
    for side in (first, second):
        for figure in side.analysis.figures:
            if figure.unsolved:
                yield f"  {figure.aspect} in {side.label} is not known: {figure.unsolved}"


def _difference(one: Compared) -> str:
    bounds = one.difference
    if bounds is None:
        return ""
    if float(bounds.low) <= 0 <= float(bounds.high) and float(bounds.high) - float(bounds.low) < 1e-9:
        return "0"
    text = bounds_text(bounds)
    return f"+{text}" if float(bounds.low) > 0 and ".." not in text else text


def comparison_data(first: Side, second: Side) -> Data:
    """Return the two with all that was found out about them, and the differences of their numbers."""
    return {
        "agent": first.participant.name,
        "first": analysis_data(first.participant, first.analysis, first.judged),
        "second": analysis_data(second.participant, second.analysis, second.judged),
        "differences": [
            {"number": one.name, "low": number_data(bounds.low), "high": number_data(bounds.high)}
            for one in compared(first, second)
            if (bounds := one.difference) is not None
        ],
    }
