"""The instances of a protocol and of the parts it uses, by name, before their clauses are instantiated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Generic, TypeVar

from cplc.diagnostics.core import Rule
from cplc.language.groups import is_promised, members
from cplc.records import dataclass
from cplc.semantics import model, resolved
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.static_vacuity import VacuityRecorder
from cplc.semantics.terms import Term, Value
from cplc.source import Span

T = TypeVar("T")

MAX_FAMILY_SIZE = 10_000
"""Instances of one family, or values of one type."""
MAX_INSTANCES = 200_000
"""Instances of declarations in a protocol."""
MAX_INSTANCES_OF_OTHER_PROTOCOLS = 2_000
"""Instances in a protocol that was not requested: larger ones are checked as families only."""
OPEN_DOMAIN = ("",)
"""The domain of a place with any number of values, before the number of those that stand for all is known."""
MAX_NODES = 500_000
"""Nodes of all expressions after instantiation."""


@dataclass(frozen=True, slots=True)
class RoleValue:
    """One role instance and its position in the family over which a loop runs."""

    agent: model.Role
    position: int | None


Domain = resolved.FamilyDomain | resolved.NumberDomain | resolved.KeyDomain
Values = dict[resolved.Binder, int | RoleValue]


@dataclass(frozen=True, slots=True, eq=False)
class ProtocolInstance:
    """One instance of a protocol: the main one or a part."""

    template: resolved.Template
    path: tuple[str, ...]
    outer: tuple[int, ...]
    """The indices of the loops around the `use` of the part and of enclosing parts."""
    parameters: Mapping[str, Value]
    roles: Mapping[resolved.RoleSymbol, tuple[model.Role, ...]]
    scope: str
    start_condition: tuple[StartCondition, ...] = ()
    role_binding: RoleBinding | None = None
    """The role arguments of a part."""

    def name_of(self, *names: str, indices: tuple[int, ...]) -> str:
        """Return the full name of something declared here."""
        every = self.outer + indices
        bracketed = f"[{','.join(map(str, every))}]" if every else ""
        return ".".join((*self.path, *names)) + bracketed

    @property
    def prefix(self) -> str:
        """The name prefix of variables that the part gives to a role."""
        return f"{self.name_of(indices=())}." if self.path else ""


@dataclass(frozen=True, slots=True, eq=False)
class RoleBinding:
    """The role arguments of a `use`, in terms of the enclosing protocol."""

    roles: Mapping[resolved.RoleSymbol, tuple[resolved.RoleTree | resolved.AllOf, Span]]
    protocol_instance: ProtocolInstance
    values: Values


@dataclass(frozen=True, slots=True, eq=False)
class StartCondition:
    """The start condition of a part, in terms of the protocol that uses it."""

    conditions: tuple[resolved.Tree, ...]
    protocol_instance: ProtocolInstance
    values: Values


@dataclass(frozen=True, slots=True, eq=False)
class PendingInstance(Generic[T]):
    """One instance of a declaration whose clauses are not instantiated yet."""

    name: str
    body: T
    protocol_instance: ProtocolInstance
    values: Values
    scope: str


OtherDeclaration = (
    resolved.Choice | resolved.Channel | resolved.Empower | resolved.Fairness | resolved.Property | resolved.Check
    | resolved.Analyze
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parties:
    """An ordered pair: sender and receiver, maker and addressee, or debtor and creditor, each a role or a group."""

    first: str
    second: str
    more: tuple[str, ...] = ()
    """Further receivers of a message."""

    @property
    def receivers(self) -> tuple[str, ...]:
        return (self.second, *self.more)

    @property
    def roles(self) -> tuple[str, ...]:
        return (*members(self.first), *members(self.second), *self.more)

    def __contains__(self, role: str) -> bool:
        return role in self.roles


@dataclass(slots=True)
class InstanceTable:
    """The instances of a protocol: filled by instantiation, then only read."""

    problems: DiagnosticSink
    roles: list[model.Role] = field(default_factory=list)
    variables: dict[str, model.Variable] = field(default_factory=dict)
    scopes: list[model.Scope] = field(default_factory=list)
    parts: dict[str, ProtocolInstance] = field(default_factory=dict)
    messages: dict[str, PendingInstance[resolved.Message]] = field(default_factory=dict)
    commitments: dict[str, PendingInstance[resolved.Commitment]] = field(default_factory=dict)
    claims: dict[str, PendingInstance[resolved.Claim]] = field(default_factory=dict)
    facts: dict[str, PendingInstance[resolved.Fact]] = field(default_factory=dict)
    agents: dict[str, PendingInstance[resolved.Agent]] = field(default_factory=dict)
    other_declarations: list[PendingInstance[OtherDeclaration]] = field(default_factory=list)
    parties: dict[str, Parties] = field(default_factory=dict)
    """The roles of every message, commitment and claim."""
    left_out: set[str] = field(default_factory=set)
    """Instances of messages, commitments and claims that do not exist because their two roles are the same."""
    broken: set[object] = field(default_factory=set)
    """Symbols whose declarations have errors: no further diagnostics are reported about them."""
    fact_atoms: dict[str, frozenset[Term]] = field(default_factory=dict)
    """The atoms of each fact, those of nested facts included."""
    fact_vacuity: dict[str, VacuityRecorder] = field(default_factory=dict)
    """The vacuity records of each fact."""
    performed_operations: set[tuple[str, object]] = field(default_factory=set)
    """The operations of messages, by verb and symbol."""
    indirect_changes: set[tuple[str, object]] = field(default_factory=set)
    """Changes caused by other operations: successors and claims of arguments are created."""
    """Each verb with the symbols of what some message performs it on."""
    has_ticks: bool = False
    """Time passes: a deadline, a delay of a channel, an age or a content counts ticks."""
    keys: dict[str, int] = field(default_factory=dict)
    """The number of instances of each block with a key."""
    scope_keys: dict[str, model.Key] = field(default_factory=dict)
    """The scopes in blocks with keys, each with its instance."""
    is_of_one_key: bool = False
    """True if there is one instance of each block, whose declarations have no index: what a monitor follows."""
    nodes: int = 0
    is_full: bool = False
    """True once `MAX_NODES` is exceeded: it is reported, and the rest is left out."""

    def promises(self, debtor: str, creditor: str) -> tuple[str, ...]:
        """Return the commitments in the channel from one side to another."""
        return tuple(
            name
            for name, pending in self.commitments.items()
            if is_promised(
                self.parties[name].first, self.parties[name].second, pending.body.debtor.answerable, debtor, creditor
            )
        )

    def note_time(self, body: resolved.Body) -> None:
        """Take note of whether time passes because of an instance of this declaration."""
        match body:
            case resolved.Commitment():
                timed = bool(body.within or body.expires or resolved.counts_ticks(body.consequent))
            case resolved.Claim():
                timed = resolved.counts_ticks(body.content)
            case resolved.Channel():
                timed = body.within is not None
            case _:
                timed = False
        self.has_ticks |= timed

    def claims_between(self, one: str, other: str) -> bool:
        """Return whether a claim of one of the two to the other is declared."""
        return any(self.parties[name] in (Parties(one, other), Parties(other, one)) for name in self.claims)

    def report(self, rule: Rule, span: Span, message: str) -> None:
        self.problems.report(rule, span, message)

    def count_node(self, span: Span, rule: Rule) -> bool:
        """Count one node of an expression, and return whether it is within the limit."""
        self.nodes += 1
        if self.nodes > MAX_NODES and not self.is_full:
            self.is_full = True
            self.report(rule, span, f"The instances have more than {MAX_NODES:,} subexpressions in all")
        return not self.is_full

    def instances(self) -> Iterator[str]:
        yield from self.parties
        yield from self.facts
