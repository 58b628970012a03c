"""Beliefs and decisions of a participant read the local states of its roles."""

from __future__ import annotations

from fractions import Fraction

from cplc.compilation import CplCompilation
from cplc.compilation.participants import ParticipantQuery, line_questions, participants
from cplc.logic import expressions as e
from cplc.source import Source
from cplc.system.participant import Participant

_TRADE = """protocol Trade {{
  role Seller {{ var stock: 0..3 = 1 }}
  role Buyer
  role Bank
  commitment goods = C(Seller, Buyer, pay, ship)
  commitment rest = C(Buyer, Seller, ship, pay)
  Seller -> Buyer : offer means create goods
  Buyer -> Seller : pay(price: 1..2) after offer
  Seller -> Buyer : ship after pay
  for i in 1..2 {{ Buyer -> Bank : deposit }}
  agent Alice plays {roles} {{ {body} }}
}}
"""


def _asked(body: str, roles: str = "Seller") -> ParticipantQuery:
    compilation = CplCompilation(Source("test", _TRADE.format(roles=roles, body=body)))
    assert compilation.ok, [diagnostic.message for diagnostic in compilation.diagnostics]
    (participant,) = participants(compilation)
    assert not list(participant.system.problems())
    return participant


def _participant(body: str, roles: str = "Seller") -> Participant:
    return _asked(body, roles).participant


def test_messages_are_read_in_the_copy_of_who_is_played() -> None:
    (belief,) = _participant("believes Buyer when offer & pay.price = 2: pay 1").beliefs
    assert e.reads(belief.condition) == {"offer@Seller", "pay@Seller", "pay.price@Seller"}
    (belief,) = _participant("believes Seller when offer & sent(pay): ship 1", "Buyer").beliefs
    assert e.reads(belief.condition) == {"offer@Buyer", "pay@Buyer"}


def test_player_of_both_sides_observes_receipt() -> None:
    (belief,) = _participant("believes Seller when pay & Seller.stock > 0: ship 1", "Seller, Buyer").beliefs
    assert e.reads(belief.condition) == {"pay@Seller", "Seller.stock"}


def test_commitments_are_read_as_seen_and_kept_in_view() -> None:
    participant = _asked("believes Buyer when conditional(goods): pay 1")
    (belief,) = participant.participant.beliefs
    assert e.reads(belief.condition) == {"goods@Seller"}
    assert participant.system.variable["goods@Seller"].kind == "view"


def test_payload_is_one_step_and_message_all_steps() -> None:
    participant = _asked("believes Buyer: pay(2) 0.25 | pay(1) 0.5..0.75  value pay: -2.5, deposit: 3")
    (belief,) = participant.participant.beliefs
    names = [[participant.system.steps[index].name for index in event.steps] for event in belief.events]
    assert names == [["send pay(2)"], ["send pay(1)"]]
    assert [(event.low, event.high) for event in belief.events] == [
        (Fraction(1, 4), Fraction(1, 4)),
        (Fraction(1, 2), Fraction(3, 4)),
    ]
    worth = {
        tuple(participant.system.steps[index].name for index in one.steps): one.amount
        for one in participant.participant.worth
    }
    assert worth == {
        ("send pay(1)", "send pay(2)"): Fraction(-5, 2),
        ("send deposit[1]", "send deposit[2]"): Fraction(3),
    }


def test_only_its_own_commitments_are_to_be_kept() -> None:
    assert e.reads(_participant("goal offer").conforming) == {"goods"}
    assert e.is_true(_participant("goal offer", "Buyer, Bank").conforming)  # nothing creates `rest`
    assert e.is_true(_participant("goal offer", "Bank").conforming)


def test_goals_are_of_what_has_been_received_and_each_part_is_one() -> None:
    goals = _participant("goal pay & fulfilled(goods)").goals
    assert [(goal.text, set(e.reads(goal.condition))) for goal in goals] == [
        ("pay", {"pay@Seller"}),
        ("fulfilled(goods)", {"goods"}),
    ]


def test_lines_are_questions_about_the_end() -> None:
    text = _TRADE.format(roles="Seller", body="goal ship").replace(
        "\n}\n",
        "\n  analyze Alice: achievement >= 0.5 expect fails"
        "\n  analyze Alice assuming Buyer: conformance > 0.25, value > -1\n}\n",
    )
    compilation = CplCompilation(Source("test", text))
    questions = [one.question for one in line_questions(compilation)]
    assert [(one.name, one.text, one.expected) for one in questions] == [
        ("Alice.achievement", "achievement >= 0.5", "fails"),
        ("Alice.conformance+value", "conformance > 0.25, value > -1", "holds"),
    ]
    assert [query.assumed for query in participants(compilation)] == [(), ("Buyer",)]
