"""The syntax tree of a `.cpl` file: what was written, nothing resolved, a span on every node.

Spans take no part in equality, so that printing and parsing again gives an equal tree.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Literal

from cplc.records import dataclass
from cplc.source import Span
from cplc.syntax.ast_expressions import *
from cplc.syntax.ast_expressions import Domain, Duration, Expr, Joining, Name, Range, Ref


def _span() -> Span:
    """Declare the span of a node."""
    return field(compare=False, repr=False, kw_only=True)  # type: ignore[no-any-return]


# --- types ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoolType:
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class EnumType:
    members: tuple[Name, ...]
    span: Span = _span()


Type = BoolType | Range | EnumType


# --- declarations -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a protocol (with a default) or of a message (without)."""

    name: Name
    type: Type
    default: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RoleVariable:
    name: Name
    type: Type
    initial: Expr | None
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Role:
    """``role Cus[n] { var ... }``; ``size`` is None for a single role."""

    name: Name
    size: Expr | None
    variables: tuple[RoleVariable, ...]
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Operation:
    """``create goods``, ``delegate a to b retaining``, ``justify p with q``; the verb is not yet checked."""

    verb: Name
    subject: Ref
    target: Ref | None = None
    retaining: bool = False
    joined: Joining = "to"
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Assignment:
    variable: Ref
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class After:
    condition: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Unless:
    condition: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Means:
    operations: tuple[Operation, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Set:
    assignments: tuple[Assignment, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class OnReceipt:
    assignments: tuple[Assignment, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Resets:
    messages: tuple[Ref, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Restart:
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Repeatable:
    span: Span = _span()


Condition = After | Unless | If
Clause = Condition | Means | Set | OnReceipt | Resets | Restart | Repeatable


@dataclass(frozen=True, slots=True)
class Message:
    """``A -> B : name(parameters) clauses``."""

    name: Name
    sender: Ref
    receiver: Ref
    parameters: tuple[Parameter, ...]
    clauses: tuple[Clause, ...]
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Choice:
    members: tuple[Ref, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fact:
    name: Name
    value: Expr
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Commitment:
    """``commitment g = C(debtor, creditor, antecedent, consequent) within k expires k revocable``."""

    name: Name
    debtor: Ref
    creditor: Ref
    antecedent: Expr
    consequent: Expr
    within: Expr | None = None
    expires: Expr | None = None
    revocable: bool = False
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Claim:
    """``claim p = claim(maker, addressee, content)``."""

    name: Name
    maker: Ref
    addressee: Ref
    content: Expr
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Clock:
    """``clock tick = 1 h``: the length of a tick, in the model and in logs."""

    length: Duration
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Channel:
    """``channel i -> j unordered within 2``; all channels without ``i -> j``."""

    sender: Ref | None
    receiver: Ref | None
    is_unordered: bool = False
    within: Expr | None = None
    """The most ticks that a message is in flight."""
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class For:
    """``for c in Cus { ... }``."""

    variable: Name
    domain: Domain
    body: tuple[Declaration, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Argument:
    """``payer = c``: a role or parameter of the used protocol, with its binding."""

    name: Name
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Use:
    """``use Payment(payer = c) as part after offer``; without ``as`` the protocol's own name."""

    protocol: Ref
    arguments: tuple[Argument, ...]
    alias: Name | None
    conditions: tuple[Condition, ...] = ()
    """The start condition of a part."""
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Define:
    """``define responds(p, q) = AG (p -> AF q)``."""

    name: Name
    parameters: tuple[Name, ...]
    body: Expr
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Assumed:
    """``R within 2`` after ``assuming``: a role or message, or the Ref `all`, and the ticks within which it acts."""

    subject: Ref
    within: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Property:
    """``property name "doc" assuming R, S within 1: formula expect holds``."""

    name: Name
    title: str | None
    assuming: tuple[Assumed, ...]
    formula: Expr
    expect: Literal["holds", "fails"] = "holds"
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One built-in check with what is expected of it, ``-live`` which is not to be asked, or ``none``."""

    name: Name
    expect: Literal["holds", "fails"] = "holds"
    is_off: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """``check sound, live expect fails, ... assuming R within 1``."""

    checks: tuple[CheckItem, ...]
    assuming: tuple[Assumed, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fairness:
    condition: Expr
    span: Span = _span()


# --- what one participant wants and believes --------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decimal:
    """``0.9``, ``+10``, ``-6.5``: exact."""

    value: Fraction
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Goal:
    condition: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Worth:
    """``pay: +10``; a family without indices stands for each of its messages."""

    message: Ref
    amount: Decimal
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Values:
    """``value pay: +10, deliver: -6``."""

    worths: tuple[Worth, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Event:
    """``pay 0.9``, ``bid(3) 0.1``, ``pay 0.85..0.95``: a message or one payload of it, and its probability."""

    message: Ref
    payload: tuple[Expr, ...]
    low: Decimal
    high: Decimal | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Belief:
    """``believes Buyer when ordered: pay 0.9 | refuse 0.1``."""

    role: Ref
    condition: Expr | None
    events: tuple[Event, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Decision:
    """``chooses ship | cancel when paid``."""

    messages: tuple[Ref, ...]
    condition: Expr | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Each:
    """``for c in Cus { ... }`` inside an agent."""

    variable: Name
    domain: Domain
    body: tuple[AgentItem, ...]
    span: Span = _span()


AgentItem = Goal | Values | Belief | Decision | Each


@dataclass(frozen=True, slots=True)
class Agent:
    """``agent Alice plays Seller { goal paid ... }``."""

    name: Name
    roles: tuple[Ref, ...]
    body: tuple[AgentItem, ...]
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Threshold:
    """``achievement >= 0.85 expect fails``; the aspect is not yet checked."""

    aspect: Name
    relation: Literal[">", ">="]
    value: Decimal
    expect: Literal["holds", "fails"] | None = None
    """None where it is not written; that of the last threshold is about the whole line."""
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Analyze:
    """``analyze Alice assuming Buyer: conformance > 0.8, value > 3``: thresholds that one plan has to meet together."""

    agent: Ref
    assuming: tuple[Assumed, ...]
    thresholds: tuple[Threshold, ...]
    span: Span = _span()


Obligation = Commitment | Claim
Declaration = (
    Role | Message | Choice | Fact | Obligation | Channel | Clock | For | Use | Define | Property | Check | Fairness
    | Agent | Analyze
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Protocol:
    """``protocol P(parameters) "title" sync { declarations }``."""

    name: Name
    parameters: tuple[Parameter, ...]
    title: str | None
    sync: bool
    declarations: tuple[Declaration, ...]
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Import:
    """``import std.payments`` (dotted) or ``import "./ship.cpl" as ship`` (a path)."""

    target: str
    is_path: bool
    alias: Name | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Version:
    """``cpl 2``: the version of the language that a file is written in."""

    number: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class File:
    """Everything in one file; protocols and defines in the order written."""

    imports: tuple[Import, ...]
    protocols: tuple[Protocol, ...]
    defines: tuple[Define, ...]
    version: Version | None = None
    span: Span = _span()
