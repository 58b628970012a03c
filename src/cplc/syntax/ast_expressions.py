"""The nodes of expressions and formulas: one language, in guards as in properties. See `cplc.syntax.ast`."""

from __future__ import annotations

from typing import Literal

from cplc.language.groups import Answerable
from cplc.records import dataclass
from cplc.source import Spanned

# --- Names, which the trees of both languages have


@dataclass(frozen=True, slots=True)
class Name(Spanned):
    text: str


__all__ = [
    "Amount",
    "Binary",
    "BinaryOp",
    "Call",
    "Does",
    "Domain",
    "Duration",
    "Expr",
    "Group",
    "Joining",
    "Junction",
    "Knowledge",
    "Literal_",
    "Name",
    "OverPaths",
    "Party",
    "Quantifier",
    "Range",
    "Ref",
    "Segment",
    "Social",
    "Conditional",
    "ConditionalModality",
    "Strategic",
    "Unary",
    "UnaryOp",
    "View",
]


@dataclass(frozen=True, slots=True)
class Literal_(Spanned):
    """``true``, ``false``, a whole number or a text in quotes."""

    value: bool | int | str


@dataclass(frozen=True, slots=True)
class Amount(Spanned):
    """``49.99 USD``, ``0.25`` or ``2026-11-19T12:00Z``: as it is written, with one blank before the currency."""

    text: str


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a dotted reference: ``name`` or ``name[i, j]``."""

    name: Name
    indices: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Ref(Spanned):
    """``pay``, ``pay[c]``, ``part.pay[i]``, ``Mer.stock``, ``order.price``, ``Cus[2]``."""

    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class View(Spanned):
    """``goods@Mer``: the state of a commitment as one role sees it."""

    commitment: Ref
    role: Ref


@dataclass(frozen=True, slots=True)
class Call(Spanned):
    """``active(goods)``, ``sent(pay)``, ``responds(p, q)``: lifecycle atoms and macros."""

    name: Name
    arguments: tuple[Expr, ...]


UnaryOp = Literal["!", "-", "X", "F", "G", "Y", "O", "H"]
BinaryOp = Literal[
    "*", "%", "+", "-", "=", "!=", "<", "<=", ">", ">=",
    "U", "W", "R", "M", "S", "therefore", "->", "<->",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unary(Spanned):
    """A prefix operator; ``bound`` is the k of ``F<=k`` and ``G<=k``, and the b of ``F[a..b]``."""

    op: UnaryOp
    operand: Expr
    bound: Expr | None = None
    in_ticks: bool = False
    """The bound counts ticks: ``F<=k ticks``."""
    low: Expr | None = None
    """The a of ``F[a..b]``."""


@dataclass(frozen=True, slots=True)
class Binary(Spanned):
    """An infix operator; ``bound`` is the k of ``U<=k``, and the b of ``U[a..b]``."""

    op: BinaryOp
    left: Expr
    right: Expr
    bound: Expr | None = None
    in_ticks: bool = False
    """The bound counts ticks: ``U<=k ticks``."""
    low: Expr | None = None
    """The a of ``U[a..b]``."""


@dataclass(frozen=True, slots=True)
class Junction(Spanned):
    """``p & q & r`` or ``p | q``: two operands or more; one in parentheses may be another of the same kind."""

    op: Literal["&", "|"]
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Quantifier(Spanned):
    """``forall c in Cus: body`` or ``exists i in 1..n: body``."""

    kind: Literal["forall", "exists"]
    variable: Name
    domain: Domain
    body: Expr


@dataclass(frozen=True, slots=True)
class OverPaths(Spanned):
    """``A path`` or ``E path``; ``AG p`` is ``OverPaths("A", Unary("G", p))``. ``along`` is ARCTL's α."""

    quantifier: Literal["A", "E"]
    path: Expr
    along: Expr | None = None


@dataclass(frozen=True, slots=True)
class Group(Spanned):
    """Several roles as one side of a commitment: ``{Ann, Bob}``; ``any {Ann, Bob}`` or ``each Crew`` of debtors."""

    members: tuple[Ref, ...]
    answerable: Answerable | None = None


Party = Ref | Group


@dataclass(frozen=True, slots=True)
class Social(Spanned):
    """``C(i -> j, body)``, ``Fu(i -> j, body)``, ``SC(i -> j, body)``; ``C(c, body)`` of one commitment.

    ``SCc(i -> j, trigger, body)`` has a trigger.
    """

    modality: Literal["C", "Fu", "SC", "SCc"]
    between: tuple[Party, ...]
    """The debtor and the creditor, or the commitment."""
    body: Expr
    trigger: Expr | None = None


ConditionalModality = Literal["WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS"]


@dataclass(frozen=True, slots=True)
class Conditional(Spanned):
    """``WCC(i -> j, antecedent, consequent)`` and the like, ``WCC(c, …)`` of one commitment; ``DeS(i -> j, k, …)``."""

    modality: ConditionalModality
    between: tuple[Party, ...]
    """The debtor and the creditor, or the commitment."""
    other: Ref | None
    """The third role, or the other commitment, of `DeS` and `AsS`."""
    antecedent: Expr
    consequent: Expr


@dataclass(frozen=True, slots=True)
class Knowledge(Spanned):
    """``K(i, body)``, ``EK({i, j}, body)``, ``DK(...)``, ``CK(...)``."""

    modality: Literal["K", "EK", "DK", "CK"]
    group: tuple[Ref, ...]
    body: Expr


Joining = Literal["to", "with"]
"""The word between what an operation is performed on and what else it needs, if it needs anything."""


@dataclass(frozen=True, slots=True)
class Does(Spanned):
    """``does(pay)``, ``does(send pay)``, ``does(create goods)``, ``does(Mer)``; the verb is None if none is written."""

    verb: Name | None
    subject: Ref
    other: Ref | None = None
    joined: Joining = "to"
    by: Name | None = None
    """`message` if only an operation of a message counts, otherwise empty."""


@dataclass(frozen=True, slots=True)
class Strategic(Spanned):
    """``<<i, j>> path``."""

    group: tuple[Ref, ...]
    path: Expr


@dataclass(frozen=True, slots=True)
class Duration(Spanned):
    """``36 h`` or ``PT36H``: a number of ticks in deadlines, elsewhere a value of `duration`."""

    text: str


Expr = (
    Literal_ | Amount | Duration | Ref | View | Call | Unary | Binary | Junction | Quantifier | OverPaths | Social
    | Conditional
    | Knowledge | Does | Strategic
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Range(Spanned):
    """``low..high``."""

    low: Expr
    high: Expr


Domain = Ref | Range
"""The domain of a loop or quantifier: a role family or a range of whole numbers."""
