"""The answer to a line of thresholds in one sentence for people, and the belief that costs most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from cplc.control_characters import printable
from cplc.decision.results import Analysis, Bounds, LineResult, Sensitivity, judged
from cplc.report.decision_text import hinges
from cplc.report.number_text import money, percent
from cplc.system.participant import Aspect, Participant, Threshold

_CLOSE = 1e-9
_LEAST_COST = 0.0005
"""Costs below this probability are not mentioned."""
_MISHAP = Fraction(1, 2)
"""Largest believed probability of an event that is called a cost."""


def sentences(participant: Participant, analysis: Analysis, line: LineResult) -> Iterator[str]:
    """Yield the answer, what happens without the roles that it depends on, and what costs most."""
    yield _answer(analysis, line)
    if line.verdict == "stay away" and line.sufficient:
        yield f"Otherwise nothing ensures that {_goals(analysis, line)}."
    if line.verdict in ("take part", "stay away"):
        yield from _cause(participant, analysis, line)


def _answer(analysis: Analysis, line: LineResult) -> str:
    match line.verdict:
        case "take part":
            together = "" if line.plan is None else f": {_promises(line.plan.figures)}"
            return f"Take part{together}."
        case "indifferent" if not has_choices(analysis):
            together = "this is met" if line.plan is None else _promises(line.plan.figures)
            return f"You have no choice here: {together}."
        case "indifferent":
            return "It makes no difference: staying away meets this too."
        case "stay away" if line.sufficient:
            plan = line.sufficient_plan if len(line.sufficient) == 1 else None
            then = "" if plan is None else f": then {_promises(plan.figures)}"
            return f"Take part only if {_on_whom(line.sufficient)}{then}."
        case "stay away" if not has_choices(analysis):
            return f"You have no choice here: {_why_not(analysis, line.thresholds)}."
        case "stay away":
            return f"Stay away: {_why_not(analysis, line.thresholds)}."
        case _:
            return "Undecided" + (f": {line.reason}." if line.reason else ".")


def has_choices(analysis: Analysis) -> bool:
    """Return whether the participant decides anything that counts."""
    return any(figure.staying_away is not None or figure.unsolved for figure in analysis.figures)


def _promises(figures: Sequence[tuple[Aspect, Bounds]]) -> str:
    """Return what a plan guarantees, first that which is certain, equal probabilities together."""
    shares: dict[str, list[str]] = {}
    for aspect, bounds in sorted(figures, key=lambda one: -float(one[1].low)):
        if aspect != "value":
            certain = bounds.low > 1 - _CLOSE
            shares.setdefault("for sure" if certain else f"with {percent(bounds.low)}", []).append(_DOES[aspect])
    parts = [f"{_listed(does)} {share}" for share, does in shares.items()]
    parts += [f"can expect {money(bounds.low)}" for aspect, bounds in figures if aspect == "value"]
    return f"you {_listed(parts)}"


_DOES: dict[Aspect, str] = {
    "conformance": "keep every commitment",
    "achievement": "achieve your goals",
    "benefit": "gain",
}


def _listed(parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    joined = ", and" if any(" and " in part for part in parts) else " and"
    return f"{', '.join(parts[:-1])}{joined} {parts[-1]}"


def _on_whom(sets: Sequence[Sequence[str]]) -> str:
    """Return who has to take part."""
    names = " or ".join(" and ".join(f"`{printable(name)}`" for name in names) for names in sets)
    return f"{names} do{'es' if len(sets[0]) == 1 else ''}"


def _goals(analysis: Analysis, line: LineResult) -> str:
    """Return the figures whose thresholds are not met."""
    failing = [one for one in line.thresholds if judged(_alone(analysis, one.aspect), one) != "holds"]
    does = dict.fromkeys(_DOES.get(one.aspect) or _amount(one) for one in failing or line.thresholds)
    return f"you {_listed(list(does))}"


def _amount(threshold: Threshold) -> str:
    return f"make {_more(threshold)} {money(threshold.value)} on average"


def _more(threshold: Threshold) -> str:
    return "more than" if threshold.relation == ">" else "at least"


def _why_not(analysis: Analysis, thresholds: Sequence[Threshold]) -> str:
    """Return the thresholds that no plan meets, or that none meets them together."""
    impossible = [one for one in thresholds if judged(_alone(analysis, one.aspect), one) == "fails"]
    if not impossible:
        return "each of this is possible alone, and no plan meets it together"
    best = (f"no plan is sure to {_limit(one, _alone(analysis, one.aspect))}" for one in impossible)
    return " and ".join(best)


def _alone(analysis: Analysis, aspect: Aspect) -> Bounds:
    if aspect == "value":
        return analysis.gain.guaranteed if analysis.gain is not None else Bounds(Fraction(0), Fraction(0))
    return analysis.figure(aspect).guaranteed


def _limit(threshold: Threshold, alone: Bounds) -> str:
    if threshold.aspect == "value":
        return f"{_amount(threshold)}, the best makes {money(alone.high)}"
    figure = f"{_DOES[threshold.aspect]} with {_more(threshold)} {percent(threshold.value)}"
    return f"{figure}, the best has {percent(alone.high)}"


def _cause(participant: Participant, analysis: Analysis, line: LineResult) -> Iterator[str]:
    """Yield the believed event that costs most of a figure that the line asks for, probabilities first."""
    aspects = {one.aspect for one in line.thresholds}
    every = [one for one in analysis.sensitivities if one.aspect in aspects and _share(one) <= _MISHAP]
    for is_money in (False, True):
        costs = [(_cost(analysis, one), one) for one in every if (one.aspect == "value") == is_money]
        cost, worst = max(costs, key=lambda each: each[0], default=(0.0, None))
        if worst is not None and cost >= _LEAST_COST:
            lost = (
                f"costs {money(cost)} on average" if is_money else f"takes {percent(cost)} off {_KINDS[worst.aspect]}"
            )
            yield f"Largest cost: {_event(participant, analysis, worst)}, which {lost}."
            return


_KINDS = {"conformance": "your commitments", "achievement": "your goals", "benefit": "your gain"}


def _event(participant: Participant, analysis: Analysis, worst: Sensitivity) -> str:
    """Return how the event goes ill, and how often that is believed."""
    belief = participant.beliefs[worst.belief]
    copies = _alike(participant, analysis, worst)
    who = f"each {belief.agent.partition('[')[0]}" if copies else f"`{printable(belief.agent)}`"
    event = belief.events[worst.event]
    is_good = worst.at_one > worst.at_zero
    if is_good and len(belief.events) == 2:
        event, is_good = belief.events[1 - worst.event], False
    if event.steps:
        act = f"{'does not send' if is_good else 'sends'} {_name(event.name, folded=copies)}"
    else:
        act = "does not stay silent" if is_good else "stays silent"
    return f"{who} {act} {percent(_share(worst))} of the time"


def _share(one: Sensitivity) -> Fraction:
    """Return the probability that the event goes ill: that it comes, or that it does not."""
    return 1 - one.probability if one.at_one > one.at_zero else one.probability


def _cost(analysis: Analysis, one: Sensitivity) -> float:
    """Return how much higher the figure would be if the event always came, or never."""
    return max(one.at_zero, one.at_one) - _alone(analysis, one.aspect).middle


def _alike(participant: Participant, analysis: Analysis, one: Sensitivity) -> bool:
    """Return whether the belief stands for those of several interchangeable agents."""
    return any(
        hinge.sensitivity is one and "alike:" in hinge.about for hinge in hinges(participant, analysis.sensitivities)
    )


def _name(event: str, *, folded: bool) -> str:
    return f"`{printable(event.partition('[')[0] if folded else event)}`"
