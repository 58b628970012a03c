"""Symmetric agents: families of groups of variables that a system and a participant treat alike.

A counter abstraction suffices for them: how many members are in each local state. *Shared* variables belong to no
family. A step, a belief or a decision may mention the shared variables and a single member; of the others it may only
test whether some member (or some other member) satisfies a condition. Colour refinement proposes the members; equal
canonical forms then prove that they are isomorphic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from cplc.decision.component_partition import form_of, rewards_by_step
from cplc.logic import expressions as e
from cplc.logic.expressions import And, Arith, Const, Equal, Expr, Ite, Less, Not, Or, Read, children, length, reads
from cplc.records import dataclass
from cplc.statespace.graph_algorithms import merged_classes
from cplc.system.model import System
from cplc.system.participant import Event, Participant

if TYPE_CHECKING:
    from cplc.decision.game import Game

# --- Colour refinement of the variables of a system (1-dimensional Weisfeiler-Leman)
#
# Variables that an automorphism exchanges have the same colour. The converse need not hold, so callers verify it.


_MAX_EXPRESSION_SIZE = 200_000
"""Maximum number of operators and operands of all expressions."""


def colours(system: System, participant: Participant, conditions: Sequence[Expr]) -> dict[str, int]:
    """Return the stable colouring; all variables differ if the expressions are too large."""
    exprs = [
        *conditions,
        *(step.guard for step in system.steps),
        *(to for step in system.steps for _, to in step.updates),
    ]
    if sum(length(one, _MAX_EXPRESSION_SIZE) for one in exprs) > _MAX_EXPRESSION_SIZE:
        return {name: at for at, name in enumerate(system.variable)}
    numbers: dict[object, int] = {}
    colour = {one.name: numbers.setdefault((one.domain, one.initial), len(numbers)) for one in system.variables}
    classes = 0
    # Colour refinement: variables of different colours are never symmetric; stable once no class is split.
    while len(set(colour.values())) > classes:
        classes = len(set(colour.values()))
        signatures = _Signatures(colour)
        signatures.collect(system, participant, conditions)
        numbers = {}
        colour = {
            name: numbers.setdefault((old, *sorted(signatures.by_variable[name])), len(numbers))
            for name, old in colour.items()
        }
    return colour


class _Signatures:
    """The occurrences of each variable, described by colours."""

    def __init__(self, colour: Mapping[str, int]) -> None:
        self.colour = colour
        self.numbers: dict[object, int] = {}
        self.by_variable: dict[str, list[int]] = {name: [] for name in colour}

    def number(self, what: object) -> int:
        return self.numbers.setdefault(what, len(self.numbers))

    def collect(self, system: System, participant: Participant, conditions: Sequence[Expr]) -> None:
        worth = rewards_by_step(participant)
        steps = []
        for index, step in enumerate(system.steps):
            updates = tuple(sorted((self.colour[name], self.form(to)) for name, to in step.updates))
            free = tuple(sorted(self.colour[name] for name in step.free))
            mine = step.actor in participant.agents
            about = self.number((step.kind, mine, self.form(step.guard), updates, free, worth.get(index)))
            steps.append(about)
            self.record(step.guard, ("guard", about))
            for name, to in step.updates:
                self.by_variable[name].append(self.number(("written", about, self.form(to))))
                self.record(to, ("update", about, self.colour[name]))
            for name in step.free:
                self.by_variable[name].append(self.number(("free", about)))
        for belief in participant.beliefs:
            events = tuple((tuple(steps[step] for step in one.steps), one.low, one.high) for one in belief.events)
            about = self.number(("belief", self.form(belief.condition), events, belief.within))
            self.record(belief.condition, ("belief", about))
            for at, one in enumerate(belief.events):
                for name in {name for step in one.steps for name in system.steps[step].footprint}:
                    self.by_variable[name].append(self.number(("event", about, at)))
        for decision in participant.decisions:
            about = self.number(("decision", self.form(decision.condition), tuple(steps[s] for s in decision.steps)))
            self.record(decision.condition, ("decision", about))
        for condition in conditions:
            self.record(condition, ("asked", self.form(condition)))

    def form(self, expr: Expr) -> int:
        match expr:
            case Read(name):
                return self.number(("read", self.colour[name]))
            case And(operands) | Or(operands):
                return self.number((type(expr).__name__, *sorted(map(self.form, operands))))
            case _:
                inner = tuple(map(self.form, children(expr)))
                return self.number((type(expr).__name__, inner, _operator_data(expr)))

    def record(self, expr: Expr, where: object) -> None:
        """Record the position of each variable in the expression."""
        if isinstance(expr, Read):
            self.by_variable[expr.variable].append(self.number(where))
            return
        ordered = not isinstance(expr, And | Or)
        for at, child in enumerate(children(expr)):
            self.record(child, (self.number(where), type(expr).__name__, at if ordered else self.form(child)))


def _operator_data(expr: Expr) -> object:
    """Return the data of an expression besides its operands."""
    value = getattr(expr, "value", None)
    return type(value).__name__, value, getattr(expr, "op", None)


def linked_sets(system: System, participant: Participant, colour: Mapping[str, int]) -> Iterator[set[str]]:
    """Yield sets of variables that occur together, except under a quantifier over equally coloured operands."""
    signatures = _Signatures(colour)
    for step in system.steps:
        names = set(step.writes)
        for expr in (step.guard, *(to for _, to in step.updates)):
            names |= _linked_variables(signatures, expr)
        yield names
    for belief in participant.beliefs:
        steps = (system.steps[step] for event in belief.events for step in event.steps)
        yield _linked_variables(signatures, belief.condition).union(*(step.writes for step in steps))
    for decision in participant.decisions:
        yield _linked_variables(signatures, decision.condition).union(
            *(system.steps[step].writes for step in decision.steps)
        )


def _linked_variables(signatures: _Signatures, expr: Expr) -> set[str]:
    if isinstance(expr, Read):
        return {expr.variable}
    parts = [_linked_variables(signatures, child) for child in children(expr)]
    if isinstance(expr, And | Or):
        forms = [signatures.form(child) for child in children(expr)]
        parts = [part for part, form in zip(parts, forms, strict=True) if forms.count(form) == 1]
    return set().union(*parts)


class NotSymmetric(Exception):
    """The system distinguishes these groups beyond a counter abstraction."""


@dataclass(frozen=True)
class Family:
    """Isomorphic members, each with its variables, steps, beliefs and decisions in corresponding order."""

    members: tuple[tuple[str, ...], ...]
    steps: tuple[tuple[int, ...], ...]
    beliefs: tuple[tuple[int, ...], ...]
    decisions: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class MemberPredicate:
    """The predicate that some member satisfies a condition; with ``excludes_self``, some member other than oneself."""

    family: int
    condition: Expr
    """Over the variables of the first member."""
    excludes_self: bool


@dataclass(frozen=True)
class SymmetricAgents:
    system: System
    participant: Participant
    families: tuple[Family, ...] = ()
    watched: dict[str, MemberPredicate] = field(default_factory=dict)
    """The predicates of the conditions translated by `seen`, by the names that replace them."""

    @cached_property
    def shared(self) -> tuple[str, ...]:
        return tuple(name for name in self.system.variable if name not in self.home)

    @cached_property
    def home(self) -> dict[str, tuple[int, int]]:
        """The family and the member that a variable belongs to."""
        return {
            name: (number, at)
            for number, family in enumerate(self.families)
            for at, member in enumerate(family.members)
            for name in member
        }

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of a variable in its member."""
        return {name: at for family in self.families for member in family.members for at, name in enumerate(member)}

    def first(self, name: str) -> str:
        """Return the variable of the first member that this is a copy of."""
        if name not in self.home:
            return name
        return self.families[self.home[name][0]].members[0][self.places[name]]

    def seen(self, expr: Expr, own: tuple[int, int] | None = None) -> Expr:
        """Return the condition translated to the first member, with names for predicates over all members."""
        homes = {self.home[name] for name in reads(expr) if name in self.home}
        if homes <= {own}:
            return e.substitute(expr, {name: Read(self.first(name)) for name in reads(expr)})
        match expr:
            case And(operands):
                return e.conj(self._quantified(operands, own, universal=True))
            case Or(operands):
                return e.disj(self._quantified(operands, own, universal=False))
            case Not(operand):
                return e.negate(self.seen(operand, own))
            case Equal(left, right):
                return e.equal(self.seen(left, own), self.seen(right, own))
            case Ite(condition, then, otherwise):
                return e.ite(self.seen(condition, own), self.seen(then, own), self.seen(otherwise, own))
            case Const() | Read() | Less() | Arith():
                raise NotSymmetric

    def _quantified(self, operands: Sequence[Expr], own: tuple[int, int] | None, universal: bool) -> Iterator[Expr]:
        """Yield the operands, with those over all members replaced by a predicate."""
        groups: dict[tuple[int, Expr], set[int]] = {}
        for operand in operands:
            names = reads(operand)
            homes = {self.home.get(name) for name in names}
            one = next(iter(homes)) if len(homes) == 1 else None
            if one is None:
                yield self.seen(operand, own)
            else:
                representative = e.substitute(operand, {name: Read(self.first(name)) for name in names})
                groups.setdefault((one[0], representative), set()).add(one[1])
        for (family, representative), members in groups.items():
            every = set(range(len(self.families[family].members)))
            mine = {own[1]} if own is not None and own[0] == family else set()
            if members == mine:
                yield representative
            elif members in (every, every - mine):
                some = MemberPredicate(
                    family, e.negate(representative) if universal else representative, members != every
                )
                yield e.negate(self._predicate(some)) if universal else self._predicate(some)
            else:
                raise NotSymmetric

    def _predicate(self, some: MemberPredicate) -> Read:
        for name, one in self.watched.items():
            if one == some:
                return Read(name)
        name = f"?{len(self.watched)}"
        self.watched[name] = some
        return Read(name)

    def form(self, family: int, member: int) -> object:
        """Return the canonical form of a member; isomorphic members have equal forms."""
        mine = self.families[family]
        own = family, member
        steps = {index: at for at, index in enumerate(mine.steps[member])}
        agents: dict[str, int] = {}
        worth = self._worth
        names = _Names(self.first(name) for name in mine.members[member])
        return (
            tuple(
                (self.system.variable[name].domain, self.system.variable[name].initial) for name in mine.members[member]
            ),
            tuple(
                (
                    step.kind,
                    step.actor in self.participant.agents,
                    form_of(self.seen(step.guard, own), names),
                    frozenset((self.first(name), form_of(self.seen(to, own), names)) for name, to in step.updates),
                    tuple(map(self.first, step.free)),
                    worth.get(index),
                )
                for index in steps
                for step in (self.system.steps[index],)
            ),
            tuple(
                (
                    agents.setdefault(belief.agent, len(agents)),
                    form_of(self.seen(belief.condition, own), names),
                    tuple((tuple(map(steps.__getitem__, one.steps)), one.low, one.high) for one in belief.events),
                    belief.within,
                )
                for belief in map(self.participant.beliefs.__getitem__, mine.beliefs[member])
            ),
            tuple(
                (form_of(self.seen(one.condition, own), names), tuple(map(steps.__getitem__, one.steps)))
                for one in map(self.participant.decisions.__getitem__, mine.decisions[member])
            ),
        )

    @cached_property
    def _worth(self) -> Mapping[int, object]:
        return rewards_by_step(self.participant)


class _Names(dict[str, int]):
    """Numbers for the variables of a member; all others keep their names."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__({name: at for at, name in enumerate(names)})

    def __missing__(self, name: str) -> str:
        return name


def symmetric_agents_of(system: System, participant: Participant, conditions: Sequence[Expr]) -> SymmetricAgents | None:
    """Return the families of symmetric agents that the conditions do not distinguish; None if there are none."""
    colour = colours(system, participant, conditions)
    several = _classes(colour)
    groups = _groups(system, participant, {name for names in several for name in names}, colour)
    by_form: dict[object, list[tuple[str, ...]]] = {}
    for group in groups:
        by_form.setdefault(tuple(colour[name] for name in group), []).append(group)
    families = [members for members in by_form.values() if len(members) > 1]
    if not families:
        return None
    try:
        symmetry = _with_members(system, participant, families)
        for condition in conditions:
            symmetry.seen(condition)
        for number, family in enumerate(symmetry.families):
            first = symmetry.form(number, 0)
            if any(symmetry.form(number, at) != first for at in range(1, len(family.members))):
                return None
    except (NotSymmetric, KeyError):
        return None
    return symmetry


def _classes(colour: Mapping[str, int]) -> list[list[str]]:
    """Return the colour classes with several variables."""
    names_by_colour: dict[int, list[str]] = {}
    for name, one in colour.items():
        names_by_colour.setdefault(one, []).append(name)
    return [names for names in names_by_colour.values() if len(names) > 1]


def _groups(
    system: System, participant: Participant, within: set[str], colour: Mapping[str, int]
) -> list[tuple[str, ...]]:
    """Return the connected groups of variables, each in the order of colours."""
    inside = {name: name for name in system.variable if name in within}
    linked_inside = (within.intersection(linked) for linked in linked_sets(system, participant, colour))
    members_by_leader: dict[str, list[str]] = {}
    for name, leader in merged_classes(inside, linked_inside).items():
        members_by_leader.setdefault(leader, []).append(name)
    return [tuple(sorted(names, key=lambda name: colour[name])) for names in members_by_leader.values()]


def _with_members(
    system: System, participant: Participant, families: Sequence[Sequence[tuple[str, ...]]]
) -> SymmetricAgents:
    """Assign the steps, beliefs and decisions to their members."""
    plain = tuple(Family(tuple(members), (), (), ()) for members in families)
    bare = SymmetricAgents(system, participant, plain)
    if any(len(system.variable[name].initial) > 1 for name in bare.home):
        raise NotSymmetric
    steps = [_owner(bare, (step.guard, *(to for _, to in step.updates)), step.writes) for step in system.steps]
    beliefs = [_owner(bare, (one.condition,), (), _owners_of(one.events, steps)) for one in participant.beliefs]
    decisions = [
        _owner(bare, (one.condition,), (), (steps[step] for step in one.steps)) for one in participant.decisions
    ]
    for owner, events in zip(beliefs, (one.events for one in participant.beliefs), strict=True):
        if any(one != owner for one in _owners_of(events, steps)):
            raise NotSymmetric
    for owner, decision in zip(decisions, participant.decisions, strict=True):
        if any(steps[step] != owner for step in decision.steps):
            raise NotSymmetric
    completed = []
    for number, family in enumerate(plain):
        each = [(number, at) for at in range(len(family.members))]
        completed.append(
            Family(
                family.members,
                _indices_by_owner(steps, each),
                _indices_by_owner(beliefs, each),
                _indices_by_owner(decisions, each),
            )
        )
    return SymmetricAgents(system, participant, tuple(completed))


MemberIndex = tuple[int, int] | None


def _owners_of(events: Iterable[Event], steps: Sequence[MemberIndex]) -> Iterator[MemberIndex]:
    return (steps[step] for event in events for step in event.steps)


def _indices_by_owner(owners: Sequence[MemberIndex], each: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    mine: dict[MemberIndex, list[int]] = {one: [] for one in each}
    for index, owner in enumerate(owners):
        if owner in mine:
            mine[owner].append(index)
    return tuple(tuple(mine[one]) for one in each)


def _owner(
    bare: SymmetricAgents, exprs: Iterable[Expr], writes: Iterable[str], more: Iterable[MemberIndex] = ()
) -> MemberIndex:
    """Return the single member that these mention: by writes, else by reads outside of quantified operands."""
    homes = {bare.home[name] for name in writes if name in bare.home} | {one for one in more if one is not None}
    if not homes:
        for expr in exprs:
            try:
                bare.seen(expr)
            except NotSymmetric:
                homes |= set(_individual_members(bare, expr))
    if len(homes) > 1:
        raise NotSymmetric
    return next(iter(homes), None)


def _individual_members(bare: SymmetricAgents, expr: Expr) -> Iterator[tuple[int, int]]:
    """Yield the members whose variables occur outside of quantified operands."""
    match expr:
        case And(operands) | Or(operands):
            counts: dict[object, set[tuple[int, int]]] = {}
            for operand in operands:
                homes = {bare.home[name] for name in reads(operand) if name in bare.home}
                if len(homes) == 1:
                    representative = e.substitute(operand, {name: Read(bare.first(name)) for name in reads(operand)})
                    counts.setdefault(representative, set()).update(homes)
                else:
                    yield from _individual_members(bare, operand)
            for several in counts.values():
                if len(several) == 1:
                    yield from several
        case Read(name):
            if name in bare.home:
                yield bare.home[name]
        case _:
            for child in e.children(expr):
                yield from _individual_members(bare, child)


def contiguous(symmetry: SymmetricAgents) -> System:
    """Return the system with the variables of each member next to each other, in corresponding order."""
    system = symmetry.system
    names = [name for family in symmetry.families for member in family.members for name in member]
    ordered = dict.fromkeys((*names, *system.variable))
    return replace(system, variables=tuple(system.variable[name] for name in ordered))


# --- one state for all that differ by an exchange


def canonical_form(game: Game, families: Sequence[Family]) -> Callable[[int], int]:
    """Return a function to the representative of a state up to the exchange of symmetric agents.

    The variables of each member are contiguous in the packed state, and so are the draws of its beliefs.
    """
    layouts = []
    for family in families:
        fields = []
        for member, beliefs in zip(family.members, family.beliefs, strict=True):
            mask = game.packing.mask(member)
            low = (mask & -mask).bit_length() - 1
            assert mask >> low == (1 << mask.bit_count()) - 1
            bits = sum(game.beliefs[index].bits for index in beliefs)
            fields.append((low, game.beliefs[beliefs[0]].shift if beliefs else 0, mask.bit_count(), bits))
        clear = 0
        for low, shift, width, bits in fields:
            clear |= ((1 << width) - 1) << low | ((1 << bits) - 1) << shift
        layouts.append((fields, ~clear))

    def canonical(state: int) -> int:
        for fields, keep in layouts:
            blocks = sorted(
                (state >> low & (1 << width) - 1) << bits | state >> shift & (1 << bits) - 1
                for low, shift, width, bits in fields
            )
            state &= keep
            for block, (low, shift, _, bits) in zip(blocks, fields, strict=True):
                state |= block >> bits << low | (block & (1 << bits) - 1) << shift
        return state

    return canonical
