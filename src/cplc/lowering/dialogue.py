"""The life of a claim: a table of operations, and what becomes of it when its content does.

A claim that stands is judged by what an effect changes: satisfied where its content becomes true by it, violated where
it becomes false. What the content is when the claim is made is of no account; only `test` looks at that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from cplc.lowering.cases import Outcome
from cplc.semantics.model import Claim, Operation

if TYPE_CHECKING:
    from cplc.lowering.lifecycle import Ledger

DISCUSSED: Final = ("open", "challenged", "justified", "attacked", "defended")
CLOSED: Final = ("accepted", "refused", "withdrawn", "satisfied", "violated")
STATES: Final = ("null", *DISCUSSED, *CLOSED)
STANDING: Final = (*DISCUSSED, "accepted", "refused")
"""The states in which its maker has said it and not taken it back, and nothing has shown yet whether it is so."""

_PUT_FORWARD: Final = ("null", "refused", "withdrawn", "violated")
"""A claim in these states is made by arguing with it; in the others it is an argument as it is."""

_MOVES: Final = {
    "create": (("null", *CLOSED), "open"),
    "withdraw": (("open", "challenged", "attacked"), "withdrawn"),
    "accept": (("open", "justified", "attacked", "defended"), "accepted"),
    "refuse": (("open", "justified", "attacked", "defended"), "refused"),
    "challenge": (("open", "justified", "defended"), "challenged"),
    "attack": (("open", "justified", "defended"), "attacked"),
    "justify": (("challenged",), "justified"),
    "defend": (("attacked",), "defended"),
}
"""Every operation but `test`: it leads from any of these states to that one."""

OWED: Final = (*DISCUSSED, "accepted")
"""Where a claim counts as a commitment of its maker."""
ANSWERED: Final = ("accepted", "refused", "attacked")
"""Where it counts as one of its addressee, to its content or against it."""


def possible_states(claim: Claim, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the lifecycle states that these operations, and its content, can bring it into."""
    verbs = {operation.verb for operation in operations if operation.commitment == claim.name}
    argued = any(operation.target == claim.name for operation in operations)
    if "create" not in verbs and not argued:
        return ("null",)
    found = {"null", "open", "satisfied", "violated", *(_MOVES[verb][1] for verb in verbs if verb in _MOVES)}
    return tuple(state for state in STATES if state in found)


def perform(ledger: Ledger, operation: Operation) -> Outcome:
    """Apply an operation and return when it applies."""
    name, both = operation.commitment, ledger.cases.both
    if operation.verb == "test":
        when = ledger.is_in(name, STANDING)
        is_so = ledger.truth(ledger.book.model.claim[name].content, name)
        ledger.move(name, both(when, is_so), "satisfied")
        ledger.move(name, both(when, ledger.cases.negate(is_so)), "violated")
        return when
    source, target = _MOVES[operation.verb]
    when = ledger.is_in(name, source)
    ledger.move(name, when, target)
    argument = operation.target
    if argument is not None and argument in ledger.kept:
        ledger.move(argument, both(when, ledger.is_in(argument, _PUT_FORWARD)), "open")
    return when


def judge(ledger: Ledger, name: str) -> None:
    """Close a claim that stood before the step and still does, if its content comes out otherwise."""
    content = ledger.book.model.claim[name].content
    both, negate = ledger.cases.both, ledger.cases.negate
    stands = both(ledger.was_in(name, STANDING), ledger.is_in(name, STANDING))
    was, is_so = ledger.truth_before(content, name), ledger.truth(content, name)
    ledger.move(name, both(stands, negate(was), is_so), "satisfied")
    ledger.move(name, both(stands, was, negate(is_so)), "violated")
