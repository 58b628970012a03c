"""Formula translation to ARCTL (action-restricted CTL) for the extension of NuSMV by Pecheur and Raimondi.

Inputs label transitions. `RELATION` distinguishes temporal transitions, epistemic ones (between states that an agent
cannot distinguish) and social ones (between states with the same promises). Epistemic and social transitions may lead
to unreachable states, so their operands are restricted to ``REACHABLE``. Temporal successors of reachable states are
reachable; the restriction there only reduces the work of the tool. The translation uses ``EAX``, ``EA[… U …]``, ``EAG``
and negation: in this dialect ``AAX`` is not dual to ``EAX``, since it requires a successor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.fairness import needs_fairness
from cplc.export.request import NotExpressible
from cplc.export.smv_expressions import IDLE, STEP, Vocabulary
from cplc.export.smv_formulas import boolean, checked_length, construct_name
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass

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
