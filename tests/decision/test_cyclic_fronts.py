"""Fronts of games with cycles: their points are attained, and no plan exceeds the half-spaces."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from itertools import islice, product
from math import isinf

from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.support.decision_models import at, belief, own, participant, step, system
from tests.support.random_examples import examples

from cplc.decision import analyse
from cplc.decision.components import ComponentCache
from cplc.decision.cyclic_fronts import CyclicFront, Demand
from cplc.decision.observation import ObservedMdp, Plan, fixed, initial_bounds
from cplc.decision.plans import PlanProblem
from cplc.decision.results import Number
from cplc.decision.value_iteration import OrderedMdp
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import Step, System
from cplc.system.participant import Aspect, Belief, Participant, Threshold

_MAX_PLANS = 64
_PAIRS: tuple[tuple[Aspect, Aspect], ...] = (
    ("conformance", "value"),
    ("achievement", "value"),
    ("conformance", "achievement"),
)


def _problem(given: tuple[System, Participant], aspects: tuple[Aspect, ...]) -> PlanProblem:
    return PlanProblem(ComponentCache(*given, True, True, True, 2_000), aspects)


def _every_plan(whole: ObservedMdp) -> Iterator[Plan]:
    """Yield plans with full observation that choose alike whenever they are in the same state: all, if they are few."""
    choices: dict[Hashable, list[Hashable]] = {}
    for state, action in whole.controlled():
        choices[state] = [whole.choices[one] for one in whole.model.events(action)]
    for picks in islice(product(*choices.values()), _MAX_PLANS):
        yield dict(zip(choices, picks, strict=True))


def _figures(whole: ObservedMdp, front: CyclicFront, plan: Plan) -> tuple[Fraction, ...] | None:
    ordered = OrderedMdp(fixed(whole, plan).model)
    try:
        lows = [initial_bounds(one, ordered, True, True).low for one in front.objectives]
    except ResourceExhausted:
        return None
    return None if any(map(isinf, lows)) else tuple(Fraction(one) for one in lows)


@st.composite
def _cyclic_games(draw: DrawFn) -> tuple[System, Participant]:
    """Return a few places, where the participant chooses or a coin falls, with three ends; `view` is what it sees."""
    places = draw(st.integers(3, 5))
    here = own("at", range(places + 3), draw(st.sampled_from(("A", "Env"))))
    view = own("view", (0, 1), "A")
    steps: list[Step] = []
    beliefs: list[Belief] = []
    for place in range(places):
        is_own = place == 0 or draw(st.booleans())
        first = len(steps)
        for n in range(2):
            target = draw(st.integers(0, places + 2))
            updates = {"at": target, "view": draw(st.integers(0, 1))}
            steps.append(step(f"{first + n}", "A" if is_own else "B", at("at", place), updates))
        if not is_own:
            share = draw(st.sampled_from((Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))))
            chances = {"one": ([first], str(share)), "other": ([first + 1], str(1 - share))}
            beliefs.append(belief("B", at("at", place), **chances))
    amounts = draw(st.dictionaries(st.integers(0, len(steps) - 1), st.sampled_from(("-2", "-1", "3")), max_size=4))
    clean, goal = at("at", places, places + 1), at("at", places, places + 2)
    return system([here, view], steps, ("A", "B")), participant(("A",), clean, [goal], amounts, beliefs)


@examples(120)
@given(_cyclic_games(), st.sampled_from(_PAIRS))
def test_no_plan_exceeds_the_half_spaces_of_a_cyclic_game(
    given: tuple[System, Participant], aspects: tuple[Aspect, ...]
) -> None:
    try:
        cyclic = _problem(given, aspects).cyclic
    except ResourceExhausted:
        cyclic = None
    event(f"choices in cycles: {cyclic is not None}")
    if cyclic is None:
        return
    part, front = cyclic.part, cyclic.front
    front.shape()
    seeing = ObservedMdp(part.whole.model, range(len(part.whole.model)), part.whole.choices)
    every = [_figures(seeing, front, plan) for plan in _every_plan(seeing)]
    vectors = {one for one in every if one is not None}
    for vector in vectors:
        for half_space in front.half_spaces.values():
            total = sum(weight * one for weight, one in zip(half_space.weights, vector, strict=True))
            assert total <= half_space.bound
        assert not front.excludes({number: Demand(one, False) for number, one in enumerate(vector)})
    for point, plan in front.points.items():
        assert _figures(part.whole, front, plan) == point
    event(f"{min(len(front.best()), 3)} points")
    hidden = [one for one in vectors if not any(all(map(_at_least, point, one)) for point in front.best())]
    event(f"all memoryless plans are dominated: {not hidden}")


def _at_least(one: Number, other: Number) -> bool:
    return one >= other


def _asking() -> tuple[System, Participant]:
    """Ask as often as one likes for 1, which is answered with probability 0.3; or take the sure way for 8."""
    state = own("at", ("idle", "asked", "refused", "answered", "sure"), "A")
    steps = [
        step("ask", "A", at("at", "idle", "refused"), {"at": "asked"}),
        step("refuse", "B", at("at", "asked"), {"at": "refused"}),
        step("answer", "B", at("at", "asked"), {"at": "answered"}),
        step("take", "A", at("at", "refused"), {"at": "sure"}),
    ]
    beliefs = [belief("B", at("at", "asked"), refuse=([1], "0.7"), answer=([2], "0.3"))]
    goal = at("at", "answered", "sure")
    return system([state], steps), participant(("A",), goals=[goal], worth={0: "-1", 3: "-8"}, beliefs=beliefs)


def _line(achievement: str, value: str) -> tuple[Threshold, Threshold]:
    return (
        Threshold("achievement", ">=", Fraction(achievement)),
        Threshold("value", ">=", Fraction(value)),
    )


def test_trade_off_in_a_cycle_has_points_and_a_limit() -> None:
    lines = [_line("0.3", "-1"), _line("1", "-10/3"), _line("0.9", "-2.9"), _line("0.9", "-3")]
    analysis = analyse(*_asking(), lines, sensitivity=False)
    assert [line.verdict for line in analysis.lines] == ["take part", "take part", "stay away", "undecided"]
    line = analysis.lines[0]
    points = {tuple(bounds.low for _, bounds in point.figures) for point in line.front}
    assert points == {(Fraction(3, 10), Fraction(-1)), (Fraction(1), Fraction(-10, 3))}
    assert not line.is_front_complete
    assert line.front_limit == ((0, 0), (1, Fraction(-10, 3)))


def test_threshold_on_the_edge_of_the_half_spaces_is_excluded_where_it_is_strict() -> None:
    strict = (Threshold("achievement", ">", Fraction(9, 10)), Threshold("value", ">=", Fraction(-3)))
    assert analyse(*_asking(), [strict], sensitivity=False).lines[0].verdict == "stay away"


def test_component_with_cycles_beside_a_trade_off_without_any() -> None:
    """The participant chooses in a component without cycles; another one goes round until it is left."""
    choice = own("at", ("idle", "good", "rich"), "A")
    other = own("other", ("one", "two", "end"), "B")
    steps = [
        step("serve", "A", at("at", "idle"), {"at": "good"}),
        step("keep", "A", at("at", "idle"), {"at": "rich"}),
        step("go", "Env", at("other", "one"), {"other": "two"}, "receive"),
        step("back", "B", at("other", "two"), {"other": "one"}),
        step("leave", "B", at("other", "two"), {"other": "end"}),
    ]
    beliefs = [belief("B", at("other", "two"), back=([3], "0.5"), leave=([4], "0.5"))]
    goals = [at("at", "good"), at("other", "end")]
    who = participant(("A",), at("at", "idle", "good"), goals, {1: "5"}, beliefs)
    line = (Threshold("achievement", ">=", Fraction(1)), Threshold("value", ">=", Fraction(1)))
    result = analyse(system([choice, other], steps), who, [line], sensitivity=False).lines[0]
    assert result.verdict == "stay away"
    assert {tuple(bounds.low for _, bounds in point.figures) for point in result.front} == {(1, 0), (0, 5)}


def test_demands_on_more_figures_than_a_half_space_weighs_are_not_excluded_by_it() -> None:
    problem = _problem(_asking(), ("achievement", "value"))
    assert problem.cyclic is not None
    front = problem.cyclic.front
    front.refine((Fraction(1), Fraction(1, 10)))
    assert not front.excludes({0: Demand(Fraction(2), False)})
    assert front.excludes({0: Demand(Fraction(2), False), 1: Demand(Fraction(0), False)})
