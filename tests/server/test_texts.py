"""Positions and edits, against a reading of the specification that encodes every line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range, TextDocumentContentChangePartial
from tests.server.conftest import applied

from cplc.server.positions import Text, Units
from cplc.server.text_edits import difference

_CHARS = st.sampled_from([*"ab \t\x0b\x0c\x85\u2028é漢😀🤝\n\r", "\r\n"])
_TEXTS = st.lists(_CHARS, max_size=40).map("".join)
_UNITS: list[Units] = ["utf-8", "utf-16", "utf-32"]
_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def _position(text: str, offset: int, units: Units) -> Position:
    """Count lines and columns of what stands before an offset, as the specification does."""
    before = re.split(r"\r\n|\n|\r", text[:offset])
    return Position(
        len(before) - 1, len(before[-1].encode(f"{units}-le" if units != "utf-8" else units)) // _BYTES[units]
    )


@given(_TEXTS, st.data(), st.sampled_from(_UNITS))
def test_positions_are_those_of_the_specification(text: str, data: st.DataObject, units: Units) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[max(0, offset - 1) : offset + 1] == "\r\n":
        return  # no position is between the two
    position = Text(text, units).position(offset)
    assert position == _position(text, offset, units)
    assert Text(text, units).offset(position) == offset


@given(_TEXTS, _TEXTS, st.data(), st.sampled_from(_UNITS))
def test_edits_change_what_they_mark(text: str, new: str, data: st.DataObject, units: Units) -> None:
    old = Text(text, units)
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    range_ = old.range(start, end)
    changed = old.changed(TextDocumentContentChangePartial(range_, new))
    first, last = old.offset(range_.start), old.offset(range_.end)
    assert changed.text == text[:first] + new + text[last:]


@given(_TEXTS, st.integers(0, 50), st.integers(0, 50), st.sampled_from(_UNITS))
def test_positions_outside_the_text_are_at_an_end(text: str, line: int, column: int, units: Units) -> None:
    old = Text(text, units)
    offset = old.offset(Position(line, column))
    assert 0 <= offset <= len(text)
    position = old.position(offset)
    assert (position.line, position.character) <= (line, column)


def test_a_range_the_wrong_way_round_is_turned() -> None:
    change = TextDocumentContentChangePartial(Range(Position(0, 3), Position(0, 1)), "-")
    assert Text("abcd").changed(change).text == "a-d"


@pytest.mark.parametrize("after", ["", "a\nb\nc\n", "x\na\nc", "c\nb\na\n"])
def test_a_layout_becomes_edits(after: str) -> None:
    before = "a\nb\nc\n"
    assert applied(before, difference(Text(before), after)) == after
