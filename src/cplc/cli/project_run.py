"""A command on many files: in parallel worker processes, with one report in the order of the files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from cplc import __version__
from cplc.cli import output
from cplc.cli.command_run import INTERRUPTED
from cplc.cli.exit_codes import Exit, combined_exit
from cplc.cli.file_task import PREPARE, FileReport, FileRequest, outputs
from cplc.cli.input_files import digest, record_files_read
from cplc.cli.limits import Interrupted, Limits, interrupt_on_termination
from cplc.cli.load import files_in
from cplc.cli.options import ModelOptions
from cplc.cli.output import AnyFormat
from cplc.cli.report_cache import ReportCache
from cplc.compilation import ENDINGS
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.project.git_changes import GitError, affected_files, changed_paths
from cplc.project.project_files import project_files
from cplc.report.outcome import STANDINGS, Outcome
from cplc.runtime.context import default_memory
from cplc.settings import settings_for, settings_paths
from cplc.workers.messages import Task
from cplc.workers.worker_process import Taken, TaskLimits, TaskResult, run_tasks

_GRACE_SECONDS: Final = 10.0
"""Time that a worker has to report what it knows when its time limit is reached, before it is ended."""
_MAX_LABELS: Final = 20
"""Maximum number of files that a line of the summary names."""
_VERBS: Final = {"verify": "verifying", "analyze": "analyzing", "stats": "counting", "coverage": "mutating"}
_NEED_HEADINGS: Final = frozenset({"stats", "analyze"})
"""Commands whose text does not name the file."""
_SELECTING_NAMES: Final = {"properties": "property or check", "agents": "agent", "counting": "size of a role family"}
"""Values of options that select by names, and what these name."""
_NOT_RUN: Final = "not begun: an earlier file is not as expected (--fail-fast)"


class ProjectRun:
    """One run of a command on many files."""

    def __init__(
        self, command: str, options: ModelOptions, values: Mapping[str, Any], workers: int | None, *, fail_fast: bool
    ) -> None:
        self.command = command
        self.options = options
        self.values = dict(values)
        self.form: AnyFormat = values.get("form", "text")
        self.fail_fast = fail_fast
        self.workers = workers or _cores()
        self.reports: dict[int, FileReport] = {}
        self.requests: tuple[FileRequest, ...] = ()
        self.interrupted: str | None = None
        self._stop: int | None = None
        """Position of the first file that is known not to be as expected, with --fail-fast."""
        self._shown = 0

    def run(self, paths: Sequence[str], changed: str | None) -> Exit:
        """Run the command on each file, and write the report; return the exit code for all."""
        folders = {Path(path) if os.path.isdir(path) else Path(path).parent for path in paths or (".",)}
        record_files_read({str(place): digest(str(place)) for one in folders for place in settings_paths(one)})
        files = self._files(paths)
        if files is None:
            return Exit.WRONG
        if changed is not None:
            everything, files = files, _affected(files, changed)
            if self.form in ("text", "concise"):
                message = (
                    f"{len(files)} of {_count(len(everything), 'file')} may be affected since {printable(changed)}\n"
                )
                output.write(message, err=True)
        self.requests = tuple(self._requests(files))
        self.workers = min(self.workers, max(1, len(self.requests)))
        cache = ReportCache.of(self.command, self.values)
        progress = output.Progress(self._doing)
        self._share_memory()
        if output.is_terminal():  # workers have no terminal; cached reports depend on its width
            os.environ.setdefault("COLUMNS", str(output.terminal_columns()))
        try:
            with interrupt_on_termination():
                missing = []
                for number, request in enumerate(self.requests):
                    report = None if cache is None else cache.report(request)
                    if report is None:
                        missing.append((number, request))
                    else:
                        self._take(number, report, progress)
                with closing(self._results(missing, progress)) as results:
                    for number, result, _ in results:
                        report = self._report(self.requests[number], result)
                        if cache is not None and result.is_complete:
                            cache.store(self.requests[number], report)
                        self._take(number, report, progress)
        except Interrupted as stop:
            self.interrupted = str(stop)
        except KeyboardInterrupt:
            self.interrupted = INTERRUPTED
        finally:
            progress.clear()
        return self._finish()

    # --- files

    def _files(self, paths: Sequence[str]) -> Sequence[str] | None:
        """Return the named files, or those of the project; None if there are none, or the settings are wrong."""
        if paths:
            named = files_in(paths, *ENDINGS)
            if not named:
                output.write("error: no .cpl or .ispl file found: nothing was done\n", err=True)
                return None
            folders = dict.fromkeys(Path(file).parent for file in named)
            each = {one.path: one.diagnostics for one in map(settings_for, folders)}
            return named if self._are_right([one for some in each.values() for one in some]) else None
        settings = settings_for(Path())
        if not settings.diagnostics and not settings.files:
            where = f"`{_displayed(settings.path)}` has no" if settings.path else "there is no `cplc.toml` with"
            raise click.UsageError(f"name a file or a folder: {where} `files` in a table `[project]`")
        listed = project_files(settings, ENDINGS)
        return listed.files if self._are_right((*settings.diagnostics, *listed.diagnostics)) else None

    def _are_right(self, problems: Sequence[Diagnostic]) -> bool:
        """Report the problems of the settings, once for all files; return whether none is an error."""
        errors = [one for one in problems if one.is_error]  # each file reports the warnings
        form: AnyFormat = "concise" if self.form == "concise" else "text"
        output.write_diagnostics(errors, form=form, colour=self.values.get("colour", "auto"), err=True)
        return not errors

    def _requests(self, files: Sequence[str]) -> Iterator[FileRequest]:
        """Yield a request for the last protocol of each file, or the given one, and for those the settings name."""
        out, err = output.is_terminal(), output.is_terminal(err=True)
        for file in files:
            for protocol in self._protocols(file):
                options = replace(self.options, protocol=protocol)
                yield FileRequest(self.command, file, options, self.values, out, err)

    def _protocols(self, file: str) -> Sequence[str | None]:
        if self.options.protocol is not None:
            return (self.options.protocol,)
        path = Path(file)
        named = [one.protocol for one in settings_for(path.parent).overrides_of(path) if one.protocol]
        if not named:
            return (None,)
        from cplc.cli.effective_options import last_protocol

        last = last_protocol(file)
        return (*(one for one in dict.fromkeys(named) if one != last), None)

    def _share_memory(self) -> None:
        """Let the workers share the memory of the machine, unless there is a limit for each."""
        limits = self.values.get("limits")
        if isinstance(limits, Limits) and limits.memory is None:
            share = (default_memory() or 0) // self.workers
            self.values["limits"] = replace(limits, memory=share or None)
            self.requests = tuple(replace(one, values=self.values) for one in self.requests)

    # --- results

    def _results(
        self, missing: Sequence[tuple[int, FileRequest]], progress: output.Progress
    ) -> Generator[Taken, None, None]:
        limits = self.values.get("limits")
        seconds = limits.seconds if isinstance(limits, Limits) else None
        tasks = ((number, Task(outputs, (request,))) for number, request in missing if self._is_wanted(number))
        most = TaskLimits(seconds, grace=_GRACE_SECONDS)
        return run_tasks(tasks, self.workers, most, prepare=PREPARE, waiting=progress.show, is_wanted=self._is_wanted)

    def _is_wanted(self, number: int) -> bool:
        return self._stop is None or number < self._stop

    def _report(self, request: FileRequest, result: TaskResult) -> FileReport:
        for one in result.outputs:
            if isinstance(one, FileReport):
                return self._with_document(request, one)
        reason = result.reason
        return self._missing(request, reason, Exit.WRONG if result.is_bug else Exit.UNKNOWN)

    def _with_document(self, request: FileRequest, report: FileReport) -> FileReport:
        """Return the report; one that ended with a message has no document, and gets one with the message."""
        is_missing = report.document is None and not report.nothing and self.form not in ("text", "concise")
        if not is_missing:
            return report
        reason = " ".join("".join(text for text, is_error in report.chunks if is_error).split())
        return replace(self._missing(request, reason or "there is no result", report.exit), chunks=report.chunks)

    def _missing(self, request: FileRequest, reason: str, code: Exit) -> FileReport:
        """Return the report on a file without a result, for this reason."""
        document: Any = None
        if self.form == "json":
            document = {
                "command": self.command, "file": request.file, "parameters": {}, "diagnostics": [],
                **({"results": [], "switched_off": []} if self.command == "verify" else {}),
                "interrupted": reason if code == Exit.UNKNOWN else None,
                "error": reason if code == Exit.WRONG else None, "exit": code,
            }  # fmt: skip
        elif self.form in output.WHOLE:
            outcome = Outcome(self.command, request.label, __version__, interrupted=reason, among_others=True)
            document = output.document_part(self.form, outcome)
        text = f"{printable(request.label)}: {printable(reason)}\n"
        return FileReport(request.label, code, ((text, True),), document)

    def _take(self, number: int, report: FileReport, progress: output.Progress) -> None:
        """Add the report on a file, and show all that are next in order."""
        self.reports[number] = report
        record_files_read(report.reads)
        if self.fail_fast and report.exit != Exit.EXPECTED:
            self._stop = number if self._stop is None else min(self._stop, number)
        while self._shown in self.reports and (self._stop is None or self._shown <= self._stop):
            progress.clear()
            self._show(self.reports[self._shown])
            self._shown += 1

    def _show(self, report: FileReport) -> None:
        if self.form not in ("text", "concise"):
            return
        is_formula = bool(self.values.get("formula"))  # its errors and results do not name the file
        streams = [err for text, err in report.chunks if text and (is_formula or not err)]
        if self.form == "text" and (self.command in _NEED_HEADINGS or is_formula) and streams:
            output.write(f"{printable(report.label)}:\n", err=streams[0])
        for text, err in report.chunks:
            output.write_chunk(text, err=err)
        if report.nothing and report.is_selected and self.form == "text":
            output.write(f"{printable(report.label)}: {report.nothing}\n")

    def _doing(self) -> str:
        return f"{_VERBS.get(self.command, self.command)}: {len(self.reports)} of {_count(len(self.requests), 'file')}"

    # --- the end

    def _finish(self) -> Exit:
        """Complete the reports, and write the summary or the document; return the exit code."""
        reports = []
        for number, request in enumerate(self.requests):
            report = self.reports.get(number)
            if self._stop is not None and number > self._stop:
                report = self._missing(request, _NOT_RUN, Exit.UNKNOWN)
            elif report is None:
                report = self._missing(request, self.interrupted or "it was not begun", Exit.UNKNOWN)
            if number >= self._shown and report.label and number in self.reports and not self._is_beyond(number):
                self._show(report)
            reports.append(report)
        missing = self._missing_names(reports)
        code = combined_exit([*(one.exit for one in reports), *([Exit.WRONG] if missing else [])])
        counts: Counter[str] = Counter()
        for one in reports:
            counts.update(one.counts)
        match self.form:
            case "text":
                self._write_summary(reports, counts)
            case "concise":
                if self.interrupted:
                    output.write(f"{self.interrupted}\n", err=True)
            case "json":
                self._write_data(reports, counts, code)
            case form:
                parts = [one.document for one in reports if one.document]
                output.write(output.whole_document(form, self.command, _title(reports), parts))
        if missing:
            output.write(f"error: {printable(missing)}\n", err=True)
        return code

    def _missing_names(self, reports: Sequence[FileReport]) -> str:
        """Return the error of a name on the command line that no file has; empty if a file is not known well enough."""
        deselected = [one for one in reports if not one.is_selected]
        is_open = any(one.exit in (Exit.WRONG, Exit.UNKNOWN) for one in reports)
        present = {name for one in reports for name in one.selected}
        if is_open or not reports:
            return ""
        for value, what in _SELECTING_NAMES.items():
            names = self.values.get(value) or ()
            for name in (names,) if isinstance(names, str) else names:
                if name not in present:
                    candidates = sorted({one for report in reports for one in report.candidates})
                    hint = "".join(f"; {note.message}" for note in did_you_mean(name, candidates))
                    return f"no {what} of these files is called `{name}`{hint}"
        if len(deselected) == len(reports):
            return f"these files have nothing to do: {deselected[0].nothing}"
        return ""

    def _is_beyond(self, number: int) -> bool:
        return self._stop is not None and number > self._stop

    def _write_summary(self, reports: Sequence[FileReport], counts: Mapping[str, int]) -> None:
        results = sum(counts.values())
        what = f", {_count(results, 'property or check', 'properties and checks')}" if results else ""
        verdicts = f": {_counts(counts)}" if results else ""
        output.write(f"\n{_count(len(reports), 'file')}{what}{verdicts}\n")
        begun = [one for number, one in enumerate(reports) if not self._is_beyond(number)]
        for code, name in ((Exit.WRONG, "wrong"), (Exit.UNEXPECTED, "not as expected"), (Exit.UNKNOWN, "unknown")):
            labels = [printable(one.label) for one in begun if one.exit == code]
            if labels:
                more = f" and {len(labels) - _MAX_LABELS:,} more" if len(labels) > _MAX_LABELS else ""
                output.write(f"{name}: {', '.join(labels[:_MAX_LABELS])}{more}\n")
        if len(begun) < len(reports):
            output.write(f"not begun: {_count(len(reports) - len(begun), 'file')} (--fail-fast)\n")
        if deselected := sum(not one.is_selected for one in begun):
            output.write(f"without anything that the options select: {_count(deselected, 'file')}\n")
        if self.interrupted:
            output.write(f"{self.interrupted}\n", err=True)

    def _write_data(self, reports: Sequence[FileReport], counts: Mapping[str, int], code: Exit) -> None:
        output.write_json(
            {
                "command": self.command,
                "files": [
                    one.document
                    or {"command": self.command, "file": one.label, "nothing": one.nothing, "exit": one.exit}
                    for one in reports
                ],
                **({"counts": {name.replace(" ", "_"): counts.get(name, 0) for name in STANDINGS}} if counts else {}),
                "interrupted": self.interrupted,
                "exit": code,
            }
        )


def input_files(paths: Sequence[str]) -> Sequence[str]:
    """Return the named files, or those of the project, as far as its settings can be read."""
    if paths:
        return files_in(paths, *ENDINGS)
    settings = settings_for(Path())
    return project_files(settings, ENDINGS).files if settings.files else ()


def _affected(files: Sequence[str], revision: str) -> Sequence[str]:
    folder = Path(os.path.commonpath([os.path.abspath(Path(file).parent) for file in files])) if files else Path()
    try:
        return affected_files(files, changed_paths(folder, revision))
    except GitError as problem:
        raise click.UsageError(str(problem)) from None


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _displayed(path: Path) -> str:
    return os.path.relpath(path)


def _title(reports: Sequence[FileReport]) -> str:
    return _count(len(reports), "file")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[one]} {one}" for one in STANDINGS if counts.get(one))


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"
