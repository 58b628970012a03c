"""From a checked model to the interpreted system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cplc.logic import expressions as e
from cplc.lowering.condition_dependencies import Dependence
from cplc.lowering.expressions import Reading, condition, in_flight
from cplc.lowering.lifecycle_analysis import Book, conditions_of, make_book, states_in
from cplc.lowering.steps import Hazard, Workshop, copies
from cplc.lowering.term_text import content_text
from cplc.lowering.variable_names import copy_of, kept_by
from cplc.semantics.model import CheckedModel
from cplc.semantics.model import Commitment as Declared
from cplc.semantics.terms import FactRef, InState, Stands, Term, is_about_runs, operands_of
from cplc.system.model import (
    Agent,
    Claim,
    Commitment,
    Justice,
    Message,
    Shared,
    Step,
    System,
    Variable,
    VariableKind,
    terminal,
)
from cplc.system.standings import standing_of

View = tuple[str, str]
"""A role and a commitment that it keeps a view of."""


def lower(model: CheckedModel, observers: Iterable[View] = (), recalled: Iterable[View] = ()) -> System:
    """Return the system that a model means; ``observers`` are views to keep besides those that guards need.

    ``recalled`` are the roles whose own last move on something is remembered.
    """
    book, local, variables = declared(model, observers, recalled)
    workshop = Workshop(book, Dependence(book), variables)
    owned: dict[str, list[str]] = {"Env": [], **{role.name: [] for role in model.roles}}
    for variable in variables.values():
        owned[variable.owner].append(variable.name)
    steps, hazards = _steps(workshop)
    reading = Reading(model, terminal=terminal(steps))
    return System(
        name=model.name,
        header=_header(model),
        variables=tuple(variables.values()),
        agents=tuple(
            Agent(
                role.name,
                role.family,
                tuple(owned[role.name]),
            )
            for role in model.roles
        ),
        shared=tuple(_shared(book, local)),
        messages=tuple(
            Message(
                message.name,
                message.sender,
                message.receiver,
                tuple(parameter.name for parameter in message.parameters),
                e.Read(copy_of(message.name, message.sender)),
                e.Read(copy_of(message.name, message.receiver)),
                in_flight(message),
                span=message.span,
            )
            for message in model.messages
        ),
        commitments=tuple(
            Commitment(
                commitment.name,
                commitment.debtor,
                commitment.creditor,
                commitment.name,
                condition(commitment.antecedent, reading),
                _consequent(commitment, book, reading),
                commitment.within,
                commitment.expires,
                views=tuple(_views(book, commitment.name)),
                content=content_text(commitment.consequent) if commitment.name in book.contents else "",
                on_course=_on_course(commitment.name, book, reading),
                span=commitment.span,
            )
            for commitment in model.commitments
        ),
        steps=steps,
        justice=tuple(_justice(steps)),
        fairness=tuple(condition(one.condition, reading) for one in model.fairness),
        hazards=hazards,
        claims=tuple(
            Claim(
                claim.name,
                claim.maker,
                claim.addressee,
                claim.name,
                e.FALSE if is_about_runs(claim.content) else condition(claim.content, reading),
                views=tuple(_views(book, claim.name)),
                formula=content_text(claim.content) if is_about_runs(claim.content) else "",
                on_course=_on_course(claim.name, book, reading),
                span=claim.span,
            )
            for claim in model.claims
        ),
    )


def _consequent(commitment: Declared, book: Book, reading: Reading) -> e.Expr:
    """Return the condition that fulfils it; none where the content is about runs."""
    return e.FALSE if commitment.name in book.contents else condition(commitment.consequent, reading)


def _on_course(name: str, book: Book, reading: Reading) -> e.Expr:
    if name not in book.contents:
        return e.FALSE
    from cplc.lowering.content_monitors import on_course

    return on_course(book, name, reading)


def declared(
    model: CheckedModel, observers: Iterable[View] = (), recalled: Iterable[View] = ()
) -> tuple[Book, set[View], dict[str, Variable]]:
    """Return what may become of each commitment, the views that guards need, and all variables by name."""
    local = _guard_views(model)
    asked = {view for one in model.fairness for view in views_in(one.condition, model)}
    book = make_book(model, _viewers(model, local | asked | set(observers)), recalled)
    return book, local, {variable.name: variable for variable in _variables(book, local)}


def _header(model: CheckedModel) -> tuple[tuple[str, str], ...]:
    shown = ", ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in model.parameters
    )
    return (
        ("protocol", model.name),
        *((("parameters", shown),) if shown else ()),
        ("channels", "sync" if model.sync else "async"),
    )


# --- views


def _views(book: Book, name: str) -> Iterator[tuple[str, str]]:
    """Yield role and variable of each view that is kept of a commitment or claim."""
    for viewer, kept in book.viewers.items():
        if viewer is not None and name in kept:
            yield viewer, kept_by(name, viewer)


def all_views(model: CheckedModel) -> frozenset[View]:
    """Return the views of both parties of every commitment and claim."""
    return frozenset((party, name) for name in model.parties for party in model.parties[name])


def views_in(term: Term, model: CheckedModel) -> Iterator[View]:
    """Yield the views that a formula asks for."""
    match term:
        case InState(commitment, _, str(view)) | Stands(commitment, _, str(view)):
            yield view, commitment
        case FactRef(fact):
            yield from views_in(model.fact[fact].meaning, model)
        case _:
            for operand in operands_of(term):
                yield from views_in(operand, model)


def _guard_views(model: CheckedModel) -> set[View]:
    """Return the views that are part of local states: of both parties where a guard of either mentions it."""
    asked: set[str] = set()
    for message in model.messages:
        terms = [message.guard, *(update.value for update in (*message.updates, *message.receipt))]
        asked.update(name for term in terms for name in states_in(term, model))
    return {(party, name) for name in asked for party in model.parties[name]}


def _viewers(model: CheckedModel, wanted: set[View]) -> dict[str | None, frozenset[str]]:
    """Return who keeps what, closed under what a view needs to run.

    That is what the conditions mention and what is handed over to or from, by messages that the viewer sees.
    """
    mentioned = {
        life.name: {name for term in conditions_of(life) for name in states_in(term, model)} for life in model.lives
    }
    handed: dict[View, set[str]] = {}
    for message in model.messages:
        for operation in message.operations:
            if operation.target is not None:
                for viewer in (message.sender, message.receiver):
                    handed.setdefault((viewer, operation.commitment), set()).add(operation.target)
                    handed.setdefault((viewer, operation.target), set()).add(operation.commitment)
    kept: dict[str, set[str]] = {}
    pending = sorted(wanted)
    while pending:
        viewer, name = pending.pop()
        if name in kept.setdefault(viewer, set()):
            continue
        kept[viewer].add(name)
        others = mentioned[name] | handed.get((viewer, name), set())
        pending += [(viewer, other) for other in sorted(others) if viewer in model.parties[other]]
    everything: dict[str | None, frozenset[str]] = {None: frozenset(model.parties)}
    return everything | {role.name: frozenset(kept[role.name]) for role in model.roles if role.name in kept}


# --- variables


def _variables(book: Book, local: set[View]) -> Iterator[Variable]:
    model = book.model
    for own in model.variables:
        initial = own.domain if own.initial is None else (own.initial,)
        yield Variable(own.name, own.domain, initial, "own", own.role, own.name)
    for message in model.messages:
        fields = {p.name: p.domain for p in message.parameters}
        for role in (message.sender, message.receiver):
            domains: list[tuple[VariableKind, tuple[bool | int | str, ...]]] = [("copy", (False, True))]
            domains += [("field", domain) for domain in fields.values()]
            domains += [("parity", (False, True))] if message.repeatable else []
            for name, (kind, domain) in zip(copies(message, role), domains, strict=True):
                yield Variable(name, domain, (domain[0],), kind, role, message.name)
    for keeper, kept in book.viewers.items():
        for life in model.lives:
            if life.name not in kept:
                continue
            seen = keeper is not None and (keeper, life.name) in local
            for name, kind_, domain in book.variables(life.name, keeper):
                owner = keeper if seen and keeper is not None and kind_ in ("view", "standing", "age") else "Env"
                yield Variable(name, domain, (domain[0],), kind_, owner, life.name)  # type: ignore[arg-type]


def _shared(book: Book, local: set[View]) -> Iterator[Shared]:
    model = book.model
    for message in model.messages:
        pairs = zip(copies(message, message.sender), copies(message, message.receiver), strict=True)
        for at_sender, at_receiver in pairs:
            yield Shared(message.sender, message.receiver, at_sender, at_receiver)
    for name, (first, second) in model.parties.items():
        if (first, name) in local:
            yield Shared(first, second, kept_by(name, first), kept_by(name, second))
            if name in book.standings:
                yield Shared(first, second, standing_of(kept_by(name, first)), standing_of(kept_by(name, second)))


# --- steps


def _steps(workshop: Workshop) -> tuple[tuple[Step, ...], tuple[Hazard, ...]]:
    made = [pair for message in workshop.model.messages for pair in workshop.of_message(message)]
    steps = [step for step, _ in made if not e.is_false(step.guard)]
    steps += [step for scope in workshop.model.scopes if (step := workshop.restart(scope.name)) is not None]
    steps += [step for step in [workshop.tick()] if step is not None]
    return tuple(steps), tuple(hazard for _, hazard in made if hazard is not None)


def _justice(steps: tuple[Step, ...]) -> Iterator[Justice]:
    groups: dict[tuple[str, str], list[int]] = {}
    for index, step in enumerate(steps):
        groups.setdefault((step.kind, step.event), []).append(index)
    for (kind, event), members in groups.items():
        sender = steps[members[0]].actor if kind in ("send", "exchange") else None
        yield Justice(f"{kind} {event}".strip(), tuple(members), sender)
