"""Who may perform which operation on a commitment, and who is told of it."""

from __future__ import annotations

from collections.abc import Iterable

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import model
from cplc.semantics import terms as t
from cplc.semantics.ground import atoms
from cplc.semantics.vocabulary import BY_CREDITOR, BY_DEBTOR
from cplc.semantics.world import World


def check_operations(world: World, messages: Iterable[model.Message]) -> None:
    for message in messages:
        for operation in message.operations:
            if _is_permitted(world, message, operation):
                _check_target(world, operation)
                _check_told(world, message, operation)


def _is_permitted(world: World, message: model.Message, operation: model.Operation) -> bool:
    ends = world.ends[operation.commitment]
    permitted = {
        *([ends.first] if operation.verb in BY_DEBTOR else []),
        *([ends.second] if operation.verb in BY_CREDITOR else []),
    }
    if message.sender in permitted:
        return True
    by = {
        (True, True): f"its debtor `{ends.first}` or its creditor `{ends.second}`",
        (True, False): f"its debtor `{ends.first}`",
        (False, True): f"its creditor `{ends.second}`",
    }[operation.verb in BY_DEBTOR, operation.verb in BY_CREDITOR]
    text = f"`{operation.verb} {operation.commitment}` is up to {by}, and `{message.sender}` sends `{message.name}`"
    span = world.commitments[operation.commitment].body.symbol.span
    world.problems.report(rules.FOREIGN_OPERATION, operation.span, text, Note("the commitment", span))
    return False


def _check_target(world: World, operation: model.Operation) -> None:
    """A delegation changes the debtor and nothing else, an assignment the creditor."""
    if operation.target is None:
        return
    old, new = world.ends[operation.commitment], world.ends[operation.target]
    if operation.target == operation.commitment:
        wrong = "a commitment cannot be handed over to itself"
    elif operation.verb == "delegate" and new.second != old.second:
        wrong = f"its creditor is `{new.second}`, not `{old.second}`"
    elif operation.verb == "delegate" and new.first == old.first:
        wrong = f"its debtor is `{old.first}` as well"
    elif operation.verb == "assign" and new.first != old.first:
        wrong = f"its debtor is `{new.first}`, not `{old.first}`"
    elif operation.verb == "assign" and new.second == old.second:
        wrong = f"its creditor is `{old.second}` as well"
    else:
        return
    text = f"`{operation.commitment}` cannot be handed over to `{operation.target}`: {wrong}"
    span = world.commitments[operation.target].body.symbol.span
    world.problems.report(rules.WRONG_TARGET, operation.span, text, Note("the target", span))


def _check_told(world: World, message: model.Message, operation: model.Operation) -> None:
    ends = world.ends[operation.commitment]
    other = ends.second if message.sender == ends.first else ends.first
    if message.receiver != other:
        text = f"`{other}` is not told that `{message.name}` changes `{operation.commitment}`"
        world.report(rules.UNTOLD_COUNTERPARTY, operation.span, text)


def check_commitments(world: World, checked: model.CheckedModel) -> None:
    """Warn of commitments that no message creates, or whose creditors take no part in what happens to them.

    Only where it is so for every instance: at the borders of a family it is often meant.
    """
    created: set[str] = set()
    told = {c.name for c in checked.commitments if _creditor_takes_part(world, c)}
    for message in checked.messages:
        for operation in message.operations:
            if operation.verb == "create":
                created.add(operation.commitment)
            if operation.target is not None:
                created.add(operation.target)
            for name in (operation.commitment, operation.target):
                if name is not None and world.ends[name].second in (message.sender, message.receiver):
                    told.add(name)
    fine = {c.span for c in checked.commitments if c.name in created and c.name in told}
    once_created = {c.span for c in checked.commitments if c.name in created}
    for commitment in checked.commitments:
        if commitment.span in fine:
            continue
        if commitment.span not in once_created:
            world.report(rules.NEVER_CREATED, commitment.span, f"No message creates `{commitment.name}`")
        elif commitment.name in created:
            text = f"`{commitment.creditor}` takes part in no message that has to do with `{commitment.name}`"
            world.report(rules.UNTOLD_CREDITOR, commitment.span, text)


def _creditor_takes_part(world: World, commitment: model.Commitment) -> bool:
    """Whether the creditor sends or receives a message that the commitment is about."""
    for atom in (*atoms(commitment.antecedent), *atoms(commitment.consequent)):
        for inner in world.fact_atoms.get(atom.fact, ()) if isinstance(atom, t.FactRef) else (atom,):
            if isinstance(inner, t.Happened | t.Field) and commitment.creditor in world.ends[inner.message]:
                return True
    return False
