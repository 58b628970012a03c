"""Interpreted systems: variables, agents, guarded steps, fairness. Engines and exporters work on these alone.

A state assigns each variable a value of its domain. A step changes the state; steps are interleaved, and every state
also has an idle step that changes nothing. A formula is evaluated over the states reachable from the initial ones. Runs
are infinite. A run is fair if it satisfies every `Justice` constraint that is unconditional or assumed, and every
condition of `fairness` and of `recurring` infinitely often. Fairness may exclude every run from a state only if there
are such conditions, or steps that must recur although something can disable them (`may_lack_fair_runs`).

A synchronous system has no steps; its players act together in rounds (`cplc.system.synchronous`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import Literal

from cplc.language.groups import Answerable, answerable_text, members
from cplc.logic.expressions import FALSE, TRUE, Const, Expr, Value, conj, disj, negate, reads
from cplc.logic.formulas import Regardless
from cplc.records import dataclass
from cplc.source import Span
from cplc.system.synchronous import Player

State = dict[str, Value]


VariableKind = Literal[
    "copy",        # a role's copy of a message: truth value "it is there"
    "field",       # a payload value in such a copy; its first value where the message is not there
    "parity",      # the alternating bit in a copy of a repeatable message
    "own",         # a role's own variable
    "commitment",  # the lifecycle state that Env keeps
    "claim",       # the state of a claim that Env keeps
    "view",        # the lifecycle state as debtor or creditor sees it
    "standing",    # the last move on an open commitment or claim, by any side; `unanswered` where there is none
    "argument",    # the claim that this move was made with, or "none"
    "last",        # the last move of one side, or "none" where that does not bind it; only if a question asks
    "age",         # ticks since something open was created, as a role counts them up to what its guards tell apart
    "clock",       # ticks since a deadline began to run
    "flight",      # ticks that a message has been in flight, up to the delay of its channel
    "transit",     # on a channel that may lose or duplicate messages: the message is in flight
    "queue",       # the message in one place of the queue of a channel, or "no message"
    "queued",      # a payload value in such a place; its first value where no such message is there
    "losses",      # losses of a message since it last arrived, where their number in a row is bounded
    "duplicates",  # duplicates of the last sending that may still be made
    "due",         # ticks since a message became due, 0 where it is not; for bounds that a question assumes
    "remaining",   # ticks that remain of a deadline that was copied from a payload; 0 where none is ahead
    "former",      # what a pending commitment was before
    "follows",     # the commitment that a retaining one waits for, or "none"
    "monitor",     # what was seen so far of a content about runs: the state of its monitor
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    domain: tuple[Value, ...]
    initial: tuple[Value, ...]
    """Possible initial values; several for an uninitialised variable."""
    kind: VariableKind
    owner: str
    """The agent whose local state contains it; ``Env`` if no agent observes it."""
    about: str
    """The message, own variable or commitment it belongs to."""


@dataclass(frozen=True, slots=True)
class Agent:
    name: str
    family: str
    local: tuple[str, ...]
    """The variables of its local state."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A variable shared by two agents, with the copy of each."""

    first: str
    second: str
    at_first: str
    at_second: str


@dataclass(frozen=True, slots=True)
class Message:
    name: str
    sender: str
    receivers: tuple[str, ...]
    parameters: tuple[str, ...]
    sent: Expr
    """The sender's copy is set."""
    received: Expr
    """It has taken effect: the copy of the receiver is set, or of the first one to receive it."""
    in_flight: Expr
    """Some receiver has not received it yet."""
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def roles(self) -> tuple[str, ...]:
        """The sender and the receivers."""
        return (self.sender, *self.receivers)

    @property
    def has_several_receivers(self) -> bool:
        return len(self.receivers) > 1

    @property
    def channel_text(self) -> str:
        """The sender and the receivers as written in a file."""
        return f"{self.sender} -> {', '.join(self.receivers)}"


@dataclass(frozen=True, slots=True)
class Commitment:
    name: str
    debtor: str
    creditor: str
    variable: str
    """Variable of its lifecycle state."""
    antecedent: Expr
    consequent: Expr
    """The condition that fulfils it; false if the content is a path formula."""
    within: int | None
    """Ticks after which it is violated while active; the largest number if a payload determines it."""
    expires: int | None
    """Ticks after which it expires while conditional; the largest number if a payload determines it."""
    views: tuple[tuple[str, str], ...] = ()
    """Role and variable of each view."""
    content: str = ""
    """Source of the promised path formula; empty for a condition."""
    on_course: Expr = FALSE
    """It is in force, and its content holds if nothing more happens; false for a condition."""
    answerable: Answerable = "all"
    """Which members of a group of debtors can be held to it."""
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def parties(self) -> tuple[str, str]:
        """The debtor and the creditor, each a role or a group, see `cplc.language.groups`."""
        return self.debtor, self.creditor

    @property
    def debtors(self) -> tuple[str, ...]:
        return members(self.debtor)

    @property
    def answerable_text(self) -> str:
        """The debtors who are answerable, in words."""
        return answerable_text(self.debtor, self.answerable)

    @property
    def creditors(self) -> tuple[str, ...]:
        return members(self.creditor)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of one agent to another in their dialogue."""

    name: str
    maker: str
    addressee: str
    variable: str
    """The variable of its state."""
    content: Expr
    """The condition that decides it when it is made; none if the content is a path formula."""
    views: tuple[tuple[str, str], ...] = ()
    """Role and variable of each view."""
    formula: str = ""
    """Source of the content, if it is a path formula."""
    on_course: Expr = FALSE
    """It is open, and its content holds if nothing more happens."""
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def parties(self) -> tuple[str, str]:
        """The maker and the addressee."""
        return self.maker, self.addressee


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a step on a commitment or claim; it takes effect where ``applicable`` holds."""

    verb: str
    commitment: str
    """The commitment or claim that it is performed on."""
    target: str | None
    """The new debtor or creditor, or the claim used as an argument."""
    applicable: Expr
    """Over the state before the step."""
    state_before: Expr
    """The lifecycle state before the step."""
    joined: str = ""
    """The word before the target, if there is one."""
    retaining: bool = False
    """True if a delegation leaves the debtor liable."""

    @property
    def act(self) -> str:
        """The operation in source syntax."""
        joined = f" {self.joined} {self.target}" if self.target is not None else ""
        return f"{self.verb} {self.commitment}{joined}"


@dataclass(frozen=True, slots=True)
class Power:
    """An operation on a commitment that a third party may perform."""

    role: str
    verb: str
    commitment: str


StepKind = Literal["send", "receive", "exchange", "lose", "duplicate", "restart", "tick"]


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """A variable with an open value: that of a copy or queue, which is there where ``flag`` is ``present``."""

    variable: str
    flag: str = ""
    """Empty if its value is always there."""
    present: bool | str = True


@dataclass(frozen=True, slots=True)
class OpenDomain:
    """Variables of a type with any number of values, of which the values of their domains stand for all."""

    type: str
    name: str
    """The names of its fields and variables, as in reports."""
    places: tuple[OpenPlace, ...]
    constants: tuple[str, ...]
    """The values that the protocol names."""
    free: tuple[str, ...]
    """The values that stand for all others."""
    is_ordered: bool = False
    """Amounts that are compared by order; the values that stand for others are in ascending order."""
    choices: int = 0
    """The largest number of its values that are chosen on a run, where they are ordered."""


@dataclass(frozen=True, slots=True)
class BoundedMessage:
    """A message that is sent within some ticks by assumption."""

    name: str
    sender: str
    overdue: Expr
    """It can be sent, and its age has reached the bound: the clock waits for it."""


@dataclass(frozen=True)
class Step:
    """One guarded step. All updates read the state before it; other variables keep their values."""

    name: str
    """Unique, for people: ``send pay[1]``, ``receive bid[2](3)``, ``restart Cus[1]``, ``tick``."""
    kind: StepKind
    actor: str
    """The agent who takes it; ``Env`` for losses, duplicates, restarts and ticks."""
    event: str
    """The message, or the scope that restarts; empty for a tick."""
    payload: tuple[tuple[str, Value], ...]
    """The values sent; empty on receipt, where they are read from the sender's copy."""
    guard: Expr
    updates: tuple[tuple[str, Expr], ...]
    free: tuple[str, ...] = ()
    """Variables that take any of their initial values (restarts of uninitialised ones)."""
    operations: tuple[Operation, ...] = ()
    parts: tuple[tuple[str, bool], ...] = ()
    """The changes that divide a step (`cplc.lowering.lifecycle`), and whether this part of it makes them."""
    is_further: bool = False
    """A receipt of a message that has taken effect: another receiver has received it, or it is a duplicate."""
    is_duplicate: bool = False
    """A receipt of a duplicate, which has no effect but on variables of the receiver."""
    unbounded: Expr | None = None
    """The guard without the bounds on sends that the question assumes; None where these change nothing."""
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_effect(self) -> bool:
        """Return whether a message takes effect in it."""
        return self.kind == "exchange" or (self.kind == "receive" and not self.is_further)

    @property
    def writes(self) -> frozenset[str]:
        return frozenset([name for name, _ in self.updates]).union(self.free)

    def takes_back(self, variable: str) -> bool:
        """Return whether it is a restart that resets this variable of a commitment or claim."""
        return self.kind == "restart" and dict(self.updates).get(variable) == Const("null")

    @cached_property
    def footprint(self) -> frozenset[str]:
        """The variables it reads or writes."""
        variables = set(reads(self.guard)) | self.writes
        for _, value in self.updates:
            variables |= reads(value)
        return frozenset(variables)


@dataclass(frozen=True, slots=True)
class Justice:
    """Weak fairness: if from some point on some of these steps is enabled, or due, in every state, one is taken."""

    name: str
    steps: tuple[int, ...]
    """Positions in the system's steps."""
    role: str | None
    """The sender that must be assumed to keep going; None if the constraint is unconditional."""
    due: Expr | None = None
    """The condition that one of them is due: true if one must recur, None if they are due where they are enabled."""
    is_condition: bool = False
    """True if it holds on runs restricted to other steps too, of which it leaves none; other constraints do not."""

    @property
    def message(self) -> str:
        """The message that it is about, if it is about one."""
        return self.name.partition(" ")[2]

    @property
    def recurs(self) -> bool:
        """Return whether one of the steps must be taken infinitely often, enabled or not."""
        return self.due == TRUE


def terminal(steps: Iterable[Step]) -> Expr:
    """Return the condition that no send, receipt or restart is enabled."""
    return conj(negate(step.guard) for step in steps if step.kind != "tick")


@dataclass(frozen=True)
class System:
    name: str
    header: tuple[tuple[str, str], ...]
    """Origin: protocol, parameters, kind of channels."""
    variables: tuple[Variable, ...]
    agents: tuple[Agent, ...]
    shared: tuple[Shared, ...]
    messages: tuple[Message, ...]
    commitments: tuple[Commitment, ...]
    steps: tuple[Step, ...]
    justice: tuple[Justice, ...]
    fairness: tuple[Expr, ...]
    hazards: tuple[tuple[str, Expr, Span | None], ...] = ()
    """States that the system must not reach, each with the error there (an assignment out of range)."""
    claims: tuple[Claim, ...] = ()
    players: tuple[Player, ...] = ()
    start: Expr = TRUE
    """Condition on the initial states, besides the initial values of variables."""
    tick: int | None = None
    """Nanoseconds of a tick, if the protocol declares them; for reports alone."""
    recurring: tuple[Regardless, ...] = ()
    """Fairness conditions that are no state conditions; in synchronous systems alone."""
    bounded: tuple[BoundedMessage, ...] = ()
    """The messages whose bounds stop the clock; they are part of the guards already."""
    powers: tuple[Power, ...] = ()
    """Powers of third parties; for reports and drawings alone, since every operation of a step is permitted."""
    open_domains: tuple[OpenDomain, ...] = ()
    """The domains whose values stand for any number; for reports, and for monitors of logs with others."""
    keys: tuple[tuple[str, str], ...] = ()
    """Each message, commitment, claim and variable in a block with a key, without indices, with that key; for logs."""

    def empowered(self, step: Step, commitment: str) -> str | None:
        """Return the third party by whose power the step changes the commitment; None if a party does."""
        one = self.commitment.get(commitment) if self.powers else None
        if one is None or not step.is_effect:
            return None
        sender = self.message[step.event].sender
        if sender in (*one.debtors, *one.creditors):
            return None
        verbs = {operation.verb for operation in step.operations if operation.commitment == commitment}
        return sender if any(Power(sender, verb, commitment) in self.powers for verb in verbs) else None

    @property
    def bits(self) -> int:
        """The size of a packed state."""
        return sum((len(variable.domain) - 1).bit_length() for variable in self.variables)

    @property
    def conditions(self) -> tuple[Expr | Regardless, ...]:
        """All fairness conditions."""
        return (*self.fairness, *self.recurring)

    @property
    def without_conditions(self) -> System:
        """The same system without fairness conditions."""
        return replace(
            self,
            fairness=(),
            recurring=(),
            justice=tuple(replace(one, due=None) if one.recurs else one for one in self.justice),
        )

    @property
    def is_synchronous(self) -> bool:
        """Return whether all players act together in rounds, without idle steps."""
        return bool(self.players)

    @property
    def has_idle_step(self) -> bool:
        """Return whether every state has an idle step; otherwise a state without successors is a deadlock."""
        return not self.players

    @property
    def excludes_unfair_states(self) -> bool:
        """Return whether states from which no fair run begins are neither initial nor considered by any agent."""
        return bool(self.conditions) and not self.has_idle_step

    @cached_property
    def player(self) -> dict[str, Player]:
        """Each player by the name of its choice."""
        return {player.choice: player for player in self.players}

    @cached_property
    def variable(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    @cached_property
    def agent(self) -> dict[str, Agent]:
        return {agent.name: agent for agent in self.agents}

    @cached_property
    def message(self) -> dict[str, Message]:
        return {message.name: message for message in self.messages}

    @cached_property
    def commitment(self) -> dict[str, Commitment]:
        return {commitment.name: commitment for commitment in self.commitments}

    @cached_property
    def claim(self) -> dict[str, Claim]:
        return {claim.name: claim for claim in self.claims}

    @property
    def assumable(self) -> frozenset[str]:
        """The roles and messages that some justice constraint is assumed for."""
        assumed = (one for one in self.justice if one.role is not None)
        return frozenset(name for one in assumed for name in (one.role, one.message) if name)

    @property
    def due_conditions(self) -> tuple[Expr, ...]:
        """The conditions of justice constraints that do not wait for enabled steps alone."""
        return tuple(justice.due for justice in self.justice if justice.due is not None)

    @cached_property
    def terminal(self) -> Expr:
        return terminal(self.steps)

    @cached_property
    def may_lack_fair_runs(self) -> bool:
        """Return whether some state may begin no fair run.

        Justice alone never excludes every run: see `cplc.checking.realizability`.
        """
        return bool(self.conditions) or any(justice.recurs for justice in self.justice)

    @property
    def clock_may_stop(self) -> bool:
        """Return whether something can stop the clock, so that timelocks are possible."""
        return any(one.recurs and not one.is_condition for one in self.justice)

    @cached_property
    def without_file_conditions(self) -> System:
        """The same system where time must pass, without the conditions of ``fairness``."""
        justice = tuple(one for one in self.justice if not one.is_condition)
        if not self.conditions and len(justice) == len(self.justice):
            return self
        return replace(self, fairness=(), recurring=(), justice=justice)

    def bounded_members(self, group: Iterable[str]) -> frozenset[str]:
        """Return the members of the group that send bounded messages."""
        return frozenset(group).intersection(message.sender for message in self.bounded)

    def played_by(self, members: frozenset[str]) -> System:
        """Return the system without the bounds on messages of these agents, who may refuse to send them."""
        in_time = [negate(message.overdue) for message in self.bounded if message.sender not in members]

        def free(step: Step) -> Step:
            if step.unbounded is None or not (step.kind == "tick" or step.actor in members):
                return step
            return replace(step, guard=conj((step.unbounded, *in_time)) if step.kind == "tick" else step.unbounded)

        return replace(self, steps=tuple(map(free, self.steps)))

    def without_bounds_on(self, names: frozenset[str]) -> System:
        """Return the system in which the clock does not wait for these messages, nor do later ones of their senders."""
        senders = frozenset(message.sender for message in self.bounded if message.name in names)
        in_time = [negate(message.overdue) for message in self.bounded if message.name not in names]

        def free(step: Step) -> Step:
            if step.unbounded is None or not (step.kind == "tick" or step.actor in senders):
                return step
            return replace(step, guard=conj((step.unbounded, *in_time)) if step.kind == "tick" else step.unbounded)

        return replace(self, steps=tuple(map(free, self.steps)))

    def waiting(self, justice: Justice) -> Expr:
        """Return where the constraint waits for one of its steps."""
        return disj(self.steps[index].guard for index in justice.steps) if justice.due is None else justice.due

    def shared_between(self, first: str, second: str) -> tuple[tuple[str, str], ...]:
        """Return the copies at ``first`` and at ``second`` of each variable that the two share."""
        return tuple(
            (pair.at_first, pair.at_second) if pair.first == first else (pair.at_second, pair.at_first)
            for pair in self.shared
            if {pair.first, pair.second} == {first, second}
        )

    def constraints(self, assuming: frozenset[str], allowed: Container[int] | None = None) -> tuple[Justice, ...]:
        """Return the justice constraints in force if these roles keep going, or the senders of these messages.

        On runs restricted to the ``allowed`` steps only these count, and only where they are enabled: what would make a
        due step possible may not be allowed.
        """
        in_force = tuple(
            one for one in self.justice if one.role is None or not assuming.isdisjoint((one.role, one.message))
        )
        if allowed is None:
            return in_force
        restricted = (
            replace(
                one,
                steps=tuple(step for step in one.steps if step in allowed),
                due=TRUE if one.recurs else None,
            )
            for one in in_force
        )
        return tuple(one for one in restricted if one.steps or one.is_condition)

    def problems(self) -> Iterator[str]:
        """Yield every violation of well-formedness."""
        from cplc.system.invariants import problems

        yield from problems(self)
