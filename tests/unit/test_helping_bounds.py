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


_FORCED = """protocol Forced {
  role A
  role B
  commitment work = C(A, B, true, done)   within 2
  A -> B : start  means create work
  A -> B : done        after start
  A -> B : sorry       after start   if open(work)   means withdraw work
  B -> A : never_mind  after start   if open(work)   means release work
  A -> B : refuse      after start   if open(work)   means violate work
  choice done | refuse
  property asked assuming ASSUMED: AG !violated(work)
}
"""


@pytest.mark.parametrize(
    ("assumed", "note"),
    [
        (
            "A",
            "what is assumed forces `sorry`, which withdraws `work`; `assuming start, done, refuse` leaves it out",
        ),
        (
            "all within 1",
            "what is assumed forces `sorry`, which withdraws `work`; and `never_mind`, which releases `work`; "
            "`assuming start, done, refuse within 1` leaves them out",
        ),
        ("B", "what is assumed forces `never_mind`, which releases `work`"),
        ("start, done within 1", None),
    ],
)
def test_forced_messages_that_give_up_are_named(assumed: str, note: str | None) -> None:
    compilation = compiled(_FORCED.replace("ASSUMED", assumed))
    (result,) = compilation.verify(compilation.questions(["asked"]))
    assert result.notes == (() if note is None else (note,))


def test_bound_that_equals_the_deadline_is_too_late() -> None:
    text = _SALE.replace("  channel within 1", "  channel within 0").replace("asked:", "asked assuming goods within 4:")
    compilation = compiled(text)
    (result,) = compilation.verify(compilation.questions(["asked"]))
    sentence = "A deadline of 4 ticks runs out with the last one, so within 4 ticks is too late for `goods`."
    assert sentence in list(closing_sentences(result))


def test_timelock_asks_for_a_bound_of_one() -> None:
    text = """protocol Rounds sync {
  role A
  role B
  A -> B : go
  B -> A : stop  after go  restart
  property asked assuming A within 0, B within 0: AG (go -> AF stop)
}
"""
    compilation = compiled(text)
    (result,) = compilation.verify(compilation.questions(["asked"]))
    assert result.answer == "unknown"
    assert any("use `A within 1, B within 1`" in remark.message for remark in result.remarks)


def test_check_of_strategies_has_helping_bounds() -> None:
    check = "check honourable assuming Seller within 3 expect fails"
    text = _SALE.replace("property asked: AG !violated(sale)", check)
    compilation = compiled(text)
    (result,) = compilation.verify(compilation.questions(["honourable"]))
    assert result.answer == "fails"
    assert result.helping_bounds == HelpingBounds(("Seller",), 2, False)
