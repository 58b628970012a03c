"""The reference interpreter of time gives the counts and delays that were worked out by hand."""

from __future__ import annotations

import pytest
from tests.reference.timed import Answer, TimedReference, answer, bounds_of, delays_of

from cplc.compilation import CplCompilation
from cplc.semantics.model import CheckedModel
from cplc.source import Source


def checked(text: str) -> CheckedModel:
    compilation = CplCompilation(Source("timed.cpl", text))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    return compilation.model


def asked(text: str, formula: str, *assumptions: str, delay: int | None = None) -> Answer:
    """Return the answer to one question, with the same delay of all channels."""
    model = checked(text.rstrip().removesuffix("}") + f"  property asked: {formula}\n}}\n")
    plain, bounds = bounds_of(model, assumptions)
    delays = {} if delay is None else delays_of(model, [("*", "*", delay)])
    decided = answer(model, model.properties[0].formula, plain, bounds, delays)
    assert decided is not None
    return decided


CUSTOMERS = """protocol Timed sync {{
  role Mer
  role Cus[{customers}]
  for c in Cus {{
    commitment work = C(Mer, c, pay, done)  within 2  expires 2
    Mer -> c : offer              means create work
    c -> Mer : pay   after offer
    Mer -> c : done  after pay
  }}
}}
"""


@pytest.mark.parametrize(
    ("assumption", "counts"),
    [("all within 0", (4, 16, 64)), ("all within 1", (7, 43, 253)), (None, (11, 121, 1331))],
)
def test_states_of_independent_customers(assumption: str | None, counts: tuple[int, ...]) -> None:
    for customers, count in enumerate(counts, 1):
        model = checked(CUSTOMERS.format(customers=customers))
        _, bounds = bounds_of(model, [] if assumption is None else [assumption])
        assert len(TimedReference(model, bounds, {}).explore().states) == count


def _delivery(within: int, competitors: int) -> str:
    """Return a protocol in which a commitment and competitors on its channel begin while a message is in flight."""
    competing = "".join(f"  A -> B : other{number}  after go\n" for number in range(competitors))
    return f"""protocol Delivery {{
  role A
  role B
  commitment c = C(A, B, true, done)  within {within}
  B -> A : go
  A -> B : start  after go     means create c
  A -> B : chat   after go
{competing}  A -> B : done   after start
}}
"""


@pytest.mark.parametrize("bound", range(3))
@pytest.mark.parametrize("delay", range(3))
@pytest.mark.parametrize("competitors", range(2))
def test_deadline_kept_under_competition(bound: int, delay: int, competitors: int) -> None:
    """`chat` is bounded as well, and some competitor may be in flight when the last of them becomes overdue."""
    enough = bound + (competitors + 2) * delay + 1
    formula = "AG !violated(c)"
    assert asked(_delivery(enough, competitors), formula, f"A within {bound}", delay=delay).holds
    if enough > 1:
        assert not asked(_delivery(enough - 1, competitors), formula, f"A within {bound}", delay=delay).holds


PLAIN = """protocol Plain {
  role A
  role B
  A -> B : ping  repeatable
  A -> B : pong
}
"""


def test_justice_of_due_message_does_not_depend_on_the_channel() -> None:
    for text in (PLAIN, PLAIN.replace("Plain", "Plain sync")):
        assert asked(text, "AF pong", "A").holds
        assert not asked(text, "AF pong", "ping").holds


ROUNDS = """protocol Rounds sync {
  role A
  role B
  A -> B : go
  B -> A : stop  after go  restart
}
"""


def test_rounds_without_time_are_a_timelock() -> None:
    assert asked(ROUNDS, "AG true", "all within 0").timelocks == 3
    assert asked(ROUNDS, "AG true", "all within 1").timelocks == 0
    assert asked(ROUNDS, "AG true", "A within 0").timelocks == 0


def test_repeatable_message_stops_the_clock_until_first_sent() -> None:
    endless = "protocol P sync {\n  role A\n  role B\n  A -> B : ping  repeatable\n}\n"
    assert asked(endless, "AG ping", "A within 0") == Answer(holds=False, states=3, timelocks=0)
    assert asked(endless, "AF ping", "A within 0").holds


def test_message_that_resets_itself_is_due_anew_when_it_is_sent() -> None:
    again = """protocol Again sync {
  role A
  role B
  commitment c = C(A, B, true, ping)  within 3
  A -> B : hello              means create c
  A -> B : ping  after hello  resets ping
}
"""
    assert asked(again, "AG true", "A within 1").timelocks == 0
    assert asked(again, "AG true", "A within 0").timelocks > 0
