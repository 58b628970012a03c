"""Analysis of the participants of a compiled file, and verdicts of their thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from time import perf_counter

from cplc.checking.results import Question, Result
from cplc.compilation.cpl import CplCompilation
from cplc.compilation.interface import BoundQuestion, UnknownQuestion
from cplc.decision import Analysis, Bounds, Figure, analyse
from cplc.decision.results import Verdict
from cplc.decision.statistical import AspectEstimate, Estimate, Sampling, estimate
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.lowering.participants import lower_participant, participant_views
from cplc.records import dataclass
from cplc.report.estimate import sentence
from cplc.report.number_text import bounds_text
from cplc.semantics import model as m
from cplc.system.model import System
from cplc.system.participant import Aspect, Participant, Threshold


@dataclass(frozen=True)
class ParticipantQuery:
    """A participant, the system with the variables that it depends on, and its thresholds."""

    participant: Participant
    system: System
    thresholds: tuple[m.Threshold, ...]


@dataclass(frozen=True)
class AnalysisOptions:
    """Options of the analysis of a participant."""

    exact: bool = False
    fairness: bool = True
    reduction: bool = True
    sensitivity: bool = True
    """True to compute sensitivities; verdicts do not need them."""


def participants(compilation: CplCompilation, names: Sequence[str] = ()) -> tuple[ParticipantQuery, ...]:
    """Return the participants with these names; without names, those with thresholds or, if there are none, all."""
    model = compilation.model
    declared = {participant.name: participant for participant in model.participants}
    for name in names:
        if name not in declared:
            raise UnknownQuestion(name, list(declared))
    selected = set(names) or {threshold.participant for threshold in model.thresholds} or set(declared)
    return tuple(_over_a_system(compilation, declared[name]) for name in declared if name in selected)


def _over_a_system(compilation: CplCompilation, declared: m.Participant) -> ParticipantQuery:
    model = compilation.model
    system = compilation.system_keeping(participant_views(declared, model))
    thresholds = tuple(one for one in model.thresholds if one.participant == declared.name)
    return ParticipantQuery(lower_participant(declared, model, system), system, thresholds)


_DEFAULTS = AnalysisOptions()


def analyse_participant(query: ParticipantQuery, options: AnalysisOptions = _DEFAULTS) -> Analysis:
    """Return the analysis of a participant; aspects without goals or values have trivial figures."""
    analysis = analyse(
        query.system, query.participant, tuple(map(limit, query.thresholds)),
        exact=options.exact, fairness=options.fairness, reduction=options.reduction, sensitivity=options.sensitivity,
    )  # fmt: skip
    aspects = {figure.aspect for figure in analysis.figures}
    missing = [figure for figure in _PLAIN if figure.aspect not in aspects]
    missing = [figure for figure in missing if any(one.aspect == figure.aspect for one in query.thresholds)]
    return replace(analysis, figures=(*analysis.figures, *missing)) if missing else analysis


def estimate_participant(query: ParticipantQuery, sampling: Sampling) -> Estimate:
    """Return the estimate by random runs."""
    result = estimate(query.system, query.participant, sampling)
    missing = {one.aspect for one in query.thresholds} - {figure.aspect for figure in result.figures}
    plain = tuple(
        AspectEstimate(figure.aspect, sampling.runs if figure.guaranteed is _ALWAYS else 0, 0, figure.guaranteed)
        for figure in _PLAIN
        if figure.aspect in missing
    )
    return replace(result, figures=(*result.figures, *plain))


_ALWAYS = Bounds(Fraction(1), Fraction(1))
_NEVER = Bounds(Fraction(0), Fraction(0))
_PLAIN = (Figure("achievement", _ALWAYS, _ALWAYS), Figure("benefit", _NEVER, _NEVER))
"""The figures of a participant without goals, and of one without values."""


def limit(threshold: m.Threshold) -> Threshold:
    """Return the threshold without its place and its expected verdict."""
    return Threshold(threshold.aspect, threshold.relation, threshold.value)


def threshold_questions(compilation: CplCompilation) -> tuple[BoundQuestion, ...]:
    """Return the thresholds of the file as questions, with names such as ``Alice.benefit``."""
    queries = {one.participant.name: one for one in participants(compilation)}
    return tuple(
        BoundQuestion(
            threshold_question(threshold, queries[threshold.participant].participant),
            queries[threshold.participant].system,
        )
        for threshold in compilation.model.thresholds
    )


def threshold_question(threshold: m.Threshold, participant: Participant) -> Question:
    """Return the question; its formula is the goal condition on ends (true for a benefit, which depends on rewards)."""
    match threshold.aspect:
        case "conformance":
            goal_condition = participant.conforming
        case "achievement":
            goal_condition = e.conj(goal.condition for goal in participant.goals)
        case "benefit":
            goal_condition = e.TRUE
    return Question(
        name=f"{threshold.participant}.{threshold.aspect}",
        kind="analysis",
        formula=f.Atom(goal_condition, threshold.text),
        text=threshold.text,
        expected="holds" if threshold.expect_holds else "fails",
        span=threshold.span,
    )


def threshold_result(one: BoundQuestion, figure: Figure, verdict: Verdict, seconds: float) -> Result:
    """Return the result with its figures."""
    finding = f"guaranteed {bounds_text(figure.guaranteed)}, at best {bounds_text(figure.best)}"
    return Result(
        one.question,
        verdict,
        "",
        seconds,
        one.system,
        reason=figure.unsolved or None,
        findings=() if figure.unsolved else (finding,),
    )


def estimated_result(one: BoundQuestion, result: Estimate, aspect: Aspect, seconds: float) -> Result:
    """Return an unknown result with the estimate."""
    figure = next(figure for figure in result.figures if figure.aspect == aspect)
    finding = sentence(figure, result)
    return Result(one.question, "unknown", "", seconds, one.system, reason=f"{finding}: an estimate is no proof")


@dataclass
class ThresholdChecker:
    """Decides thresholds of participants; each participant is analysed once."""

    compilation: CplCompilation
    _found: dict[tuple[str, bool], Analysis] = field(default_factory=dict)

    def answers(self, questions: Sequence[BoundQuestion]) -> Iterator[Result]:
        """Yield a result for each question of `threshold_questions`."""
        for one in questions:
            began = perf_counter()
            threshold = next(it for it in self.compilation.model.thresholds if it.span is one.question.span)
            analysis = self._analysis(threshold.participant, exact=False)
            figure = analysis.figure(threshold.aspect)
            if analysis.verdict(limit(threshold)) == "unknown" and not figure.unsolved:
                # the bounds do not decide the threshold, exact fractions do
                analysis = self._analysis(threshold.participant, exact=True)
                figure = analysis.figure(threshold.aspect)
            yield threshold_result(one, figure, analysis.verdict(limit(threshold)), perf_counter() - began)

    def _analysis(self, name: str, *, exact: bool) -> Analysis:
        if (name, exact) not in self._found:
            (query,) = participants(self.compilation, [name])
            self._found[name, exact] = analyse_participant(query, AnalysisOptions(exact=exact, sensitivity=False))
        return self._found[name, exact]
