"""Drawings of numbers: well-formed, the same every time, and everything within its frame."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from tests.support.random_examples import examples

from cplc.report.analysis_drawings import Bar, front_chart, histogram, staircase, tornado

_SVG = "{http://www.w3.org/2000/svg}"
_shares = st.floats(0, 1)
_bars = st.builds(
    Bar,
    st.text(max_size=40).map(lambda text: "".join(filter(str.isprintable, text))),
    st.just("a < b & c"),
    st.just("0.9"),
    _shares,
    _shares,
)


def _within(drawing: str) -> ElementTree.Element:
    """Return the drawing, in which nothing stands outside its frame and nothing is no number."""
    root = ElementTree.fromstring(drawing)
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for one in root.iter(f"{_SVG}rect"):
        x, y = float(one.get("x", "0")), float(one.get("y", "0"))
        assert 0 <= x <= x + float(one.get("width", "0")) <= width + 0.2
        assert 0 <= y <= y + float(one.get("height", "0")) <= height + 0.2
    for line in root.iter(f"{_SVG}line"):
        assert 0 <= float(line.get("x1", "0")) <= width
        assert 0 <= float(line.get("y2", "0")) <= height
    for text in root.iter(f"{_SVG}text"):
        assert 0 <= float(text.get("x", "0")) <= width
        assert 0 < float(text.get("y", "0")) <= height
    _assert_no_texts_meet(root)
    return root


def _assert_no_texts_meet(root: ElementTree.Element) -> None:
    """Estimate the box of each text by its number of characters, and compare every pair."""
    boxes = []
    for text in root.iter(f"{_SVG}text"):
        kind = (text.get("class") or "").split()
        width = len(text.text or "") * (7.4 if "title" in kind else 6 if "value" in kind else 6.2)
        x = float(text.get("x", "0")) - (width if "end" in kind else width / 2 if "middle" in kind else 0)
        boxes.append((x, x + width, float(text.get("y", "0")), text.text))
    for at, (left, right, y, first) in enumerate(boxes):
        for begin, end, line, second in boxes[:at]:
            assert abs(y - line) >= 11 or right <= begin or end <= left, (first, second)


@examples(60)
@given(_shares, st.lists(_bars, min_size=1, max_size=15), st.lists(_shares, max_size=2))
def test_a_tornado_stays_within_its_frame(figure: float, bars: list[Bar], thresholds: list[float]) -> None:
    limits = [(f"> {limit}", limit) for limit in thresholds]
    root = _within(tornado("what it depends on", figure, bars, limits))
    assert len(root.findall(f"{_SVG}g")) == min(12, len(bars))
    assert tornado("a", figure, bars, limits) == tornado("a", figure, bars, limits)


@examples(60)
@given(st.dictionaries(st.fractions(-1000, 1000, max_denominator=20), st.integers(1, 9), min_size=1, max_size=80))
def test_a_histogram_shows_all_there_is(weights: dict[Fraction, int]) -> None:
    total = sum(weights.values())
    chances = [(value, weights[value] / total) for value in sorted(weights)]
    mean = float(sum(value * weight for value, weight in weights.items()) / total)
    root = _within(histogram("worth", chances, [("expected", mean)]))
    columns = root.findall(f"{_SVG}g/{_SVG}rect")
    heights = dict.fromkeys(("gain", "loss"), 0.0)
    for column in columns:
        heights[column.get("class", "")] += float(column.get("height", "0"))
    gains = sum(share for value, share in chances if value > 0)
    assert abs(heights["gain"] / sum(heights.values()) - gains) < 0.01


@examples(40)
@given(st.dictionaries(st.fractions(-1000, 1000, max_denominator=20), _shares, min_size=1, max_size=40))
def test_a_staircase_has_a_step_for_each_value(shares: dict[Fraction, float]) -> None:
    falling = sorted(shares.values(), reverse=True)
    levels = [(value, share / 2, share) for value, share in zip(sorted(shares), falling, strict=True)]
    root = _within(staircase("at least", levels, [("sure", float(levels[0][0]))]))
    assert len(root.findall(f"{_SVG}g")) == len(levels)
    low, high = (
        [float(one.get("height", "0")) for one in root.findall(f"{_SVG}g/{_SVG}rect[@class='{kind}']")]
        for kind in ("gain", "open")
    )
    assert high == sorted(high, reverse=True)
    assert all(one <= other for one, other in zip(low, high, strict=True))


@examples(60)
@given(
    st.lists(st.tuples(_shares, st.floats(-1000, 1000)), min_size=1, max_size=20),
    st.one_of(st.none(), _shares),
    st.one_of(st.none(), st.floats(-1000, 1000)),
)
def test_a_front_shows_every_point(
    points: list[tuple[float, float]], across: float | None, upwards: float | None
) -> None:
    root = _within(front_chart("together", ("conformance", "value"), points, (across, upwards)))
    circles = root.findall(f"{_SVG}g/{_SVG}circle")
    assert len(circles) == len(set(points))
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for one in circles:
        assert 0 < float(one.get("cx", "0")) < width
        assert 0 < float(one.get("cy", "0")) < height


def test_one_value_is_drawn_too() -> None:
    _within(staircase("at least", [(Fraction(0), 1.0, 1.0)]))
    _within(histogram("worth", [(Fraction(0), 1.0)]))
    _within(histogram("worth", [(Fraction(-(10**9)), 0.5), (Fraction(10**9), 0.5)]))
    _within(tornado("same", 1.0, [Bar("m", "", "1", 1.0, 1.0)]))
