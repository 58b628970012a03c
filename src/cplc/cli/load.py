"""From files named on the command line to compilations and questions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from click import UsageError

from cplc.cli.input_files import report_files_read
from cplc.cli.many_files import NothingToDo, NotSelected
from cplc.cli.options import ModelOptions
from cplc.cli.output import current_capture
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.runtime.file_access import MAX_BYTES, MAX_SIZE, files_below
from cplc.source import STDIN_NAME, Source, Span

if TYPE_CHECKING:
    from cplc.compilation import BoundQuestion, Compilation, CplCompilation, Strategies, UnknownQuestion

    Questions = tuple[BoundQuestion, ...]

Selection = TypeVar("Selection")

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


def compile_file(
    file: str,
    options: ModelOptions,
    strategies: Strategies = "full",
    *,
    needs_protocol: bool = True,
) -> tuple[Compilation | None, tuple[Diagnostic, ...]]:
    """Return the compilation of a file, None if it is unreadable or has errors, and the diagnostics.

    A file of macros has no errors, but most commands need a protocol.
    """
    from cplc.cli.effective_options import effective_options
    from cplc.compilation import with_places

    options = effective_options(file, options)
    loaded = _loaded(file, options, strategies)
    if isinstance(loaded, Diagnostic):
        return None, (loaded,)
    diagnostics = with_places(loaded.diagnostics, options.places)
    if not loaded.ok:
        if needs_protocol and not any(one.is_error for one in diagnostics):
            if current_capture() is not None:
                raise NothingToDo("declares macros only")
            message = "This file declares macros only; this command needs a protocol"
            diagnostics = (*diagnostics, rules.NO_PROTOCOL.at(Span(loaded.source, 0, 0), message))
        return None, diagnostics
    return (None if loaded.unverifiable else loaded), (*diagnostics, *loaded.unverifiable)


def compile_protocol(file: str, options: ModelOptions) -> tuple[CplCompilation | None, tuple[Diagnostic, ...]]:
    """Return the same for a command that applies to protocols only."""
    compilation, diagnostics = compile_file(file, options)
    return (None if compilation is None else as_protocol(compilation, file)), diagnostics


def loaded_protocol(file: str, options: ModelOptions) -> CplCompilation | None:
    """Return the compilation of a protocol, even with errors; None for a model in ISPL or an unreadable file."""
    from cplc.compilation import CplCompilation

    loaded = _loaded(file, options)
    return loaded if isinstance(loaded, CplCompilation) else None


def as_protocol(compilation: Compilation, file: str, what: str = "this command") -> CplCompilation:
    """Return the compilation of a protocol; refuse a model in ISPL."""
    from cplc.compilation import CplCompilation

    if not isinstance(compilation, CplCompilation) and current_capture() is not None:
        raise NothingToDo(f"is a model in ISPL; {what} needs a protocol")
    if not isinstance(compilation, CplCompilation):
        raise UsageError(f"`{file}` is a model in ISPL; {what} needs a protocol")
    return compilation


def _loaded(file: str, options: ModelOptions, strategies: Strategies = "full") -> Compilation | Diagnostic:
    """Return the compilation of a file, even with errors; or the diagnostic of an unreadable file."""
    from cplc.cli.effective_options import effective_options
    from cplc.compilation import NotApplicable, compile_text, load

    options = effective_options(file, options)
    selected = options.parameters, options.channels, options.protocol, strategies
    try:
        if file == STANDARD_INPUT:
            source = _standard_input()
            if isinstance(source, Diagnostic):
                return source
            # Standard input belongs to the working directory: its imports and settings are found there.
            loaded: Compilation | Diagnostic = compile_text(source, Path(source.name), *selected)
        else:
            loaded = load(file, *selected)
    except NotApplicable as problem:
        raise UsageError(str(problem)) from None
    if not isinstance(loaded, Diagnostic):
        report_files_read(loaded)
    return loaded


def diagnostics_of(file: str, options: ModelOptions) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a file, with the remarks that `cplc check` alone reports."""
    from cplc.cli.effective_options import effective_options
    from cplc.compilation import with_places

    options = effective_options(file, options)
    loaded = _loaded(file, options)
    if isinstance(loaded, Diagnostic):
        return (loaded,)
    return with_places((*loaded.diagnostics, *loaded.remarks), options.places)


def _standard_input() -> Source | Diagnostic:
    data = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin else b""
    span = Span(Source(STDIN_NAME, ""), 0, 0)
    if len(data) > MAX_BYTES:
        message = f"Standard input has more than the {MAX_SIZE:,} characters that can be read"
        return rules.FILE_TOO_LARGE.at(span, message)
    try:
        return Source(STDIN_NAME, data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        return rules.UNREADABLE_FILE.at(span, f"standard input is not UTF-8 text (byte {problem.start})")


def questions_of(select: Callable[[Sequence[str]], Questions], names: Sequence[str]) -> Questions:
    """Return the questions with these names, by a method of a compilation; refuse an unknown name."""
    return select_by_name(select, names, "property or check")[0]


def select_by_name(
    select: Callable[[Sequence[str]], Selection], names: Sequence[str], what: str, where: str = ""
) -> tuple[Selection, Sequence[str]]:
    """Return what a method of a compilation selects by these names, and the names; refuse an unknown name.

    Among several files, a name may belong to another one: it is left out here.
    """
    from cplc.compilation import UnknownQuestion

    capture = current_capture()
    while True:
        try:
            selection = select(names)
        except UnknownQuestion as problem:
            if capture is None:
                raise _unknown_name(f"{what}{where}", problem) from None
            capture.candidates = list(problem.candidates)
            names = [name for name in names if name != problem.name]
            if not names:
                raise NotSelected(f"no {what} is called `{problem.name}`") from None
        else:
            if capture is not None:
                capture.selected.extend(names)
            return selection, names


def _unknown_name(what: str, problem: UnknownQuestion) -> UsageError:
    """Return the error of a name that nothing has, with a hint."""
    hints = [note.message for note in did_you_mean(problem.name, problem.candidates)]
    listing = f"there are {', '.join(sorted(problem.candidates))}" if problem.candidates else "there is none"
    return UsageError(f"no {what} is called `{problem.name}`; {(hints or [listing])[0]}")


def formula_question_of(
    compilation: Compilation, formula: str, assuming: Sequence[str]
) -> BoundQuestion | tuple[Diagnostic, ...]:
    """Return the question for a formula of the command line, or its errors."""
    from cplc.compilation import NotApplicable

    try:
        return compilation.formula_question(formula, assuming)
    except NotApplicable as problem:
        raise UsageError(str(problem)) from None
