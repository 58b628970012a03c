"""Analysis of the participants of a compiled file, and verdicts of their thresholds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from time import perf_counter

from cplc.checking.results import Question, Result
from cplc.compilation.cpl import CplCompilation
from cplc.compilation.interface import BoundQuestion, UnknownQuestion
from cplc.decision import Analysis, Bounds, Figure, analyse
from cplc.decision.given_plans import GivenPlan
from cplc.decision.mdp import Semantics
from cplc.decision.next_send import Adviser
from cplc.decision.plan_document import StatedPlan
from cplc.decision.results import VERDICT_OF_PLAN, LineResult
from cplc.decision.statistical import AspectEstimate, Estimate, Sampling, estimate, estimate_of_plan
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.lowering.participants import lower_participant, participant_views, with_conformance_of_the_paper
from cplc.records import dataclass
from cplc.report.estimate import sentence
from cplc.report.plan_text import line_findings
from cplc.semantics import model as m
from cplc.semantics.terms import counts_ticks
from cplc.system.model import System
from cplc.system.participant import Aspect, Participant, Threshold


@dataclass(frozen=True)
class ParticipantQuery:
    """A participant, the system with the variables that it depends on, and its thresholds under some assumptions."""

    participant: Participant
    system: System
    lines: tuple[m.AnalyzeLine, ...]
    assumed: tuple[str, ...] = ()
    """The roles and messages that keep going."""
    assumption: str = ""
    """The same with their bounds, as written after `assuming`."""

    @property
    def label(self) -> str:
        """The participant, with the assumption."""
        return self.participant.name + (f" assuming {self.assumption}" if self.assumption else "")

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """All thresholds of its lines."""
        return tuple(dict.fromkeys(one for line in self.lines for one in thresholds_of(line)))


@dataclass(frozen=True)
class AnalysisOptions:
    """Options of the analysis of a participant."""

    exact: bool = False
    fairness: bool = True
    reduction: bool = True
    sensitivity: bool = True
    """True to compute sensitivities; verdicts do not need them."""
    semantics: Semantics = "game"


def participants(compilation: CplCompilation, names: Sequence[str] = ()) -> tuple[ParticipantQuery, ...]:
    """Return the participants with these names; without names, those with thresholds or, if there are none, all."""
    model = compilation.model
    declared = {participant.name: participant for participant in model.participants}
    for name in names:
        if name not in declared:
            raise UnknownQuestion(name, list(declared))
    selected = set(names) or {line.participant for line in model.analyses} or set(declared)
    return tuple(query for name in declared if name in selected for query in _queries(compilation, declared[name]))


def _queries(compilation: CplCompilation, declared: m.Participant) -> Iterator[ParticipantQuery]:
    """Yield one query for the lines of each assumption."""
    mine = [line for line in compilation.model.analyses if line.participant == declared.name]
    by_assumption: dict[tuple[tuple[str, ...], tuple[m.Bound, ...]], list[m.AnalyzeLine]] = {}
    for line in mine:
        by_assumption.setdefault((line.assuming, line.bounds), []).append(line)
    for (assuming, bounds), lines in (by_assumption or {((), ()): []}).items():
        views = participant_views(declared, compilation.model)
        is_timed = any(counts_ticks(goal.meaning) for goal in declared.goals)
        system = compilation.system_keeping(views, bounds=bounds, is_timed=is_timed)
        system, participant = lower_participant(declared, compilation.model, system)
        assumption = lines[0].assumption if lines else ""
        records = (role.name for role in compilation.model.roles if role.is_record and role.name not in assuming)
        yield ParticipantQuery(participant, system, tuple(lines), (*assuming, *records), assumption)


_DEFAULTS = AnalysisOptions()


def analyse_participant(query: ParticipantQuery, options: AnalysisOptions = _DEFAULTS) -> Analysis:
    """Return the analysis of a participant; aspects without goals or values have trivial figures."""
    participant = query.participant
    if options.semantics == "paper":
        participant = with_conformance_of_the_paper(participant, query.system)
    analysis = analyse(
        query.system, participant, list(map(thresholds_of, query.lines)), assumed=frozenset(query.assumed),
        exact=options.exact, fairness=options.fairness, reduction=options.reduction, sensitivity=options.sensitivity,
        semantics=options.semantics,
    )  # fmt: skip
    aspects = {figure.aspect for figure in analysis.figures}
    missing = [figure for figure in _PLAIN if figure.aspect not in aspects]
    missing = [figure for figure in missing if any(one.aspect == figure.aspect for one in query.thresholds)]
    return replace(analysis, figures=(*analysis.figures, *missing)) if missing else analysis


def adviser(compilation: CplCompilation, name: str) -> Adviser:
    """Return the adviser of a participant: by the lines that the file expects it to meet, and their assumption.

    Thresholds of the probability to gain are left out: they take too long for a decision on the spot.
    """
    queries = participants(compilation, [name])
    query = next((one for one in queries if any(line.expect_holds for line in one.lines)), queries[0])
    lines = [
        tuple(one for one in thresholds_of(line) if one.aspect != "benefit")
        for line in query.lines
        if line.expect_holds
    ]
    return Adviser(query.system, query.participant, tuple(filter(None, lines)), frozenset(query.assumed))


def estimate_participant(query: ParticipantQuery, sampling: Sampling, plan: StatedPlan | None = None) -> Estimate:
    """Return the estimate by random runs: of a given plan, if there is one; raise `UnreadablePlan` if it is unfit."""
    assumed = frozenset(query.assumed)
    if plan is None:
        result = estimate(query.system, query.participant, sampling, assumed)
    else:
        given = GivenPlan(query.system, query.participant, plan)
        result = estimate_of_plan(query.system, query.participant, sampling, assumed, given)
    missing = {one.aspect for one in query.thresholds} - {figure.aspect for figure in result.figures}
    plain = tuple(
        AspectEstimate(
            figure.aspect,
            sampling.runs if figure.guaranteed is _ALWAYS else 0,
            0,
            figure.guaranteed,
            None if plan is None else figure.guaranteed,
        )
        for figure in _PLAIN
        if figure.aspect in missing
    )
    return replace(result, figures=(*result.figures, *plain))


_ALWAYS = Bounds(Fraction(1), Fraction(1))
_NEVER = Bounds(Fraction(0), Fraction(0))
_PLAIN = (Figure("achievement", _ALWAYS, _ALWAYS), Figure("benefit", _NEVER, _NEVER))
"""The figures of a participant without goals, and of one without values."""


def thresholds_of(line: m.AnalyzeLine) -> tuple[Threshold, ...]:
    """Return the thresholds of a line."""
    return tuple(Threshold(one.aspect, one.relation, one.value) for one in line.thresholds)


def line_questions(compilation: CplCompilation) -> tuple[BoundQuestion, ...]:
    """Return the `analyze` lines of the file as questions, with names such as ``Alice.conformance+benefit``."""
    return tuple(
        BoundQuestion(line_question(line, query.participant), query.system)
        for query in participants(compilation)
        for line in query.lines
    )


def line_question(line: m.AnalyzeLine, participant: Participant) -> Question:
    """Return the question; its formula is the condition on ends that the thresholds are about."""
    aspects = tuple(dict.fromkeys(one.aspect for one in line.thresholds))
    conditions: dict[Aspect, e.Expr] = {
        "conformance": participant.conforming,
        "achievement": e.conj(goal.condition for goal in participant.goals),
    }
    return Question(
        name=f"{line.participant}.{'+'.join(aspects)}",
        kind="analysis",
        formula=f.Atom(e.conj(conditions.get(aspect, e.TRUE) for aspect in aspects), line.text),
        text=line.text,
        expected="holds" if line.expect_holds else "fails",
        span=line.span,
    )


def line_result(one: BoundQuestion, result: LineResult, seconds: float) -> Result:
    """Return the result with what the plan guarantees."""
    return Result(
        one.question,
        VERDICT_OF_PLAN[result.verdict],
        "",
        seconds,
        one.system,
        reason=result.reason or ("its figures do not decide it" if result.verdict == "undecided" else None),
        findings=tuple(line_findings(result)),
    )


def estimated_result(one: BoundQuestion, result: Estimate, aspects: Collection[Aspect], seconds: float) -> Result:
    """Return an unknown result with the estimate."""
    findings = [sentence(figure, result) for figure in result.every if figure.aspect in aspects]
    reason = f"{'; '.join(findings)}: an estimate is no proof"
    return Result(one.question, "unknown", "", seconds, one.system, reason=reason)


@dataclass
class LineChecker:
    """Decides `analyze` lines; each participant is analysed once."""

    compilation: CplCompilation
    _analyses: dict[str, list[tuple[m.AnalyzeLine, LineResult]]] = field(default_factory=dict)

    def answers(self, questions: Sequence[BoundQuestion]) -> Iterator[Result]:
        """Yield a result for each question of `line_questions`."""
        for one in questions:
            began = perf_counter()
            line = next(it for it in self.compilation.model.analyses if it.span is one.question.span)
            result = next(result for mine, result in self._lines(line.participant) if mine is line)
            yield line_result(one, result, perf_counter() - began)

    def _lines(self, name: str) -> list[tuple[m.AnalyzeLine, LineResult]]:
        if name not in self._analyses:
            options = AnalysisOptions(sensitivity=False)
            self._analyses[name] = [
                pair
                for query in participants(self.compilation, [name])
                for pair in zip(query.lines, analyse_participant(query, options).lines, strict=True)
            ]
        return self._analyses[name]
