"""All ways to give variables values such that a condition holds, one after the other.

Each value that is tried simplifies what is left of the condition, so that most of those that lead nowhere are never
gone into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cplc.logic.expressions import And, Expr, Not, Or, Value, is_false, is_true, negate, partially_evaluate, reads

_Asked = tuple[Expr, frozenset[str]]
"""A condition, and what it reads."""


def satisfying_assignments(domains: Mapping[str, Sequence[Value]], condition: Expr) -> Iterator[dict[str, Value]]:
    """Yield every assignment under which the condition, which reads nothing else, holds."""
    asked = _asked((condition,))
    if asked is None:
        return
    named = dict.fromkeys(name for _, names in asked for name in sorted(names))
    order = [*named, *(name for name in domains if name not in named)]
    chosen: dict[str, Value] = {}
    if not order:
        yield chosen
        return
    path = [_choices(order[0], domains, asked)]
    while path:
        found = next(path[-1], None)
        if found is None:
            path.pop()
            continue
        depth = len(path)
        value, left = found
        chosen[order[depth - 1]] = value
        if depth == len(order):
            yield {name: chosen[name] for name in domains}
        else:
            path.append(_choices(order[depth], domains, left))


def _choices(
    name: str, domains: Mapping[str, Sequence[Value]], asked: tuple[_Asked, ...]
) -> Iterator[tuple[Value, tuple[_Asked, ...]]]:
    """Yield the values that one variable may have, each with what is asked of the others then."""
    others = tuple(one for one in asked if name not in one[1])
    concerned = [condition for condition, names in asked if name in names]
    for value in domains[name]:
        left = _asked(partially_evaluate(condition, {name: value}) for condition in concerned)
        if left is not None:
            yield value, others + left


def _asked(conditions: Iterable[Expr]) -> tuple[_Asked, ...] | None:
    """Return what is asked, taken apart; None if it cannot be."""
    found: list[_Asked] = []
    for condition in conditions:
        for part in conjuncts(condition):
            if is_false(part):
                return None
            if not is_true(part):
                found.append((part, reads(part)))
    return tuple(found)


def conjuncts(expr: Expr) -> Iterator[Expr]:
    """Yield conditions that hold together where this one does."""
    match expr:
        case And(operands):
            for operand in operands:
                yield from conjuncts(operand)
        case Not(Or(operands)):
            for operand in operands:
                yield from conjuncts(negate(operand))
        case _:
            yield expr


def independent(domains: Mapping[str, Sequence[Value]], condition: Expr) -> Iterator[tuple[tuple[str, ...], Expr]]:
    """Yield groups of variables, each with what the condition says of it alone; together that is all it says."""
    groups: list[tuple[set[str], list[Expr]]] = []
    for part in conjuncts(condition):
        names, parts = set(reads(part)), [part]
        apart = []
        for group in groups:
            if group[0] & names:
                names |= group[0]
                parts = group[1] + parts
            else:
                apart.append(group)
        groups = [*apart, (names, parts)]
    for names, parts in groups:
        yield tuple(name for name in domains if name in names), And(tuple(parts))
    said = set().union(*(names for names, _ in groups))
    yield from (((name,), And(())) for name in domains if name not in said)


def is_satisfiable(domains: Mapping[str, Sequence[Value]], condition: Expr) -> bool:
    """Whether the condition holds under some assignment; what it says of different variables is looked at apart."""
    return all(
        next(satisfying_assignments({name: domains[name] for name in names}, part), None) is not None
        for names, part in independent(domains, condition)
    )
