"""All instances of a protocol and of the parts it uses, by name; what stands in their clauses comes later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Generic, TypeVar

from cplc.diagnostics.core import Rule
from cplc.records import dataclass
from cplc.semantics import model, resolved, statements
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.static_vacuity import VacuityRecorder
from cplc.semantics.terms import Term, Value
from cplc.source import Span

T = TypeVar("T")

MAX_FAMILY_SIZE = 10_000
"""How many instances one family, or values one type, may have."""
MAX_INSTANCES = 200_000
"""How many declarations there may be in all after unrolling."""
MAX_INSTANCES_OF_OTHER_PROTOCOLS = 2_000
"""How many a protocol may have that is not the one asked for: larger ones are checked as families only."""
MAX_NODES = 500_000
"""How many parts all their expressions may have after unrolling."""


@dataclass(frozen=True, slots=True)
class RoleValue:
    """One role instance and its position in the family over which a loop runs."""

    agent: model.Role
    position: int | None


Values = dict[resolved.Binder, int | RoleValue]


@dataclass(frozen=True, slots=True, eq=False)
class ProtocolInstance:
    """One protocol in use: the main one, or one instance of a part."""

    template: statements.Template
    path: tuple[str, ...]
    outer: tuple[int, ...]
    """The indices of the loops in which the part and those around it are used."""
    parameters: Mapping[str, Value]
    roles: Mapping[resolved.RoleSymbol, tuple[model.Role, ...]]
    scope: str
    start_condition: tuple[StartCondition, ...] = ()
    role_binding: RoleBinding | None = None
    """Of a part: how its roles are bound."""

    def name_of(self, *names: str, indices: tuple[int, ...]) -> str:
        """Return the full name of something declared here."""
        every = self.outer + indices
        bracketed = f"[{','.join(map(str, every))}]" if every else ""
        return ".".join((*self.path, *names)) + bracketed

    @property
    def prefix(self) -> str:
        """What stands between a role and the variables that the part gives it."""
        return f"{self.name_of(indices=())}." if self.path else ""


@dataclass(frozen=True, slots=True, eq=False)
class RoleBinding:
    """The role arguments of a `use`, as they are written in the protocol around it."""

    roles: Mapping[resolved.RoleSymbol, tuple[resolved.RoleTree | resolved.AllOf, Span]]
    protocol_instance: ProtocolInstance
    values: Values


@dataclass(frozen=True, slots=True, eq=False)
class StartCondition:
    """What a part waits for before it begins, as it is written in the protocol that uses the part."""

    conditions: tuple[resolved.Tree, ...]
    protocol_instance: ProtocolInstance
    values: Values


@dataclass(frozen=True, slots=True, eq=False)
class PendingInstance(Generic[T]):
    """One instance of a declaration, still to be worked out."""

    name: str
    body: T
    protocol_instance: ProtocolInstance
    values: Values
    scope: str


@dataclass(frozen=True, slots=True)
class Parties:
    """The two roles of what passes between two: sender and receiver, debtor and creditor, maker and addressee."""

    first: str
    second: str

    def __contains__(self, role: str) -> bool:
        return role in (self.first, self.second)


@dataclass(slots=True)
class InstanceTable:
    """Filled while unrolling, read afterwards."""

    problems: DiagnosticSink
    roles: list[model.Role] = field(default_factory=list)
    variables: dict[str, model.Variable] = field(default_factory=dict)
    scopes: list[model.Scope] = field(default_factory=list)
    parts: dict[str, ProtocolInstance] = field(default_factory=dict)
    messages: dict[str, PendingInstance[statements.Message]] = field(default_factory=dict)
    commitments: dict[str, PendingInstance[statements.Commitment]] = field(default_factory=dict)
    claims: dict[str, PendingInstance[statements.Claim]] = field(default_factory=dict)
    facts: dict[str, PendingInstance[statements.Fact]] = field(default_factory=dict)
    agents: dict[str, PendingInstance[statements.Agent]] = field(default_factory=dict)
    other_declarations: list[
        PendingInstance[
            statements.Choice
            | statements.Channel
            | statements.Fairness
            | statements.Property
            | statements.Check
            | statements.Analyze
        ]
    ] = field(default_factory=list)
    parties: dict[str, Parties] = field(default_factory=dict)
    """Of every message, commitment and claim."""
    left_out: set[str] = field(default_factory=set)
    """Instances of messages, commitments and claims that are not there, for their two roles are the same."""
    broken: set[object] = field(default_factory=set)
    """Symbols whose declarations are wrong: nothing more is said of them."""
    fact_atoms: dict[str, frozenset[Term]] = field(default_factory=dict)
    """The atoms that each fact looks at, those of facts in it included."""
    fact_vacuity: dict[str, VacuityRecorder] = field(default_factory=dict)
    """What the quantifiers of each fact range over."""
    performed_operations: set[tuple[str, object]] = field(default_factory=set)
    """Operations that messages mean, by verb and symbol."""
    indirect_changes: set[tuple[str, object]] = field(default_factory=set)
    """Changes that operations of another name bring about: what is handed over to or argued with is created."""
    """Each verb with the symbols of what some message performs it on."""
    reads_age: bool = False
    """True if some guard asks how old a commitment or claim is."""
    nodes: int = 0
    is_full: bool = False
    """More parts of expressions than can be handled: reported, and the rest is left out."""

    def promises(self, debtor: str, creditor: str) -> bool:
        """Return whether a commitment from the one to the other is declared."""
        return any(self.parties[name] == Parties(debtor, creditor) for name in self.commitments)

    @property
    def has_ticks(self) -> bool:
        """Return whether time passes: something has a deadline, or a content counts ticks."""
        bodies = [pending.body for pending in self.commitments.values()]
        timed = any(body.within or body.expires or resolved.counts_ticks(body.consequent) for body in bodies)
        return (
            timed
            or self.reads_age
            or any(resolved.counts_ticks(pending.body.content) for pending in self.claims.values())
        )

    def claims_between(self, one: str, other: str) -> bool:
        """Return whether a claim of one of the two to the other is declared."""
        return any(self.parties[name] in (Parties(one, other), Parties(other, one)) for name in self.claims)

    def report(self, rule: Rule, span: Span, message: str) -> None:
        self.problems.report(rule, span, message)

    def count_node(self, span: Span, rule: Rule) -> bool:
        """Count one part of an expression; whether there is room for it."""
        self.nodes += 1
        if self.nodes > MAX_NODES and not self.is_full:
            self.is_full = True
            self.report(rule, span, f"The instances have more than {MAX_NODES:,} subexpressions in all")
        return not self.is_full

    def instances(self) -> Iterator[str]:
        yield from self.parties
        yield from self.facts
