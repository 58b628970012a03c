"""Binary encoding of variables, and translation of expressions to decision diagrams.

A variable with n values has ⌈log2 n⌉ bits; a value is encoded by its position in the domain, most significant bit on
top. Unused codes satisfy no comparison with a constant. No initial state and no step leads to one, so sets of reachable
states never contain them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property

from cplc.engines.symbolic.bdd import Node, diagrams
from cplc.logic import expressions as e
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State, System

Cases = dict[e.Value, Node]
"""Partition of the states by the value of an expression."""


class Unchanged(Enum):
    """Result of a case distinction that leaves the variable unchanged."""

    KEPT = "kept"


SPARE_BITS = 64
_MAX_VALUE_PAIRS = 1 << 18


class Encoding:
    """A manager of diagrams, and the meaning of its levels for one system.

    ``doubled`` variables have a second row of bits, each directly below the bit it belongs to, for relations between
    the values before and after a step. Spare levels, for bits beside a state, are on top: a set of pairs of bits and
    states then has no more nodes there than the sets of states for each value of the bits. ``choices`` are read like
    variables with these values, and are no part of a state.
    """

    def __init__(
        self,
        system: System,
        order: tuple[str, ...],
        doubled: frozenset[str] = frozenset(),
        choices: Mapping[str, tuple[str, ...]] | None = None,
        *,
        backend: str | None = None,
        node_limit: int | None = None,
    ) -> None:
        self.system = system
        self.bits: dict[str, tuple[int, ...]] = {}
        self.next_bits: dict[str, tuple[int, ...]] = {}
        self.variable_at: dict[int, str] = {}
        self.spare = range(SPARE_BITS)
        self._domains: dict[str, tuple[e.Value, ...]] = {one.name: one.domain for one in system.variables}
        self._domains.update(choices or {})
        levels = len(self.spare)
        for name in order:
            width = (len(self._domains[name]) - 1).bit_length()
            stride = 2 if name in doubled else 1
            self.bits[name] = tuple(range(levels, levels + stride * width, stride))
            if name in doubled:
                self.next_bits[name] = tuple(level + 1 for level in self.bits[name])
            if name in system.variable:
                self.variable_at.update(dict.fromkeys(self.bits[name], name))
            levels += stride * width
        self._unused = levels - len(self.variable_at)
        self.diagrams = diagrams(levels, backend=backend, node_limit=node_limit)
        self.true = self.diagrams.true
        self.false = self.diagrams.false
        self.ceiling: int | None = None
        """Translation of conditions is given up if the manager holds more nodes than this."""
        self._coded: State = {}
        self._bits_of_coded: dict[int, bool] = {}
        self._values: dict[str, Cases] = {}
        self._diagram_of: dict[int, tuple[e.Expr, Node]] = {}
        self._arithmetic_cases: dict[e.Expr, Cases] = {}

    # --- states

    def is_value(self, variable: str, value: e.Value) -> Node:
        return self._cases_of_variable(variable).get(value, self.false)

    def becomes(self, variable: str, value: e.Value) -> Node | None:
        """Return where the second row of bits has the value; None if it is outside of the domain."""
        domain = self.system.variable[variable].domain
        return self._code(self.next_bits[variable], domain.index(value)) if value in domain else None

    def stays(self, variable: str) -> Node:
        """Return where both rows of bits are equal."""
        result = self.true
        for now, then in zip(reversed(self.bits[variable]), reversed(self.next_bits[variable]), strict=True):
            result = self._same(now, then) & result
        return result

    def equal_after(self, before: str, after: str) -> Node:
        """Return where one variable before the step equals another one after it; variables not doubled stay."""
        levels_after = self.next_bits.get(after, self.bits[after])
        if self._domains[before] == self._domains[after]:
            result = self.true
            for one, other in sorted(zip(self.bits[before], levels_after, strict=True), reverse=True):
                result = self._same(one, other) & result
            return result
        result = self.false
        for value in self._domains[before]:
            if value in self._domains[after]:
                result = result | (
                    self.is_value(before, value) & self._code(levels_after, self._domains[after].index(value))
                )
        return result

    def _same(self, one: int, other: int) -> Node:
        left, right = self.diagrams.literal(one), self.diagrams.literal(other)
        return (left & right) | (~left & ~right)

    def cube(self, variables: Iterable[str]) -> Node:
        return self.diagrams.cube(level for name in variables for level in self.bits[name])

    def variables_in(self, function: Node) -> frozenset[str] | None:
        """Return the variables before the step that a function depends on; None if it is too large."""
        levels = self.diagrams.support(function)
        if levels is None:
            return None
        return frozenset(self.variable_at[level] for level in levels if level in self.variable_at)

    def initial_values(self, variables: Iterable[str]) -> Node:
        """Return where each of these variables has one of its initial values."""
        result = self.true
        for name in sorted(variables, key=self._depth, reverse=True):
            allowed = self.false
            for value in self.system.variable[name].initial:
                allowed = allowed | self.is_value(name, value)
            result = allowed & result
        return result

    def initial_states(self, variables: frozenset[str]) -> Node:
        """Return the initial states, restricted to these variables.

        No condition on initial states is about some of these variables and others.
        """
        start = self.system.start
        return self.initial_values(variables) & (self.condition(start) if e.reads(start) <= variables else self.true)

    def _depth(self, variable: str) -> int:
        return self.bits[variable][0] if self.bits[variable] else -1

    def state(self, assignment: State) -> Node:
        """Return the set of one state."""
        result = self.true
        for name in sorted(self.system.variable, key=self._depth, reverse=True):
            result = self.is_value(name, assignment[name]) & result
        return result

    def contains(self, states: Node, state: State) -> bool:
        """Return whether a state is in a set. Only the bits that differ from the previous query are recomputed."""
        if state != self._coded:
            for name, value in state.items():
                if self._coded.get(name) != value:
                    self._bits_of_coded.update(self._codes[name][value])
                    self._coded[name] = value
        return self.diagrams.value(states, self._bits_of_coded)

    @cached_property
    def _codes(self) -> dict[str, dict[e.Value, dict[int, bool]]]:
        """For each variable and value, its bits."""
        return {
            variable.name: {
                value: {
                    level: bool(position >> shift & 1) for shift, level in enumerate(reversed(self.bits[variable.name]))
                }
                for position, value in enumerate(variable.domain)
            }
            for variable in self.system.variables
        }

    def first(self, states: Node) -> State:
        """Return the first state of a nonempty set."""
        chosen = self.diagrams.pick(states)
        state: State = {}
        for variable in self.system.variables:
            code = 0
            for level in self.bits[variable.name]:
                code = 2 * code + chosen.get(level, False)
            state[variable.name] = variable.domain[code]
        return state

    def count(self, states: Node) -> int:
        """Return the exact number of states of a set over the first rows of bits."""
        return self.diagrams.count(states) >> self._unused

    # --- expressions

    def condition(self, expr: e.Expr) -> Node:
        """Return the diagram of a Boolean expression."""
        cached = self._diagram_of.get(id(expr))
        if cached is not None:
            return cached[1]
        diagram = self._condition(expr)
        self._diagram_of[id(expr)] = expr, diagram
        return diagram

    def _condition(self, expr: e.Expr) -> Node:
        match expr:
            case e.Const(value):
                return self.true if value else self.false
            case e.Read(variable):
                return self.is_value(variable, True)
            case e.Not(operand):
                return ~self.condition(operand)
            case e.And(operands):
                result = self.true
                for part in self._bottom_up(operands):
                    result = part & result
                    self._check_ceiling()
                return result
            case e.Or(operands):
                result = self.false
                for part in self._bottom_up(operands):
                    result = part | result
                    self._check_ceiling()
                return result
            case e.Equal(e.Read(variable), e.Const(value)) | e.Equal(e.Const(value), e.Read(variable)):
                return self.is_value(variable, value)
            case e.Equal(left, right):
                return self._equal(self.cases(left), self.cases(right))
            case e.Less(left, right):
                return self._less(self.cases(left), self.cases(right))
            case e.Ite(test, then, otherwise):
                chosen = self.condition(test)
                return (chosen & self.condition(then)) | (~chosen & self.condition(otherwise))
            case e.Arith():
                return self.cases(expr).get(True, self.false)

    def _bottom_up(self, operands: Iterable[e.Expr]) -> list[Node]:
        """Return the conditions, the deepest first: local conditions are then conjoined in linear time."""
        constants = self.true, self.false
        level = self.diagrams.level
        conditions = map(self.condition, operands)
        return sorted(conditions, key=lambda one: -1 if one in constants else level(one), reverse=True)

    def _check_ceiling(self) -> None:
        if self.ceiling is not None and self.diagrams.nodes() > self.ceiling:
            raise ResourceExhausted(f"a condition needs more than {self.ceiling:,} nodes under this variable order")

    def cases(self, expr: e.Expr) -> Cases:
        """Return the states for each value of the expression."""
        match expr:
            case e.Const(value):
                return {value: self.true}
            case e.Read(variable):
                return self._cases_of_variable(variable)
            case e.Not() | e.And() | e.Or() | e.Equal() | e.Less():
                holds = self.condition(expr)
                return {value: where for value, where in ((True, holds), (False, ~holds)) if where != self.false}
            case e.Arith(op, left, right):
                # The same sum is often compared with many numbers.
                cached = self._arithmetic_cases.get(expr)
                if cached is None:
                    cached = self._arithmetic_cases[expr] = self._arithmetic(op, self.cases(left), self.cases(right))
                return cached
            case e.Ite(test, then, otherwise):
                chosen = self.condition(test)
                result: Cases = {}
                for branch, side in ((then, chosen), (otherwise, ~chosen)):
                    for value, where in self.cases(branch).items():
                        result[value] = result.get(value, self.false) | (side & where)
                return {value: where for value, where in result.items() if where != self.false}

    def updates(self, variable: str, expr: e.Expr, guard: Node) -> dict[e.Value | Unchanged, Node]:
        """Return, within the guard, where each value is assigned, and where the variable is unchanged."""
        if guard == self.false:
            return {}
        match expr:
            case e.Read(read) if read == variable:
                return {Unchanged.KEPT: guard}
            case e.Ite(test, then, otherwise):
                chosen = self.condition(test)
                result = self.updates(variable, then, guard & chosen)
                for value, where in self.updates(variable, otherwise, guard & ~chosen).items():
                    result[value] = result.get(value, self.false) | where
                return result
            case _:
                within = {value: guard & where for value, where in self.cases(expr).items()}
                return {value: where for value, where in within.items() if where != self.false}

    def define(self, choice: str, cases: Cases) -> None:
        """Define a choice as a function of the state, before it is read; its bits remain unused."""
        self._values[choice] = cases

    def _cases_of_variable(self, variable: str) -> Cases:
        cases = self._values.get(variable)
        if cases is None:
            cases = {value: self._code(self.bits[variable], code) for code, value in enumerate(self._domains[variable])}
            self._values[variable] = cases
        return cases

    def _code(self, levels: tuple[int, ...], code: int) -> Node:
        last = len(levels) - 1
        return self.diagrams.conjunction((level, bool(code >> (last - i) & 1)) for i, level in enumerate(levels))

    def _equal(self, left: Cases, right: Cases) -> Node:
        result = self.false
        for value, where in left.items():
            if value in right:
                result = result | (where & right[value])
                self._check_ceiling()
        return result

    def _less(self, left: Cases, right: Cases) -> Node:
        """Compare by increasing numbers.

        Invariant: ``below`` contains the states where the left side is less than the current number.
        """
        result = below = self.false
        for number in sorted({*map(int, left), *map(int, right)}):
            if number in right:
                result = result | (below & right[number])
            if number in left:
                below = below | left[number]
        return result

    def _arithmetic(self, op: e.ArithOp, left: Cases, right: Cases) -> Cases:
        if len(left) * len(right) > _MAX_VALUE_PAIRS:
            raise ResourceExhausted(
                f"an expression combines {len(left):,} values with {len(right):,}, more than {_MAX_VALUE_PAIRS:,} pairs"
            )
        result: Cases = {}
        for one, where in left.items():
            for other, other_where in right.items():
                both = where & other_where
                if both != self.false:
                    value = e.arithmetic(op, int(one), int(other))
                    result[value] = result.get(value, self.false) | both
                self._check_ceiling()
        return result
