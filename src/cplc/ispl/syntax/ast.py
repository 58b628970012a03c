"""Syntax tree of an `.ispl` file: unresolved, with a span on every node; reserved words.

Spans take no part in equality, so that printing and parsing again gives an equal tree. `and` and `or` have as many
operands as were written side by side: generated files have thousands.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Final, Generic, Literal, TypeVar

from cplc.records import dataclass
from cplc.source import Span
from cplc.syntax.ast_expressions import Name

# --- Reserved words and sections of ISPL


SECTIONS: Final = (
    "Obsvars", "Vars", "RedStates", "Protocol", "Evolution",
    "Evaluation", "InitStates", "Groups", "Fairness", "Formulae",
)  # fmt: skip
"""Sections that end with `end` and their name."""

LINES: Final = ("Semantics", "Lobsvars", "Actions")
"""Sections that end with `;`."""

IN_AGENT: Final = ("Obsvars", "Lobsvars", "Vars", "RedStates", "Actions", "Protocol", "Evolution")
"""Sections of an agent, in order."""

IN_FILE: Final = ("Semantics", "Agent", "Evaluation", "InitStates", "Groups", "Fairness", "Formulae")
"""Sections of a file, in order."""

COLONS: Final = frozenset({"Obsvars", "Vars", "RedStates", "Protocol", "Evolution"})
"""Sections whose name is followed by `:`."""

ENVIRONMENT: Final = "Environment"
ACTION: Final = "Action"

MAX_NAME_LENGTH: Final = 200
"""Maximum length of a name in characters; messages quote names."""

_LAST: Final = re.compile(r"(?:[A-Za-z_0-9]+|\S)\Z")


def last_word(text: str) -> tuple[int, int]:
    """Return the range of the last word or sign of a text, truncated to its end."""
    end = len(text.rstrip())
    start = max(0, end - MAX_NAME_LENGTH)
    match = _LAST.search(text[start:end])
    return (start + match.start(), end) if match else (0, 1)


OPERATORS: Final = frozenset(
    {"AG", "EG", "AX", "EX", "AF", "EF", "A", "E", "X", "F", "G", "U", "K", "GK", "GCK", "DK", "O", "LTL", "and", "or"}
)
RESERVED: Final = (
    OPERATORS
    | {*SECTIONS, *LINES, "Agent", ACTION, ENVIRONMENT, "GreenStates", "Other", "MA", "SA", "if", "end"}
    | {"MultiAssignment", "SingleAssignment", "boolean", "true", "false"}
)
"""Words that cannot be names."""


__all__ = [
    "Name", "Number", "Truth", "Ref", "Operation", "Complement", "Value", "Comparison", "Acts", "Not", "Junction",
    "Condition", "Prop", "ColourAtom", "Unary", "Binary", "Knows", "Enforces", "Commits", "Formula", "Boolean",
    "Enumeration", "Bounded", "Type", "Variable", "ProtocolLine", "Assignment", "EvolutionLine", "Agent",
    "Proposition", "Group", "Specification", "File",
]  # fmt: skip


def _span() -> Span:
    """Declare the span of a node."""
    return field(compare=False, repr=False, kw_only=True)  # type: ignore[no-any-return]


# --- values


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Ref:
    """``x``, a variable or a value of an enumeration; ``Agent.x``, a variable of that agent."""

    owner: Name | None
    name: Name
    span: Span = _span()

    def __str__(self) -> str:
        return self.name.text if self.owner is None else f"{self.owner.text}.{self.name.text}"


@dataclass(frozen=True, slots=True)
class Operation:
    """Arithmetic on numbers, ``& | ^`` on booleans."""

    op: Literal["+", "-", "*", "/", "&", "|", "^"]
    left: Value
    right: Value
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Complement:
    """``~b``"""

    operand: Value
    span: Span = _span()


Value = Number | Truth | Ref | Operation | Complement

# --- conditions

Relation = Literal["=", "<>", "!=", "<", "<=", ">", ">="]
Operand = TypeVar("Operand")


@dataclass(frozen=True, slots=True)
class Comparison:
    op: Relation
    left: Value
    right: Value
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Acts:
    """``Action = a`` of the agent itself; ``Agent.Action = a``."""

    agent: Name | None
    action: Name
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not(Generic[Operand]):
    operand: Operand
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Junction(Generic[Operand]):
    """``p and q and r``; ``p or q``."""

    op: Literal["and", "or"]
    operands: tuple[Operand, ...]
    span: Span = _span()


Condition = Comparison | Acts | Not["Condition"] | Junction["Condition"]

# --- formulas

Logic = Literal["CTL", "LTL", "CTL*"]
Prefix = Literal["AG", "EG", "AX", "EX", "AF", "EF", "A", "E", "X", "F", "G"]
Colour = Literal["RedStates", "GreenStates"]
Knowledge = Literal["K", "GK", "GCK", "DK", "O"]
Commitment = Literal["C", "Fu", "WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS", "Tr", "Tp", "Tc"]


@dataclass(frozen=True, slots=True)
class Prop:
    name: Name
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ColourAtom:
    """``Agent.RedStates``"""

    agent: Name
    colour: Colour
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Unary:
    """``AG p``; ``A`` over a path formula; ``X p`` within it."""

    op: Prefix
    operand: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    op: Literal["U", "->"]
    left: Formula
    right: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Knows:
    """``K(agent, p)``, ``GK(group, p)``"""

    op: Knowledge
    who: Name
    operand: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Enforces:
    """``<group> F p``"""

    group: Name
    goal: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Commits:
    """``SCC(debtor, creditor, p, q)`` and the like, of MCMAS+; ``degree`` is the ``>= N`` of ``Tp`` and ``Tc``."""

    op: Commitment
    agents: tuple[Name, ...]
    operands: tuple[Formula, ...]
    degree: tuple[Relation, int] | None = None
    span: Span = _span()


Formula = (
    Prop | ColourAtom | Not["Formula"] | Junction["Formula"] | Unary | Binary | Knows | Enforces | Commits
)  # fmt: skip

# --- declarations


@dataclass(frozen=True, slots=True)
class Boolean:
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Enumeration:
    values: tuple[Name, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Bounded:
    low: int
    high: int
    span: Span = _span()


Type = Boolean | Enumeration | Bounded


@dataclass(frozen=True, slots=True)
class Variable:
    name: Name
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ProtocolLine:
    """The actions that a condition allows; ``Other`` has none."""

    condition: Condition | None
    actions: tuple[Name, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Assignment:
    variable: Name
    value: Value
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class EvolutionLine:
    assignments: tuple[Assignment, ...]
    condition: Condition
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Agent:
    name: Name
    obsvars: tuple[Variable, ...]
    lobsvars: tuple[Name, ...]
    variables: tuple[Variable, ...]
    red: Condition | None
    actions: tuple[Name, ...]
    protocol: tuple[ProtocolLine, ...]
    evolution: tuple[EvolutionLine, ...]
    span: Span = _span()

    @property
    def is_environment(self) -> bool:
        return self.name.text == ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Proposition:
    """``name if condition``"""

    name: Name
    condition: Condition
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Group:
    name: Name
    members: tuple[Name, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Specification:
    """A formula of the section `Formulae`."""

    logic: Logic
    formula: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class File:
    semantics: Literal["MA", "SA"] | None
    agents: tuple[Agent, ...]
    propositions: tuple[Proposition, ...]
    initial: Condition | None
    groups: tuple[Group, ...]
    fairness: tuple[Formula, ...]
    specifications: tuple[Specification, ...]
    span: Span = _span()
