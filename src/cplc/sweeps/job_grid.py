"""Job grid: the jobs of a sweep in order, by files, points of the grid, and parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from cplc.compilation import Compilation, is_ispl, load, load_ispl
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.questions import UnknownQuestion
from cplc.records import dataclass
from cplc.sweeps.belief_variants import BeliefError, believing
from cplc.sweeps.grids import points, size
from cplc.sweeps.job_runner import JobError, bound_questions_of, checked_job, compile_job, with_imports
from cplc.sweeps.jobs import Job, SourceText, SweepOptions, chunk_seed, chunks

MUTANTS_PER_JOB: Final = 8
"""Number of mutants per job; the original protocol is verified once per job."""
RUNS_PER_JOB: Final = 1000
"""Number of runs per job. It determines the random numbers, so it is the same on all machines."""


@dataclass(frozen=True)
class SweepPlan:
    """The sweep that the command line requests."""

    files: tuple[str, ...]
    options: SweepOptions
    parameters: Mapping[str, Sequence[str]]
    beliefs: Mapping[str, Sequence[str]]
    names: tuple[str, ...] = ()
    split: bool = False
    """True if each property, or each agent, is a separate job."""
    runs: int = 1000
    seed: int = 0

    @property
    def points(self) -> int:
        """Number of points of the grid, over all files."""
        return len(self.files) * size(self.parameters) * size(self.beliefs)


def source_texts(files: Sequence[str], first: Job) -> Iterator[tuple[SourceText | None, tuple[Diagnostic, ...]]]:
    """Yield each file with its imports and its diagnostics; None instead of a file that has errors.

    The files are checked at one point of the grid, that of the job ``first``.
    """
    for name in files:
        loaded = load_ispl(name) if is_ispl(name) else load(name)
        if isinstance(loaded, Diagnostic):
            yield None, (loaded,)
            continue
        file = SourceText(name, loaded.source.text)
        if isinstance(loaded, Compilation):
            file = with_imports(file, loaded)
        reading = compile_job(replace(first, file=file))
        if isinstance(reading, Compilation):
            reading = replace(reading, load=None)  # from disk, so that errors of imports are reported
        more = () if isinstance(reading, Compilation) else reading.unverifiable if reading.ok else ()
        yield (file if reading.ok and not more else None), (*reading.diagnostics, *more)


def check_names(job: Job) -> None:
    """Raise `JobError` for an unknown name, before many jobs fail for the same reason."""
    from cplc.participant_analysis import participants

    if job.options.ask not in ("verify", "coverage", "analyze"):
        return
    reading = checked_job(job)
    try:
        if job.options.ask == "analyze" and isinstance(reading, Compilation):
            queries = participants(reading, job.names)
            for one in queries:
                believing(one.participant, job.beliefs)
        elif job.names:
            bound_questions_of(reading, job.names)
    except UnknownQuestion as problem:
        hints = [note.message for note in did_you_mean(problem.name, problem.candidates)]
        there_are = f"there are {', '.join(problem.candidates)}" if problem.candidates else "there is none"
        raise JobError(f"`{job.file.name}` has no `{problem.name}`; {(hints or [there_are])[0]}") from None
    except BeliefError as problem:
        raise JobError(str(problem)) from None


def sweep_jobs(plan: SweepPlan, files: Iterable[SourceText]) -> Iterator[Job]:
    """Yield the jobs; a file is compiled, if necessary to divide it, when its jobs are due."""
    for file in files:
        for parameters, beliefs in product(tuple(points(plan.parameters)), tuple(points(plan.beliefs))):
            job = Job(file, plan.options, parameters, beliefs, plan.names, seed=plan.seed)
            yield from _parts(job, plan)


def _parts(job: Job, plan: SweepPlan) -> Iterator[Job]:
    match job.options.ask:
        case "simulate":
            for number, (first, count) in enumerate(chunks(plan.runs, RUNS_PER_JOB)):
                yield replace(job, first=first, count=count, seed=chunk_seed(plan.seed, number))
        case "coverage":
            yield from _changes(job)
        case "verify" | "analyze" if plan.split:
            yield from _names(job)
        case _:
            yield job


def _changes(job: Job) -> Iterator[Job]:
    from cplc.mutation.mutants import mutants

    try:
        reading = checked_job(job)
    except JobError:
        yield job  # the worker reports the error
        return
    if isinstance(reading, Compilation):
        count = sum(1 for _ in mutants(reading.model))
        for first, some in chunks(count, MUTANTS_PER_JOB):
            yield replace(job, first=first, count=some)
    else:
        yield job


def _names(job: Job) -> Iterator[Job]:
    """Yield a job for each name, for all names of the file if none is given."""
    from cplc.participant_analysis import participants

    names: Sequence[str] = job.names
    if not names:
        try:
            reading = checked_job(job)
        except JobError:
            yield job
            return
        if job.options.ask == "verify":
            names = tuple(dict.fromkeys(one.question.name for one in bound_questions_of(reading)))
        elif isinstance(reading, Compilation):
            names = tuple(one.participant.name for one in participants(reading))
    yield from (replace(job, names=(name,)) for name in names) if names else (job,)
