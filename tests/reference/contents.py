"""Reference monitors of contents about runs: formulas are progressed letter by letter, and a tableau decides them.

The tableau is the classic one of all truth assignments to the temporal subformulas: an assignment for one position
follows from the letter there and from the assignment for the next. What a finite word has decided is looked up there:
a formula is decided true if it holds for every letter and every assignment that some infinite word gives, false if
for none. Two remainders count as the same unless some continuation tells them apart by what is decided, or by what
holds if all rests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import NamedTuple, cast

from tests.reference.terms import calculate, compare

from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Term, Value

STATES = (
    "null", "conditional", "active", "pending", "fulfilled", "violated", "withdrawn", "released", "expired",
    "delegated", "assigned", "compensated",
)  # fmt: skip
CLAIM_STATES = ("null", "open", "withdrawn", "satisfied", "violated")
STANDINGS = ("no standing", "unanswered", "accepted", "refused", "challenged", "justified", "attacked", "defended")

Step = tuple[str, str]
"""A step: ("message", name), ("tick", ""), or ("other", "")."""
OTHER: Step = ("other", "")
TICK: Step = ("tick", "")


class Letter(NamedTuple):
    """A letter: the true leaves of a content in a state, and the step that leaves the state."""

    state: frozenset[Term]
    step: frozenset[Term]
    ticks: bool


Assignment = frozenset[Term]
"""The temporal subformulas that hold at a position."""


def about_runs(term: Term) -> bool:
    match term:
        case t.Does():
            return True
        case t.Apply(op, operands):
            return op in ("F", "G", "U", "W", "R", "M") or any(map(about_runs, operands))
        case _:
            return False


class Watched:
    """The automaton of one content: its remainders, and the successor of each for every letter."""

    def __init__(self, content: Term, model: CheckedModel) -> None:
        self._model = model
        self.formula = self._plain(content)
        self.leaves = tuple(dict.fromkeys(self._leaves(self.formula)))
        self._acts = tuple(leaf for leaf in self.leaves if isinstance(leaf, t.Does))
        self.asked = tuple(leaf for leaf in self.leaves if not isinstance(leaf, t.Does))
        """The leaves of the content, which are evaluated in a state."""
        self._temporal = tuple(dict.fromkeys(self._temporals(self.formula)))
        self._of: dict[frozenset[int], int] = {}
        self._remainders: list[Term] = []
        self._start = self._numbered(self.formula)

    def _plain(self, term: Term) -> Term:
        """Expand facts, and express every operator by U and negation."""
        match term:
            case t.FactRef(fact):
                return self._plain(self._model.fact[fact].meaning)
            case t.Apply("F", (operand,)):
                return self._until(term, t.TRUE, self._plain(operand))
            case t.Apply("G", (operand,)):
                return _no(self._until(term, t.TRUE, _no(self._plain(operand))))
            case t.Apply("U", (left, right)):
                return self._until(term, self._plain(left), self._plain(right))
            case t.Apply("W", (left, right)):
                return self._weak_until(term, self._plain(left), self._plain(right))
            case t.Apply("R", (left, right)):
                return _no(self._until(term, _no(self._plain(left)), _no(self._plain(right))))
            case t.Apply("M", (left, right)):
                return _no(self._weak_until(term, _no(self._plain(left)), _no(self._plain(right))))
            case t.Apply("!" | "&" | "|" | "->" | "<->" as op, operands):
                return t.Apply(op, tuple(map(self._plain, operands)))
            case _:
                return term

    def _until(self, like: t.Apply, left: Term, right: Term) -> Term:
        return t.Apply("U", (left, right), like.bound, like.in_ticks, like.low)

    def _weak_until(self, like: t.Apply, left: Term, right: Term) -> Term:
        broken = self._until(replace(like, low=0), t.TRUE, _no(left))
        return t.Apply("|", (_no(broken), self._until(like, left, right)))

    def _leaves(self, term: Term) -> Iterator[Term]:
        match term:
            case t.Const():
                pass
            case t.Apply("U" | "!" | "&" | "|" | "->" | "<->", operands):
                for operand in operands:
                    yield from self._leaves(operand)
            case _:
                yield term

    def _temporals(self, term: Term) -> Iterator[Term]:
        match term:
            case t.Apply("U", (left, right), bound):
                yield from self._temporals(left)
                yield from self._temporals(right)
                for passed in range(bound or 0, 0, -1):
                    yield _after_ticks(term, passed)
                yield term
            case t.Apply("!" | "&" | "|" | "->" | "<->", operands):
                for operand in operands:
                    yield from self._temporals(operand)
            case _:
                pass

    # --- letters

    def step(self, step: Step) -> tuple[frozenset[Term], bool]:
        """Return the `does(…)` atoms that a step satisfies, and whether it is a tick."""
        kind, name = step
        true: set[Term] = set()
        for act in self._acts:
            assert isinstance(act, t.Does)
            if kind == "tick" and act.verb == "tick":
                true.add(act)
            if kind == "act" and (act.verb, act.subject) == ("act", name):
                true.add(act)
            if kind == "message":
                message_name, _, receiver = name.partition(" ")
                actor = self._model.message[message_name].sender if self._model.sync else receiver
                if (act.verb, act.subject) in (("take", message_name), ("act", actor)):
                    true.add(act)
        return frozenset(true), kind == "tick"

    @cached_property
    def _steps(self) -> set[tuple[frozenset[Term], bool]]:
        received = [(message.name, role) for message in self._model.messages for role in message.receivers]
        steps = {self.step(("message", f"{name} {role}")) for name, role in received}
        steps |= {self.step(("act", role)) for _, role in received} | {self.step(OTHER), self.step(TICK)}
        return steps if self._counts_ticks else {(acts, False) for acts, _ in steps}

    @property
    def _counts_ticks(self) -> bool:
        return any(isinstance(one, t.Apply) and one.bound is not None for one in self._temporal)

    @cached_property
    def _states(self) -> set[frozenset[Term]]:
        """The jointly satisfiable sets of leaves."""
        read = sorted({source for leaf in self.asked for source in _sources(leaf)})
        states: set[frozenset[Term]] = set()
        for values in product(*(self._values(source) for source in read)):
            given = dict(zip(read, values, strict=True))
            states.add(frozenset(leaf for leaf in self.asked if _value(leaf, given) is True))
        return states

    def _values(self, source: tuple[str, ...]) -> tuple[Value | None, ...]:
        match source:
            case ("message", _):
                return (False, True)
            case ("field", message, parameter):
                (domain,) = (p.domain for p in self._model.message[message].parameters if p.name == parameter)
                return domain
            case ("variable", name):
                return self._model.variable[name].domain
            case ("standing", _):
                return STANDINGS
            case _:
                return CLAIM_STATES if source[1] in self._model.claim else STATES

    @cached_property
    def letters(self) -> tuple[Letter, ...]:
        return tuple(Letter(state, acts, tick) for state in self._states for acts, tick in self._steps)

    # --- the tableau

    def _holds(self, term: Term, letter: Letter, following: Assignment) -> bool:
        """Return whether a formula holds at a position: its letter is given, and what holds at the next."""
        match term:
            case t.Const(value):
                return value is True
            case t.Apply("U", (left, right), bound):
                if not term.low and self._holds(right, letter, following):
                    return True
                if not self._holds(left, letter, following):
                    return False
                if bound is None or not letter.ticks:
                    return term in following
                return bound > 0 and _after_ticks(term, 1) in following
            case t.Apply("!", (operand,)):
                return not self._holds(operand, letter, following)
            case t.Apply("&", operands):
                return all(self._holds(operand, letter, following) for operand in operands)
            case t.Apply("|", operands):
                return any(self._holds(operand, letter, following) for operand in operands)
            case t.Apply("->", (left, right)):
                return not self._holds(left, letter, following) or self._holds(right, letter, following)
            case t.Apply("<->", (left, right)):
                return self._holds(left, letter, following) == self._holds(right, letter, following)
            case _:
                return term in letter.state or term in letter.step

    @cached_property
    def _types(self) -> list[tuple[Letter, Assignment]]:
        """Every letter with the possible subformulas at the next position of an infinite word."""
        vectors = [
            frozenset(one for one, holds in zip(self._temporal, truths, strict=True) if holds)
            for truths in product((False, True), repeat=len(self._temporal))
        ]
        edges: dict[Assignment, list[tuple[Letter, Assignment]]] = {}
        for letter in self.letters:
            for after in vectors:
                now = frozenset(one for one in self._temporal if self._holds(one, letter, after))
                edges.setdefault(now, []).append((letter, after))
        fair = set(edges)
        while True:
            size = len(fair)
            for until in self._temporal:
                assert isinstance(until, t.Apply)
                # From where can a position be reached at which the until is not put off any more?
                reaching: set[Assignment] = set()
                growing = True
                while growing:
                    growing = False
                    for now in fair - reaching:
                        if any(
                            after in reaching or (until not in now or self._holds(until.operands[1], letter, after))
                            for letter, after in edges[now]
                            if after in fair
                        ):
                            reaching.add(now)
                            growing = True
                fair = reaching
            fair = {now for now in fair if any(after in fair for _, after in edges[now])}
            if len(fair) == size:
                break
        return [(letter, after) for letter in self.letters for after in fair]

    # --- remainders

    def _numbered(self, remainder: Term) -> int:
        """Return the number of a remainder; equivalent remainders have the same number."""
        key = frozenset(n for n, (letter, after) in enumerate(self._types) if self._holds(remainder, letter, after))
        if key not in self._of:
            self._of[key] = len(self._remainders)
            self._remainders.append(remainder)
        return self._of[key]

    def _verdict(self, number: int) -> bool | None:
        (size,) = {len(key) for key, one in self._of.items() if one == number}
        return {0: False, len(self._types): True}.get(size)

    def _progressed(self, term: Term, letter: Letter) -> Term:
        match term:
            case t.Const():
                return term
            case t.Apply("U", (left, right), bound):
                now = t.FALSE if term.low else self._progressed(right, letter)
                lasting, later = self._progressed(left, letter), cast(Term, term)
                if bound is not None and letter.ticks:
                    later = _after_ticks(term, 1) if bound else t.FALSE
                return t.Apply("|", (now, t.Apply("&", (lasting, later))))
            case t.Apply("!" | "&" | "|" | "->" | "<->" as op, operands):
                return t.Apply(op, tuple(self._progressed(operand, letter) for operand in operands))
            case _:
                return t.Const(term in letter.state or term in letter.step)

    @cached_property
    def _table(self) -> list[dict[Letter, int]]:
        """Each remainder, by number, with its successor for each letter."""
        table: list[dict[Letter, int]] = []
        while len(table) < len(self._remainders):
            remainder = self._remainders[len(table)]
            table.append({letter: self._numbered(self._progressed(remainder, letter)) for letter in self.letters})
        return table

    @cached_property
    def _class(self) -> list[int]:
        """Each remainder with the first one that is equivalent to it."""
        table = self._table
        apart = {
            (a, b)
            for a in range(len(table))
            for b in range(len(table))
            if self._verdict(a) != self._verdict(b) or any(self._rests(a, s) != self._rests(b, s) for s in self._states)
        }
        while True:
            more = {
                (a, b)
                for a in range(len(table))
                for b in range(len(table))
                if (a, b) not in apart and any((table[a][x], table[b][x]) in apart for x in self.letters)
            }
            if not more:
                break
            apart |= more
        return [min(b for b in range(len(table)) if (a, b) not in apart) for a in range(len(table))]

    def _rests(self, number: int, state: frozenset[Term]) -> bool:
        return self._at_rest(self._remainders[number], state)

    def _at_rest(self, term: Term, state: frozenset[Term]) -> bool:
        """Return whether a formula holds of the word that stays in this state forever, with no step."""
        match term:
            case t.Const(value):
                return value is True
            case t.Apply("U", (_, right)):
                return not term.low and self._at_rest(right, state)
            case t.Apply("!", (operand,)):
                return not self._at_rest(operand, state)
            case t.Apply("&", operands):
                return all(self._at_rest(operand, state) for operand in operands)
            case t.Apply("|", operands):
                return any(self._at_rest(operand, state) for operand in operands)
            case t.Apply("->", (left, right)):
                return not self._at_rest(left, state) or self._at_rest(right, state)
            case t.Apply("<->", (left, right)):
                return self._at_rest(left, state) == self._at_rest(right, state)
            case _:
                return term in state

    # --- what the life cycle asks

    def after(self, number: int, state: frozenset[Term], step: Step) -> int:
        acts, tick = self.step(step)
        letter = Letter(state, acts, tick and self._counts_ticks)
        return self._class[self._table[self._class[number]][letter]]

    def decided(self, number: int) -> bool | None:
        """Return the verdict of the letters read."""
        return self._verdict(number)

    def entering(self, number: int, state: frozenset[Term]) -> bool | None:
        """Return the verdict for every step that may leave this state."""
        outcomes = {self._verdict(to) for letter, to in self._table[number].items() if letter.state == state}
        return outcomes.pop() if len(outcomes) == 1 else None

    def rests(self, number: int, state: frozenset[Term]) -> bool:
        """Return whether it holds if nothing happens any more."""
        return self._rests(number, state)


def _no(term: Term) -> Term:
    return t.Apply("!", (term,))


def _sources(term: Term) -> Iterator[tuple[str, ...]]:
    match term:
        case t.Happened(message):
            yield "message", message
        case t.Field(message, parameter):
            yield "message", message
            yield "field", message, parameter
        case t.Var(name):
            yield "variable", name
        case t.InState(name):
            yield "state", name
        case t.Stands(name):
            yield "standing", name
        case t.Apply(_, operands):
            for operand in operands:
                yield from _sources(operand)
        case _:
            pass


def _value(term: Term, given: Mapping[tuple[str, ...], Value | None]) -> Value | None:
    match term:
        case t.Const(value):
            return value
        case t.Happened(message):
            return given["message", message]
        case t.Field(message, parameter):
            return given["field", message, parameter] if given["message", message] is True else None
        case t.Var(name):
            return given["variable", name]
        case t.InState(name, states):
            return given["state", name] in states
        case t.Stands(name, standings):
            return given["standing", name] in standings
        case t.Apply("=" | "!=" | "<" | "<=" | ">" | ">=" as op, (left, right)):
            return compare(op, _value(left, given), _value(right, given))
        case t.Apply("-", (operand,)):
            return calculate("-", 0, _value(operand, given))
        case t.Apply(op, (left, right)):
            return calculate(op, _value(left, given), _value(right, given))
        case _:
            raise AssertionError(f"not a leaf: {term}")


def _after_ticks(until: t.Apply, passed: int) -> Term:
    """Return what remains of a bounded until after so many ticks."""
    assert until.bound is not None
    return replace(until, bound=until.bound - passed, low=max(0, until.low - passed))
