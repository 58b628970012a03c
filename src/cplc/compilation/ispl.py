"""Compilation of a model in ISPL: one cached property for each stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from cplc.compilation.interface import BoundQuestion, Compilation, NotApplicable, UnknownQuestion
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass
from cplc.settings import apply_ignores
from cplc.source import Source, Span
from cplc.syntax.input_limits import unread_words

if TYPE_CHECKING:
    from cplc.compatibility.compare import VerdictChange
    from cplc.export import Export
    from cplc.formatter import Formatted
    from cplc.ispl.semantics import Checked
    from cplc.ispl.semantics.model import Model as IsplModel
    from cplc.ispl.semantics.model import Specification
    from cplc.ispl.syntax import ast as ispl_ast
    from cplc.logic.formulas import Formula
    from cplc.mutation.mutants import Mutant
    from cplc.system.model import System


@dataclass(frozen=True)
class IsplCompilation(Compilation):
    """One text in ISPL; it has no imports and no parameters."""

    language = "ISPL"

    _changed: IsplModel | None = field(default=None, repr=False)
    """Model that replaces that of the text: a mutant."""

    @cached_property
    def _parsed(self) -> tuple[ispl_ast.File, tuple[Diagnostic, ...]]:
        from cplc.ispl.syntax.parser import parse

        return parse(self.source)

    @cached_property
    def _checked(self) -> Checked:
        from cplc.ispl.semantics import check

        file, problems = self._parsed
        is_incomplete = any(problem.is_error for problem in problems)
        return check(file, unread=unread_words(problems), is_incomplete=is_incomplete)

    @property
    def file(self) -> ispl_ast.File:
        """The syntax tree, without erroneous statements."""
        return self._parsed[0]

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics in text order."""
        all_diagnostics = dict.fromkeys((*self._parsed[1], *self._checked.diagnostics, *self._fairness_diagnostics))
        enabled = apply_ignores(all_diagnostics, self.source, self.settings, is_whole=True)
        return tuple(sorted(enabled, key=lambda problem: (problem.span.start, problem.span.end)))

    @property
    def _fairness_diagnostics(self) -> Iterator[Diagnostic]:
        """Unsatisfiable fairness conditions; none for a text with errors."""
        model = self._checked.model
        problems = (*self._parsed[1], *self._checked.diagnostics)
        if model is None or not model.fairness or any(one.is_error for one in problems):
            return
        from cplc.ispl.lowering import fairness_conditions
        from cplc.lowering.unsatisfiable_fairness import is_contradictory, unmeetable

        for formula, (domains, condition) in zip(self.file.fairness, fairness_conditions(model), strict=True):
            if condition is not None and is_contradictory(domains, condition):
                yield unmeetable(formula.span)

    @property
    def ok(self) -> bool:
        return self._checked.model is not None and not any(problem.is_error for problem in self.diagnostics)

    @property
    def model(self) -> IsplModel:
        model = self._changed or self._checked.model
        assert model is not None
        return model

    @cached_property
    def unverifiable(self) -> tuple[Diagnostic, ...]:
        """Diagnostics that prevent verification of a correct model: no initial state."""
        from cplc.system.satisfying_assignments import is_satisfiable

        initial = self.file.initial
        values = {variable.name: variable.initial for variable in self.system.variables}
        if initial is None or is_satisfiable(values, self.system.start):
            return ()
        return (rules.NO_INITIAL_STATE.at(initial.span, "There is no initial state, so there is nothing to verify"),)

    # --- the system and its questions

    @cached_property
    def system(self) -> System:
        return self._lowered(self.model)

    @property
    def sizes(self) -> Mapping[str, object]:
        system = self.system
        return {
            "model": system.name,
            "agents": len(system.agents),
            "variables": len(system.variables),
            "actions": sum(len(player.actions) for player in system.players),
            "upper_bound_of_states": prod(len(variable.domain) for variable in system.variables),
        }

    def _lowered(self, model: IsplModel) -> System:
        from cplc.ispl.lowering import lower_ispl, with_recurring

        system = with_recurring(lower_ispl(model, Path(self.source.name).stem), model)
        for problem in system.problems():
            raise AssertionError(f"lowering made an ill-formed system: {problem}")
        return system

    @cached_property
    def _bound_questions(self) -> tuple[BoundQuestion, ...]:
        from cplc.checking.builtin_checks import deadlock_question
        from cplc.checking.results import Question

        questions = []
        for number, one in enumerate(self.model.specifications, 1):
            question = Question(f"formula {number}", "property", self._formula(one), one.text, span=one.span)
            questions.append(BoundQuestion(question, self.system))
        if self._may_deadlock:
            questions.append(BoundQuestion(deadlock_question(self.system), self.system))
        return tuple(questions)

    def _formula(self, written: Specification) -> Formula:
        from cplc.ispl.lowering import lower_ispl_formula

        infinite_runs_only = written.logic != "CTL" and self._may_deadlock
        return lower_ispl_formula(
            written.formula, self.model, uniform=self._uniform, infinite_runs_only=infinite_runs_only
        )

    @property
    def _uniform(self) -> bool:
        return self.strategies == "uniform"

    @cached_property
    def _may_deadlock(self) -> bool:
        """Tell whether finite maximal runs may exist; with fairness conditions they are ignored."""
        from cplc.ispl.lowering import may_deadlock

        return not self.model.fairness and may_deadlock(self.system)

    def questions(self, names: Sequence[str] = ()) -> tuple[BoundQuestion, ...]:
        """Return all formulas, or those with these names; `formula 1` is the first."""
        if not names:
            return self._bound_questions
        declared = [one.question.name for one in reversed(self._bound_questions)]
        for name in names:
            if name not in declared:
                raise UnknownQuestion(name, list(dict.fromkeys(declared)))
        return tuple(one for one in self._bound_questions if one.question.name in names)

    def formula_question(self, text: str, assuming: Sequence[str] = ()) -> BoundQuestion | tuple[Diagnostic, ...]:
        if assuming:
            raise NotApplicable("--assuming does not apply to models in ISPL: use `Fairness` in the file")
        from cplc.checking.results import Question
        from cplc.ispl.semantics import check_formula
        from cplc.ispl.syntax.parser import parse_specification

        source = Source("--formula", text)
        node, problems = parse_specification(source)
        specification = None
        if node is not None:
            specification, more = check_formula(node, self.file)
            problems = (*problems, *more)
        if specification is None or any(problem.is_error for problem in problems):
            return problems
        # Variables are shared in the system if a formula uses the channel of both agents.
        system = self._lowered(replace(self.model, specifications=(specification,)))
        question = Question(
            "formula", "formula", self._formula(specification), specification.text, span=Span(source, 0, len(text))
        )
        return BoundQuestion(question, system, problems)

    def mutants(self) -> Iterator[Mutant[IsplModel]]:
        from cplc.mutation.ispl_mutants import ispl_mutants

        return ispl_mutants(self.model)

    def mutated(self, model: IsplModel) -> IsplCompilation:
        return replace(self, _changed=model)

    def verdict_changes(self, old: Compilation) -> tuple[VerdictChange, ...]:
        """Ask the formulas of the old version here, over the propositions and groups of the same names."""
        from cplc.compatibility.compare import VerdictChange

        changes = []
        declared = [one for one in old.questions() if one.question.kind == "property"]
        for bound, result in zip(declared, old.verify(declared), strict=True):
            name, text = bound.question.name, bound.question.text
            question = self.formula_question(text)
            if isinstance(question, tuple):
                changes.append(VerdictChange(name, text, result.answer, None))
                continue
            (answered,) = self.verify((question,))
            if answered.answer != result.answer:
                changes.append(VerdictChange(name, text, result.answer, answered.answer))
        return tuple(changes)

    def formatted(self) -> Formatted:
        from cplc.formatter.ispl import format_ispl

        return format_ispl(self.source)

    def export(self, target: str, questions: Sequence[BoundQuestion], *, states: bool = False) -> Export:
        from cplc import __version__
        from cplc.export import ExportedFormula, Origin, Request, export

        formulas = [ExportedFormula(one.question.name, one.question.formula, one.question.text) for one in questions]
        system = questions[0].system if questions else self.system
        return export(target, Request(system, formulas, Origin(self.source.name, __version__), states))
