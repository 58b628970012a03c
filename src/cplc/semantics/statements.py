"""Resolved declarations: all names are resolved, once for a whole family, and nothing is instantiated."""

from __future__ import annotations

from fractions import Fraction

from cplc.records import dataclass
from cplc.semantics.resolved import (
    AgentSymbol,
    AllOf,
    Binder,
    ClaimSymbol,
    CommitmentSymbol,
    EveryInstance,
    FactSymbol,
    Instance,
    MessageSymbol,
    ParameterSymbol,
    PartSymbol,
    RoleSymbol,
    RoleTree,
    Signature,
    Tree,
)
from cplc.source import Span
from cplc.syntax import ast


@dataclass(frozen=True, slots=True)
class Operation:
    verb: str
    commitment: Instance
    target: Instance | None
    retaining: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Assignment:
    role: RoleTree
    variable: str
    value: Tree
    span: Span


@dataclass(frozen=True, slots=True)
class Message:
    symbol: MessageSymbol
    sender: RoleTree
    receiver: RoleTree
    guards: tuple[Tree, ...]
    begins: bool
    """It has no ``after`` clause: the protocol may begin with it."""
    operations: tuple[Operation, ...]
    updates: tuple[Assignment, ...]
    receipt: tuple[Assignment, ...]
    resets: tuple[Instance, ...]
    restarts: bool
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Choice:
    members: tuple[Instance, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Fact:
    symbol: FactSymbol
    meaning: Tree


@dataclass(frozen=True, slots=True)
class Commitment:
    symbol: CommitmentSymbol
    debtor: RoleTree
    creditor: RoleTree
    antecedent: Tree
    consequent: Tree
    within: Tree | None
    expires: Tree | None


@dataclass(frozen=True, slots=True)
class Claim:
    symbol: ClaimSymbol
    maker: RoleTree
    addressee: RoleTree
    content: Tree


@dataclass(frozen=True, slots=True)
class Channel:
    sender: RoleTree | AllOf
    receiver: RoleTree | AllOf
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    binder: Binder
    body: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Part:
    symbol: PartSymbol
    roles: tuple[tuple[RoleSymbol, RoleTree | AllOf, Span], ...]
    values: tuple[tuple[ParameterSymbol, Tree, Span], ...]
    conditions: tuple[Tree, ...]
    """The start condition of the part."""
    follows: bool
    """True if it has an ``after`` clause; otherwise it begins with the enclosing protocol."""


@dataclass(frozen=True, slots=True)
class Property:
    node: ast.Property
    assuming: tuple[RoleTree | AllOf | None, ...]
    """None stands for ``all``."""
    formula: Tree


@dataclass(frozen=True, slots=True)
class Check:
    node: ast.Check


@dataclass(frozen=True, slots=True)
class Fairness:
    condition: Tree
    span: Span


@dataclass(frozen=True, slots=True)
class Goal:
    condition: Tree
    span: Span


@dataclass(frozen=True, slots=True)
class Worth:
    messages: Instance | EveryInstance
    amount: Fraction
    span: Span


@dataclass(frozen=True, slots=True)
class Event:
    message: Instance
    payload: tuple[Tree, ...] | None
    """None for whatever is sent with it."""
    low: Fraction
    high: Fraction
    span: Span


@dataclass(frozen=True, slots=True)
class Belief:
    role: RoleTree
    condition: Tree
    events: tuple[Event, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Decision:
    messages: tuple[Instance | EveryInstance, ...]
    condition: Tree
    span: Span


@dataclass(frozen=True, slots=True)
class Each:
    binder: Binder
    body: tuple[AgentItem, ...]


AgentItem = Goal | Worth | Belief | Decision | Each


@dataclass(frozen=True, slots=True)
class Agent:
    symbol: AgentSymbol
    roles: tuple[RoleTree | AllOf, ...]
    items: tuple[AgentItem, ...]


@dataclass(frozen=True, slots=True)
class Analyze:
    node: ast.Analyze
    agent: Instance


Body = (
    Message | Choice | Fact | Commitment | Claim | Channel | Loop | Part | Property | Check | Fairness
    | Agent | Analyze
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Template:
    signature: Signature
    body: tuple[Body, ...]
