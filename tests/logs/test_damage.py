"""Whatever a log consists of, reading it ends, and what is not understood is named with a place."""

from __future__ import annotations

import gzip
import io
from operator import itemgetter

from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.agent_logs import AGENT_LOGS
from tests.support.random_examples import examples

from cplc.logs.events import Event, Format, Garbage
from cplc.logs.json_documents import Notion
from cplc.logs.mapping import LogMapping, Vocabulary
from cplc.logs.reading import FORMATS, read
from cplc.logs.writing import FORMATS as WRITTEN
from cplc.logs.writing import log_text

_WORDS = Vocabulary(frozenset(["pay", "order"]), {"pay": {"amount": (1, 2)}}, frozenset(["A", "B"]))
_EVENTS = [
    Event(
        "",
        str(number % 3),
        "pay" if number % 2 else "order",
        "A",
        ("B",),
        {},
        {"amount": 2} if number % 2 else {},
        number,
    )
    for number in range(12)
]
_LOGS: dict[Format, bytes] = {form: "".join(log_text(iter(_EVENTS), form, _WORDS)).encode() for form in WRITTEN}
_LOGS |= AGENT_LOGS
_MAPPING = LogMapping(vocabulary=_WORDS, notion=Notion("case"))


@st.composite
def _damaged(draw: st.DrawFn) -> tuple[Format, bytes]:
    """Draw a log of which some pieces are lost, doubled, or something else."""
    form = draw(st.sampled_from(FORMATS))
    data = _LOGS[form]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        put = draw(
            st.one_of(
                st.binary(max_size=20), st.sampled_from([data[start:end] * 2, b"\0", b'"', b"<", b"{", b"\xff\xfe"])
            )
        )
        data = data[:start] + put + data[end:]
    return form, gzip.compress(data)[: draw(st.integers(5, 1000))] if draw(st.booleans()) else data


@given(st.one_of(_damaged().map(itemgetter(1)), st.binary(max_size=200)), st.none() | st.sampled_from(FORMATS))
@examples(300)
@example(b"\xff\xfe{", None)
@example(b"\x1f\x8b", None)
@example(b'<?xml version="1.0" encoding="nonsense"?><log/>', None)
@example(b'<?xml version="1.0" encoding="utf-7"?><log/>', None)
@example(b'{"events": [1, null, {"type": "a", "relationships": [{"objectId": "x"}, 3]}], "objectTypes": []}', "ocel")
@example(b"case,message,case\n1,a,2\n", "csv")
@example(b'{"case": {"x": [1]}, "message": ["a"], "time": {}, "recipients": [[], {}, null]}', "jsonl")
def test_damaged_log_never_raises(data: bytes, form: Format | None) -> None:
    items = list(read(io.BytesIO(data), form, _MAPPING, name="log"))
    offsets = [one.offset for one in items if isinstance(one, Event)]
    assert offsets == sorted(offsets)
    for one in items:
        assert one.place.startswith("log")
        assert not isinstance(one, Garbage) or (one.reason and "\n" not in one.reason)


@given(_damaged(), st.integers(1, 64))
@examples(100)
def test_chunking_does_not_change_events(log: tuple[Format, bytes], size: int) -> None:
    form, data = log

    class Pieces(io.BytesIO):
        def read1(self, _: int | None = -1) -> bytes:
            return super().read(size)

    whole = list(read(io.BytesIO(data), form, _MAPPING, name="log"))
    assert list(read(Pieces(data), form, _MAPPING, name="log")) == whole
