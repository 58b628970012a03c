"""Verification pipeline: verdict, replayed evidence, responsibility and remarks for each question.

Evidence is made on the reduced system (`cplc.reductions.pipeline`) and replayed there. It is then lifted pass by pass,
and replayed after each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from cplc.checking.debt_checks import NO_DEBT_FORGOTTEN, with_restart
from cplc.checking.engine_selector import Decider, EngineName, EngineSelector, Part, method_of
from cplc.checking.evidence import explain_initial
from cplc.checking.point_of_no_return import point_of_no_return
from cplc.checking.realizability import (
    Realizability,
    exclusion_remark,
    fair_run_text,
    no_fair_run_remark,
    restricted_initially,
    restrictions,
)
from cplc.checking.replay import EvidenceError, replay
from cplc.checking.responsibility import blame, bounded_engine, lasso_evidence
from cplc.checking.results import Answer, ExcludedStates, Question, Remark, Responsibility, Result
from cplc.checking.rounds import with_actions
from cplc.checking.vacuity import (
    Considered,
    Reachable,
    independent_atoms,
    not_serial,
    trivial_value,
    vacuous_implications,
)
from cplc.engines.interface import Engine
from cplc.logic.commitments import Commits, Conditional, Fulfils, SociallyCommits
from cplc.logic.expressions import Const, Read, conj, equal
from cplc.logic.formulas import And, Atom, Formula, Globally, OnPaths, Taken, subformulas
from cplc.records import dataclass
from cplc.reductions.problem import LiftingError
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Move

if TYPE_CHECKING:
    from cplc.checking.engine_selector import AnyEngine


def verify(system: System, questions: Iterable[Question], engine: EngineName = "auto") -> Iterator[Result]:
    """Yield the result of each question as soon as it is known."""
    verifier = Verifier(system, engine)
    return (verifier.answer(question) for question in questions)


AnswerListener = Callable[[Question, Answer], None]
"""Callback for a verdict before its evidence is computed."""


class Verifier:
    """Answers questions about one system; engines are shared by all questions."""

    def __init__(self, system: System, engine: EngineName = "auto") -> None:
        self.system = system
        self.method = method_of(engine)
        self._auto = engine == "auto"
        self._selectors: dict[int, EngineSelector] = {}

    @cached_property
    def _realizability(self) -> Realizability:
        return Realizability(self._selector_of(self.system))

    def answer(
        self, question: Question, *, vacuity: bool = False, on_answer: AnswerListener = lambda *_: None
    ) -> Result:
        """Return the result of the question; with ``vacuity`` also the atoms that do not matter.

        ``on_answer`` receives the verdict before the evidence is computed, which may take longer.
        """
        began = time.perf_counter()
        selector = self._selector_of(question.system or self.system)
        system = selector.system
        try:
            answering = _ResultBuilder(question, selector, self._realizability, vacuity, on_answer)
            result = replace(answering.result(), notes=answering.notes())
        except ResourceExhausted as limit:
            result = Result(question, "unknown", self.method, 0.0, system, reason=str(limit))
        except EvidenceError as error:
            reason = f"internal: evidence does not replay ({error})"
            result = Result(question, "unknown", self.method, 0.0, system, reason=reason)
        return replace(result, seconds=time.perf_counter() - began)

    def decide(self, question: Question) -> Answer:
        """Return the verdict alone, without evidence and responsibility."""
        try:
            selector = self._selector_of(question.system or self.system)
            return _ResultBuilder(question, selector, self._realizability).answer()
        except ResourceExhausted:
            return "unknown"

    def excluding(self, question: Question) -> tuple[Remark, ...]:
        """Return the remarks on reachable states without fair run."""
        selector = self._selector_of(question.system or self.system)
        return _ResultBuilder(question, selector, self._realizability).excluding()[0]

    def _selector_of(self, system: System) -> EngineSelector:
        selector = self._selectors.get(id(system))
        if selector is None:
            selector = self._selectors[id(system)] = EngineSelector(system, self.method, auto=self._auto)
        return selector


MAX_LENGTHENING = 3
"""A run on which all roles keep going is shown if it is at most this many times as long as the shortest one,"""
MIN_LENGTH_LIMIT = 30
"""or if it has at most so many steps."""


@dataclass(frozen=True)
class _ReachableStates:
    """The reachable states of the reduced system that decides a formula."""

    selector: EngineSelector
    deciding: Formula
    assuming: frozenset[str]

    def occurs(self, formula: Formula) -> bool:
        return self.selector.occurs(formula, self.deciding, self.assuming)

    def example(self, formula: Formula) -> State | None:
        return self.selector.example(formula, self.deciding, self.assuming)


class _ResultBuilder:
    """Computation of the result of one question."""

    def __init__(
        self,
        question: Question,
        selector: EngineSelector,
        realizability: Realizability,
        vacuity: bool = False,
        on_answer: AnswerListener = lambda *_: None,
    ) -> None:
        self.question = question
        self.realizability = realizability
        self.vacuity = vacuity
        self.on_answer = on_answer
        self.selector = selector
        self.assuming = question.assuming
        # A check may add monitor variables to its own system, or leave out the conditions of fairness of the file,
        # which are the ones to be realized.
        judged = realizability.system if selector.system.conditions else selector.system
        self.restrictions = restrictions(judged, question.formula)
        self.initial_restrictions = restricted_initially(judged, question.formula)

    def result(self) -> Result:
        for lacking in self._without_fair_runs(self.assuming):
            return self._without_fair_run(lacking)
        parts = self.selector.parts(self.question.formula)
        failing = self._failing(parts)
        self.on_answer(self.question, "fails" if failing else "holds")
        if not failing:
            return self._holding_result(parts)
        first, problem = failing[0], None
        evidence: Evidence | None = None
        decider = self.selector.decider(first.formula, self.assuming)
        try:
            evidence = self._evidence(first.formula)
            if self.question.kind == "check" and self.question.name == NO_DEBT_FORGOTTEN:
                evidence = self._with_restart(evidence, decider.reduced.shown_system)
            whole, shown = self.selector.system, decider.reduced.shown_system
            blamed = self._blame(whole, shown, evidence)
            is_open = blamed is not None and blamed.is_realizable and not (blamed.coalitions or blamed.avoidance)
            if is_open and lasso_evidence(evidence) is not None and bounded_engine(shown) is not None:
                fair = self._failing_for_all(failing, evidence)
                if fair is not None:
                    first, evidence = fair
                    decider = self.selector.decider(first.formula, self.assuming)
                    shown = decider.reduced.shown_system
                    blamed = self._blame(whole, shown, evidence)
            engine = decider.engine
            no_return = point_of_no_return(engine, evidence, self.assuming) if isinstance(engine, Engine) else None
        except ResourceExhausted as limit:
            blamed, no_return = None, None
            what = "the run could not be made" if evidence is None else "responsibility was left open"
            problem = f"{what}: {limit}"
        left_out, undecided = self.excluding()
        findings = dict.fromkeys(part.operand for part in failing)
        return replace(
            self._bare_result("fails", decider),
            evidence=evidence,
            blame=blamed,
            no_return=no_return,
            remarks=self._trivial(False)
            + self._commitment_remarks(parts, holds=False)
            + self._conflict_remarks(first, evidence)
            + left_out,
            reason=problem or undecided,
            findings=tuple(self.question.findings[operand] for operand in findings) if self.question.findings else (),
        )

    def _with_restart(self, evidence: Evidence, system: System) -> Evidence:
        """Extend the evidence by the restart that forgets a debt, if the result replays."""
        longer = with_restart(system, evidence)
        return evidence if replay(system, longer, self.assuming) else longer

    def _without_fair_runs(self, assuming: frozenset[str]) -> tuple[Taken | None, ...]:
        """Return the restrictions under which no fair run begins in any initial state."""
        alongs = self.initial_restrictions
        return tuple(along for along in alongs if not self.realizability.has_fair_run(assuming, along))

    def _without_fair_run(self, lacking: Taken | None) -> Result:
        """Return the result of a question without fair runs: neither answer would mean anything."""
        return replace(
            self._bare_result("unknown", None),
            remarks=(no_fair_run_remark(lacking, self.assuming),),
            reason=f"no {fair_run_text(lacking)} begins in an initial state",
        )

    def excluding(self) -> tuple[tuple[Remark, ...], str | None]:
        """Return the remarks on reachable states without fair run, and the limit that left them open."""
        remarks: list[Remark] = []
        counted: set[int | None] = set()
        try:
            for along in sorted(self.restrictions, key=lambda along: along is not None):
                excluded = self.realizability.excluded(self.assuming, along)
                # A run along some steps is one of all steps: as many states are the same ones.
                if excluded is None or excluded.states in counted or (excluded.is_everywhere and along is not None):
                    continue
                counted |= {excluded.states} if along is None else set()
                remarks.append(exclusion_remark(excluded, along))
        except ResourceExhausted as limit:
            return tuple(remarks), f"whether a fair run begins in every reachable state was left open: {limit}"
        return tuple(remarks), None

    def _blame(self, whole: System, shown: System, evidence: Evidence) -> Responsibility | None:
        blamed = blame(whole, shown, self.question.formula, self.assuming, self._is_valid, evidence)
        if blamed is not None and not blamed.coalitions and self._without_fair_runs(frozenset(whole.agent)):
            return replace(blamed, avoidance=None, is_realizable=False)
        return blamed

    def _failing_for_all(self, failing: Sequence[Part], evidence: Evidence) -> tuple[Part, Evidence] | None:
        """Return evidence by a run on which all roles keep going, if it is not much longer.

        No co-operation helps here. A run on which some role stops would wrongly suggest that role as the cause.
        """
        roles = frozenset(justice.role for justice in self.selector.system.justice if justice.role is not None)
        everybody = self.assuming | roles
        most = max(MAX_LENGTHENING * len(_whole_run(evidence)), MIN_LENGTH_LIMIT)
        for part in self.selector.parts(self.question.formula):
            if self.selector.is_valid(part.formula, everybody):
                continue
            with suppress(ResourceExhausted, EvidenceError):
                fair = self._evidence(part.formula, everybody)
                system = self.selector.reduced(part.formula, everybody).shown_system
                if len(_whole_run(fair)) <= most and not replay(system, fair, self.assuming):
                    return part, fair
            return None
        return None

    def notes(self) -> tuple[str, ...]:
        """Return the notes of a check, as far as the engine can decide them."""
        notes: list[str] = []
        for formula, note in self.question.listings:
            with suppress(ResourceExhausted):
                if not self.selector.is_valid(formula, self.assuming):
                    notes.append(note)
        return tuple(notes)

    def answer(self) -> Answer:
        if self._without_fair_runs(self.assuming):
            return "unknown"
        parts = self.selector.parts(self.question.formula)
        if self._failing(parts):
            return "fails"
        return "vacuous" if self._vacuous(parts) else "holds"

    def _failing(self, parts: Sequence[Part]) -> list[Part]:
        """Return the failing parts: all if each has a finding of its own, otherwise the first.

        A part that exceeds a limit leaves the answer open only if no other part fails.
        """
        failing: list[Part] = []
        limit: str | None = None  # not the error, which would hold the nodes of the engine
        for part in parts:
            try:
                holds = self.selector.is_valid(part.formula, self.assuming)
            except ResourceExhausted as reached:
                limit = str(reached)
                continue
            if not holds:
                failing.append(part)
                if not self.question.findings:
                    break
        if limit is not None and not failing:
            raise ResourceExhausted(limit)
        return failing

    def _is_valid(self, assuming: frozenset[str]) -> bool:
        """Tell whether the question holds, on at least one fair run, if these roles keep going."""
        if self._without_fair_runs(assuming):
            return False
        parts = self.selector.parts(self.question.formula)
        return all(self.selector.is_valid(part.formula, assuming) for part in parts)

    def _holding_result(self, parts: Sequence[Part]) -> Result:
        if not parts:
            remarks = self._vacuous(parts)
            return replace(self._bare_result("vacuous" if remarks else "holds", None), remarks=remarks)
        first, evidence, problem = parts[0].formula, None, None
        is_universal = isinstance(first, OnPaths) and isinstance(first.path, Globally)
        if self.question.is_usual or (self.question.kind == "check" and is_universal):
            # No run is a witness of a universal formula; the components that decide it are enough.
            decider = self.selector.decider(self.selector.smallest_sufficient(first), self.assuming)
        else:
            decider = self.selector.decider(first, self.assuming)
            try:
                evidence = self._evidence(first)
            except ResourceExhausted as limit:
                problem = f"the run could not be made: {limit}"
        vacuous: tuple[Remark, ...] = ()
        remarks = ()
        try:
            vacuous = self._vacuous(parts)
            remarks = (
                vacuous
                + self._commitment_remarks(parts, holds=True)
                + self._conflict_remarks(parts[0], None)
                + (tuple(self._independent(parts)) if self.vacuity else ())
            )
        except ResourceExhausted as limit:
            if self.selector.method not in {"onthefly", "reduced"}:
                raise
            problem = f"whether it holds vacuously was left open: {limit}"
        left_out, undecided = self.excluding()
        answer: Answer = "vacuous" if vacuous else "holds"
        return replace(
            self._bare_result(answer, decider),
            evidence=evidence,
            remarks=remarks + left_out,
            reason=problem or undecided,
        )

    def _independent(self, parts: Sequence[Part]) -> Iterator[Remark]:
        """Yield the atoms that the property does not depend on."""
        if self.question.kind in {"property", "formula"}:
            texts = (
                text
                for part in parts
                for text in independent_atoms(
                    part.formula, lambda formula: self.selector.is_valid(formula, self.assuming)
                )
            )
            yield from (Remark("independent-atom", text) for text in dict.fromkeys(texts))

    def _vacuous(self, parts: Sequence[Part]) -> tuple[Remark, ...]:
        if self.question.kind not in {"property", "formula"}:
            return ()
        silent = tuple(
            Remark("over-nothing", f"there is nothing that `{quantifier}` ranges over")
            for quantifier in self.question.vacuous_quantifiers
        )
        constant = tuple(Remark("vacuous-implication", text) for text in self.question.constant_implications)
        considered = self._considered
        implications = self._remarks(parts, lambda met, formula: vacuous_implications(met, formula, considered))
        shown = (silent or constant) + self._along_nothing() + implications
        return shown or self._trivial(True)

    def _trivial(self, value: bool) -> tuple[Remark, ...]:
        """Return the remark that the formula has this value in every protocol, if so."""
        if self.question.kind not in {"property", "formula"}:
            return ()
        if trivial_value(self.selector.system, self.question.formula) is not value:
            return ()
        return (Remark("trivial", f"the formula is {str(value).lower()} whatever the protocol does"),)

    @property
    def _considered(self) -> Considered:
        """The reachable states that count for implications."""
        if None not in self.restrictions or self._excluded(None) is None:
            return "all"
        return "fair" if self.selector.system.excludes_unfair_states else "fair on runs"

    def _along_nothing(self) -> tuple[Remark, ...]:
        """Return the restrictions to steps under which no fair run begins anywhere."""
        excluded = ((along, self._excluded(along)) for along in self.restrictions if along is not None)
        return tuple(exclusion_remark(one, along) for along, one in excluded if one is not None and one.is_everywhere)

    def _excluded(self, along: Taken | None) -> ExcludedStates | None:
        """Return the states without fair run, if they are determined; `excluding` reports otherwise."""
        with suppress(ResourceExhausted):
            return self.realizability.excluded(self.assuming, along)
        return None

    def _bare_result(self, answer: Answer, decider: Decider | None) -> Result:
        whole = self.selector.system
        system = whole if decider is None else decider.reduced.shown_system
        left_out = len(whole.variables) - len(system.variables)
        name, reason = self.selector.engine_choice(None if decider is None else decider.engine)
        return Result(self.question, answer, name, 0.0, system, left_out=left_out, engine_reason=reason)

    def _remarks(
        self, parts: Iterable[Part], find: Callable[[Reachable, Formula], Iterator[Remark]]
    ) -> tuple[Remark, ...]:
        met = (_ReachableStates(self.selector, part.formula, self.assuming) for part in parts)
        remarks = (remark for reachable in met for remark in find(reachable, reachable.deciding))
        whole = self.selector.system
        return tuple({remark.message: replace(remark, system=whole) for remark in remarks}.values())

    def _commitment_remarks(self, parts: Iterable[Part], *, holds: bool) -> tuple[Remark, ...]:
        """Return the remarks on the commitments in the formula."""
        kinds = Commits | Fulfils | Conditional
        social = [part for part in parts if any(isinstance(f, kinds) for f in subformulas(part.formula))]
        if not social:
            return ()
        from cplc.checking.commitment_remarks import contents_that_do_not_last, never_fulfilled

        whole = self.selector.system
        remarks = self._remarks(social, not_serial)
        for part in social:
            lost = contents_that_do_not_last(self._met, part.formula, whole)
            remarks += tuple(replace(remark, system=whole) for remark in lost if remark not in remarks)
        return remarks + (self._remarks(social, never_fulfilled) if holds else ())

    def _met(self, deciding: Formula) -> _ReachableStates:
        return _ReachableStates(self.selector, deciding, self.assuming)

    def _conflict_remarks(self, part: Part, evidence: Evidence | None) -> tuple[Remark, ...]:
        """Return the conflicts among promises that make a social commitment false."""
        if not any(isinstance(one, SociallyCommits) for one in subformulas(part.formula)):
            return ()
        from cplc.checking.promise_conflicts import conflicts_everywhere, conflicts_shown

        with suppress(ResourceExhausted):
            shown = () if evidence is None else tuple(conflicts_shown(part.formula, evidence, self._holds_in))
            everywhere = conflicts_everywhere(self._met(part.formula), part.formula, self._holds_in)
            return shown or tuple(replace(one, system=self.selector.system) for one in everywhere)
        return ()

    def _holds_in(self, formula: Formula, state: State) -> bool:
        """Tell whether the formula holds in a reachable state, given by the variables of some component."""
        engine = self.selector.engine_for(formula)
        names = [name for name in engine.system.variable if name in state]
        here = conj(equal(Read(name), Const(state[name])) for name in names)
        if isinstance(engine, Engine):
            return not engine.is_empty(
                engine.intersection(engine.where(here), engine.satisfying(formula, self.assuming))
            )
        return engine.example(And((Atom(here, "this state"), formula)), self.assuming) is not None

    def _evidence(self, formula: Formula, assuming: frozenset[str] | None = None) -> Evidence:
        """Return replayed evidence for the value of the formula, on runs on which these roles keep going.

        It is lifted through the passes in reverse. Where it cannot be lifted, the problem before the pass is searched.
        """
        assuming = self.assuming if assuming is None else assuming
        decider = self.selector.decider(formula, assuming)
        evidence = self._replayed_evidence(decider.engine, formula, assuming)
        for one in reversed(decider.reduced.applications):
            try:
                lifted = one.by.lift(evidence, one.before, one.after)
            except LiftingError as error:
                raise EvidenceError(str(error)) from None
            if lifted is evidence:
                continue
            if lifted is None or replay(one.before.system, lifted, assuming):
                lifted = self._replayed_evidence(self.selector.engine_of(one.before.system), formula, assuming)
            evidence = lifted
        return evidence

    def _replayed_evidence(self, engine: AnyEngine, formula: Formula, assuming: frozenset[str]) -> Evidence:
        if isinstance(engine, Engine):
            evidence = explain_initial(engine, formula, assuming)
        else:
            _, evidence = engine.decide(formula, assuming)
            evidence = with_actions(engine.system, evidence)
        problems = replay(engine.system, evidence, assuming)
        if problems:
            raise EvidenceError("; ".join(problems))
        return evidence


def _whole_run(evidence: Evidence) -> tuple[Move, ...]:
    """Return the steps of the run and of its longest continuation."""
    parts = (_whole_run(part) for position, part in evidence.parts if position == len(evidence.run.moves))
    return evidence.run.moves + max(parts, key=len, default=())
