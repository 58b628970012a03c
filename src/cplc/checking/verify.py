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

from cplc.checking.counterexamples import explain_initial
from cplc.checking.debt_checks import NO_DEBT_FORGOTTEN, with_restart
from cplc.checking.engine_selector import Decider, EngineName, EngineSelector, Part, method_of
from cplc.checking.point_of_no_return import point_of_no_return
from cplc.checking.realizability import (
    Realizability,
    fair_run_text,
    no_fair_run_remark,
    restricted_initially,
    restrictions,
)
from cplc.checking.remarks import Remarks
from cplc.checking.replay import EvidenceError, replay
from cplc.checking.responsibility import blame, bounded_engine, lasso_evidence
from cplc.checking.results import Answer, KnowledgeReason, Question, Refinement, Remark, Responsibility, Result
from cplc.checking.rounds import with_actions
from cplc.engines.interface import Engine
from cplc.logic import formulas as f
from cplc.reductions.problem import LiftingError, PerSystem
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System
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
        self._selector_of = PerSystem(lambda system: EngineSelector(system, self.method, auto=self._auto))
        self._realizability_of = PerSystem(lambda system: Realizability(self._selector_of(system)))

    def _builder(
        self, question: Question, vacuity: bool = False, on_answer: AnswerListener = lambda *_: None
    ) -> _ResultBuilder:
        selector = self._selector_of(question.system or self.system)
        # A check may add monitor variables to its own system, or leave out the conditions of fairness of the file,
        # which are the ones to be realized. Bounds are of the question's own system.
        judged = self.system if selector.system.may_lack_fair_runs and not question.bounds else selector.system
        return _ResultBuilder(
            question, selector, self._realizability_of(judged), self._timelocks_of(judged), vacuity, on_answer
        )

    def _timelocks_of(self, system: System) -> Realizability | None:
        return self._realizability_of(system.without_file_conditions) if system.clock_may_stop else None

    def answer(
        self, question: Question, *, vacuity: bool = False, on_answer: AnswerListener = lambda *_: None
    ) -> Result:
        """Return the result of the question; with ``vacuity`` also the atoms that do not matter.

        ``on_answer`` receives the verdict before the evidence is computed, which may take longer.
        """
        began = time.perf_counter()
        system = question.system or self.system
        if question.unsupported:
            on_answer(question, "unknown")
            return Result(question, "unknown", self.method, 0.0, system, reason=question.unsupported)
        if question.unproved is not None:
            return self._proved(question, question.unproved, vacuity, on_answer)
        if question.verdict_only:
            return Result(question, self.decide(question), self.method, time.perf_counter() - began, system)
        try:
            answering = self._builder(question, vacuity, on_answer)
            notes = (*question.assumption_notes, *question.data_notes, *answering.notes())
            result = replace(answering.result(), notes=notes)
        except ResourceExhausted as limit:
            result = Result(question, "unknown", self.method, 0.0, system, reason=str(limit))
        except EvidenceError as error:
            reason = f"internal: evidence does not replay ({error})"
            result = Result(question, "unknown", self.method, 0.0, system, reason=reason)
        return replace(result, seconds=time.perf_counter() - began)

    def _proved(
        self, question: Question, unproved: Callable[[], str], vacuity: bool, on_answer: AnswerListener
    ) -> Result:
        """Return the result; unknown if it holds in this system, without a proof for all that it stands for."""
        reasons: list[str] = []

        def is_proved(answer: Answer) -> bool:
            if answer in ("holds", "vacuous") and not reasons:
                reasons.append(unproved())
            return not any(reasons)

        def settle_if_proved(one: Question, answer: Answer) -> None:
            on_answer(one, answer if is_proved(answer) else "unknown")

        result = self.answer(replace(question, unproved=None), vacuity=vacuity, on_answer=settle_if_proved)
        if is_proved(result.answer):
            return replace(result, question=question)
        system = question.system or self.system
        return Result(question, "unknown", result.engine, result.seconds, system, reason=reasons[0])

    def decide(self, question: Question) -> Answer:
        """Return the verdict alone, without evidence and responsibility."""
        if question.unsupported:
            return "unknown"
        if question.unproved is not None:
            answer = self.decide(replace(question, unproved=None))
            return "unknown" if answer in ("holds", "vacuous") and question.unproved() else answer
        try:
            return self._builder(question).answer()
        except ResourceExhausted:
            return "unknown"

    def excluding(self, question: Question) -> tuple[Remark, ...]:
        """Return the remarks on reachable states without fair run."""
        return self._builder(question).remarks.excluding()[0]


MAX_LENGTHENING = 3
"""A run on which all roles keep going is shown if it is at most this many times as long as the shortest one,"""
MIN_LENGTH_LIMIT = 30
"""or if it has at most so many steps."""


class _ResultBuilder:
    """Computation of the result of one question."""

    def __init__(
        self,
        question: Question,
        selector: EngineSelector,
        realizability: Realizability,
        timelocks: Realizability | None,
        vacuity: bool = False,
        on_answer: AnswerListener = lambda *_: None,
    ) -> None:
        self.question = question
        self.realizability = realizability
        self.timelocks = timelocks
        """The states from which time can pass forever; None if nothing can stop the clock."""
        self.vacuity = vacuity
        self.on_answer = on_answer
        self.selector = selector
        self.assuming = question.assuming
        judged = realizability.system
        self.remarks = Remarks(question, selector, realizability, restrictions(judged, question.formula))
        self.initial_restrictions = restricted_initially(judged, question.formula)

    def _check_support(self) -> None:
        """Raise `ResourceExhausted` for goals that path quantifiers, knowledge or other groups decide.

        The states that a group with bounded members can bring about by refusing to send are no states of the others'
        formulas, whose bounds stop the clock.
        """
        system = self.selector.system
        for one in f.subformulas(self.question.formula):
            members = system.bounded_members(one.group) if isinstance(one, f.Enforces) else frozenset()
            if members and isinstance(one, f.Enforces) and not _is_played_by(members, one, system):
                what = f"a goal of `<<{', '.join(one.group)}>>`, whose messages are bounded,"
                raise ResourceExhausted(f"{what} is decided only if states, or strategies of the group, decide it")

    def result(self) -> Result:
        self._check_support()
        timelock = self._timelock
        lacking = self._without_fair_runs(self.assuming)
        if lacking:
            return self._without_fair_run(lacking[0]) if timelock is None else self._locked(timelock)
        parts = self.selector.parts(self.question.formula)
        failing = self._failing(parts)
        answer: Answer = "fails" if failing else "holds"
        if timelock is not None and not self._rests_on_fair_run(answer):
            self.on_answer(self.question, "unknown")
            return self._locked(timelock)
        self.on_answer(self.question, answer)
        return self._failing_result(parts, failing) if failing else self._holding_result(parts)

    @cached_property
    def _timelock(self) -> Remark | None:
        if self.timelocks is None:
            return None
        from cplc.checking.timelocks import timelock_remark

        remark = timelock_remark(self.timelocks, self.assuming)
        at_once = ", ".join(f"{name} within 1" for name, ticks in self.question.bounds if not ticks)
        if remark is None or not at_once:
            return remark
        return replace(remark, message=f"{remark.message}; use `{at_once}`")

    def _rests_on_fair_run(self, answer: Answer) -> bool:
        from cplc.checking.timelocks import rests_on_fair_run

        return rests_on_fair_run(self.question.formula, answer)

    def _excluding(self) -> tuple[tuple[Remark, ...], str | None]:
        """Return the remarks on reachable states without fair run; a timelock is the better explanation."""
        return self.remarks.excluding() if self._timelock is None else ((self._timelock,), None)

    def _locked(self, timelock: Remark) -> Result:
        """Return the result of a question whose answer would rest on states in which time cannot pass."""
        return replace(self._bare_result("unknown", None), remarks=(timelock,), reason="a timelock")

    def _failing_result(self, parts: Sequence[Part], failing: Sequence[Part]) -> Result:
        failing, findings = self._refined(failing)
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
                fair = self._failing_for_all(evidence)
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
        left_out, undecided = self._excluding()
        return replace(
            self._bare_result("fails", decider),
            evidence=evidence,
            blame=blamed,
            no_return=no_return,
            remarks=self.remarks.trivial(False)
            + self.remarks.on_commitments(parts, holds=False)
            + self.remarks.on_conflicts(first, evidence)
            + left_out,
            reason=problem or undecided,
            operand=first.operand,
            findings=findings,
        )

    def _refined(self, failing: Sequence[Part]) -> tuple[list[Part], tuple[str, ...]]:
        """Return the failing parts with their findings; failing refinements replace the part that implies them."""
        parts: list[Part] = []
        findings: list[str] = []
        for part in failing:
            causes = self._causes(part)
            parts += [Part(part.operand, one.formula) for one in causes] or [part]
            own = self.question.findings[part.operand : part.operand + 1]
            findings += [one.finding for one in causes] or own
        return parts, tuple(dict.fromkeys(findings))

    def _causes(self, part: Part) -> list[Refinement]:
        """Return the failing refinements of the part, of the least level that has any."""
        refinements = [one for one in self.question.refinements if one.operand == part.operand]
        if self.question.causes is not None:
            refinements += self.question.causes(part.operand)
        for level in sorted({one.level for one in refinements}):
            causes: list[Refinement] = []
            with suppress(ResourceExhausted):
                at_level = (one for one in refinements if one.level == level)
                causes.extend(one for one in at_level if not self.selector.is_valid(one.formula, self.assuming))
            if causes:
                return causes
        return []

    def _with_restart(self, evidence: Evidence, system: System) -> Evidence:
        """Extend the evidence by the restart that forgets a debt, if the result replays."""
        longer = with_restart(system, evidence)
        return evidence if replay(system, longer, self.assuming) else longer

    def _without_fair_runs(self, assuming: frozenset[str]) -> tuple[f.Taken | None, ...]:
        """Return the restrictions under which no fair run begins in any initial state."""
        alongs = self.initial_restrictions
        return tuple(along for along in alongs if not self.realizability.has_fair_run(assuming, along))

    def _without_fair_run(self, lacking: f.Taken | None) -> Result:
        """Return the result of a question without fair runs: neither answer would mean anything."""
        return replace(
            self._bare_result("unknown", None),
            remarks=(no_fair_run_remark(lacking, self.assuming),),
            reason=f"no {fair_run_text(lacking)} begins in an initial state",
        )

    def _blame(self, whole: System, shown: System, evidence: Evidence) -> Responsibility | None:
        blamed = blame(whole, shown, self.question.formula, self.assuming, self._is_valid, evidence)
        if blamed is not None and not blamed.coalitions and self._without_fair_runs(frozenset(whole.agent)):
            return replace(blamed, avoidance=None, is_realizable=False)
        return blamed

    def _failing_for_all(self, evidence: Evidence) -> tuple[Part, Evidence] | None:
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
        self._check_support()
        if self._without_fair_runs(self.assuming):
            return "unknown"
        parts = self.selector.parts(self.question.formula)
        answer: Answer = "fails" if self._failing(parts) else "holds"
        has_timelock = self.timelocks is not None and self.timelocks.excluded(self.assuming) is not None
        if has_timelock and not self._rests_on_fair_run(answer):
            return "unknown"
        if answer == "fails":
            return "fails"
        return "vacuous" if self.remarks.vacuous(parts) else "holds"

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
            remarks = self.remarks.vacuous(parts)
            return replace(self._bare_result("vacuous" if remarks else "holds", None), remarks=remarks)
        first, evidence, problem = parts[0].formula, None, None
        is_universal = isinstance(first, f.OnPaths) and isinstance(first.path, f.Globally)
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
            vacuous = self.remarks.vacuous(parts)
            remarks = (
                vacuous
                + self.remarks.on_commitments(parts, holds=True)
                + self.remarks.on_conflicts(parts[0], None)
                + (tuple(self.remarks.independent(parts)) if self.vacuity else ())
            )
        except ResourceExhausted as limit:
            if self.selector.method not in {"onthefly", "reduced"}:
                raise
            problem = f"whether it holds vacuously was left open: {limit}"
        left_out, undecided = self._excluding()
        answer: Answer = "vacuous" if vacuous else "holds"
        return replace(
            self._bare_result(answer, decider),
            evidence=evidence,
            knowledge=None if vacuous else self._knowledge_reason(first, decider.engine),
            remarks=remarks + left_out,
            reason=problem or undecided,
        )

    def _knowledge_reason(self, formula: f.Formula, engine: AnyEngine) -> KnowledgeReason | None:
        """Return the reason for the knowledge that a valid formula claims, if an engine with all states decided it."""
        if not isinstance(engine, Engine) or not any(isinstance(one, f.Knows) for one in f.subformulas(formula)):
            return None
        from cplc.checking.knowledge_reason import knowledge_reason

        try:
            return knowledge_reason(engine, formula, self.assuming)
        except ResourceExhausted:
            return None

    def _bare_result(self, answer: Answer, decider: Decider | None) -> Result:
        whole = self.selector.system
        system = whole if decider is None else decider.reduced.shown_system
        left_out = len(whole.variables) - len(system.variables)
        name, reason = self.selector.engine_choice(None if decider is None else decider.engine)
        return Result(self.question, answer, name, 0.0, system, left_out=left_out, engine_reason=reason)

    def _evidence(self, formula: f.Formula, assuming: frozenset[str] | None = None) -> Evidence:
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

    def _replayed_evidence(self, engine: AnyEngine, formula: f.Formula, assuming: frozenset[str]) -> Evidence:
        if isinstance(engine, Engine):
            evidence = explain_initial(engine, formula, assuming)
        else:
            _, evidence = engine.decide(formula, assuming)
            evidence = with_actions(engine.system, evidence)
        problems = replay(engine.system, evidence, assuming)
        if problems:
            raise EvidenceError("; ".join(problems))
        return evidence


def _is_played_by(members: frozenset[str], formula: f.Formula, system: System) -> bool:
    """Return whether states decide the formula, or strategies of groups with these bounded members."""
    if isinstance(formula, f.Enforces):
        operands = f.children(formula.goal)
        return system.bounded_members(formula.group) == members and all(
            _is_played_by(members, one, system) for one in operands
        )
    if isinstance(formula, f.Derived):
        return _is_played_by(members, formula.definition, system)
    if isinstance(formula, f.Not | f.And):
        return all(_is_played_by(members, one, system) for one in f.children(formula))
    return f.is_propositional(formula)


def _whole_run(evidence: Evidence) -> tuple[Move, ...]:
    """Return the steps of the run and of its longest continuation."""
    parts = (_whole_run(part) for position, part in evidence.parts if position == len(evidence.run.moves))
    return evidence.run.moves + max(parts, key=len, default=())
