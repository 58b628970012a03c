"""Random participants of random systems."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.support.decision_models import at as where
from tests.support.decision_models import belief, own, participant, step, system
from tests.support.generators.systems import comparisons_over, conditions_over

from cplc.logic import expressions as e
from cplc.system.model import Step, System
from cplc.system.participant import Belief, Decision, Event, Goal, Participant, Worth

_SHARES = ((1,), (1, 1), (2, 1), (1, 9), (1, 2, 2))


@st.composite
def participants(draw: DrawFn, system: System, *, intervals: bool = False) -> Participant:
    names = [agent.name for agent in system.agents]
    mine = draw(st.lists(st.sampled_from(names), unique=True, max_size=1))
    sends = [at for at, step in enumerate(system.steps) if step.kind in ("send", "exchange")]
    own = [at for at in sends if system.steps[at].actor in mine]
    conditions = st.one_of(st.just(e.TRUE), comparisons_over(system.variables))
    ends = st.one_of(comparisons_over(system.variables), conditions_over(system.variables))
    beliefs: list[Belief] = []
    for agent in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)):
        steps = [at for at in sends if system.steps[at].actor == agent]
        shares = draw(st.sampled_from(_SHARES))
        if len(steps) >= len(shares):
            beliefs.append(_belief(draw, agent, draw(conditions), steps, shares, intervals))
    decisions = [
        Decision(draw(conditions), (step,), "")
        for step in (draw(st.lists(st.sampled_from(own), max_size=1)) if own else ())
    ]
    amounts = draw(
        st.dictionaries(st.integers(0, max(0, len(system.steps) - 1)), st.sampled_from((-3, -1, 2)), max_size=4)
    )
    worth = [Worth((at,), Fraction(amount, 2), "") for at, amount in amounts.items() if at < len(system.steps)]
    goals = tuple(Goal(draw(ends), "goal") for _ in range(draw(st.integers(0, 2))))
    return Participant("P", tuple(mine), draw(ends), goals, tuple(worth), tuple(beliefs), tuple(decisions))


def _belief(
    draw: DrawFn, agent: str, condition: e.Expr, steps: list[int], shares: tuple[int, ...], intervals: bool
) -> Belief:
    mixed = draw(st.permutations(steps))
    width = draw(st.sampled_from((Fraction(0), Fraction(1, 20)))) if intervals and len(shares) > 1 else Fraction(0)
    events = []
    for at, share in enumerate(shares):
        inside = tuple(mixed[at:]) if at == len(shares) - 1 and len(mixed) <= len(shares) + 1 else (mixed[at],)
        middle = Fraction(share, sum(shares))
        events.append(Event(f"e{at}", inside, max(middle - width, Fraction(0)), min(middle + width, Fraction(1))))
    return Belief(agent, condition, tuple(events), f"{agent} {shares}")


@st.composite
def little_games(draw: DrawFn, *, circles: bool = True) -> tuple[System, Participant]:
    """Return a few places that steps of each kind lead between, with a good end and a bad one."""
    places = draw(st.integers(2, 4))
    here = own("at", range(places + 2), "A")
    steps: list[Step] = []
    beliefs: list[Belief] = []
    for place in range(places):
        targets = st.sampled_from((*range(0 if circles else place + 1, places), places, places + 1, places + 1))
        conditions = draw(st.lists(st.sampled_from(("sent", "received", "own")), max_size=1 if place else 0))
        for kind in ("believed", *conditions) if draw(st.booleans()) or not (place and conditions) else conditions:
            guard = where("at", place)
            count = 1 if kind in ("sent", "received") else 2
            first = len(steps)
            agent = {"believed": "B", "own": "A"}.get(kind, "C")
            how = "receive" if kind == "received" else "send"
            steps += [step(f"{first + n}", agent, guard, {"at": draw(targets)}, how) for n in range(count)]
            if kind == "believed":
                share = draw(st.sampled_from(("0.25", "0.5", "0.9")))
                rest = str(1 - Fraction(share))
                beliefs.append(belief("B", guard, one=([first], share), other=([first + 1], rest)))
    amounts = draw(st.dictionaries(st.integers(0, len(steps) - 1), st.sampled_from(("-1.5", "-0.5", "1")), max_size=4))
    return system([here], steps, ("A", "B", "C")), participant(
        ("A",), where("at", places), [where("at", places, 0)], amounts, beliefs
    )
