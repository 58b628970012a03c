"""Static analysis of life cycles: the observers, possible states and dependencies of commitments and claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from cplc.language import lifecycle as table
from cplc.language.lifecycle import STANDING_OF, UNANSWERED
from cplc.lowering.variable_names import (
    age_variable,
    clock_variable,
    follows_variable,
    former_variable,
    monitor_variable,
    remaining_variable,
    state_variable,
)
from cplc.records import dataclass
from cplc.semantics.model import CheckedModel, Claim, Commitment, Operation, waits_for
from cplc.semantics.terms import Age, InState, Social, Stands, Term, Value, is_about_runs, state_parts, subterms
from cplc.system.commitments import NOTHING, argument_of, last_move_of, standing_of

if TYPE_CHECKING:
    from cplc.semantics.run_contents import Content


Move = tuple[str, str | None]
"""A move: its verb, and the claim of an argument."""

_ANSWERS: Final = ("accept", "refuse")
"""The moves without an argument that bind to what a claim says, or to the contrary."""


@dataclass(frozen=True)
class ObserverVariables:
    """The commitments and claims that an observer has variables of, and the domains of these variables."""

    commitments: frozenset[str]
    clocks: Mapping[str, tuple[Value, ...]]
    discrete: Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class LifecycleAnalysis:
    """The observers, possible lifecycle states and dependencies of all commitments and claims."""

    model: CheckedModel
    observers: dict[str | None, frozenset[str]]
    """Observer (None for `Env`) to the commitments and claims that it has variables of."""
    possible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The lifecycle states a commitment or claim may ever be in."""
    retained: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Commitment to those it may wait for after being delegated `retaining`."""
    suspended: frozenset[str] = frozenset()
    """Commitments that may be pending."""
    standings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Commitment or claim with moves on it to its possible standings."""
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Commitment or claim to the claims of arguments about it, where its standing does not determine the claim."""
    last_moves: Mapping[str, Mapping[str, Mapping[Move, str]]] = field(default_factory=dict)
    """Commitment or claim to the sides whose own last move has a variable: each binding move with its value."""
    contents: Mapping[str, Content] = field(default_factory=dict)
    """The contents of commitments about runs, and of claims."""

    def variables(self, commitment: str, observer: str | None) -> Iterable[tuple[str, str, tuple[Value, ...]]]:
        """Yield name, kind and domain of the observer's variables of a commitment or claim."""
        name = state_variable(commitment, observer)
        declared = self.model.commitment.get(commitment)
        kind = "claim" if declared is None else "commitment"
        yield name, kind if observer is None else "view", self.possible[commitment]
        if possible := self.standings.get(commitment):
            yield standing_of(name), "standing", possible
        if observer is not None and (observer, commitment) in self.model.ages:
            yield age_variable(name), "age", tuple(range(self.model.ages[observer, commitment] + 1))
        if observer is None and (argued := self.arguments.get(commitment)):
            yield argument_of(name), "argument", (NOTHING, *argued)
        for role, moves in self.last_moves.get(commitment, {}).items() if observer is None else ():
            yield last_move_of(name, role), "last", (NOTHING, *moves.values())
        if commitment in self.contents and len(domain := self.monitor_states(commitment)) > 1:
            yield monitor_variable(name), "monitor", domain
        if declared is None:
            return
        if deadlines := [k for k in (declared.within, declared.expires) if isinstance(k, int)]:
            yield clock_variable(name), "clock", tuple(range(max(deadlines)))
        for clause, deadline in declared.payload_deadlines:
            yield remaining_variable(name, clause), "remaining", tuple(range(deadline.longest + 1))
        if commitment in self.suspended:
            yield former_variable(name), "former", table.LIVE
        if targets := self.retained.get(commitment):
            yield follows_variable(name), "follows", ("none", *targets)

    def monitor_states(self, name: str) -> tuple[int, ...]:
        """Return the states of its monitor between steps: a verdict is delayed only while pending."""
        monitor = self.contents[name].monitor
        may_wait = name in self.suspended and False in monitor.decided
        return tuple(range(max(1, monitor.open_states + may_wait)))

    @cached_property
    def observer_variables(self) -> dict[str | None, ObserverVariables]:
        """The variables of each observer."""
        return {
            observer: self._observer_variables(observer, commitments)
            for observer, commitments in self.observers.items()
        }

    def _observer_variables(self, observer: str | None, commitments: frozenset[str]) -> ObserverVariables:
        clocks: dict[str, tuple[Value, ...]] = {}
        discrete: dict[str, tuple[Value, ...]] = {}
        for commitment in commitments:
            for name, kind, domain in self.variables(commitment, observer):
                (clocks if kind in ("clock", "remaining", "age") else discrete)[name] = domain
        return ObserverVariables(commitments, clocks, discrete)


def analyse_lifecycles(
    model: CheckedModel, observers: dict[str | None, frozenset[str]], recalled: Iterable[tuple[str, str]] = ()
) -> LifecycleAnalysis:
    """Compute the possible states from the operations; ``recalled`` are roles and subjects of last moves to record."""
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
        claim.name: _possible_claim_states(claim, involving[claim.name], contents[claim.name].monitor.decided)
        for claim in model.claims
    }
    subjects_of_moves = {name: _possible_standings(name, involving[name]) for name in model.subjects_of_moves}
    arguments = {name: _arguments(name, involving[name]) for name in model.subjects_of_moves}
    moves_by_side: dict[str, dict[str, dict[Move, str]]] = {}
    for role, name in sorted(recalled):
        moves_by_side.setdefault(name, {})[role] = last_moves(model, name)[role]
    return LifecycleAnalysis(
        model,
        observers,
        possible,
        retained,
        frozenset(suspended),
        subjects_of_moves,
        arguments,
        moves_by_side,
        contents,
    )


def _compiled(content: Term, model: CheckedModel) -> Content:
    from cplc.semantics.run_contents import compiled

    return compiled(content, model)


def _possible(
    commitment: Commitment, operations: list[Operation], can_wait: bool, follows: bool, breakable: bool
) -> tuple[str, ...]:
    """Return the lifecycle states that a commitment may reach: the targets of the transitions that may occur."""
    own = {(operation.verb, operation.retaining) for operation in operations if operation.commitment == commitment.name}
    if ("create", False) not in own and all(operation.target != commitment.name for operation in operations):
        return ("null",)
    reachable = {"null", *table.LIVE, "fulfilled", *(["pending"] if can_wait else [])}
    reachable |= {row.target for verb, retaining in own for row in operation_rows(verb, retaining, commitment)}
    for rule in table.RULES:
        by_successor = follows and bool(rule.successor)
        by_time = rule in table.DEADLINES and getattr(commitment, rule.when) is not None
        if rule.of == table.COMMITMENT and (by_successor or by_time or (breakable and rule.when == "content false")):
            reachable.add(rule.target)
    return tuple(state.name for state in table.COMMITMENT_STATES if state.name in reachable)


def operation_rows(verb: str, retaining: bool, commitment: Commitment) -> Iterator[table.Transition]:
    """Yield the transitions of an operation on a commitment, by its declaration."""
    for row in table.OPERATIONS:
        is_meant = (row.verb, row.of) == (verb, table.COMMITMENT) and (row.when == "retaining") == retaining
        if is_meant and row.when != ("not revocable" if commitment.revocable else "revocable"):
            yield row


def conditions_of(declared: Commitment | Claim) -> tuple[Term, ...]:
    """Return the conditions that the automatic rules evaluate."""
    match declared:
        case Commitment(antecedent=antecedent, consequent=consequent) if is_about_runs(consequent):
            return antecedent, *state_parts(consequent)
        case Commitment():
            return declared.antecedent, declared.consequent
        case Claim():
            return tuple(state_parts(declared.content)) if is_about_runs(declared.content) else (declared.content,)


def depends_on(lifecycles: LifecycleAnalysis, name: str) -> tuple[str, ...]:
    """Return the commitments and claims whose state the automatic rules of this one read."""
    declared = lifecycles.model.commitment.get(name) or lifecycles.model.claim[name]
    mentioned = (state for term in conditions_of(declared) for state in states_in(term, lifecycles.model))
    return tuple(dict.fromkeys((*mentioned, *lifecycles.retained.get(name, ()))))


def states_in(term: Term, model: CheckedModel) -> Iterable[str]:
    """Yield the commitments and claims whose lifecycle state the term mentions."""
    return (part.commitment for part in subterms(term, model.meanings) if isinstance(part, InState | Stands | Age))


# --- dialogue


def open_states(model: CheckedModel, name: str) -> Iterable[str]:
    """Return the lifecycle states in which a commitment or claim is open."""
    return table.CLAIM_OPEN if name in model.claim else table.OPEN


def _possible_claim_states(
    claim: Claim, operations: Iterable[Operation], verdicts: Collection[bool | None]
) -> tuple[str, ...]:
    """Return the lifecycle states reachable by these operations and the verdicts of its monitor."""
    verbs = {operation.verb for operation in operations if operation.commitment == claim.name}
    argued = any(operation.target == claim.name for operation in operations)
    if "create" not in verbs and not argued:
        return ("null",)
    verdict_of = {"content true": True, "content false": False}
    reached = {"null", *table.CLAIM_OPEN}
    reached |= {row.target for row in table.OPERATIONS if row.of == table.CLAIM and row.verb in verbs}
    reached |= {row.target for row in table.RULES if row.of == table.CLAIM and verdict_of[row.when] in verdicts}
    return tuple(state.name for state in table.CLAIM_STATES if state.name in reached)


def _possible_standings(name: str, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the possible standings, none if no message makes a move on it."""
    moved = {STANDING_OF[operation.verb] for operation in operations if _is_move(name, operation)}
    return tuple(one for one in table.STANDINGS if one == UNANSWERED or one in moved) if moved else ()


def _arguments(name: str, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the claims of arguments about it, if the standing does not determine which claim was used."""
    targets_by_verb: dict[str, dict[str, None]] = {}
    for operation in operations:
        if _is_move(name, operation) and operation.target is not None:
            targets_by_verb.setdefault(operation.verb, {})[operation.target] = None
    if all(len(targets) == 1 for targets in targets_by_verb.values()):
        return ()
    return tuple(dict.fromkeys(target for targets in targets_by_verb.values() for target in targets))


def last_moves(model: CheckedModel, name: str) -> dict[str, dict[Move, str]]:
    """Return, for each side whose last move may differ from the standing, its binding moves and their values.

    These are sides with binding moves where the other side moves, too, or where an argument with the claim resets its
    standing.
    """
    operations = [operation for message in model.messages for operation in message.operations]
    moves = dict.fromkeys((one.verb, one.target) for one in operations if _is_move(name, one))
    is_argued_with = any(one.verb in STANDING_OF and one.target == name for one in operations)
    encodings: dict[str, dict[Move, str]] = {}
    for role in model.parties[name]:
        own = [move for move in moves if mover(model, name, move[0]) == role]
        binding = [move for move in own if move[1] is not None or (name in model.claim and move[0] in _ANSWERS)]
        if binding and (is_argued_with or len(own) < len(moves)):
            times = Counter(verb for verb, _ in binding)
            encodings[role] = {
                (verb, claim): STANDING_OF[verb] + (f" with {claim}" if times[verb] > 1 else "")
                for verb, claim in binding
            }
    return encodings


def mover(model: CheckedModel, name: str, verb: str) -> str:
    """Return the side that makes such moves."""
    return model.parties[name][table.SIDE_OF[verb]]


def last_moves_in(term: Term, model: CheckedModel) -> Iterator[tuple[str, str]]:
    """Yield the sides whose last move a formula depends on, each with the commitment or claim of the move."""
    for part in subterms(term):
        if isinstance(part, Social) and part.modality in ("SC", "SCc"):
            for name in sorted(model.subjects_of_moves):
                if {part.debtor, part.creditor} == set(model.parties[name]) and part.debtor in last_moves(model, name):
                    yield part.debtor, name


def _is_move(name: str, operation: Operation) -> bool:
    return operation.commitment == name and operation.verb in STANDING_OF
