"""Dialogue: the moves on commitments and claims, their standings, and the life cycle of claims.

The *standing* of an open commitment or claim is the last move on it. It is independent of the life cycle: a refused
commitment is still owed. An argument (justify, defend, attack) is made with a claim, which it also puts forward.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from cplc.language import lifecycle as table
from cplc.language.lifecycle import STANDING_OF, UNANSWERED
from cplc.lowering.mtbdd import NO, Diagram
from cplc.semantics.model import CheckedModel, Claim, Operation
from cplc.semantics.terms import Social, Term, operands_of
from cplc.system.standings import NOTHING

if TYPE_CHECKING:
    from cplc.lowering.lifecycle import ObserverState

_ANSWERS: Final = ("accept", "refuse")
"""The moves without an argument that bind to what a claim says, or to the contrary."""


def open_states(model: CheckedModel, name: str) -> Iterable[str]:
    """Return the lifecycle states in which a commitment or claim is open."""
    return table.CLAIM_OPEN if name in model.claim else table.OPEN


def possible_states(
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


def standings(name: str, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the possible standings, none if no message makes a move on it."""
    moved = {STANDING_OF[operation.verb] for operation in operations if _is_move(name, operation)}
    return tuple(one for one in table.STANDINGS if one == UNANSWERED or one in moved) if moved else ()


def arguments(name: str, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the claims of arguments about it, if the standing does not determine which claim was used."""
    targets_by_verb: dict[str, dict[str, None]] = {}
    for operation in operations:
        if _is_move(name, operation) and operation.target is not None:
            targets_by_verb.setdefault(operation.verb, {})[operation.target] = None
    if all(len(targets) == 1 for targets in targets_by_verb.values()):
        return ()
    return tuple(dict.fromkeys(target for targets in targets_by_verb.values() for target in targets))


Move = tuple[str, str | None]
"""A move: its verb, and the claim of an argument."""


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
            several = {verb for verb, _ in binding if sum(other == verb for other, _ in binding) > 1}
            encodings[role] = {
                (verb, claim): f"{STANDING_OF[verb]} with {claim}" if verb in several else STANDING_OF[verb]
                for verb, claim in binding
            }
    return encodings


def mover(model: CheckedModel, name: str, verb: str) -> str:
    """Return the side that makes such moves."""
    return model.parties[name][table.SIDE_OF[verb]]


def last_moves_in(term: Term, model: CheckedModel) -> Iterator[tuple[str, str]]:
    """Yield the sides whose last move a formula depends on, each with the commitment or claim of the move."""
    match term:
        case Social("SC" | "SCc", debtor, creditor):
            for name in sorted(model.subjects_of_moves):
                if {debtor, creditor} == set(model.parties[name]) and debtor in last_moves(model, name):
                    yield debtor, name
        case _:
            pass
    for operand in operands_of(term):
        yield from last_moves_in(operand, model)


def _is_move(name: str, operation: Operation) -> bool:
    return operation.commitment == name and operation.verb in STANDING_OF


def move(observer_state: ObserverState, operation: Operation) -> Diagram:
    """Make a move on an open commitment or claim; the claim of an argument is put forward."""
    when = observer_state.is_in(
        operation.commitment, open_states(observer_state.lifecycles.model, operation.commitment)
    )
    observer_state.set_standing(operation.commitment, when, STANDING_OF[operation.verb], operation.target or NOTHING)
    observer_state.set_last_move(operation.commitment, when, (operation.verb, operation.target))
    if operation.target is not None:
        put_forward(observer_state, operation.target, when)
    return when


def put_forward(observer_state: ObserverState, claim: str, when: Diagram) -> None:
    """Create the claim if it is not open, and reset its standing if it is."""
    if claim not in observer_state.observable:
        return
    is_open = observer_state.is_in(claim, table.CLAIM_OPEN)
    again = observer_state.mtbdd.conj(when, is_open)
    create(observer_state, claim, observer_state.mtbdd.conj(when, observer_state.mtbdd.negate(is_open)))
    observer_state.set_standing(claim, again, UNANSWERED)


def create(observer_state: ObserverState, claim: str, when: Diagram) -> None:
    observer_state.record_change("create", claim, when)
    observer_state.move(claim, when, "open")
    observer_state.dirty[claim] = None


def perform(observer_state: ObserverState, operation: Operation) -> Diagram:
    """Perform an operation on a claim, and return where it applies."""
    name = operation.commitment
    row = next(row for row in table.OPERATIONS if (row.verb, row.of) == (operation.verb, table.CLAIM))
    when = observer_state.is_in(name, row.source)
    if row.target in table.CLAIM_OPEN:
        create(observer_state, name, when)
    else:
        observer_state.move(name, when, row.target)
    return when


def decide(observer_state: ObserverState, claim: str, *, on_entering: bool) -> None:
    """Close an open claim whose content its monitor decides, with ``on_entering`` also by the entered state."""
    from cplc.lowering.content_monitors import decided

    is_open = observer_state.is_in(claim, table.CLAIM_OPEN)
    if is_open == NO:
        return
    true = decided(observer_state, claim, True, on_entering=on_entering)
    false = decided(observer_state, claim, False, on_entering=on_entering)
    observer_state.move(claim, observer_state.mtbdd.conj(is_open, false), "violated")
    observer_state.move(claim, observer_state.mtbdd.conj(is_open, true), "satisfied")
