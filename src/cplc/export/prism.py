"""Systems for PRISM and Storm: a Markov decision process in which nothing is left to chance.

Each agent is a module with its variables, and ``Env`` one with the rest. A step is an action: the module of who takes
it has the guard, and every module that owns what changes takes part. An action ``idle`` is possible everywhere. So
the choices in a state are the steps of the system, and the reachable states are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Final

from cplc.export.fairness import FairSystem, fair_system, needs_fairness
from cplc.export.header import comment, header_lines
from cplc.export.identifiers import IdentifierSyntax, unique_identifiers
from cplc.export.prism_expressions import IDENTIFIERS, Vocabulary
from cplc.export.prism_formulas import Pctl
from cplc.export.request import Export, ExportedFormula, Request
from cplc.export.smv_formulas import Unsaid
from cplc.export.templating import render
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Step, System
from cplc.system.printer import expr_text

LABELS: Final = IdentifierSyntax(frozenset({"init", "deadlock"}) | IDENTIFIERS.reserved)


def export(request: Request) -> Export:
    """Return the model, and beside it the properties."""
    written, left_out = _said(request.system, request.formulas)
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


def _said(system: System, questions: Sequence[ExportedFormula]) -> tuple[list[ExportedFormula], tuple[str, ...]]:
    """Return the questions that can be asked, and for each of the others why not."""
    written: list[ExportedFormula] = []
    left_out: list[str] = []
    for question in questions:
        try:
            Pctl(dict.fromkeys(_conditions(question), "x")).text(question.formula)
            written.append(question)
        except Unsaid as problem:
            left_out.append(f"`{question.name}`, for it has {problem}")
    return written, tuple(left_out)


def _conditions(question: ExportedFormula) -> Iterator[Expr]:
    return (part.condition for part in f.subformulas(question.formula) if isinstance(part, f.Atom))


def _fair_system(system: System, written: Sequence[ExportedFormula]) -> FairSystem:
    asking = [question for question in written if needs_fairness(system, question.formula)]
    return fair_system(system, frozenset().union(*(q.assuming for q in asking))) if asking else FairSystem(system)


def _logic(fair: FairSystem, question: ExportedFormula, labels: dict[Expr, str]) -> Pctl:
    met = tuple(dict.fromkeys(condition for _, condition in fair.met(question.assuming)))
    return Pctl(labels, met, partial(needs_fairness, fair.system))


def _labels(fair: FairSystem, written: Sequence[ExportedFormula]) -> dict[Expr, str]:
    """Return a name for every condition that a property mentions: what was written for it, or what it is for."""
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
        (_about(question), names[question.name], _logic(fair, question, labels).text(question.formula))
        for question in written
    ]
    return render("prism_props.j2", header=header_lines(request), properties=properties, comment=comment)


def _about(question: ExportedFormula) -> list[str]:
    return [
        f"{question.name}: {question.text}",
        *([f"assuming {', '.join(sorted(question.assuming))}"] if question.assuming else []),
        *([f"expected: it {question.expected}"] if question.expected else []),
    ]


def _remarks(fair: FairSystem) -> Iterator[str]:
    yield (
        "Every choice is free, and none is left to chance: a property holds with probability 1 under all strategies "
        "iff it holds on all runs. The action `idle` is possible everywhere. There are as many reachable states as in "
        "the system"
        + (
            ", and more where the bits below tell them apart: up to twice as many for each bit, which flips with "
            "steps that can be taken again at once and makes fairness towards them a matter of states."
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
    """Name, what it stands for, type, and the value at first where there is only one for every variable."""
    commands: tuple[Command, ...]


def _modules(vocabulary: Vocabulary) -> Iterator[Module]:
    system = vocabulary.system
    settled = all(len(variable.initial) == 1 for variable in system.variables)
    for owner, name in vocabulary.modules.items():
        variables = tuple(
            (
                vocabulary.variables[variable.name],
                variable.name,
                vocabulary.type_of(variable),
                vocabulary.value(variable.initial[0]) if settled else None,
            )
            for variable in system.variables
            if variable.owner == owner
        )
        commands = [command for step in system.steps for command in _commands(vocabulary, step, owner)]
        if owner == "Env":
            commands.append(Command("idle", "true", "true"))
        yield Module(name, owner, variables, tuple(commands))


def _commands(vocabulary: Vocabulary, step: Step, owner: str) -> Iterator[Command]:
    """Yield the part of one module in a step: one command for each choice of values that are free."""
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
    """Return what is so at first, if that is more than one state."""
    variables = vocabulary.system.variables
    if all(len(variable.initial) == 1 for variable in variables):
        return []
    return [vocabulary.one_of(variable, variable.initial) for variable in variables]
