"""Choices observed in logs: alternatives, beliefs estimated from them, and the coverage of a protocol."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final

from cplc.decision.statistical import binomial_interval
from cplc.logic.expressions import value_text
from cplc.logs.mapping import family_of
from cplc.monitoring.event_matching import ResolvedEvent
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.records import dataclass
from cplc.system.model import Agent, Claim, Commitment, Step, System

Sends = frozenset[int]
"""Positions of sends in the system's steps."""


@dataclass
class ObservedChoices:
    """Counts the messages sent and the alternatives chosen.

    Two sends of one agent are alternatives in a state if both are enabled, and one of them, once delivered, disables
    the other; so are payloads of one message. A choice is a class of the transitive closure.
    """

    tracker: StateTracker
    sent: Counter[str] = field(default_factory=Counter)
    """How often each message was sent, if its instance is known."""
    unclear: Counter[str] = field(default_factory=Counter)
    """Messages whose instance is ambiguous."""
    decided: dict[Sends, Counter[Sends]] = field(default_factory=dict)
    """For each choice, how often each of its sends was taken; several sends if the log is ambiguous."""

    def __post_init__(self) -> None:
        steps = self.tracker.system.steps
        self._receipts = {at: tuple(self._receipts_of(steps[at].event)) for at in self.tracker.visible_steps}
        self._candidates: dict[int, tuple[int, ...]] = {}

    def watch(self, states: States, resolved: ResolvedEvent, inferring: bool) -> None:
        """Count a message before it changes the states."""
        steps = self.tracker.system.steps
        taken: dict[int, list[int]] = {}
        for way in resolved.ways:
            if steps[way[0]].kind not in ("send", "exchange"):
                return
            if moments := self.tracker.states_before(states, way, inferring):
                taken[way[0]] = moments
        names = {steps[send].event for send in taken}
        if len(names) == 1:
            self.sent[names.pop()] += 1
        elif names:
            self.unclear[resolved.message] += 1
        if taken:
            send, moments = next(iter(taken.items()))
            choice = max((self._choice(state, send) for state in moments), key=len)
            if len(choice) > 1 and (chosen := choice.intersection(taken)):
                self.decided.setdefault(choice, Counter())[chosen] += 1

    def _choice(self, state: int, send: int) -> Sends:
        """Return the choice of a send in a state: its class of alternatives."""
        alternatives = {send}
        waiting = [send]
        while waiting:
            one = waiting.pop()
            for other in self._conflicting_sends(one):
                if other not in alternatives and self._excludes(state, one, other):
                    alternatives.add(other)
                    waiting.append(other)
        return frozenset(alternatives)

    def _conflicting_sends(self, send: int) -> tuple[int, ...]:
        """Return the sends of the same agent that may disable this one, or that it may disable."""
        if send not in self._candidates:
            steps = self.tracker.system.steps
            mine = self._writes(send), steps[send].footprint
            self._candidates[send] = tuple(
                other
                for other in self.tracker.visible_steps
                if other != send
                and steps[other].actor == steps[send].actor
                and (mine[0] & steps[other].footprint or self._writes(other) & mine[1])
            )
        return self._candidates[send]

    def _receipts_of(self, message: str) -> Iterator[int]:
        """Yield the receipts of a message, in the order of its receivers."""
        each = (steps for (name, _), steps in self.tracker.receipts.items() if name == message)
        yield from (steps[-1] if at else steps[0] for at, steps in enumerate(each))

    def _writes(self, send: int) -> frozenset[str]:
        steps = self.tracker.system.steps
        return frozenset().union(*(steps[at].writes for at in (send, *self._receipts[send])))

    def _excludes(self, state: int, one: int, other: int) -> bool:
        """Tell whether both sends are enabled in the state, and one of them disables the other."""
        taken, steps = self.tracker.relation.by_step, self.tracker.system.steps
        if not taken(state, other):
            return False
        return (
            steps[one].event == steps[other].event
            or not self._is_possible_after(state, one, other)
            or not self._is_possible_after(state, other, one)
        )

    def _is_possible_after(self, state: int, first: int, second: int) -> bool:
        taken = self.tracker.relation.by_step
        arrived = list(taken(state, first))
        for receipt in self._receipts[first]:
            arrived = [end for sent in arrived for end in (taken(sent, receipt) or [sent])]
        return any(taken(end, second) for end in arrived)


# --- Belief estimation: probabilities of the choices of other agents, from their frequencies in logs


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
    return f"{step.event}({', '.join(value_text(value) for _, value in step.payload)})"


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


# --- Log coverage: messages, alternatives of choices and promises of a protocol that occur in logs


@dataclass(frozen=True, slots=True)
class MessageCoverage:
    """A message, all members of a family together, and its number of occurrences."""

    name: str
    count: int
    members: int
    """Number of members."""
    missing: tuple[str, ...]
    """The members that never occurred."""


@dataclass(frozen=True, slots=True)
class ChoiceCoverage:
    """A choice of one agent, and the number of occurrences of each alternative."""

    role: str
    ways: Mapping[str, int]

    @property
    def never(self) -> tuple[str, ...]:
        return tuple(way for way, count in self.ways.items() if not count)


@dataclass(frozen=True, slots=True)
class PromiseCoverage:
    """A commitment or claim, all members of a family together, and how often it entered each state."""

    name: str
    states: Mapping[str, int]
    is_claim: bool


@dataclass(frozen=True, slots=True)
class LogCoverage:
    messages: tuple[MessageCoverage, ...]
    choices: tuple[ChoiceCoverage, ...]
    promises: tuple[PromiseCoverage, ...]

    @property
    def all(self) -> int:
        """Number of items to cover: messages, alternatives of choices that came up, and promises."""
        return len(self.messages) + sum(len(one.ways) for one in self.choices) + len(self.promises)

    @property
    def seen(self) -> int:
        ways = sum(bool(count) for one in self.choices for count in one.ways.values())
        made = sum(bool(one.states) for one in self.promises)
        return sum(bool(one.count) for one in self.messages) + ways + made

    @property
    def percent(self) -> float:
        return 100 * self.seen / self.all if self.all else 100.0


def log_coverage(choices: ObservedChoices, states: Counter[tuple[str, str]]) -> LogCoverage:
    """Return the coverage by the observed logs; ``states`` counts how often each promise entered each state."""
    system = choices.tracker.system
    families: dict[str, list[str]] = {}
    for message in system.messages:
        families.setdefault(family_of(message.name), []).append(message.name)
    messages = tuple(_seen(name, members, choices) for name, members in families.items())
    ways: dict[tuple[str, tuple[str, ...]], Counter[str]] = {}
    for sends, outcomes in choices.decided.items():
        for shape, _, counts in named_choices(system, sends, outcomes):
            counter = ways.setdefault((shape.role, shape.events), Counter(dict.fromkeys(shape.events, 0)))
            for event, count in counts.items():
                counter[event] += count
    promises: dict[str, tuple[Counter[str], bool]] = {}
    claims = {one.name for one in system.claims}
    made: tuple[Commitment | Claim, ...] = (*system.commitments, *system.claims)
    for one in made:
        counter, _ = promises.setdefault(family_of(one.name), (Counter(), one.name in claims))
        for (name, state), count in states.items():
            if name == one.name:
                counter[state] += count
    return LogCoverage(
        messages,
        tuple(ChoiceCoverage(role, dict(counter)) for (role, _), counter in ways.items()),
        tuple(PromiseCoverage(name, dict(counter), is_claim) for name, (counter, is_claim) in promises.items()),
    )


def _seen(name: str, members: list[str], choices: ObservedChoices) -> MessageCoverage:
    count = sum(choices.sent[member] for member in members) + choices.unclear[name]
    missing = () if choices.unclear[name] else tuple(member for member in members if not choices.sent[member])
    return MessageCoverage(name, count, len(members), missing)
