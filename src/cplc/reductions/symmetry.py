"""Symmetry between role instances: permutations of instances that map the system to itself.

The variables, steps and agents of an instance are read off their names: ``pay[2,1]@Cus[2]`` belongs to ``Cus[2]`` if
the first index of every ``pay`` is that of its sender or receiver. Soundness does not depend on the names: each
candidate is checked. Two generators of the symmetric group, a transposition and a cycle, must map variables, local
states, shared copies, steps, justice and fairness to themselves.

Claim: if a permutation is an automorphism of the system, a formula holds initially iff its image holds initially.
Proof: the permutation maps runs to runs, fair runs to fair runs, and indistinguishable states of an agent to
indistinguishable states of its image.

References: Emerson and Sistla, "Symmetry and model checking", 1996; Clarke, Enders, Filkorn and Jha, "Exploiting
symmetry in temporal logic model checking", 1996.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.commitments import Channel, Commits, Conditional, Fulfils, Offer, Offering, SociallyCommits, expressions
from cplc.logic.expressions import And, Arith, Const, Equal, Expr, Ite, Less, Not, Or, Read, children, is_true, reads
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.reductions.ctl_fragment import graph_conditions
from cplc.reductions.problem import Pass, PerSystem, Problem
from cplc.statespace.packing import Packing
from cplc.system.model import Step, System

_INDEXED = re.compile(r"([\w.]+)\[(\d+(?:,\d+)*)\]")

IndexPosition = tuple[str, int]
"""A base name, and the position of an index."""
Permutation = Mapping[int, int]


@dataclass(frozen=True)
class SymmetryGroup:
    """Families whose instances are permuted together; usually a single family."""

    families: frozenset[str]
    places: frozenset[IndexPosition]
    indices: tuple[int, ...]

    def members_in(self, name: str) -> tuple[int, ...]:
        """Return the indices of instances in the name of a variable, agent, message or step."""
        members = self._members.get(name)
        if members is None:
            members = self._members[name] = tuple(
                value
                for base, index in _indices(name)
                for position, value in enumerate(index)
                if (base, position) in self.places
            )
        return members

    @cached_property
    def _members(self) -> dict[str, tuple[int, ...]]:
        return {}

    def renaming(self, permutation: Permutation) -> Callable[[str], str]:
        """Return the action of a permutation on names."""
        images: dict[str, str] = {}

        def exchanged(indexed: re.Match[str]) -> str:
            base, index = indexed[1], _numbers(indexed[2])
            moved = (
                permutation.get(value, value) if (base, position) in self.places else value
                for position, value in enumerate(index)
            )
            return f"{base}[{','.join(map(str, moved))}]"

        def renamed(name: str) -> str:
            if name not in images:
                images[name] = _INDEXED.sub(exchanged, name)
            return images[name]

        return renamed


Renaming = Callable[[str], str]


class Symmetry:
    """The symmetries of one system."""

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    def groups(self) -> tuple[SymmetryGroup, ...]:
        """The families whose instances may be permuted arbitrarily."""
        if self.system.is_synchronous or not is_true(self.system.start):
            return ()
        return tuple(
            symmetry_group for symmetry_group in _candidates(self.system) if self._is_symmetric(symmetry_group)
        )

    @cached_property
    def partial_groups(self) -> tuple[SymmetryGroup, ...]:
        """The groups, and for other families the permutations of the members with equally many variables.

        A cone of influence may have variables of one member that it has of no other.
        """
        if self.system.is_synchronous or not is_true(self.system.start):
            return ()
        whole = {group.families: group for group in self.groups}
        return tuple(
            part
            for group in _candidates(self.system)
            if (part := whole.get(group.families) or self._largest_part(group)) is not None
        )

    def _largest_part(self, group: SymmetryGroup) -> SymmetryGroup | None:
        variables = Counter(member for name in self.system.variable for member in group.members_in(name))
        sizes = Counter(variables[member] for member in group.indices)
        ((usual, members),) = sizes.most_common(1)
        part = replace(group, indices=tuple(member for member in group.indices if variables[member] == usual))
        return part if 1 < members < len(group.indices) and self._is_symmetric(part) else None

    def key(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> Hashable:
        """Return an equal key for formulas that permutations map to each other.

        Instances are renumbered in the order in which they occur in the formula. Instances that are assumed to keep
        going are not exchanged with others.
        """
        for symmetry_group in self.groups:
            formula = renamed_formula(
                formula, symmetry_group.renaming(canonical_numbering(symmetry_group, names_of(formula), assuming))
            )
        return formula_key(formula)

    def orbit_key(self, variables: Sequence[str], assuming: frozenset[str] = frozenset()) -> Hashable:
        """Return an equal key for sets of variables that permutations map to each other, as far as it recognises them.

        Equal keys mean that a permutation which leaves the assumed instances assumed maps one to the other.
        """
        names = list(variables)
        for group in self.groups:
            names = list(map(group.renaming(canonical_numbering(group, names, assuming)), names))
        return frozenset(names)

    def _is_symmetric(self, symmetry_group: SymmetryGroup) -> bool:
        before = canonical_description(self.system)
        return all(
            canonical_description(self.system, symmetry_group.renaming(way)) == before
            for way in generators(symmetry_group.indices)
        )


def generators(indices: Sequence[int]) -> tuple[Permutation, Permutation]:
    """Return a transposition and a cycle, which generate all permutations."""
    first, second, *_ = indices
    return {first: second, second: first}, dict(zip(indices, (*indices[1:], first), strict=True))


# --- reading names


def _indices(name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    return ((indexed[1], _numbers(indexed[2])) for indexed in _INDEXED.finditer(name))


def _numbers(written: str) -> tuple[int, ...]:
    return tuple(map(int, written.split(",")))


def _candidates(system: System) -> Iterator[SymmetryGroup]:
    """Yield families that may be symmetric."""
    instances: dict[str, list[int]] = {}
    for agent in system.agents:
        if agent.family:
            instances.setdefault(agent.family, []).extend(index[-1] for _, index in _indices(agent.name))
    homes = _indexed_families(system, instances)
    together = [{family} for family in instances]
    for families in homes.values():
        if families:
            joined = [group for group in together if group & families]
            together = [group for group in together if not group & families] + [set().union(*joined)]
    for group in together:
        indices = {tuple(instances[family]) for family in group}
        if len(indices) == 1 and len(first := indices.pop()) > 1:
            places = frozenset(place for place, families in homes.items() if families & group)
            yield SymmetryGroup(frozenset(group), places, first)


def _indexed_families(system: System, instances: Mapping[str, Collection[int]]) -> dict[IndexPosition, frozenset[str]]:
    """Return for each index position the families whose instances it may count.

    Usually the participants determine the family. Otherwise, as in messages between others, it may be the only family
    with as many instances.
    """
    taking_part = [
        *((agent.name, (agent.name,)) for agent in system.agents),
        *((message.name, message.roles) for message in system.messages),
        *((one.name, (*one.debtors, *one.creditors)) for one in system.commitments),
        *((claim.name, (claim.maker, claim.addressee)) for claim in system.claims),
    ]
    homes: dict[IndexPosition, frozenset[str]] = {}
    for name, agents in taking_part:
        for base, index in _indices(name):
            for position, value in enumerate(index):
                fitting = frozenset(family for family in instances if f"{family}[{value}]" in agents)
                place = base, position
                homes[place] = homes.get(place, fitting) & fitting
    values: dict[IndexPosition, set[int]] = {}
    for name in (*system.variable, *(step.name for step in system.steps)):
        for base, index in _indices(name):
            for position, value in enumerate(index):
                values.setdefault((base, position), set()).add(value)
    for place, used in values.items():
        if not homes.get(place):
            fitting = frozenset(family for family, indices in instances.items() if set(indices) == used)
            homes[place] = fitting if len(fitting) == 1 else frozenset()
    return homes


# --- a system, but for the order in which things stand


def canonical_description(system: System, renamed: Renaming = lambda name: name) -> Hashable:
    """Return all parts of the system that verdicts depend on, renamed and without their order."""

    keys: dict[int, Hashable] = {}

    def key(expr: Expr) -> Hashable:
        return expr_key(expr, renamed, keys)

    def step_key(step: Step) -> Hashable:
        updates = frozenset((renamed(name), key(value)) for name, value in step.updates)
        actor, free = renamed(step.actor), frozenset(map(renamed, step.free))
        return renamed(step.name), step.kind, actor, key(step.guard), updates, free

    return (
        frozenset(
            (renamed(one.name), _typed(one.domain), _typed(one.initial), renamed(one.owner)) for one in system.variables
        ),
        frozenset((renamed(agent.name), frozenset(map(renamed, agent.local))) for agent in system.agents),
        frozenset(
            frozenset(((renamed(pair.first), renamed(pair.at_first)), (renamed(pair.second), renamed(pair.at_second))))
            for pair in system.shared
        ),
        frozenset(map(step_key, system.steps)),
        frozenset(
            (
                None if justice.role is None else renamed(justice.role),
                frozenset(renamed(system.steps[index].name) for index in justice.steps),
                None if justice.due is None else key(justice.due),
            )
            for justice in system.justice
        ),
        frozenset(map(key, system.fairness)),
    )


def _typed(values: Iterable[object]) -> tuple[tuple[type, object], ...]:
    return tuple((type(value), value) for value in values)


def expr_key(expr: Expr, renamed: Renaming = lambda name: name, keys: dict[int, Hashable] | None = None) -> Hashable:
    """Return a key of the expression that ignores the order of commutative operands.

    ``keys`` holds those of expressions for this renaming, which steps have in common. They are compared by identity:
    expressions with 1 and with true are equal in Python.
    """
    match expr:
        case Read(name):
            return renamed(name)
        case Const(value):
            return type(value), value
        case And() | Or() | Equal() | Arith() | Not() | Less() | Ite():
            keys = {} if keys is None else keys
            made = keys.get(id(expr))
            if made is None:
                operands = (expr_key(operand, renamed, keys) for operand in children(expr))
                if isinstance(expr, And | Or | Equal):
                    made = type(expr), frozenset(operands)
                else:
                    made = (expr.op if isinstance(expr, Arith) else type(expr), *operands)
                keys[id(expr)] = made
            return made


# --- formulas


def formula_key(formula: Formula) -> Hashable:
    """Return a key of the formula that ignores texts and the order of commutative operands."""
    match formula:
        case f.Atom(condition):
            return expr_key(condition)
        case f.Taken(steps):
            return f.Taken, steps
        case f.And(operands) | f.Or(operands):
            return type(formula), frozenset(map(formula_key, operands))
        case f.Knows(mode, agents, operand):
            return f.Knows, mode, frozenset(agents), formula_key(operand)
        case f.KnownFrom(observed, operand):
            return f.KnownFrom, frozenset(map(expr_key, observed)), formula_key(operand)
        case f.Enforces(group, goal, uniform):
            return f.Enforces, frozenset(group), formula_key(goal), uniform
        case f.OnPaths(quantifier, path, along):
            return f.OnPaths, quantifier, formula_key(path), None if along is None else along.steps
        case f.Until(left, right, bound) | f.Release(left, right, bound):
            return type(formula), bound, formula_key(left), formula_key(right)
        case f.Not() | f.Next() | f.Previous() | f.Since() | f.Regardless():
            return type(formula), *map(formula_key, f.children(formula))
        case f.Adjacent(operand, same, choice, back):
            return f.Adjacent, same, choice, back, formula_key(operand)
        case f.Derived():
            return formula_key(formula.definition)
        case _:
            assert_never(formula)


def renamed_formula(formula: Formula, renamed: Renaming) -> Formula:
    """Return the image of the formula under a renaming."""
    operands = f.children(formula)
    rebuilt = f.with_children(formula, tuple(renamed_formula(operand, renamed) for operand in operands))
    match rebuilt:
        case f.Atom(condition, text):
            return f.Atom(_renamed(condition, renamed), renamed(text))
        case f.Taken():
            return _renamed_steps(rebuilt, renamed)
        case f.KnownFrom():
            observed = tuple(_renamed(expr, renamed) for expr in rebuilt.observed)
            return replace(rebuilt, observed=observed, observer=renamed(rebuilt.observer))
        case f.Knows():
            return replace(rebuilt, agents=tuple(map(renamed, rebuilt.agents)))
        case f.Enforces():
            return replace(rebuilt, group=tuple(map(renamed, rebuilt.group)))
        case f.OnPaths(along=along):
            return rebuilt if along is None else replace(rebuilt, along=_renamed_steps(along, renamed))
        case f.Shorthand():
            return replace(rebuilt, text=renamed(rebuilt.text))
        case Commits() | Fulfils():
            return replace(rebuilt, channel=_renamed_channel(rebuilt.channel, renamed))
        case Conditional():
            return _renamed_conditional(rebuilt, renamed)
        case SociallyCommits(pair, bindings):
            named = tuple(replace(one, name=renamed(one.name)) for one in bindings)
            return replace(rebuilt, pair=renamed(pair), bindings=named)
        case f.Derived():
            return rebuilt if rebuilt.has_only_operands else renamed_formula(f.core(formula), renamed)
        case f.Adjacent():
            raise AssertionError("rounds have no symmetry")
        case (
            f.Not() | f.And() | f.Next() | f.Until() | f.Release() | f.Previous() | f.Since() | f.Regardless()
        ):  # fmt: skip
            return rebuilt
        case _:
            assert_never(rebuilt)


def _renamed_conditional(formula: Conditional, renamed: Renaming) -> Conditional:
    return replace(
        formula,
        channel=_renamed_offering(formula.channel, renamed),
        other=None if formula.other is None else _renamed_offering(formula.other, renamed),
        other_party=None if formula.other_party is None else renamed(formula.other_party),
    )


def _renamed_channel(channel: Channel, renamed: Renaming) -> Channel:
    return Channel(
        renamed(channel.name),
        tuple(_renamed(expr, renamed) for expr in channel.promised),
        _renamed(channel.bound, renamed),
        _renamed(channel.caught_up, renamed),
    )


def _renamed_offering(offering: Offering, renamed: Renaming) -> Offering:
    offers = (
        Offer(renamed(offer.name), *(_renamed(expr, renamed) for expr in expressions(offer)))
        for offer in offering.offers
    )
    return Offering(_renamed_channel(offering.promises, renamed), tuple(offers))


def _renamed_steps(taken: f.Taken, renamed: Renaming) -> f.Taken:
    return f.Taken(frozenset(map(renamed, taken.steps)), renamed(taken.text))


def _renamed(expr: Expr, renamed: Renaming) -> Expr:
    match expr:
        case Read(name):
            return Read(renamed(name))
        case Const():
            return expr
        case Not(operand):
            return Not(_renamed(operand, renamed))
        case And(operands) | Or(operands):
            return type(expr)(tuple(_renamed(operand, renamed) for operand in operands))
        case Equal(left, right) | Less(left, right):
            return type(expr)(_renamed(left, renamed), _renamed(right, renamed))
        case Arith(op, left, right):
            return Arith(op, _renamed(left, renamed), _renamed(right, renamed))
        case Ite(condition, then, otherwise):
            return Ite(_renamed(condition, renamed), _renamed(then, renamed), _renamed(otherwise, renamed))


def canonical_numbering(
    symmetry_group: SymmetryGroup, names: Iterable[str], assuming: frozenset[str] = frozenset()
) -> Permutation:
    """Return the permutation that numbers the instances in names: the most frequent first, then by first occurrence.

    The formulas "all members are idle, and member 7 owes nothing" have one key for all choices of the member.
    """
    occurrences = Counter(member for name in names for member in symmetry_group.members_in(name))
    alike = {
        index: frozenset(family for family in symmetry_group.families if f"{family}[{index}]" in assuming)
        for index in symmetry_group.indices
    }
    free = {
        kind: iter([index for index in symmetry_group.indices if alike[index] == kind]) for kind in set(alike.values())
    }
    return {index: next(free[alike[index]]) for index, _ in occurrences.most_common() if index in alike}


def names_of(formula: Formula) -> Iterator[str]:
    """Yield the agents, variables and steps that occur in the formula, from left to right."""
    for part in f.subformulas(formula):
        match part:
            case f.Atom(condition):
                yield from _variables(condition)
            case f.Taken(steps) | f.OnPaths(along=f.Taken(steps)):
                yield from sorted(steps)
            case f.KnownFrom(observed):
                for expr in observed:
                    yield from _variables(expr)
            case f.Knows(_, agents) | f.Enforces(agents):
                yield from agents
            case f.Adjacent(_, same):
                yield from (name for pair in same for name in pair)
            case Commits(channel) | Fulfils(channel):
                yield from _names_of_channel(channel)
            case Conditional(channel=one, other=other):
                for offering in (one,) if other is None else (one, other):
                    yield from _names_of_channel(offering.promises)
                    for offer in offering.offers:
                        for expr in expressions(offer):
                            yield from _variables(expr)
            case SociallyCommits() | f.Shorthand():
                pass  # their operands follow
            case f.Derived():
                if not part.has_only_operands:
                    yield from names_of(part.definition)
            case (
                f.Not() | f.And() | f.Next() | f.Until() | f.Release() | f.Previous() | f.Since() | f.OnPaths()
                | f.Regardless()
            ):  # fmt: skip
                pass
            case _:
                assert_never(part)


def _names_of_channel(channel: Channel) -> Iterator[str]:
    for end in (*channel.promised, channel.bound, channel.caught_up):
        yield from _variables(end)


def _variables(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Read):
        yield expr.variable
    for operand in children(expr):
        yield from _variables(operand)


# --- Symmetry quotient of the state space: explore one representative of each orbit of states
#
# An automorphism of the system (`cplc.reductions.symmetry`) that leaves every condition of the formula unchanged
# relates each state to its image by a bisimulation, idle steps included. A formula over these conditions therefore
# has the same value at both, and shortest runs have the same length. The search replaces each state by a
# representative of its orbit. The representative sorts the local states of interchangeable instances; any choice
# would be sound.
#
# Stubborn sets combine with the quotient: the first step of a shortest run to a goal leads to a state that is nearer
# to the goal by one step, and so is its image, since the goal is its own image.
#
# Reference: Emerson and Sistla, "Symmetry and model checking", 1996.


@dataclass(frozen=True)
class InterchangeableInstances:
    """Interchangeable instances of role families, and the variables of each instance in the same order."""

    families: tuple[str, ...]
    indices: tuple[int, ...]
    variables: tuple[tuple[str, ...], ...]


Canonical = Callable[[int], int]


class SymmetryReduction(Pass):
    """Store one state of each orbit under the permutations that leave every condition of the formula unchanged.

    A run is made of steps of the system whose representatives are those of the quotient, so evidence remains as it is.
    """

    name = "symmetry"

    def __init__(self) -> None:
        self._symmetry = PerSystem(Symmetry)

    def apply(self, problem: Problem) -> Problem | None:
        conditions = graph_conditions(problem)
        if not conditions:
            return None
        members = interchangeable_instances(problem.system, self._symmetry(problem.system).partial_groups, conditions)
        return replace(problem, interchangeable=members) if members else None


def interchangeable_instances(
    system: System, symmetry_group: Iterable[SymmetryGroup], conditions: Sequence[Expr]
) -> tuple[InterchangeableInstances, ...]:
    """Return the instances whose permutations leave every condition unchanged.

    These are all instances if every condition is symmetric, and otherwise those that occur in no condition. Families
    with variables of several instances, or of instances in several families, are not reduced, except for the first one.
    """
    groups: list[InterchangeableInstances] = []
    taken: set[str] = set()
    for one in symmetry_group:
        fixed = {
            member
            for condition in conditions
            if not _is_symmetric(condition, one)
            for name in reads(condition)
            for member in one.members_in(name)
        }
        free = [index for index in one.indices if index not in fixed]
        pieces = None if len(free) < 2 else _instance_variables(system, one, free)
        if pieces and taken.isdisjoint(name for piece in pieces for name in piece):
            taken.update(name for piece in pieces for name in piece)
            groups.append(InterchangeableInstances(tuple(sorted(one.families)), tuple(free), pieces))
    return tuple(groups)


def _is_symmetric(condition: Expr, symmetry_group: SymmetryGroup) -> bool:
    before = expr_key(condition)
    return all(
        expr_key(condition, symmetry_group.renaming(way)) == before for way in generators(symmetry_group.indices)
    )


def _instance_variables(
    system: System, symmetry_group: SymmetryGroup, free: Sequence[int]
) -> tuple[tuple[str, ...], ...] | None:
    """Return the variables of each instance in the same order; None if a variable has two instances."""
    first = []
    for variable in system.variables:
        members = set(symmetry_group.members_in(variable.name)) & set(free)
        if len(members) > 1:
            return None
        if members == {free[0]}:
            first.append(variable.name)
    if not first:
        return None
    exchanges = [symmetry_group.renaming({free[0]: index, index: free[0]}) for index in free]
    return tuple(tuple(map(exchange, first)) for exchange in exchanges)


def with_adjacent_instances(system: System, members: Iterable[InterchangeableInstances]) -> System:
    """Return the same system with the variables of each instance adjacent, after all others."""
    order = [name for group in members for piece in group.variables for name in piece]
    moved = set(order)
    rest = (variable for variable in system.variables if variable.name not in moved)
    return replace(system, variables=(*rest, *(system.variable[name] for name in order)))


def canonical_representative(packing: Packing, members: Iterable[InterchangeableInstances]) -> Canonical:
    """Return the function that maps states of the rearranged system to their representatives."""
    groups = [_sorting(packing, group) for group in members]

    def sorted_in_each(state: int) -> int:
        for group in groups:
            state = group(state)
        return state

    return groups[0] if len(groups) == 1 else sorted_in_each


def _sorting(packing: Packing, group: InterchangeableInstances) -> Canonical:
    masks = [packing.mask(piece) for piece in group.variables]
    if not masks[0]:
        return lambda state: state
    places = [(mask & -mask).bit_length() - 1 for mask in masks]
    one = masks[0] >> places[0]
    assert all(mask >> place == one for mask, place in zip(masks, places, strict=True)), "members differ"
    unsorted = ~sum(masks)

    def sorting(state: int) -> int:
        pieces = [state >> place & one for place in places]
        inorder = sorted(pieces, reverse=True)
        if inorder == pieces:
            return state
        state &= unsorted
        for place, piece in zip(places, inorder, strict=True):
            state |= piece << place
        return state

    return sorting


def families(members: Iterable[InterchangeableInstances]) -> Iterator[str]:
    """Yield the families whose instances are interchangeable."""
    for group in members:
        yield from group.families
