"""Ranges as they are written, and the points that they make."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.language.decimals import decimal
from cplc.sweeps.job_grid import RangeError, points, size, values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", ("3",)),
        ("1..4", ("1", "2", "3", "4")),
        ("2..9/3", ("2", "5", "8")),
        ("-1..1", ("-1", "0", "1")),
        ("0.1..0.9/0.4", ("0.1", "0.5", "0.9")),
        ("0..1/0.5", ("0", "0.5", "1")),
        ("0.0..1.0", ("0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")),
        ("true,false", ("true", "false")),
        ("1..3,10,2", ("1", "2", "3", "10")),
        ("5..5", ("5",)),
        ("0.5..0.5", ("0.5",)),
    ],
)
def test_a_range_stands_for_its_values_each_once(text: str, expected: tuple[str, ...]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    "text", ["", "1,,2", "3..1", "1..", "1..5/0", "1..5/-1", "a..b", "1..9999999", "0..1/0.0000001"]
)
def test_invalid_range_is_refused(text: str) -> None:
    with pytest.raises(RangeError):
        values(text)


@given(st.fractions(max_denominator=10**6))
def test_a_number_is_written_so_that_it_is_the_same_when_read(number: Fraction) -> None:
    assert Fraction(decimal(number)) == number


def test_the_last_name_changes_fastest() -> None:
    ranges = {"a": ("1", "2"), "b": ("x", "y")}
    grid = list(points(ranges))
    assert grid == [
        (("a", "1"), ("b", "x")),
        (("a", "1"), ("b", "y")),
        (("a", "2"), ("b", "x")),
        (("a", "2"), ("b", "y")),
    ]
    assert len(grid) == size(ranges)


def test_without_ranges_there_is_one_point() -> None:
    assert list(points({})) == [()]
    assert size({}) == 1
