"""The syntax tree of a `.cpl` file: what was written, nothing resolved, a span on every node.

Spans take no part in equality, so that printing and parsing again gives an equal tree.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Literal

from cplc.records import dataclass
from cplc.source import Spanned
from cplc.syntax.ast_expressions import *
from cplc.syntax.ast_expressions import Domain, Duration, Expr, Joining, Name, Party, Range, Ref

# --- types ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoolType(Spanned):
    pass


@dataclass(frozen=True, slots=True)
class EnumType(Spanned):
    members: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class DataType(Spanned):
    """``id``, ``text``, ``money(USD)``, ``decimal(2)``, ``time`` or ``duration``: any number of values."""

    name: str


@dataclass(frozen=True, slots=True)
class NamedType(Spanned):
    """``Colour`` or ``shades.Colour``: an enumeration by the name that a ``define`` gave it."""

    target: Ref


Type = BoolType | Range | EnumType | DataType | NamedType


# --- declarations -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter(Spanned):
    """A parameter of a protocol (with a default) or of a message (without)."""

    name: Name
    type: Type
    default: Expr | None = None


@dataclass(frozen=True, slots=True)
class RoleVariable(Spanned):
    name: Name
    type: Type
    initial: Expr | None
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Role(Spanned):
    """``role Cus[n] { var ... }`` or ``record Stock { var ... }``; ``size`` is None for a single role."""

    name: Name
    size: Expr | None
    variables: tuple[RoleVariable, ...]
    is_record: bool = False
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Operation(Spanned):
    """``create goods``, ``delegate a to b retaining``, ``justify p with q``; the verb is not yet checked."""

    verb: Name
    subject: Ref
    target: Ref | None = None
    retaining: bool = False
    joined: Joining = "to"


@dataclass(frozen=True, slots=True)
class Assignment(Spanned):
    variable: Ref
    value: Expr


@dataclass(frozen=True, slots=True)
class After(Spanned):
    condition: Expr


@dataclass(frozen=True, slots=True)
class Unless(Spanned):
    condition: Expr


@dataclass(frozen=True, slots=True)
class If(Spanned):
    condition: Expr


@dataclass(frozen=True, slots=True)
class Means(Spanned):
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Set(Spanned):
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class OnReceipt(Spanned):
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Resets(Spanned):
    messages: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Restart(Spanned):
    pass


@dataclass(frozen=True, slots=True)
class Repeatable(Spanned):
    pass


ReplyClause = If | Means | Set | OnReceipt


@dataclass(frozen=True, slots=True)
class Reply(Spanned):
    """``taken(stock) if stock > 0 set stock := stock - 1``: a message of a record, with values of its variables."""

    name: Name
    fields: tuple[Name, ...]
    clauses: tuple[ReplyClause, ...]


@dataclass(frozen=True, slots=True)
class Returns(Spanned):
    """``returns taken if stock > 0 else refused``: the first reply whose condition holds."""

    replies: tuple[Reply, ...]


Condition = After | Unless | If
Clause = Condition | Means | Set | OnReceipt | Resets | Restart | Repeatable | Returns


@dataclass(frozen=True, slots=True)
class Message(Spanned):
    """``A -> B, C : name(parameters) clauses``."""

    name: Name
    sender: Ref
    receivers: tuple[Ref, ...]
    parameters: tuple[Parameter, ...]
    clauses: tuple[Clause, ...]
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Choice(Spanned):
    members: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Fact(Spanned):
    name: Name
    value: Expr
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Commitment(Spanned):
    """``commitment g = C(debtor, creditor, antecedent, consequent) within k expires k revocable``."""

    name: Name
    debtor: Party
    creditor: Party
    antecedent: Expr
    consequent: Expr
    within: Expr | None = None
    expires: Expr | None = None
    revocable: bool = False
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Claim(Spanned):
    """``claim p = claim(maker, addressee, content)``."""

    name: Name
    maker: Ref
    addressee: Ref
    content: Expr
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Clock(Spanned):
    """``clock tick = 1 h``: the length of a tick, in the model and in logs."""

    length: Duration


@dataclass(frozen=True, slots=True)
class Channel(Spanned):
    """``channel i -> j fifo 3 lossy(2)``; all channels without ``i -> j``."""

    sender: Ref | None
    receiver: Ref | None
    is_unordered: bool = False
    within: Expr | None = None
    """The most ticks that a message is in flight."""
    is_lossy: bool = False
    losses: Expr | None = None
    """The most losses of a message in a row; None for any number."""
    is_duplicating: bool = False
    duplicates: Expr | None = None
    """The most duplicates of a sending; None for one."""
    places: Expr | None = None
    """The length of its queue; None for one place."""


@dataclass(frozen=True, slots=True)
class Power(Spanned):
    """``release refund`` after ``empower … to``; the verb is not yet checked."""

    verb: Name
    subject: Ref


@dataclass(frozen=True, slots=True)
class Empower(Spanned):
    """``empower Arbiter to release refund, expire goods``."""

    roles: tuple[Ref, ...]
    powers: tuple[Power, ...]


@dataclass(frozen=True, slots=True)
class For(Spanned):
    """``for c in Cus { ... }``."""

    variable: Name
    domain: Domain
    body: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class ForEach(Spanned):
    """``for each order: id { ... }``: one instance of the block for each value of the key."""

    key: Name
    type: Type
    body: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class Memory(Spanned):
    """``var Shop.tries: 0..3 = 0`` in a block with a key: a variable that the role has for each value of the key."""

    name: Ref
    type: Type
    initial: Expr | None
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class Argument(Spanned):
    """``payer = c``: a role or parameter of the used protocol, with its binding."""

    name: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Use(Spanned):
    """``use Payment(payer = c) as part after offer``; without ``as`` the protocol's own name."""

    protocol: Ref
    arguments: tuple[Argument, ...]
    alias: Name | None
    conditions: tuple[Condition, ...] = ()
    """The start condition of a part."""
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Define(Spanned):
    """``define responds(p, q) = AG (p -> AF q)``."""

    name: Name
    parameters: tuple[Name, ...]
    body: Expr
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TypeDefinition(Spanned):
    """``define Colour = {red, green}``: a name for the values of an enumeration."""

    name: Name
    type: EnumType
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Assumed(Spanned):
    """``R within 2`` after ``assuming``: a role or message, or the Ref `all`, and the ticks within which it acts."""

    subject: Ref
    within: Expr | None = None


@dataclass(frozen=True, slots=True)
class Property(Spanned):
    """``property name "doc" assuming R, S within 1: formula expect holds``."""

    name: Name
    title: str | None
    assuming: tuple[Assumed, ...]
    formula: Expr
    expect: Literal["holds", "fails"] = "holds"
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One built-in check with what is expected of it, ``-live`` which is not to be asked, or ``none``."""

    name: Name
    expect: Literal["holds", "fails"] = "holds"
    is_off: bool = False


@dataclass(frozen=True, slots=True)
class Check(Spanned):
    """``check sound, live expect fails, ... assuming R within 1``."""

    checks: tuple[CheckItem, ...]
    assuming: tuple[Assumed, ...] = ()


@dataclass(frozen=True, slots=True)
class Fairness(Spanned):
    condition: Expr


# --- what one participant wants and believes --------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decimal(Spanned):
    """``0.9``, ``+10``, ``-6.5``: exact."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Goal(Spanned):
    condition: Expr


@dataclass(frozen=True, slots=True)
class Worth(Spanned):
    """``pay: +10``; a family without indices stands for each of its messages."""

    message: Ref
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Values(Spanned):
    """``value pay: +10, deliver: -6``."""

    worths: tuple[Worth, ...]


@dataclass(frozen=True, slots=True)
class Event(Spanned):
    """``pay 0.9``, ``bid(3) 0.1``, ``pay 0.85..0.95``: a message or one payload of it, and its probability."""

    message: Ref
    payload: tuple[Expr, ...]
    low: Decimal
    high: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Belief(Spanned):
    """``believes Buyer when ordered within 2: pay 0.9 | refuse 0.1``."""

    role: Ref
    condition: Expr | None
    events: tuple[Event, ...]
    within: Expr | None = None


@dataclass(frozen=True, slots=True)
class Decision(Spanned):
    """``chooses ship | cancel when paid``."""

    messages: tuple[Ref, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Each(Spanned):
    """``for c in Cus { ... }`` inside an agent."""

    variable: Name
    domain: Domain
    body: tuple[AgentItem, ...]


AgentItem = Goal | Values | Belief | Decision | Each


@dataclass(frozen=True, slots=True)
class Agent(Spanned):
    """``agent Alice plays Seller { goal paid ... }``."""

    name: Name
    roles: tuple[Ref, ...]
    body: tuple[AgentItem, ...]
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Threshold(Spanned):
    """``achievement >= 0.85 expect fails``; the aspect is not yet checked."""

    aspect: Name
    relation: Literal[">", ">="]
    value: Decimal
    expect: Literal["holds", "fails"] | None = None
    """None where it is not written; that of the last threshold is about the whole line."""


@dataclass(frozen=True, slots=True)
class Analyze(Spanned):
    """``analyze Alice assuming Buyer: conformance > 0.8, value > 3``: thresholds that one plan has to meet together."""

    agent: Ref
    assuming: tuple[Assumed, ...]
    thresholds: tuple[Threshold, ...]


Obligation = Commitment | Claim
Declaration = (
    Role | Memory | Message | Choice | Fact | Obligation | Channel | Empower | Clock | For | ForEach | Use | Define
    | TypeDefinition
    | Property | Check | Fairness | Agent | Analyze
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Protocol(Spanned):
    """``protocol P(parameters) "title" sync { declarations }``."""

    name: Name
    parameters: tuple[Parameter, ...]
    title: str | None
    sync: bool
    declarations: tuple[Declaration, ...]
    doc: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Import(Spanned):
    """``import std.payments`` (dotted) or ``import "./ship.cpl" as ship`` (a path)."""

    target: str
    is_path: bool
    alias: Name | None


@dataclass(frozen=True, slots=True)
class Version(Spanned):
    """``cpl 2``: the version of the language that a file is written in."""

    number: str


@dataclass(frozen=True, slots=True)
class File(Spanned):
    """Everything in one file; protocols and defines in the order written."""

    imports: tuple[Import, ...]
    protocols: tuple[Protocol, ...]
    defines: tuple[Define, ...]
    version: Version | None = None
    types: tuple[TypeDefinition, ...] = ()
