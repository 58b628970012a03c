"""The syntax tree of a `.cpl` file: what was written, nothing resolved, a span on every node.

Spans take no part in equality, so that printing and parsing again gives an equal tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cplc.source import Span


def _span() -> Span:
    """Declare the span of a node."""
    return field(compare=False, repr=False, kw_only=True)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    span: Span = _span()


# --- expressions and formulas: one language, in guards as in properties -----------------------


@dataclass(frozen=True, slots=True)
class Literal_:
    """``true``, ``false`` or a whole number."""

    value: bool | int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a dotted reference: ``name`` or ``name[i, j]``."""

    name: Name
    indices: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Ref:
    """``pay``, ``pay[c]``, ``part.pay[i]``, ``Mer.stock``, ``order.price``, ``Cus[2]``."""

    segments: tuple[Segment, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class View:
    """``goods@Mer``: the state of a commitment as one role sees it."""

    commitment: Ref
    role: Ref
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """``active(goods)``, ``sent(pay)``, ``responds(p, q)``: lifecycle atoms and macros."""

    name: Name
    arguments: tuple[Expr, ...]
    span: Span = _span()


UnaryOp = Literal["!", "-", "X", "F", "G", "Y", "O", "H"]
BinaryOp = Literal[
    "*", "%", "+", "-", "=", "!=", "<", "<=", ">", ">=",
    "U", "W", "R", "S", "&", "|", "therefore", "->", "<->",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unary:
    """A prefix operator; ``bound`` is the k of ``F<=k`` and ``G<=k``."""

    op: UnaryOp
    operand: Expr
    bound: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    """An infix operator; ``bound`` is the k of ``U<=k``."""

    op: BinaryOp
    left: Expr
    right: Expr
    bound: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Quantifier:
    """``forall c in Cus: body`` or ``exists i in 1..n: body``."""

    kind: Literal["forall", "exists"]
    variable: Name
    domain: Domain
    body: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class OverPaths:
    """``A path`` or ``E path``; ``AG p`` is ``OverPaths("A", Unary("G", p))``. ``along`` is ARCTL's α."""

    quantifier: Literal["A", "E"]
    path: Expr
    along: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Social:
    """``C(i -> j, body)``, ``Fu(i -> j, body)``, ``SC(i -> j, body)``."""

    modality: Literal["C", "Fu", "SC"]
    debtor: Ref
    creditor: Ref
    body: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """``K(i, body)``, ``EK({i, j}, body)``, ``DK(...)``, ``CK(...)``."""

    modality: Literal["K", "EK", "DK", "CK"]
    group: tuple[Ref, ...]
    body: Expr
    span: Span = _span()


Joining = Literal["to", "with"]
"""The word between what an operation is performed on and what else it needs, if it needs anything."""


@dataclass(frozen=True, slots=True)
class Does:
    """``does(pay)``, ``does(send pay)``, ``does(create goods)``, ``does(Mer)``; the verb is None if none is written."""

    verb: Name | None
    subject: Ref
    other: Ref | None = None
    joined: Joining = "to"
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Strategic:
    """``<<i, j>> path``."""

    group: tuple[Ref, ...]
    path: Expr
    span: Span = _span()


Expr = Literal_ | Ref | View | Call | Unary | Binary | Quantifier | OverPaths | Social | Knowledge | Does | Strategic


@dataclass(frozen=True, slots=True)
class Range:
    """``low..high``."""

    low: Expr
    high: Expr
    span: Span = _span()


Domain = Ref | Range
"""What a loop or quantifier runs over: a role family or a range of whole numbers."""


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
class Channel:
    """``channel i -> j unordered``."""

    sender: Ref
    receiver: Ref
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
    """``payer = c``: a role or parameter of the used protocol and what it is bound to."""

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
    """What must be so before the part begins."""
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
class Property:
    """``property name "doc" assuming R, S: formula expect holds``; ``assuming all`` is a single Ref `all`."""

    name: Name
    title: str | None
    assuming: tuple[Ref, ...]
    formula: Expr
    expect: Literal["holds", "fails"] = "holds"
    doc: str | None = field(default=None, compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One built-in check, with what is expected of it."""

    name: Name
    expect: Literal["holds", "fails"] = "holds"


@dataclass(frozen=True, slots=True)
class Check:
    """``check sound, live expect fails, ...``."""

    checks: tuple[CheckItem, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fairness:
    condition: Expr
    span: Span = _span()


Obligation = Commitment | Claim
Declaration = Role | Message | Choice | Fact | Obligation | Channel | For | Use | Define | Property | Check | Fairness


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
class File:
    """Everything in one file; protocols and defines in the order written."""

    imports: tuple[Import, ...]
    protocols: tuple[Protocol, ...]
    defines: tuple[Define, ...]
    span: Span = _span()
