"""Deadlines from payloads: the lowered system is the one that the reference interpreter walks, and verdicts agree."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st
from tests.properties.test_lowering_matches_reference import check_lowering, check_verdicts, compiled
from tests.support.random_examples import examples

VERDICTS = """
  property late:    EF violated(c)
  property expired: EF expired(c)
  property third:   EF (violated(c) & offer.days = 3)
  property kept:    EF (fulfilled(c) & offer.days = 1)
  property bounded: A G (does(offer) -> F closed(c))
"""


@st.composite
def protocols(draw: st.DrawFn) -> str:
    """Return a protocol whose commitments have deadlines over the fields of the messages that create them."""

    def deadline(clause: str, *values: str) -> str:
        return f" {clause} {draw(st.sampled_from(values))}"

    low = draw(st.sampled_from([1, 1, 1, 0]))
    fields = f"days: {low}..{draw(st.integers(1, 3))}"
    options = draw(st.sampled_from(["", " repeatable"]))
    lines = [f"A -> B : offer({fields}) means create c{options}"]
    has_two_creators = draw(st.booleans())
    if has_two_creators:
        lines.append("A -> B : renew(days: 1..2) after offer if closed(c) means create c")
    lines.append("B -> A : pay after offer")
    lines.append(f"A -> B : done after {draw(st.sampled_from(['offer', 'pay']))}")
    if draw(st.booleans()):
        lines += ["B -> A : hold after offer means suspend c", "B -> A : resume after hold means reactivate c"]
    names = (
        ["days", "days + 1"]
        if has_two_creators
        else ["days", "offer.days", "offer.days + 1", "4 - days", "2 * offer.days"]
    )
    within = deadline("within", *names, "2") if draw(st.booleans()) else ""
    expires = deadline("expires", *names, "1") if not within or draw(st.booleans()) else ""
    lines.append(f"commitment c = C(A, B, {draw(st.sampled_from(['pay', 'true']))}, done){within}{expires}")
    if draw(st.booleans()):
        retaining = draw(st.sampled_from(["", " retaining"]))
        lines.append(f"A -> D : pass(days: 1..2) after offer means delegate c to d{retaining}")
        timed = deadline("within", "days", "pass.days", "1") + (expires and " expires days")
        lines.append(f"commitment d = C(D, B, pay, done){timed}")
    if draw(st.booleans()):
        lines.append("A -> B : again after done restart")
    channels = draw(st.sampled_from(["", " sync"]))
    body = "\n".join(f"  {line}" for line in lines)
    return f"protocol Random{channels} {{\n  role A\n  role B\n  role D\n{body}\n{VERDICTS}}}\n"


@given(protocols())
def test_lowered_payload_deadlines_match_reference(text: str) -> None:
    note(text)
    check_lowering(compiled(text))


@given(protocols())
@examples(15)
def test_verdicts_with_payload_deadlines_match_reference(text: str) -> None:
    note(text)
    compilation = compiled(text)
    if checked := check_lowering(compilation):
        check_verdicts(compilation, *checked)
