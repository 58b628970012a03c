"""What is known of all commitments and claims before any step is built: who keeps them, and what can become of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from cplc.lowering import dialogue
from cplc.lowering.variable_names import kept_by
from cplc.records import dataclass
from cplc.semantics.model import CheckedModel, Claim, Commitment, Operation, waits_for
from cplc.semantics.terms import Age, Apply, FactRef, InState, Stands, Term, Value, is_about_runs, state_parts
from cplc.system.standings import NOTHING, argument_of, last_move_of, standing_of

if TYPE_CHECKING:
    from cplc.semantics.run_contents import Content

OPEN = ("conditional", "active", "pending")
CLOSED = (
    "fulfilled", "violated", "withdrawn", "released", "expired", "delegated", "assigned", "compensated",
)  # fmt: skip
STATES = ("null", *OPEN, *CLOSED)
LIVE = ("conditional", "active")
"""The states that can be delegated, assigned and suspended."""


@dataclass(frozen=True)
class Kept:
    """What one keeper has of commitments and claims, and the domains of its variables."""

    commitments: frozenset[str]
    clocks: Mapping[str, tuple[Value, ...]]
    others: Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class Book:
    """What is known of all commitments and claims before any step is built: which can do what, who depends on whom."""

    model: CheckedModel
    viewers: dict[str | None, frozenset[str]]
    """Keeper (None for `Env`) to the commitments and claims it keeps."""
    possible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The lifecycle states a commitment or claim may ever be in."""
    retained: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Commitment to those it may wait for after being delegated `retaining`."""
    suspended: frozenset[str] = frozenset()
    """Commitments that may be pending."""
    standings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is moved on to the standings it may have."""
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is moved on to the claims of arguments about it, where its standing does not say which one was used."""
    last_moves: Mapping[str, Mapping[str, Mapping[dialogue.Move, str]]] = field(default_factory=dict)
    """What is moved on to the sides whose own last move is remembered: each move that binds, and how it is kept."""
    contents: Mapping[str, Content] = field(default_factory=dict)
    """Commitments that are about runs, and what they promise; claims, and what they say."""

    def variables(self, commitment: str, keeper: str | None) -> Iterable[tuple[str, str, tuple[Value, ...]]]:
        """Yield name, kind and domain of every variable that the keeper has of the commitment or claim."""
        name = kept_by(commitment, keeper)
        declared = self.model.commitment.get(commitment)
        kind = "claim" if declared is None else "commitment"
        yield name, kind if keeper is None else "view", self.possible[commitment]
        if possible := self.standings.get(commitment):
            yield standing_of(name), "standing", possible
        if keeper is not None and (keeper, commitment) in self.model.ages:
            yield age_of(name), "age", tuple(range(self.model.ages[keeper, commitment] + 1))
        if keeper is None and (argued := self.arguments.get(commitment)):
            yield argument_of(name), "argument", (NOTHING, *argued)
        for role, moves in self.last_moves.get(commitment, {}).items() if keeper is None else ():
            yield last_move_of(name, role), "last", (NOTHING, *moves.values())
        if commitment in self.contents and len(domain := self.monitor_states(commitment)) > 1:
            yield monitor_of(name), "monitor", domain
        if declared is None:
            return
        if deadlines := [k for k in (declared.within, declared.expires) if k is not None]:
            yield clock_of(name), "clock", tuple(range(max(deadlines)))
        if commitment in self.suspended:
            yield former_of(name), "former", LIVE
        if targets := self.retained.get(commitment):
            yield follows_of(name), "follows", ("none", *targets)

    def monitor_states(self, name: str) -> tuple[int, ...]:
        """Return the states that its monitor may be in between steps: a verdict waits only while pending."""
        monitor = self.contents[name].monitor
        may_wait = name in self.suspended and False in monitor.decided
        return tuple(range(max(1, monitor.open_states + may_wait)))

    @cached_property
    def kept(self) -> dict[str | None, Kept]:
        """What each keeper keeps."""
        return {keeper: self._kept(keeper, commitments) for keeper, commitments in self.viewers.items()}

    def _kept(self, keeper: str | None, commitments: frozenset[str]) -> Kept:
        clocks: dict[str, tuple[Value, ...]] = {}
        others: dict[str, tuple[Value, ...]] = {}
        for commitment in commitments:
            for name, kind, domain in self.variables(commitment, keeper):
                (clocks if kind in ("clock", "age") else others)[name] = domain
        return Kept(commitments, clocks, others)


def clock_of(name: str) -> str:
    return f"{name}.clock"


def age_of(name: str) -> str:
    return f"{name}.age"


def former_of(name: str) -> str:
    return f"{name}.former"


def follows_of(name: str) -> str:
    return f"{name}.follows"


def monitor_of(name: str) -> str:
    return f"{name}.monitor"


def make_book(
    model: CheckedModel, viewers: dict[str | None, frozenset[str]], recalled: Iterable[tuple[str, str]] = ()
) -> Book:
    """Read off the operations what can become of each commitment; remember the last moves of these roles on these."""
    operations = [operation for message in model.messages for operation in message.operations]
    involving: dict[str, list[Operation]] = {name: [] for name in model.parties}
    for operation in operations:
        involving[operation.commitment].append(operation)
        if operation.target is not None and operation.target != operation.commitment:
            involving[operation.target].append(operation)
    retained = waits_for(operations, model.commitment)
    suspended = {operation.commitment for operation in operations if operation.verb == "suspend"} | set(retained)
    contents = {
        name: _compiled(c.consequent, model) for name, c in model.commitment.items() if name in model.about_runs
    }
    contents |= {claim.name: _compiled(claim.content, model) for claim in model.claims}
    breakable = {name for name, content in contents.items() if False in content.monitor.decided}
    possible = {
        name: _possible(commitment, involving[name], name in suspended, name in retained, name in breakable)
        for name, commitment in model.commitment.items()
    }
    possible |= {
        claim.name: dialogue.possible_states(claim, involving[claim.name], contents[claim.name].monitor.decided)
        for claim in model.claims
    }
    moved_on = {name: dialogue.standings(name, involving[name]) for name in model.moved_on}
    arguments = {name: dialogue.arguments(name, involving[name]) for name in model.moved_on}
    last_moves: dict[str, dict[str, dict[dialogue.Move, str]]] = {}
    for role, name in sorted(recalled):
        last_moves.setdefault(name, {})[role] = dialogue.last_moves(model, name)[role]
    return Book(model, viewers, possible, retained, frozenset(suspended), moved_on, arguments, last_moves, contents)


def _compiled(content: Term, model: CheckedModel) -> Content:
    from cplc.semantics.run_contents import compiled

    return compiled(content, model)


def _possible(
    commitment: Commitment, operations: list[Operation], can_wait: bool, follows: bool, breakable: bool
) -> tuple[str, ...]:
    verbs = {operation.verb for operation in operations if operation.commitment == commitment.name}
    born = "create" in verbs or any(operation.target == commitment.name for operation in operations)
    if not born:
        return ("null",)
    found = {"null", "conditional", "active", "fulfilled"}
    if can_wait:
        found.add("pending")
    if (
        breakable
        or "violate" in verbs
        or commitment.within is not None
        or ("withdraw" in verbs and not commitment.revocable)
    ):
        found.add("violated")
    if "withdraw" in verbs:
        found.add("withdrawn")
    if "release" in verbs or follows:
        found.add("released")
    if "expire" in verbs or commitment.expires is not None:
        found.add("expired")
    if any(o.verb == "delegate" and not o.retaining for o in operations if o.commitment == commitment.name):
        found.add("delegated")
    if "assign" in verbs:
        found.add("assigned")
    if "compensate" in verbs:
        found.add("compensated")
    return tuple(state for state in STATES if state in found)


def conditions_of(declared: Commitment | Claim) -> tuple[Term, ...]:
    """Return the conditions that the automatic rules look at."""
    match declared:
        case Commitment(antecedent=antecedent, consequent=consequent) if is_about_runs(consequent):
            return antecedent, *state_parts(consequent)
        case Commitment():
            return declared.antecedent, declared.consequent
        case Claim():
            return tuple(state_parts(declared.content)) if is_about_runs(declared.content) else (declared.content,)


def depends_on(book: Book, name: str) -> tuple[str, ...]:
    """Return the commitments and claims whose state the automatic rules of this one look at."""
    declared = book.model.commitment.get(name) or book.model.claim[name]
    mentioned = (state for term in conditions_of(declared) for state in states_in(term, book.model))
    return tuple(dict.fromkeys((*mentioned, *book.retained.get(name, ()))))


def states_in(term: Term, model: CheckedModel) -> Iterable[str]:
    """Yield the commitments and claims whose lifecycle state the term mentions."""
    match term:
        case InState(commitment) | Stands(commitment) | Age(commitment):
            yield commitment
        case FactRef(fact):
            yield from states_in(model.fact[fact].meaning, model)
        case Apply(_, operands):
            for operand in operands:
                yield from states_in(operand, model)
        case _:
            pass
