"""An inferred mapping is valid, and maps a plain log correctly."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from tests.support.random_examples import examples

from cplc.logs.events import Event, Record
from cplc.logs.mapping import LogMapping, Vocabulary
from cplc.logs.mapping_file import parse_mapping
from cplc.logs.mapping_inference import propose
from cplc.logs.reading import read, records
from cplc.source import Source

_WORDS = Vocabulary(
    frozenset(["order", "offer", "pay", "leave", "deliver"]),
    {"order": {"pieces": (1, 2, 3)}},
    frozenset(["Seller", "Buyer"]),
)

_LOG = """\
OrderNo;When;What;Who;Qty
1001;02.03.2026 09:15;Order created;BUYER;2
1001;02.03.2026 10:40;Offer sent;The Seller;
1002;13.03.2026 11:30;Payment booked;BUYER;
1002;13.03.2026 11:30;Weather;nobody;
"""


def test_mapping_inferred_from_plain_log() -> None:
    proposal = propose(records(io.BytesIO(_LOG.encode()), None, LogMapping()), _WORDS)
    mapping, problems = parse_mapping(Source("proposed.toml", proposal.text), _WORDS)
    assert problems == ()
    assert '# "Weather" = ?' in proposal.text
    events = [one for one in read(io.BytesIO(_LOG.encode()), None, mapping) if isinstance(one, Event)]
    assert [(one.case, one.message, one.sender) for one in events] == [
        ("1001", "order", "Buyer"),
        ("1001", "offer", "Seller"),
        ("1002", "pay", "Buyer"),
        ("1002", "Weather", "nobody"),
    ]
    assert all(one.time is not None for one in events)


_NAMES = st.text(max_size=8) | st.sampled_from(["case", "message", "sender", "time", "a.b", "Who", "OrderNo"])
_VALUES = st.text(max_size=12) | st.sampled_from(["order", "Seller", "2026-01-01", "3"]) | st.integers() | st.none()


@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=6), max_size=12), st.none() | st.text(max_size=5))
@examples(200)
def test_inferred_mapping_is_valid(fields: list[dict[str, object]], case_type: str | None) -> None:
    proposal = propose((Record(f"log:{at}", at, one) for at, one in enumerate(fields)), _WORDS, case_type or None)
    _, problems = parse_mapping(Source("proposed.toml", proposal.text), _WORDS)
    assert problems == (), proposal.text
    assert proposal.records == len(fields)
