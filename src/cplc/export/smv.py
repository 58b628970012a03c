"""Systems for NuSMV 2.6.

Each variable is a variable. An input chooses the step; where the step that it names is not possible the system idles,
as it does for the input ``idle``. So the transitions are those of the system, with the idle step in every state, and
the reachable states are the same. Formulas go to CTL or LTL; what a run does next is what the input names there.
"""

from __future__ import annotations

from collections.abc import Iterator

from cplc.export.header import comment, header_lines
from cplc.export.request import Export, ExportedFormula, Request
from cplc.export.smv_expressions import IDLE, STEP, Vocabulary
from cplc.export.smv_formulas import Ctl, Ltl
from cplc.export.smv_specifications import ExportPlan, Specification, plan_export
from cplc.export.templating import render
from cplc.records import dataclass
from cplc.system.model import System, Variable


def export(request: Request) -> Export:
    """Return the system as one module, with a specification for each formula that CTL or LTL can say."""
    formula_vocabulary = Vocabulary(request.system)
    planned = plan_export(request.system, request.formulas, Ctl(formula_vocabulary).text, Ltl(formula_vocabulary).text)
    vocabulary = Vocabulary(planned.fair.system)
    names = specification_names(planned.asked, vocabulary)
    text = render(
        "smv.j2",
        header=header_lines(request, _remarks(request, planned), planned.left_out),
        steps=[IDLE, *vocabulary.steps.values()],
        step=STEP,
        groups=groups(vocabulary),
        guards=[(vocabulary.guards[s.name], s.name, vocabulary.written_out(s.guard)) for s in vocabulary.system.steps],
        fairness=fairness(planned, vocabulary),
        specifications=[specification(*each, planned, vocabulary) for each in zip(planned.asked, names, strict=True)],
        comment=comment,
    )
    return make_export(text, planned)


def make_export(text: str, planned: ExportPlan) -> Export:
    """Return the file, with which formulas are in it and how."""
    return Export(
        text,
        planned.left_out,
        comment="--",
        written=tuple(one.question.name for one in planned.asked),
        negated=frozenset(one.question.name for one in planned.asked if one.is_negated),
    )


def specification_names(specifications: tuple[Specification, ...], vocabulary: Vocabulary) -> list[str]:
    """Return a name for each; a property and a check may have the same."""
    stems = [f"not {one.question.name}" if one.is_negated else one.question.name for one in specifications]
    keys = [(stem, stems[:number].count(stem)) for number, stem in enumerate(stems)]
    written = [f"{stem} {before + 1}" if before else stem for stem, before in keys]
    identifiers = vocabulary.fresh(written)
    return [identifiers[name] for name in written]


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a template needs to know of one variable."""

    name: str
    original: str
    type: str
    initial: str | None
    """None where it may have any value at first."""
    arms: tuple[tuple[str, str], ...]
    """Conditions and values of its next value; where none holds it stays."""


def groups(vocabulary: Vocabulary) -> list[tuple[str, list[Declaration]]]:
    """Return the variables of each agent, and those of nobody."""
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
    """Yield what a step makes of the variable: one arm for each case of its update."""
    step = vocabulary.system.steps[index]
    taken = f"{STEP} = {vocabulary.steps[step.name]} & {vocabulary.guards[step.name]}"
    if variable.name in step.free:
        yield taken, vocabulary.values(variable.initial)
        return
    for condition, value in vocabulary.cases_within(dict(step.updates)[variable.name], variable.domain):
        yield (taken if condition is None else f"{taken} & {condition}"), value


def _remarks(request: Request, planned: ExportPlan) -> Iterator[str]:
    yield (
        f"The input `{STEP}` chooses what happens next. Where the step that it names is not possible, as for "
        f"`{IDLE}`, nothing changes. So there are as many reachable states as in the system"
        + (
            ", and more where the bits below tell them apart: up to twice as many for each bit, which flips with "
            "steps that can be taken again at once and makes fairness towards them a matter of states."
            if planned.fair.bits
            else "."
        )
    )
    if planned.is_fair:
        yield fairness_remark(request.system, planned)


def fairness_remark(system: System, planned: ExportPlan) -> str:
    """Return what the fairness of the file means."""
    roles = ", ".join(sorted(planned.assuming))
    return (
        "FAIRNESS: receipts, restarts and ticks are not possible for ever and never taken"
        + (f"; nor are sends by {roles}." if roles else ".")
        + (" An initial state where no fair run begins is passed over by NuSMV." if system.fairness else "")
    )


def fairness(planned: ExportPlan, vocabulary: Vocabulary) -> list[tuple[str, str]]:
    if not planned.is_fair:
        return []
    return [(what, vocabulary.text(condition)) for what, condition in planned.fair.met(planned.assuming)]


def specification(one: Specification, name: str, planned: ExportPlan, vocabulary: Vocabulary) -> dict[str, object]:
    """Return what the template needs to know of one."""
    question = one.question
    text = one.text
    if one.additional_roles:
        met = dict.fromkeys(condition for _, condition in planned.fair.met(planned.assuming))
        more = dict.fromkeys(c for _, c in planned.fair.met(planned.assuming | one.additional_roles) if c not in met)
        assumed = [f"(G F {vocabulary.text(condition)})" for condition in more]
        if assumed:  # another justice may say the same
            text = f"({' & '.join(assumed)}) -> {text}"
    return {
        "remarks": remarks_on(question, is_negated=one.is_negated),
        "keyword": f"{one.logic}SPEC",
        "name": name,
        "text": text,
    }


def remarks_on(question: ExportedFormula, *, is_negated: bool = False) -> list[str]:
    """Return what stands above a specification."""
    return [
        f"{question.name}: {question.text}",
        *([f"assuming {', '.join(sorted(question.assuming))}"] if question.assuming else []),
        *([f"expected: it {question.expected}"] if question.expected else []),
        *(["This is its negation: false here means that it holds."] if is_negated else []),
    ]
