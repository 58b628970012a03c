"""From files named on the command line to compilations, questions and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from click import UsageError

from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.cli.input_files import report_files_read
from cplc.cli.limits import Interrupted, Limits, compute_supervised, run_supervised
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.runtime.file_access import MAX_BYTES, MAX_SIZE, files_below
from cplc.source import Source, Span

if TYPE_CHECKING:
    from cplc.compilation import BoundQuestion, Compilation, IsplCompilation, Strategies

Outcome = TypeVar("Outcome")
Event = TypeVar("Event")
Channels = Literal["sync", "async"] | None


STANDARD_INPUT = "-"


def files_in(paths: Iterable[str], *endings: str) -> tuple[str, ...]:
    """Return the named files, and the files with these endings below the named folders, each once.

    Hidden folders, pipes, devices, sockets and links out of the project are skipped.
    """
    return tuple(dict.fromkeys(_files_in(paths, endings or (".cpl",))))


def _files_in(paths: Iterable[str], endings: tuple[str, ...]) -> Iterator[str]:
    for path in paths:
        if path == STANDARD_INPUT or not os.path.isdir(path):
            yield path
            continue
        yield from map(os.path.normpath, files_below(path, endings, lambda folder: folder.startswith(".")))


def compile_protocol(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None = None,
    strategies: Strategies = "full",
    *,
    needs_protocol: bool = True,
) -> tuple[Compilation | None, tuple[Diagnostic, ...]]:
    """Return the compilation of a protocol, None if it is unreadable or has errors, and the diagnostics.

    A file of macros has no errors, but most commands need a protocol.
    """
    from cplc.compilation import is_ispl

    if is_ispl(file):
        raise UsageError(f"`{file}` is a model in ISPL; this command needs a protocol")
    loaded = _loaded(file, definitions, channels, protocol, strategies)
    if isinstance(loaded, Diagnostic):
        return None, (loaded,)
    diagnostics = loaded.diagnostics
    if not loaded.ok and needs_protocol and not any(one.is_error for one in diagnostics):
        message = "This file declares macros only; this command needs a protocol"
        diagnostics = (*diagnostics, rules.NO_PROTOCOL.at(Span(loaded.source, 0, 0), message))
    return (loaded if loaded.ok else None), diagnostics


def _loaded(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    strategies: Strategies = "full",
) -> Compilation | Diagnostic:
    """Return the compilation of a protocol, even with errors; or the diagnostic of an unreadable file."""
    from cplc.compilation import Compilation, load

    parameters = dict(definitions)
    loaded = _standard_input(parameters, channels) if file == "-" else load(file, parameters, channels)
    if not isinstance(loaded, Compilation):
        return loaded
    compilation = replace(loaded, protocol=protocol, strategies=strategies)
    report_files_read(compilation)
    return compilation


def compile_file(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None = None,
    strategies: Strategies = "full",
    *,
    needs_protocol: bool = True,
) -> tuple[Compilation | IsplCompilation | None, tuple[Diagnostic, ...]]:
    """Return the compilation of a protocol or of a model in ISPL, and the diagnostics."""
    from cplc.compilation import is_ispl

    if not is_ispl(file):
        return compile_protocol(file, definitions, channels, protocol, strategies, needs_protocol=needs_protocol)
    loaded = _model_in_ispl(file, definitions, channels, protocol)
    if isinstance(loaded, Diagnostic):
        return None, (loaded,)
    reading = replace(loaded, strategies=strategies)
    if not reading.ok:
        return None, reading.diagnostics
    return (None if reading.unverifiable else reading), (*reading.diagnostics, *reading.unverifiable)


def _model_in_ispl(
    file: str, definitions: Sequence[tuple[str, str]], channels: Channels, protocol: str | None
) -> IsplCompilation | Diagnostic:
    from cplc.compilation import load_ispl

    if definitions or channels or protocol:
        raise UsageError("a model in ISPL has no parameters, no channels and no protocols to choose")
    loaded = load_ispl(file)
    if not isinstance(loaded, Diagnostic):
        report_files_read(loaded)
    return loaded


def diagnostics_of(
    file: str, definitions: Sequence[tuple[str, str]], channels: Channels, protocol: str | None = None
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a file: a protocol, or a model in ISPL."""
    from cplc.compilation import is_ispl

    if not is_ispl(file):
        protocols = _loaded(file, definitions, channels, protocol)
        if isinstance(protocols, Diagnostic):
            return (protocols,)
        return (*protocols.diagnostics, *protocols.remarks)
    loaded = _model_in_ispl(file, definitions, channels, protocol)
    return (loaded,) if isinstance(loaded, Diagnostic) else loaded.diagnostics


def _standard_input(parameters: Mapping[str, str], channels: Channels) -> Compilation | Diagnostic:
    from cplc.compilation import Compilation

    data = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin else b""
    span = Span(Source("<stdin>", ""), 0, 0)
    if len(data) > MAX_BYTES:
        message = f"Standard input has more than the {MAX_SIZE:,} characters that can be read"
        return rules.FILE_TOO_LARGE.at(span, message)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        return rules.UNREADABLE_FILE.at(span, f"standard input is not UTF-8 text (byte {problem.start})")
    # Standard input belongs to the working directory: its imports and settings are found there.
    return Compilation(Source("<stdin>", text), Path("<stdin>"), parameters, channels)


def questions_of(
    compilation: Compilation | IsplCompilation, names: Sequence[str], besides: Sequence[str] = ()
) -> tuple[BoundQuestion, ...]:
    """Return the questions of the file, or those of these names; ``besides`` are further valid names."""
    from cplc.compilation import UnknownQuestion

    try:
        return compilation.questions(names)
    except UnknownQuestion as problem:
        existing = [*problem.candidates, *besides]
        hints = [note.message for note in did_you_mean(problem.name, existing)]
        listing = f"there are {', '.join(sorted(existing))}" if existing else "there is none"
        raise UsageError(f"no property or check is called `{problem.name}`; {(hints or [listing])[0]}") from None


def selected_questions(compilation: Compilation, names: Sequence[str]) -> tuple[BoundQuestion, ...]:
    """Return the questions of the file, or those of these names; thresholds of participants come last."""
    model = compilation.model
    if not model.thresholds:
        return questions_of(compilation, names)
    from cplc.participant_analysis import threshold_questions

    every = threshold_questions(compilation)
    thresholds = list(dict.fromkeys(one.question.name for one in every))
    analyses = [one for one in every if not names or one.question.name in names]
    question_names = [name for name in names if name not in thresholds]
    questions = questions_of(compilation, question_names, thresholds) if question_names or not names else ()
    return (*questions, *analyses)


def run_to_completion(work: Callable[[], Outcome], limits: Limits, what: str) -> Outcome | str:
    """Return the result of the work, or the reason of its interruption."""
    progress = output.Progress(lambda: what)
    try:
        return compute_supervised(work, limits, waiting=progress.show)
    except Interrupted as stop:
        return str(stop)
    except KeyboardInterrupt:
        return "the run was interrupted"
    finally:
        progress.clear()


def consume_events(
    work: Iterator[Event], limits: Limits, doing: Callable[[], str], take: Callable[[Event], None]
) -> str | None:
    """Handle each event as it comes; return the reason of an interruption, None at the end of the work."""
    progress = output.Progress(doing)
    try:
        for event in run_supervised(work, limits, waiting=progress.show):
            progress.clear()
            take(event)
    except Interrupted as stop:
        return str(stop)
    except KeyboardInterrupt:
        return "the run was interrupted"
    finally:
        progress.clear()
    return None


def combined_exit(codes: Iterable[Exit]) -> Exit:
    """Return the exit code for several files: a definite outcome outweighs an unknown one."""
    present = set(codes)
    return next((code for code in (Exit.WRONG, Exit.UNEXPECTED, Exit.UNKNOWN) if code in present), Exit.EXPECTED)


def exit_for(diagnostics: Sequence[Diagnostic], *, strict: bool) -> Exit:
    """Return the exit code for the diagnostics alone."""
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return Exit.WRONG
    warned = any(diagnostic.severity == "warning" for diagnostic in diagnostics)
    return Exit.UNEXPECTED if strict and warned else Exit.EXPECTED
