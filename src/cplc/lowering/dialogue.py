"""The life of a claim: a table of operations, and what becomes of it when its content does.

A claim that stands is judged by what an effect changes: satisfied where its content becomes true by it, violated where
it becomes false. What the content is when the claim is made is of no account; only `test` looks at that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from cplc.lowering.vocabulary import kept_by
from cplc.semantics.model import Claim, Operation
from cplc.system import expr as e
from cplc.system.expr import Expr

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


def perform(ledger: Ledger, operation: Operation) -> Expr:
    """Apply an operation and return when it applies."""
    name = operation.commitment
    if operation.verb == "test":
        when = ledger.is_in(name, STANDING)
        is_so = ledger.truth(ledger.book.model.claim[name].content)
        ledger.move(name, when, e.ite(is_so, e.Const("satisfied"), e.Const("violated")))
        return when
    source, target = _MOVES[operation.verb]
    when = ledger.is_in(name, source)
    ledger.move(name, when, e.Const(target))
    argument = operation.target
    if argument is not None and argument in ledger.kept:
        ledger.move(argument, e.conj((when, ledger.is_in(argument, _PUT_FORWARD))), e.Const("open"))
    return when


def judge(ledger: Ledger, name: str) -> None:
    """Close a claim that stood before the step and still does, if its content comes out otherwise."""
    content = ledger.book.model.claim[name].content
    possible = ledger.book.possible[name]
    stood = e.one_of(e.Read(kept_by(name, ledger.keeper)), [state for state in STANDING if state in possible])
    stands = e.conj((stood, ledger.is_in(name, STANDING)))
    was, is_so = ledger.truth_before(content), ledger.truth(content)
    ledger.move(name, e.conj((stands, e.negate(was), is_so)), e.Const("satisfied"))
    ledger.move(name, e.conj((stands, was, e.negate(is_so))), e.Const("violated"))
