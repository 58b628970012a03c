"""Translation of a checked model to the interpreted system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cplc.language.groups import members
from cplc.logic import expressions as e
from cplc.logic.expressions import value_text
from cplc.lowering.condition_dependencies import ConditionDependencies
from cplc.lowering.expressions import (
    ENV,
    Interpretation,
    condition,
    copy_holders,
    effect_observer,
    in_flight,
    transit_holders,
)
from cplc.lowering.lifecycle_analysis import LifecycleAnalysis, analyse_lifecycles, conditions_of, states_in
from cplc.lowering.steps import Hazard, StepBuilder, copy_variables
from cplc.lowering.term_text import action_text, content_text
from cplc.lowering.variable_names import (
    copy_variable,
    duplicates_variable,
    losses_variable,
    state_variable,
    transit_variable,
)
from cplc.semantics.model import CheckedModel, longest
from cplc.semantics.model import Commitment as Declared
from cplc.semantics.terms import Does, InState, Stands, Term, is_about_runs, subterms
from cplc.system.commitments import standing_of
from cplc.system.model import (
    Agent,
    BoundedMessage,
    Claim,
    Commitment,
    Justice,
    Message,
    OpenDomain,
    Power,
    Shared,
    Step,
    System,
    Variable,
    VariableKind,
    terminal,
)

_INDICES: Final = re.compile(r"\[[^\]]*\]")
View = tuple[str, str]
"""A role and a commitment that it has a view of."""


def lower(model: CheckedModel, views: Iterable[View] = (), recalled: Iterable[View] = ()) -> System:
    """Return the system of a model. ``views`` are views to include besides those that guards need.

    ``recalled`` are the roles whose own last move on a commitment or claim has a variable.
    """
    lifecycles, local, variables = lifecycles_and_variables(model, views, recalled)
    builder = StepBuilder(lifecycles, ConditionDependencies(lifecycles), variables)
    owned: dict[str, list[str]] = {"Env": [], **{role.name: [] for role in model.roles}}
    for variable in variables.values():
        owned[variable.owner].append(variable.name)
    steps, hazards = _steps(builder)
    interpretation = Interpretation(model, terminal=terminal(steps))
    counters: tuple[Variable, ...] = ()
    bounds: tuple[BoundedMessage, ...] = ()
    if model.delays or model.bounds:
        from cplc.lowering.time_bounds import bounded

        counters, steps, bounds = bounded(builder, steps)
    return System(
        name=model.name,
        header=_header(model),
        variables=(*variables.values(), *counters),
        agents=tuple(
            Agent(
                role.name,
                role.family,
                tuple(owned[role.name]),
            )
            for role in model.roles
        ),
        shared=tuple(_shared(lifecycles, local)),
        messages=tuple(
            Message(
                message.name,
                message.sender,
                message.receivers,
                tuple(parameter.name for parameter in message.parameters),
                e.Read(copy_variable(message.name, message.sender)),
                e.Read(copy_variable(message.name, effect_observer(message, sync=model.sync))),
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
                condition(commitment.antecedent, interpretation),
                _consequent(commitment, lifecycles, interpretation),
                longest(commitment.within),
                longest(commitment.expires),
                views=tuple(_views(lifecycles, commitment.name)),
                content=content_text(commitment.consequent) if commitment.name in lifecycles.contents else "",
                on_course=_on_course(commitment.name, lifecycles, interpretation),
                answerable=commitment.answerable,
                span=commitment.span,
            )
            for commitment in model.commitments
        ),
        steps=steps,
        justice=(*_justice(steps, builder), *_recurrences(model, steps)),
        fairness=tuple(
            condition(one.condition, interpretation) for one in model.fairness if not isinstance(one.condition, Does)
        ),
        hazards=hazards,
        tick=model.tick,
        bounded=bounds,
        powers=tuple(Power(power.role, power.verb, power.commitment) for power in model.powers),
        open_domains=_open_domains(model),
        keys=tuple(dict.fromkeys((_INDICES.sub("", name), key) for name, (key, _) in model.key_of.items())),
        claims=tuple(
            Claim(
                claim.name,
                claim.maker,
                claim.addressee,
                claim.name,
                e.FALSE if is_about_runs(claim.content) else condition(claim.content, interpretation),
                views=tuple(_views(lifecycles, claim.name)),
                formula=content_text(claim.content) if is_about_runs(claim.content) else "",
                on_course=_on_course(claim.name, lifecycles, interpretation),
                span=claim.span,
            )
            for claim in model.claims
        ),
    )


def _open_domains(model: CheckedModel) -> tuple[OpenDomain, ...]:
    if not model.data:
        return ()
    from cplc.lowering.open_domains import open_domains

    return tuple(open_domains(model))


def _consequent(commitment: Declared, lifecycles: LifecycleAnalysis, interpretation: Interpretation) -> e.Expr:
    """Return the condition that fulfils it, or false if the content is about runs."""
    return e.FALSE if commitment.name in lifecycles.contents else condition(commitment.consequent, interpretation)


def _on_course(name: str, lifecycles: LifecycleAnalysis, interpretation: Interpretation) -> e.Expr:
    if name not in lifecycles.contents:
        return e.FALSE
    from cplc.lowering.content_monitors import on_course

    return on_course(lifecycles, name, interpretation)


def lifecycles_and_variables(
    model: CheckedModel, views: Iterable[View] = (), recalled: Iterable[View] = ()
) -> tuple[LifecycleAnalysis, set[View], dict[str, Variable]]:
    """Return the analysis of life cycles, the views that guards need, and all variables by name."""
    local = _guard_views(model)
    fairness_views = {view for one in model.fairness for view in views_in(one.condition, model)}
    lifecycles = analyse_lifecycles(model, _observers(model, local | fairness_views | set(views)), recalled)
    return lifecycles, local, {variable.name: variable for variable in _variables(lifecycles, local)}


def _header(model: CheckedModel) -> tuple[tuple[str, str], ...]:
    shown = ", ".join(f"{name}={value_text(value)}" for name, value in model.parameters)
    return (
        ("protocol", model.name),
        *((("parameters", shown),) if shown else ()),
        *dict.fromkeys(
            (f"values of {', '.join(one.names)}", f"{len(one.values)}, which stand for any number")
            for one in model.data
        ),
        *((f"instances of {one.key}", f"{one.instances}, of any number") for one in model.blocks if not one.is_fixed),
        ("channels", "sync" if model.sync else "async"),
    )


# --- views


def _views(lifecycles: LifecycleAnalysis, name: str) -> Iterator[tuple[str, str]]:
    """Yield role and variable of each view of a commitment or claim."""
    for observer, observable in lifecycles.observers.items():
        if observer is not None and name in observable:
            yield observer, state_variable(name, observer)


def all_views(model: CheckedModel) -> frozenset[View]:
    """Return the views of both parties of every commitment and claim."""
    return frozenset((party, name) for name, parties in model.members.items() for party in parties)


def views_in(term: Term, model: CheckedModel) -> Iterator[View]:
    """Yield the views that a formula reads."""
    for part in subterms(term, model.meanings):
        if isinstance(part, InState | Stands) and part.view is not None:
            yield part.view, part.commitment


def _guard_views(model: CheckedModel) -> set[View]:
    """Return the views in local states: of both parties of every commitment or claim that a guard reads."""
    mentioned: set[str] = set()
    for message in model.messages:
        terms = [message.guard, *(update.value for update in (*message.updates, *message.receipt))]
        mentioned.update(name for term in terms for name in states_in(term, model))
    return {(party, name) for name in mentioned for party in model.members[name]}


def _observers(model: CheckedModel, required_views: set[View]) -> dict[str | None, frozenset[str]]:
    """Return the commitments and claims of each observer: the least closed set that contains the required views.

    A view requires the subjects of its conditions, and those transferred to or from it by messages of the observer.
    """
    mentioned = {
        life.name: {name for term in conditions_of(life) for name in states_in(term, model)}
        for life in model.commitments_and_claims
    }
    handed: dict[View, set[str]] = {}
    for message in model.messages:
        for operation in message.operations:
            if operation.target is not None:
                for observer in message.roles:
                    handed.setdefault((observer, operation.commitment), set()).add(operation.target)
                    handed.setdefault((observer, operation.target), set()).add(operation.commitment)
    observable: dict[str, set[str]] = {}
    pending = sorted(required_views)
    # Invariant: all views in `observable` and `pending` are required; the requirements of `observable` are in either.
    while pending:
        observer, name = pending.pop()
        if name in observable.setdefault(observer, set()):
            continue
        observable[observer].add(name)
        required = mentioned[name] | handed.get((observer, name), set())
        pending += [(observer, other) for other in sorted(required) if observer in model.members[other]]
    everything: dict[str | None, frozenset[str]] = {None: frozenset(model.parties)}
    return everything | {role.name: frozenset(observable[role.name]) for role in model.roles if role.name in observable}


# --- variables


def _variables(lifecycles: LifecycleAnalysis, local: set[View]) -> Iterator[Variable]:
    model = lifecycles.model
    for own in model.variables:
        initial = own.domain if own.initial is None else (own.initial,)
        yield Variable(own.name, own.domain, initial, "own", own.role, own.name)
    for message in model.messages:
        fields = {p.name: p.domain for p in message.parameters}
        for role in copy_holders(message, sync=model.sync):
            domains: list[tuple[VariableKind, tuple[bool | int | str, ...]]] = [("copy", (False, True))]
            domains += [("field", domain) for domain in fields.values()]
            domains += [("parity", (False, True))] if message.alternates else []
            for name, (kind, domain) in zip(copy_variables(message, role), domains, strict=True):
                yield Variable(name, domain, (domain[0],), kind, role, message.name)
        for holder in transit_holders(message):
            name = transit_variable(message.name, holder)
            yield Variable(name, (False, True), (False,), "transit", ENV, message.name)
        for receiver, most in message.losses:
            if most is not None:
                name = losses_variable(message.name, receiver)
                yield Variable(name, tuple(range(most + 1)), (0,), "losses", ENV, message.name)
        for receiver, count in message.duplicates:
            name = duplicates_variable(message.name, receiver)
            yield Variable(name, tuple(range(count + 1)), (0,), "duplicates", ENV, message.name)
    if any(message.queues for message in model.messages):
        from cplc.lowering.queues import queues_of

        for queue in queues_of(model).values():
            yield from queue.variables()
    for observer, observable in lifecycles.observers.items():
        for life in model.commitments_and_claims:
            if life.name not in observable:
                continue
            is_local = observer is not None and (observer, life.name) in local
            for name, kind_, domain in lifecycles.variables(life.name, observer):
                owner = (
                    observer if is_local and observer is not None and kind_ in ("view", "standing", "age") else "Env"
                )
                yield Variable(name, domain, (domain[0],), kind_, owner, life.name)  # type: ignore[arg-type]


def _shared(lifecycles: LifecycleAnalysis, local: set[View]) -> Iterator[Shared]:
    model = lifecycles.model
    for message in model.messages:
        for receiver in message.receivers:
            pairs = zip(copy_variables(message, message.sender), copy_variables(message, receiver), strict=True)
            for at_sender, at_receiver in pairs:
                yield Shared(message.sender, receiver, at_sender, at_receiver)
    pairs_of_roles = (
        (name, first, second)
        for name, (one, other) in model.parties.items()
        for first in members(one)
        for second in members(other)
    )
    for name, first, second in pairs_of_roles:
        if (first, name) in local:
            yield Shared(first, second, state_variable(name, first), state_variable(name, second))
            if name in lifecycles.standings:
                yield Shared(
                    first, second, standing_of(state_variable(name, first)), standing_of(state_variable(name, second))
                )


# --- steps


def _steps(builder: StepBuilder) -> tuple[tuple[Step, ...], tuple[Hazard, ...]]:
    made = [pair for message in builder.model.messages for pair in builder.steps_of_message(message)]
    steps = [step for step, _ in made if not e.is_false(step.guard)]
    steps += [step for scope in builder.model.scopes if (step := builder.restart(scope.name)) is not None]
    steps += [step for step in [builder.tick()] if step is not None]
    return tuple(steps), tuple(hazard for _, hazard in made if hazard is not None)


def _justice(steps: tuple[Step, ...], builder: StepBuilder) -> Iterator[Justice]:
    groups: dict[tuple[str, str, str], list[int]] = {}
    records = {role.name for role in builder.model.roles if role.is_record}
    for index, step in enumerate(steps):
        several = step.kind == "receive" and builder.model.message[step.event].has_several_receivers
        groups.setdefault((step.kind, step.event, f"@{step.actor}" if several else ""), []).append(index)
    for (kind, event, receiver), steps_of_group in groups.items():
        if kind in ("lose", "duplicate"):
            continue
        sender = steps[steps_of_group[0]].actor if kind in ("send", "exchange") else None
        due: e.Expr | None = None
        if kind == "send" and builder.waits_for_others(builder.model.message[event]):
            due = builder.due(builder.model.message[event])
        elif kind == "tick" and not e.is_true(steps[steps_of_group[0]].guard):
            due = e.TRUE
        if sender in records:
            sender = None  # it has no will, and nobody needs to assume that it answers
        yield Justice(f"{kind} {event}{receiver}".strip(), tuple(steps_of_group), sender, due)


def _recurrences(model: CheckedModel, steps: tuple[Step, ...]) -> Iterator[Justice]:
    """Yield the constraints of ``fairness does(…)``."""
    for one in model.fairness:
        if isinstance(one.condition, Does):
            named = (index for index, step in enumerate(steps) if _is_named(step, one.condition))
            yield Justice(f"fairness {action_text(one.condition)}", tuple(named), None, e.TRUE, is_condition=True)


def _is_named(step: Step, does: Does) -> bool:
    match does.verb:
        case "take":
            return step.is_effect and step.event == does.subject
        case "send":
            return step.kind in ("send", "exchange") and step.event == does.subject
        case "act":
            return step.kind in ("send", "receive", "exchange") and step.actor == does.subject
        case "tick":
            return step.kind == "tick"
        case verb:
            raise AssertionError(f"the checker lets no such step through: {verb}")
