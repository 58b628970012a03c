"""Output of commands: text and JSON on standard output, messages about the run on standard error."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal, get_args

import click

from cplc import __version__
from cplc.control_characters import json_text, printable_lines
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import Page, Part, Style, in_order, plain, rendered
from cplc.runtime.context import Context

if TYPE_CHECKING:
    from cplc.report.layout import Layout
    from cplc.report.layout import Part as ResultPart
    from cplc.report.outcome import Outcome
    from cplc.source import Span


Colour = Literal["auto", "always", "never"]
Format = Literal["text", "concise", "json"]
Whole = Literal["github", "junit", "sarif", "html"]
"""Formats of one document, for other programs and reports, written at the end of a run."""
WHOLE: tuple[Whole, ...] = get_args(Whole)
AnyFormat = Format | Whole
FORMAT_VERSION = 1
_QUIET = "cplc.quiet"
_ESCAPE = f"<{os.urandom(8).hex()}>"
"""Random placeholder of the escape character until the text is written, so that input cannot forge colours."""
_COLOUR = re.compile(rf"{_ESCAPE}\[[0-9;]*m")
_PROGRAMS_WITH_LINKS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby"})
_FIRST_VTE_WITH_LINKS = "5000"
_DEFAULT_COLUMNS = 80
_GLANCE = 0.2
"""Minimum interval between updates of the progress line."""


class CapturedOutput:
    """The output of a run on one of several files, for a report on all of them."""

    def __init__(self, *, is_terminal: bool, is_error_terminal: bool) -> None:
        self.chunks: list[tuple[str, bool]] = []
        """Texts in order; True for those on standard error."""
        self.document: object = None
        """The part of the file in the document of the format."""
        self.counts: dict[str, int] = {}
        """Number of results of each standing."""
        self.reads: dict[str, str | None] = {}
        """Digests of the files that the run read, None for a missing one."""
        self.as_cached: CapturedOutput | None = None
        """The same output as it is shown when it comes from the cache; None if a result may still change."""
        self.selected: list[str] = []
        """The names of the command line that this file has."""
        self.candidates: list[str] = []
        """The names that this file has where the command line has another one."""
        self.label = ""
        """The file, with the options that the settings give for it."""
        self.terminals = {False: is_terminal, True: is_error_terminal}


_capture: list[CapturedOutput] = []
"""The present captures, the innermost last: a process captures the output of one run at a time."""


@contextmanager
def captured(capture: CapturedOutput) -> Iterator[None]:
    """Capture the output of this process."""
    _capture.append(capture)
    try:
        yield
    finally:
        _capture.pop()


def current_capture() -> CapturedOutput | None:
    return _capture[-1] if _capture else None


def write(text: str, *, err: bool = False) -> None:
    """Write and flush the text with the colours of this module, without other control characters."""
    _emit(_shown(text), err=err)


def write_fitted(text: str) -> None:
    """Write a report with lines that fit the terminal."""
    from cplc.report.layout import fitted

    write(fitted(text, report_columns(), _columns))


def fitted_if_width_is_given(line: str, *, err: bool = False) -> str:
    """Break a line at the width that a terminal or `COLUMNS` gives; without a width it stays one line, for `grep`."""
    from cplc.report.layout import fitted

    return fitted(line, report_columns(), _columns) if has_width(err=err) else line


def report_columns() -> int:
    """Return the width of reports: that of the terminal within limits."""
    from cplc.report.layout import MAX_WIDTH, MIN_WIDTH

    return min(max(terminal_columns(), MIN_WIDTH), MAX_WIDTH)


def _columns(text: str) -> int:
    """Return the number of columns of a text without its colours."""
    return len(_COLOUR.sub("", text))


def write_exactly(text: str) -> None:
    """Write a text for another program unchanged; on a terminal, without control characters."""
    _emit(_shown(text) if is_terminal(err=False) else text, err=False)


def _emit(text: str, *, err: bool) -> None:
    if _capture:
        _capture[-1].chunks.append((text, err))
    else:
        click.echo(text, nl=False, err=err, color=True)


def write_chunk(text: str, *, err: bool) -> None:
    """Write a text that was captured before."""
    _emit(text, err=err)


def _shown(text: str) -> str:
    return printable_lines(text).replace(_ESCAPE, "\x1b")


def _styled(text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    return click.style(text, fg=fg, bold=bold, dim=dim).replace("\x1b", _ESCAPE)


def style_for(colour: Colour, *, err: bool = False) -> Style:
    """Return the style of diagnostics on that stream."""
    return _coloured if has_colour(colour, err=err) else plain


def has_colour(colour: Colour, *, err: bool = False) -> bool:
    if colour == "auto":
        return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and is_terminal(err=err)
    return colour == "always"


def is_terminal(*, err: bool = False) -> bool:
    """Return whether standard output, or standard error, is a terminal."""
    if _capture:
        return _capture[-1].terminals[err]
    stream: IO[str] | None = sys.stderr if err else sys.stdout
    return stream is not None and stream.isatty()


def _coloured(text: str, part: Part) -> str:
    match part:
        case "error":
            return _styled(text, fg="red", bold=True)
        case "warning":
            return _styled(text, fg="yellow", bold=True)
        case "remark" | "note":
            return _styled(text, fg="cyan", bold=True)
        case "frame":
            return _styled(text, fg="blue")
        case "message":
            return _styled(text, bold=True)
        case "place":
            return text


def result_colours(text: str, part: ResultPart) -> str:
    """Return a part of a result with terminal colours."""
    match part:
        case "good":
            return _styled(text, fg="green", bold=True)
        case "bad":
            return _styled(text, fg="red", bold=True)
        case "warning":
            return _styled(text, fg="yellow", bold=True)
        case "strong":
            return _styled(text, bold=True)
        case "faint" | "place":
            return _styled(text, dim=True)


def result_style(colour: Colour) -> Callable[[str, ResultPart], str]:
    """Return the style of results on standard output."""
    return result_colours if has_colour(colour) else lambda text, _: text


def terminal_columns() -> int:
    """Return the width of the terminal as `shutil` does, whose import loads libraries for compression."""
    with suppress(KeyError, ValueError):
        if (columns := int(os.environ["COLUMNS"])) > 0:
            return columns
    with suppress(AttributeError, ValueError, OSError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _DEFAULT_COLUMNS  # type: ignore[union-attr]
    return _DEFAULT_COLUMNS


def layout_for(colour: Colour) -> Layout:
    """Return the layout of results on standard output: the width of the terminal, colours, and links if it has them."""
    from cplc.report.layout import Layout, no_link

    return Layout(result_style(colour), report_columns(), _link if _shows_links(colour) else no_link)


def _shows_links(colour: Colour) -> bool:
    """Return whether standard output is a terminal known to show links (OSC 8), or `FORCE_HYPERLINK` says so."""
    if (forced := os.environ.get("FORCE_HYPERLINK")) is not None:
        return forced != "0"
    if not has_colour(colour) or not is_terminal():
        return False
    environment = os.environ
    return (
        environment.get("TERM_PROGRAM", "") in _PROGRAMS_WITH_LINKS
        or environment.get("TERM", "") in ("xterm-kitty", "alacritty", "foot", "xterm-ghostty")
        or any(environment.get(name) for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM"))
        or environment.get("VTE_VERSION", "").rjust(4, "0") >= _FIRST_VTE_WITH_LINKS
    )


def _link(text: str, span: Span) -> str:
    """Return the text as a link to its place."""
    path = Path(span.source.name)
    if not path.is_file():
        return text
    target = f"{path.absolute().as_uri()}#{span.position[0]}"
    return f"{_ESCAPE}]8;;{target}{_ESCAPE}\\{text}{_ESCAPE}]8;;{_ESCAPE}\\"


def write_diagnostics(diagnostics: Iterable[Diagnostic], *, form: AnyFormat, colour: Colour, err: bool) -> None:
    """Write diagnostics as text; in document formats they are part of the document."""
    match form:
        case "text":
            write(rendered(diagnostics, style_for(colour, err=err), page=_page(err=err)), err=err)
        case "concise":
            for diagnostic in in_order(diagnostics):
                write(f"{diagnostic.concise()}\n", err=err)
        case _:
            pass


def _page(*, err: bool) -> Page:
    """Return the page of diagnostics and findings; where no width is given, each message is one line, as for `grep`."""
    if not has_width(err=err):
        return Page()
    from cplc.report.layout import wrapped

    width = report_columns()
    return Page(width, lambda text, hanging: wrapped(text, width, hanging=hanging))


def has_width(*, err: bool = False) -> bool:
    """Return whether the width of the output is given: by a terminal, or by `COLUMNS`."""
    return "COLUMNS" in os.environ or is_terminal(err=err)


def write_json(document: Mapping[str, object]) -> None:
    """Write one document, with the version of its format first."""
    if _capture:
        _capture[-1].document = dict(document)
        return
    write(json_text({"format_version": FORMAT_VERSION, **document}, 2) + "\n")


def file_name(name: str) -> str:
    """Return a name that is valid on every file system."""
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in name)


def place_below(folder: Path, file: str) -> Path:
    """Return the place for files about this file: the folder, and for one of several files, its path below it."""
    parts = [part for part in Path(os.path.relpath(file)).parts if part != ".."]
    return folder.joinpath(*parts) if _capture else folder


def write_file(path: Path, text: str) -> None:
    """Write a file atomically."""
    write_files({path: text})


def _mode(path: Path) -> int:
    """Return the permissions for the file: those of the old one, or of a new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_files(texts: Mapping[Path, str | bytes]) -> None:
    """Write each file atomically, and replace none before all are written.

    Pipes and devices are written directly.
    """
    ready: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            handle, name = make_temporary(path)
            ready[path] = Path(name)
            with os.fdopen(handle, "wb") as stream:
                stream.write(text if isinstance(text, bytes) else text.encode())
        for path, temporary in ready.items():
            put(temporary, path)
    except BaseException:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)
        raise


def make_temporary(path: Path) -> tuple[int, str]:
    """Return an open temporary file in the folder of this one; create the folder."""
    import tempfile

    if _is_stream(path):
        return tempfile.mkstemp(prefix="cplc-")
    path.parent.mkdir(parents=True, exist_ok=True)
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")


def _is_stream(path: Path) -> bool:
    """Return whether the path leads to a device, a pipe or a socket, which must not be replaced by a file."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def put(temporary: Path, path: Path) -> None:
    """Rename a temporary file to its path, with the permissions of the old file."""
    if _is_stream(path):
        from shutil import copyfileobj

        with temporary.open("rb") as ready, open(os.open(path, os.O_WRONLY), "wb") as stream:
            copyfileobj(ready, stream)
        temporary.unlink()
        return
    temporary.chmod(_mode(path))
    temporary.replace(path)


def difference(name: str, before: str, after: str) -> str:
    """Return the changes of a file as a patch."""
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    from difflib import unified_diff

    lines = unified_diff(old, new, name, name)
    unended = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + unended for line in lines)


def with_progress(doing: str, context: Context) -> str:
    """Return the description of the work with the progress of the search."""
    progress_text = context.progress_text()
    return f"{doing}: {progress_text}" if progress_text else doing


def be_quiet(context: click.Context) -> None:
    """Disable the progress line of this command."""
    context.meta[_QUIET] = True


def _is_quiet() -> bool:
    if _capture:
        return True
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


class Progress:
    """The progress line, shown on a terminal after one second."""

    def __init__(self, doing: Callable[[], str]) -> None:
        self._doing = doing
        self._is_wanted = not _is_quiet() and os.environ.get("TERM") != "dumb"
        self._began = self._last = time.monotonic()
        self._shown = ""

    def show(self) -> None:
        now = time.monotonic()
        seconds = int(now - self._began)
        if seconds < 1 or now - self._last < _GLANCE or not self._is_wanted or not is_terminal(err=True):
            return
        self._last = now
        after = f" … {seconds} s"
        line = f"{self._doing()[: max(10, terminal_columns() - len(after) - 1)]}{after}"
        if line != self._shown:
            _emit(f"\r\x1b[2K{_shown(line)}", err=True)
            self._shown = line

    def clear(self) -> None:
        """Clear the line; call this before any other output."""
        if self._shown:
            _emit("\r\x1b[2K", err=True)
            self._shown = ""


def write_part(part: object, document: Callable[[], str]) -> None:
    """Write the document of one file; with others, contribute its part to theirs."""
    if _capture:
        _capture[-1].document = part
    else:
        write(document())


def write_document(form: Whole, outcome: Outcome) -> None:
    """Write the document of one file; with others, contribute to theirs."""
    part = document_part(form, outcome)
    write_part(part, lambda: whole_document(form, outcome.command, outcome.file, [part]))


def document_part(form: Whole, outcome: Outcome) -> object:
    """Return what one file contributes to the document of that format."""
    outcome = replace(outcome, manual=_manual(), repository=_repository())
    match form:
        case "github":
            from cplc.cli.step_summary import summary_part
            from cplc.report.github import commands

            return {"commands": commands(outcome), **summary_part(outcome)}
        case "junit":
            from cplc.report.junit import suite

            return suite(outcome)
        case "sarif":
            from cplc.report.sarif import file_part

            return file_part(outcome)
        case "html" if outcome.command == "analyze":
            from cplc.report import decision_page

            return decision_page.file_part(
                outcome.file, outcome.diagnostics, (), outcome.interrupted, among_others=outcome.among_others
            )
        case "html":
            from cplc.report.html import file_part as html_part

            return html_part(outcome)


def _manual() -> str:
    """Return the address of the manual, which `CPLC_MANUAL_URL` names."""
    return os.environ.get("CPLC_MANUAL_URL", "").rstrip("/")


def _repository() -> str:
    """Return the address of the files of the revision that a workflow of GitHub verifies."""
    parts = [os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "SHA")]
    return "{}/{}/blob/{}".format(*parts) if all(parts) else ""


def whole_document(form: Whole, command: str, title: str, parts: Sequence[Any]) -> str:
    """Return the document of these files."""
    match form:
        case "github":
            from cplc.cli.step_summary import write_summary

            write_summary(parts)
            return "".join(part["commands"] for part in parts)
        case "junit":
            from cplc.report.junit import suites

            return suites(parts)
        case "sarif":
            from cplc.report.sarif import log

            return log(parts, __version__)
        case "html" if command == "analyze":
            from cplc.report.decision_page import decision_page

            return decision_page(title, __version__, parts)
        case "html":
            from cplc.report.html import page

            return page(title, parts)


# --- Reports of bugs in `cplc` itself, printed instead of a traceback


_REPORT_TO: Final = "Please report it with the command, the file and the output of CPLC_DEBUG=1."


def report_bug(error: Exception, file: str | None = None) -> None:
    """Print the exception, with the file if there are several; `CPLC_DEBUG` adds the traceback."""
    if os.environ.get("CPLC_DEBUG"):
        from traceback import format_exception

        write("".join(format_exception(error)), err=True)
    detail = str(error).splitlines()
    where = f"{file}: " if file else ""
    write(f"{where}cplc {__version__}: this is a bug in cplc: {type(error).__name__}", err=True)
    write(f"{': ' if detail else ''}{detail[0][:200] if detail else ''}\n{_REPORT_TO}\n", err=True)
