"""Export to NuSMV 2.2 with ARCTL: knowledge and social commitments as labelled transitions.

A second input labels transitions: temporal ones, as in `cplc.export.smv`; epistemic ones between indistinguishable
states; social ones between states with the same promises. An agent knows what holds in all reachable epistemic
successors; commitments are expressed by the knowledge of their observers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.fairness import needs_fairness
from cplc.export.request import Export, NotExpressible, Request, checked_length
from cplc.export.smv import fairness, fairness_remark, groups
from cplc.export.smv_formulas import IDLE, NUSMV_2_2, STEP, Vocabulary, boolean, construct_name
from cplc.export.smv_specifications import ExportPlan, plan_export
from cplc.export.templating import comment, header_lines, render
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass

# --- Formula translation to ARCTL (action-restricted CTL) for the extension of NuSMV by Pecheur and Raimondi
#
# Inputs label transitions. `RELATION` distinguishes temporal transitions, epistemic ones (between states that an
# agent cannot distinguish) and social ones (between states with the same promises). Epistemic and social transitions
# may lead to unreachable states, so their operands are restricted to ``REACHABLE``. Temporal successors of reachable
# states are reachable; the restriction there only reduces the work of the tool. The translation uses ``EAX``, ``EA[…
# U …]``, ``EAG`` and negation: in this dialect ``AAX`` is not dual to ``EAX``, since it requires a successor.


RELATION: Final = "relation"
TIME: Final = f"{RELATION} = time"


@dataclass(frozen=True, slots=True)
class Indistinguishable:
    """Distributed indistinguishability: the local states of all these agents are equal."""

    agents: tuple[str, ...]

    @property
    def label(self) -> str:
        return "looks_" + "_".join(self.agents)


@dataclass(frozen=True, slots=True)
class SamePromises:
    """Social accessibility: the debtor's end of a channel is equal."""

    observed: tuple[Expr, ...]
    observer: str

    @property
    def label(self) -> str:
        return f"promises_{self.observer}"


Relation = Indistinguishable | SamePromises


def relations(formula: Formula) -> Iterator[Relation]:
    """Yield the epistemic and social relations of a formula."""
    for part in f.core_subformulas(formula):
        if isinstance(part, f.Knows):
            groups = [part.agents] if part.mode == "together" else [(agent,) for agent in part.agents]
            yield from map(Indistinguishable, groups)
        elif isinstance(part, f.KnownFrom):
            yield SamePromises(part.observed, part.observer)


@dataclass(frozen=True, slots=True)
class Arctl:
    vocabulary: Vocabulary
    labels: dict[Relation, str]

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it is atomic or negated; raise `NotExpressible`."""
        match formula:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(formula, map(self.text, f.children(formula)), self.vocabulary)
            case f.OnPaths():
                return checked_length(f"({self._on_paths(formula)})")
            case f.Derived():
                return self.text(formula.definition)
            case f.Knows() | f.KnownFrom() if self.vocabulary.system.fairness:
                raise NotExpressible(f"{construct_name(formula)} under fairness constraints")
            case f.Knows("common", agents, operand):
                anybody = " | ".join(self._relation_is(Indistinguishable((agent,))) for agent in agents)
                return f"!EA({anybody})[{_REACHABLE} U {self._reachable_violation(operand)}]"
            case f.Knows("together", agents, operand):
                return self._for_all_related(Indistinguishable(agents), operand)
            case f.Knows(_, agents, operand):
                everybody = [self._for_all_related(Indistinguishable((agent,)), operand) for agent in agents]
                return everybody[0] if len(everybody) == 1 else checked_length(f"({' & '.join(everybody)})")
            case f.KnownFrom(observed, operand, observer):
                return self._for_all_related(SamePromises(observed, observer), operand)
            case f.PathOperator() | f.StateOperator():
                fair = " under fairness constraints" if self.vocabulary.system.fairness else ""
                raise NotExpressible(f"{construct_name(formula)}{fair}")
            case _:
                assert_never(formula)

    # --- relations

    def _for_all_related(self, relation: Relation, operand: Formula) -> str:
        return f"!(EAX({self._relation_is(relation)}) {self._reachable_violation(operand)})"

    def _reachable_violation(self, operand: Formula) -> str:
        return checked_length(f"({_REACHABLE} & !{self.text(operand)})")

    def _relation_is(self, relation: Relation) -> str:
        return f"{RELATION} = {self.labels[relation]}"

    # --- temporal operators

    def _on_paths(self, formula: f.OnPaths) -> str:
        path = f.ctl_path(f.OnPaths(formula.quantifier, formula.path))
        if path is None and f.is_state_formula(formula.path):
            link = "->" if formula.quantifier == "A" else "&"
            return f"(EAG({TIME}) {self.vocabulary.dialect.true}) {link} {self.text(formula.path)}"
        if path is None:
            raise NotExpressible("several temporal operators below one path quantifier")
        if formula.along is None:
            return self._path(formula.quantifier, path, TIME)
        if needs_fairness(self.vocabulary.system, f.OnPaths(formula.quantifier, path)):
            raise NotExpressible("fairness on runs that are restricted to some steps")
        return self._path(formula.quantifier, path, f"{TIME} & {self._allowed(formula.along)}")

    def _allowed(self, along: f.Taken) -> str:
        steps = self.vocabulary.steps
        names = [IDLE, *(steps[name] for name in steps if name in along.steps)]
        return f"({' | '.join(f'{STEP} = {name}' for name in names)})"

    def _path(self, quantifier: str, path: f.CtlPath, along: str) -> str:
        match path:
            case f.Next(operand) if quantifier == "E":
                return self._next(self.text(operand), along)
            case f.Next(operand):
                return f"!({self._next(f'!{self.text(operand)}', along)})"
            case f.Finally(operand, None) if quantifier == "E":
                return self._until(_REACHABLE, self.text(operand), along)
            case f.Finally(operand, None):
                return f"!({self._globally(f'!{self.text(operand)}', along)})"
            case f.Globally(operand, None) if quantifier == "E":
                return self._globally(self.text(operand), along)
            case f.Globally(operand, None):
                return f"!{self._until(_REACHABLE, f'!{self.text(operand)}', along)}"
            case f.Globally(operand, f.Bound() as bound):
                other = "A" if quantifier == "E" else "E"
                broken = f"!{self.text(operand)}"
                return f"!{self._bounded(other, self.vocabulary.dialect.true, broken, step_count(bound), along)}"
            case f.Until(left, right, None):
                one, other = self.text(left), self.text(right)
                if quantifier == "E":
                    return self._until(one, other, along)
                return f"!({self._weak(f'!{other}', f'(!{one} & !{other})', along)})"
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded(quantifier, self.text(left), self.text(right), step_count(bound), along)
            case f.Release(left, right, None):
                one, other = self.text(left), self.text(right)
                if quantifier == "E":
                    return self._weak(other, f"({one} & {other})", along)
                return f"!{self._until(f'!{one}', f'!{other}', along)}"
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                one, other = self.text(left), self.text(right)
                if quantifier == "E":
                    return self._weak(one, other, along)
                return f"!{self._until(f'!{other}', f'(!{one} & !{other})', along)}"
            case f.Derived():
                return self._path(quantifier, f.ctl_core(path), along)
            case _:
                assert_never(path)

    def _next(self, operand: str, along: str) -> str:
        return f"EAX({along}) {self._with_fair_run(operand)}"

    def _until(self, left: str, right: str, along: str) -> str:
        within = left if left == _REACHABLE else f"({_REACHABLE} & {left})"
        return f"EA({along})[{within} U ({_REACHABLE} & {self._with_fair_run(right)})]"

    def _weak(self, left: str, right: str, along: str) -> str:
        return f"{self._until(left, right, along)} | ({self._globally(left, along)})"

    def _globally(self, operand: str, along: str) -> str:
        return f"EAG({along}) ({_REACHABLE} & {operand})"

    def _bounded(self, quantifier: str, left: str, right: str, bound: int, along: str) -> str:
        """Return the expansion of a bounded until."""
        text = self._with_fair_run(right) if quantifier == "E" else right
        last = text
        for _ in range(bound):
            later = f"EAX({along}) {self._with_fair_run(text)}"
            if quantifier == "A":
                later = f"!(EAX({along}) {self._with_fair_run(f'!{text}')})"
            text = checked_length(f"({last} | ({left} & ({later})))")
        return text

    def _with_fair_run(self, text: str) -> str:
        """Return that the formula holds in a fair state; without ``fairness`` every state is fair."""
        if not self.vocabulary.system.fairness:
            return text
        return f"({text} & (EAG({TIME}) {self.vocabulary.dialect.true}))"


_REACHABLE: Final = f"REACHABLE({TIME})"


STEPS = "time"


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
        relations=[STEPS, *(labels[relation] for relation in used_relations), IDLE],
        time=STEPS,
        groups=groups(vocabulary),
        guards=[(vocabulary.guards[s.name], s.name, vocabulary.written_out(s.guard)) for s in vocabulary.system.steps],
        moves=[(labels[one], list(_relation_constraints(one, vocabulary))) for one in used_relations],
        fairness=fairness(planned, vocabulary),
        specifications=[{"remarks": one.question.remarks, "text": one.text} for one in planned.specifications],
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
        f"Transitions with `{RELATION} = {STEPS}` are steps: the input `{STEP}` selects the next step; if it is not "
        f"enabled, the state is unchanged, as for `{IDLE}`. So REACHABLE({RELATION} = {STEPS}) is the set of reachable "
        "states."
    )
    if has_relations:
        yield (
            f"Transitions with other values of `{RELATION}` are accessibility relations: `looks_A` leads to all states "
            "that A cannot distinguish, `promises_A_B` to all states with exactly the same promises from A to B."
        )
    if planned.is_fair:
        yield fairness_remark(request.system, planned)
