"""Rounds of a synchronous system on packed states, without enumerating all joint actions.

Players depend on each other where a rule reads the actions of several of them. In a given state most players have a
single action, so those with a choice fall into small independent groups, and each group is enumerated by itself. Rules
write different variables: the outcomes of the groups combine freely, and each combination is another state.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeVar

from cplc.logic.expressions import Read, reads
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.packing import MAX_TABLE_ENTRIES, MemoTable, Packing
from cplc.statespace.transition_relation import SuccessorTable, Transition, TransitionRelation
from cplc.system.model import System
from cplc.system.synchronous import Change, Player

_MAX_TOGETHER = 1_000_000
"""Maximum number of joint actions that are enumerated for a group of dependent players."""
_ROUNDS_PER_STATE = 8
"""Maximum number of rounds per state of the limit, from one state and in a stored graph."""
_FEW_ROUNDS = 256
"""Arrays of labels for fewer rounds than this are made once."""

T = TypeVar("T")
Bits = tuple[int, ...]
"""Actions of a player, as bits of its choice variable."""
Changes = tuple[int, ...]
"""The changes of a rule whose guards hold, by their indices."""
Steering = tuple[tuple[int, Bits], ...]
"""Players whose actions are distinguished, each with a set of equivalent actions."""
_JointOutcomes = tuple[list["_Rule"], dict[Steering, list[tuple[Changes, ...]]]]
"""Rules of one group, with their joint outcomes."""
Restriction = tuple[str, str]
"""A choice variable and the only action of it that is considered."""


class SynchronousRelation(TransitionRelation):
    """The rounds of a synchronous system, which all have one label. There is no idle step."""

    has_idle_step = False

    def __init__(self, system: System, limit: int, spend: Callable[[int], None] | None = None) -> None:
        self._rounds = RoundSuccessors(system)
        super().__init__(system, self._rounds.packing, ("round",))
        self._max_rounds = _ROUNDS_PER_STATE * limit
        self._spend = spend
        self._restricted: dict[Restriction, RoundSuccessors] = {}

    def free_tables(self) -> None:
        self._restricted.clear()
        self._rounds = RoundSuccessors(self.system)

    def transitions(self, state: int) -> list[Transition]:
        transitions = [(0, target) for target in self._rounds.after(state, self._max_rounds)]
        if self._spend is not None:
            self._spend(len(transitions))
        return transitions

    def by_action(self, state: int, only: Restriction | None) -> list[int]:
        """Return the successors by rounds with this action, or by all rounds."""
        rounds = self._rounds
        if only is not None:
            rounds = self._restricted.get(only) or self._restricted.setdefault(only, RoundSuccessors(self.system, only))
        return rounds.after(state, self._max_rounds)

    def tables(self, sample: Sequence[int], stored: int) -> list[tuple[int, SuccessorTable]]:
        return [(-1, _CountedRounds(self._rounds, self._max_rounds - stored))]


class _CountedRounds:
    """The changes by all rounds from a state. A search may store at most ``room`` rounds."""

    def __init__(self, rounds: RoundSuccessors, room: int) -> None:
        self._rounds = rounds
        self._room = room
        self._labels = [array("I", bytes(4 * number)) for number in range(_FEW_ROUNDS)]

    def __getitem__(self, state: int) -> tuple[list[int], array[int]]:
        changes: list[int] = []
        for _, some in self._rounds.ways(state, self._room):
            changes += some
        number = len(changes)
        self._room -= number
        return changes, self._labels[number] if number < _FEW_ROUNDS else array("I", bytes(4 * number))


class RoundSuccessors:
    """The rounds from a packed state."""

    def __init__(self, system: System, only: Restriction | None = None, steered: Collection[str] = ()) -> None:
        choices = {player.choice: tuple(action.name for action in player.actions) for player in system.players}
        self.packing = Packing(system, choices)
        self._players = [_Player(self.packing, player, only) for player in system.players]
        position = {player.choice: index for index, player in enumerate(system.players)}
        rules = [_Rule(self.packing, rule, position) for player in system.players for rule in player.rules]
        steered_players = frozenset(position[choice] for choice in steered)
        self._groups = [
            _RuleGroup(self._players, some, steered_players) for some in _apart((rule, rule.asks) for rule in rules)
        ]
        read_players = {index for rule in rules for index in rule.asks}
        self._others = [player for index, player in enumerate(self._players) if index not in read_players]
        """Players whose actions no rule reads: it only matters that they have one."""

    def after(self, state: int, room: int) -> list[int]:
        """Return the successors, each once. Raise `ResourceExhausted` if there are more than ``room``."""
        return [state ^ change for _, some in self.ways(state, room) for change in some]

    def options(self, state: int, room: int) -> Iterator[tuple[Steering, list[int]]]:
        """Yield the joint actions of the steered players, each with its successors.

        All other players may take any allowed action.
        """
        for steering, changes in self.ways(state, room):
            yield steering, [state ^ change for change in changes]

    def ways(self, state: int, room: int) -> Iterator[tuple[Steering, list[int]]]:
        """Yield the joint actions of the steered players, each with the bits that change."""
        for player in self._others:
            if not player.allowed[state & player.mask]:
                return
        for ways in product(*(group.table[state & group.mask] for group in self._groups)):
            room -= prod(len(changes) for _, changes in ways)
            if room < 0:
                raise ResourceExhausted("more rounds between reachable states than can be kept")
            combined = [0]
            for _, changes in ways:
                combined = [one ^ change for change in changes for one in combined]
            yield tuple(choice for steering, _ in ways for choice in steering), combined


class _Player:
    """The allowed actions of one player as a function of the state."""

    def __init__(self, packing: Packing, player: Player, only: Restriction | None) -> None:
        actions = [
            (packing.condition(action.allowed), packing.bits(player.choice, action.name))
            for action in player.actions
            if only is None or only[0] != player.choice or only[1] == action.name
        ]
        self.mask = packing.mask(name for action in player.actions for name in reads(action.allowed))
        self.allowed = MemoTable(lambda state: tuple(bits for allowed, bits in actions if allowed(state)))


class _Rule:
    """One rule. Its outcome depends on few variables and on the actions of the players that it reads."""

    def __init__(self, packing: Packing, changes: Sequence[Change], position: dict[str, int]) -> None:
        names = {name for change in changes for name in reads(change.guard)}
        self.asks = sorted(position[name] for name in names if name in position)
        self._mask = packing.mask(names)
        used = {name for change in changes for written, value in change.updates for name in (written, *reads(value))}
        self._used = packing.mask(used)
        self.seen = packing.mask((names | used) - position.keys())
        """The bits of a state that it reads or writes."""
        self._packing = packing
        guards = [(packing.mask(reads(change.guard)), MemoTable(packing.condition(change.guard))) for change in changes]
        self._updates = [
            (
                ~packing.mask(name for name, _ in change.updates),
                [(name, packing.evaluator(value)) for name, value in change.updates],
            )
            for change in changes
        ]
        self._made = MemoTable(
            lambda pattern: tuple(n for n, (mask, holds) in enumerate(guards) if holds[pattern & mask])
        )
        self._told: dict[tuple[int, tuple[Bits, ...]], _RuleOutcomes] = {}
        self._ways: dict[tuple[Changes, int], list[int]] = {}

    def told(self, doing: int, free: Mapping[int, Bits]) -> _RuleOutcomes:
        """Return the possible changes by the actions of the players who have a choice; the others' are in ``doing``."""
        free_players = [index for index in self.asks if index in free]
        key = doing & self._mask, tuple(free[index] for index in free_players)
        outcomes = self._told.get(key)
        if outcomes is None:
            if len(self._told) >= MAX_TABLE_ENTRIES:
                self._told.clear()
            outcomes = self._told[key] = self._worked_out(doing, free_players, free)
        return outcomes

    def _worked_out(self, doing: int, free_players: list[int], free: Mapping[int, Bits]) -> _RuleOutcomes:
        """Return the outcomes, depending only on players whose actions make a difference."""
        _check_together(len(free[index]) for index in free_players)
        every = product(*(free[index] for index in free_players))
        outcomes = _RuleOutcomes(
            free_players, {chosen: self._made[doing + sum(chosen) & self._mask] for chosen in every}
        )
        for index in free_players:
            by_other_players = outcomes.without(index)
            if all(len(set(made)) == 1 for made in by_other_players.values()):
                remaining = [one for one in outcomes.players if one != index]
                outcomes = _RuleOutcomes(remaining, {chosen: made[0] for chosen, made in by_other_players.items()})
        return outcomes

    def ways(self, made: Changes, state: int) -> list[int]:
        """Return the bits that change, one entry for each outcome; none where all changes leave a domain."""
        key = made, state & self._used
        changes = self._ways.get(key)
        if changes is None:
            if len(self._ways) >= MAX_TABLE_ENTRIES:
                self._ways.clear()
            distinct: dict[int, None] = {}
            for number in made:
                unwritten, updates = self._updates[number]
                try:
                    written = sum(self._packing.bits(name, value(state)) for name, value in updates)
                except ValueError:  # it has no such value
                    continue
                distinct[(state & unwritten | written) ^ state] = None
            changes = self._ways[key] = list(distinct) if made else [0]
        return changes


@dataclass(frozen=True, slots=True)
class _RuleOutcomes:
    """The changes of a rule by the actions of the players that it reads and who have a choice."""

    players: list[int]
    made: dict[Bits, Changes]

    def without(self, player: int) -> dict[Bits, list[Changes]]:
        """Return the changes by the actions of all other players, one entry for each action of this one."""
        at = self.players.index(player)
        by_other_players: dict[Bits, list[Changes]] = {}
        for chosen, made in self.made.items():
            by_other_players.setdefault(chosen[:at] + chosen[at + 1 :], []).append(made)
        return by_other_players

    def after(self, player: int, action: int) -> tuple[Changes, ...]:
        """Return the changes for this action, one entry for each joint action of the other players."""
        at = self.players.index(player)
        return tuple(made for chosen, made in self.made.items() if chosen[at] == action)


class _RuleGroup:
    """A connected component of rules and the players that they read."""

    def __init__(self, players: Sequence[_Player], rules: Sequence[_Rule], steered: frozenset[int]) -> None:
        self._rules = rules
        self._steered = steered
        self._asked = {index: players[index] for rule in rules for index in rule.asks}
        self.mask = 0
        for player in self._asked.values():
            self.mask |= player.mask
        for rule in rules:
            self.mask |= rule.seen
        self.table = MemoTable(self._ways)
        self._known: dict[tuple[int, ...], tuple[list[_RuleOutcomes], list[_JointOutcomes]]] = {}

    def _ways(self, state: int) -> list[tuple[Steering, list[int]]]:
        """Return the bits that change, one entry for each outcome, by steering; none if a player has no action."""
        doing, free = state, dict[int, Bits]()
        for index, player in self._asked.items():
            allowed = player.allowed[state & player.mask]
            if not allowed:
                return []
            if len(allowed) == 1:
                doing |= allowed[0]
            else:
                free[index] = allowed
        ways: list[tuple[Steering, list[int]]] = [((), [0])]
        for rules, joint in self._together([rule.told(doing, free) for rule in self._rules], free):
            some = [(steering, self._changes(rules, made, state)) for steering, made in joint.items()]
            _check_ways(sum(len(one) for _, one in ways) * sum(len(one) for _, one in some))
            ways = [
                (before + steering, [one ^ other for other in changes for one in combined])
                for steering, changes in some
                for before, combined in ways
            ]
        return ways

    def _changes(self, rules: Sequence[_Rule], joint: Sequence[tuple[Changes, ...]], state: int) -> list[int]:
        """Return the bits that change, one entry for each outcome."""
        some: dict[int, None] = {}
        for made in joint:
            combined = [0]
            for rule, changes in zip(rules, made, strict=True):
                combined = [one ^ way for way in rule.ways(changes, state) for one in combined]
                _check_ways(len(combined))
            some.update(dict.fromkeys(combined))
        return list(some)

    def _together(self, outcomes: list[_RuleOutcomes], free: Mapping[int, Bits]) -> list[_JointOutcomes]:
        """Return the joint outcomes of the rules, in independent groups."""
        key = tuple(
            map(id, outcomes)
        )  # the outcomes are stored with the entry, so that no other object gets their identity
        cached = self._known.get(key)
        if cached is None:
            if len(self._known) >= MAX_TABLE_ENTRIES:
                self._known.clear()
            asking = ((pair, pair[1].players) for pair in zip(self._rules, outcomes, strict=True))
            cached = self._known[key] = outcomes, [_joint(members, free, self._steered) for members in _apart(asking)]
        return cached[1]


def _joint(
    rules: Sequence[tuple[_Rule, _RuleOutcomes]], free: Mapping[int, Bits], steered: frozenset[int]
) -> _JointOutcomes:
    """Return the joint outcomes of these rules over all actions of the players who have a choice.

    Of actions that are equivalent for each of these rules one is tried. Steered players come first.
    """
    players = sorted(
        {index for _, outcomes in rules for index in outcomes.players}, key=lambda one: (one not in steered, one)
    )
    kinds: list[list[Bits]] = []
    for index in players:
        asking = [outcomes for _, outcomes in rules if index in outcomes.players]
        alike: dict[tuple[tuple[Changes, ...], ...], list[int]] = {}
        for action in free[index]:
            alike.setdefault(tuple(outcomes.after(index, action) for outcomes in asking), []).append(action)
        kinds.append([tuple(actions) for actions in alike.values()])
    _check_together(map(len, kinds))
    apart = sum(index in steered for index in players)
    by_steering: dict[Steering, dict[tuple[Changes, ...], None]] = {}
    for actions in product(*kinds):
        chosen = dict(zip(players, actions, strict=True))
        made = tuple(outcomes.made[tuple(chosen[index][0] for index in outcomes.players)] for _, outcomes in rules)
        by_steering.setdefault(tuple(chosen.items())[:apart], {})[made] = None
    return [rule for rule, _ in rules], {steering: list(made) for steering, made in by_steering.items()}


def _check_ways(number: int) -> None:
    if number > _MAX_TOGETHER:
        raise ResourceExhausted(f"more than {_MAX_TOGETHER:,} rounds are possible in one state")


def _check_together(choices: Iterable[int]) -> None:
    if prod(choices) > _MAX_TOGETHER:
        raise ResourceExhausted(f"more than {_MAX_TOGETHER:,} ways to act together depend on each other in one state")


def _apart(asking: Iterable[tuple[T, Iterable[int]]]) -> list[list[T]]:
    """Return the connected components: groups that read disjoint sets of players."""
    groups: list[tuple[list[T], frozenset[int]]] = []
    for one, players in asking:
        members, read_players = [one], frozenset(players)
        apart = []
        for group in groups:
            if group[1].isdisjoint(read_players):
                apart.append(group)
            else:
                members, read_players = group[0] + members, group[1] | read_players
        groups = [*apart, (members, read_players)]
    return [members for members, _ in groups]


# --- one round from another state


def agreeing(packing: Packing, same: Iterable[tuple[str, str]]) -> Callable[[int, int], bool]:
    """Return a test whether each pair of variables agrees, the first in one state and the second in the other."""
    same_mask = packing.mask(before for before, after in same if before == after)
    moved = [
        (packing.evaluator(Read(before)), packing.evaluator(Read(after))) for before, after in same if before != after
    ]

    def agree(state: int, target: int) -> bool:
        return not (state ^ target) & same_mask and all(one(state) == other(target) for one, other in moved)

    return agree
