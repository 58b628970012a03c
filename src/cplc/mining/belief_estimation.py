"""Belief estimation: probabilities of the choices of other agents, from their frequencies in logs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final

from cplc.decision.statistical import binomial_interval
from cplc.mining.observed_choices import ObservedChoices, Sends
from cplc.records import dataclass
from cplc.system.model import Agent, Step, System

_MAX_EVENTS: Final = 12
_INDEX: Final = re.compile(r"\[(\d+)\]")
_DIGITS: Final = Decimal("0.0001")
_UNIT: Final = 10_000
VARIABLE: Final = "i"


@dataclass(frozen=True, slots=True)
class EventEstimate:
    """The estimated probability of one event of a belief."""

    event: str
    """As in a belief: `pay[i]`, `bid[i](3)`."""
    count: int
    low: Decimal
    high: Decimal
    """Simultaneous confidence interval for all events of the belief (Bonferroni), rounded outwards."""
    share: Decimal
    """The shares of a belief sum to 1."""


@dataclass(frozen=True, slots=True)
class EstimatedBelief:
    """A belief about an agent, or about each member of a family."""

    role: str
    """`Buyer`, or `Buyer[i]` for members of a family."""
    members: tuple[int, ...]
    """The values of `i`; empty without an index."""
    over: str | None
    """The family, if these are all of its members."""
    estimates: tuple[EventEstimate, ...]
    count: int
    """Number of observed situations."""


@dataclass(frozen=True, slots=True)
class BeliefEstimates:
    beliefs: tuple[EstimatedBelief, ...]
    left_out: tuple[EstimatedBelief, ...]
    """Beliefs that overlap with one of more situations."""


@dataclass(frozen=True, slots=True)
class ChoiceShape:
    """A choice up to the index of its agent; choices of one shape are counted together."""

    role: str
    events: tuple[str, ...]


def estimate_beliefs(choices: ObservedChoices, believer: frozenset[str], confidence: float) -> BeliefEstimates:
    """Return beliefs about the other agents, for a believer that plays these roles."""
    system = choices.tracker.system
    counts_by_shape: dict[ChoiceShape, tuple[Counter[str], set[int]]] = {}
    for sends, outcomes in choices.decided.items():
        if system.steps[min(sends)].actor in believer:
            continue
        for shape, index, counts in named_choices(system, sends, outcomes):
            counter, members = counts_by_shape.setdefault(shape, (Counter(), set()))
            counter.update(counts)
            members |= {index} if index is not None else set()
    beliefs = [
        _belief(system, shape, counter, tuple(sorted(members)), confidence)
        for shape, (counter, members) in counts_by_shape.items()
    ]
    beliefs.sort(key=lambda one: (-one.count, one.role, one.estimates[0].event))
    retained: list[EstimatedBelief] = []
    overlapping: list[EstimatedBelief] = []
    for one in beliefs:
        (overlapping if any(_overlap(one, other) for other in retained) else retained).append(one)
    retained.sort(key=lambda one: (one.role, one.estimates[0].event))
    return BeliefEstimates(tuple(retained), tuple(overlapping))


def _overlap(one: EstimatedBelief, other: EstimatedBelief) -> bool:
    return not _messages(one).isdisjoint(_messages(other))


def _messages(belief: EstimatedBelief) -> frozenset[str]:
    """Return the messages of a belief, without payloads."""
    general = [estimate.event.partition("(")[0] for estimate in belief.estimates]
    if not belief.members:
        return frozenset(general)
    return frozenset(name.replace(f"[{VARIABLE}]", f"[{member}]") for name in general for member in belief.members)


def named_choices(
    system: System, sends: Sends, outcomes: Mapping[Sends, int]
) -> Iterator[tuple[ChoiceShape, int | None, Counter[str]]]:
    """Yield the counted choice: by payloads, or by messages if payloads are unknown or too many."""
    steps = [system.steps[send] for send in sorted(sends)]
    by_payload = len(sends) <= _MAX_EVENTS and all(len(chosen) == 1 for chosen in outcomes)
    carries = {step.event for step in steps if sum(other.event == step.event for other in steps) > 1}
    named = {
        send: _event(system.steps[send], by_payload and system.steps[send].event in carries) for send in sorted(sends)
    }
    if len(set(named.values())) < 2:
        return
    counts: Counter[str] = Counter(dict.fromkeys(named.values(), 0))
    for chosen, count in outcomes.items():
        names = {named[send] for send in chosen}
        if len(names) == 1:
            counts[names.pop()] += count
    agent = system.agent[steps[0].actor]
    indices = {tuple(_INDEX.findall(step.event)) for step in steps}
    mine = _INDEX.findall(agent.name)
    index = next(iter(indices))
    if len(indices) == 1 and len(index) == 1 and (not mine or mine == list(index)):
        role = _general(agent.name) if mine else agent.name
        counts = Counter({_general(name): count for name, count in counts.items()})
        yield ChoiceShape(role, tuple(counts)), int(index[0]), counts
    else:
        yield ChoiceShape(agent.name, tuple(counts)), None, counts


def _event(step: Step, with_payload: bool) -> str:
    if not with_payload:
        return step.event
    return f"{step.event}({', '.join(_value(value) for _, value in step.payload)})"


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _general(name: str) -> str:
    """Return the name with a variable for its index, outside of the payload."""
    head, bracket, payload = name.partition("(")
    return _INDEX.sub(f"[{VARIABLE}]", head) + bracket + payload


def _belief(
    system: System, shape: ChoiceShape, counts: Counter[str], members: tuple[int, ...], confidence: float
) -> EstimatedBelief:
    total = sum(counts.values())
    several = len(shape.events) if len(shape.events) > 2 else 1
    each = 1 - (1 - confidence) / several
    shares = _shares([counts[event] for event in shape.events], total)
    estimates = tuple(
        EventEstimate(event, counts[event], *_bounds(counts[event], total, each), share)
        for event, share in zip(shape.events, shares, strict=True)
    )
    return EstimatedBelief(shape.role, members, _family(system, shape, members), estimates, total)


def _bounds(count: int, total: int, confidence: float) -> tuple[Decimal, Decimal]:
    if not total:
        return Decimal(0), Decimal(1)
    low, high = binomial_interval(count, total, confidence)
    return (
        Decimal(low).quantize(_DIGITS, ROUND_FLOOR),
        min(Decimal(1), Decimal(high).quantize(_DIGITS, ROUND_CEILING)),
    )


def _shares(counts: Sequence[int], total: int) -> list[Decimal]:
    """Return the shares in ten thousandths with sum 1, by the largest-remainder method."""
    if not total:
        counts, total = [1] * len(counts), len(counts)
    parts = [count * _UNIT // total for count in counts]
    order = sorted(range(len(counts)), key=lambda at: (-(counts[at] * _UNIT % total), at))
    for at in order[: _UNIT - sum(parts)]:
        parts[at] += 1
    return [Decimal(part) / _UNIT for part in parts]


def _family(system: System, shape: ChoiceShape, members: tuple[int, ...]) -> str | None:
    """Return the unique family with exactly these members, for a `for` over it."""
    if not members:
        return None
    families: dict[str, list[Agent]] = {}
    for agent in system.agents:
        families.setdefault(agent.family, []).append(agent)
    sizes = {
        name
        for name, agents in families.items()
        if {_INDEX.findall(a.name)[0] for a in agents if "[" in a.name} == set(map(str, members))
    }
    own = shape.role.partition("[")[0]
    if shape.role.endswith(f"[{VARIABLE}]"):
        return own if own in sizes else None
    return next(iter(sizes)) if len(sizes) == 1 else None
