"""Oracle for LTL with past on a lasso: truth at each position, directly from the definitions.

Every part of the formula has a truth value at each position; from some position on these values repeat. A future
operator looks ahead once around, a past one is followed until it repeats, which is after one more round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import eq

from cplc.logic import formulas as f
from cplc.logic.formulas import Formula, Taken


@dataclass(frozen=True)
class Truth:
    """A truth value for each position of an endless run."""

    stem: tuple[bool, ...]
    loop: tuple[bool, ...]

    def __getitem__(self, position: int) -> bool:
        if position < len(self.stem):
            return self.stem[position]
        return self.loop[(position - len(self.stem)) % len(self.loop)]


def truth(formula: Formula, stem: int, loop: int, atom_value: Callable[[Formula, int], bool]) -> Truth:
    """Return where the formula holds on a run whose positions repeat, given what is seen at each of them."""

    def tabulate(length: int, value: Callable[[int], bool]) -> Truth:
        return Truth(tuple(map(value, range(length))), tuple(map(value, range(length, length + loop))))

    def of(operand: Formula) -> Truth:
        return truth(operand, stem, loop, atom_value)

    def ahead(operands: list[Truth], value: Callable[[int, range], bool]) -> Truth:
        """Tabulate what depends on the future: all of it occurs within the stem and one round."""
        length = max(len(operand.stem) for operand in operands)
        return tabulate(length, lambda n: value(n, range(n, max(n, length) + loop + 1)))

    def back(operands: list[Truth], value: Callable[[int], bool]) -> Truth:
        """Tabulate what depends on the past: it repeats once it has gone around."""
        return tabulate(max(len(operand.stem) for operand in operands) + loop, value)

    def window(n: int, bound: f.Bound | None, rest: range) -> Sequence[int]:
        """Return the positions before which as many steps, or ticks, are taken as the bound says."""
        if bound is None:
            return rest
        ticks, inside, count, m = bound.ticks, [], 0, n
        while count <= bound.high and m < rest.stop + (bound.high + 1) * loop:
            if count >= bound.low:
                inside.append(m)
            count += ticks is None or atom_value(ticks, m)
            m += 1
        return inside

    def until(left: Truth, right: Truth, n: int, positions: Sequence[int]) -> bool:
        return any(right[m] and all(left[k] for k in range(n, m)) for m in positions)

    if f.is_state_formula(formula) or isinstance(formula, Taken):
        return tabulate(stem, lambda n: atom_value(formula, n))
    match formula:
        case f.Shorthand(operand):
            return of(operand)
        case f.Not(operand):
            p = of(operand)
            return tabulate(len(p.stem), lambda n: not p[n])
        case f.And(operands):
            parts = [of(operand) for operand in operands]
            return ahead(parts, lambda n, _: all(part[n] for part in parts))
        case f.Or(operands):
            parts = [of(operand) for operand in operands]
            return ahead(parts, lambda n, _: any(part[n] for part in parts))
        case f.Implies(left, right):
            p, q = of(left), of(right)
            return ahead([p, q], lambda n, _: not p[n] or q[n])
        case f.Iff(left, right):
            p, q = of(left), of(right)
            return ahead([p, q], lambda n, _: eq(p[n], q[n]))
        case f.Next(operand):
            p = of(operand)
            return ahead([p], lambda n, _: p[n + 1])
        case f.Finally(operand, bound):
            p = of(operand)
            return ahead([p], lambda n, rest: any(p[m] for m in window(n, bound, rest)))
        case f.Globally(operand, bound):
            p = of(operand)
            return ahead([p], lambda n, rest: all(p[m] for m in window(n, bound, rest)))
        case f.Until(left, right, bound):
            p, q = of(left), of(right)
            return ahead([p, q], lambda n, rest: until(p, q, n, window(n, bound, rest)))
        case f.WeakUntil(left, right, bound):
            p, q, up_to = of(left), of(right), None if bound is None else replace(bound, low=0)
            return ahead(
                [p, q],
                lambda n, rest: until(p, q, n, window(n, bound, rest)) or all(p[m] for m in window(n, up_to, rest)),
            )
        case f.Release(left, right, bound):
            p, q = of(left), of(right)
            return ahead(
                [p, q], lambda n, rest: all(q[m] or any(p[k] for k in range(n, m)) for m in window(n, bound, rest))
            )
        case f.StrongRelease(left, right, None):
            p, q = of(left), of(right)
            return ahead([p, q], lambda n, rest: any(p[m] and all(q[k] for k in range(n, m + 1)) for m in rest))
        case f.StrongRelease(left, right, bound):
            return of(f.Not(f.WeakUntil(f.Not(left), f.Not(right), bound)))
        case f.Previous(operand):
            p = of(operand)
            return back([p], lambda n: n > 0 and p[n - 1])
        case f.Once(operand):
            p = of(operand)
            return back([p], lambda n: any(p[m] for m in range(n + 1)))
        case f.Historically(operand):
            p = of(operand)
            return back([p], lambda n: all(p[m] for m in range(n + 1)))
        case f.Since(left, right):
            p, q = of(left), of(right)
            return back([p, q], lambda n: any(q[m] and all(p[k] for k in range(m + 1, n + 1)) for m in range(n + 1)))
        case _:
            raise AssertionError(formula)


def holds(path: Formula, stem: int, loop: int, atom_value: Callable[[Formula, int], bool]) -> bool:
    """True if the path formula holds of the run: positions from ``stem`` on repeat after ``loop`` of them."""
    return truth(path, stem, loop, atom_value)[0]


def lassos(length: int) -> Iterator[tuple[int, int]]:
    """Yield every way to bend back a run of so many positions: its stem and its loop."""
    return ((stem, length - stem) for stem in range(length))
