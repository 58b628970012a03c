"""Log coverage: messages, alternatives of choices and promises of a protocol that occur in logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cplc.logs.mapping import family_of
from cplc.mining.belief_estimation import named_choices
from cplc.mining.observed_choices import ObservedChoices
from cplc.records import dataclass
from cplc.system.model import Claim, Commitment


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
