"""The types of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.semantics.resolved import RoleSymbol


@dataclass(frozen=True, slots=True)
class Bool:
    """A condition on one state, formulas that quantify over runs included."""


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number."""


@dataclass(frozen=True, slots=True)
class Enum:
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Data:
    """A type with any number of values, which are only copied and compared.

    That of a text in quotes has no name, and that of a number with a point is `decimal`.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Role:
    """One instance of a role."""

    role: RoleSymbol


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a block ``for each``, which names instances and is compared with keys of the same block."""

    name: str


@dataclass(frozen=True, slots=True)
class Path:
    """A path formula: temporal operators and steps below no path quantifier."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The type after a reported error, or of a macro's parameter: it fits everywhere."""


Type = Bool | Int | Enum | Data | Role | Key | Path | Unknown

BOOL = Bool()
INT = Int()
TEXT = Data("")
DECIMAL = Data("decimal")
TIME = Data("time")
DURATION = Data("duration")
PATH = Path()
UNKNOWN = Unknown()


def described(type_: Type) -> str:
    match type_:
        case Bool():
            return "a condition"
        case Int():
            return "a number"
        case Enum(members):
            return "one of " + ", ".join(f"`{member}`" for member in members)
        case Data(name):
            return f"a value of `{name}`" if name else "a text"
        case Role():
            return "a role"
        case Key(name):
            return f"a key of `for each {name}`"
        case Path():
            return "a formula about runs"
        case Unknown():
            return "anything"


def fits(actual: Type, expected: Type) -> bool:
    """Return whether the actual type is compatible with the expected one."""
    match actual, expected:
        case (Unknown(), _) | (_, Unknown()):
            return True
        case Enum(left), Enum(right):
            return set(left) == set(right)
        case Key(left), Key(right):
            return left == right
        case Data(left), Data(right):
            return left == right or {left, right} in ({"", "id"}, {"", "text"})
        case _:
            return type(actual) is type(expected)
