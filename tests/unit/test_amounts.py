"""Exact amounts: texts as people and logs write them, and their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.random_examples import examples

from cplc.language.amounts import amounts_of, number_in

_TYPES = ("money(USD)", "money(JPY)", "decimal(3)", "time", "duration")


@examples(200)
@given(st.sampled_from(_TYPES), st.data())
def test_text_of_an_amount_denotes_it(type_name: str, data: st.DataObject) -> None:
    amounts = amounts_of(type_name)
    assert amounts is not None
    numbers = st.integers(amounts.lowest, amounts.highest)
    one, other = data.draw(numbers), data.draw(numbers)
    assert amounts.units(amounts.text(one)) == one
    assert (number_in(amounts.text(one)) < number_in(amounts.text(other))) is (one < other)


@pytest.mark.parametrize("type_name", _TYPES)
def test_lowest_and_highest_amounts_are_the_last_ones(type_name: str) -> None:
    amounts = amounts_of(type_name)
    assert amounts is not None
    assert amounts.units(amounts.text(amounts.lowest)) == amounts.lowest
    assert amounts.units(amounts.text(amounts.highest)) == amounts.highest


@pytest.mark.parametrize(
    ("type_name", "written", "shown"),
    [
        ("time", "2026-11-19T12:00Z", "2026-11-19T12:00Z"),
        ("time", "2026-11-19T14:00:00.000000000+02:00", "2026-11-19T12:00Z"),
        ("time", "2026-11-19T12:00:30Z", "2026-11-19T12:00:30Z"),
        ("time", "2026-11-19T12:00:30.25Z", "2026-11-19T12:00:30.25Z"),
        ("time", "0001-01-01T00:00Z", "0001-01-01T00:00Z"),
        ("time", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ("duration", "3 d", "3 d"),
        ("duration", "90min", "90 min"),
        ("duration", "PT36H", "36 h"),
        ("duration", "2 w", "14 d"),
        ("duration", "-250 us", "-250 us"),
        ("duration", "0 h", "0 s"),
        ("money(USD)", "3", "3.00 USD"),
    ],
)
def test_amounts_are_written_in_several_ways(type_name: str, written: str, shown: str) -> None:
    amounts = amounts_of(type_name)
    assert amounts is not None
    units = amounts.units(written)
    assert units is not None
    assert amounts.text(units) == shown


@pytest.mark.parametrize(
    ("type_name", "written"),
    [
        ("time", "2026-11-19T12:00"),
        ("time", "2026-11-19"),
        ("time", "2026-02-30T12:00Z"),
        ("time", "2026-11-19T24:01Z"),
        ("time", "2026-11-19T12:00:00.0000001Z"),
        ("time", "0001-01-01T00:00+01:00"),
        ("time", "1700000000"),
        ("duration", "3"),
        ("duration", "3 y"),
        ("duration", "1.5 d"),
        ("duration", "999999999999 w"),
        ("money(USD)", "3 d"),
    ],
)
def test_other_texts_are_no_amounts(type_name: str, written: str) -> None:
    amounts = amounts_of(type_name)
    assert amounts is not None
    assert amounts.units(written) is None
