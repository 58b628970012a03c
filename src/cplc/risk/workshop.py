"""Decision models of parts, each built and solved once however many copies of it there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from cplc.risk.model import Chance, Explored, Kind, explore, with_chances
from cplc.risk.parts import Part, Splitting, conjuncts, may_be_split, whole_of
from cplc.risk.results import Bounds
from cplc.risk.sweep import Ordered, Question, Values, solve, widened
from cplc.system.expr import Expr, conj, reads
from cplc.system.model import System
from cplc.system.participant import Participant


@dataclass(frozen=True)
class Built:
    """A part with its decision model."""

    part: Part
    explored: Explored

    @cached_property
    def ordered(self) -> Ordered:
        return Ordered(self.explored.model)

    @cached_property
    def has_turns(self) -> bool:
        return Kind.TURN in self.explored.model.kind

    @property
    def initial(self) -> range:
        return range(self.explored.model.initial)

    def wanted(self, condition: Expr) -> bytes:
        """Return the ends where the condition holds."""
        test = self.explored.packing.condition(condition)
        model = self.explored.model
        return bytes(model.is_end(at) and test(state) for at, state in enumerate(self.explored.states))

    def with_chances(self, chances: Sequence[Chance]) -> Ordered:
        return self.ordered.changed(with_chances(self.explored.model, chances))


@dataclass(frozen=True)
class Piece:
    """One of the parts that decide together whether an end is wanted, with how many copies of it there are."""

    built: Built
    condition: Expr
    wanted: bytes
    parts: tuple[Part, ...]


@dataclass
class Workshop:
    system: System
    participant: Participant
    exact: bool
    fairness: bool
    split: bool
    limit: int
    built: dict[int, Built] = field(default_factory=dict)
    forms: dict[object, int] = field(default_factory=dict)
    form_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    """The number of the form of each part, by its variables."""
    answers: dict[tuple[int, object, bool], Values] = field(default_factory=dict)

    @cached_property
    def splitting(self) -> Splitting | None:
        return Splitting(self.system, self.participant) if self.split and may_be_split(self.system) else None

    def parts(self, together: Iterable[frozenset[str]]) -> tuple[Part, ...]:
        """Return the parts that may be looked at one by one."""
        if self.splitting is None:
            return (whole_of(self.system, self.participant),)
        joined = tuple(together)
        parts = self.splitting.parts(joined)
        turning = [part for part in parts if self.build(part).has_turns]
        if len(turning) > 1 and any(not self.build(part).ordered.is_acyclic for part in turning):
            names = frozenset[str]().union(*(part.variables for part in turning))
            parts = self.splitting.parts((*joined, names))
        return parts

    def build(self, part: Part) -> Built:
        key = self.form(part)
        if key not in self.built:
            self.built[key] = Built(part, explore(part.system, part.participant, self.limit - self.states))
        return self.built[key]

    def form(self, part: Part) -> int:
        """Return a number that is the same for copies."""
        found = self.form_of.get(part.order)
        if found is None:
            found = self.form_of[part.order] = self.forms.setdefault(part.form, len(self.forms))
        return found

    @property
    def states(self) -> int:
        return sum(len(one.explored.model) for one in self.built.values())

    def pieces(self, condition: Expr) -> tuple[Piece, ...]:
        """Return what decides whether the condition holds at the end: its conjuncts by the parts they are about."""
        asked = conjuncts(condition)
        parts = self.parts(reads(one) for one in asked)
        home = {name: at for at, part in enumerate(parts) for name in part.order}
        mine: dict[int, list[Expr]] = {}
        for one in asked:
            names = reads(one)
            mine.setdefault(home[next(iter(names))] if names else 0, []).append(one)
        found: dict[object, list[Part]] = {}
        for at, part in enumerate(parts):
            found.setdefault((self.form(part), *map(part.form_of, mine.get(at, ()))), []).append(part)
        first = {id(part): at for at, part in enumerate(parts)}
        return tuple(self._piece(members, conj(mine.get(first[id(members[0])], ()))) for members in found.values())

    def _piece(self, members: Sequence[Part], condition: Expr) -> Piece:
        built = self.build(members[0])
        if built.part is not members[0]:  # a copy was built: what is asked there has other names
            names = dict(zip(members[0].order, built.part.order, strict=True))
            condition = renamed(condition, names)
        return Piece(built, condition, built.wanted(condition), tuple(members))

    def values(self, piece: Piece, worst: bool) -> Values:
        key = (id(piece.built), piece.wanted, worst)
        if key not in self.answers:
            question = Question(piece.wanted, worst, self.exact, self.fairness)
            self.answers[key] = solve(piece.built.ordered, question)
        return self.answers[key]

    def bounds(self, pieces: Sequence[Piece], worst: bool) -> Bounds:
        """Return the probability that all end as wanted."""
        each = [(self.values(piece, worst).bounds(piece.built.initial, worst), len(piece.parts)) for piece in pieces]
        return multiplied(each)


def multiplied(each: Iterable[tuple[Bounds, int]]) -> Bounds:
    low, high = Fraction(1), Fraction(1)
    rough_low = rough_high = 1.0
    exact, count = True, 0
    for bounds, times in each:
        count += times + 1
        if exact and isinstance(bounds.low, Fraction) and isinstance(bounds.high, Fraction):
            low, high = low * bounds.low**times, high * bounds.high**times
        else:
            exact = False
        rough_low *= float(bounds.low) ** times
        rough_high *= float(bounds.high) ** times
    return Bounds(low, high) if exact else widened(rough_low, rough_high, 2 * count)


def renamed(expr: Expr, names: dict[str, str]) -> Expr:
    from cplc.system.expr import And, Arith, Const, Equal, Ite, Less, Not, Or, Read

    def new(one: Expr) -> Expr:
        return renamed(one, names)

    match expr:
        case Const():
            return expr
        case Read(name):
            return Read(names[name])
        case Not(operand):
            return Not(new(operand))
        case And(operands):
            return And(tuple(map(new, operands)))
        case Or(operands):
            return Or(tuple(map(new, operands)))
        case Equal(left, right):
            return Equal(new(left), new(right))
        case Less(left, right):
            return Less(new(left), new(right))
        case Arith(op, left, right):
            return Arith(op, new(left), new(right))
        case Ite(condition, then, otherwise):
            return Ite(new(condition), new(then), new(otherwise))


def copies(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Part]]:
    """Yield every part with the piece that it is a copy of."""
    for piece in pieces:
        yield from ((piece, part) for part in piece.parts)
