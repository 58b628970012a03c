"""Resolved protocols, the typed model with families: all names are resolved, nothing is instantiated.

Symbols represent declarations and are compared by identity. Trees represent expressions; loop variables, the
parameters of protocols and indices are still in them, quantifiers and arithmetic too, macros are not. A `Template` has
the clauses of a protocol; its instances are in a `cplc.semantics.model.CheckedModel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from fractions import Fraction
from typing import Literal

from cplc.language.groups import Answerable
from cplc.records import dataclass
from cplc.semantics.terms import ConditionalModality, Op, Value
from cplc.semantics.types import Type
from cplc.source import Span
from cplc.syntax import ast

# --- blocks -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FamilyDomain:
    role: RoleSymbol
    owner: tuple[PartSymbol, ...] = ()
    indices: tuple[Tree, ...] = ()
    """The family of a used part's role, where ``owner`` is not empty."""


@dataclass(frozen=True, slots=True)
class NumberDomain:
    low: Tree
    high: Tree


@dataclass(frozen=True, slots=True)
class KeyDomain:
    """The keys of a block ``for each``: any number of values, of which the instances have some."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Binder:
    """The variable of a loop or quantifier, or the key of a block."""

    name: str
    domain: FamilyDomain | NumberDomain | KeyDomain
    span: Span

    @property
    def is_key(self) -> bool:
        return isinstance(self.domain, KeyDomain)


Chain = tuple[Binder, ...]
"""The loops around a declaration, outermost first."""

# --- symbols ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranged:
    """A declared type: its bounds are trees, as they may depend on parameters."""

    type: Type
    low: Tree | None = None
    high: Tree | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ParameterSymbol:
    name: str
    declared: Ranged
    default: Tree | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class VariableSymbol:
    name: str
    declared: Ranged
    initial: Tree | None
    span: Span
    chain: Chain = ()


@dataclass(frozen=True, slots=True, eq=False)
class RoleSymbol:
    name: str
    size: Tree | None
    variables: dict[str, VariableSymbol]
    span: Span
    is_record: bool = False

    @property
    def is_family(self) -> bool:
        return self.size is not None


@dataclass(frozen=True, slots=True, eq=False)
class MessageSymbol:
    name: str
    chain: Chain
    parameters: Mapping[str, Ranged]
    node: ast.Message
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class FactSymbol:
    name: str
    chain: Chain
    node: ast.Fact
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class CommitmentSymbol:
    name: str
    chain: Chain
    node: ast.Commitment
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class ClaimSymbol:
    name: str
    chain: Chain
    node: ast.Claim
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class PartSymbol:
    name: str
    chain: Chain
    signature: Signature
    node: ast.Use
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class AgentSymbol:
    """The symbol of an `agent`."""

    name: str
    chain: Chain
    node: ast.Agent
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class MacroSymbol:
    name: str
    node: ast.Define
    home: Signature | None
    """The protocol it stands in; None at the top of a file."""
    unit: int
    """The position of its file among those read."""
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class TypeSymbol:
    """An enumeration with a name."""

    name: str
    node: ast.TypeDefinition
    span: Span


Indexed = MessageSymbol | FactSymbol | CommitmentSymbol | ClaimSymbol | PartSymbol | AgentSymbol
Symbol = RoleSymbol | Indexed


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The declarations of a protocol."""

    name: str
    unit: int
    node: ast.Protocol
    parameters: dict[str, ParameterSymbol]
    symbols: dict[str, Symbol]
    macros: dict[str, MacroSymbol]
    blocks: dict[int, Binder]
    keys: dict[str, Binder]
    """The binder of each `for` and `for each`, by the identity of its node; of the latter also by its key."""
    types: dict[str, TypeSymbol] = field(default_factory=dict)

    @property
    def roles(self) -> list[RoleSymbol]:
        return [symbol for symbol in self.symbols.values() if isinstance(symbol, RoleSymbol)]


# --- trees --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LiteralTree:
    """A value as it was written."""

    value: Value


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """A parameter of the protocol."""

    name: str


@dataclass(frozen=True, slots=True)
class LoopValue:
    """The variable of a loop or quantifier: a number or a role instance."""

    binder: Binder


@dataclass(frozen=True, slots=True)
class RoleAt:
    """A single role, or one instance of a family; of a used part where ``owner`` is not empty."""

    role: RoleSymbol
    index: Tree | None
    span: Span
    owner: tuple[PartSymbol, ...] = ()
    owner_indices: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every instance of a role."""

    role: RoleSymbol
    span: Span
    owner: tuple[PartSymbol, ...] = ()
    owner_indices: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexOf:
    """The number of a role instance in its family."""

    role: RoleTree


@dataclass(frozen=True, slots=True)
class SameRole:
    left: RoleTree
    right: RoleTree


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of what was declared in loops: the parts on the way to it and all indices, outermost first."""

    symbol: Indexed
    owner: tuple[PartSymbol, ...]
    indices: tuple[Tree, ...]
    is_current: bool
    """No index was written: it is the instance of the loops around."""
    span: Span


@dataclass(frozen=True, slots=True)
class EveryInstance:
    """All messages of a family that is named without indices."""

    symbol: MessageSymbol
    owner: tuple[PartSymbol, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Event:
    kind: Literal["received", "sent", "inflight"]
    message: Instance
    span: Span


@dataclass(frozen=True, slots=True)
class Payload:
    message: Instance
    parameter: str
    span: Span


@dataclass(frozen=True, slots=True)
class OwnParameter:
    """A parameter of the message in whose clauses it stands."""

    name: str


@dataclass(frozen=True, slots=True)
class VariableOf:
    role: RoleTree
    name: str
    span: Span
    key: Tree | None = None


@dataclass(frozen=True, slots=True)
class FactAt:
    fact: Instance
    span: Span


@dataclass(frozen=True, slots=True)
class Lifecycle:
    commitment: Instance
    states: frozenset[str]
    view: RoleTree | None
    span: Span


@dataclass(frozen=True, slots=True)
class AgeOf:
    """``age(c)``: ticks since it was created."""

    commitment: Instance
    span: Span


@dataclass(frozen=True, slots=True)
class IsTerminal:
    span: Span


@dataclass(frozen=True, slots=True)
class Apply:
    """``&`` and ``|`` take any number of operands."""

    op: Op
    operands: tuple[Tree, ...]
    span: Span
    bound: Tree | None = None
    in_ticks: bool = False
    low: Tree | None = None


@dataclass(frozen=True, slots=True)
class Quantified:
    kind: Literal["forall", "exists"]
    binder: Binder
    body: Tree
    span: Span


@dataclass(frozen=True, slots=True)
class OverPaths:
    quantifier: Literal["A", "E"]
    path: Tree
    along: Tree | None = None
    speaks_of_idling: bool = False
    """``along`` names the idle step, and so decides whether it is allowed; otherwise it is."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a commitment or of a channel of promises."""

    roles: tuple[RoleTree | AllOf, ...]
    answerable: Answerable
    span: Span

    @property
    def is_group(self) -> bool:
        return len(self.roles) != 1 or isinstance(self.roles[0], AllOf)


@dataclass(frozen=True, slots=True)
class Social:
    modality: Literal["C", "Fu", "SC", "SCc"]
    between: tuple[Side, Side] | Instance
    """The debtor and the creditor, or the one commitment."""
    body: Tree
    span: Span
    trigger: Tree | None = None


@dataclass(frozen=True, slots=True)
class Conditional:
    """Conditional commitments, their fulfilment and what ends them."""

    modality: ConditionalModality
    between: tuple[Side, Side] | Instance
    """The debtor and the creditor, or the one commitment."""
    other: RoleTree | Instance | None
    """The successor of a delegation or assignment: a role, or a commitment."""
    antecedent: Tree
    consequent: Tree
    span: Span


@dataclass(frozen=True, slots=True)
class Knowledge:
    modality: Literal["K", "EK", "DK", "CK"]
    group: tuple[RoleTree | AllOf, ...]
    body: Tree
    span: Span


@dataclass(frozen=True, slots=True)
class Does:
    """The step taken; ``verb`` as in `cplc.semantics.terms`."""

    verb: str
    subject: Instance | RoleTree | None
    """None for a tick and for the idle step."""
    other: Instance | None
    by_message: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Strategic:
    group: tuple[RoleTree | AllOf, ...]
    goal: Apply
    span: Span


RoleTree = RoleAt | LoopValue
Tree = (
    LiteralTree | ParameterValue | LoopValue | RoleAt | IndexOf | SameRole | Event | Payload | OwnParameter | VariableOf
    | FactAt | Lifecycle | AgeOf | IsTerminal | Apply | Quantified | OverPaths | Social | Conditional | Knowledge
    | Does | Strategic
)  # fmt: skip


TRUE = LiteralTree(True)
FALSE = LiteralTree(False)


def counts_ticks(tree: Tree) -> bool:
    """Return whether a bound in it counts ticks."""
    return any(isinstance(node, Apply) and node.in_ticks for node in (tree, *nodes(tree)))


_SYMBOLS = (
    Binder,
    RoleSymbol,
    MessageSymbol,
    FactSymbol,
    CommitmentSymbol,
    ClaimSymbol,
    PartSymbol,
    AgentSymbol,
    ParameterSymbol,
    VariableSymbol,
)


def children(node: object) -> Iterator[object]:
    """Yield the children of a declaration or tree; symbols are leaves."""
    if is_dataclass(node) and not isinstance(node, (*_SYMBOLS, Span, type)):
        yield from (getattr(node, one.name) for one in fields(node) if one.name != "node")


def nodes(node: object) -> Iterator[object]:
    """Yield all that a declaration or tree is made of, without what symbols stand for."""
    for child in node if isinstance(node, tuple) else children(node):
        yield child
        yield from nodes(child)


# --- declarations -------------------------------------------------------------------------------


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
    key: Tree | None = None


@dataclass(frozen=True, slots=True)
class Message:
    symbol: MessageSymbol
    sender: RoleTree
    receivers: tuple[RoleTree | AllOf, ...]
    guards: tuple[Tree, ...]
    begins: bool
    """It has no ``after`` clause: the protocol may begin with it."""
    operations: tuple[Operation, ...]
    updates: tuple[Assignment, ...]
    receipt: tuple[Assignment, ...]
    resets: tuple[Instance, ...]
    restarts: bool
    repeatable: bool
    request: Instance | None = None


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
    debtor: Side
    creditor: Side
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
    sender: RoleTree | AllOf | None
    receiver: RoleTree | AllOf | None
    """Both are None for all channels."""
    is_unordered: bool
    within: Tree | None
    is_lossy: bool
    losses: Tree | None
    """The most losses of a message in a row; None for any number."""
    is_duplicating: bool
    duplicates: Tree | None
    """The most duplicates of a sending; None for one."""
    places: Tree | None
    """The length of its queue; None for one place."""
    span: Span


@dataclass(frozen=True, slots=True)
class Power:
    """The operation that a third party may perform."""

    verb: str
    commitment: Instance
    span: Span


@dataclass(frozen=True, slots=True)
class Empower:
    roles: tuple[RoleTree | AllOf, ...]
    powers: tuple[Power, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    binder: Binder
    body: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """A variable that a role has for each key."""

    symbol: VariableSymbol
    role: RoleSymbol


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
class Assumed:
    subject: RoleTree | AllOf | Instance | EveryInstance | None
    """Roles or messages; None stands for ``all`` roles."""
    within: Tree | None
    span: Span


@dataclass(frozen=True, slots=True)
class Property:
    node: ast.Property
    assuming: tuple[Assumed, ...]
    formula: Tree


@dataclass(frozen=True, slots=True)
class Check:
    node: ast.Check
    assuming: tuple[Assumed, ...]


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
class BeliefEvent:
    message: Instance | None
    """None for silence."""
    payload: tuple[Tree, ...] | None
    """None for whatever is sent with it."""
    low: Fraction
    high: Fraction
    span: Span


@dataclass(frozen=True, slots=True)
class Belief:
    role: RoleTree
    condition: Tree
    events: tuple[BeliefEvent, ...]
    within: Tree | None
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
    assuming: tuple[Assumed, ...]


Body = (
    Message | Choice | Fact | Commitment | Claim | Channel | Empower | Loop | Part | Property | Check | Fairness
    | Agent | Analyze | Memory
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Template:
    signature: Signature
    body: tuple[Body, ...]
