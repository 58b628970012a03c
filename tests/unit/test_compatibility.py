"""Limits of comparisons: differences found before the limit are reported, and nothing else is."""

from __future__ import annotations

from cplc.compatibility.compare import Comparison, compare
from cplc.compatibility.matching import Match
from cplc.compilation import CplCompilation
from cplc.source import Source
from cplc.system.model import System

_OLD = """protocol P {
  role A
  role B
  commitment c = C(A, B, true, m)
  A -> B : k  means create c
  A -> B : m  after k
  B -> A : x
  B -> A : y
}
"""


def system(text: str) -> System:
    compilation = CplCompilation(Source("p.cpl", text))
    assert compilation.ok
    return compilation.system


def compared(new: str, *, states: int = 1000, situations: int = 1000) -> Comparison:
    return compare(Match(system(_OLD), system(new), {}), states=states, situations=situations)


def test_too_many_states_leave_everything_open() -> None:
    differences = compared(_OLD, states=5)
    assert not differences.is_breaking
    assert not differences.has_lost
    assert differences.newly.incomplete == differences.no_longer.incomplete == "more than 5 reachable states"


def test_differences_before_limit_are_reported() -> None:
    new = _OLD.replace("B -> A : y", "B -> A : y\n  B -> A : z")
    differences = compared(new, situations=4)
    assert [novelty.event.message for novelty in differences.newly.novelties] == ["z"]
    assert differences.newly.incomplete == "more than 4 situations to compare"
    assert differences.is_breaking
    assert compared(_OLD, situations=3).newly.incomplete
    assert not compared(_OLD, situations=3).is_breaking


def test_the_smallest_sets_are_enough() -> None:
    """The search follows the path to a state after which the other version is certainly in one state."""
    hidden = "  role H\n  H -> A : h\n  A -> B : m  after k & h\n"
    old = _OLD.replace("  A -> B : m  after k\n", hidden)
    match = Match(system(old), system(_OLD), {})
    differences = compare(match)
    assert not differences.newly.novelties, "somebody hidden may always have sent h"
    assert differences.lost_roles == ("H",)


def test_names_of_families_and_parts_are_renamed_as_wholes() -> None:
    match = Match(system(_OLD), system(_OLD), {"pay": "money", "pay.early": "first", "shop": "store"})
    assert match.renamed("pay[1,2]") == "money[1,2]"
    assert match.renamed("pay.late") == "money.late"
    assert match.renamed("pay.early[3]") == "first[3]"
    assert match.renamed("payment") == "payment"
    assert match.renamed("shop.pay") == "store.pay"
    assert match.unused() == ("pay", "pay.early", "shop")
