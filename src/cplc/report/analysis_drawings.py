"""Charts of decision analyses: tornado diagrams for figures, histograms and staircases of the value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Literal

from cplc.decision.results import Analysis, Distribution, TotalReward
from cplc.decision.statistical import Estimate
from cplc.records import dataclass
from cplc.report.decision_text import Hinge, hinges
from cplc.report.number_text import LEVEL, money, number_text, percent
from cplc.system.participant import Aspect, Participant, Threshold

# --- Drawings of numbers: on which beliefs a figure hangs, and how probable each value is
#
# Each is one SVG, always the same for the same numbers. It needs nothing else, follows the choice of light or dark of
# the reader's system, and has a description of its content.


_STYLE = """
.cplc-figure { color-scheme: light dark; --paper: #ffffff; --ink: #1d2430; --faint: #5b6675; --line: #d5dae3;
  --never: #2c66ad; --always: #b4611a; --loss: #b4611a; --gain: #2c66ad; --mark: #1d2430; --asked: #b42318; }
@media (prefers-color-scheme: dark) { .cplc-figure { --paper: #14181f; --ink: #e3e8f0; --faint: #a3adbd;
  --line: #343c4a; --never: #76aef0; --always: #e39a55; --loss: #e39a55; --gain: #76aef0; --mark: #e3e8f0;
  --asked: #ff8a7e; } }
.cplc-figure text { font: 12px system-ui, sans-serif; fill: var(--ink); text-anchor: start; }
.cplc-figure .title { font-size: 13px; font-weight: 700; }
.cplc-figure .faint { fill: var(--faint); }
.cplc-figure .end { text-anchor: end; }
.cplc-figure .middle { text-anchor: middle; }
.cplc-figure .value { font-size: 11px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.cplc-figure .paper { fill: var(--paper); }
.cplc-figure .grid { stroke: var(--line); }
.cplc-figure .never { fill: var(--never); } .cplc-figure .always { fill: var(--always); }
.cplc-figure .loss { fill: var(--loss); } .cplc-figure .gain { fill: var(--gain); }
.cplc-figure .open { fill: var(--gain); fill-opacity: 0.3; }
.cplc-figure .mark { stroke: var(--mark); stroke-width: 1.5; }
.cplc-figure .asked { stroke: var(--asked); stroke-width: 1.5; stroke-dasharray: 5 3; }
.cplc-figure .asking { fill: var(--asked); }
"""
_WIDTH = 440
"""Points: narrow enough to be read on a telephone, where a page scales it down a little."""
_LEFT, _RIGHT = 64, 64
"""Margins of the plot of a tornado, with room for the number at the end of a bar."""
_ROW, _BAR = 40, 16
_ROWS = 12
MAX_NAME_LENGTH = 50
_MAX_TITLE_LENGTH = 54
_TITLE, _KEY = 22, 36
"""Height of the baseline of the title, and of the top of the key."""
_KEY_ROW, _LINE = 18, 13
_CHARACTER = 6.4
"""Assumed width of a character of a label."""
_BINS = 30
_DISTINCT = 12
_PLOT, _HEIGHT = 48, 180
"""Left margin and height of a plot of values."""
_NARROWEST = 46
"""Between two values with a label each, in points of the drawing."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a tornado: a number that is believed, and the figure without it and with it alone."""

    name: str
    about: str
    believed: str
    never: float
    always: float


def tornado(
    title: str,
    figure: float,
    bars: Sequence[Bar],
    thresholds: Sequence[tuple[str, float]] = (),
    text: Callable[[float], str] = money,
) -> str:
    """Return how far the figure goes when what is believed never happens, or always; the weightiest is on top.

    ``text`` writes a figure: as money, or in percent.
    """
    shown = bars[:_ROWS]
    numbers = [figure, *(value for _, value in thresholds), *(end for bar in shown for end in (bar.never, bar.always))]
    scale = _scale(min(numbers), max(numbers), _LEFT, _WIDTH - _RIGHT)
    colours = (("never", "if it never happens"), ("always", "if it always happens"))
    key = _key(colours, f"as believed: {text(figure)}")
    marks = _Marks(scale, [(name, value, "asked") for name, value in thresholds])
    top = key.bottom + marks.height
    bottom = top + _ROW * len(shown) + 6
    more = len(bars) - len(shown)
    body = [*key.body, *_grid(scale, top, bottom, text), *marks.drawn(top, bottom)]
    for at, bar in enumerate(shown):
        body += _row(scale, figure, bar, top + _ROW * at, text)
    body += _Marks(scale, [("", figure, "mark")]).drawn(top, bottom)
    if more:
        body.append(_text(16, bottom + 38, f"and {more} more that count less", "faint"))
    description = "; ".join(f"{bar.name}: {text(bar.never)} if never, {text(bar.always)} if always" for bar in shown)
    return _svg(title, f"{text(figure)} as believed. {description}.", bottom + (50 if more else 28), body)


def _row(scale: _Scale, figure: float, bar: Bar, y: float, text: Callable[[float], str]) -> Iterator[str]:
    """Yield the name of the belief, and below it the bar with a number at each end."""
    apart = (bar.never - figure) * (bar.always - figure) <= 0
    first, baseline = y + 18, y + 18 + _BAR - 4
    halves = (("never", bar.never, first), ("always", bar.always, first if apart else first + _BAR // 2))
    name = _shortened(bar.name, MAX_NAME_LENGTH)
    about = f"<title>{escape(f'{bar.name} {bar.believed}: {bar.about}')}</title>"
    yield f"<g>{about}{_text(16, y + 13, f'{name} {bar.believed}', 'value')}"
    for kind, value, at in halves:
        x, end = sorted((scale.x(figure), scale.x(value)))
        yield _rect(x, at, end - x, _BAR if apart else _BAR // 2, kind)
    low, high = sorted((bar.never, bar.always))
    left, right = text(low), text(high)
    yield _text(max(scale.x(min(low, figure)) - 4, _CHARACTER * len(left)), baseline, left, "value end")
    begin = min(scale.x(max(high, figure)) + 4, _WIDTH - _CHARACTER * len(right))
    yield _text(begin, baseline, right, "value") + "</g>"


def histogram(title: str, chances: Sequence[tuple[Fraction, float]], marks: Sequence[tuple[str, float]] = ()) -> str:
    """Return how probable each value is; the values ascend. Many of them are put together, a loss never with a gain."""
    low, high = float(chances[0][0]), float(chances[-1][0])
    numbers = [low, high, *(value for _, value in marks)]
    if _stand_apart(chances, numbers):
        gap = min((float(b[0] - a[0]) for a, b in pairwise(chances)), default=1.0)
        scale = _scale(min(numbers) - gap / 2, max(numbers) + gap / 2, _PLOT, _WIDTH - 24)
        half = min(22.0, gap * scale.per * 0.4)
        columns = [_Column(scale.x(float(v)) - half, 2 * half, p, v > 0, _number(float(v))) for v, p in chances]
    else:
        step = _step(max(high - low, 1e-12) / _BINS)
        scale = _scale(min(numbers) - step, max(numbers), _PLOT, _WIDTH - 24)
        bins: dict[int, float] = {}
        for value, probability in chances:
            at = ceil(value / Fraction(repr(step)))
            bins[at] = bins.get(at, 0.0) + probability
        columns = [
            _Column(scale.x((at - 1) * step) + 0.5, step * scale.per - 1, p, at > 0, _between(at, step))
            for at, p in sorted(bins.items())
        ]
    most = max(column.share for column in columns)
    key = _key((("loss", "no gain"), ("gain", "gain")))
    mark_lines = _Marks(scale, [(text, value, "mark") for text, value in marks])
    top = key.bottom + mark_lines.height + _LINE
    bottom = top + _HEIGHT
    body = [*key.body, *_grid(scale, top, bottom), *mark_lines.drawn(top - _LINE, bottom)]
    room = _Room()
    for one in columns:
        height = one.share / most * (bottom - top)
        about = f"<title>{escape(f'{one.name}: {_percent(one.share)}')}</title>"
        body.append(f"<g>{about}{_rect(one.x, bottom - height, one.width, height, 'gain' if one.gains else 'loss')}")
        if len(columns) <= _DISTINCT:
            body += room.label(one.x + one.width / 2, bottom - height - 5, _percent(one.share))
        body.append("</g>")
    description = "; ".join(f"{one.name}: {_percent(one.share)}" for one in columns)
    return _svg(title, description + ".", bottom + 32, body)


def staircase(
    title: str, levels: Sequence[tuple[Fraction, float, float]], marks: Sequence[tuple[str, float]] = ()
) -> str:
    """Return how probable each value or more is, at least and at most; the values ascend."""
    values = [float(value) for value, _, _ in levels]
    scale = _scale(min(values), max(values), _PLOT, _WIDTH - 24)
    key = _key((("gain", "guaranteed"), ("open", "if what is open goes well")))
    mark_lines = _Marks(scale, [(text, value, "mark") for text, value in marks])
    top = key.bottom + mark_lines.height + _LINE
    bottom = top + _HEIGHT
    room = _Room()
    body = [*key.body, *_grid(scale, top, bottom), *_shares(scale, top, bottom, room)]
    for before, (value, least, most) in zip([values[0], *values], levels, strict=False):
        x, width = scale.x(before), scale.x(float(value)) - scale.x(before)
        about = f"{_number(float(value))} or more: {_percent(least)} at least, {_percent(most)} at most"
        body.append(f"<g><title>{escape(about)}</title>")
        for share, kind in ((most, "open"), (least, "gain")):
            body.append(_rect(x, bottom - share * (bottom - top), width, share * (bottom - top), kind))
        for share in dict.fromkeys((least, most)) if len(levels) <= _DISTINCT else ():
            if width >= _CHARACTER * len(_percent(share)):  # else it would cross the edge of the step, or a mark
                body += room.label(x + width / 2, bottom - share * (bottom - top) - 5, _percent(share))
        body.append("</g>")
    body += mark_lines.drawn(top - _LINE, bottom)
    description = "; ".join(
        f"{_number(float(value))} or more: {_percent(least)} to {_percent(most)}" for value, least, most in levels[:200]
    )
    return _svg(title, description + ".", bottom + 32, body)


def _shares(scale: _Scale, top: float, bottom: float, room: _Room) -> Iterator[str]:
    left, right = scale.x(scale.ticks[0]), scale.x(scale.ticks[-1])
    for share in (0.5, 0.95):
        y = bottom - share * (bottom - top)
        yield f'<line class="grid" x1="{_at(left)}" y1="{_at(y)}" x2="{_at(right)}" y2="{_at(y)}"/>'
        text = _percent(share)
        yield from room.label(left - 6 - _CHARACTER * len(text) / 2, y + 4, text, "faint value")


@dataclass(frozen=True, slots=True)
class _Column:
    x: float
    width: float
    share: float
    gains: bool
    name: str


def _stand_apart(chances: Sequence[tuple[Fraction, float]], numbers: Sequence[float]) -> bool:
    """True if every value has room for a column of its own."""
    if len(chances) > _DISTINCT:
        return False
    points = (_WIDTH - _PLOT - 24) / max(max(numbers) - min(numbers), 1e-12)
    gaps = (float(after[0] - before[0]) for before, after in pairwise(chances))
    return all(gap * points >= _NARROWEST for gap in gaps)


def _between(at: int, step: float) -> str:
    return f"more than {_number((at - 1) * step)}, up to {_number(at * step)}"


# --- fronts


def front_chart(
    title: str,
    axes: tuple[str, str],
    points: Sequence[tuple[float, float]],
    limits: tuple[float | None, float | None],
    bound: Sequence[tuple[float, float]] = (),
) -> str:
    """Return the Pareto points of two figures: what is worse than a point in both lies below and left of it.

    The corners of ``bound`` are those of a line that no plan exceeds.
    """
    ordered = sorted(set(points))
    drawn = [*ordered, *bound]
    across = _scale(*_range([x for x, _ in drawn], limits[0]), _PLOT + 16, _WIDTH - 24)
    upwards = _scale(*_range([y for _, y in drawn], limits[1]), 0, _HEIGHT)
    key = _key((("gain", "one plan guarantees both"), *([("open", "no plan is above")] if bound else [])))
    top = key.bottom + 12 + _LINE
    bottom = top + _HEIGHT
    room = _Room()
    body = [*key.body, *_grid(across, top, bottom, _unit(axes[0]))]
    for tick in upwards.ticks:
        y = bottom - upwards.x(tick)
        body.append(
            f'<line class="grid" x1="{_at(across.left)}" y1="{_at(y)}" x2="{_at(across.x(across.ticks[-1]))}"'
            f' y2="{_at(y)}"/>'
        )
        text = _unit(axes[1])(tick)
        body += room.label(across.left - 6 - _CHARACTER * len(text) / 2, y + 4, text, "faint value")
    left, right = across.left, across.x(across.ticks[-1])
    for limit, is_across in zip(limits, (True, False), strict=True):
        if limit is not None:
            x1, x2 = (across.x(limit), across.x(limit)) if is_across else (left, right)
            y1, y2 = (top, bottom) if is_across else (bottom - upwards.x(limit), bottom - upwards.x(limit))
            body.append(f'<line class="asked" x1="{_at(x1)}" y1="{_at(y1)}" x2="{_at(x2)}" y2="{_at(y2)}"/>')
    if bound:
        corners = [(left, bound[0][1]), *((across.x(x), y) for x, y in bound), (across.x(bound[-1][0]), None)]
        edge = " ".join(f"{_at(x)},{_at(bottom if y is None else bottom - upwards.x(y))}" for x, y in corners)
        body.append(f'<polygon class="open" points="{edge} {_at(left)},{_at(bottom)}"/>')
    for x, y in ordered:
        name = f"{axes[0]} {_unit(axes[0])(x)}, {axes[1]} {_unit(axes[1])(y)}"
        place = f'cx="{_at(across.x(x))}" cy="{_at(bottom - upwards.x(y))}"'
        body.append(f'<g><title>{escape(name)}</title><circle class="gain" {place} r="5"/></g>')
    body.append(_text(_WIDTH - 24, bottom + 32, f"{axes[0]} →", "faint end"))
    body.append(_text(16, top - 12, f"↑ {axes[1]}", "faint"))
    description = "; ".join(f"{axes[0]} {_unit(axes[0])(x)} with {axes[1]} {_unit(axes[1])(y)}" for x, y in ordered)
    return _svg(title, f"{description}.", bottom + 44, body)


def _unit(aspect: str) -> Callable[[float], str]:
    """Return the text of a figure: probabilities in percent."""
    return money if aspect == "value" else percent


def _range(values: Sequence[float], limit: float | None) -> tuple[float, float]:
    every = [*values, *([] if limit is None else [limit])]
    return min(every), max(every)


# --- scales


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    per: float
    """Points for one unit."""
    left: float
    ticks: tuple[float, ...]

    def x(self, value: float) -> float:
        return self.left + (value - self.low) * self.per


def _scale(low: float, high: float, left: float, right: float) -> _Scale:
    """Return a scale over the numbers, from one round number to another."""
    if high - low < 1e-9 * max(1.0, abs(low)):
        low, high = low - 0.5 * max(1e-9, abs(low) or 1.0), high + 0.5 * max(1e-9, abs(high) or 1.0)
    step = _step((high - low) / 6)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = tuple(at * step for at in range(first, last + 1))
    return _Scale(ticks[0], (right - left) / (ticks[-1] - ticks[0]), left, ticks)


def _step(least: float) -> float:
    """Return the next round number: 1, 2 or 5 times a power of ten."""
    power = floor(log10(least))
    for factor in (1, 2, 5):
        if factor * 10.0**power >= least * (1 - 1e-9):
            return float(f"{factor}e{power}")
    return float(f"1e{power + 1}")


# --- pieces


def _number(number: float) -> str:
    return f"{number + 0.0:.6g}" if abs(number) > 1e-12 else "0"


class _Room:
    """The places of labels: one that would meet another is left out."""

    def __init__(self) -> None:
        self._boxes: list[tuple[float, float, float]] = []

    def label(self, x: float, y: float, text: str, kind: str = "value") -> Iterator[str]:
        """Yield the label in the middle of this place, if there is room."""
        half = _CHARACTER * len(text) / 2
        left, right = x - half, x + half
        is_free = all(
            right + 4 <= begin or end + 4 <= left or abs(y - line) >= _LINE for begin, end, line in self._boxes
        )
        if is_free and left >= 0 and right <= _WIDTH:
            self._boxes.append((left, right, y))
            yield _text(x, y, text, f"{kind} middle")


def _grid(scale: _Scale, top: float, bottom: float, text: Callable[[float], str] = _number) -> Iterator[str]:
    room = _Room()
    for tick in scale.ticks:
        x = _at(scale.x(tick))
        yield f'<line class="grid" x1="{x}" y1="{_at(top)}" x2="{x}" y2="{_at(bottom)}"/>'
        yield from room.label(scale.x(tick), bottom + 16, text(tick), "faint")


class _Marks:
    """Lines across a plot, each named above it; names that would meet stand one above the other."""

    def __init__(self, scale: _Scale, marks: Sequence[tuple[str, float, str]]) -> None:
        self._lines = [(scale.x(value), kind) for _, value, kind in marks]
        self._names: list[tuple[float, int, str, str]] = []
        ends: list[float] = []
        for text, value, kind in sorted(marks, key=lambda mark: mark[1]):
            if text:
                width = _CHARACTER * len(text)
                begin = min(max(scale.x(value) - width / 2, 4.0), max(_WIDTH - width - 4, 4.0))
                level = next((at for at, end in enumerate(ends) if end < begin), len(ends))
                ends[level : level + 1] = [begin + width + 8]
                self._names.append((begin, level, text, kind))
        self.height = _LINE * len(ends) + 5
        """The height of the names."""

    def drawn(self, top: float, bottom: float) -> Iterator[str]:
        """Yield the lines and their names; ``top`` is the bottom of the names."""
        for x, kind in self._lines:
            yield f'<line class="{kind}" x1="{_at(x)}" y1="{_at(top)}" x2="{_at(x)}" y2="{_at(bottom)}"/>'
        for begin, level, text, kind in self._names:
            yield _text(begin, top - 5 - _LINE * level, text, "value asking" if kind == "asked" else "value")


@dataclass(frozen=True, slots=True)
class _Key:
    """The meaning of the colours, and of the line across."""

    body: tuple[str, ...]
    bottom: float


def _key(colours: Sequence[tuple[str, str]], figure: str = "") -> _Key:
    body: list[str] = []
    x, y = 16.0, float(_KEY)
    for kind, text in (*colours, *([("mark", figure)] if figure else [])):
        width = 36 + 6.6 * len(text)
        if x > 16 and x + width > _WIDTH:
            x, y = 16.0, y + _KEY_ROW
        if kind == "mark":
            body.append(
                f'<line class="mark" x1="{_at(x + 6)}" y1="{_at(y - 1)}" x2="{_at(x + 6)}" y2="{_at(y + 13)}"/>'
            )
        else:
            body.append(_rect(x, y, 12, 12, kind))
        body.append(_text(x + 18, y + 10, text, "faint"))
        x += width
    return _Key(tuple(body), y + _KEY_ROW)


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{_at(x)}" y="{_at(y)}" width="{_at(width)}" height="{_at(height)}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{_at(x)}" y="{_at(y)}">{escape(text)}</text>'


def _at(place: float) -> str:
    return f"{place:.1f}".removesuffix(".0")


def _percent(share: float) -> str:
    return "<0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f}".removesuffix(".0") + " %"


def _shortened(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _svg(title: str, description: str, height: float, body: Sequence[str]) -> str:
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cplc-figure" width="{_WIDTH}" height="{_at(height)}"'
        f' viewBox="0 0 {_WIDTH} {_at(height)}" role="img">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n<style>{_STYLE}</style>\n"
        f'<rect class="paper" width="{_WIDTH}" height="{_at(height)}"/>\n'
        f"{_text(16, _TITLE, _shortened(title, _MAX_TITLE_LENGTH), 'title')}\n{lines}\n</svg>\n"
    )


def drawings(
    participant: Participant, analysis: Analysis, thresholds: Sequence[Threshold]
) -> Iterator[tuple[str, str]]:
    """Yield each drawing with its name; figures without influences and unknown values have none."""
    yield from _fronts(participant, analysis)
    every = hinges(participant, analysis.sensitivities)
    gain = analysis.gain
    for figure in analysis.figures:
        if bars := _bars(every, figure.aspect):
            title = f"{participant.name}: what its {figure.aspect} depends on"
            limits = [
                (f"{one.relation} {percent(one.value)}", float(one.value))
                for one in thresholds
                if one.aspect == figure.aspect
            ]
            yield f"{participant.name}.{figure.aspect}", tornado(title, figure.guaranteed.middle, bars, limits, percent)
    if gain is None:
        return
    if bars := _bars(every, "value"):
        title = f"{participant.name}: what its expected value depends on"
        yield f"{participant.name}.expected", tornado(title, gain.guaranteed.middle, bars)
    if gain.distribution is not None:
        title = f"{participant.name}: what it may be worth, and how probable that is"
        yield f"{participant.name}.value", _values(title, gain.distribution)
    elif gain.levels:
        title = f"{participant.name}: how probable it is to make at least so much"
        yield f"{participant.name}.value", _levels(title, gain)


def _fronts(participant: Participant, analysis: Analysis) -> Iterator[tuple[str, str]]:
    """Yield a drawing for each line with several Pareto points, of the first two figures that trade off."""
    for number, line in enumerate(analysis.lines, 1):
        figures = [dict(point.figures) for point in line.front]
        if len(figures) < 2:
            continue
        varying = [aspect for aspect in figures[0] if len({point[aspect].middle for point in figures}) > 1]
        if len(varying) < 2:
            continue
        first, second = varying[:2]
        limits = {one.aspect: float(one.value) for one in line.thresholds}
        points = [(point[first].middle, point[second].middle) for point in figures]
        title = f"{participant.name}: {first} and {second} together"
        # The corners are those of a line with two figures, in the order of the points.
        bound = [(float(x), float(y)) for x, y in line.front_limit]
        drawn = front_chart(title, (first, second), points, (limits.get(first), limits.get(second)), bound)
        yield f"{participant.name}.front{number if number > 1 else ''}", drawn


def _folded(hinge: Hinge) -> str:
    """Return the message without its index where the bar stands for several that are alike."""
    count, alike, _ = hinge.about.partition(" alike: ")
    return f"{hinge.message.partition('[')[0]}, each of {count}," if alike else hinge.message


def _bars(every: Sequence[Hinge], aspect: Aspect | Literal["value"]) -> list[Bar]:
    return [
        Bar(_folded(hinge), hinge.about, number_text(one.probability), one.at_zero, one.at_one)
        for hinge in every
        if (one := hinge.sensitivity).aspect == aspect
    ]


def _levels(title: str, gain: TotalReward) -> str:
    each = [(one.value, one.guaranteed.middle, one.best.middle) for one in gain.levels]
    cases = f"in {number_text(100 - LEVEL * 100)} % of cases"
    sure, best = gain.guaranteed_quantile(1 - LEVEL), gain.guaranteed_quantile(1 - LEVEL, at_best=True)
    marks = [] if sure is None else [(f"{cases} {number_text(sure)} or more", float(sure))]
    if best is not None and best != sure:
        marks.append((f"at best {number_text(best)} or more", float(best)))
    return staircase(title, each, marks)


def estimate_drawings(participant: Participant, estimate: Estimate) -> Iterator[tuple[str, str]]:
    """Yield the same of an estimate: how the values of its runs are distributed."""
    if estimate.values is not None:
        runs = f"{estimate.sampling.runs:,} runs, scheduler {estimate.sampling.scheduler}"
        yield f"{participant.name}.value", _values(f"{participant.name}: what {runs}, were worth", estimate.values)


def _values(title: str, distribution: Distribution) -> str:
    expected = float(distribution.expected())
    worst = float(distribution.value_at_risk(LEVEL))
    marks = [
        (f"expected {expected:.6g}", expected),
        (f"worst {number_text(LEVEL * 100)} %: {worst:.6g} or less", worst),
    ]
    return histogram(title, [(value, float(p)) for value, p in distribution.chances], marks)
