"""Enumeration of the satisfying assignments of a condition by backtracking.

Each assigned value simplifies the remaining condition, so most branches without a solution are pruned early.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cplc.logic.expressions import And, Expr, Value, conjuncts, independent_parts, is_false, partially_evaluate, reads

_Constraint = tuple[Expr, frozenset[str]]
"""A condition, and the variables it reads."""


def satisfying_assignments(domains: Mapping[str, Sequence[Value]], condition: Expr) -> Iterator[dict[str, Value]]:
    """Yield every assignment that satisfies the condition, which reads no other variables."""
    constraints = _constraints((condition,))
    if constraints is None:
        return
    named = dict.fromkeys(name for _, names in constraints for name in sorted(names))
    order = [*named, *(name for name in domains if name not in named)]
    chosen: dict[str, Value] = {}
    if not order:
        yield chosen
        return
    path = [_choices(order[0], domains, constraints)]
    while path:
        choice = next(path[-1], None)
        if choice is None:
            path.pop()
            continue
        depth = len(path)
        value, remaining = choice
        chosen[order[depth - 1]] = value
        if depth == len(order):
            yield {name: chosen[name] for name in domains}
        else:
            path.append(_choices(order[depth], domains, remaining))


def _choices(
    name: str, domains: Mapping[str, Sequence[Value]], constraints: tuple[_Constraint, ...]
) -> Iterator[tuple[Value, tuple[_Constraint, ...]]]:
    """Yield the possible values of one variable, each with the remaining constraints on the others."""
    unaffected = tuple(one for one in constraints if name not in one[1])
    concerned = [condition for condition, names in constraints if name in names]
    for value in domains[name]:
        remaining = _constraints(partially_evaluate(condition, {name: value}) for condition in concerned)
        if remaining is not None:
            yield value, unaffected + remaining


def _constraints(conditions: Iterable[Expr]) -> tuple[_Constraint, ...] | None:
    """Return the conjuncts as constraints; None if one of them is false."""
    constraints: list[_Constraint] = []
    for condition in conditions:
        for part in conjuncts(condition):
            if is_false(part):
                return None
            constraints.append((part, reads(part)))
    return tuple(constraints)


def independent_groups(
    domains: Mapping[str, Sequence[Value]], condition: Expr
) -> Iterator[tuple[tuple[str, ...], Expr]]:
    """Yield disjoint groups of variables, each with the conjuncts of the condition over it."""
    groups = independent_parts((part, reads(part)) for part in conjuncts(condition))
    for parts, names in groups:
        yield tuple(name for name in domains if name in names), And(parts)
    constrained = frozenset[str]().union(*(names for _, names in groups))
    yield from (((name,), And(())) for name in domains if name not in constrained)


def is_satisfiable(domains: Mapping[str, Sequence[Value]], condition: Expr) -> bool:
    """Return whether some assignment satisfies the condition; independent groups are solved separately."""
    return all(
        next(satisfying_assignments({name: domains[name] for name in names}, part), None) is not None
        for names, part in independent_groups(domains, condition)
    )
