"""Accounts of deadlines: what was waited for at each tick, on runs given step by step."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from tests.properties.test_lowering_matches_reference import compiled
from tests.properties.test_payload_deadlines import protocols

from cplc.report.deadline_account import account_sentence, deadline_accounts
from cplc.system.interpreter import holds, value
from cplc.system.model import System
from cplc.system.trace import Move, Run

_PAIR = "role A role B"


def run_of(system: System, *names: str) -> Run:
    """Return the run of these steps."""
    state = {variable.name: variable.initial[0] for variable in system.variables}
    start, moves = dict(state), []
    for name in names:
        at = next(at for at, step in enumerate(system.steps) if step.name == name)
        step = system.steps[at]
        assert holds(step.guard, state), f"`{name}` is not enabled"
        state = state | {variable: value(update, state) for variable, update in step.updates}
        moves.append(Move(at, state))
    return Run(start, tuple(moves))


def account(text: str, *names: str, sync: str = "") -> list[str | None]:
    system = compiled(f"protocol P {sync} {{ {text} }}").system
    return [account_sentence(system, one) for one in deadline_accounts(system, run_of(system, *names))]


def test_tick_is_charged_to_the_role_that_could_send() -> None:
    text = (
        f"{_PAIR} A -> B : offer means create c  A -> B : pay after offer  commitment c = C(A, B, true, pay) within 2"
    )
    assert account(text, "exchange offer", "tick", "tick", sync="sync") == [
        "`pay` was possible after step 1: 2 ticks passed while A could send it; the deadline of c is 2 ticks."
    ]


def test_tick_in_flight_is_told_from_tick_before_the_send() -> None:
    text = (
        f"{_PAIR} A -> B : offer means create c  A -> B : pay after offer  commitment c = C(A, B, true, pay) within 3"
    )
    names = ("send offer", "receive offer", "tick", "tick", "send pay", "tick")
    assert account(text, *names) == [
        "`pay` was possible after step 2 and sent at step 5: 2 ticks passed while A could send it and 1 while it was "
        "in flight; the deadline of c is 3 ticks."
    ]


def test_occupied_channel_is_charged_to_its_message() -> None:
    text = f"""{_PAIR} A -> B : offer means create c  A -> B : news after offer  A -> B : pay after offer
    commitment c = C(A, B, true, pay) within 2"""
    assert account(text, "send offer", "receive offer", "send news", "tick", "receive news", "tick") == [
        "`pay` was possible after step 2: 1 tick passed while `news` was in flight and 1 while A could send it; the "
        "deadline of c is 2 ticks."
    ]


def test_missing_message_of_another_role_is_charged_to_that_role() -> None:
    text = f"""{_PAIR} A -> B : offer means create c  B -> A : address after offer  A -> B : ship after address
    commitment c = C(A, B, true, ship) within 2"""
    assert account(text, "send offer", "receive offer", "tick", "send address", "tick") == [
        "`ship` was never possible: 1 tick passed while B could send `address` and 1 while `address` was in flight; "
        "the deadline of c is 2 ticks."
    ]


def test_expired_deadline_waits_for_the_antecedent() -> None:
    text = f"""{_PAIR} A -> B : offer means create c  B -> A : accept after offer  A -> B : ship after accept
    commitment c = C(A, B, accept, ship) within 3 expires 1"""
    assert account(text, "exchange offer", "tick", sync="sync") == [
        "`accept` was possible after step 1: 1 tick passed while B could send it; the deadline of c is 1 tick."
    ]


def test_ticks_of_a_suspension_do_not_count() -> None:
    text = f"""{_PAIR} A -> B : offer means create c  A -> B : pay after offer
    B -> A : hold after offer means suspend c  B -> A : resume after hold means reactivate c
    commitment c = C(A, B, true, pay) within 2"""
    names = ("exchange offer", "tick", "exchange hold", "tick", "tick", "exchange resume", "tick")
    assert account(text, *names, sync="sync") == [
        "`pay` was possible after step 1: 2 ticks passed while A could send it; the deadline of c is 2 ticks."
    ]


def test_each_message_of_a_conjunction_has_its_account() -> None:
    text = f"""{_PAIR} A -> B : offer means create c  A -> B : x after offer  A -> B : y after x
    commitment c = C(A, B, true, x & y) within 2"""
    assert account(text, "exchange offer", "tick", "exchange x", "tick", sync="sync") == [
        "`y` was possible after step 3: 1 tick passed while A could send `x` and 1 while A could send it; the "
        "deadline of c is 2 ticks."
    ]
    assert account(text, "exchange offer", "tick", "tick", sync="sync") == [
        "`x` was possible after step 1: 2 ticks passed while A could send it; `y` was never possible: 2 ticks passed "
        "while A could send `x`; the deadline of c is 2 ticks."
    ]


def test_content_about_runs_names_its_messages() -> None:
    text = f"""{_PAIR} A -> B : offer means create c  A -> B : x after offer  A -> B : y after x
    commitment c = C(A, B, true, F (x & F y)) within 1"""
    assert account(text, "exchange offer", "exchange x", "tick", sync="sync") == [
        "`y` was possible after step 2: 1 tick passed while A could send it; the deadline of c is 1 tick."
    ]


def test_deadline_from_a_payload_is_counted() -> None:
    text = f"""{_PAIR} A -> B : offer(days: 1..3) means create c  A -> B : pay after offer
    commitment c = C(A, B, true, pay) within days"""
    assert account(text, "exchange offer(3)", "tick", "tick", "tick", sync="sync") == [
        "`pay` was possible after step 1: 3 ticks passed while A could send it; the deadline of c is 3 ticks."
    ]


@pytest.mark.parametrize("channels", ["", "sync"])
def test_impossible_message_is_said_to_be(channels: str) -> None:
    text = f"""{_PAIR} A -> B : offer means create c  A -> B : never after offer if false  A -> B : pay after never
    commitment c = C(A, B, true, pay) within 1"""
    names = ("exchange offer", "tick") if channels else ("send offer", "receive offer", "tick")
    assert account(text, *names, sync=channels) == [
        "`pay` was never possible: 1 tick passed while nothing led to it; the deadline of c is 1 tick."
    ]


def test_deadline_without_awaited_message_has_no_sentence() -> None:
    text = """role A { var done: bool = false } role B  A -> B : offer means create c
    commitment c = C(A, B, true, A.done) within 1"""
    assert account(text, "exchange offer", "tick", sync="sync") == [None]


@given(protocols())
def test_waits_of_each_message_sum_up_to_the_deadline(text: str) -> None:
    note(text)
    compilation = compiled(text)
    for result in compilation.verify(compilation.questions(["late", "expired"])):
        if result.evidence is None:
            continue
        for one in deadline_accounts(result.system, result.evidence.run):
            assert all(sum(wait.ticks for wait in awaited.waits) == one.ticks for awaited in one.awaited)
            assert one.began < one.ended
