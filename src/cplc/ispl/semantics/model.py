"""A resolved ISPL model: interpreted systems as MCMAS understands them.

Every agent, the environment among them, does one allowed action at each step, all at once. What a formula of LTL says
is said of all runs. `!=` has become `<>`, groups have become their members.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from cplc.records import dataclass
from cplc.source import Span

Truth = bool
Datum = bool | int | str
"""A value of a variable; of an enumeration, its name."""


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
    """Whether it stands in `Obsvars`: every agent sees it."""
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
    """The agent does this action in this step."""

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
class Coloured:
    """The agent's state is red: its `RedStates` hold; green if not. Without that section all are green."""

    agent: str
    is_red: bool


@dataclass(frozen=True, slots=True)
class Negation:
    operand: Formula


@dataclass(frozen=True, slots=True)
class Connected:
    op: Literal["and", "or", "->"]
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class OnPaths:
    """On all paths, or on one."""

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
    """``K`` of one agent; ``GK`` everybody, ``GCK`` commonly, ``DK`` together; ``O`` in its green states."""

    op: Literal["K", "GK", "GCK", "DK", "O"]
    agents: tuple[str, ...]
    operand: Formula


@dataclass(frozen=True, slots=True)
class Enforces:
    """The agents have a strategy for a goal: `Temporal` or `Until` over formulas on states."""

    agents: tuple[str, ...]
    goal: Formula


Commitment = Literal["C", "Fu", "WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS", "Tr"]


@dataclass(frozen=True, slots=True)
class Commits:
    """A commitment of MCMAS+: debtor, creditor and for `DeS` and `AsS` a third; content, or antecedent and content."""

    op: Commitment
    agents: tuple[str, ...]
    operands: tuple[Formula, ...]


Formula = Prop | Coloured | Negation | Connected | OnPaths | Temporal | Until | Knows | Enforces | Commits


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas directly below."""
    match formula:
        case Prop() | Coloured():
            return ()
        case Negation(operand) | Temporal(_, operand) | Knows(_, _, operand):
            return (operand,)
        case OnPaths(_, path):
            return (path,)
        case Enforces(_, goal):
            return (goal,)
        case Connected(_, operands) | Commits(_, _, operands):
            return operands
        case Until(left, right):
            return (left, right)


def is_of_state(formula: Formula) -> bool:
    """Whether the propositions of the present state decide it."""
    return all(isinstance(part, Prop | Coloured | Negation | Connected) for part in subformulas(formula))


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield every formula in it, itself first."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


# --- the model


@dataclass(frozen=True, slots=True)
class ProtocolLine:
    condition: Condition
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    variable: Variable
    value: Value


@dataclass(frozen=True, slots=True)
class EvolutionLine:
    assignments: tuple[Assignment, ...]
    condition: Condition
    span: Span = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Agent:
    """Lines of a protocol may overlap: what one of them allows is allowed.

    ``other`` are the actions where no line applies. Where there are none, the whole system stops; an environment
    without protocol does what it likes.
    """

    name: str
    variables: tuple[Variable, ...]
    observed: tuple[Variable, ...]
    """What it sees of the environment's variables."""
    red: Condition | None
    actions: tuple[str, ...]
    protocol: tuple[ProtocolLine, ...]
    other: tuple[str, ...]
    evolution: tuple[EvolutionLine, ...]
    span: Span = field(compare=False, repr=False, kw_only=True)
    protocol_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def local_state(self) -> tuple[Variable, ...]:
        """What it knows anything by."""
        return self.variables + self.observed


@dataclass(frozen=True, slots=True)
class Proposition:
    name: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class Specification:
    """A formula that every initial state is to satisfy; ``text`` is what was written.

    Formulas of LTL and CTL* are about endless runs only, those of CTL about runs that stop, too.
    """

    logic: Literal["CTL", "LTL", "CTL*"]
    formula: Formula
    text: str
    span: Span = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Model:
    """With ``single_assignment`` each variable changes by a line of its own, else each agent by one line."""

    single_assignment: bool
    agents: tuple[Agent, ...]
    propositions: tuple[Proposition, ...]
    initial: Condition
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    fairness: tuple[Formula, ...]
    """Each holds infinitely often."""
    specifications: tuple[Specification, ...]

    @property
    def environment(self) -> Agent | None:
        return next((agent for agent in self.agents if agent.name == "Environment"), None)
