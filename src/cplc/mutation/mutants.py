"""Mutation operators: small changes to a protocol, one for each mutant.

A declaration of a family is changed in all its instances, as a change of the text would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import Generic, Literal, TypeVar

from cplc.language.lifecycle import JOINED
from cplc.lowering.term_text import atom_text
from cplc.records import dataclass
from cplc.semantics.model import CheckedModel, Claim, Commitment, Message, Operation
from cplc.semantics.terms import FALSE, TRUE, Apply, Const, Term, is_about_runs
from cplc.source import Span

Kind = Literal[
    "message", "guard", "choice", "operation", "variable", "round", "commitment", "claim",
    "observation", "protocol", "evolution", "initial states", "fairness",
]  # fmt: skip
"""The construct that is changed: of a protocol, or of a model in ISPL."""

Model = TypeVar("Model")

Declared = TypeVar("Declared", Message, Commitment, Claim)
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Mutant(Generic[Model]):
    """A protocol, or a model in ISPL, with one change."""

    kind: Kind
    subject: str
    """The message, commitment or claim; in a family, its first instance. In ISPL, the agent."""
    change: str
    """The change, as a clause after "if"."""
    model: Model = field(repr=False, compare=False)
    span: Span = field(repr=False, compare=False)


def mutants(model: CheckedModel) -> Iterator[Mutant[CheckedModel]]:
    """Yield every mutant, in the order of the text."""
    all_mutants = [*_of_messages(model), *_of_commitments(model), *_of_claims(model)]
    return iter(sorted(all_mutants, key=lambda mutant: (mutant.span.source.name, mutant.span.start)))


# --- messages


def _of_messages(model: CheckedModel) -> Iterator[Mutant[CheckedModel]]:
    for instances in _declarations(model.messages):
        first, span = instances[0], instances[0].span

        def changed(
            kind: Kind,
            change: str,
            how: Callable[[Message], Message],
            instances: tuple[Message, ...] = instances,
            span: Span = span,
        ) -> Mutant[CheckedModel]:
            messages = _replaced(model.messages, instances, how)
            return Mutant(kind, instances[0].name, change, replace(model, messages=messages), span)

        name = first.name
        yield changed("message", f"`{name}` is never sent", lambda message: replace(message, guard=FALSE))
        yield from (changed("guard", change, how) for change, how in _weaker_guards(instances))
        if any(message.rivals for message in instances):
            change = f"`{name}` is possible after its alternatives too"
            yield changed("choice", change, lambda message: replace(message, rivals=()))
        for position, operation in enumerate(first.operations):
            act = f"{operation.verb} {operation.commitment}"
            if operation.target is not None:
                act += f" {JOINED[operation.verb]} {operation.target}"
            change = f"`{name}` does not {act}"
            yield changed("operation", change, _without("operations", position))
            for change, other in _confused(model, name, operation):
                yield changed("operation", change, _with_operation(position, other))
        for position, assignment in enumerate(first.updates):
            change = f"`{name}` does not set `{assignment.variable}` when it is sent"
            yield changed("variable", change, _without("updates", position))
        for position, assignment in enumerate(first.receipt):
            change = f"`{name}` does not set `{assignment.variable}` on receipt"
            yield changed("variable", change, _without("receipt", position))
        if first.resets:
            change = f"`{name}` resets nothing"
            yield changed("round", change, lambda message: replace(message, resets=()))
        if first.restarts:
            change = f"nothing starts again after `{name}`"
            yield changed("round", change, lambda message: replace(message, restarts=False))


def _weaker_guards(instances: tuple[Message, ...]) -> Iterator[tuple[str, Callable[[Message], Message]]]:
    """Yield the guards without one conjunct, the same in all instances, or without all of them."""
    name, parts = instances[0].name, _conjuncts(instances[0].guard)
    if not parts:
        return
    if len({len(_conjuncts(message.guard)) for message in instances}) > 1:
        yield f"`{name}` can be sent at any time", lambda message: replace(message, guard=TRUE)
        return

    def without(position: int) -> Callable[[Message], Message]:
        def weaker(message: Message) -> Message:
            rest = [part for number, part in enumerate(_conjuncts(message.guard)) if number != position]
            return replace(message, guard=_conjunction(rest))

        return weaker

    for position, part in enumerate(parts):
        yield f"`{name}` does not wait for `{atom_text(part)}`", without(position)


def _confused(
    model: CheckedModel, name: str, operation: Operation
) -> Iterator[tuple[str, Callable[[Operation], Operation]]]:
    """Yield the opposite answer, and an argument with another claim of the same party."""
    if operation.verb == "accept":
        yield (
            f"`{name}` refuses {operation.commitment} instead of accepting it",
            lambda one: replace(one, verb="refuse"),
        )
    if operation.verb == "refuse":
        yield f"`{name}` accepts {operation.commitment} instead of refusing it", lambda one: replace(one, verb="accept")
    if JOINED.get(operation.verb) == "with" and (other := _other_claim(model, operation)):
        act = f"`{name}` does not {operation.verb} {operation.commitment} with {operation.target} but with {other}"
        yield act, lambda one: replace(one, target=_other_claim(model, one) or one.target)


def _other_claim(model: CheckedModel, operation: Operation) -> str | None:
    """Return the first claim of another declaration with which the same party could argue."""
    target = operation.target
    if target is None:
        return None
    own, _, index = target.partition("[")
    declared = {own, operation.commitment.partition("[")[0]}
    for claim in model.claims:
        base, _, position = claim.name.partition("[")
        if model.parties[claim.name] == model.parties[target] and base not in declared and position in ("", index):
            return claim.name
    return None


def _with_operation(position: int, how: Callable[[Operation], Operation]) -> Callable[[Message], Message]:
    def changed(message: Message) -> Message:
        before, one, after = (
            message.operations[:position],
            message.operations[position],
            message.operations[position + 1 :],
        )
        return replace(message, operations=(*before, how(one), *after))

    return changed


def _without(clause: Literal["operations", "updates", "receipt"], position: int) -> Callable[[Message], Message]:
    def shorter(message: Message) -> Message:
        match clause:
            case "operations":
                return replace(message, operations=_without_entry(message.operations, position))
            case "updates":
                return replace(message, updates=_without_entry(message.updates, position))
            case _:
                return replace(message, receipt=_without_entry(message.receipt, position))

    return shorter


def _without_entry(entries: tuple[Entry, ...], position: int) -> tuple[Entry, ...]:
    return entries[:position] + entries[position + 1 :]


def _conjuncts(guard: Term) -> tuple[Term, ...]:
    match guard:
        case Const():
            return ()
        case Apply("&", operands):
            return operands
        case _:
            return (guard,)


def _conjunction(parts: list[Term]) -> Term:
    return TRUE if not parts else parts[0] if len(parts) == 1 else Apply("&", tuple(parts))


# --- commitments


def _of_commitments(model: CheckedModel) -> Iterator[Mutant[CheckedModel]]:
    for instances in _declarations(model.commitments):
        first, span = instances[0], instances[0].span

        def changed(
            change: str,
            how: Callable[[Commitment], Commitment],
            instances: tuple[Commitment, ...] = instances,
            span: Span = span,
        ) -> Mutant[CheckedModel]:
            commitments = _replaced(model.commitments, instances, how)
            return Mutant("commitment", instances[0].name, change, replace(model, commitments=commitments), span)

        name = first.name
        if not isinstance(first.antecedent, Const):
            yield changed(f"`{name}` is unconditional", lambda c: replace(c, antecedent=TRUE))
        if not isinstance(first.consequent, Const):
            yield changed(f"nothing that happens fulfils `{name}`", lambda c: replace(c, consequent=FALSE))
        if is_about_runs(first.consequent):
            yield changed(f"`{name}` promises nothing", lambda c: replace(c, consequent=TRUE))
        if first.within is not None:
            yield changed(f"`{name}` has no deadline", lambda c: replace(c, within=None))
        if first.expires is not None:
            yield changed(f"`{name}` does not expire", lambda c: replace(c, expires=None))


# --- claims


def _of_claims(model: CheckedModel) -> Iterator[Mutant[CheckedModel]]:
    for instances in _declarations(model.claims):
        claims = _replaced(model.claims, instances, lambda claim: replace(claim, content=TRUE))
        name = instances[0].name
        yield Mutant("claim", name, f"`{name}` claims nothing", replace(model, claims=claims), instances[0].span)


# --- families


def _declarations(instances: Iterable[Declared]) -> Iterator[tuple[Declared, ...]]:
    """Yield the instances of each declaration; every use of a part is a declaration of its own."""
    together: dict[tuple[Span, str], list[Declared]] = {}
    for instance in instances:
        declared = instance.name.partition("[")[0], instance.span
        together.setdefault((declared[1], declared[0]), []).append(instance)
    return (tuple(members) for members in together.values())


def _replaced(
    all_of_them: tuple[Declared, ...], some: tuple[Declared, ...], how: Callable[[Declared], Declared]
) -> tuple[Declared, ...]:
    names = {instance.name for instance in some}
    return tuple(how(instance) if instance.name in names else instance for instance in all_of_them)
