"""Runs a job: yields its subjects first, so that unfinished ones can be named, and then the rows of each."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cplc.compilation import Compilation, CplCompilation, NotApplicable, UnknownQuestion, compile_text, count_reachable
from cplc.records import dataclass
from cplc.source import Source
from cplc.sweeps.jobs import Assignments, Cell, Job, ResultRow, SourceText
from cplc.system.participant import Belief, Event, Participant

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation import EngineName
    from cplc.compilation.participants import ParticipantQuery
    from cplc.decision.results import Bounds, Figure, LineResult
    from cplc.semantics.model import AnalyzeLine


# --- Variants of beliefs: set one probability, and scale the others of the belief in proportion


class BeliefError(ValueError):
    """The belief does not exist or cannot be set; the text gives the reason."""


def parts(name: str) -> tuple[str, str]:
    """Return the agent and the message of a name like ``Tom.pay`` or ``Tom.pay[2]``."""
    agent, point, message = name.partition(".")
    if not (agent and point and message):
        raise BeliefError(f"`{name}` is not of the form AGENT.MESSAGE")
    return agent, message


def probability(text: str) -> Fraction:
    """Return a number from 0 to 1, written as a decimal or a fraction."""
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BeliefError(f"`{text}` is not a probability") from None
    if not 0 <= number <= 1:
        raise BeliefError(f"`{text}` is not a probability between 0 and 1")
    return number


def believing(participant: Participant, beliefs: Assignments) -> Participant:
    """Return the participant with the beliefs among these that are its own."""
    for name, value in beliefs:
        agent, message = parts(name)
        if agent == participant.name:
            changed = _changed(participant.beliefs, message, probability(value))
            if changed == participant.beliefs and not _mentions(participant.beliefs, message):
                raise BeliefError(_no_belief_message(participant, message))
            participant = replace(participant, beliefs=changed)
    return participant


def _no_belief_message(participant: Participant, message: str) -> str:
    messages = dict.fromkeys(event.name.partition("[")[0] for belief in participant.beliefs for event in belief.events)
    hint = f"; there are {', '.join(messages)}" if messages else ""
    return f"`{participant.name}` has no belief about `{message}`{hint}"


def _mentions(beliefs: Sequence[Belief], message: str) -> bool:
    return any(_matches(event, message) for belief in beliefs for event in belief.events)


def _matches(event: Event, message: str) -> bool:
    """Tell whether the event is this message, or a member of its family."""
    return message in (event.name, event.name.partition("[")[0])


def _changed(beliefs: Sequence[Belief], message: str, value: Fraction) -> tuple[Belief, ...]:
    return tuple(_set(belief, message, value) if _mentions((belief,), message) else belief for belief in beliefs)


def _set(belief: Belief, message: str, value: Fraction) -> Belief:
    meant = [event for event in belief.events if _matches(event, message)]
    siblings = [event for event in belief.events if not _matches(event, message)]
    if any(event.low != event.high for event in belief.events):
        raise BeliefError(f"`{belief.text}` gives bounds; only a belief with single probabilities can be varied")
    if len(meant) > 1:
        raise BeliefError(f"`{belief.text}` names several instances of `{message}`: give one, such as `pay[1]`")
    rest = sum((event.low for event in siblings), Fraction(0))
    if rest == 0 and value != 1:
        raise BeliefError(f"`{belief.text}` gives its other events probability 0, so they cannot be scaled to the rest")

    def believed(event: Event) -> Event:
        chance = value if event is meant[0] else event.low * (1 - value) / rest if rest else Fraction(0)
        return replace(event, low=chance, high=chance)

    return replace(belief, events=tuple(map(believed, belief.events)))


class JobError(ValueError):
    """The job cannot be run; the text gives the reason."""


@dataclass(frozen=True)
class JobSubjects:
    """The subjects of a job, in order."""

    subjects: tuple[str, ...]


@dataclass(frozen=True)
class JobFailure:
    """The reason why a job cannot be run."""

    reason: str


JobOutput = JobSubjects | tuple[str, tuple[ResultRow, ...]]
"""Either all subjects, or the rows of one of them."""


def prepare() -> None:
    """Import the modules that every job needs, before the first fork."""
    import cplc.compilation.participants
    import cplc.engines.symbolic.engine
    import cplc.mutation.coverage
    import cplc.simulation.random_walk  # noqa: F401

    assert CplCompilation(Source("nothing", "protocol Nothing { role A }")).diagnostics is not None


def job_outputs(job: Job) -> Iterator[JobOutput | JobFailure]:
    """Yield the outputs of a job, the task of a worker process."""
    try:
        yield from run_job(job)
    except JobError as problem:
        yield JobFailure(str(problem))


def run_job(job: Job) -> Iterator[JobOutput]:
    """Yield the subjects of the job, and then the rows of each; raise `JobError` if it cannot be run."""
    reading = checked_job(job)
    try:
        match job.options.ask:
            case "verify":
                yield from _verify(job, reading)
            case "analyze":
                yield from _analyze(job, protocol_of(reading))
            case "coverage":
                yield from _coverage(job, reading)
            case "simulate":
                yield from _simulate(job, reading)
            case "stats":
                yield from _stats(job, reading)
    except UnknownQuestion as problem:
        alternatives = f"there are {', '.join(problem.candidates)}" if problem.candidates else "there is none"
        raise JobError(f"there is no `{problem.name}`; {alternatives}") from None
    except BeliefError as problem:
        raise JobError(str(problem)) from None


def checked_job(job: Job) -> Compilation:
    """Return the compiled file of the job; raise `JobError` if it has errors."""
    reading = compile_job(job)
    wrong = [one for one in reading.diagnostics if one.is_error]
    if not wrong and reading.ok:
        wrong = list(reading.unverifiable)
    if wrong or not reading.ok:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise JobError(wrong[0].concise() + more if wrong else "the file is wrong")
    return reading


def compile_job(job: Job, *, from_disk: bool = False) -> Compilation:
    """Return the compilation of the job's file, with or without errors; its imports come with the job, or from disk."""
    from cplc.semantics.imports import loader
    from cplc.syntax.parser import parse

    file, options = job.file, job.options
    source, path = Source(file.name, file.text), Path(file.name)
    buffers = {os.path.abspath(name): text for name, text in file.imports}
    try:
        return compile_text(
            source, path, dict(job.parameters), options.channels, options.protocol, options.strategies,
            load=None if from_disk else loader(path, parse, buffers, only_buffers=True),
        )  # fmt: skip
    except NotApplicable as problem:
        raise JobError(str(problem)) from None


def protocol_of(reading: Compilation) -> CplCompilation:
    """Return the compilation of a protocol; raise `JobError` for a model in ISPL."""
    if not isinstance(reading, CplCompilation):
        raise JobError("this command needs a protocol, not a model in ISPL")
    return reading


def with_imports(file: SourceText, reading: Compilation) -> SourceText:
    """Return the file with its imports."""
    return replace(file, imports=tuple((one.name, one.text) for one in reading.sources if one is not reading.source))


# --- properties and checks


def _verify(job: Job, reading: Compilation) -> Iterator[JobOutput]:
    bound_questions = reading.questions_with_thresholds(job.names)
    yield JobSubjects(tuple(one.question.name for one in bound_questions))
    rows: dict[str, ResultRow] = {}
    for result in reading.verify(bound_questions, job.options.engine):
        row = _verdict_row(result)
        if job.options.measure:
            memory = _peak_megabytes()
            row = replace(row, figures=(*row.figures, ("seconds", round(result.seconds, 3)), ("megabytes", memory)))
            rows[row.subject] = row
        yield row.subject, (row,)
    if rows:  # the verdicts stand, even if the states cannot be counted
        states = str(count_reachable(reading.system, _counting_engine(job)))
        for row in rows.values():
            yield row.subject, (replace(row, figures=(("states", states), *row.figures)),)


def _peak_megabytes() -> float | None:
    """Return the peak of the resident memory of this process, in megabytes; None where it is unknown."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def _counting_engine(job: Job) -> EngineName:
    """Return the engine that counts states: not every engine enumerates them."""
    return "auto" if job.options.engine in {"onthefly", "reduced"} else job.options.engine


def _verdict_row(result: Result) -> ResultRow:
    is_known = result.answer != "unknown"
    advisory = result.question.advisory
    return ResultRow(
        result.question.name,
        result.answer,
        (("kind", result.question.kind), ("engine", result.engine)),
        "; ".join(filter(None, (result.reason, *(remark.message for remark in result.remarks)))),
        (result.as_expected or advisory) if is_known else None,
    )


# --- participants


def _analyze(job: Job, compilation: CplCompilation) -> Iterator[JobOutput]:
    from cplc.compilation.participants import AnalysisOptions, analyse_participant, participants

    queries = participants(compilation, job.names)
    if not queries:
        raise JobError("the file declares no agent to analyze")
    strangers = {name.partition(".")[0] for name, _ in job.beliefs} - {one.participant.name for one in queries}
    if strangers:
        raise JobError(f"`{min(strangers)}` is not analyzed, so its beliefs have no effect")
    yield JobSubjects(tuple(one.label for one in queries))
    for one in queries:
        changed = replace(one, participant=believing(one.participant, job.beliefs))
        analysis = analyse_participant(changed, AnalysisOptions(exact=job.options.exact))
        rows = [_figure_rows(changed, figure) for figure in analysis.figures]
        if analysis.gain is not None:
            gain = analysis.gain
            figures = _bounds(gain.guaranteed, gain.best)
            rows.append(ResultRow(f"{one.label}.gain", "", figures, gain.unknown))
        rows += [_line_row(changed, line, result) for line, result in zip(one.lines, analysis.lines, strict=True)]
        yield one.label, tuple(rows)


def _figure_rows(query: ParticipantQuery, figure: Figure) -> ResultRow:
    name = f"{query.label}.{figure.aspect}"
    if figure.unsolved:
        return ResultRow(name, "unknown", reason=figure.unsolved)
    return ResultRow(name, "", _bounds(figure.guaranteed, figure.best))


def _line_row(query: ParticipantQuery, line: AnalyzeLine, result: LineResult) -> ResultRow:
    """Return the row of an `analyze` line; a plan that meets it guarantees the lower bounds."""
    from cplc.compilation.participants import line_question
    from cplc.decision.results import VERDICT_OF_PLAN

    name = line_question(line, query.participant).name
    verdict = VERDICT_OF_PLAN[result.verdict]
    expected = None if verdict == "unknown" else verdict == ("holds" if line.expect_holds else "fails")
    return ResultRow(name, verdict, reason=result.reason, expected=expected)


def _bounds(guaranteed: Bounds, best: Bounds) -> tuple[tuple[str, Cell], ...]:
    return (
        ("guaranteed_low", float(guaranteed.low)),
        ("guaranteed_high", float(guaranteed.high)),
        ("best_low", float(best.low)),
        ("best_high", float(best.high)),
    )


# --- mutants, runs, sizes


def _coverage(job: Job, compilation: Compilation) -> Iterator[JobOutput]:
    part = islice(compilation.mutants(), job.first, job.first + job.count)
    subjects = tuple(f"{at}: {mutant.change}" for at, mutant in enumerate(part, job.first + 1))
    yield JobSubjects(subjects)
    among = range(job.first, job.first + job.count)
    outcomes = compilation.coverage(job.names, job.options.engine, among=among)
    for subject, outcome in zip(subjects, outcomes, strict=True):
        figures = (("kind", outcome.mutant.kind), ("by", outcome.by))
        yield subject, (ResultRow(subject, outcome.verdict, figures),)


def _simulate(job: Job, compilation: Compilation) -> Iterator[JobOutput]:
    from cplc.simulation.random_walk import draw

    options, system = job.options, compilation.system
    subject = f"runs from {job.first + 1} on"
    yield JobSubjects((subject,))
    runs = draw(system, options.bias, None, seed=job.seed, runs=job.count, most=options.steps, keep=0)
    ((_, statistics),) = deque(runs, maxlen=1)
    whole: tuple[tuple[str, Cell], ...] = (("runs", statistics.runs), ("steps", statistics.steps))
    endings = tuple((f"ended: {name}", count) for name, count in sorted(statistics.endings.items()))
    rows = [ResultRow("", "", (*whole, *endings))]
    for course in statistics.courses:
        counts = tuple((state, count) for state, count in course.endings.items())
        rows.append(ResultRow(course.name, "", (("runs", statistics.runs), ("instances", course.instances), *counts)))
    yield subject, tuple(rows)


def _stats(job: Job, reading: Compilation) -> Iterator[JobOutput]:
    yield JobSubjects(("reachable states",))
    system = reading.system
    # As text: it may have more digits than a numeric column.
    states = str(count_reachable(system, _counting_engine(job)))
    figures = (("variables", len(system.variables)), ("steps", len(system.steps)), ("states", states))
    yield "reachable states", (ResultRow("reachable states", "", figures),)
