"""Rules of a plan with the members of a family folded: which message goes to whom, and while what holds.

Definition. A situation sends a message to a member if its choice does. It holds the message back from a member if the
plan waits there, or sends an alternative to this member, although what the member has got is what other members have
got when the message is sent to them.

A rule is a condition that holds in all situations where the plan sends the message and nowhere where it is held back.
Of several it is the one that holds in fewest other situations, in which the plan sends something to another member
first, and of equal ones the simplest. Conditions are about shared variables and about numbers of other members.
Messages that the plan sends first come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import combinations

from cplc.decision.results import WAIT, Situation
from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.report.step_text import variable_text
from cplc.system.model import System

_MAX_PLACES = 10
"""Maximum number of different last messages of members."""
_MAX_SITUATIONS = 3_000
_MAX_COUNTED = 3
"""Maximum number of last messages that are counted together."""

_MAX_JOINED = 60
"""Number of conditions of which each two are tried together."""

_Got = frozenset[str]
"""The messages that one member has sent or received, without the index."""
_Pair = tuple[int, int]
"""A situation and a member."""


@dataclass(frozen=True, slots=True)
class _Condition:
    text: str
    pairs: frozenset[_Pair]
    """The situations and members for which it holds."""


def folded_rules(system: System, situations: Sequence[Situation]) -> tuple[str, ...]:
    """Return a rule for each message of the plan; none if it is not about members of one family, or not so simple."""
    if not 1 < len(situations) <= _MAX_SITUATIONS:
        return ()
    folding = _Folding(system, situations)
    if not folding.is_about_members:
        return ()
    rules = [folding.rule(message) for message in folding.messages]
    is_complete = all(rule is not None for rule in rules)
    return tuple(rule for rule in rules if rule is not None) if is_complete else ()


def _indexed(name: str) -> tuple[str, int] | None:
    """Return the parts of ``offer[2]`` or ``offer[2](5)``, without the index and with it."""
    match = re.fullmatch(r"([^\[\]()]+)\[(\d+)\](\([^()]*\))?", name)
    return None if match is None else (match[1] + (match[3] or ""), int(match[2]))


class _Folding:
    """The situations of a plan by what each member has got."""

    def __init__(self, system: System, situations: Sequence[Situation]) -> None:
        self.system = system
        self.situations = situations
        self.choices = [
            None if one.steps == (WAIT,) else _indexed(one.steps[0].partition(" ")[2]) if len(one.steps) == 1 else None
            for one in situations
        ]

    @cached_property
    def is_about_members(self) -> bool:
        """True if every choice is to wait or to send something to one of several members, and the plan sees each."""
        chosen = [
            choice is not None or one.steps == (WAIT,)
            for choice, one in zip(self.choices, self.situations, strict=True)
        ]
        names = [name for name, _ in self.situations[0].observation]
        addressed = {member for choice in self.choices if choice is not None for _, member in (choice,)}
        return (
            all(chosen)
            and len(addressed) > 1
            and addressed <= set(self._members)
            and all(self.system.variable[name].kind in ("copy", "own") for name in names)
            and 0 < len(self._places) <= _MAX_PLACES
        )

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages that the plan sends, those that it prefers to others first."""
        every = dict.fromkeys(choice[0] for choice in self.choices if choice is not None)
        ready = {message: {self._got[at][member] for at, member in self._sent(message)} for message in every}
        return tuple(sorted(every, key=lambda message: -self._preferences(message, ready)))

    def _preferences(self, message: str, ready: Mapping[str, Set[_Got]]) -> int:
        """Return how often the message is sent where others could be, less how often it is the other way."""
        balance = 0
        for at, choice in enumerate(self.choices):
            if choice is not None:
                possible = {
                    other for other, states in ready.items() if not states.isdisjoint(self._got[at].values())
                } - {choice[0]}
                balance += len(possible) if choice[0] == message else -(message in possible)
        return balance

    def _sent(self, message: str) -> set[_Pair]:
        return {
            (at, choice[1]) for at, choice in enumerate(self.choices) if choice is not None and choice[0] == message
        }

    @cached_property
    def _members(self) -> tuple[int, ...]:
        indexed = (_indexed(self.system.variable[name].about) for name, _ in self.situations[0].observation)
        return tuple(sorted({one[1] for one in indexed if one is not None}))

    @cached_property
    def _family(self) -> str:
        """The name of the members, if only one family can be meant."""
        sizes: dict[str, int] = {}
        for agent in self.system.agents:
            if agent.name != agent.family:
                sizes[agent.family] = sizes.get(agent.family, 0) + 1
        return next(iter(sizes)) if len(sizes) == 1 else "member"

    @cached_property
    def _got(self) -> list[dict[int, _Got]]:
        """The messages of each member in each situation."""
        result = []
        for one in self.situations:
            each: dict[int, set[str]] = {member: set() for member in self._members}
            for name, value in one.observation:
                variable = self.system.variable[name]
                place = _indexed(variable.about)
                if place is not None and value != variable.initial[0]:
                    each[place[1]].add(place[0])
            result.append({member: frozenset(messages) for member, messages in each.items()})
        return result

    @cached_property
    def _last(self) -> dict[_Got, str]:
        """The message of each set that comes with all others of it, in all sets that have it."""
        sets = {messages for each in self._got for messages in each.values()}
        result = {}
        for messages in sets:
            last = [
                message for message in sorted(messages) if all(messages <= other for other in sets if message in other)
            ]
            result[messages] = last[0] if last else " and ".join(sorted(messages))
        return result

    @cached_property
    def _places(self) -> tuple[str, ...]:
        return tuple(sorted(set(self._last.values()) - {""}))

    # --- rules

    def rule(self, message: str) -> str | None:
        """Return the rule of a message, if a condition tells where it is sent."""
        sent = self._sent(message)
        ready = {self._got[at][member] for at, member in sent}
        possible = {
            (at, member)
            for at in range(len(self.choices))
            for member in self._members
            if self._got[at][member] in ready
        }
        held_back = {
            (at, member)
            for at, member in possible - sent
            if (choice := self.choices[at]) is None or choice[1] == member
        }
        condition = self._simplest(sent, held_back, possible)
        if condition is None:
            return None
        places = sorted({self._last[messages] for messages in ready} - {""})
        after = f" after {' or '.join(f'`{place}`' for place in places)}" if places else ""
        return f"`{message}` to each {self._family}{after}{condition and f', while {condition}'}"

    def _simplest(self, sent: set[_Pair], held_back: set[_Pair], possible: set[_Pair]) -> str | None:
        if not held_back:
            return ""
        candidates = [one for one in self._candidates(possible) if sent <= one.pairs]
        joint = (
            _Condition(f"{one.text} and {other.text}", one.pairs & other.pairs)
            for one, other in combinations(candidates[:_MAX_JOINED], 2)
        )
        for several in (candidates, joint):
            telling = [one for one in several if held_back.isdisjoint(one.pairs)]
            if telling:
                return min(telling, key=lambda one: len(one.pairs)).text
        return None

    def _candidates(self, pairs: Iterable[_Pair]) -> Iterator[_Condition]:
        """Yield conditions, the simplest first."""
        every = sorted(pairs)
        shared = {at: self._shared(at) for at, _ in every}
        names = list(dict.fromkeys(name for each in shared.values() for name in each))
        for name in names:
            text = self._text(name)
            values = dict.fromkeys(each[name] for each in shared.values())
            for value in values:
                yield _Condition(self._is(name, value), frozenset(p for p in every if shared[p[0]][name] == value))
            for value in values if self._is_number(name) else ():
                assert isinstance(value, int)
                above = frozenset(p for p in every if _number(shared[p[0]][name]) >= value)
                yield _Condition(f"{text} is at least {value}", above)
                below = frozenset(p for p in every if _number(shared[p[0]][name]) <= value)
                yield _Condition(f"{text} is at most {value}", below)
        for size in range(1, _MAX_COUNTED + 1):
            for places in combinations(self._places, size):
                counts = {pair: self._count(pair, places) for pair in every}
                whose = f"whose last message is {' or '.join(f'`{place}`' for place in places)}"
                for most in sorted(set(counts.values()))[:-1]:
                    at_most = frozenset(pair for pair in every if counts[pair] <= most)
                    yield _Condition(f"there {self._at_most(most)} {whose}", at_most)
                for least in sorted(set(counts.values()))[1:]:
                    at_least = frozenset(pair for pair in every if counts[pair] >= least)
                    yield _Condition(f"there are {least} or more other {self._family}s {whose}", at_least)
                for name in filter(self._is_number, names):
                    fewer = frozenset(pair for pair in every if counts[pair] < _number(shared[pair[0]][name]))
                    others_text = f"other {self._family}s {whose}"
                    yield _Condition(f"there are fewer {others_text} than {self._text(name)}", fewer)
                    as_many = frozenset(every) - fewer
                    yield _Condition(f"there are no fewer {others_text} than {self._text(name)}", as_many)

    def _shared(self, at: int) -> dict[str, Value]:
        """Return the variables that are of no member."""
        return {
            name: value
            for name, value in self.situations[at].observation
            if _indexed(self.system.variable[name].about) is None
        }

    def _count(self, pair: _Pair, places: Sequence[str]) -> int:
        at, mine = pair
        return sum(self._last[got] in places for member, got in self._got[at].items() if member != mine)

    def _is_number(self, name: str) -> bool:
        return all(
            isinstance(value, int) and not isinstance(value, bool) for value in self.system.variable[name].domain
        )

    def _text(self, name: str) -> str:
        return f"`{variable_text(self.system, self.system.variable[name])}`"

    def _is(self, name: str, value: Value) -> str:
        variable = self.system.variable[name]
        if variable.kind == "copy":
            return f"`{variable.about}` has {'not ' if value == variable.initial[0] else ''}been sent"
        return f"{self._text(name)} is {value}"

    def _at_most(self, most: int) -> str:
        if most == 0:
            return f"is no other {self._family}"
        return f"{'is' if most == 1 else 'are'} at most {most} other {self._family}{'s' if most > 1 else ''}"


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
