"""Packed states: integers with a bit field for each variable, and expressions as functions on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from cplc.logic.expressions import And, Arith, Const, Equal, Expr, Ite, Less, Not, Or, Read, Value, arithmetic
from cplc.runtime.context import TooLarge, current
from cplc.system.model import State, System

T = TypeVar("T")
MAX_TABLE_ENTRIES = 1 << 16
_SMALL = 18
"""Binary logarithm of a table size up to which doubling costs negligible memory."""
_PART = 8
"""A further table is worthwhile only if the last one has at least one in this many of the states."""


class MemoTable(dict[int, T], Generic[T]):
    """A memoised function of a bit pattern, with a bounded number of entries."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[int], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, pattern: int) -> T:
        if len(self) >= MAX_TABLE_ENTRIES:
            self.clear()
        value = self[pattern] = self._function(pattern)
        return value


class StateIndex:
    """The index of each stored state.

    A hash table needs three times its memory while it doubles. Where that is not available, later states get a table of
    their own: lookups take longer, but all memory can be used.
    """

    def __init__(self, states: Sequence[int]) -> None:
        self._tables = [dict(zip(states, range(len(states)), strict=True))]
        self._before = 0
        """The number of states in all tables but the last."""
        self._full = _entries(len(states))

    def get(self, state: int) -> int | None:
        for table in self._tables:
            number = table.get(state)
            if number is not None:
                return number
        return None

    def __getitem__(self, state: int) -> int:
        number = self.get(state)
        if number is None:
            raise KeyError(state)
        return number

    def adder(self, count: int) -> Callable[[int, int], int]:
        """Return a function that returns the index of a state and assigns the given one if it has none.

        It serves until there are ``count`` states. Raise `TooLarge` where there is no memory for them.
        """
        if count > self._full:
            table = self._tables[-1]
            try:
                current().require_memory(
                    2 * sys.getsizeof(table), f"a table of more than {self._before + len(table):,} states"
                )
            except TooLarge:
                if _PART * len(table) < self._before:
                    raise
                self._before += len(table)
                self._tables.append({})
            self._full = self._before + _entries(count - self._before)
        return self._tables[0].setdefault if len(self._tables) == 1 else self._add

    def _add(self, state: int, number: int) -> int:
        for table in self._tables[:-1]:
            index = table.get(state)
            if index is not None:
                return index
        return self._tables[-1].setdefault(state, number)


def _entries(count: int) -> int:
    """Return the capacity of a table with so many entries before it doubles: two thirds of a power of two."""
    return (1 << max(_SMALL, (count * 3 // 2).bit_length())) * 2 // 3


class Packing:
    """The bit field of each variable; above them those of ``choices``, with their values."""

    def __init__(self, system: System, choices: Mapping[str, tuple[Value, ...]] | None = None) -> None:
        self._variables = system.variables
        self._domain = {variable.name: variable.domain for variable in system.variables} | dict(choices or {})
        widths = {name: (len(domain) - 1).bit_length() for name, domain in self._domain.items()}
        self._shift = dict(zip(widths, accumulate(widths.values(), initial=0), strict=False))
        self._bits = {name: (1 << width) - 1 for name, width in widths.items()}
        self._code = {name: {value: code for code, value in enumerate(domain)} for name, domain in self._domain.items()}
        self.width = sum(widths.values())

    def mask(self, variables: Iterable[str]) -> int:
        """Return the bits of these variables."""
        mask = 0
        for name in variables:
            mask |= self._bits[name] << self._shift[name]
        return mask

    def bits(self, variable: str, value: Value) -> int:
        """Return the value encoded in the variable's bit field."""
        code = self._code[variable].get(value)
        if code is None:
            raise ValueError(f"`{variable}` cannot be {value!r}")
        return code << self._shift[variable]

    def pack(self, state: State) -> int:
        return sum(self.bits(variable.name, state[variable.name]) for variable in self._variables)

    def unpack(self, packed: int) -> State:
        return {variable.name: self.value(variable.name, packed) for variable in self._variables}

    def value(self, variable: str, packed: int) -> Value:
        return self._domain[variable][packed >> self._shift[variable] & self._bits[variable]]

    def evaluator(self, expr: Expr) -> Callable[[int], Value]:
        """Return the expression as a function of the packed state."""
        match expr:
            case Const(value):
                return lambda _: value
            case Read(name):
                shift, bits, domain = self._shift[name], self._bits[name], self._domain[name]
                return lambda state: domain[state >> shift & bits]
            case Not(operand):
                inner = self.evaluator(operand)
                return lambda state: not inner(state)
            case And(operands):
                conjuncts = [self.evaluator(operand) for operand in operands]
                return lambda state: all(conjunct(state) for conjunct in conjuncts)
            case Or(operands):
                disjuncts = [self.evaluator(operand) for operand in operands]
                return lambda state: any(disjunct(state) for disjunct in disjuncts)
            case Equal(left, right):
                one, other = self.evaluator(left), self.evaluator(right)
                return lambda state: one(state) == other(state)
            case Less(left, right):
                low, high = self._number(left), self._number(right)
                return lambda state: low(state) < high(state)
            case Arith(op, left, right):
                one, other = self._number(left), self._number(right)
                return lambda state: arithmetic(op, one(state), other(state))
            case Ite(condition, then, otherwise):
                test, yes, no = self.evaluator(condition), self.evaluator(then), self.evaluator(otherwise)
                return lambda state: yes(state) if test(state) else no(state)

    def condition(self, expr: Expr) -> Callable[[int], bool]:
        """Return an expression that is a truth value as a function of the packed state."""
        evaluate = self.evaluator(expr)
        return lambda state: bool(evaluate(state))

    def _number(self, expr: Expr) -> Callable[[int], int]:
        evaluate = self.evaluator(expr)

        def number(state: int) -> int:
            value = evaluate(state)
            if isinstance(value, str):
                raise TypeError(f"`{value}` is not a number")
            return value

        return number
