"""Bounds that would make a property hold which deadlines refute."""

from __future__ import annotations

import pytest
from tests.support.timed_verdicts import compiled

from cplc.checking.results import HelpingBounds
from cplc.report.failure_explanation import closing_sentences

_SALE = """protocol Sale {
  role Seller
  role Buyer
  channel within 1
  commitment sale = C(Seller, Buyer, pay, goods) within 4
  Seller -> Buyer : offer  means create sale
  Buyer -> Seller : pay    after offer
  Seller -> Buyer : goods  after pay
  property asked: AG !violated(sale)
}
"""


def _helping(text: str) -> HelpingBounds | None:
    compilation = compiled(text)
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    (result,) = compilation.verify(compilation.questions(["asked"]))
    assert result.answer == "fails"
    if result.helping_bounds is not None and result.helping_bounds.ticks is not None:
        assert any("It would hold if" in sentence for sentence in closing_sentences(result))
    return result.helping_bounds


def test_debtor_acts_in_time() -> None:
    assert _helping(_SALE) == HelpingBounds(("Seller",), 2, False)


def test_bound_of_question_is_tightened() -> None:
    assert _helping(_SALE.replace("asked:", "asked assuming Seller within 3:")) == HelpingBounds(("Seller",), 2, False)


def test_channels_without_bound_need_one() -> None:
    assert _helping(_SALE.replace("  channel within 1\n", "")) == HelpingBounds(("Seller",), 1, True)


@pytest.mark.parametrize("deadline", [1, 2])
def test_deadline_shorter_than_delay_needs_shorter_delay(deadline: int) -> None:
    text = _SALE.replace("within 4", f"within {deadline}")
    expected = HelpingBounds(("Seller",), 0, False) if deadline == 2 else HelpingBounds((), None, False)
    assert _helping(text) == expected


def test_two_roles_act_in_time() -> None:
    text = _SALE.replace("C(Seller, Buyer, pay, goods) within 4", "C(Seller, Buyer, true, goods) within 6")
    assert _helping(text) == HelpingBounds(("Seller", "Buyer"), 1, False)


def test_property_without_deadline_has_none() -> None:
    assert _helping(_SALE.replace("AG !violated(sale)", "AG !goods")) is None


def test_existential_property_has_none() -> None:
    assert _helping(_SALE.replace("AG !violated(sale)", "EF (violated(sale) & !pay)")) is None
