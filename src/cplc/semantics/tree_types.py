"""Types of resolved trees: what a tree stands for where a value of some type is meant."""

from __future__ import annotations

from cplc.semantics import resolved
from cplc.semantics.types import INT, Enum, Role, Type


def enumeration(type_: Type) -> Enum | None:
    return type_ if isinstance(type_, Enum) else None


def as_number(tree: resolved.Tree, type_: Type) -> tuple[resolved.Tree, Type]:
    """Return the index of a role where a number is meant."""
    if isinstance(type_, Role) and isinstance(tree, resolved.RoleAt | resolved.LoopValue):
        return resolved.IndexOf(tree), INT
    return tree, type_


def is_value(tree: resolved.Tree) -> bool:
    """Return whether the tree denotes a value to read or write, and not a condition."""
    values = resolved.LiteralTree, resolved.ParameterValue, resolved.Payload, resolved.OwnParameter, resolved.VariableOf
    return isinstance(tree, values)
