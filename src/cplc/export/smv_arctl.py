"""Export to NuSMV 2.2 with ARCTL: knowledge and social commitments as labelled transitions.

A second input labels transitions: temporal ones, as in `cplc.export.smv`; epistemic ones between indistinguishable
states; social ones between states with the same promises. An agent knows what holds in all reachable epistemic
successors; commitments are expressed by the knowledge of their observers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cplc.export.arctl_formulas import RELATION, Arctl, Indistinguishable, Relation, SamePromises, relations
from cplc.export.request import Export, NotExpressible, Request
from cplc.export.smv import fairness, fairness_remark, groups, remarks_on
from cplc.export.smv_expressions import IDLE, NUSMV_2_2, STEP, Vocabulary
from cplc.export.smv_specifications import ExportPlan, plan_export
from cplc.export.templating import comment, header_lines, render
from cplc.logic.formulas import Formula

TIME = "time"


def export(request: Request) -> Export:
    """Return one module, with a specification for each formula that ARCTL can express."""
    vocabulary_of = partial(Vocabulary, dialect=NUSMV_2_2)
    formula_vocabulary = vocabulary_of(request.system)
    labels = _labels(request, formula_vocabulary)
    planned = plan_export(request.system, request.formulas, Arctl(formula_vocabulary, labels).text, _no_ltl)
    vocabulary = vocabulary_of(planned.fair.system)
    used_relations = list(
        dict.fromkeys(relation for one in planned.specifications for relation in relations(one.question.formula))
    )
    text = render(
        "smv_arctl.j2",
        header=header_lines(request, _remarks(request, planned, bool(used_relations)), planned.left_out),
        steps=[IDLE, *vocabulary.steps.values()],
        step=STEP,
        relation=RELATION,
        relations=[TIME, *(labels[relation] for relation in used_relations), IDLE],
        time=TIME,
        groups=groups(vocabulary),
        guards=[(vocabulary.guards[s.name], s.name, vocabulary.written_out(s.guard)) for s in vocabulary.system.steps],
        moves=[(labels[one], list(_relation_constraints(one, vocabulary))) for one in used_relations],
        fairness=fairness(planned, vocabulary),
        specifications=[{"remarks": remarks_on(one.question), "text": one.text} for one in planned.specifications],
        comment=comment,
    )
    return Export(
        text, planned.left_out, comment="--", written=tuple(one.question.name for one in planned.specifications)
    )


def _no_ltl(_: Formula) -> str:
    raise NotExpressible("LTL")


def _labels(request: Request, vocabulary: Vocabulary) -> dict[Relation, str]:
    distinct = list(dict.fromkeys(r for question in request.formulas for r in relations(question.formula)))
    keys = [f"{relation.label} {number}" for number, relation in enumerate(distinct)]
    names = vocabulary.fresh(relation.label for relation in distinct)
    if len(names) < len(distinct):  # different groups whose joined names are equal
        names = vocabulary.fresh(keys)
        return {relation: names[key] for relation, key in zip(distinct, keys, strict=True)}
    return {relation: names[relation.label] for relation in distinct}


def _relation_constraints(relation: Relation, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the constraints on transitions of the relation."""
    system, name = vocabulary.system, vocabulary.variables
    match relation:
        case Indistinguishable(agents):
            for variable in dict.fromkeys(v for agent in agents for v in system.agent[agent].local):
                yield f"next({name[variable]}) = {name[variable]}"
        case SamePromises(observed):
            for expr in observed:
                yield f"next({vocabulary.text(expr)}) = {vocabulary.text(expr)}"


def _remarks(request: Request, planned: ExportPlan, has_relations: bool) -> Iterator[str]:
    yield (
        f"Transitions with `{RELATION} = {TIME}` are steps: the input `{STEP}` selects the next step; if it is not "
        f"enabled, the state is unchanged, as for `{IDLE}`. So REACHABLE({RELATION} = {TIME}) is the set of reachable "
        "states."
    )
    if has_relations:
        yield (
            f"Transitions with other values of `{RELATION}` are accessibility relations: `looks_A` leads to all states "
            "that A cannot distinguish, `promises_A_B` to all states with exactly the same promises from A to B."
        )
    if planned.is_fair:
        yield fairness_remark(request.system, planned)
