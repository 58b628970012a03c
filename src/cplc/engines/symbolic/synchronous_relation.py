"""Partitioned transition relation of a synchronous system: images and preimages of one round.

Each part relates the state before a round, the choices of players, and the state after it, which has a second row of
bits for the variables that rules write. Choices are encoded as simply as the system allows:

* actions that no condition distinguishes form one class; a player with one class has no choice;
* if the classes of a player exclude each other, its choice is a function of the state and needs no bits;
* the bits of other choices occur in no set of states. They are quantified away when parts are conjoined, or during an
  image where a part would become too large otherwise.

Adjacent parts are conjoined into clusters as long as these stay small. In an image a variable is quantified away after
the last cluster that depends on it.

References: Burch, Clarke and Long, "Symbolic model checking with partitioned transition relations", 1991; Ranjan, Aziz,
Brayton, Plessier and Pixley, "Efficient BDD algorithms for FSM synthesis and verification", 1995.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding, Unchanged
from cplc.engines.symbolic.transitions import Transition
from cplc.logic.expressions import FALSE, Const, Equal, Expr, Read, children, disj, reads
from cplc.records import dataclass
from cplc.system.model import System
from cplc.system.synchronous import Change, Player

if TYPE_CHECKING:
    from cplc.engines.games.fixpoints import JointAction

MAX_CLUSTER_NODES = 20_000
"""Maximum number of nodes of a cluster."""
MAX_RESTRICTED_NODES = 200_000
"""Maximum number of nodes of the relation between reachable states, which is built once."""

BitPairs = tuple[tuple[int, int], ...]
"""Bits before the round, each with the bit after it."""


# --- what players choose


@dataclass(frozen=True)
class Choice:
    """Actions of a player, as classes that no condition distinguishes."""

    name: str
    allowed: dict[str, Expr]
    """For each class, named by one of its actions, where one of them is allowed."""


def choices(system: System) -> tuple[Choice, ...]:
    """Return the choice of each player."""
    named: dict[str, set[str]] = {player.choice: set() for player in system.players}
    for player in system.players:
        for rule in player.rules:
            for change in rule:
                _collect_named_actions(change.guard, system.player, named)
    return tuple(_choice(player, named[player.choice]) for player in system.players)


def _collect_named_actions(condition: Expr, players: Mapping[str, Player], named: dict[str, set[str]]) -> None:
    """Collect the actions that occur in a condition."""
    stack, visited = [condition], set[int]()
    while stack:
        top = stack.pop()
        if id(top) in visited:
            continue
        visited.add(id(top))
        match top:
            case Equal(Read(choice), Const(str(action))) | Equal(Const(str(action)), Read(choice)) if choice in players:
                named[choice].add(action)
            case Read(choice) if choice in players:
                named[choice].update(action.name for action in players[choice].actions)
            case _:
                stack += children(top)


def _choice(player: Player, named: set[str]) -> Choice:
    unnamed = [action for action in player.actions if action.name not in named]
    allowed = {action.name: action.allowed for action in player.actions if action.name in named}
    if unnamed:
        allowed[unnamed[0].name] = disj(action.allowed for action in unnamed)
    return Choice(player.choice, allowed)


def class_of(choice: Choice, action: str) -> str:
    """Return the action that names the class: the last one, if no condition mentions the action."""
    return action if action in choice.allowed else list(choice.allowed)[-1]


def written(system: System) -> frozenset[str]:
    """Return the variables that some rule writes."""
    return frozenset(name for change in _changes(system) for name, _ in change.updates)


def used_together(system: System) -> Iterator[frozenset[str]]:
    """Yield the variables and choices that each change, or each choice, connects."""
    for choice in choices(system):
        if len(choice.allowed) > 1:
            yield frozenset({choice.name}).union(*map(reads, choice.allowed.values()))
    for change in _changes(system):
        for name, value in change.updates:
            yield frozenset({name}) | reads(value) | reads(change.guard)


def _changes(system: System) -> Iterator[Change]:
    return (change for player in system.players for rule in player.rules for change in rule)


# --- pieces


@dataclass(frozen=True)
class Piece:
    relation: Node
    levels: frozenset[int]
    """A superset of the levels it depends on."""


class Round(Transition):
    """One round of all players."""

    name = "round"
    event = ""

    def __init__(self, encoding: Encoding, system: System) -> None:
        self._encoding = encoding
        self._diagrams = encoding.diagrams
        self._system = system
        self.writes = written(system)
        self.footprint = frozenset(system.variable)
        self.out_of_range = encoding.false
        self._care = encoding.true
        self._choices = {choice.name: choice for choice in choices(system)}
        self._nondeterministic = frozenset(self._choices)
        """Choices that the state does not determine."""
        self._allowed = {choice.name: self._decided(choice) for choice in self._choices.values()}
        self._rules = [piece for player in system.players for rule in player.rules for piece in self._pieces(rule)]
        self._row: BitPairs = tuple(
            pair for name in self.writes for pair in zip(encoding.bits[name], encoding.next_bits[name], strict=True)
        )
        self._forth = self._diagrams.substitution((now, self._diagrams.literal(then)) for now, then in self._row)
        self._back = self._diagrams.substitution((then, self._diagrams.literal(now)) for now, then in self._row)
        self._images_by_choices: dict[frozenset[str], _Images] = {}

    def _decided(self, choice: Choice) -> dict[str, Node]:
        """Return where each class is allowed; a choice that the state determines becomes a function of it."""
        encoding = self._encoding
        allowed = {action: encoding.condition(condition) for action, condition in choice.allowed.items()}
        before = encoding.false
        for where in allowed.values():
            if before & where != encoding.false:
                return allowed
            before = before | where
        encoding.define(choice.name, dict(allowed.items()))
        self._nondeterministic -= {choice.name}
        return allowed

    @cached_property
    def choice_levels(self) -> frozenset[int]:
        """The bits of choices."""
        return frozenset(level for choice in self._choices for level in self._encoding.bits[choice])

    # --- what rules say

    def _pieces(self, rule: Sequence[Change]) -> Iterator[Piece]:
        """Yield the relations of a rule: one for each variable, if its changes exclude each other."""
        guards = [self._encoding.condition(change.guard) for change in rule]
        names = list(dict.fromkeys(name for change in rule for name, _ in change.updates))
        if self._overlap(guards) and any(len(change.updates) < len(names) or len(names) > 1 for change in rule):
            yield self._piece(self._joint_relation(rule, guards, names), rule, names)
        else:
            yield from (self._piece(self._separate_relation(rule, guards, name), rule, [name]) for name in names)

    def _overlap(self, guards: Iterable[Node]) -> bool:
        before = self._encoding.false
        for guard in guards:
            if before & guard != self._encoding.false:
                return True
            before = before | guard
        return False

    def _separate_relation(self, rule: Sequence[Change], guards: Sequence[Node], name: str) -> Node:
        relation = changed = self._encoding.false
        for change, guard in zip(rule, guards, strict=True):
            for variable, value in change.updates:
                if variable == name:
                    changed = changed | guard
                    relation = relation | self._assigned(name, value, guard)
        return relation | (self._encoding.stays(name) & ~changed)

    def _joint_relation(self, rule: Sequence[Change], guards: Sequence[Node], names: Sequence[str]) -> Node:
        relation = changed = self._encoding.false
        for change, guard in zip(rule, guards, strict=True):
            values = dict(change.updates)
            changed = changed | guard
            way = guard
            for name in sorted(names, key=self._encoding.bits.__getitem__, reverse=True):
                stays = name not in values
                way = way & (self._encoding.stays(name) if stays else self._assigned(name, values[name], guard))
            relation = relation | way
        unchanged = ~changed
        for name in names:
            unchanged = unchanged & self._encoding.stays(name)
        return relation | unchanged

    def _assigned(self, name: str, value: Expr, guard: Node) -> Node:
        """Return the relation: the guard holds and the variable takes the value, which is in its domain."""
        encoding, relation = self._encoding, self._encoding.false
        for one, where in encoding.updates(name, value, guard).items():
            then = encoding.stays(name) if one is Unchanged.KEPT else encoding.becomes(name, one)
            if then is not None:
                relation = relation | (where & then)
        return relation

    def _piece(self, relation: Node, rule: Iterable[Change], names: Iterable[str]) -> Piece:
        """Return the relation with its support, or a superset of it if the relation is large."""
        encoding = self._encoding
        levels = self._diagrams.support(relation)
        if levels is None:
            support = frozenset(names).union(
                *(reads(change.guard) for change in rule), *(reads(v) for change in rule for _, v in change.updates)
            )
            decided = (reads(allowed) for name in support & self._choices.keys() for allowed in self._conditions(name))
            support = support.union(*decided)
            levels = frozenset(level for name in support for level in encoding.bits[name])
            levels |= {level for name in names for level in encoding.next_bits[name]}
        return Piece(relation, levels)

    def _conditions(self, choice: str) -> Iterable[Expr]:
        return self._choices[choice].allowed.values()

    def _playing(self, choice: str, allowed: Mapping[str, Node]) -> Piece:
        """Return the relation: the choice is allowed."""
        relation = self._encoding.false
        for action, where in allowed.items():
            relation = relation | (where & self._encoding.is_value(choice, action))
        levels = self._diagrams.support(relation)
        if levels is None:
            support = frozenset({choice}).union(*map(reads, self._conditions(choice)))
            levels = frozenset(level for name in support for level in self._encoding.bits[name])
        return Piece(relation, levels)

    # --- images

    @cached_property
    def _images(self) -> _Images:
        return self._joined(frozenset())

    def _joined(self, steered: frozenset[str]) -> _Images:
        """Return images in which the choices of these players are retained."""
        pieces = [self._playing(choice, where) for choice, where in self._allowed.items()]
        pieces = [piece for piece in (*pieces, *self._rules) if piece.relation != self._encoding.true]
        return _Images(self._encoding, self._row, pieces, self.choice_levels, self._levels(steered))

    def _levels(self, steered: Iterable[str]) -> frozenset[int]:
        return frozenset(
            level for choice in self._nondeterministic.intersection(steered) for level in self._encoding.bits[choice]
        )

    def restricted_to(self, care: Node) -> Round:
        narrowed = copy(self)
        narrowed._care = self._care & care
        narrowed._images_by_choices = {}
        narrowed.__dict__["_images"] = self._images.restricted_to(narrowed._care)
        narrowed.__dict__.pop("guard", None)
        return narrowed

    @cached_property
    def guard(self) -> Node:  # type: ignore[override]
        return self.preimage(self._encoding.true)

    def image(self, states: Node) -> Node:
        return self._diagrams.substitute(self._images.image(states & self._care), self._back)

    def preimage(self, states: Node) -> Node:
        return self._images.preimage(self._diagrams.substitute(states, self._forth)) & self._care

    # --- rounds of one kind

    def round_predecessors(self, states: Node, same: Iterable[tuple[str, str]], choice: tuple[str, str] | None) -> Node:
        """Return the states from which a round with these equalities and this choice leads into the set."""
        joint = (choice,) if choice else ()
        before = self._images_of(joint).preimage(self._diagrams.substitute(states, self._forth) & self._agreeing(same))
        return self.without_choices(before & self._performing(joint), dict(joint)) & self._care

    def round_successors(self, states: Node, same: Iterable[tuple[str, str]], choice: tuple[str, str] | None) -> Node:
        """Return the states that such rounds lead to from the set."""
        joint = (choice,) if choice else ()
        after = self._images_of(joint).image(states & self._care & self._agreeing(same) & self._performing(joint))
        return self._diagrams.substitute(after, self._back)

    def _agreeing(self, same: Iterable[tuple[str, str]]) -> Node:
        relation = self._encoding.true
        for before, after in same:
            relation = relation & self._encoding.equal_after(before, after)
        return relation

    def image_of_joint_action(self, states: Node, joint: JointAction) -> Node:
        """Return the states that rounds with these actions lead to."""
        after = self._images_of(joint).image(states & self._care & self._performing(joint))
        return self._diagrams.substitute(after, self._back)

    def avoiding(self, states: Node, may: Mapping[str, Mapping[str, Node]]) -> Node:
        """Return pairs of states and permitted choices after which no round leads into the set."""
        permitted = self._care
        for choice, actions in may.items():
            ways = self._encoding.false
            for action, where in actions.items():
                ways = ways | (where & self.doing(choice, action))
            permitted = permitted & ways
        return permitted & ~self._images_of(may.items()).preimage(self._diagrams.substitute(states, self._forth))

    def without_choices(self, ways: Node, choices: Iterable[str]) -> Node:
        """Quantify the choices of these players away."""
        return self._diagrams.exists(ways, self._diagrams.cube(self._levels(choices)))

    def doing(self, choice: str, action: str) -> Node:
        """Return where a player chooses the action, or one of the same class."""
        return self._encoding.is_value(choice, class_of(self._choices[choice], action))

    def _performing(self, joint: JointAction) -> Node:
        """Return where these players may do this, and do it."""
        relation = self._encoding.true
        for choice, action in joint:
            allowed = {one.name: one.allowed for one in self._system.player[choice].actions}.get(action, FALSE)
            relation = relation & self._encoding.condition(allowed) & self.doing(choice, action)
        return relation

    def _images_of(self, joint: Iterable[tuple[str, object]]) -> _Images:
        """Return images in which the choices of these players are given, or found."""
        steered = self._nondeterministic.intersection(choice for choice, _ in joint)
        if not steered:
            return self._images
        images = self._images_by_choices.get(steered)
        if images is None:
            images = self._images_by_choices[steered] = self._joined(steered).restricted_to(self._care)
        return images


class _Images:
    """Images and preimages by a conjunction of relations; sets after a round are over the second row of bits."""

    def __init__(
        self,
        encoding: Encoding,
        row: BitPairs,
        pieces: Sequence[Piece],
        choices: frozenset[int],
        steered: frozenset[int] = frozenset(),
    ) -> None:
        self._diagrams = encoding.diagrams
        self._true = encoding.true
        self._row = row
        self._steered = steered
        """Bits of choices that are retained: given with the states in an image, and kept in a preimage."""
        self._choices = choices = choices - steered
        self._joined = _clusters(self, _without_choices(self, pieces, choices))
        self._schedule()

    def _schedule(self) -> None:
        self._forwards = self._scheduled(
            self._joined, self._choices.union(self._steered, (now for now, _ in self._row))
        )
        self._backwards = self._scheduled(self._joined, self._choices.union(then for _, then in self._row))

    def restricted_to(self, care: Node) -> _Images:
        """Return images from these states: one relation if it is small, otherwise unchanged.

        A relation between few states can be small even if that between all states is large.
        """
        one = Piece(care, frozenset())
        for number, piece in enumerate(self._joined):
            later = frozenset[int]().union(*(other.levels for other in self._joined[number + 1 :]))
            one = self.conjunction(one, piece, (piece.levels & self._choices) - later)
            if self.size(one) > MAX_RESTRICTED_NODES:
                return self
        narrowed = copy(self)
        narrowed._joined = [Piece(one.relation, self._steered.union(now for pair in self._row for now in pair))]
        narrowed._schedule()
        return narrowed

    def conjunction(self, one: Piece, other: Piece, forgotten: frozenset[int] = frozenset()) -> Piece:
        relation = self._diagrams.and_exists(one.relation, other.relation, self._diagrams.cube(forgotten))
        return Piece(relation, (one.levels | other.levels) - forgotten)

    def size(self, piece: Piece) -> int:
        return self._diagrams.size(piece.relation)

    def _scheduled(self, clusters: Sequence[Piece], forgotten: frozenset[int]) -> list[tuple[Node, Node]]:
        """Return the relations in order, each with the cube of bits that no later one depends on."""
        steps: list[tuple[Node, Node]] = []
        pending = forgotten
        for piece in reversed(clusters):
            steps.append((piece.relation, self._diagrams.cube(piece.levels & pending)))
            pending -= piece.levels
        steps.append((self._true, self._diagrams.cube(pending)))
        return steps[::-1]

    def image(self, states: Node) -> Node:
        return self._applied(states, self._forwards)

    def preimage(self, states: Node) -> Node:
        return self._applied(states, self._backwards)

    def _applied(self, states: Node, steps: Iterable[tuple[Node, Node]]) -> Node:
        for relation, forgotten in steps:
            states = self._diagrams.and_exists(states, relation, forgotten)
        return states


def _without_choices(images: _Images, pieces: Sequence[Piece], choices: frozenset[int]) -> list[Piece]:
    """Conjoin the relations over one choice and quantify it away, if the result is small."""
    remaining = list(pieces)
    for level in sorted(choices, reverse=True):
        concerned = sorted((piece for piece in remaining if level in piece.levels), key=images.size)
        if not concerned or sum(map(images.size, concerned)) > MAX_CLUSTER_NODES:
            continue
        unconcerned = [piece for piece in remaining if level not in piece.levels]
        *first, last = concerned
        joined = Piece(images._true, frozenset())
        for piece in first:
            joined = images.conjunction(joined, piece)
            if images.size(joined) > MAX_CLUSTER_NODES:
                break
        else:
            joined = images.conjunction(joined, last, frozenset({level}))
            if images.size(joined) <= MAX_CLUSTER_NODES:
                remaining = [*unconcerned, joined]
    return remaining


def _clusters(images: _Images, pieces: Iterable[Piece]) -> list[Piece]:
    """Conjoin relations that are adjacent in the order, from the bottom upwards."""
    clusters: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: min(one.levels, default=0), reverse=True):
        if clusters and images.size(clusters[-1]) + images.size(piece) <= MAX_CLUSTER_NODES:
            joined = images.conjunction(clusters[-1], piece)
            if images.size(joined) <= MAX_CLUSTER_NODES:
                clusters[-1] = joined
                continue
        clusters.append(piece)
    return clusters
