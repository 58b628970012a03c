"""Compilation of a protocol in CPL: one cached property for each stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property, partial
from itertools import islice
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cplc.compilation.interface import BoundQuestion, Channels, Compilation, EngineName, PayloadRefused, UnknownQuestion
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass
from cplc.settings import apply_ignores
from cplc.source import Source, Span
from cplc.syntax.input_limits import unread_words

if TYPE_CHECKING:
    from cplc.checking.results import Question, Result
    from cplc.checking.verify import AnswerListener
    from cplc.compilation.never_reached import NeverReached
    from cplc.decision.next_send import Adviser
    from cplc.export import Export, Request
    from cplc.formatter import Formatted
    from cplc.logic.formulas import Formula
    from cplc.lowering.lower import View
    from cplc.mutation.mutants import Mutant
    from cplc.semantics.analysis import Analysis
    from cplc.semantics.data_independence import UniformityCheck
    from cplc.semantics.imports import Load
    from cplc.semantics.model import Bound, Check, CheckedModel
    from cplc.semantics.symbol_index import Index
    from cplc.semantics.terms import Does, Term
    from cplc.simulation.run_replay import Recorded, Replayed
    from cplc.syntax import ast
    from cplc.system.model import System

    Kept = tuple[frozenset[View], frozenset[View], tuple[Bound, ...]]
    """The observer views in a system besides those of guards, the remembered last moves, and the assumed bounds."""

_REMARKS = frozenset({rules.MEANING_CHANGED.code, rules.COUNTED_ONCE.code})
ADVISORY_UNLESS_NAMED = frozenset({"sound"})
"""The usual checks whose failure is a warning where the file does not name them."""


@dataclass(frozen=True)
class CplCompilation(Compilation):
    """One text under one choice of parameters and channels."""

    language = "CPL"

    parameters: Mapping[str, str] = field(default_factory=dict)
    channels: Channels | None = None
    protocol: str | None = None
    """Protocol of the file; None for the last one."""
    is_of_one_key: bool = False  # each block with a key has one instance, whose declarations have no index
    load: Load | None = field(default=None, compare=False, repr=False)
    """Loader of imports; None to read from disk."""
    _systems: dict[tuple[Kept, bool], System] = field(default_factory=dict, compare=False, repr=False)
    _divisions: dict[tuple[Kept, frozenset[Does]], System] = field(default_factory=dict, compare=False, repr=False)
    _advisers: dict[str, Adviser] = field(default_factory=dict, compare=False, repr=False)
    _changed: CheckedModel | None = field(default=None, repr=False)
    """Model that replaces that of the text: a mutant."""

    # --- reading and checking

    @cached_property
    def _parsed(self) -> tuple[ast.File, tuple[Diagnostic, ...]]:
        from cplc.syntax.parser import parse

        return parse(self.source)

    @cached_property
    def _analysis(self) -> Analysis:
        from cplc.semantics.analysis import analyse
        from cplc.semantics.imports import loader
        from cplc.syntax.parser import parse

        return analyse(
            self._parsed[0],
            load=self.load or loader(self.path, cache(parse)),  # caches files that are imported several times
            parameters=self.parameters,
            channels=self.channels,
            protocol=self.protocol,
            is_of_one_key=self.is_of_one_key,
            unread=unread_words(self._parsed[1]),
        )

    @property
    def file(self) -> ast.File:
        """The syntax tree, partial if the text has errors."""
        return self._parsed[0]

    @property
    def index(self) -> Index:
        """Declarations and uses in the text and its imports, even if they have errors."""
        return self._analysis.index

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every problem of the text and of what it imports, in the order of the text."""
        reported = dict.fromkeys((*self._parsed[1], *self._analysis.diagnostics, *self._contradictions))
        is_whole = not self.parameters and not self.channels and len(self._parsed[0].protocols) <= 1
        if any(code in self.source.text for code in _REMARKS):  # a comment may suppress it
            reported |= dict.fromkeys(self._unsuppressed_remarks)
        model = self._analysis.model
        undecided = rules.FROM_STATES if model is not None and model.commitments else ()
        every = apply_ignores(reported, self.source, self.settings, is_whole=is_whole, undecided=undecided)
        current = (one for one in every if one.code not in _REMARKS)
        return tuple(sorted(current, key=lambda d: (d.span.source.name != self.source.name, d.span.start, d.span.end)))

    @cached_property
    def _unsuppressed_remarks(self) -> tuple[Diagnostic, ...]:
        from cplc.semantics.language_versions import remarks
        from cplc.semantics.repetition_lints import counted_once

        if any(problem.is_error for problem in self._parsed[1]):
            return ()
        model = self._analysis.model
        counted = () if model is None else counted_once(model, self.source)
        return (*remarks(self._parsed[0]), *counted)

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """Constructs of a text without version whose meaning another version changed, and counters of one message."""
        every = apply_ignores(self._unsuppressed_remarks, self.source, self.settings, is_whole=False)
        return tuple(one for one in every if one.code in _REMARKS)

    @property
    def _contradictions(self) -> Iterator[Diagnostic]:
        """Yield contradictory fairness conditions, unless the text has errors."""
        model = self._analysis.model
        problems = (*self._parsed[1], *self._analysis.diagnostics)
        if model is not None and model.fairness and not any(one.is_error for one in problems):
            from cplc.lowering.unsatisfiable_fairness import contradictory_fairness

            yield from contradictory_fairness(model)

    @property
    def ok(self) -> bool:
        """True if the text has no errors."""
        return self._analysis.model is not None and not any(diagnostic.is_error for diagnostic in self.diagnostics)

    @property
    def model(self) -> CheckedModel:
        model = self._changed or self._analysis.model
        assert model is not None
        return model

    # --- inputs

    @property
    def protocol_names(self) -> tuple[str, ...]:
        return tuple(protocol.name.text for protocol in self.file.protocols)

    @property
    def direct_imports(self) -> tuple[Path, ...] | None:
        if self._parsed[1]:
            return None
        folder = (self.path or Path()).parent
        return tuple(folder / one.target for one in self.file.imports if one.is_path)

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.source, *(file.span.source for file in self.index.files if file.span.source is not self.source))

    @property
    def import_candidates(self) -> tuple[Path, ...]:
        def folder(source: Source) -> Path:
            return ((self.path if source is self.source else Path(source.name)) or Path()).parent

        return tuple(
            folder(file.span.source) / imported.target
            for file in self.index.files
            for imported in file.imports
            if imported.is_path
        )

    @property
    def options(self) -> Mapping[str, object]:
        return {"parameters": dict(self.parameters), "channels": self.channels, "protocol": self.protocol}

    def uniformity(self, parameter: str) -> UniformityCheck:
        """Return the uniformity check of the families whose size is this parameter."""
        check = self._analysis.uniformity(parameter)
        assert check is not None
        return check

    # --- the system

    @property
    def system(self) -> System:
        return self.system_with(frozenset())

    @property
    def sizes(self) -> Mapping[str, object]:
        system = self.system
        return {
            "protocol": system.name,
            "agents": len(system.agents),
            "messages": len(system.messages),
            "commitments": len(system.commitments),
            "claims": len(system.claims),
            "variables": len(system.variables),
            "steps": len(system.steps),
            "upper_bound_of_states": prod(len(variable.domain) for variable in system.variables),
            "instances_left_out": self.model.left_out,
        }

    def system_with_variables(self, names: frozenset[str]) -> System:
        missing = names - self.system.variable.keys()
        if not missing:
            return self.system
        from cplc.lowering.lower import all_views
        from cplc.system.commitments import last_move_of

        views = all_views(self.model)
        retained = ((role, name) for role, name in views if f"{name}@{role}" in missing)
        recalled = ((role, name) for role, name in views if last_move_of(name, role) in missing)
        return self.system_keeping(retained, recalled)

    def system_with(
        self,
        views: frozenset[View],
        recalled: frozenset[View] = frozenset(),
        bounds: tuple[Bound, ...] = (),
        *,
        is_timed: bool = False,
    ) -> System:
        """Return the system with these observer views, besides those of guards, these last moves and these bounds."""
        from cplc.lowering.lower import lower

        key = (views, recalled, bounds), is_timed
        if key not in self._systems:
            system = lower(self._bounded(bounds, is_timed=is_timed), views, recalled)
            for problem in system.problems():
                raise AssertionError(f"lowering made an ill-formed system: {problem}")
            self._systems[key] = system
        return self._systems[key]

    def system_keeping(
        self,
        views: Iterator[View],
        recalled: Iterable[View] = (),
        bounds: tuple[Bound, ...] = (),
        *,
        is_timed: bool = False,
    ) -> System:
        """Return the system with at least these observer views and last moves, under assumed bounds."""
        return self.system_with(self._observed(views), frozenset(recalled), bounds, is_timed=is_timed)

    def adviser(self, agent: str) -> Adviser:
        """Return the adviser of a participant, which keeps what it has computed."""
        from cplc.compilation.participants import adviser

        if agent not in self._advisers:
            self._advisers[agent] = adviser(self, agent)
        return self._advisers[agent]

    def _bounded(self, bounds: tuple[Bound, ...], *, is_timed: bool = False) -> CheckedModel:
        return replace(self.model, bounds=bounds, is_timed=is_timed) if bounds or is_timed else self.model

    def _system_of(self, formula: Term, bounds: tuple[Bound, ...] = ()) -> tuple[System, bool]:
        """Return the system for a formula under assumed bounds, and whether it is specific to the question.

        It is specific if there are bounds, or if `E{...}` or `A{...}` restricts changes that steps make in some states
        only: then steps are split.
        """
        from cplc.lowering.formulas import restricting_changes
        from cplc.lowering.lower import views_in

        recalled = self._recalled(formula)
        if recalled and any(formula is one.formula for one in self.model.properties):
            recalled = self._recalled_together
        key = self._observed(views_in(formula, self.model)), recalled, bounds
        whole = self.system_with(*key)
        changes = frozenset(restricting_changes(formula))
        if not changes:
            return whole, bool(bounds)
        from cplc.lowering.lifecycle_changes import Changes, divided

        if (key, changes) not in self._divisions:
            self._divisions[key, changes] = divided(whole, Changes(self._bounded(bounds)), changes)
        parts = self._divisions[key, changes]
        return parts, bool(bounds) or parts is not whole

    def _recalled(self, formula: Term) -> frozenset[View]:
        """Return the views whose last moves occur in the formula."""
        if not self.model.subjects_of_moves:
            return frozenset()
        from cplc.lowering.lifecycle_analysis import last_moves_in

        return frozenset(last_moves_in(formula, self.model))

    @cached_property
    def _recalled_together(self) -> frozenset[View]:
        """Return the last moves in all properties, so that they share one system, which is as symmetric."""
        return frozenset(view for one in self.model.properties for view in self._recalled(one.formula))

    # --- questions

    @property
    def _outline(self) -> Iterator[tuple[str, Callable[[], BoundQuestion]]]:
        """Yield the name of each question with a function that builds it: building all of them is slow.

        The order is: hazards of the model, properties, named checks, usual checks.
        """
        model = self.model
        for question in self._hazards:
            yield question.question.name, partial(replace, question)
        for index, declared in enumerate(model.properties):
            yield declared.name, partial(self._property, index)
        for check in model.checks:
            yield check.name, partial(self._check, check.name, check)
        for name in self._usual:
            yield name, partial(self._usual_check, name)

    def declared_questions(self) -> tuple[BoundQuestion, ...]:
        """Return the questions declared in the file: hazards, properties and named checks."""
        number = len(self._hazards) + len(self.model.properties) + len(self.model.checks)
        return tuple(make() for _, make in islice(self._outline, number))

    @property
    def _usual(self) -> tuple[str, ...]:
        """The usual checks that the file neither names nor switches off."""
        from cplc.language.words import USUAL_CHECKS

        named = {check.name for check in self.model.checks if not check.assuming}
        return tuple(name for name in USUAL_CHECKS if name not in named and name not in self.model.switched_off)

    @cached_property
    def _asked(self) -> tuple[BoundQuestion, ...]:
        return tuple(make() for _, make in self._outline)

    def _usual_check(self, name: str) -> BoundQuestion:
        """Return a usual check; its places are the declarations that it is about."""
        bound = self._check(name)
        places = [place if place and place.source == self.source else None for place in bound.question.places]
        question = replace(bound.question, is_usual=True, advisory=name in ADVISORY_UNLESS_NAMED, places=tuple(places))
        return replace(bound, question=question)

    @property
    def _hazards(self) -> tuple[BoundQuestion, ...]:
        if not self.system.hazards:
            return ()
        from cplc.checking.builtin_checks import in_range

        questions = (replace(one, unsupported=self.unsupported(one.formula)) for one in in_range(self.system))
        return tuple(self._bind(question, self.system) for question in questions)

    def _property(self, index: int) -> BoundQuestion:
        from cplc.checking.results import Question
        from cplc.lowering.formulas import lower_formula
        from cplc.system.printer import formula_text

        declared = self.model.properties[index]
        system, is_own = self._system_of(declared.formula, declared.bounds)
        formula = lower_formula(declared.formula, self._bounded(declared.bounds), system, self._uniform)
        notes = self._assumption_notes(declared.assuming, declared.bounds)
        question = Question(
            name=declared.name,
            kind="property",
            formula=formula,
            text=formula_text(formula),
            expected="holds" if declared.expect_holds else "fails",
            assuming=frozenset(declared.assuming),
            bounds=self._bounds_text(declared.bounds),
            assumption_notes=notes,
            data_notes=self._data_notes,
            title=declared.title,
            span=declared.span,
            vacuous_quantifiers=declared.vacuous_quantifiers,
            constant_implications=declared.constant_implications,
            system=system if is_own else None,
            written=declared.written,
            instances=_instances(declared.instances, formula),
            unsupported=self.unsupported(formula),
        )
        return self._bind(question, system)

    def _bind(self, question: Question, system: System, related: Mapping[str, int] | None = None) -> BoundQuestion:
        """Return the question with what proves its answer for any number of instances by key."""
        if self.model.blocks:
            from cplc.compilation.any_number import for_any_number

            question = for_any_number(self.model, question, system, related)
        return BoundQuestion(question, system)

    def _observed(self, views: Iterator[View]) -> frozenset[View]:
        """Return the views that the default system does not have; it is made only if there are any."""
        requested = frozenset(views)
        if not requested:
            return requested
        observed = {(role, one.name) for one in self.system.commitments for role, _ in one.views}
        observed |= {(role, one.name) for one in self.system.claims for role, _ in one.views}
        return requested - observed

    def _check(self, name: str, declared: Check | None = None) -> BoundQuestion:
        """Return a check with what the file expects and assumes where it declares it."""
        from cplc.checking.builtin_checks import build_check
        from cplc.lowering.lower import all_views
        from cplc.lowering.promises import debts_of

        if self.model.blocks and self._changed is None:
            from cplc.compilation.any_number import check_of_one_instance

            if bound := check_of_one_instance(self, name, declared):
                return bound
        views = all_views(self.model) if name == "aligned" else ()
        bounds = declared.bounds if declared is not None else ()
        system = self.system_with(self._observed(iter(views)), bounds=bounds)
        expected: Literal["holds", "fails"] = "holds" if declared is None or declared.expect_holds else "fails"
        span = None if declared is None else declared.span
        question = build_check(name, system, debts_of(system), expected=expected, span=span, uniform=self._uniform)
        if declared is not None and declared.assuming:
            own = question.system or (system if bounds else None)
            text, assuming = self._bounds_text(bounds), frozenset(declared.assuming)
            notes = self._assumption_notes(declared.assuming, bounds)
            question = replace(question, assuming=assuming, bounds=text, system=own, assumption_notes=notes)
        if self.model.data:
            notes = () if declared is None else self._data_notes
            question = replace(question, data_notes=notes, unsupported=self.unsupported(question.formula))
        return self._bind(question, system)

    @cached_property
    def with_one_instance(self) -> CplCompilation:
        """The protocol with one instance of each block with a key that stands for any number."""
        from cplc.compilation.any_number import with_instances

        return with_instances(self, {one.key: 1 for one in self.model.blocks})

    @cached_property
    def _data_notes(self) -> tuple[str, ...]:
        """The number of values that stand for all, for each class of places with any number of values."""
        if not self.model.data:
            return ()
        from cplc.semantics.data_values import explanations

        return tuple(dict.fromkeys(explanations(self.model)))

    def unsupported(self, formula: Formula) -> str:
        """Return why finitely many values do not decide the formula; nothing if they do."""
        if not self.model.data:
            return ""
        from cplc.lowering.open_domains import unsupported

        return unsupported(formula, self.model)

    @property
    def _uniform(self) -> bool:
        return self.strategies == "uniform"

    def questions(self, names: Sequence[str] = ()) -> tuple[BoundQuestion, ...]:
        """Return all questions of the file, or the properties and checks of these names.

        A usual check can be named even if the file switches it off; a named check is never advisory.
        """
        from cplc.language.words import USUAL_CHECKS

        if not names:
            return self._asked
        outline = list(self._outline)
        candidates = [*dict.fromkeys((*(name for name, _ in outline), *USUAL_CHECKS))]
        for name in names:
            if name not in candidates:
                raise UnknownQuestion(name, candidates)
        declared = {one.name for one in self.model.properties} | {one.name for one in self.model.checks}
        declared |= {hazard.question.name for hazard in self._hazards}
        usual = [name for name in USUAL_CHECKS if name in names and name not in declared]
        return (
            *(make() for name, make in outline if name in names and name in declared),
            *map(self._check, usual),
        )

    def questions_with_thresholds(self, names: Sequence[str] = ()) -> tuple[BoundQuestion, ...]:
        if not self.model.analyses:
            return self.questions(names)
        from cplc.compilation.participants import line_questions

        every = line_questions(self)
        thresholds = list(dict.fromkeys(one.question.name for one in every))
        selected = [one for one in every if not names or one.question.name in names]
        question_names = [name for name in names if name not in thresholds]
        try:
            questions = self.questions(question_names) if question_names or not names else ()
        except UnknownQuestion as problem:
            raise UnknownQuestion(problem.name, [*problem.candidates, *thresholds]) from None
        return (*questions, *selected)

    @property
    def analysed_participants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.participant for line in self.model.analyses))

    @property
    def switched_off(self) -> tuple[str, ...]:
        return self.model.switched_off

    def verify(
        self,
        questions: Sequence[BoundQuestion],
        engine: EngineName = "auto",
        *,
        vacuity: bool = False,
        on_answer: AnswerListener = lambda *_: None,
    ) -> Iterator[Result]:
        """Yield the verdict of each question; those of thresholds come last."""
        thresholds = [one for one in questions if one.question.kind == "analysis"]
        if thresholds:
            questions = [one for one in questions if one.question.kind != "analysis"]
        for result in super().verify(questions, engine, vacuity=vacuity, on_answer=on_answer):
            if result.answer == "fails":
                result = self._with_remedies(result, engine)
            if any(domain.is_ordered for domain in result.system.open_domains):
                from cplc.compilation.concrete_amounts import with_concrete_amounts

                result = with_concrete_amounts(result)
            yield result
        if thresholds:
            from cplc.compilation.participants import LineChecker

            yield from LineChecker(self).answers(thresholds)

    def _with_remedies(self, result: Result, engine: EngineName) -> Result:
        """Return a failure with the bounds or the channels under which the property would hold."""
        if result.question.verdict_only:
            return result
        if self.model.has_ticks:
            from cplc.compilation.helping_bounds import with_helping_bounds

            result = with_helping_bounds(self, result, engine)
        if self._reliable is not None:
            from cplc.compilation.reliable_channels import with_reliable_answer

            result = with_reliable_answer(self, self._reliable, result, engine)
        return result

    @cached_property
    def _reliable(self) -> CplCompilation | None:
        """The same protocol on reliable channels, if some may lose or duplicate messages."""
        if not any(message.unreliably_to for message in self.model.messages):
            return None
        from cplc.compilation.reliable_channels import without_losses

        return without_losses(self)

    def never_reached(self) -> NeverReached | None:
        """Return the questions about commitments that may never bind anybody, unless all usual checks are off."""
        from cplc.compilation.never_reached import never_reached
        from cplc.language.words import USUAL_CHECKS

        is_off = set(USUAL_CHECKS) <= set(self.switched_off)
        return None if is_off or not self.model.commitments else never_reached(self)

    def formula_question(self, text: str, assuming: Sequence[str] = ()) -> BoundQuestion | tuple[Diagnostic, ...]:
        """Return the question for a formula of the command line, or its errors."""
        from cplc.checking.results import Question
        from cplc.lowering.formulas import lower_formula
        from cplc.syntax.parser import parse_formula

        source = Source("--formula", text)
        expr, problems = parse_formula(source)
        roles, bounds, wrong = self._analysis.resolve_assumptions(assuming)
        resolved = None if expr is None else self._analysis.resolve_formula(expr, has_bounds=bool(bounds))
        problems = (*problems, *(resolved.diagnostics if resolved else ()))
        problems = (*problems, *wrong)
        if resolved is None or resolved.term is None or any(problem.is_error for problem in problems):
            return problems
        wider = self._with_values_of(resolved.term)
        span = Span(source, 0, len(text))
        if wider is not self:
            from cplc.semantics.data_lints import too_many_values

            if too_large := [replace(one, span=span) for one in too_many_values(wider.model)]:
                return (*problems, *too_large)
        system, is_own = wider._system_of(resolved.term, bounds)
        formula = lower_formula(resolved.term, wider._bounded(bounds), system, self._uniform)
        question = Question(
            "formula",
            "formula",
            formula,
            text,
            assuming=frozenset(roles),
            bounds=self._bounds_text(bounds),
            assumption_notes=self._assumption_notes(roles, bounds),
            data_notes=wider._data_notes,
            span=span,
            vacuous_quantifiers=resolved.vacuous_quantifiers,
            constant_implications=resolved.constant_implications,
            instances=_instances(resolved.instances, formula),
            system=system if is_own or wider is not self else None,
            unsupported=wider.unsupported(formula),
        )
        question = self._bind(question, system, resolved.related).question
        return BoundQuestion(question, system, tuple(one for one in problems if one.code not in self.settings.ignored))

    def replay(self, recorded: Recorded) -> tuple[System, Replayed]:
        """Return the system and the recorded run replayed in it, with the amounts of the run."""
        if not self.model.data:
            return super().replay(recorded)
        from cplc.semantics.data_values import with_recorded_values

        initial = [value for value in recorded.start.values() if isinstance(value, str)]
        model = with_recorded_values(self.model, recorded.texts, initial)
        wider = self if model.data == self.model.data else self.mutated(model)
        return Compilation.replay(wider, recorded)

    def with_payload(self, message: str, payload: Mapping[str, str]) -> tuple[CplCompilation, Mapping[str, str]]:
        if not self.model.data:
            return self, payload
        from cplc.semantics.typed_values import NotAValue, with_payload

        try:
            model, values = with_payload(self.model, message, payload)
        except NotAValue as problem:
            raise PayloadRefused(str(problem)) from None
        return self if model.data == self.model.data else self.mutated(model), values

    def _with_values_of(self, formula: Term) -> CplCompilation:
        """Return the compilation in which each place has the values that stand for all in this formula, too."""
        if not self.model.data:
            return self
        from cplc.semantics.data_values import with_values

        wider = with_values(self.model, [formula])
        return self if wider.data == self.model.data else self.mutated(wider)

    def _assumption_notes(self, assuming: Sequence[str], bounds: tuple[Bound, ...]) -> tuple[str, ...]:
        if not assuming:
            return ()
        from cplc.compilation.forced_messages import forced_note

        ticks = {message: bound.ticks for bound in bounds for message in bound.messages}
        note = forced_note(self.model, assuming, ticks)
        return () if note is None else (note,)

    def _bounds_text(self, bounds: tuple[Bound, ...]) -> tuple[tuple[str, int], ...]:
        from cplc.compilation.forced_messages import bounds_text

        return bounds_text(self.model, bounds) if bounds else ()

    def formatted(self) -> Formatted:
        from cplc.formatter import format_source

        return format_source(self.source)

    def export(self, target: str, questions: Sequence[BoundQuestion], *, states: bool = False) -> Export:
        """Return the system and these questions in the format of another tool."""
        from cplc.export import export

        return export(target, self.to_be_exported(questions, states=states))

    def to_be_exported(self, bound_questions: Sequence[BoundQuestion], *, states: bool = False) -> Request:
        """Return the export request: these questions, and one system with the views of all of them.

        A question with a specific system is exported alone.
        """
        from cplc import __version__
        from cplc.export import ExportedFormula, Origin, Request

        alone = bound_questions[0].question.system if len(bound_questions) == 1 else None
        together = [one for one in bound_questions if one.question.system in (None, alone)]
        keys = [key for key, system in self._systems.items() if any(one.system is system for one in together)]
        views = frozenset(view for (views, _, _), _ in keys for view in views)
        recalled = frozenset(move for (_, recalled, _), _ in keys for move in recalled)
        return Request(
            alone or self.system_with(views, recalled),
            [
                ExportedFormula(q.name, q.formula, q.text, q.assuming, None if q.kind == "formula" else q.expected)
                for q in (one.question for one in together)
            ],
            Origin(self.source.name, __version__),
            states,
            tuple(
                f"`{one.question.name}`, whose system has other variables, for instances, bounds in ticks or views; "
                f"--property {one.question.name} exports it alone"
                for one in bound_questions
                if one not in together
            ),
        )

    def mutants(self) -> Iterator[Mutant[CheckedModel]]:
        from cplc.mutation.mutants import mutants

        # A mutant changes one instance, so that the others no longer stand for it.
        return mutants(replace(self.model, blocks=tuple(replace(one, is_fixed=True) for one in self.model.blocks)))

    def mutated(self, model: CheckedModel) -> CplCompilation:
        return replace(self, _changed=model, _systems={}, _divisions={})


def _instances(declared: Iterable[tuple[str, int]], formula: Formula) -> tuple[str, ...]:
    """Return the instance of each operand of a conjunction, or of the formula; nothing if lowering has merged them."""
    from cplc.logic.formulas import And

    labels = tuple(label for label, number in declared for _ in range(number))
    operands = formula.operands if isinstance(formula, And) else (formula,)
    return labels if len(labels) == len(operands) and any(labels) else ()
