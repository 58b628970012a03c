"""Export to PRISM and Storm: a Markov decision process without probabilistic choice.

Each agent is a module with its variables; ``Env`` is the module of all others. A step is an action on which modules
synchronise: the actor's module has the guard, modules with changed variables have the updates. The action ``idle`` is
enabled in every state. So the choices of a state are the steps of the system, and the reachable states are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Final

from cplc.export.fairness import FairSystem, fair_system, needs_fairness
from cplc.export.prism_formulas import IDENTIFIERS, Pctl, Vocabulary
from cplc.export.request import Export, ExportedFormula, NotExpressible, Request
from cplc.export.templating import IdentifierSyntax, comment, header_lines, render, unique_identifiers
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Step, System
from cplc.system.printer import expr_text

LABELS: Final = IdentifierSyntax(frozenset({"init", "deadlock"}) | IDENTIFIERS.reserved)


def export(request: Request) -> Export:
    """Return the model, with the properties in a companion file."""
    written, left_out = _translatable(request.system, request.formulas)
    fair = _fair_system(request.system, written)
    labels = _labels(fair, written)
    vocabulary = Vocabulary(fair.system)
    text = render(
        "prism.j2",
        header=header_lines(request, _remarks(fair), left_out),
        words=[(vocabulary.words[word], word, code) for word, code in vocabulary.codes.items()],
        modules=list(_modules(vocabulary)),
        guards=[
            (vocabulary.guards[step.name], vocabulary.written_out(step.guard))
            for step in fair.system.steps
            if step.name in vocabulary.guards
        ],
        initial=_initial(vocabulary),
        labels=[(name, vocabulary.text(condition), expr_text(condition)) for condition, name in labels.items()],
        comment=comment,
    )
    beside = ((".props", _properties(request, written, fair, labels)),) if written else ()
    return Export(text, left_out, beside, "//", tuple(question.name for question in written))


# --- formulas


def _translatable(
    system: System, questions: Sequence[ExportedFormula]
) -> tuple[list[ExportedFormula], tuple[str, ...]]:
    """Return the expressible questions, and a note on each omission."""
    written: list[ExportedFormula] = []
    left_out: list[str] = []
    for question in questions:
        try:
            Pctl(dict.fromkeys(_conditions(question), "x")).text(question.formula)
            written.append(question)
        except NotExpressible as problem:
            left_out.append(f"`{question.name}`: {problem} cannot be expressed")
    return written, tuple(left_out)


def _conditions(question: ExportedFormula) -> Iterator[Expr]:
    return (part.condition for part in f.subformulas(question.formula) if isinstance(part, f.Atom))


def _fair_system(system: System, written: Sequence[ExportedFormula]) -> FairSystem:
    asking = [question for question in written if needs_fairness(system, question.formula)]
    return fair_system(system, frozenset().union(*(q.assuming for q in asking))) if asking else FairSystem(system)


def _logic(fair: FairSystem, question: ExportedFormula, labels: dict[Expr, str]) -> Pctl:
    conditions_for = tuple(dict.fromkeys(condition for _, condition in fair.conditions_for(question.assuming)))
    return Pctl(labels, conditions_for, partial(needs_fairness, fair.system))


def _labels(fair: FairSystem, written: Sequence[ExportedFormula]) -> dict[Expr, str]:
    """Return a label for each condition of a property, made from its text or purpose."""
    texts: dict[Expr, str] = {}
    for question in written:
        for part in f.subformulas(question.formula):
            if isinstance(part, f.Atom):
                texts.setdefault(part.condition, part.text)
    for condition in fair.conditions:
        texts.setdefault(condition.holds, f"fair {condition.purpose}")
    counts = Counter(texts.values())
    distinct = [text if counts[text] == 1 else f"{text} {n}" for n, text in enumerate(texts.values(), 1)]
    names = unique_identifiers(distinct, LABELS)
    return {condition: names[text] for condition, text in zip(texts, distinct, strict=True)}


def _properties(request: Request, written: Sequence[ExportedFormula], fair: FairSystem, labels: dict[Expr, str]) -> str:
    names = unique_identifiers((question.name for question in written), LABELS)
    properties = [
        (question.remarks, names[question.name], _logic(fair, question, labels).text(question.formula))
        for question in written
    ]
    return render("prism_props.j2", header=header_lines(request), properties=properties, comment=comment)


def _remarks(fair: FairSystem) -> Iterator[str]:
    yield (
        "All choices are nondeterministic, none is probabilistic: a property holds with probability 1 under all "
        "strategies iff it holds on all runs. The action `idle` is enabled in every state. The model has as many "
        "reachable states as the system"
        + (
            ", and up to twice as many for each toggle bit. A toggle bit encodes justice of steps that do not disable "
            "themselves as a condition on states."
            if fair.bits
            else "."
        )
    )


# --- the model


@dataclass(frozen=True, slots=True)
class Command:
    action: str
    guard: str
    updates: str


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    original: str
    variables: tuple[tuple[str, str, str, str | None], ...]
    """Identifier, original name, type, and the initial value if every variable has exactly one."""
    commands: tuple[Command, ...]


def _modules(vocabulary: Vocabulary) -> Iterator[Module]:
    system = vocabulary.system
    is_deterministic_start = all(len(variable.initial) == 1 for variable in system.variables)
    for owner, name in vocabulary.modules.items():
        variables = tuple(
            (
                vocabulary.variables[variable.name],
                variable.name,
                vocabulary.type_of(variable),
                vocabulary.value(variable.initial[0]) if is_deterministic_start else None,
            )
            for variable in system.variables
            if variable.owner == owner
        )
        commands = [command for step in system.steps for command in _commands(vocabulary, step, owner)]
        if owner == "Env":
            commands.append(Command("idle", "true", "true"))
        yield Module(name, owner, variables, tuple(commands))


def _commands(vocabulary: Vocabulary, step: Step, owner: str) -> Iterator[Command]:
    """Yield the commands of one module for a step: one for each choice of values of free variables."""
    system = vocabulary.system
    owned = {variable.name for variable in system.variables if variable.owner == owner}
    if step.actor != owner and not step.writes & owned:
        return
    guard = vocabulary.text(step.guard) if step.actor == owner else "true"
    updates = [(name, vocabulary.text(value)) for name, value in step.updates if name in owned]
    free = [name for name in step.free if name in owned]
    for chosen in product(*(system.variable[name].initial for name in free)):
        assigned = [*updates, *zip(free, map(vocabulary.value, chosen), strict=True)]
        texts = [f"({vocabulary.variables[name]}' = {value})" for name, value in assigned]
        yield Command(vocabulary.steps[step.name], guard, " & ".join(texts) or "true")


def _initial(vocabulary: Vocabulary) -> list[str]:
    """Return the initial condition, if there are several initial states."""
    variables = vocabulary.system.variables
    if all(len(variable.initial) == 1 for variable in variables):
        return []
    return [vocabulary.one_of(variable, variable.initial) for variable in variables]
