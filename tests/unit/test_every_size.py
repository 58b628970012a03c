"""Parameterised verification: cutoffs, declared ranges, budgets, and the smallest failing size."""

from __future__ import annotations

import time

import pytest

from cplc import compile
from cplc.checking.builtin_checks import range_question
from cplc.checking.replay import replay
from cplc.checking.results import Question, Result
from cplc.checking.verify import Verifier
from cplc.compilation import BoundQuestion, CplCompilation
from cplc.parameterised import EverySize, NotCounting, default_allowance, shares_of_time
from cplc.parameterised.instances import Proof
from cplc.parameterised.view_abstraction import ViewAbstractionProofs
from cplc.runtime.context import Budget

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
_EACH = "view abstraction: an invariant of each member implies it"
_SERVED = "  property served assuming Shop: forall c in Cus: AG (pay[c] -> AF ship[c])"


def _shop(property_text: str = _SERVED, ship: str = "") -> CplCompilation:
    compilation = compile(_SHOP.format(asked=property_text, ship=ship))
    assert compilation.ok, compilation.diagnostics
    return compilation


def _result(compilation: CplCompilation, units: int | None = None) -> Result:
    """Return the first result, with a budget of so many units of work."""
    allowance = default_allowance if units is None else (lambda _: Budget(units))
    every = EverySize(compilation, allowance=allowance)
    result, *_ = every.verify(compilation.declared_questions())
    return result


def _text(result: Result) -> str:
    text = "" if result.sizes is None else result.sizes.text
    return "; ".join(part for part in (text, result.reason) if part)


def _only(compilation: CplCompilation) -> tuple[str, str]:
    result = _result(compilation)
    return result.answer, _text(result)


def test_cutoff_if_members_share_nothing() -> None:
    answer, sizes = _only(_shop())
    assert answer == "holds"
    assert sizes == (
        "holds for all customers >= 1: verified for customers = 1 to 2, "
        "the rest proved by a cutoff: further members change nothing that it depends on"
    )


_IN_TIME = """
protocol Shop(customers: 1..64 = 2) {{
  role Shop {shop}
  role Cus[customers]
  channel within {delay}
  for c in Cus {{
    commitment goods = C(Shop, c, pay, ship)  within 4
    c -> Shop : order
    Shop -> c : offer  after order   means create goods{sets}
    c -> Shop : pay    after offer
    Shop -> c : ship   after pay
    Shop -> c : ping   after pay     resets ping
  }}
  property kept assuming {assumed}: {formula}
}}
"""
_KEPT = "forall c in Cus: AG !violated(goods[c])"
_MET = "forall b in Cus: forall c in Cus: AG (pay[b] & pay[c] -> AF<=4 ticks (ship[b] & ship[c]))"


@pytest.mark.parametrize(
    ("assumed", "formula", "shop", "sets", "answer"),
    [
        ("all within 1", _KEPT, "", "", "holds"),
        ("ship within 1", _KEPT, "", "", "holds"),
        ("all within 1", _MET, "", "", "holds"),
        ("all within 0", _KEPT, "", "", "unknown"),  # `ping` is sent again and again in no time
        ("all within 1", _KEPT, "{ var sold: 0..1 = 0 }", "  set Shop.sold := 1", "unknown"),
    ],
)
def test_cutoff_if_ticks_alone_connect_members_without_timelocks(
    assumed: str, formula: str, shop: str, sets: str, answer: str
) -> None:
    delay = 0 if assumed == "all within 0" else 1
    compilation = compile(_IN_TIME.format(assumed=assumed, formula=formula, shop=shop, sets=sets, delay=delay))
    assert compilation.ok, compilation.diagnostics
    result = _result(compilation, 60_000)
    assert result.answer == answer, _text(result)
    assert ("none of them can stop the clock for good" in _text(result)) == (answer == "holds")


def test_invariant_of_pairs() -> None:
    property_text = "  property p: forall b in Cus: forall c in Cus: AG (pay[b] & pay[c] -> EF (ship[b] & ship[c]))"
    assert _only(_shop(property_text))[0] == "holds"


def test_member_by_number_leaves_smaller_sizes_unknown() -> None:
    answer, reason = _only(_shop("  property p: AG (pay[2] -> EF ship[2])"))
    assert answer == "unknown"
    assert reason.startswith("holds for all customers >= 2: verified for customers = 2, ")
    assert reason.endswith("the file has errors for customers = 1: There is no `pay[2]`")
    grown = compile(_SHOP.format(asked="  property p: AG (pay[2] -> EF ship[2])", ship="").replace("1..64", "2..64"))
    assert _only(grown)[0] == "holds"


def test_view_abstraction_with_shared_stock() -> None:
    answer, reason = _only(
        _shop("  property p: AG Shop.stock <= 3", "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1")
    )
    assert answer == "holds"
    assert reason.endswith(f"verified for customers = 1 to 5, the rest proved by {_EACH}")


def test_growing_dependency_has_no_proof() -> None:
    shop = _shop(
        "  property p: AG (Shop.stock = 2 -> EF Shop.stock = 3)",
        "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1\n    c -> Shop : back  after ship"
        "  on receipt Shop.stock := Shop.stock + 1",
    )
    result = _result(shop, units=20_000)
    assert result.answer == "unknown"
    assert result.sizes is not None
    assert result.sizes.scope == "verified sizes"
    assert len(result.sizes.verified) > 2
    last = result.sizes.verified[-1]
    assert _text(result).startswith(
        f"holds for customers = 1 to {last}; the work budget was used up at customers = {last + 1}; "
        "no proof for every customers: what it depends on grows"
    )


def test_smallest_failing_size_is_reported() -> None:
    ship = "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1"
    answer, sizes = _only(_shop("  property p: AG Shop.stock > 0", ship))
    assert (answer, sizes) == (
        "fails",
        "fails for customers = 3, the smallest failing size; holds for customers = 1 to 2",
    )


@pytest.mark.parametrize(
    ("ship", "because"),
    [
        (" & pay[1]", "it names a member by a number"),
        (" if customers > 3", "it computes with `customers`"),
        (" if c > 3", "it takes a member for a number"),
    ],
)
def test_asymmetric_members_have_no_proof(ship: str, because: str) -> None:
    result = _result(_shop("  property p: AG (ship[1] -> pay[1])", ship), units=10_000)
    assert result.answer == "unknown"
    assert _text(result).endswith(because)


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
def test_arithmetic_on_size_has_no_proof(text: str, by: str) -> None:
    shop = _SHOP.format(asked=_SERVED, ship="")
    assert by in shop
    compilation = compile(shop.replace(by, text))
    assert compilation.ok, compilation.diagnostics
    result = _result(compilation, units=10_000)
    assert result.answer == "unknown"
    assert _text(result).endswith("it computes with `customers`")


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
    assert _text(_result(compilation, units=10_000)).endswith("it asks about all of `b`'s family")


def test_sizes_that_are_all_there_are() -> None:
    ship = "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1"
    compilation = compile(_SHOP.format(asked="  property p: AG Shop.stock <= 3", ship=ship).replace("1..64", "1..3"))
    assert _only(compilation) == ("holds", "holds for customers = 1 to 3: all declared sizes, each verified")


def test_parameter_without_family_is_refused() -> None:
    with pytest.raises(NotCounting) as raised:
        EverySize(compile("protocol P(n: 1..3 = 1) { role A role B A -> B : m  if n > 1 }"), "").parameter  # noqa: B018
    assert raised.value.known == ()


_POLL = """
protocol Poll(n: 1..{greatest} = 2) sync {{
  role Hub {{ var seen: 0..6 = 0 }}
  role Cus[n]
  for c in Cus {{
    c -> Hub : vote
    Hub -> c : ack   after vote   {guard}   set Hub.seen := Hub.seen + 1
  }}
  {asked}
}}
"""


def _poll(property_text: str, greatest: int = 12, guard: str = "if Hub.seen < 6") -> CplCompilation:
    compilation = compile(_POLL.format(asked=property_text, greatest=greatest, guard=guard))
    assert compilation.ok, compilation.diagnostics
    return compilation


@pytest.mark.parametrize("expected", ["", " expect fails"])
def test_smallest_failing_size_beyond_five_with_its_run(expected: str) -> None:
    result = _result(_poll(f"property p: AG Hub.seen < 6{expected}"))
    assert result.answer == "fails"
    assert result.sizes is not None
    assert (result.sizes.failing, result.sizes.verified) == (6, (1, 2, 3, 4, 5))
    assert result.as_expected == bool(expected)
    assert result.evidence is not None
    assert len(result.evidence.run.moves) == 12
    assert not replay(result.system, result.evidence)


def test_larger_size_that_holds_is_reported_beside_the_failing_one() -> None:
    answer, sizes = _only(_poll("property p: EF Hub.seen > 1"))
    assert (answer, sizes) == ("fails", "fails for n = 1, the smallest failing size; holds for n = 2")


def test_declared_sizes_each_verified() -> None:
    result = _result(_poll("property p: AG EF (forall c in Cus: ack[c])", greatest=6))
    assert result.answer == "holds"
    assert result.sizes is not None
    assert (result.sizes.scope, result.sizes.verified) == ("declared sizes", (1, 2, 3, 4, 5, 6))
    assert result.evidence is None or not replay(result.system, result.evidence)


def test_vacuous_sizes_are_named() -> None:
    property_text = "property p: AG (Hub.seen = 2 -> EF (Hub.seen >= 2 & forall c in Cus: ack[c]))"
    answer, sizes = _only(_poll(property_text, greatest=4))
    assert answer == "holds"
    assert sizes.endswith("vacuously for n = 1")


def test_range_violation_at_another_size_is_asked_about() -> None:
    compilation = compile("""
protocol Last(n: 1..7 = 2) {
  role Hub { var last: 0..5 = 0 }
  role Cus[n]
  for c in Cus { c -> Hub : ask   on receipt Hub.last := c }
  property low: AG Hub.last < 6
  check none
}
""")
    every = EverySize(compilation)
    assert [one.question.name for one in compilation.declared_questions()] == ["low"]
    results = {
        result.question.name: result for result in every.verify(every.of_any_size(compilation.declared_questions()))
    }
    assert {name: result.answer for name, result in results.items()} == {"in_range": "fails", "low": "holds"}
    assert results["in_range"].sizes is not None
    assert results["in_range"].sizes.failing == 6


def test_range_question_remains_when_the_scan_of_sizes_exceeds_its_budget() -> None:
    compilation = _poll("property p: EF ack[1]", guard="if Hub.seen < 6 & c != 3")
    every = EverySize(compilation, allowance=lambda _: Budget(1))
    results = list(every.verify(every.of_any_size(compilation.declared_questions())))
    assert [(result.question.name, result.answer) for result in results] == [("in_range", "unknown"), ("p", "unknown")]


def test_range_question_that_no_size_asks_holds() -> None:
    compilation = compile("""
protocol Plain(n: 1..3 = 2) {
  role Hub
  role Cus[n]
  for c in Cus { c -> Hub : ask   if c != 2 }
}
""")
    every = EverySize(compilation)
    property_text = BoundQuestion(range_question(), compilation.system)
    (result,) = every.verify((property_text,))
    assert result.answer == "holds"


def test_budget_is_named_and_deterministic() -> None:
    compilation = _shop(_SERVED, " & pay[1]")
    texts = {_text(_result(compilation, units)) for units in (10_000, 10_000)}
    assert len(texts) == 1
    assert "--timeout" in default_allowance(1).name


def test_engine_limit_at_one_size_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(self: Verifier, question: Question) -> str:
        return "unknown" if len(self.system.steps) > 9 else "holds"

    monkeypatch.setattr(Verifier, "decide", limited)
    monkeypatch.setattr(
        Verifier, "answer", lambda self, one: Result(one, "unknown", "", 0.0, self.system, reason="too many states")
    )
    answer, text = _only(_poll("property p: AG EF (forall c in Cus: ack[c])"))
    assert answer == "unknown"
    assert text.startswith("holds for n = 1 to 4; for n = 5, too many states; no proof for every n: ")


def test_wrong_proof_is_refuted_by_a_size_that_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Proof(2, "a wrong argument")
    monkeypatch.setattr(ViewAbstractionProofs, "proof", lambda self, question, size: wrong)
    answer, _ = _only(_shop("  property p: AG Shop.stock > 0", "   if Shop.stock > 0 set Shop.stock := Shop.stock - 1"))
    assert answer == "fails"


def test_time_is_shared_among_the_questions_left() -> None:
    now = time.monotonic()
    share = shares_of_time(now, 100.0)
    for_four, for_one = share(4).deadline, share(1).deadline
    assert for_four is not None
    assert for_one is not None
    assert now < for_four <= now + 25
    assert now + 25 < for_one < now + 100
    assert shares_of_time(now - 200, 100.0)(1).is_exhausted


def test_range_that_another_parameter_bounds() -> None:
    compilation = _poll("property p: AG EF (forall c in Cus: ack[c])")
    bounded = compile(compilation.source.text.replace("n: 1..12 = 2", "most: 1..9 = 4, n: 1..most = 2"))
    assert bounded.ok, bounded.diagnostics
    assert _only(bounded) == ("holds", "holds for n = 1 to 4, with most = 4: all declared sizes, each verified")


def test_independent_atoms_are_looked_for_at_the_size_that_is_shown() -> None:
    compilation = _poll("property p: AG (vote[1] | !vote[1] -> EF (ack[1] | Hub.seen < 6))", greatest=3)
    (result,) = EverySize(compilation, vacuity=True).verify(compilation.declared_questions())
    assert result.answer == "holds"
    assert "independent-atom" in {remark.code for remark in result.remarks}


def test_sizes_that_do_not_ask_the_question_are_named() -> None:
    """Without members there is nobody to ask it of."""
    compilation = compile("""
protocol Optional(n: 0..9 = 0) sync {
  role Hub
  role Cus[n]
  for c in Cus {
    commitment duty = C(Hub, c, ask, ship)
    c -> Hub : ask
    Hub -> c : ship   after ask   means create duty
    property answered: AG (ask -> EF ship)
  }
}
""")
    every = EverySize(compilation)
    results = {
        result.question.name: result for result in every.verify(every.of_any_size(compilation.declared_questions()))
    }
    answered = results["answered[1]"]
    assert answered.answer == "holds"
    assert answered.sizes is not None
    assert (answered.sizes.scope, answered.sizes.not_asked) == ("declared sizes", (0,))
    assert _text(answered).startswith("holds for n = 1 to 9: ")


@pytest.mark.parametrize("debtor", ["Cus", "each Cus", "{Cus, Bank}"])
def test_commitment_of_a_whole_family_is_not_uniform(debtor: str) -> None:
    declared = f"  role Bank  commitment party = C({debtor}, Shop, true, Shop.stock = 0)"
    joining = "  for c in Cus { c -> Shop : join  means create party }"
    result = _result(
        _shop(f"{declared}\n{joining}\n  property p: forall c in Cus: AG (pay[c] -> offer[c])"), units=1000
    )
    answer, text = result.answer, _text(result)
    assert answer == "unknown"
    assert "whole family" in text
