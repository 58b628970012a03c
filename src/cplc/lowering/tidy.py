"""A normal form for the updates of a ledger: one distinction after the other, nothing asked twice.

Ledgers build expressions by blind substitution. Here each is taken apart by the values of the variables that it
compares with constants, its own first, and put together again; what cannot occur disappears on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cplc.system import expr as e
from cplc.system.expr import Expr, Value

_MANY: Final = 300
"""With more cases than these an expression is left as it is."""

_OTHER: Final = object()
"""None of the values that the variable is compared with."""


class _TooMany(Exception):
    """The normal form has more cases than it is worth."""


def tidy(value: Expr, domains: Mapping[str, tuple[Value, ...]], first: str) -> Expr:
    """Return an equal expression that distinguishes by ``first``, then by the other variables compared.

    An expression whose normal form would have very many cases is returned as it is.
    """
    try:
        return _Tidying(domains, first).of(value)
    except _TooMany:
        return value


class _Tidying:
    def __init__(self, domains: Mapping[str, tuple[Value, ...]], first: str) -> None:
        self._domains = domains
        self._first = first
        self._cases = 0

    def of(self, value: Expr) -> Expr:
        tested: dict[str, set[Value]] = {}
        for variable, constant in _tests(value):
            tested.setdefault(variable, set()).add(constant)
        if not tested:
            return value
        self._cases += 1
        if self._cases > _MANY:
            raise _TooMany
        variable = self._first if self._first in tested else min(tested)
        domain = self._domains[variable]
        if isinstance(domain[0], bool):
            yes, no = (self.of(_given(value, variable, known)) for known in (True, False))
            return e.ite(e.Read(variable), yes, no)
        constants = [constant for constant in domain if constant in tested[variable]]
        if len(constants) == len(domain) - 1:
            constants = list(domain)
        branches: dict[Expr, list[Value]] = {}
        for constant in constants:
            branch = self.of(_given(value, variable, constant))
            if variable == self._first and branch == e.Const(constant):
                branch = e.Read(variable)
            branches.setdefault(branch, []).append(constant)
        if len(constants) < len(domain):
            rest = self.of(_given(value, variable, _OTHER))
        else:
            rest = e.Read(variable) if e.Read(variable) in branches else list(branches)[-1]
        outcome = rest
        for branch, olds in reversed(branches.items()):
            if branch != rest:
                outcome = e.ite(e.one_of(e.Read(variable), olds), branch, outcome)
        return outcome


def _tests(value: Expr, inside: bool = False) -> Iterator[tuple[str, Value]]:
    """Yield each variable that a condition in the value compares, with the constant."""
    match value:
        case e.Equal(e.Read(name), e.Const(constant)):
            yield name, constant
        case e.Read(name) if inside:
            yield from ((name, False), (name, True))
        case e.Ite(condition, then, otherwise):
            yield from _tests(condition, True)
            yield from _tests(then, inside)
            yield from _tests(otherwise, inside)
        case e.Not() | e.And() | e.Or():
            for child in e.children(value):
                yield from _tests(child, True)
        case _:
            pass


def _given(value: Expr, variable: str, known: object) -> Expr:
    """Simplify, knowing which of the values it is compared with the variable has, if any."""
    match value:
        case e.Equal(e.Read(name), e.Const(constant)) if name == variable:
            return e.TRUE if constant == known else e.FALSE
        case e.Read(name) if name == variable and known is not _OTHER:
            return e.Const(known)  # type: ignore[arg-type]
        case e.Read(name) if name == variable:
            return value
        case e.Const() | e.Read():
            return value
        case e.Not(operand):
            return e.negate(_given(operand, variable, known))
        case e.And(operands):
            return e.conj(_given(operand, variable, known) for operand in operands)
        case e.Or(operands):
            return e.disj(_given(operand, variable, known) for operand in operands)
        case e.Equal(left, right):
            return e.equal(_given(left, variable, known), _given(right, variable, known))
        case e.Less(left, right):
            return e.less(_given(left, variable, known), _given(right, variable, known))
        case e.Arith(op, left, right):
            return e.arith(op, _given(left, variable, known), _given(right, variable, known))
        case e.Ite(condition, then, otherwise):
            return e.ite(
                _given(condition, variable, known), _given(then, variable, known), _given(otherwise, variable, known)
            )


def restore(value: Expr, meanings: Mapping[str, Expr]) -> Expr:
    """Put conditions back in the place of the names that stood for them."""
    match value:
        case e.Read(name):
            return meanings.get(name, value)
        case e.Const():
            return value
        case e.Not(operand):
            return e.negate(restore(operand, meanings))
        case e.And(operands):
            return e.conj(restore(operand, meanings) for operand in operands)
        case e.Or(operands):
            return e.disj(restore(operand, meanings) for operand in operands)
        case e.Equal(left, right):
            return e.equal(restore(left, meanings), restore(right, meanings))
        case e.Less(left, right):
            return e.less(restore(left, meanings), restore(right, meanings))
        case e.Arith(op, left, right):
            return e.arith(op, restore(left, meanings), restore(right, meanings))
        case e.Ite(condition, then, otherwise):
            return e.ite(restore(condition, meanings), restore(then, meanings), restore(otherwise, meanings))
