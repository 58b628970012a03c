"""Dialogue: the moves on commitments and claims, their standings, and the life cycle of claims.

The *standing* of an open commitment or claim is the last move on it. It is independent of the life cycle: a refused
commitment is still owed. An argument (justify, defend, attack) is made with a claim, which it also puts forward.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from cplc.lowering.mtbdd import NO, Outcome
from cplc.semantics.builtin_words import CLAIM_CLOSED, OPEN_STATES, STANDINGS
from cplc.semantics.model import CheckedModel, Claim, Operation
from cplc.semantics.terms import Social, Term, operands_of
from cplc.system.standings import MOVES, NOTHING, UNANSWERED

if TYPE_CHECKING:
    from cplc.lowering.lifecycle import Ledger

OPEN: Final = ("open",)
STATES: Final = ("null", *OPEN, *CLAIM_CLOSED)

_ARGUMENTS_OF_FIRST: Final = ("justify", "defend")
"""The moves of debtors and makers; all others are made by the other side."""

_ANSWERS: Final = ("accept", "refuse")
"""The moves without an argument that bind to what a claim says, or to the contrary."""


def open_states(model: CheckedModel, name: str) -> Iterable[str]:
    """Return the lifecycle states in which a commitment or claim is open."""
    return OPEN if name in model.claim else OPEN_STATES


def possible_states(
    claim: Claim, operations: Iterable[Operation], verdicts: Collection[bool | None]
) -> tuple[str, ...]:
    """Return the lifecycle states that these operations, and what its monitor may decide, can bring it into."""
    verbs = {operation.verb for operation in operations if operation.commitment == claim.name}
    argued = any(operation.target == claim.name for operation in operations)
    if "create" not in verbs and not argued:
        return ("null",)
    reached = {"null", *OPEN, *(["withdrawn"] if "withdraw" in verbs else [])}
    reached |= {state for state, verdict in (("satisfied", True), ("violated", False)) if verdict in verdicts}
    return tuple(state for state in STATES if state in reached)


def standings(name: str, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the standings that these operations can give it; none where no message moves on it."""
    moved = {MOVES[operation.verb] for operation in operations if _is_move(name, operation)}
    return tuple(one for one in STANDINGS if one == UNANSWERED or one in moved) if moved else ()


def arguments(name: str, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the claims that it may be argued with, if the standing alone does not say with which."""
    found: dict[str, dict[str, None]] = {}
    for operation in operations:
        if _is_move(name, operation) and operation.target is not None:
            found.setdefault(operation.verb, {})[operation.target] = None
    if all(len(targets) == 1 for targets in found.values()):
        return ()
    return tuple(dict.fromkeys(target for targets in found.values() for target in targets))


Move = tuple[str, str | None]
"""A move: its verb, and the claim of an argument."""


def last_moves(model: CheckedModel, name: str) -> dict[str, dict[Move, str]]:
    """Return, for each side whose last move need not be the standing, its moves that bind it, and how each is kept.

    That is a side that makes such moves, if the other one moves, too, or if arguing with it makes it unanswered again.
    """
    operations = [operation for message in model.messages for operation in message.operations]
    moves = dict.fromkeys((one.verb, one.target) for one in operations if _is_move(name, one))
    is_argued_with = any(one.verb in MOVES and one.target == name for one in operations)
    found: dict[str, dict[Move, str]] = {}
    for role in model.parties[name]:
        own = [move for move in moves if mover(model, name, move[0]) == role]
        binding = [move for move in own if move[1] is not None or (name in model.claim and move[0] in _ANSWERS)]
        if binding and (is_argued_with or len(own) < len(moves)):
            several = {verb for verb, _ in binding if sum(other == verb for other, _ in binding) > 1}
            found[role] = {
                (verb, claim): f"{MOVES[verb]} with {claim}" if verb in several else MOVES[verb]
                for verb, claim in binding
            }
    return found


def mover(model: CheckedModel, name: str, verb: str) -> str:
    """Return the side that makes such moves."""
    return model.parties[name][verb not in _ARGUMENTS_OF_FIRST]


def asked_last_moves(term: Term, model: CheckedModel) -> Iterator[tuple[str, str]]:
    """Yield the sides whose last move a formula asks for, each with what it moves on."""
    match term:
        case Social("SC" | "SCc", debtor, creditor):
            for name in sorted(model.moved_on):
                if {debtor, creditor} == set(model.parties[name]) and debtor in last_moves(model, name):
                    yield debtor, name
        case _:
            pass
    for operand in operands_of(term):
        yield from asked_last_moves(operand, model)


def _is_move(name: str, operation: Operation) -> bool:
    return operation.commitment == name and operation.verb in MOVES


def move(ledger: Ledger, operation: Operation) -> Outcome:
    """Make a move on what is open; the claim of an argument is put forward, or is unanswered again."""
    when = ledger.is_in(operation.commitment, open_states(ledger.book.model, operation.commitment))
    ledger.stand(operation.commitment, when, MOVES[operation.verb], operation.target or NOTHING)
    ledger.remember(operation.commitment, when, (operation.verb, operation.target))
    if operation.target is not None:
        put_forward(ledger, operation.target, when)
    return when


def put_forward(ledger: Ledger, claim: str, when: Outcome) -> None:
    """Create a claim that is not open, and take back every move on one that is."""
    if claim not in ledger.kept:
        return
    is_open = ledger.is_in(claim, OPEN)
    again = ledger.cases.both(when, is_open)
    create(ledger, claim, ledger.cases.both(when, ledger.cases.negate(is_open)))
    ledger.stand(claim, again, UNANSWERED)


def create(ledger: Ledger, claim: str, when: Outcome) -> None:
    ledger.note("create", claim, when)
    ledger.move(claim, when, "open")
    ledger.unsettled[claim] = None


def perform(ledger: Ledger, operation: Operation) -> Outcome:
    """Create or withdraw a claim, and return when that applies."""
    name = operation.commitment
    is_open = ledger.is_in(name, OPEN)
    if operation.verb == "withdraw":
        ledger.move(name, is_open, "withdrawn")
        return is_open
    when = ledger.cases.negate(is_open)
    create(ledger, name, when)
    return when


def decide(ledger: Ledger, claim: str, *, on_entering: bool) -> None:
    """Close an open claim whose content is decided, by what was read and, if asked, by the state that is entered."""
    from cplc.lowering.content_monitors import decided

    is_open = ledger.is_in(claim, OPEN)
    if is_open == NO:
        return
    true = decided(ledger, claim, True, on_entering=on_entering)
    false = decided(ledger, claim, False, on_entering=on_entering)
    ledger.move(claim, ledger.cases.both(is_open, false), "violated")
    ledger.move(claim, ledger.cases.both(is_open, true), "satisfied")
