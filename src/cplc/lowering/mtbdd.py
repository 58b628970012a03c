"""Multi-terminal binary decision diagrams (MTBDDs, Clarke et al. 1993; variables here have any finite domain).

A diagram maps each state before a step to the value of a lifecycle variable at one point of the step. The automatic
rules substitute values into each other up to a fixpoint. As expressions, the values would grow with every rule, and
the fixpoint would not be visible. Diagrams are reduced and ordered (by variable name), so equal functions are the same
node. Operations are memoised. `expression` writes only the outcome of the whole step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NewType

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.runtime.context import TooLarge

Diagram = NewType("Diagram", int)
"""The root node of a function from states before the step to values."""

NO: Final = Diagram(0)
YES: Final = Diagram(1)

MAX_SIZE: Final = 20_000
"""Cases of a diagram above which it is replaced by an auxiliary variable."""
MAX_DEPTH: Final = 150
"""Variables on one path of a diagram above which it is replaced likewise."""
MAX_NEW_NODES: Final = 20_000
"""Nodes that one operation may create."""

MAX_LENGTH: Final = 1_000_000
"""Length of an expression above which lowering gives up."""

_AFTER_ALL_VARIABLES: Final = "~"
"""A prefix that orders an auxiliary variable after all others."""


class _DiagramTooLarge(Exception):
    """The diagram exceeds `MAX_SIZE`, `MAX_DEPTH` or `MAX_NEW_NODES`."""


class Manager:
    """Creates the diagrams of one step over variables with these domains; other variables occur in leaves only."""

    def __init__(self, domains: Mapping[str, tuple[Value, ...]]) -> None:
        self._domains = dict(domains)
        self._variables: list[str] = []
        """The variable that each node tests; empty for a leaf."""
        self._children: list[tuple[Diagram, ...]] = []
        """The children of each node, one for each value of its variable."""
        self._values: list[Expr] = []
        self._sizes: list[int] = []
        self._depths: list[int] = []
        self._nodes: dict[tuple[object, object], Diagram] = {}
        self._node_limit = MAX_NEW_NODES
        self._ite_cache: dict[tuple[Diagram, Diagram, Diagram], Diagram] = {}
        self._is_in_cache: dict[tuple[Diagram, frozenset[Value]], Diagram] = {}
        self._expressions: dict[Diagram, Expr] = {}
        self._lengths: dict[Diagram, int] = {}
        self._auxiliary_lengths: dict[str, int] = {}
        """The length of the definition of each auxiliary variable."""
        self._definitions: dict[str, Expr] = {}
        """The definition of each auxiliary variable, over the state before the step."""
        self._auxiliaries: dict[Expr, str] = {}
        assert (self.leaf(e.FALSE), self.leaf(e.TRUE)) == (NO, YES)

    def __len__(self) -> int:
        """Return the number of nodes, a measure of the work."""
        return len(self._variables)

    # --- nodes

    def leaf(self, value: Expr) -> Diagram:
        """Return the constant function; 0 and 1 are not truth values."""
        key = (type(value.value), value.value) if isinstance(value, e.Const) else ("", value)
        return self._node(key, "", (), value, 1)

    def constant(self, value: Value) -> Diagram:
        return self.leaf(e.Const(value))

    def variable(self, name: str) -> Diagram:
        """Return the value that the variable has before the step."""
        if name not in self._domains:
            return self.leaf(e.Read(name))
        return self._branch(name, tuple(self.constant(value) for value in self._domains[name]))

    def _branch(self, variable: str, below: tuple[Diagram, ...]) -> Diagram:
        different = set(below)
        if len(different) == 1:
            return below[0]
        return self._node((variable, below), variable, below, e.FALSE, sum(self._sizes[node] for node in different))

    def _node(
        self, key: tuple[object, object], variable: str, below: tuple[Diagram, ...], leaf: Expr, size: int
    ) -> Diagram:
        existing = self._nodes.get(key)
        if existing is not None:
            return existing
        made = self._nodes[key] = Diagram(len(self._variables))
        self._variables.append(variable)
        self._children.append(below)
        self._values.append(leaf)
        self._sizes.append(size)
        self._depths.append(1 + max((self._depths[node] for node in below), default=0))
        return made

    def _cofactors(self, node: Diagram, variable: str, count: int) -> tuple[Diagram, ...]:
        return self._children[node] if self._variables[node] == variable else (node,) * count

    # --- operations

    def ite(self, when: Diagram, then: Diagram, otherwise: Diagram) -> Diagram:
        """Return ``then`` where ``when`` holds and ``otherwise`` elsewhere (if-then-else)."""
        try:
            return self._bounded_ite(when, then, otherwise)
        except _DiagramTooLarge:
            self._node_limit = len(self) + MAX_NEW_NODES
            return self._ite(self._abbreviated(when), self._abbreviated(then), self._abbreviated(otherwise))

    def _bounded_ite(self, when: Diagram, then: Diagram, otherwise: Diagram) -> Diagram:
        self._node_limit = len(self) + MAX_NEW_NODES
        diagram = self._ite(when, then, otherwise)
        if self._sizes[diagram] > MAX_SIZE or self._depths[diagram] > MAX_DEPTH:
            raise _DiagramTooLarge
        return diagram

    def _ite(self, when: Diagram, then: Diagram, otherwise: Diagram) -> Diagram:
        if when == YES or then == otherwise:
            return then
        if when == NO:
            return otherwise
        if then == YES and otherwise == NO:
            return when
        key = (when, then, otherwise)
        cached = self._ite_cache.get(key)
        if cached is not None:
            return cached
        if len(self) >= self._node_limit:
            raise _DiagramTooLarge
        # Shannon expansion by the first variable in the order that one of the three nodes tests.
        variable = min(tested for node in key if (tested := self._variables[node]))
        count = len(self._domains[variable])
        children: list[Diagram] = []
        for branch in zip(*(self._cofactors(node, variable, count) for node in key), strict=True):
            children.append(self._ite(*branch))  # noqa: PERF401 - a comprehension would double the depth of the stack
        chosen = self._ite_cache[key] = self._branch(variable, tuple(children))
        return chosen

    def negate(self, operand: Diagram) -> Diagram:
        return self.ite(operand, NO, YES)

    def conj(self, *operands: Diagram) -> Diagram:
        conjunction = YES
        for operand in operands:
            conjunction = self.ite(conjunction, operand, NO)
        return conjunction

    def disj(self, *operands: Diagram) -> Diagram:
        disjunction = NO
        for operand in operands:
            disjunction = self.ite(disjunction, YES, operand)
        return disjunction

    def is_in(self, diagram: Diagram, values: Iterable[Value]) -> Diagram:
        """Return the states where the function has one of these values."""
        return self._is_in(diagram, frozenset(values))

    def _is_in(self, diagram: Diagram, values: frozenset[Value]) -> Diagram:
        if not self._variables[diagram]:
            leaf = self._values[diagram]
            assert isinstance(leaf, e.Const), f"{leaf} is not a constant"
            return YES if leaf.value in values else NO
        key = (diagram, values)
        if key not in self._is_in_cache:
            below: list[Diagram] = []
            for node in self._children[diagram]:
                below.append(self._is_in(node, values))  # noqa: PERF401 - as above
            self._is_in_cache[key] = self._branch(self._variables[diagram], tuple(below))
        return self._is_in_cache[key]

    # --- auxiliary variables

    def auxiliary(self, meaning: Expr, about: str = "", domain: tuple[Value, ...] = (False, True)) -> Diagram:
        """Return an auxiliary variable that is defined by an expression; equal expressions share one.

        It is ordered directly after the variable ``about``, or after all others.
        """
        if isinstance(meaning, e.Const):
            return self.leaf(meaning)
        if meaning in self._auxiliaries:
            return self.variable(self._auxiliaries[meaning])
        if domain == (False, True) and e.negate(meaning) in self._auxiliaries:
            return self.negate(self.variable(self._auxiliaries[e.negate(meaning)]))
        return self.variable(self._auxiliary_name(meaning, about, domain))

    def _auxiliary_name(self, meaning: Expr, about: str, domain: tuple[Value, ...] | None) -> str:
        name = self._auxiliaries.setdefault(meaning, f"{about or _AFTER_ALL_VARIABLES} ?{len(self._auxiliaries)}")
        self._definitions[name] = meaning
        self._auxiliary_lengths.setdefault(name, e.length(meaning, MAX_LENGTH))
        if domain is not None:
            self._domains[name] = domain
        return name

    def _abbreviated(self, diagram: Diagram) -> Diagram:
        """Return an auxiliary variable defined by the function; a constant stays itself."""
        if self._sizes[diagram] == 1:
            return diagram
        values: dict[Value, None] = {}
        for leaf in self._leaves(diagram):
            if not isinstance(leaf, e.Const):
                return self.variable(self._auxiliary_name(self.expression(diagram), "", None))
            values[leaf.value] = None
        truth = any(isinstance(value, bool) for value in values)
        domain = (False, True) if truth else tuple(sorted(values, key=str))
        return self.auxiliary(self.expression(diagram), "", domain)

    def _leaves(self, diagram: Diagram) -> Iterable[Expr]:
        visited = {diagram}
        stack = [diagram]
        while stack:
            node = stack.pop()
            if not self._variables[node]:
                yield self._values[node]
            fresh = set(self._children[node]) - visited
            visited |= fresh
            stack += fresh

    # --- conditions

    def condition(self, written: Expr, now: Mapping[str, Diagram], about: str) -> Diagram:
        """Return the states where a condition holds. Parts without variables of diagrams become auxiliary variables.

        ``now`` maps names to their values at this point of the step; all other names are read before the step.
        ``about`` is the variable that the condition decides.
        """
        try:
            return self._condition(written, now, about)
        except _DiagramTooLarge:
            return self.auxiliary(self._substituted(written, now), about)

    def _condition(self, written: Expr, now: Mapping[str, Diagram], about: str) -> Diagram:
        if not any(name in now or name in self._domains for name in e.reads(written)):
            return self.auxiliary(written, about)
        match written:
            case e.Equal(e.Read(name), e.Const(value)) if name in now:
                return self.is_in(now[name], (value,))
            case e.Equal(e.Read(name), e.Const(value)) if name in self._domains:
                return self.is_in(self.variable(name), (value,))
            case e.Not(operand):
                return self.negate(self._condition(operand, now, about))
            case e.And(operands):
                diagram = YES
                for operand in operands:
                    diagram = self._bounded_ite(diagram, self._condition(operand, now, about), NO)
                return diagram
            case e.Or(operands):
                diagram = NO
                for operand in operands:
                    diagram = self._bounded_ite(diagram, YES, self._condition(operand, now, about))
                return diagram
            case e.Ite(condition, then, otherwise):
                return self._bounded_ite(*(self._condition(part, now, about) for part in (condition, then, otherwise)))
            case _:
                return self.auxiliary(self._substituted(written, now), about)

    def _substituted(self, written: Expr, now: Mapping[str, Diagram]) -> Expr:
        return e.substitute(written, {name: self.expression(now[name]) for name in e.reads(written) if name in now})

    # --- diagrams as expressions

    def expression(self, diagram: Diagram, first: str = "") -> Expr:
        """Return the function as a case distinction: by the variable ``first``, then by the others in their order."""
        if first not in self._domains:
            self._check_length(diagram)
            return self._write(diagram)
        below = [self._cofactor(diagram, first, index, {}) for index in range(len(self._domains[first]))]
        for node in set(below):
            self._check_length(node)
        return self._case_distinction(first, below, own=True)

    def _cofactor(self, diagram: Diagram, variable: str, index: int, memo: dict[Diagram, Diagram]) -> Diagram:
        """Return the cofactor (restriction) for one value of a variable, which is given by its index."""
        tested = self._variables[diagram]
        if not tested or tested > variable:
            return diagram
        if tested == variable:
            return self._children[diagram][index]
        if diagram not in memo:
            below: list[Diagram] = []
            for node in self._children[diagram]:
                below.append(self._cofactor(node, variable, index, memo))  # noqa: PERF401 - see above
            memo[diagram] = self._branch(tested, tuple(below))
        return memo[diagram]

    def _check_length(self, diagram: Diagram) -> None:
        """Raise `TooLarge` if the expression would be too long, the definitions of auxiliary variables included."""
        if self._length(diagram) > MAX_LENGTH:
            raise TooLarge(f"more than {MAX_LENGTH:,} cases")

    def _length(self, diagram: Diagram) -> int:
        if diagram not in self._lengths:
            variable = self._variables[diagram]
            leaf = self._values[diagram]
            if variable:
                length = len(self._children[diagram]) * self._auxiliary_lengths.get(variable, 1)
                for node in set(self._children[diagram]):
                    length += self._length(node)
            else:
                length = self._auxiliary_lengths.get(leaf.variable, 1) if isinstance(leaf, e.Read) else 1
            self._lengths[diagram] = length
        return self._lengths[diagram]

    def _write(self, diagram: Diagram) -> Expr:
        if diagram not in self._expressions:
            variable = self._variables[diagram]
            leaf = self._values[diagram]
            if variable:
                self._expressions[diagram] = self._case_distinction(variable, self._children[diagram])
            else:
                self._expressions[diagram] = self._definition(leaf.variable) if isinstance(leaf, e.Read) else leaf
        return self._expressions[diagram]

    def _definition(self, variable: str) -> Expr:
        return self._definitions.get(variable, e.Read(variable))

    def _case_distinction(self, variable: str, below: Sequence[Diagram], own: bool = False) -> Expr:
        """Write a case distinction by a variable; with ``own`` it is assigned to that variable, so equal values are
        written as unchanged."""
        domain = self._domains[variable]
        read = self._definition(variable)
        branches: dict[Diagram | None, list[Value]] = {}
        for value, node in zip(domain, below, strict=True):
            unchanged = own and node == self.constant(value)
            branches.setdefault(None if unchanged else node, []).append(value)
        if isinstance(domain[0], bool):
            no, yes = below
            return e.ite(read, self._write(yes), self._write(no))
        largest = max(reversed(branches), key=lambda node: len(branches[node]))
        rest = None if None in branches else largest
        written = {node: read if node is None else self._write(node) for node in branches}
        diagram = written[rest]
        for branch, values in reversed(branches.items()):
            if branch != rest:
                diagram = e.ite(e.one_of(read, values), written[branch], diagram)
        return diagram
