"""Counting of symmetric agents: the same figures from fewer states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import comb
from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.support.decision_models import at, belief, ecommerce, own, participant, step, system
from tests.support.generators.participants import little_games, participants
from tests.support.generators.systems import systems
from tests.support.random_examples import examples

from cplc.decision import Analysis, Bounds, analyse
from cplc.decision.symmetric_agents import symmetric_agents_of
from cplc.logic import expressions as e
from cplc.statespace.packing import Packing
from cplc.system.model import Step, System
from cplc.system.participant import Belief, Participant

_HALF = Fraction(1, 2)
_STATES = 2_000
_METHOD = "backward induction, symmetric agents counted"


@contextmanager
def _counting() -> Iterator[None]:
    """Count in models with few states as well."""
    with (
        patch("cplc.decision.components.MAX_PLAIN_STATES", 0),
        patch("cplc.decision.total_reward.MAX_PLAIN_STATES", 0),
    ):
        yield


def _both(given: System, who: Participant, *, exact: bool, reduction: bool) -> tuple[Analysis, Analysis]:
    listed = analyse(given, who, exact=exact, reduction=reduction, sensitivity=False, limit=_STATES)
    with _counting():
        return listed, analyse(given, who, exact=exact, reduction=reduction, sensitivity=False, limit=_STATES)


def _agree(listed: Analysis, layered: Analysis) -> None:
    for one, other in zip(listed.figures, layered.figures, strict=True):
        if one.unsolved or other.unsolved:
            assert layered.work.method == _METHOD or one.unsolved
            continue
        for mine, theirs in ((one.guaranteed, other.guaranteed), (one.best, other.best)):
            _near(mine, theirs)
        assert {ending.is_goal for ending in one.endings} == {ending.is_goal for ending in other.endings}
    if listed.gain is not None and layered.gain is not None:
        _near(listed.gain.guaranteed, layered.gain.guaranteed)
        _near(listed.gain.best, layered.gain.best)


def _near(one: Bounds, other: Bounds) -> None:
    if one.is_exact and other.is_exact:
        assert one == other
    elif one != other:  # both may be infinite
        assert max(float(one.low), float(other.low)) <= min(float(one.high), float(other.high)) + 1e-15
        assert float(other.high) - float(other.low) < 1e-9


def _remarks(analysis: Analysis) -> list[tuple[str, tuple[int, ...], bool]]:
    return sorted((one.kind, one.beliefs, one.state is None) for one in analysis.remarks)


@st.composite
def _random(draw: DrawFn) -> tuple[System, Participant]:
    given = draw(systems(fairness=False, states=24))
    return given, draw(participants(given, intervals=draw(st.booleans())))


# --- counting


@st.composite
def _copies(draw: DrawFn) -> tuple[System, Participant]:
    """Return copies of a little game that share a counter, and may ask whether any of them is somewhere."""
    copies = draw(st.integers(2, 3))
    base, template = draw(little_games(circles=False))
    places = len(base.variables[0].domain)
    stock = own("stock", range(3), "A", initial=2)
    takes = draw(st.sets(st.integers(0, len(base.steps) - 1), max_size=2))
    asks = draw(st.dictionaries(st.integers(0, len(base.steps) - 1), st.integers(0, places - 1), max_size=2))
    references_others = draw(st.booleans())
    variables = [stock]
    steps: list[Step] = []
    beliefs: list[Belief] = []
    amounts: dict[int, str] = {}
    remaining = e.Read("stock")
    worth = {index: one.amount for one in template.worth for index in one.steps}
    for n in range(copies):
        first = len(steps)
        name = f"at{n}"
        variables.append(own(name, range(places), "A"))
        for index, one in enumerate(base.steps):
            guard = [e.substitute(one.guard, {"at": e.Read(name)})]
            updates = [(name, to) for _, to in one.updates]
            if index in takes:
                guard.append(e.less(e.Const(0), remaining))
                less = e.ite(e.less(e.Const(0), remaining), e.arith("-", remaining, e.Const(1)), remaining)
                updates.append(("stock", less))
            if index in asks:
                among = [other for other in range(copies) if not references_others or other != n]
                guard.append(e.negate(e.disj(at(f"at{other}", asks[index]) for other in among)))
            steps.append(replace(one, name=f"{one.name}/{n}", guard=e.conj(guard), updates=tuple(updates)))
            if index in worth:
                amounts[first + index] = str(worth[index])
        for hope in template.beliefs:
            events = tuple(replace(one, steps=tuple(first + inside for inside in one.steps)) for one in hope.events)
            condition = e.substitute(hope.condition, {"at": e.Read(name)})
            beliefs.append(replace(hope, condition=condition, events=events))
    conforming = e.conj(e.substitute(template.conforming, {"at": e.Read(f"at{n}")}) for n in range(copies))
    goals = [
        draw(st.sampled_from((e.conj, e.disj)))(
            e.substitute(goal.condition, {"at": e.Read(f"at{n}")}) for n in range(copies)
        )
        for goal in template.goals
    ]
    return system(variables, steps, ("A", "B", "C")), participant(("A",), conforming, goals, amounts, beliefs)


@examples(30)
@given(st.data())
def test_counter_abstraction_matches_full_model(data: st.DataObject) -> None:
    given, who = data.draw(_copies())
    exact = data.draw(st.booleans())
    listed, layered = _both(given, who, exact=exact, reduction=True)
    event(f"counted: {layered.work.method == _METHOD}")
    _agree(listed, layered)
    if layered.work.method != _METHOD:
        return
    for one, other in zip(listed.figures, layered.figures, strict=True):
        assert (one.advice is None) == (other.advice is None)
        if one.advice is not None and other.advice is not None:
            assert one.advice.is_observation_based or not other.advice.is_observation_based
    distinguished, counted = ({(it.kind, it.beliefs) for it in analysis.remarks} for analysis in (listed, layered))
    pairs = {one for one in distinguished if one[0] == "overlapping-beliefs"}
    assert distinguished - pairs <= counted <= distinguished  # of pairs one is said for all that are like it
    assert bool(pairs) == any(kind == "overlapping-beliefs" for kind, _ in counted)
    packing = Packing(given)
    for one in layered.figures:
        condition = {"conformance": who.conforming, "achievement": e.conj(goal.condition for goal in who.goals)}
        for ending in one.endings:
            if set(ending.state) == set(given.variable):
                assert packing.condition(condition[one.aspect])(packing.pack(ending.state)) == ending.is_goal


@pytest.mark.parametrize("exact", [False, True])
def test_shared_stock_couples_copies(exact: bool) -> None:
    """As many orders as there are in stock can be made, and all others that are paid for are broken."""
    given, seller = ecommerce(3, stock=2)
    with _counting():
        analysis = analyse(given, seller, exact=exact, sensitivity=False)
    assert analysis.work.method == _METHOD
    pay, through = Fraction("0.9"), Fraction("0.95") * Fraction("0.9") * Fraction("0.97")
    in_stock = sum(
        comb(3, paid) * pay**paid * (1 - pay) ** (3 - paid) * through**paid for paid in range(3)
    )  # a buyer that pays without an order to the provider gets nothing
    bounds = analysis.figure("conformance").guaranteed
    assert bounds.low <= in_stock <= bounds.high
    assert bounds.high - bounds.low <= (0 if exact else 1e-12)


def test_asymmetric_agents_are_distinguished() -> None:
    given, seller = ecommerce(3, stock=2)
    unlike = replace(
        seller.beliefs[2], events=tuple(replace(it, low=_HALF, high=_HALF) for it in seller.beliefs[2].events)
    )
    other = replace(seller, beliefs=(*seller.beliefs[:2], unlike, *seller.beliefs[3:]))
    symmetry = symmetric_agents_of(given, other, [other.conforming])
    assert symmetry is not None
    assert [len(family.members) for family in symmetry.families] == [2]
    assert "c0" in symmetry.shared
    alone = symmetric_agents_of(given, seller, [at("c1", "ful")])
    assert alone is not None
    assert "c1" in alone.shared


def _coins(copies: int) -> tuple[System, Participant]:
    """In each copy the world chooses whether a coin is tossed for 1; an agent that does not toss pays nothing."""
    variables, beliefs = [], []
    steps: list[Step] = []
    worth: dict[int, str] = {}
    for n in range(copies):
        name, first = f"coin{n}", len(steps)
        variables.append(own(name, ("open", "toss", "heads", "tails", "none")))
        steps += [
            step(f"begin {n}", "C", at(name, "open"), {name: "toss"}),
            step(f"leave {n}", "C", at(name, "open"), {name: "none"}),
            step(f"heads {n}", "B", at(name, "toss"), {name: "heads"}),
            step(f"tails {n}", "B", at(name, "toss"), {name: "tails"}),
        ]
        worth |= {first + 2: "1", first + 3: "-1"}
        beliefs.append(belief("B", at(name, "toss"), heads=([first + 2], "0.5"), tails=([first + 3], "0.5")))
    return system(variables, steps, ("A", "B", "C")), participant(worth=worth, beliefs=beliefs)


def test_open_choices_of_many_copies_solved_jointly() -> None:
    """At best one stops when ahead, which of ten tosses one is but falling behind forever; at worst none begins."""
    with _counting():
        analysis = analyse(*_coins(10), sensitivity=False)
    assert "counted" in analysis.work.method
    figure = analysis.figure("benefit")
    assert (figure.guaranteed.low, figure.guaranteed.high) == (0, 0)
    never = Fraction(comb(10, 5), 2**10)  # a walk of ten steps that is never above its beginning
    assert figure.best.low <= 1 - never <= figure.best.high
    assert figure.best.high - figure.best.low < 1e-12
