"""Resolved ISPL models: synchronous interpreted systems with the semantics of MCMAS.

In each round all agents, including the environment, take one allowed action simultaneously. LTL formulas quantify over
all runs. `!=` is normalised to `<>`, groups to their members.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from cplc.records import dataclass
from cplc.source import Span, Spanned

Truth = bool
Datum = bool | int | str
"""A value of a variable; enumeration values are strings."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """``true`` and ``false``"""

    def __str__(self) -> str:
        return "a boolean"


@dataclass(frozen=True, slots=True)
class Enumeration:
    values: tuple[str, ...]

    def __str__(self) -> str:
        more = ", …" if len(self.values) > 6 else ""
        return f"one of `{{{', '.join(self.values[:6])}{more}}}`"


@dataclass(frozen=True, slots=True)
class Bounded:
    low: int
    high: int

    def __str__(self) -> str:
        return f"a number from {self.low} to {self.high}"


Type = Boolean | Enumeration | Bounded


def values_of(type_: Type) -> tuple[Datum, ...]:
    """Return the values of a type, in order."""
    match type_:
        case Boolean():
            return (False, True)
        case Enumeration(values):
            return values
        case Bounded(low, high):
            return tuple(range(low, high + 1))


@dataclass(frozen=True, slots=True)
class Variable:
    agent: str
    name: str
    type: Type
    is_observable: bool = False
    """Declared in `Obsvars`: all agents observe it."""
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.agent}.{self.name}"


# --- values and conditions


@dataclass(frozen=True, slots=True)
class Constant:
    value: Datum


@dataclass(frozen=True, slots=True)
class Read:
    variable: Variable


@dataclass(frozen=True, slots=True)
class Operation:
    op: Literal["+", "-", "*", "/", "&", "|", "^"]
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Complement:
    operand: Value


Value = Constant | Read | Operation | Complement


@dataclass(frozen=True, slots=True)
class Comparison:
    op: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Acts:
    """The agent takes this action in this round."""

    agent: str
    action: str


@dataclass(frozen=True, slots=True)
class Not:
    operand: Condition


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Condition, ...]


Condition = Comparison | Acts | Not | And | Or

# --- formulas


@dataclass(frozen=True, slots=True)
class Prop:
    name: str


@dataclass(frozen=True, slots=True)
class ColourAtom:
    """The agent's local state is red, that is satisfies `RedStates`, or green. Without that section all are green."""

    agent: str
    is_red: bool


@dataclass(frozen=True, slots=True)
class Negation:
    operand: Formula


@dataclass(frozen=True, slots=True)
class Connective:
    op: Literal["and", "or", "->"]
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class OnPaths:
    """Path quantifier: all paths, or some path."""

    quantifier: Literal["A", "E"]
    path: Formula


@dataclass(frozen=True, slots=True)
class Temporal:
    op: Literal["X", "F", "G"]
    operand: Formula


@dataclass(frozen=True, slots=True)
class Until:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Knows:
    """Knowledge ``K``; mutual ``GK``, common ``GCK``, distributed ``DK``; deontic ``O`` over green states."""

    op: Literal["K", "GK", "GCK", "DK", "O"]
    agents: tuple[str, ...]
    operand: Formula


@dataclass(frozen=True, slots=True)
class Enforces:
    """The agents have a strategy for a goal: `Temporal` or `Until` over state formulas."""

    agents: tuple[str, ...]
    goal: Formula


Commitment = Literal["C", "Fu", "WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS", "Tr"]


@dataclass(frozen=True, slots=True)
class Commits:
    """A commitment of MCMAS+: debtor, creditor and for `DeS` and `AsS` a third; content, or antecedent and content."""

    op: Commitment
    agents: tuple[str, ...]
    operands: tuple[Formula, ...]


Formula = Prop | ColourAtom | Negation | Connective | OnPaths | Temporal | Until | Knows | Enforces | Commits


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the direct subformulas."""
    match formula:
        case Prop() | ColourAtom():
            return ()
        case Negation(operand) | Temporal(_, operand) | Knows(_, _, operand):
            return (operand,)
        case OnPaths(_, path):
            return (path,)
        case Enforces(_, goal):
            return (goal,)
        case Connective(_, operands) | Commits(_, _, operands):
            return operands
        case Until(left, right):
            return (left, right)


def is_propositional(formula: Formula) -> bool:
    """Tell whether the formula is propositional."""
    return all(isinstance(part, Prop | ColourAtom | Negation | Connective) for part in subformulas(formula))


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield all subformulas in preorder."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


# --- the model


@dataclass(frozen=True, slots=True)
class ProtocolLine:
    condition: Condition
    actions: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Assignment:
    variable: Variable
    value: Value


@dataclass(frozen=True, slots=True)
class EvolutionLine(Spanned):
    assignments: tuple[Assignment, ...]
    condition: Condition


@dataclass(frozen=True, slots=True)
class Agent(Spanned):
    """Protocol lines may overlap; the allowed actions are the union of all applicable lines.

    ``other`` are the actions where no line applies; without any, such states are deadlocks. All actions of an
    environment without protocol are allowed.
    """

    name: str
    variables: tuple[Variable, ...]
    observed: tuple[Variable, ...]
    """Variables of the environment that the agent observes."""
    red: Condition | None
    actions: tuple[str, ...]
    protocol: tuple[ProtocolLine, ...]
    other: tuple[str, ...]
    evolution: tuple[EvolutionLine, ...]
    protocol_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def local_state(self) -> tuple[Variable, ...]:
        """Variables that the agent observes."""
        return self.variables + self.observed


@dataclass(frozen=True, slots=True)
class Proposition:
    name: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class Specification(Spanned):
    """A formula that all initial states must satisfy, with its source text.

    LTL and CTL* quantify over infinite runs only, CTL also over finite maximal runs.
    """

    logic: Literal["CTL", "LTL", "CTL*"]
    formula: Formula
    text: str


@dataclass(frozen=True, slots=True)
class Model:
    """With ``single_assignment`` each variable has its own evolution lines, otherwise each agent."""

    single_assignment: bool
    agents: tuple[Agent, ...]
    propositions: tuple[Proposition, ...]
    initial: Condition
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    fairness: tuple[Formula, ...]
    """Conditions that hold infinitely often on fair runs."""
    specifications: tuple[Specification, ...]
    initial_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    fairness_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @property
    def environment(self) -> Agent | None:
        return next((agent for agent in self.agents if agent.name == "Environment"), None)
