"""The checked model: one protocol with all families instantiated and all names resolved.

Nothing in it refers to syntax but the spans. It is the input of lowering and of every listing.
All instances stand in the order of declaration. Names of instances: see `cplc.semantics.terms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Literal

from cplc.language.amounts import number_in
from cplc.language.groups import Answerable, is_promised, members
from cplc.language.lifecycle import STANDING_OF
from cplc.records import dataclass
from cplc.semantics.terms import Term, Value, ages_in, counts_ticks, is_about_runs
from cplc.source import Spanned


@dataclass(frozen=True, slots=True)
class Role(Spanned):
    """One agent. ``family`` is the name it was declared with; ``index`` is None for a single role."""

    name: str
    family: str
    index: int | None
    is_record: bool = False
    """It has no will: it always sends what it can."""


@dataclass(frozen=True, slots=True)
class Variable(Spanned):
    """A role's own variable, full name ``Cus[1].mood``; every value is initial where ``initial`` is None."""

    name: str
    role: str
    domain: tuple[Value, ...]
    initial: Value | None
    scope: str = ""
    """The part whose role declares it, which resets it on restart; empty for roles of the protocol itself."""
    data: str = ""
    """The type, if it has any number of values."""


Key = tuple[str, int]
"""The key of a block, and the number of one of its instances."""


Channel = tuple[str, str, Key | None]
"""A sender, a receiver, and the instance of a block with a key whose messages it carries."""


@dataclass(frozen=True, slots=True)
class KeyedBlock(Spanned):
    """A block with a key (`for each order: id`)."""

    key: str
    instances: int
    """The number of its instances in this model."""
    is_fixed: bool
    """True if this number is given; otherwise they stand for any number."""
    related: Mapping[str, int]
    """The largest number of instances that one property relates, by its name."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a restart: the protocol, one instance of a `for`, or a part."""

    name: str
    parent: str | None
    roles: tuple[str, ...]
    """Role instances whose variables the restart resets: those bound by this block; for the protocol all."""
    key: Key | None = None
    """The instance of a block with a key that it is, or is inside."""


@dataclass(frozen=True, slots=True)
class Operation(Spanned):
    """An operation on a commitment or claim; the target is the successor, or the claim of an argument."""

    verb: str
    commitment: str
    target: str | None = None
    retaining: bool = False

    @property
    def created(self) -> str | None:
        """The commitment or claim that it creates: its own, or the successor."""
        return self.commitment if self.verb == "create" else self.target


@dataclass(frozen=True, slots=True)
class Assignment(Spanned):
    variable: str
    value: Term


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    domain: tuple[Value, ...]
    data: str = ""
    """The type, if it has any number of values."""


@dataclass(frozen=True, slots=True)
class Message(Spanned):
    name: str
    sender: str
    receivers: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    guard: Term
    """``after`` and ``if`` and not ``unless``, over the sender's local state."""
    rivals: tuple[str, ...]
    """The other members of its choices."""
    operations: tuple[Operation, ...]
    updates: tuple[Assignment, ...]
    """The ``set`` clauses: on sending."""
    receipt: tuple[Assignment, ...]
    """The ``on receipt`` clauses: on taking effect."""
    resets: tuple[str, ...]
    restarts: bool
    repeatable: bool
    scope: str
    key: Key | None = None
    """The instance of a block with a key that it belongs to; each has channels of its own."""
    losses: tuple[tuple[str, int | None], ...] = ()
    """Each receiver on a channel that may lose it, with the most losses in a row; None for any number."""

    duplicates: tuple[tuple[str, int], ...] = ()
    """Each receiver on a channel that may duplicate it, with the most duplicates of a sending."""

    queues: tuple[tuple[str, int], ...] = ()
    """Each receiver on a channel with a queue of several places, with their number."""

    request: str | None = None
    """The message to a record that it is a reply to."""

    @property
    def unreliably_to(self) -> tuple[str, ...]:
        """The receivers that it may be lost to, or that it may reach twice."""
        unreliable = {receiver for receiver, _ in (*self.losses, *self.duplicates)}
        return tuple(receiver for receiver in self.receivers if receiver in unreliable)

    @property
    def tracked_to(self) -> tuple[str, ...]:
        """The receivers for which copies do not tell whether it is in flight, and a variable of `Env` does."""
        queues = dict(self.queues)
        return tuple(one for one in self.receivers if one in self.unreliably_to or one in queues)

    @property
    def alternates(self) -> bool:
        """Return whether copies have an alternating bit, by which some receiver tells sendings apart."""
        return self.repeatable and len(self.tracked_to) < len(self.receivers)

    @property
    def roles(self) -> tuple[str, ...]:
        """The sender and the receivers."""
        return (self.sender, *self.receivers)

    @property
    def channels(self) -> tuple[tuple[str, str], ...]:
        """The channels that it is sent on: one to each receiver."""
        return tuple((self.sender, receiver) for receiver in self.receivers)

    @property
    def own_channels(self) -> tuple[Channel, ...]:
        """The channels that it is sent on, of which each instance of a block with a key has its own."""
        return tuple((self.sender, receiver, self.key) for receiver in self.receivers)

    @property
    def has_several_receivers(self) -> bool:
        return len(self.receivers) > 1


@dataclass(frozen=True, slots=True)
class Fact(Spanned):
    name: str
    meaning: Term


@dataclass(frozen=True, slots=True)
class PayloadDeadline:
    """A deadline whose ticks are computed from the message that creates the commitment."""

    value: Term
    """Over the fields of that message, as `Own`."""
    values: tuple[int, ...]
    """Its possible values, ascending."""
    text: str
    spare: int = 0
    """Ticks added to every copy, for a monitor that measures real time itself."""

    @property
    def longest(self) -> int:
        return max(1, *self.values) + self.spare


def longest(deadline: int | PayloadDeadline | None) -> int | None:
    """Return the largest number of ticks of a deadline."""
    return deadline.longest if isinstance(deadline, PayloadDeadline) else deadline


@dataclass(frozen=True, slots=True)
class Commitment(Spanned):
    name: str
    debtor: str
    """A role or a group, see `cplc.language.groups`."""
    creditor: str
    antecedent: Term
    consequent: Term
    within: int | PayloadDeadline | None
    expires: int | PayloadDeadline | None
    revocable: bool
    scope: str
    answerable: Answerable = "all"
    """Which members of a group of debtors can be held to it."""

    @property
    def debtors(self) -> tuple[str, ...]:
        return members(self.debtor)

    @property
    def creditors(self) -> tuple[str, ...]:
        return members(self.creditor)

    def is_promised(self, by: str, to: str) -> bool:
        """Return whether it is in the channel from one side to another."""
        return is_promised(self.debtor, self.creditor, self.answerable, by, to)

    @property
    def payload_deadlines(self) -> tuple[tuple[Literal["within", "expires"], PayloadDeadline], ...]:
        """The deadlines that depend on the creating message, each with its clause."""
        clauses: tuple[Literal["within", "expires"], ...] = ("within", "expires")
        deadlines = ((clause, self.within if clause == "within" else self.expires) for clause in clauses)
        return tuple((clause, deadline) for clause, deadline in deadlines if isinstance(deadline, PayloadDeadline))


@dataclass(frozen=True, slots=True)
class Claim(Spanned):
    name: str
    maker: str
    addressee: str
    content: Term
    scope: str


@dataclass(frozen=True, slots=True)
class Power(Spanned):
    """An operation on a commitment that a third party may perform."""

    role: str
    verb: str
    commitment: str


Place = tuple[str, str]
"""A message and its parameter; for a variable, nothing and its full name."""


@dataclass(frozen=True, slots=True)
class DataClass:
    """Places whose values are compared or copied to each other; finitely many values stand for all of them."""

    type: str
    places: tuple[Place, ...]
    constants: tuple[str, ...]
    simultaneous: int
    """The largest number of values that the places have at once."""
    may_be_unset: bool
    """A field is copied where its message may not be there: it then has the first value, which counts as a constant."""
    values: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    """The values that stand for all but the constants."""
    is_ordered: bool = False
    """Amounts that are compared by `<` and the like; their values are in ascending order."""
    choices: int = 0
    """The largest number of its values that are chosen on a run, with the initial ones, if no message recurs."""
    recurring: str = ""
    """A message of an ordered class that can be sent again and again, so that no number of values is enough."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its fields and variables, each once."""
        return tuple(dict.fromkeys(name.rpartition(".")[2] for _, name in self.places))


@dataclass(frozen=True, slots=True)
class Bound:
    """An assumption on messages: each is sent at most so many ticks after it became due."""

    messages: tuple[str, ...]
    ticks: int


@dataclass(frozen=True, slots=True)
class Fairness(Spanned):
    """A condition that holds infinitely often on every run considered, or steps that are taken infinitely often."""

    condition: Term


@dataclass(frozen=True, slots=True)
class Property(Spanned):
    name: str
    title: str | None
    assuming: tuple[str, ...]
    """Role instances, families unrolled, and messages."""
    formula: Term
    expect_holds: bool
    vacuous_quantifiers: tuple[str, ...] = ()
    """Its vacuous quantifiers: without instances, and decisive."""
    constant_implications: tuple[str, ...] = ()
    """Explanations of its implications that a constant makes true."""
    bounds: tuple[Bound, ...] = ()
    """The bounds within which roles and messages act, by assumption."""
    instances: tuple[tuple[str, int], ...] = ()
    """The values of outer loops and universal quantifiers, as `c = Cus[2]`, each with its number of conjuncts."""
    written: str = ""
    """The formula as it is written, in one line."""


@dataclass(frozen=True, slots=True)
class Check(Spanned):
    """One built-in check of the file."""

    name: str
    expect_holds: bool
    assuming: tuple[str, ...] = ()
    """Role instances, families unrolled, and messages."""
    bounds: tuple[Bound, ...] = ()
    """The bounds within which roles and messages act, by assumption."""


@dataclass(frozen=True, slots=True)
class Goal(Spanned):
    """A goal of a participant: a condition on the end of a run, or a formula about the run."""

    meaning: Term
    text: str
    """The text as written; empty in a loop, where it is ambiguous."""

    @property
    def is_about_runs(self) -> bool:
        """Return whether it is a formula about the run."""
        return is_about_runs(self.meaning)


@dataclass(frozen=True, slots=True)
class Worth:
    """The value of sending one of these messages."""

    messages: tuple[str, ...]
    amount: Fraction
    text: str


@dataclass(frozen=True, slots=True)
class Event:
    message: str
    """Empty for silence: none of the messages of the belief is sent."""
    payload: tuple[Value, ...] | None
    """None for any payload."""
    low: Fraction
    high: Fraction
    text: str


@dataclass(frozen=True, slots=True)
class Belief(Spanned):
    role: str
    condition: Term
    """Over what the participant sees."""
    events: tuple[Event, ...]
    within: int | None = None
    """The most ticks from the draw of an outcome until it comes."""


@dataclass(frozen=True, slots=True)
class Decision(Spanned):
    messages: tuple[str, ...]
    condition: Term
    """Over what the participant sees."""


@dataclass(frozen=True, slots=True)
class Participant(Spanned):
    """An `agent … plays …`: its goals, values, beliefs and decisions."""

    name: str
    roles: tuple[str, ...]
    """Role instances, families unrolled."""
    goals: tuple[Goal, ...]
    worth: tuple[Worth, ...]
    beliefs: tuple[Belief, ...]
    decisions: tuple[Decision, ...]


Aspect = Literal["conformance", "achievement", "benefit", "value"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A lower bound on one figure of a participant."""

    aspect: Aspect
    relation: Literal[">", ">="]
    value: Fraction
    text: str


@dataclass(frozen=True, slots=True)
class AnalyzeLine(Spanned):
    """One `analyze`: thresholds that one plan of the participant must meet together."""

    participant: str
    thresholds: tuple[Threshold, ...]
    assuming: tuple[str, ...]
    """The roles and messages that keep going."""
    bounds: tuple[Bound, ...]
    """The bounds within which roles and messages act, by assumption."""
    assumption: str
    """The same as written after `assuming`."""
    expect_holds: bool
    text: str


@dataclass(frozen=True)
class CheckedModel:
    name: str
    title: str | None
    parameters: tuple[tuple[str, Value], ...]
    """The values of the protocol's parameters."""
    sync: bool
    roles: tuple[Role, ...]
    variables: tuple[Variable, ...]
    scopes: tuple[Scope, ...]
    """Outer before inner; the first is the protocol."""
    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]
    commitments: tuple[Commitment, ...]
    unordered: frozenset[tuple[str, str]]
    """Ordered pairs of role instances whose channel holds any number of messages."""
    fairness: tuple[Fairness, ...]
    properties: tuple[Property, ...]
    checks: tuple[Check, ...]
    switched_off: tuple[str, ...] = ()
    """The usual checks that the file switches off."""
    claims: tuple[Claim, ...] = ()
    participants: tuple[Participant, ...] = ()
    analyses: tuple[AnalyzeLine, ...] = ()
    channel_delays: tuple[tuple[tuple[str, str], int], ...] = ()
    """Ordered pairs of role instances, with the most ticks that a message of their channel is in flight."""
    bounds: tuple[Bound, ...] = ()
    """Bounds that a question assumes of this copy of the model; none in the model of a file."""
    is_timed: bool = False
    """True in the copy of the model for a participant whose goals count ticks."""
    powers: tuple[Power, ...] = ()
    tick: int | None = None
    """Nanoseconds of a tick, if the protocol declares them."""
    left_out: int = 0
    """Instances of messages, commitments and claims that are not there, for their two roles are the same."""
    data: tuple[DataClass, ...] = ()
    """The classes of places of types with any number of values."""
    blocks: tuple[KeyedBlock, ...] = ()
    """The blocks with keys."""

    @cached_property
    def message(self) -> dict[str, Message]:
        return {message.name: message for message in self.messages}

    @cached_property
    def commitment(self) -> dict[str, Commitment]:
        return {commitment.name: commitment for commitment in self.commitments}

    @property
    def has_data(self) -> bool:
        """Return whether a field or variable has any number of values."""
        fields = (one for message in self.messages for one in message.parameters)
        return any(one.data for one in fields) or any(one.data for one in self.variables)

    @cached_property
    def ordered_amounts(self) -> dict[str, tuple[str, ...]]:
        """The amounts, in ascending order, of each variable or field of a message that is compared by order."""
        return {
            f"{message}.{name}" if message else name: tuple(sorted(one.values, key=number_in))
            for one in self.data
            if one.is_ordered
            for message, name in one.places
        }

    @cached_property
    def key_of(self) -> dict[str, Key]:
        """Each message, commitment, claim and variable of an instance of a block with a key, with that instance."""
        keys = {one.name: one.key for one in self.scopes if one.key is not None}
        scopes = {one.name: one.scope for one in self.messages} | {one.name: one.scope for one in self.variables}
        scopes |= {one.name: one.scope for one in self.commitments_and_claims}
        return {name: keys[scope] for name, scope in scopes.items() if scope in keys}

    @cached_property
    def about_runs(self) -> frozenset[str]:
        """The commitments whose content is a formula about runs."""
        return frozenset(c.name for c in self.commitments if is_about_runs(c.consequent))

    @cached_property
    def has_ticks(self) -> bool:
        """Return whether time passes: something has a deadline, or a content counts ticks."""
        timed = (c.within is not None or c.expires is not None for c in self.commitments)
        return (
            self.is_timed
            or any(timed)
            or bool(self.ages or self.channel_delays or self.bounds)
            or any(map(counts_ticks, (*(c.consequent for c in self.commitments), *(c.content for c in self.claims))))
        )

    @cached_property
    def delays(self) -> dict[tuple[str, str], int]:
        """The most ticks that a message is in flight, by sender and receiver; none where messages take no time."""
        return {} if self.sync else dict(self.channel_delays)

    @cached_property
    def ages(self) -> dict[tuple[str, str], int]:
        """Each role and subject of an age in its guards, with the number of ticks at which counting may stop."""
        limits: dict[tuple[str, str], int] = {}
        for message in self.messages:
            for name, compared in ages_in(message.guard):
                key = message.sender, name
                limits[key] = max(limits.get(key, 1), compared + 1)
        return limits

    @cached_property
    def claim(self) -> dict[str, Claim]:
        return {claim.name: claim for claim in self.claims}

    @cached_property
    def commitments_and_claims(self) -> tuple[Commitment | Claim, ...]:
        """The subjects with a lifecycle state: the commitments, then the claims."""
        return (*self.commitments, *self.claims)

    @cached_property
    def parties(self) -> dict[str, tuple[str, str]]:
        """Debtor and creditor of every commitment, each a role or a group; maker and addressee of every claim."""
        parties = {commitment.name: (commitment.debtor, commitment.creditor) for commitment in self.commitments}
        return parties | {claim.name: (claim.maker, claim.addressee) for claim in self.claims}

    @cached_property
    def members(self) -> dict[str, tuple[str, ...]]:
        """The roles on both sides of every commitment and claim, which have a view of it."""
        return {name: tuple(role for side in sides for role in members(side)) for name, sides in self.parties.items()}

    @cached_property
    def subjects_of_moves(self) -> frozenset[str]:
        """The commitments and claims with a standing: some message makes a move on them."""
        operations = (operation for message in self.messages for operation in message.operations)
        return frozenset(operation.commitment for operation in operations if operation.verb in STANDING_OF)

    @cached_property
    def fact(self) -> dict[str, Fact]:
        return {fact.name: fact for fact in self.facts}

    @cached_property
    def meanings(self) -> dict[str, Term]:
        """The meaning of each fact."""
        return {fact.name: fact.meaning for fact in self.facts}

    @cached_property
    def variable(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    @cached_property
    def role(self) -> dict[str, Role]:
        return {role.name: role for role in self.roles}


def waits_for(operations: Iterable[Operation], commitments: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return for each commitment its possible successors after a delegation `retaining`, transitively.

    After a transfer without `retaining`, commitments that waited for this one wait for its successor.
    """
    delegates: dict[str, dict[str, None]] = {}
    successors: dict[str, list[str]] = {}
    for operation in operations:
        if operation.target is not None and operation.retaining:
            delegates.setdefault(operation.commitment, {})[operation.target] = None
        elif operation.target is not None:
            successors.setdefault(operation.commitment, []).append(operation.target)
    ordered = tuple(commitments)
    targets_of: dict[str, tuple[str, ...]] = {}
    for name in ordered:
        if targets := delegates.get(name):
            pending = list(targets)
            while pending:
                new = [one for one in successors.get(pending.pop(), ()) if one not in targets]
                targets.update(dict.fromkeys(new))
                pending += new
            targets_of[name] = tuple(other for other in ordered if other in targets)
    return targets_of
