"""What a step makes of a value, case by case: decision diagrams over all that the step distinguishes.

Ledgers build values by substitution, again and again until the automatic rules are at rest. Written out as
expressions they would grow with every one of them, and nobody would see that nothing changes any more. Here equal
values are the same node, every question is asked once on each way through it, in the order of names, and what was
computed once is not computed again. Only the outcome of the whole step is written out, by `expression`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NewType

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.runtime.limits import TooLarge

Outcome = NewType("Outcome", int)
"""A node: a value of each state before the step."""

NO: Final = Outcome(0)
YES: Final = Outcome(1)

_MANY: Final = 20_000
"""What has more cases than these is given a name, and others are built with that."""
_DEEP: Final = 150
"""So does what distinguishes by more variables than these on one way."""
_ROOM: Final = 20_000
"""So many nodes at most are made before that is known."""

_LENGTH: Final = 1_000_000
"""What would be longer than this, written out, is given up."""

_LAST: Final = "~"
"""Comes after the names of all variables."""


class _TooMany(Exception):
    """It has more cases than it is worth to tell apart."""


class Cases:
    """The values of one step, over variables with these domains; what is not among them only occurs as a whole."""

    def __init__(self, domains: Mapping[str, tuple[Value, ...]]) -> None:
        self._domains = dict(domains)
        self._asked: list[str] = []
        """What a node distinguishes by; empty for a leaf."""
        self._below: list[tuple[Outcome, ...]] = []
        """One node for each value of that variable."""
        self._leaf: list[Expr] = []
        self._sizes: list[int] = []
        self._depths: list[int] = []
        self._nodes: dict[tuple[object, object], Outcome] = {}
        self._room = _ROOM
        self._chosen: dict[tuple[Outcome, Outcome, Outcome], Outcome] = {}
        self._inside: dict[tuple[Outcome, frozenset[Value]], Outcome] = {}
        self._written: dict[Outcome, Expr] = {}
        self._lengths: dict[Outcome, int] = {}
        self._length_of: dict[str, int] = {}
        """How long what a name stands for is."""
        self._meanings: dict[str, Expr] = {}
        """Names that stand for an expression, always over the state before the step."""
        self._names: dict[Expr, str] = {}
        assert (self.leaf(e.FALSE), self.leaf(e.TRUE)) == (NO, YES)

    def __len__(self) -> int:
        """Return how many nodes were made: the work that was done."""
        return len(self._asked)

    # --- nodes

    def leaf(self, value: Expr) -> Outcome:
        """Return what has this value in every case; numbers are no truth values."""
        key = (type(value.value), value.value) if isinstance(value, e.Const) else ("", value)
        return self._node(key, "", (), value, 1)

    def constant(self, value: Value) -> Outcome:
        return self.leaf(e.Const(value))

    def variable(self, name: str) -> Outcome:
        """Return the value that the variable has before the step."""
        if name not in self._domains:
            return self.leaf(e.Read(name))
        return self._split(name, tuple(self.constant(value) for value in self._domains[name]))

    def _split(self, variable: str, below: tuple[Outcome, ...]) -> Outcome:
        different = set(below)
        if len(different) == 1:
            return below[0]
        return self._node((variable, below), variable, below, e.FALSE, sum(self._sizes[node] for node in different))

    def _node(
        self, key: tuple[object, object], asked: str, below: tuple[Outcome, ...], leaf: Expr, size: int
    ) -> Outcome:
        known = self._nodes.get(key)
        if known is not None:
            return known
        made = self._nodes[key] = Outcome(len(self._asked))
        self._asked.append(asked)
        self._below.append(below)
        self._leaf.append(leaf)
        self._sizes.append(size)
        self._depths.append(1 + max((self._depths[node] for node in below), default=0))
        return made

    def _under(self, node: Outcome, variable: str, count: int) -> tuple[Outcome, ...]:
        return self._below[node] if self._asked[node] == variable else (node,) * count

    # --- operations

    def choose(self, when: Outcome, then: Outcome, otherwise: Outcome) -> Outcome:
        """Return ``then`` where the condition holds, ``otherwise`` elsewhere."""
        try:
            return self._fitting(when, then, otherwise)
        except _TooMany:
            self._room = len(self) + _ROOM
            return self._choose(self._shortened(when), self._shortened(then), self._shortened(otherwise))

    def _fitting(self, when: Outcome, then: Outcome, otherwise: Outcome) -> Outcome:
        self._room = len(self) + _ROOM
        found = self._choose(when, then, otherwise)
        if self._sizes[found] > _MANY or self._depths[found] > _DEEP:
            raise _TooMany
        return found

    def _choose(self, when: Outcome, then: Outcome, otherwise: Outcome) -> Outcome:
        if when == YES or then == otherwise:
            return then
        if when == NO:
            return otherwise
        if then == YES and otherwise == NO:
            return when
        key = (when, then, otherwise)
        known = self._chosen.get(key)
        if known is not None:
            return known
        if len(self) >= self._room:
            raise _TooMany
        variable = min(asked for node in key if (asked := self._asked[node]))
        count = len(self._domains[variable])
        found: list[Outcome] = []
        for branch in zip(*(self._under(node, variable, count) for node in key), strict=True):
            found.append(self._choose(*branch))  # noqa: PERF401 - a comprehension would double the depth of the stack
        chosen = self._chosen[key] = self._split(variable, tuple(found))
        return chosen

    def negate(self, operand: Outcome) -> Outcome:
        return self.choose(operand, NO, YES)

    def both(self, *operands: Outcome) -> Outcome:
        found = YES
        for operand in operands:
            found = self.choose(found, operand, NO)
        return found

    def either(self, *operands: Outcome) -> Outcome:
        found = NO
        for operand in operands:
            found = self.choose(found, YES, operand)
        return found

    def is_in(self, outcome: Outcome, values: Iterable[Value]) -> Outcome:
        """Return when it has one of these values."""
        return self._is_in(outcome, frozenset(values))

    def _is_in(self, outcome: Outcome, values: frozenset[Value]) -> Outcome:
        if not self._asked[outcome]:
            leaf = self._leaf[outcome]
            assert isinstance(leaf, e.Const), f"{leaf} is not told apart"
            return YES if leaf.value in values else NO
        key = (outcome, values)
        if key not in self._inside:
            below: list[Outcome] = []
            for node in self._below[outcome]:
                below.append(self._is_in(node, values))  # noqa: PERF401 - as above
            self._inside[key] = self._split(self._asked[outcome], tuple(below))
        return self._inside[key]

    # --- names

    def named(self, meaning: Expr, about: str = "", domain: tuple[Value, ...] = (False, True)) -> Outcome:
        """Return an expression as a value of which nothing is known but its domain; equal ones have one name.

        It is asked for next to the variable that it is about, or after all others.
        """
        if isinstance(meaning, e.Const):
            return self.leaf(meaning)
        if meaning in self._names:
            return self.variable(self._names[meaning])
        if domain == (False, True) and e.negate(meaning) in self._names:
            return self.negate(self.variable(self._names[e.negate(meaning)]))
        return self.variable(self._name(meaning, about, domain))

    def _name(self, meaning: Expr, about: str, domain: tuple[Value, ...] | None) -> str:
        name = self._names.setdefault(meaning, f"{about or _LAST} ?{len(self._names)}")
        self._meanings[name] = meaning
        self._length_of.setdefault(name, e.length(meaning, _LENGTH))
        if domain is not None:
            self._domains[name] = domain
        return name

    def _shortened(self, outcome: Outcome) -> Outcome:
        """Return the same value under a name."""
        if self._sizes[outcome] == 1:
            return outcome
        values: dict[Value, None] = {}
        for leaf in self._leaves(outcome):
            if not isinstance(leaf, e.Const):
                return self.variable(self._name(self.expression(outcome), "", None))
            values[leaf.value] = None
        truth = any(isinstance(value, bool) for value in values)
        domain = (False, True) if truth else tuple(sorted(values, key=str))
        return self.named(self.expression(outcome), "", domain)

    def _leaves(self, outcome: Outcome) -> Iterable[Expr]:
        seen = {outcome}
        stack = [outcome]
        while stack:
            node = stack.pop()
            if not self._asked[node]:
                yield self._leaf[node]
            fresh = set(self._below[node]) - seen
            seen |= fresh
            stack += fresh

    # --- conditions as they are written

    def condition(self, written: Expr, now: Mapping[str, Outcome], about: str) -> Outcome:
        """Return when a condition holds. What it says of none of these variables is not taken apart.

        ``now`` gives the names of values at this point of the step; all others are read before it. ``about`` is the
        variable that it decides on.
        """
        try:
            return self._condition(written, now, about)
        except _TooMany:
            return self.named(self._plain(written, now), about)

    def _condition(self, written: Expr, now: Mapping[str, Outcome], about: str) -> Outcome:
        if not any(name in now or name in self._domains for name in e.reads(written)):
            return self.named(written, about)
        match written:
            case e.Equal(e.Read(name), e.Const(value)) if name in now:
                return self.is_in(now[name], (value,))
            case e.Equal(e.Read(name), e.Const(value)) if name in self._domains:
                return self.is_in(self.variable(name), (value,))
            case e.Not(operand):
                return self.negate(self._condition(operand, now, about))
            case e.And(operands):
                found = YES
                for operand in operands:
                    found = self._fitting(found, self._condition(operand, now, about), NO)
                return found
            case e.Or(operands):
                found = NO
                for operand in operands:
                    found = self._fitting(found, YES, self._condition(operand, now, about))
                return found
            case e.Ite(condition, then, otherwise):
                return self._fitting(*(self._condition(part, now, about) for part in (condition, then, otherwise)))
            case _:
                return self.named(self._plain(written, now), about)

    def _plain(self, written: Expr, now: Mapping[str, Outcome]) -> Expr:
        return e.substitute(written, {name: self.expression(now[name]) for name in e.reads(written) if name in now})

    # --- the outcome, written out

    def expression(self, outcome: Outcome, first: str = "") -> Expr:
        """Return it as a case distinction: by the first variable, then by the others in the order of their names."""
        if first not in self._domains:
            self._limit(outcome)
            return self._write(outcome)
        below = [self._given(outcome, first, index, {}) for index in range(len(self._domains[first]))]
        for node in set(below):
            self._limit(node)
        return self._distinguish(first, below, own=True)

    def _given(self, outcome: Outcome, variable: str, index: int, memo: dict[Outcome, Outcome]) -> Outcome:
        """Return what is left of it, knowing which of its values the variable has."""
        asked = self._asked[outcome]
        if not asked or asked > variable:
            return outcome
        if asked == variable:
            return self._below[outcome][index]
        if outcome not in memo:
            below: list[Outcome] = []
            for node in self._below[outcome]:
                below.append(self._given(node, variable, index, memo))  # noqa: PERF401 - see above
            memo[outcome] = self._split(asked, tuple(below))
        return memo[outcome]

    def _limit(self, outcome: Outcome) -> None:
        """Give up what is too long to be written. Each name stands for something that may itself be made of names."""
        if self._length(outcome) > _LENGTH:
            raise TooLarge(f"more than {_LENGTH:,} cases to write down")

    def _length(self, outcome: Outcome) -> int:
        if outcome not in self._lengths:
            asked = self._asked[outcome]
            leaf = self._leaf[outcome]
            if asked:
                length = len(self._below[outcome]) * self._length_of.get(asked, 1)
                for node in set(self._below[outcome]):
                    length += self._length(node)
            else:
                length = self._length_of.get(leaf.variable, 1) if isinstance(leaf, e.Read) else 1
            self._lengths[outcome] = length
        return self._lengths[outcome]

    def _write(self, outcome: Outcome) -> Expr:
        if outcome not in self._written:
            asked = self._asked[outcome]
            leaf = self._leaf[outcome]
            if asked:
                self._written[outcome] = self._distinguish(asked, self._below[outcome])
            else:
                self._written[outcome] = self._meaning(leaf.variable) if isinstance(leaf, e.Read) else leaf
        return self._written[outcome]

    def _meaning(self, variable: str) -> Expr:
        return self._meanings.get(variable, e.Read(variable))

    def _distinguish(self, variable: str, below: Sequence[Outcome], own: bool = False) -> Expr:
        """Write a distinction by the values of a variable; ``own`` if it is written to the very same."""
        domain = self._domains[variable]
        read = self._meaning(variable)
        branches: dict[Outcome | None, list[Value]] = {}
        for value, node in zip(domain, below, strict=True):
            unchanged = own and node == self.constant(value)
            branches.setdefault(None if unchanged else node, []).append(value)
        if isinstance(domain[0], bool):
            no, yes = below
            return e.ite(read, self._write(yes), self._write(no))
        largest = max(reversed(branches), key=lambda node: len(branches[node]))
        rest = None if None in branches else largest
        written = {node: read if node is None else self._write(node) for node in branches}
        outcome = written[rest]
        for branch, values in reversed(branches.items()):
            if branch != rest:
                outcome = e.ite(e.one_of(read, values), written[branch], outcome)
        return outcome
