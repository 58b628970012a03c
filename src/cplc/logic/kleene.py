"""Strong Kleene logic: truth values where None is unknown."""

from __future__ import annotations

from collections.abc import Iterable

Truth = bool | None


def negation(value: Truth) -> Truth:
    return None if value is None else not value


def equivalence(left: Truth, right: Truth) -> Truth:
    return None if left is None or right is None else left == right


def conjunction(values: Iterable[Truth]) -> Truth:
    result: Truth = True
    for value in values:
        if value is False:
            return False
        if value is None:
            result = None
    return result


def disjunction(values: Iterable[Truth]) -> Truth:
    return negation(conjunction(map(negation, values)))
