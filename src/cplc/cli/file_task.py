"""One command on one of several files: the task of a worker process, and its report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from importlib import import_module
from typing import Any, Final

from cplc.cli import output, start_time
from cplc.cli.effective_options import effective_options
from cplc.cli.exit_codes import Exit
from cplc.cli.main import guarded
from cplc.cli.many_files import COMMANDS, NothingToDo, NotSelected
from cplc.cli.options import ModelOptions
from cplc.records import dataclass

PREPARE: Final = "cplc.cli.file_task:prepare"


@dataclass(frozen=True)
class FileRequest:
    """A command on one file, with the values of its options."""

    command: str
    file: str
    options: ModelOptions
    values: Mapping[str, Any]
    is_terminal: bool = False
    is_error_terminal: bool = False

    @property
    def label(self) -> str:
        return f"{self.file} ({self.options.protocol})" if self.options.protocol else self.file


@dataclass(frozen=True)
class FileReport:
    """The output of a command on one file, its exit code, and the number of results of each standing."""

    label: str
    exit: Exit
    chunks: tuple[tuple[str, bool], ...] = ()
    """Texts in order; True for those on standard error."""
    document: Any = None
    """The part of the file in the document of the format."""
    counts: Mapping[str, int] = field(default_factory=dict)
    reads: Mapping[str, str | None] = field(default_factory=dict)
    """Digests of the files that the run read, None for a missing one."""
    as_cached: FileReport | None = None
    """The report as it is shown when it comes from the cache; None if a result may still change."""
    nothing: str = ""
    """Why the command has nothing to do for this file."""
    is_selected: bool = True
    """False if the options of the command select nothing in this file."""
    selected: tuple[str, ...] = ()
    """The names of the command line that this file has."""
    candidates: tuple[str, ...] = ()
    """The names that this file has where the command line has another one."""
    seconds: float = 0.0


def file_report(request: FileRequest) -> FileReport:
    """Run the command on the file, and return its report."""
    began = time.monotonic()
    import_module(f"cplc.cli.{request.command}")
    capture = output.CapturedOutput(is_terminal=request.is_terminal, is_error_terminal=request.is_error_terminal)
    nothing: NothingToDo | None = None

    def run() -> Exit:
        nonlocal nothing
        options = effective_options(request.file, request.options)
        try:
            return COMMANDS[request.command](file=request.file, options=options, **request.values)
        except NothingToDo as reason:
            nothing = reason
            return Exit.EXPECTED

    with output.captured(capture):
        code = guarded(run)
    label = capture.label or request.label
    again = capture.as_cached
    return FileReport(
        label,
        Exit(code),
        tuple(capture.chunks),
        capture.document,
        capture.counts,
        capture.reads,
        None if again is None else FileReport(label, Exit(code), tuple(again.chunks), again.document, capture.counts),
        "" if nothing is None else str(nothing),
        not isinstance(nothing, NotSelected),
        tuple(capture.selected),
        tuple(capture.candidates),
        time.monotonic() - began,
    )


def outputs(request: FileRequest) -> Iterator[FileReport]:
    """Yield the report: the task of a worker process."""
    start_time.count_from_now()
    yield file_report(request)


def prepare() -> None:
    """Import what every task needs, before the first fork."""
    import cplc.cli.verify
    import cplc.report.outcome
    import cplc.report.text  # noqa: F401
    from cplc.caching.cached_results import program_fingerprint
    from cplc.sweeps.job_runner import prepare as prepare_engines

    prepare_engines()
    with suppress(OSError):
        program_fingerprint()  # reads every module, for the keys of cached results
