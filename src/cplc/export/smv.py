"""Export of protocols to NuSMV 2.6.

An input variable selects the step. If that step is not enabled the state is unchanged, as for the input ``idle``. So
transitions and reachable states are those of the system, with an idle step in every state. Formulas are translated to
CTL or LTL; atoms over steps refer to the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cplc.export.request import Export, Request
from cplc.export.smv_formulas import IDLE, STEP, Ctl, Ltl, Vocabulary
from cplc.export.smv_specifications import ExportPlan, Specification, plan_export
from cplc.export.templating import comment, header_lines, render
from cplc.records import dataclass
from cplc.system.model import System, Variable

_NEGATED: Final = ("Negated: false here means that the property holds.",)


def export(request: Request) -> Export:
    """Return one module, with a specification for each formula that CTL or LTL can express."""
    formula_vocabulary = Vocabulary(request.system)
    planned = plan_export(request.system, request.formulas, Ctl(formula_vocabulary).text, Ltl(formula_vocabulary).text)
    vocabulary = Vocabulary(planned.fair.system)
    names = specification_names(planned.specifications, vocabulary)
    text = render(
        "smv.j2",
        header=header_lines(request, _remarks(request, planned), planned.left_out),
        steps=[IDLE, *vocabulary.steps.values()],
        step=STEP,
        groups=groups(vocabulary),
        guards=[(vocabulary.guards[s.name], s.name, vocabulary.written_out(s.guard)) for s in vocabulary.system.steps],
        fairness=fairness(planned, vocabulary),
        specifications=[
            specification(*each, planned, vocabulary) for each in zip(planned.specifications, names, strict=True)
        ],
        comment=comment,
    )
    return make_export(text, planned)


def make_export(text: str, planned: ExportPlan) -> Export:
    """Return the export with the names of its formulas and negated formulas."""
    return Export(
        text,
        planned.left_out,
        comment="--",
        written=tuple(one.question.name for one in planned.specifications),
        negated=frozenset(one.question.name for one in planned.specifications if one.is_negated),
    )


def specification_names(specifications: tuple[Specification, ...], vocabulary: Vocabulary) -> list[str]:
    """Return a distinct name for each specification."""
    stems = [f"not {one.question.name}" if one.is_negated else one.question.name for one in specifications]
    keys = [(stem, stems[:number].count(stem)) for number, stem in enumerate(stems)]
    written = [f"{stem} {before + 1}" if before else stem for stem, before in keys]
    identifiers = vocabulary.fresh(written)
    return [identifiers[name] for name in written]


@dataclass(frozen=True, slots=True)
class Declaration:
    """Declaration and assignments of one variable, for a template."""

    name: str
    original: str
    type: str
    initial: str | None
    """None if every value is initial."""
    arms: tuple[tuple[str, str], ...]
    """Cases of the next value; the variable is unchanged where none applies."""


def groups(vocabulary: Vocabulary) -> list[tuple[str, list[Declaration]]]:
    """Return the variables of each agent and of the environment."""
    system = vocabulary.system
    owners = [*(agent.name for agent in system.agents), "Env"]
    by_owner = [(owner, [v for v in system.variables if v.owner == owner]) for owner in owners]
    writers = _writers(system)
    return [
        (owner, [_declaration(v, writers[v.name], vocabulary) for v in owned]) for owner, owned in by_owner if owned
    ]


def _writers(system: System) -> dict[str, list[int]]:
    writers: dict[str, list[int]] = {variable.name: [] for variable in system.variables}
    for index, step in enumerate(system.steps):
        for name in sorted(step.writes):
            writers[name].append(index)
    return writers


def _declaration(variable: Variable, writers: list[int], vocabulary: Vocabulary) -> Declaration:
    is_free = len(variable.domain) > 1 and set(variable.initial) == set(variable.domain)
    initial = None if is_free else vocabulary.values(variable.initial)
    arms = tuple(arm for index in writers for arm in _arms(variable, index, vocabulary))
    return Declaration(vocabulary.variables[variable.name], variable.name, vocabulary.type_of(variable), initial, arms)


def _arms(variable: Variable, index: int, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Yield the cases of the variable's update in a step."""
    step = vocabulary.system.steps[index]
    taken = f"{STEP} = {vocabulary.steps[step.name]} & {vocabulary.guards[step.name]}"
    if variable.name in step.free:
        yield taken, vocabulary.values(variable.initial)
        return
    for condition, value in vocabulary.cases_within(dict(step.updates)[variable.name], variable.domain):
        yield (taken if condition is None else f"{taken} & {condition}"), value


def _remarks(request: Request, planned: ExportPlan) -> Iterator[str]:
    yield (
        f"The input `{STEP}` selects the next step. If that step is not enabled, the state is unchanged, as for "
        f"`{IDLE}`. So the model has as many reachable states as the system"
        + (
            ", and up to twice as many for each toggle bit. A toggle bit encodes justice of steps that do not disable "
            "themselves as a condition on states."
            if planned.fair.bits
            else "."
        )
    )
    if planned.is_fair:
        yield fairness_remark(request.system, planned)


def fairness_remark(system: System, planned: ExportPlan) -> str:
    """Return a remark on the fairness constraints of the file."""
    roles = ", ".join(sorted(planned.assuming))
    return (
        "FAIRNESS: receipts, restarts and ticks are not enabled forever without being taken"
        + (f"; nor are sends by {roles}." if roles else ".")
        + (" NuSMV ignores initial states without fair runs." if system.fairness else "")
    )


def fairness(planned: ExportPlan, vocabulary: Vocabulary) -> list[tuple[str, str]]:
    if not planned.is_fair:
        return []
    return [(what, vocabulary.text(condition)) for what, condition in planned.fair.conditions_for(planned.assuming)]


def specification(one: Specification, name: str, planned: ExportPlan, vocabulary: Vocabulary) -> dict[str, object]:
    """Return the values of one specification for the template."""
    question = one.question
    text = one.text
    if one.additional_roles:
        conditions_for = dict.fromkeys(condition for _, condition in planned.fair.conditions_for(planned.assuming))
        more = dict.fromkeys(
            c
            for _, c in planned.fair.conditions_for(planned.assuming | one.additional_roles)
            if c not in conditions_for
        )
        assumed = [f"(G F {vocabulary.text(condition)})" for condition in more]
        if assumed:  # empty if other justice constraints imply it
            text = f"({' & '.join(assumed)}) -> {text}"
    return {
        "remarks": [*question.remarks, *(_NEGATED if one.is_negated else ())],
        "keyword": f"{one.logic}SPEC",
        "name": name,
        "text": text,
    }
