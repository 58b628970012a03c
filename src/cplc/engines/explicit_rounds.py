"""The graph of a synchronous system: the rounds of its players, computed without trying all that they may do together.

Players influence each other where a rule reads what several of them do. In a given state most of these have one action
only, so those who have a choice fall into small groups, and each group is gone through by itself. Rules write different
variables: the ways of the groups combine freely, and each combination is another state.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from math import prod

from cplc.engines.explicit_graph import Graph
from cplc.engines.explicit_states import Packing, Table
from cplc.engines.interface import ResourceExhausted
from cplc.system.expr import Read, reads
from cplc.system.formula import Adjacent
from cplc.system.model import System
from cplc.system.rounds import Change, Player
from cplc.system.solving import independent, solutions

_MOST_TOGETHER = 1_000_000
"""So many ways to act are tried at most for those who influence each other in a state."""
_EDGES = 8
"""For each state of the limit there may be so many rounds."""

Restriction = tuple[str, str]
"""A choice, and the one action that counts."""


def explore_rounds(system: System, limit: int) -> Graph:
    """Return the reachable part of a synchronous system, if it has no more states than the limit."""
    rounds = Rounds(system)
    states = _initial(rounds.packing, system, limit)
    initial = count = len(states)
    number = {state: position for position, state in enumerate(states)}
    first, target = array("I", (0,)), array("I")
    known, found, reached, room = number.setdefault, states.append, target.append, _EDGES * limit
    for state in states:  # grows
        for after in rounds.after(state, room - len(target)):
            position = known(after, count)
            if position == count:
                found(after)
                count += 1
            reached(position)
        first.append(len(target))
        if count > limit:
            raise ResourceExhausted(f"more than {limit:,} reachable states")
    return Graph(rounds.packing, states, number, initial, first, target, array("I", bytes(4 * len(target))))


def _initial(packing: Packing, system: System, limit: int) -> list[int]:
    """Return the initial states: what the initial condition says of different variables is independent."""
    domains = {variable.name: tuple(dict.fromkeys(variable.initial)) for variable in system.variables}
    parts: list[list[int]] = []
    for names, condition in independent(domains, system.start):
        ways = solutions({name: domains[name] for name in names}, condition)
        found = [sum(packing.bits(*one) for one in way.items()) for way in islice(ways, limit + 1)]
        parts.append(found)
        if prod(map(len, parts)) > limit:
            raise ResourceExhausted(f"more than {limit:,} initial states")
    return [sum(bits) for bits in product(*parts)]


class Rounds:
    """What the players may do in a packed state, and where that leads."""

    def __init__(self, system: System, only: Restriction | None = None) -> None:
        choices = {player.choice: tuple(action.name for action in player.actions) for player in system.players}
        self.packing = Packing(system, choices)
        self._players = [_Player(self.packing, player, only) for player in system.players]
        position = {player.choice: index for index, player in enumerate(system.players)}
        rules = [_Rule(self.packing, rule, position) for player in system.players for rule in player.rules]
        self._groups = [_Group(self._players, members) for members in _connected(rules)]
        asked = {index for rule in rules for index in rule.asks}
        self._others = [player for index, player in enumerate(self._players) if index not in asked]
        """Nobody reads what they do; it only matters that they can do something."""

    def after(self, state: int, room: int) -> list[int]:
        """Return the states that a round may lead to, each once, if they are not more than there is room for."""
        for player in self._others:
            if not player.allowed[state & player.mask]:
                return []
        ways = [group.table[state & group.mask] for group in self._groups]
        if prod(map(len, ways)) > room:
            raise ResourceExhausted("more rounds between reachable states than can be kept")
        found = [state]
        for changes in ways:
            found = [one ^ change for change in changes for one in found]
        return found


class _Player:
    """The actions that one player has in a state, as bits of its choice."""

    def __init__(self, packing: Packing, player: Player, only: Restriction | None) -> None:
        actions = [
            (packing.condition(action.allowed), packing.bits(player.choice, action.name))
            for action in player.actions
            if only is None or only[0] != player.choice or only[1] == action.name
        ]
        self.mask = packing.mask(name for action in player.actions for name in reads(action.allowed))
        self.allowed = Table(lambda state: [bits for allowed, bits in actions if allowed(state)])


class _Rule:
    """One rule: what it may change, as a function of the state and of what the players do whom it asks."""

    def __init__(self, packing: Packing, changes: Sequence[Change], position: dict[str, int]) -> None:
        names = {name for change in changes for name in reads(change.guard)}
        self.asks = frozenset(position[name] for name in names if name in position)
        names.update(
            name for change in changes for written, value in change.updates for name in (written, *reads(value))
        )
        self.mask = packing.mask(names)
        self.written = {name for change in changes for name, _ in change.updates}
        self._packing = packing
        self._changes = [
            (
                packing.condition(change.guard),
                ~packing.mask(name for name, _ in change.updates),
                [(name, packing.evaluator(value)) for name, value in change.updates],
            )
            for change in changes
        ]
        self.table = Table(self._ways)

    def _ways(self, pattern: int) -> list[int]:
        """Return the bits that change, one entry for each way; none where all ways lead out of a domain."""
        found: dict[int, None] = {}
        is_still = True
        for guard, kept, updates in self._changes:
            if guard(pattern):
                is_still = False
                try:
                    written = sum(self._packing.bits(name, value(pattern)) for name, value in updates)
                except ValueError:  # it has no such value
                    continue
                found[(pattern & kept | written) ^ pattern] = None
        return [0] if is_still else list(found)


class _Group:
    """Rules that ask the same players, directly or by way of other rules, and these players."""

    def __init__(self, players: Sequence[_Player], rules: Sequence[_Rule]) -> None:
        self._rules = rules
        self._asked = {index: players[index] for rule in rules for index in sorted(rule.asks)}
        self._choices = 0
        self.mask = 0
        for player in self._asked.values():
            self.mask |= player.mask
        for rule in rules:
            self.mask |= rule.mask
        self.table = Table(self._ways)

    def _ways(self, state: int) -> list[int]:
        """Return the bits that change, one entry for each way; none where somebody has nothing to do."""
        doing, free = state, dict[int, list[int]]()
        for index, player in self._asked.items():
            allowed = player.allowed[state & player.mask]
            if not allowed:
                return []
            if len(allowed) == 1:
                doing |= allowed[0]
            else:
                free[index] = allowed
        ways = [0]
        for rules, asked in _undecided(self._rules, frozenset(free)):
            some = _together(rules, doing, [free[index] for index in asked])
            if len(ways) * len(some) > _MOST_TOGETHER:
                raise ResourceExhausted(f"more than {_MOST_TOGETHER:,} rounds are possible in one state")
            ways = [one ^ other for other in some for one in ways]
        return ways


def _together(rules: Sequence[_Rule], doing: int, free: Sequence[Sequence[int]]) -> dict[int, None]:
    """Return the ways of some rules, whatever those do who are free to choose."""
    if prod(map(len, free)) > _MOST_TOGETHER:
        raise ResourceExhausted(f"more than {_MOST_TOGETHER:,} ways to act together depend on each other in one state")
    found: dict[int, None] = {}
    for chosen in product(*free):
        seen = doing + sum(chosen)
        ways = [0]
        for rule in rules:
            changes = rule.table[seen & rule.mask]
            ways = [one ^ change for change in changes for one in ways]
            if len(ways) > _MOST_TOGETHER:
                raise ResourceExhausted(f"more than {_MOST_TOGETHER:,} rounds are possible in one state")
        found.update(dict.fromkeys(ways))
    return found


def _undecided(rules: Sequence[_Rule], free: frozenset[int]) -> list[tuple[list[_Rule], list[int]]]:
    """Return the rules in groups that ask different free players, with these."""
    groups: list[tuple[list[_Rule], frozenset[int]]] = []
    for rule in rules:
        members, asked = [rule], rule.asks & free
        if asked:
            apart = []
            for group in groups:
                if group[1] & asked:
                    members, asked = group[0] + members, group[1] | asked
                else:
                    apart.append(group)
            groups = apart
        groups.append((members, asked))
    return [(members, sorted(asked)) for members, asked in groups]


def _connected(rules: Sequence[_Rule]) -> list[list[_Rule]]:
    """Return the rules in groups that never ask the same player."""
    everybody = frozenset(index for rule in rules for index in rule.asks)
    return [members for members, _ in _undecided(rules, everybody)]


# --- one round from another state


def adjacent(graph: Graph, system: System, formula: Adjacent, goal: bytes) -> bytes:
    """Return the states from which a round as the formula asks for leads into the goal, or to which from there."""
    agree = _agreeing(graph.packing, formula.same)
    ahead = _after_action(graph, system, formula.choice) if formula.choice else graph.after
    found = bytearray(len(goal))
    for number, state in enumerate(graph.states):
        if formula.back and not goal[number]:
            continue
        for target in ahead(number):
            if (formula.back or goal[target]) and agree(state, graph.states[target]):
                found[target if formula.back else number] = 1
    return bytes(found)


def _after_action(graph: Graph, system: System, only: Restriction) -> Callable[[int], list[int]]:
    """Return what gives the states after those rounds in which a player does this."""
    rounds = Rounds(system, only)
    return lambda number: [graph.number[state] for state in rounds.after(graph.states[number], _MOST_TOGETHER)]


def _agreeing(packing: Packing, same: Iterable[tuple[str, str]]) -> Callable[[int, int], bool]:
    """Return whether variables have the same values, the first of each pair in one state, the second in the other."""
    kept = packing.mask(before for before, after in same if before == after)
    moved = [
        (packing.evaluator(Read(before)), packing.evaluator(Read(after))) for before, after in same if before != after
    ]

    def agree(state: int, target: int) -> bool:
        return not (state ^ target) & kept and all(one(state) == other(target) for one, other in moved)

    return agree
