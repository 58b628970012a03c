"""Decisions whose figures are known: from the paper, from closed forms, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest
from tests.support.decision_models import at, belief, ecommerce, own, participant, step, system

from cplc.decision import Bounds, analyse, judged
from cplc.decision.mdp import explore
from cplc.decision.sensitivity import flip_point
from cplc.logic import expressions as e
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import Step, System
from cplc.system.participant import Decision, Participant, Threshold


def _exactly(value: str) -> Bounds:
    return Bounds(Fraction(value), Fraction(value))


# --- the paper's trade


@pytest.mark.parametrize(("copies", "states"), [(1, 23)])
def test_state_count_of_trade_matches_paper(copies: int, states: int) -> None:
    """Those of the system, and one more for each end that is not wanted."""
    given, seller = ecommerce(copies)
    explored = explore(given, seller, 10_000)
    model = explored.model
    is_conforming = explored.game.packing.condition(seller.conforming)
    packed = map(explored.game.packed, explored.states)
    unwanted = sum(model.is_end(n) and not is_conforming(state) for n, state in enumerate(packed))
    assert len(model) + unwanted == states


@pytest.mark.parametrize("reduction", [True, False])
def test_conformance_of_copies_is_product(reduction: bool) -> None:
    given, seller = ecommerce(2)
    analysis = analyse(given, seller, exact=True, reduction=reduction, sensitivity=False)
    assert analysis.figure("conformance").guaranteed == Bounds(Fraction("0.846415") ** 2, Fraction("0.846415") ** 2)


def test_equal_components_solved_once() -> None:
    work = analyse(*ecommerce(50)).work
    assert (work.parts, work.distinct, work.states) == (50, 1, 20)


def test_sensitivities_match_derivative_of_polynomial() -> None:
    """It is ``1 - pay + pay * order * provide * deliver``."""
    given, seller = ecommerce(1)
    sensitivities = {one.belief: one for one in analyse(given, seller).sensitivities if one.event == 0}
    pay = sensitivities[2]
    assert pay.slope == pytest.approx(-1 + 0.95 * 0.9 * 0.97, abs=1e-9)
    assert pay.at_zero == pytest.approx(1)
    assert pay.at_one == pytest.approx(0.95 * 0.9 * 0.97)
    assert sensitivities[6].slope == pytest.approx(0.9 * 0.95 * 0.9, abs=1e-9)


def test_flip_probability_solves_polynomial() -> None:
    given, seller = ecommerce(1)
    threshold = Threshold("conformance", ">=", Fraction("0.8"))
    analysis = analyse(given, seller, ((threshold,),))
    assert analysis.verdict(threshold) == "holds"
    deliver = next(one for one in analysis.sensitivities if (one.belief, one.event) == (6, 0))
    assert deliver.flips == pytest.approx((0.8 - 0.1) / (0.9 * 0.95 * 0.9), abs=1e-9)


# --- waiting


def _waiting() -> tuple[System, Participant]:
    """Somebody of whom nothing is believed may delay as often as it likes; then the buyer pays or does not."""
    place = own("at", ("waiting", "paid", "refused"))
    steps = [
        step("delay", "C", at("at", "waiting"), {"at": "waiting"}),
        step("pay", "B", at("at", "waiting"), {"at": "paid"}),
        step("refuse", "B", at("at", "waiting"), {"at": "refused"}),
    ]
    buyer = belief("B", at("at", "waiting"), pay=([1], "0.973"), refuse=([2], "0.027"))
    return system([place], steps, ("A", "B", "C")), participant(conforming=at("at", "paid"), beliefs=[buyer])


@pytest.mark.parametrize(("fairness", "least"), [(True, "0.973"), (False, "0")])
def test_believed_event_happens_under_fairness(fairness: bool, least: str) -> None:
    analysis = analyse(*_waiting(), exact=True, fairness=fairness)
    assert analysis.figure("conformance").guaranteed == _exactly(least)
    assert analysis.figure("conformance").best == _exactly("0.973")
    assert [remark.kind for remark in analysis.remarks] == ["endless-runs"]


def test_fairness_does_not_force_unbelieved_sends() -> None:
    place = own("at", ("waiting", "paid"))
    steps = [
        step("delay", "C", at("at", "waiting"), {"at": "waiting"}),
        step("pay", "B", at("at", "waiting"), {"at": "paid"}),
    ]
    analysis = analyse(
        system([place], steps, ("A", "B", "C")), participant(conforming=at("at", "paid")), exact=True, fairness=True
    )
    assert analysis.figure("conformance").guaranteed == _exactly("0")


def test_slowly_converging_cycle_solved_exactly() -> None:
    """Plain iteration would stop at 1e-7. Who waits is asked again, which begins a new period of the belief."""
    place = own("at", ("waiting", "asked", "paid", "refused"))
    here = at("at", "waiting")
    steps = [
        *(step(name, "B", here, {"at": to}) for name, to in (("wait", "asked"), ("pay", "paid"), ("no", "refused"))),
        step("again", "Env", at("at", "asked"), {"at": "waiting"}, "receive"),
    ]
    hope = belief("B", here, wait=([0], "0.9999999"), pay=([1], "0.0000000973"), no=([2], "0.0000000027"))
    analysis = analyse(system([place], steps), participant(conforming=at("at", "paid"), beliefs=[hope]))
    assert analysis.figure("conformance").guaranteed.low == pytest.approx(0.973, abs=1e-12)


# --- what is made


def _coins() -> tuple[System, Participant]:
    """One part tosses a coin for 1; in the other the world chooses whether a coin is tossed for 2."""
    variables = [own("one", ("toss", "heads", "tails")), own("two", ("open", "toss", "heads", "tails", "none"))]
    first, second = at("one", "toss"), at("two", "toss")
    steps = [
        step("heads 1", "B", first, {"one": "heads"}),
        step("tails 1", "B", first, {"one": "tails"}),
        step("begin", "C", at("two", "open"), {"two": "toss"}),
        step("leave", "C", at("two", "open"), {"two": "none"}),
        step("heads 2", "D", second, {"two": "heads"}),
        step("tails 2", "D", second, {"two": "tails"}),
    ]
    beliefs = [
        belief("B", first, heads=([0], "0.5"), tails=([1], "0.5")),
        belief("D", second, heads=([4], "0.5"), tails=([5], "0.5")),
    ]
    worth = {0: "1", 1: "-1", 4: "2", 5: "-2"}
    return system(variables, steps, ("A", "B", "C", "D")), participant(worth=worth, beliefs=beliefs)


@pytest.mark.parametrize("reduction", [True, False])
def test_environment_strategy_may_depend_on_accumulated_value(reduction: bool) -> None:
    analysis = analyse(*_coins(), exact=True, reduction=reduction)
    assert analysis.figure("benefit").guaranteed == _exactly("0.25")
    assert analysis.gain is not None
    assert analysis.gain.distribution is None
    assert analysis.gain.guaranteed == _exactly("0")


def test_value_at_risk_and_shortfall() -> None:
    """Nearly always a little is made, and rarely much is lost."""
    place = own("at", ("open", "good", "bad"))
    here = at("at", "open")
    steps = [step("good", "B", here, {"at": "good"}), step("bad", "B", here, {"at": "bad"})]
    hope = belief("B", here, good=([0], "0.99"), bad=([1], "0.01"))
    analysis = analyse(system([place], steps), participant(worth={0: "1", 1: "-1000"}, beliefs=[hope]), exact=True)
    assert analysis.figure("benefit").guaranteed == _exactly("0.99")
    assert analysis.gain is not None
    assert analysis.gain.guaranteed == _exactly("-9.01")
    distribution = analysis.gain.distribution
    assert distribution is not None
    assert distribution.value_at_risk() == 1
    assert distribution.value_at_risk(Fraction("0.01")) == -1000
    assert distribution.conditional_value_at_risk() == (Fraction("0.01") * -1000 + Fraction("0.04") * 1) / Fraction(
        "0.05"
    )


def test_distribution_of_many_copies_has_sound_bounds() -> None:
    """Each of 200 coins makes 1 or loses 1; half of the time more than nothing is made, but for a tie."""
    variables = [own(f"x{n}", ("toss", "heads", "tails")) for n in range(200)]
    steps = []
    beliefs = []
    for n in range(200):
        here = at(f"x{n}", "toss")
        steps += [step(f"{to} {n}", "B", here, {f"x{n}": to}) for to in ("heads", "tails")]
        beliefs.append(belief("B", here, heads=([2 * n], "0.5"), tails=([2 * n + 1], "0.5")))
    worth = {n: "1" if n % 2 == 0 else "-1" for n in range(400)}
    analysis = analyse(system(variables, steps), participant(worth=worth, beliefs=beliefs), sensitivity=False)
    truth = (1 - Fraction(comb(200, 100), 2**200)) / 2
    bounds = analysis.figure("benefit").guaranteed
    assert bounds.low <= truth <= bounds.high
    assert bounds.high - bounds.low < 1e-12


# --- the participant decides


def _choosing() -> tuple[System, Participant]:
    """Alice sees whether the buyer paid, but not what the store has, and delivers this or that."""
    variables = [
        own("paid", ("no", "yes"), "A"),
        own("stock", ("open", "this", "that")),
        own("end", ("no", "ok", "bad")),
    ]
    ready = e.conj((at("stock", "this", "that"), at("end", "no")))
    steps = [
        step("this", "B", at("stock", "open"), {"stock": "this"}),
        step("that", "B", at("stock", "open"), {"stock": "that"}),
        _delivery("deliver this", ready, "this"),
        _delivery("deliver that", ready, "that"),
    ]
    hope = belief("B", at("stock", "open"), this=([0], "0.6"), that=([1], "0.4"))
    return system(variables, steps), participant(goals=[at("end", "ok")], beliefs=[hope])


def _delivery(name: str, ready: e.Expr, stock: str) -> Step:
    plain = step(name, "A", ready, {})
    return replace(plain, updates=(("end", e.ite(at("stock", stock), e.Const("ok"), e.Const("bad"))),))


def test_unseen_coin_cannot_be_called() -> None:
    """It would be certain for somebody who sees the stock, and one plan must do for both."""
    given, alice = _choosing()
    figure = analyse(given, alice, exact=True).figure("achievement")
    assert figure.guaranteed == _exactly("0.6")
    assert figure.advice is not None
    assert figure.advice.is_observation_based
    coin = tuple(replace(event, low=Fraction(1, 2), high=Fraction(1, 2)) for event in alice.beliefs[0].events)
    fair = replace(alice, beliefs=(replace(alice.beliefs[0], events=coin),))
    line = (Threshold("achievement", ">", Fraction(1, 2)),)
    analysis = analyse(given, fair, (line,), exact=True)
    assert analysis.figure("achievement").guaranteed == _exactly("0.5")
    assert analysis.lines[0].verdict == "stay away"


def test_a_decision_forbids() -> None:
    given, alice = _choosing()
    only_this = replace(alice, decisions=(Decision(e.FALSE, (3,), "never that"),))
    figure = analyse(given, only_this, exact=True).figure("achievement")
    assert figure.guaranteed == _exactly("0.6")
    assert figure.advice is not None
    assert [one.steps for one in figure.advice.situations] == [("deliver this",)]
    stuck = replace(alice, decisions=(Decision(e.FALSE, (2, 3), "nothing"),))
    assert "stuck" in [remark.kind for remark in analyse(given, stuck).remarks]


def test_guaranteed_probability_uses_worst_distribution_within_bounds() -> None:
    place = own("at", ("open", "good", "bad"))
    here = at("at", "open")
    steps = [step("good", "B", here, {"at": "good"}), step("bad", "B", here, {"at": "bad"})]
    hope = belief("B", here, good=([0], "0.85..0.95"), bad=([1], "0.02..1"))
    figure = analyse(system([place], steps), participant(goals=[at("at", "good")], beliefs=[hope]), exact=True).figure(
        "achievement"
    )
    assert (figure.guaranteed, figure.best) == (_exactly("0.85"), _exactly("0.95"))


def test_threshold_within_bounds_is_unknown() -> None:
    threshold = Threshold("conformance", ">", Fraction("0.5"))
    assert judged(Bounds(0.4, 0.6), threshold) == "unknown"
    assert judged(Bounds(Fraction(1, 2), Fraction(1, 2)), threshold) == "fails"


def test_state_limit_makes_threshold_unknown() -> None:
    figure = analyse(*ecommerce(2), reduction=False, limit=100).figure("conformance")
    assert "100" in figure.unsolved
    assert (figure.guaranteed.low, figure.guaranteed.high) == (0, 1)
    with pytest.raises(ResourceExhausted):
        explore(*ecommerce(2), 100)


def _flipping(bounds: Callable[[Fraction], Fraction]) -> tuple[float, int]:
    """Return where a figure crosses one half on the way from 0.9 to 0, and how often it was computed."""
    computed: list[Fraction] = []

    def figure(probability: Fraction) -> Bounds:
        computed.append(probability)
        value = float(bounds(probability))
        return Bounds(value, value)

    threshold = Threshold("conformance", ">=", Fraction(1, 2))
    return flip_point(Fraction(9, 10), Fraction(0), "holds", figure, threshold), len(computed)


def test_flip_of_linear_figure_needs_few_solutions() -> None:
    flip, count = _flipping(lambda probability: Fraction(1, 10) + probability * Fraction(8, 10))
    assert flip == pytest.approx(0.5, abs=1e-11)
    assert count <= 5


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (lambda p: p * p, 0.5**0.5),
        (lambda p: max(p, Fraction(1, 4)), 0.5),
        (lambda p: min(p * 3, Fraction(6, 10)), 1 / 6),
        (lambda p: Fraction(int(p > Fraction(1, 3))), 1 / 3),
    ],
)
def test_flip_of_other_figures_found(figure: Callable[[Fraction], Fraction], expected: float) -> None:
    assert _flipping(figure)[0] == pytest.approx(expected, abs=1e-11)
