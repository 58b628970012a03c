"""Syntax tree of an `.ispl` file: unresolved, with a span on every node; reserved words.

Spans take no part in equality, so that printing and parsing again gives an equal tree. `and` and `or` have as many
operands as were written side by side: generated files have thousands.
"""

from __future__ import annotations

import re
from typing import Final, Generic, Literal, TypeVar

from cplc.records import dataclass
from cplc.source import Spanned
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


# --- values


@dataclass(frozen=True, slots=True)
class Number(Spanned):
    value: int


@dataclass(frozen=True, slots=True)
class Truth(Spanned):
    value: bool


@dataclass(frozen=True, slots=True)
class Ref(Spanned):
    """``x``, a variable or a value of an enumeration; ``Agent.x``, a variable of that agent."""

    owner: Name | None
    name: Name

    def __str__(self) -> str:
        return self.name.text if self.owner is None else f"{self.owner.text}.{self.name.text}"


@dataclass(frozen=True, slots=True)
class Operation(Spanned):
    """Arithmetic on numbers, ``& | ^`` on booleans."""

    op: Literal["+", "-", "*", "/", "&", "|", "^"]
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Complement(Spanned):
    """``~b``"""

    operand: Value


Value = Number | Truth | Ref | Operation | Complement

# --- conditions

Relation = Literal["=", "<>", "!=", "<", "<=", ">", ">="]
Operand = TypeVar("Operand")


@dataclass(frozen=True, slots=True)
class Comparison(Spanned):
    op: Relation
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Acts(Spanned):
    """``Action = a`` of the agent itself; ``Agent.Action = a``."""

    agent: Name | None
    action: Name


@dataclass(frozen=True, slots=True)
class Not(Generic[Operand], Spanned):
    operand: Operand


@dataclass(frozen=True, slots=True)
class Junction(Generic[Operand], Spanned):
    """``p and q and r``; ``p or q``."""

    op: Literal["and", "or"]
    operands: tuple[Operand, ...]


Condition = Comparison | Acts | Not["Condition"] | Junction["Condition"]

# --- formulas

Logic = Literal["CTL", "LTL", "CTL*"]
Prefix = Literal["AG", "EG", "AX", "EX", "AF", "EF", "A", "E", "X", "F", "G"]
Colour = Literal["RedStates", "GreenStates"]
Knowledge = Literal["K", "GK", "GCK", "DK", "O"]
Commitment = Literal["C", "Fu", "WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS", "Tr", "Tp", "Tc"]


@dataclass(frozen=True, slots=True)
class Prop(Spanned):
    name: Name


@dataclass(frozen=True, slots=True)
class ColourAtom(Spanned):
    """``Agent.RedStates``"""

    agent: Name
    colour: Colour


@dataclass(frozen=True, slots=True)
class Unary(Spanned):
    """``AG p``; ``A`` over a path formula; ``X p`` within it."""

    op: Prefix
    operand: Formula


@dataclass(frozen=True, slots=True)
class Binary(Spanned):
    op: Literal["U", "->"]
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Knows(Spanned):
    """``K(agent, p)``, ``GK(group, p)``"""

    op: Knowledge
    who: Name
    operand: Formula


@dataclass(frozen=True, slots=True)
class Enforces(Spanned):
    """``<group> F p``"""

    group: Name
    goal: Formula


@dataclass(frozen=True, slots=True)
class Commits(Spanned):
    """``SCC(debtor, creditor, p, q)`` and the like, of MCMAS+; ``degree`` is the ``>= N`` of ``Tp`` and ``Tc``."""

    op: Commitment
    agents: tuple[Name, ...]
    operands: tuple[Formula, ...]
    degree: tuple[Relation, int] | None = None


Formula = (
    Prop | ColourAtom | Not["Formula"] | Junction["Formula"] | Unary | Binary | Knows | Enforces | Commits
)  # fmt: skip

# --- declarations


@dataclass(frozen=True, slots=True)
class Boolean(Spanned):
    pass


@dataclass(frozen=True, slots=True)
class Enumeration(Spanned):
    values: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Bounded(Spanned):
    low: int
    high: int


Type = Boolean | Enumeration | Bounded


@dataclass(frozen=True, slots=True)
class Variable(Spanned):
    name: Name
    type: Type


@dataclass(frozen=True, slots=True)
class ProtocolLine(Spanned):
    """The actions that a condition allows; ``Other`` has none."""

    condition: Condition | None
    actions: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Assignment(Spanned):
    variable: Name
    value: Value


@dataclass(frozen=True, slots=True)
class EvolutionLine(Spanned):
    assignments: tuple[Assignment, ...]
    condition: Condition


@dataclass(frozen=True, slots=True)
class Agent(Spanned):
    name: Name
    obsvars: tuple[Variable, ...]
    lobsvars: tuple[Name, ...]
    variables: tuple[Variable, ...]
    red: Condition | None
    actions: tuple[Name, ...]
    protocol: tuple[ProtocolLine, ...]
    evolution: tuple[EvolutionLine, ...]

    @property
    def is_environment(self) -> bool:
        return self.name.text == ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Proposition(Spanned):
    """``name if condition``"""

    name: Name
    condition: Condition


@dataclass(frozen=True, slots=True)
class Group(Spanned):
    name: Name
    members: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Specification(Spanned):
    """A formula of the section `Formulae`."""

    logic: Logic
    formula: Formula


@dataclass(frozen=True, slots=True)
class File(Spanned):
    semantics: Literal["MA", "SA"] | None
    agents: tuple[Agent, ...]
    propositions: tuple[Proposition, ...]
    initial: Condition | None
    groups: tuple[Group, ...]
    fairness: tuple[Formula, ...]
    specifications: tuple[Specification, ...]
