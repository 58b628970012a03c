"""Expressions over the variables of a system, with constructors that simplify.

Values are Booleans, integers and words; every variable has a finite domain. Expressions are total: arithmetic applies
to numbers alone, and lowering guards every partial operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeVar

from cplc.records import dataclass

T = TypeVar("T")
Value = bool | int | str
ArithOp = Literal["+", "-", "*", "/", "%"]


def value_text(value: object) -> str:
    """Return a value as the language has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _CachedHash:
    """Caches its hash, which depends on the whole expression tree."""

    __slots__ = ("_hash",)
    _hash: int

    def _cached_hash(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash(tuple([getattr(self, name) for name in self.__slots__]))
            object.__setattr__(self, "_hash", value)
            return value


@dataclass(frozen=True, slots=True)
class Const:
    value: Value


@dataclass(frozen=True, slots=True)
class Read:
    """The current value of a variable."""

    variable: str


@dataclass(frozen=True, slots=True)
class Not(_CachedHash):
    operand: Expr

    __hash__ = _CachedHash._cached_hash


@dataclass(frozen=True, slots=True)
class And(_CachedHash):
    operands: tuple[Expr, ...]

    __hash__ = _CachedHash._cached_hash


@dataclass(frozen=True, slots=True)
class Or(_CachedHash):
    operands: tuple[Expr, ...]

    __hash__ = _CachedHash._cached_hash


@dataclass(frozen=True, slots=True)
class Equal(_CachedHash):
    left: Expr
    right: Expr

    __hash__ = _CachedHash._cached_hash


@dataclass(frozen=True, slots=True)
class Less(_CachedHash):
    """Strict order of numbers."""

    left: Expr
    right: Expr

    __hash__ = _CachedHash._cached_hash


@dataclass(frozen=True, slots=True)
class Arith(_CachedHash):
    """Arithmetic of numbers: division truncates, the remainder has the sign of the divisor, and both are 0 for 0."""

    op: ArithOp
    left: Expr
    right: Expr

    __hash__ = _CachedHash._cached_hash


@dataclass(frozen=True, slots=True)
class Ite(_CachedHash):
    """``then`` where the condition holds, ``otherwise`` elsewhere."""

    condition: Expr
    then: Expr
    otherwise: Expr

    __hash__ = _CachedHash._cached_hash


Expr = Const | Read | Not | And | Or | Equal | Less | Arith | Ite

TRUE = Const(True)
FALSE = Const(False)


def is_true(expr: Expr) -> bool:
    """Return whether it is the constant ``true`` (which equals the number 1 in Python)."""
    return isinstance(expr, Const) and expr.value is True


def is_false(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is False


def conj(operands: Iterable[Expr]) -> Expr:
    """Return the conjunction, flattened, without duplicates and constants."""
    distinct: dict[Expr, None] = {}
    for operand in operands:
        if is_false(operand):
            return FALSE
        if isinstance(operand, And):
            distinct.update(dict.fromkeys(operand.operands))
        elif not is_true(operand):
            distinct[operand] = None
    if not distinct:
        return TRUE
    return next(iter(distinct)) if len(distinct) == 1 else And(tuple(distinct))


def disj(operands: Iterable[Expr]) -> Expr:
    """Return the disjunction, flattened, without duplicates and constants."""
    distinct: dict[Expr, None] = {}
    for operand in operands:
        if is_true(operand):
            return TRUE
        if isinstance(operand, Or):
            distinct.update(dict.fromkeys(operand.operands))
        elif not is_false(operand):
            distinct[operand] = None
    if not distinct:
        return FALSE
    return next(iter(distinct)) if len(distinct) == 1 else Or(tuple(distinct))


def negate(operand: Expr) -> Expr:
    match operand:
        case Const(value):
            return FALSE if value else TRUE
        case Not(inner):
            return inner
        case _:
            return Not(operand)


def equal(left: Expr, right: Expr) -> Expr:
    if left == right:
        return TRUE
    if isinstance(left, Const) and isinstance(right, Const):
        return FALSE
    if isinstance(left, Ite):
        return ite(left.condition, equal(left.then, right), equal(left.otherwise, right))
    return Equal(left, right)


def less(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value < right.value)  # type: ignore[operator]
    return Less(left, right)


def arith(op: ArithOp, left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(arithmetic(op, int(left.value), int(right.value)))
    return Arith(op, left, right)


def arithmetic(op: ArithOp, left: int, right: int) -> int:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return _quotient(left, right) if right else 0
        case "%":
            return left % right if right else 0


def _quotient(left: int, right: int) -> int:
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def one_of(operand: Expr, values: Iterable[Value]) -> Expr:
    return disj(equal(operand, Const(value)) for value in values)


def ite(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return the case distinction; over truth values it becomes a conjunction or disjunction where it can."""
    if is_true(condition) or then == otherwise:
        return then
    if is_false(condition):
        return otherwise
    if is_true(then):
        return disj((condition, otherwise))
    if is_false(then):
        return conj((negate(condition), otherwise))
    if is_true(otherwise):
        return disj((negate(condition), then))
    if is_false(otherwise):
        return conj((condition, then))
    return Ite(condition, then, otherwise)


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Const() | Read():
            return ()
        case Not(operand):
            return (operand,)
        case And(operands) | Or(operands):
            return operands
        case Equal(left, right) | Less(left, right) | Arith(_, left, right):
            return (left, right)
        case Ite(condition, then, otherwise):
            return (condition, then, otherwise)


def length(expr: Expr, limit: int) -> int:
    """Return the number of operators and operands, or some number above the limit if it is exceeded."""
    count, stack = 0, [expr]
    while stack and count <= limit:
        count += 1
        stack.extend(children(stack.pop()))
    return count


def reads(expr: Expr) -> frozenset[str]:
    """Return the variables that occur in the expression."""
    variables: set[str] = set()
    stack = [expr]
    while stack:
        top = stack.pop()
        if isinstance(top, Read):
            variables.add(top.variable)
        elif not isinstance(top, Const):
            stack += children(top)
    return frozenset(variables)


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """Yield expressions whose conjunction is the condition, none of which is a conjunction."""
    match condition:
        case And(operands):
            for operand in operands:
                yield from conjuncts(operand)
        case Not(Or(operands)):
            for operand in operands:
                yield from conjuncts(negate(operand))
        case Const(True):
            pass
        case _:
            yield condition


def independent_parts(parts: Iterable[tuple[T, frozenset[str]]]) -> list[tuple[tuple[T, ...], frozenset[str]]]:
    """Group parts, each given with its variables, so that different groups have no variable in common."""
    groups: list[tuple[tuple[T, ...], frozenset[str]]] = []
    for part, variables in parts:
        members: tuple[T, ...] = (part,)
        apart = []
        for group in groups:
            if group[1] & variables:
                members, variables = group[0] + members, group[1] | variables
            else:
                apart.append(group)
        groups = [*apart, (members, variables)]
    return groups


def substitute(expr: Expr, meanings: Mapping[str, Expr]) -> Expr:
    """Replace variables by expressions, and simplify."""
    match expr:
        case Read(name):
            return meanings.get(name, expr)
        case Const():
            return expr
        case Not(operand):
            return negate(substitute(operand, meanings))
        case And(operands):
            return conj(substitute(operand, meanings) for operand in operands)
        case Or(operands):
            return disj(substitute(operand, meanings) for operand in operands)
        case Equal(left, right):
            return equal(substitute(left, meanings), substitute(right, meanings))
        case Less(left, right):
            return less(substitute(left, meanings), substitute(right, meanings))
        case Arith(op, left, right):
            return arith(op, substitute(left, meanings), substitute(right, meanings))
        case Ite(condition, then, otherwise):
            return ite(substitute(condition, meanings), substitute(then, meanings), substitute(otherwise, meanings))


def partially_evaluate(expr: Expr, values: Mapping[str, Value]) -> Expr:
    """Return the expression simplified for these values of variables.

    Unlike `substitute` it does not remove duplicates or constant operands: it is fast on large conditions that are
    evaluated in many states.
    """
    match expr:
        case Equal(Read(name), Const(constant)):
            if name not in values:
                return expr
            return TRUE if values[name] == constant else FALSE
        case And(operands):
            return _evaluated_operands(And, operands, values, TRUE, FALSE)
        case Or(operands):
            return _evaluated_operands(Or, operands, values, FALSE, TRUE)
        case Not(operand):
            rest = partially_evaluate(operand, values)
            return expr if rest is operand else negate(rest)
        case Read(name):
            return Const(values[name]) if name in values else expr
        case Const():
            return expr
        case _:
            return substitute(expr, {name: Const(values[name]) for name in reads(expr) if name in values})


def _evaluated_operands(
    kind: type[And] | type[Or], operands: tuple[Expr, ...], values: Mapping[str, Value], neutral: Const, settling: Const
) -> Expr:
    """Return the simplified conjunction or disjunction."""
    open_operands: list[Expr] = []
    for operand in operands:
        rest = partially_evaluate(operand, values)
        if isinstance(rest, Const):
            if rest.value is settling.value:
                return settling
        elif isinstance(rest, kind):
            open_operands += rest.operands
        else:
            open_operands.append(rest)
    return neutral if not open_operands else open_operands[0] if len(open_operands) == 1 else kind(tuple(open_operands))
