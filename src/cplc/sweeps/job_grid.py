"""Job grid: the jobs of a sweep in order, by files, points of the grid, and parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Final

from cplc.compilation import UnknownQuestion, load
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.language.decimals import decimal
from cplc.records import dataclass
from cplc.sweeps.job_runner import BeliefError, JobError, believing, checked_job, compile_job, protocol_of, with_imports
from cplc.sweeps.jobs import Assignments, Job, SourceText, SweepOptions, chunk_seed, chunks

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
        loaded = load(name)
        if isinstance(loaded, Diagnostic):
            yield None, (loaded,)
            continue
        file = with_imports(SourceText(name, loaded.source.text), loaded)
        reading = compile_job(replace(first, file=file), from_disk=True)  # reports errors of imports
        more = reading.unverifiable if reading.ok else ()
        yield (file if reading.ok and not more else None), (*reading.diagnostics, *more)


def check_names(job: Job) -> None:
    """Raise `JobError` for an unknown name, before many jobs fail for the same reason."""
    from cplc.compilation.participants import participants

    if job.options.ask not in ("verify", "coverage", "analyze"):
        return
    reading = checked_job(job)
    try:
        if job.options.ask == "analyze":
            queries = participants(protocol_of(reading), job.names)
            for one in queries:
                believing(one.participant, job.beliefs)
        elif job.names:
            reading.questions_with_thresholds(job.names)
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
    try:
        count = sum(1 for _ in checked_job(job).mutants())
    except JobError:
        yield job  # the worker reports the error
        return
    for first, some in chunks(count, MUTANTS_PER_JOB):
        yield replace(job, first=first, count=some)


def _names(job: Job) -> Iterator[Job]:
    """Yield a job for each name, for all names of the file if none is given."""
    from cplc.compilation.participants import participants

    names: Sequence[str] = job.names
    if not names:
        try:
            reading = checked_job(job)
            if job.options.ask == "verify":
                names = tuple(dict.fromkeys(one.question.name for one in reading.questions_with_thresholds()))
            else:
                names = tuple(dict.fromkeys(one.participant.name for one in participants(protocol_of(reading))))
        except JobError:
            yield job
            return
    yield from (replace(job, names=(name,)) for name in names) if names else (job,)


MAX_POINTS: Final = 1_000_000
"""Maximum number of points of a grid."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_RANGE: Final = re.compile(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*(?:/\s*({_NUMBER})\s*)?")
_DEFAULT_STEPS: Final = 10
"""Number of steps of a range with decimals if it gives none."""


class RangeError(ValueError):
    """The text is not a range; the message gives the reason."""


def values(text: str) -> tuple[str, ...]:
    """Return the values of a comma-separated list of ranges, each once, in order."""
    distinct: dict[str, None] = {}
    for part in text.split(","):
        if not part.strip():
            raise RangeError(f"`{text}` has an empty value")
        distinct |= dict.fromkeys(_values_of_part(part))
        if len(distinct) > MAX_POINTS:
            raise RangeError(f"`{text}` has more than {MAX_POINTS:,} values")
    return tuple(distinct)


def _values_of_part(part: str) -> Iterator[str]:
    written = _RANGE.fullmatch(part)
    if written is None:
        if ".." in part:
            raise RangeError(f"`{part.strip()}` is not a range such as 1..10, 2..20/2 or 0.1..0.9/0.1")
        yield part.strip()
        return
    first, last = Fraction(written[1]), Fraction(written[2])
    is_whole = first.denominator == last.denominator == 1 and "." not in part.replace("..", "")
    step = Fraction(written[3]) if written[3] else Fraction(1) if is_whole else (last - first) / _DEFAULT_STEPS
    if step < 0 or (step == 0 and first != last) or last < first:
        raise RangeError(f"`{part.strip()}` is not a range: it must ascend, with a step above 0")
    count = 1 if step == 0 else int((last - first) / step) + 1
    if count > MAX_POINTS:
        raise RangeError(f"`{part.strip()}` has more than {MAX_POINTS:,} values")
    for at in range(count):
        yield decimal(first + at * step)


def points(ranges: Mapping[str, Sequence[str]]) -> Iterator[Assignments]:
    """Yield each combination of values; the last name changes fastest."""
    names = tuple(ranges)
    for chosen in product(*ranges.values()):
        yield tuple(zip(names, chosen, strict=True))


def size(ranges: Mapping[str, Sequence[str]]) -> int:
    """Return the number of combinations, without building them."""
    count = 1
    for some in ranges.values():
        count *= len(some)
    return count
