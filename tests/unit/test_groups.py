"""Groups of debtors and creditors: their texts in reports, the monitor and the system as JSON."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from cplc.compatibility.matching import Match
from cplc.compilation import CplCompilation
from cplc.export.system_json import system_data
from cplc.language.groups import (
    Answerable,
    agreeing,
    answerable_text,
    binds_as_much,
    is_on,
    is_promised,
    members,
    side_of,
    side_text,
)
from cplc.logs.events import Event
from cplc.monitoring.findings import Violated
from cplc.monitoring.monitor import Monitor
from cplc.report.text import result_text
from cplc.source import Source

_CARRY = """
cpl 2
protocol Carry {
  role Ann
  role Bob
  role Cus
  commitment carry = C(%s{Ann, Bob}, Cus, true, lift)
  Ann -> Cus, Bob : offer               means create carry
  Ann -> Cus      : lift   after offer
  Bob -> Cus, Ann : drop   after offer  means violate carry
  property kept: AG !violated(carry)
  property said: AG (offer -> Fu({Ann, Bob} -> Cus, lift))
  check honourable
}
"""


def _compiled(answerable: str = "") -> CplCompilation:
    compilation = CplCompilation(Source("carry.cpl", _CARRY % answerable))
    assert compilation.ok
    return compilation


def _report(name: str, answerable: str = "") -> str:
    compilation = _compiled(answerable)
    (result,) = compilation.verify(compilation.questions([name]))
    return " ".join(result_text(result).split())


def test_side_and_its_roles() -> None:
    assert side_of(["Ann"]) == "Ann"
    assert members(side_of(["Ann", "Bob[1]"])) == ("Ann", "Bob[1]")
    assert is_on(["Eve", "Bob"], "{Ann, Bob}")
    assert not is_on(["Eve"], "{Ann, Bob}")


@pytest.mark.parametrize(
    ("answerable", "at_least"), [("all", ["all"]), ("any", ["all", "any"]), ("each", ["all", "any", "each"])]
)
def test_order_of_what_debtors_can_be_held_to(answerable: Answerable, at_least: list[Answerable]) -> None:
    assert [one for one in get_args(Answerable) if binds_as_much(answerable, one)] == at_least


def test_side_in_words() -> None:
    assert side_text("Ann") == "Ann"
    assert side_text("{Ann, Bob}") == "Ann and Bob"
    assert side_text("{Ann, Bob, Eve}", "or") == "Ann, Bob or Eve"
    assert [answerable_text("{Ann, Bob}", how) for how in ("all", "any", "each")] == [
        "Ann and Bob together", "Ann or Bob", "Ann and Bob each",
    ]  # fmt: skip
    assert agreeing("{Ann, Bob}", "owes", "owe") == "owe"
    assert agreeing("{Ann, Bob}", "owes", "owe", "any") == agreeing("Ann", "owes", "owe") == "owes"


@pytest.mark.parametrize(
    ("by", "answerable", "expected"),
    [
        ("Ann", "all", False), ("Ann", "any", False), ("Ann", "each", True), ("Eve", "each", False),
        ("{Ann, Bob}", "all", True), ("{Ann, Bob, Eve}", "all", True), ("{Ann, Eve}", "all", False),
    ],
)  # fmt: skip
def test_channel_has_what_is_promised_without_others(by: str, answerable: str, expected: bool) -> None:
    assert is_promised("{Ann, Bob}", "{Cus, Dan}", answerable, by, "Dan") is expected  # type: ignore[arg-type]
    assert not is_promised("{Ann, Bob}", "Cus", answerable, by, "{Cus, Dan}")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answerable", "expected"),
    [
        ("", "Ann and Bob together violated carry towards Cus"),
        ("any ", "Ann or Bob violated carry towards Cus"),
        ("each ", "Ann and Bob each violated carry towards Cus"),
    ],
)
def test_blame_names_the_answerable_debtors(answerable: str, expected: str) -> None:
    report = _report("kept", answerable)
    assert expected in report
    assert "by `Bob -> Cus, Ann : drop`" in report


def test_unkept_promise_names_the_sides_of_the_channel() -> None:
    assert "Ann and Bob have promised carry to Cus and not kept it" in _report("said")
    assert "Ann and Bob have promised carry to Cus and not kept it" in _report("said", "each ")


@pytest.mark.parametrize(
    ("answerable", "expected"),
    [("any ", "no single one of Ann and Bob can"), ("each ", "not each of Ann and Bob alone can")],
)
def test_honourable_tells_who_fails(answerable: str, expected: str) -> None:
    assert expected in _report("honourable", answerable)


def test_monitor_names_the_answerable_debtors() -> None:
    monitor = Monitor(_compiled("each "), deliveries="inferred", most=1000)
    findings = []
    for number, (sender, name) in enumerate((("Ann", "offer"), ("Bob", "drop"))):
        findings += monitor.feed(Event(f"log:{number}", "it", name, sender))
    (violated,) = [one for one in (*findings, *monitor.finish()) if isinstance(one, Violated)]
    assert violated.text.startswith("Ann and Bob each violate `carry` towards Cus by `drop`")
    assert violated.data["answerable"] == "each"


def test_system_as_json_lists_the_members() -> None:
    compilation = _compiled("any ")
    (commitment,) = json.loads(json.dumps(system_data(compilation.system)))["commitments"]
    assert commitment["debtors"] == ["Ann", "Bob"]
    assert (commitment["creditor"], commitment["answerable"]) == ("Cus", "any")
    assert "debtor" not in commitment


def test_commitment_is_matched_whatever_the_order_of_its_debtors() -> None:
    old = _compiled().system
    roles = "  role Ann\n  role Bob\n"
    assert roles in _CARRY
    turned = (_CARRY % "").replace(roles, "  role Bob\n  role Ann\n")
    new = CplCompilation(Source("carry.cpl", turned)).system
    (commitment,) = old.commitments
    assert new.commitments[0].debtor != commitment.debtor
    assert Match(old, new, {}).successor(commitment) == new.commitments[0]
    renamed = CplCompilation(Source("carry.cpl", turned.replace("Bob", "Rob"))).system
    assert Match(old, renamed, {}).successor(commitment) is None
    assert Match(old, renamed, {"Rob": "Bob"}).successor(commitment) == renamed.commitments[0]
