"""For which protocols a few sizes stand for all, and what is said where they do not."""

from __future__ import annotations

import pytest

from cplc import compile
from cplc.every_size import EverySize, NotCounting
from cplc.pipeline import Compilation

_SHOP = """
protocol Shop(customers: 1..64 = 2) {{
  role Shop {{ var stock: 0..3 = 3 }}
  role Cus[customers]
  for c in Cus {{
    commitment goods = C(Shop, c, pay, ship)
    c -> Shop : order
    Shop -> c : offer  after order   means create goods
    c -> Shop : pay    after offer
    Shop -> c : ship   after pay{ship}
  }}
{asked}
}}
"""
_SERVED = "  property served assuming Shop: forall c in Cus: AG (pay[c] -> AF ship[c])"


def _shop(asked: str = _SERVED, ship: str = "") -> Compilation:
    compilation = compile(_SHOP.format(asked=asked, ship=ship))
    assert compilation.ok, compilation.diagnostics
    return compilation


def _only(compilation: Compilation) -> tuple[str, str]:
    result, *_ = EverySize(compilation).verify(compilation.questions())
    return result.answer, result.sizes or result.reason or ""


def test_customers_who_share_nothing() -> None:
    answer, sizes = _only(_shop())
    assert answer == "holds"
    assert sizes == "for every customers from 1 on: tried for customers = 1 to 2; more change nothing in it"


def test_a_pair_of_customers() -> None:
    asked = "  property p: forall b in Cus: forall c in Cus: AG (pay[b] & pay[c] -> EF (ship[b] & ship[c]))"
    assert _only(_shop(asked))[0] == "holds"


def test_a_customer_by_number() -> None:
    answer, reason = _only(_shop("  property p: AG (pay[2] -> EF ship[2])"))
    assert (answer, reason) == ("unknown", "it is unknown for customers = 1")
    grown = compile(_SHOP.format(asked="  property p: AG (pay[2] -> EF ship[2])", ship="").replace("1..64", "2..64"))
    assert _only(grown)[0] == "holds"


def test_customers_who_share_a_stock() -> None:
    answer, reason = _only(
        _shop("  property p: AG Shop.stock <= 3", "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1")
    )
    assert answer == "holds"
    assert reason.endswith("tried for customers = 1 to 5; an invariant of each of them shows it of more")


def test_what_needs_somebody_who_is_not_looked_at() -> None:
    answer, reason = _only(
        _shop(
            "  property p: AG (Shop.stock = 2 -> EF Shop.stock = 3)",
            "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1\n    c -> Shop : back  after ship"
            "  on receipt Shop.stock := Shop.stock + 1",
        )
    )
    assert answer == "unknown"
    assert reason.startswith("it holds for customers = 1 to 5, and nothing is known of more: what it depends on grows")


def test_a_flaw_that_takes_four() -> None:
    ship = "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1"
    answer, sizes = _only(_shop("  property p: AG Shop.stock > 0", ship))
    assert (answer, sizes) == ("fails", "it holds for customers = 1 to 2, and it fails for customers = 3")


@pytest.mark.parametrize(
    ("ship", "because"),
    [
        (" & pay[1]", "it names a member by a number"),
        (" if customers > 3", "it reckons with `customers`"),
        (" if c > 3", "it takes a member for a number"),
    ],
)
def test_members_that_are_not_alike(ship: str, because: str) -> None:
    answer, reason = _only(_shop("  property p: AG (ship[1] -> pay[1])", ship))
    assert answer == "unknown"
    assert reason.endswith(because)


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("protocol Shop(customers: 1..64 = 2, k: 0..9 = customers)", "protocol Shop(customers: 1..64 = 2)"),
        ("role Clerk[customers + 1]\n  role Cus[customers]", "role Cus[customers]"),
        ("role Cus[customers] { var left: 0..9 = customers }", "role Cus[customers]"),
        ("var stock: 0..3 + customers = 3", "var stock: 0..3 = 3"),
        ("c -> Shop : pay(sum: 0..customers)", "c -> Shop : pay  "),
    ],
)
def test_numbers_that_are_reckoned_from_the_size(text: str, by: str) -> None:
    shop = _SHOP.format(asked=_SERVED, ship="")
    assert by in shop
    compilation = compile(shop.replace(by, text))
    assert compilation.ok, compilation.diagnostics
    answer, reason = _only(compilation)
    assert answer == "unknown"
    assert reason.endswith("it reckons with `customers`")


def test_a_fact_hides_nobody() -> None:
    compilation = compile(
        _SHOP.format(asked="  fact all_paid = forall b in Cus: pay[b]\n" + _SERVED, ship=" & all_paid")
    )
    assert _only(compilation)[0] == "fails"
    compilation = compile(
        _SHOP.format(
            asked="  fact all_paid = forall b in Cus: pay[b]\n  property p: AG (pay[1] -> EF ship[1])",
            ship=" & all_paid",
        )
    )
    assert _only(compilation)[1].endswith("it asks about all of `b`'s family")


def test_sizes_that_are_all_there_are() -> None:
    ship = "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1"
    compilation = compile(_SHOP.format(asked="  property p: AG Shop.stock <= 3", ship=ship).replace("1..64", "1..3"))
    assert _only(compilation) == ("holds", "for every customers that there may be: customers = 1 to 3")


def test_which_parameter_counts() -> None:
    with pytest.raises(NotCounting) as raised:
        EverySize(compile("protocol P(n: 1..3 = 1) { role A role B A -> B : m  if n > 1 }"), "").parameter  # noqa: B018
    assert raised.value.known == ()
