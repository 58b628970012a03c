"""One run of a command: supervised work, diagnostics printed at once, and the reason of an interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cplc.cli import output
from cplc.cli.exit_codes import Exit, exit_code
from cplc.cli.limits import Interrupted, Limits, compute_supervised, run_supervised
from cplc.cli.output import AnyFormat, Colour
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic

if TYPE_CHECKING:
    from cplc.report.layout import Layout, Style
    from cplc.runtime.context import Context

Outcome = TypeVar("Outcome")

INTERRUPTED = "the run was interrupted"


class CommandRun:
    """A run of a command on files; used by the main thread only."""

    def __init__(
        self, form: AnyFormat, colour: Colour, limits: Limits | None = None, *, shows_warnings: bool = False
    ) -> None:
        self.form = form
        self.shows_warnings = shows_warnings
        """True if warnings about the file are printed in full; otherwise they are counted, and `check` prints them."""
        self.colour = colour
        self.limits = limits or Limits()
        self.diagnostics: list[Diagnostic] = []
        self.stopped: Interrupted | KeyboardInterrupt | None = None
        self.interrupted: str | None = None
        """The reason of an interruption."""

    @property
    def style(self) -> Style:
        """The style of results on standard output."""
        return output.result_style(self.colour)

    @property
    def layout(self) -> Layout:
        """The layout of results on standard output."""
        return output.layout_for(self.colour)

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Print diagnostics on standard error, unless they are part of a document."""
        self.diagnostics.extend(diagnostics)
        shown, warnings = list(diagnostics), list[Diagnostic]()
        if self.form == "text" and not self.shows_warnings:
            warnings = [one for one in diagnostics if _is_shown_by_check(one)]
            shown = [one for one in diagnostics if not _is_shown_by_check(one)]
        output.write_diagnostics(shown, form=self.form, colour=self.colour, err=True)
        for file in dict.fromkeys(one.span.source.name for one in warnings):
            output.write(f"{_warnings_text(file, warnings)}\n", err=True)

    def consume(
        self,
        work: Iterator[Any],
        doing: Callable[[], str],
        take: Callable[[Any], None],
        context: Context | None = None,
    ) -> None:
        """Report the diagnostics that the work yields, and handle each other event, as they come."""
        progress = output.Progress(doing)
        try:
            for event in run_supervised(work, self.limits, waiting=progress.show, context=context):
                progress.clear()
                if isinstance(event, tuple):
                    self.report(event)
                else:
                    take(event)
        except (Interrupted, KeyboardInterrupt) as stop:
            self.stopped, self.interrupted = stop, str(stop) or INTERRUPTED
        finally:
            progress.clear()

    def compute(self, work: Callable[[], tuple[Outcome, tuple[Diagnostic, ...]]], what: str) -> Outcome | None:
        """Return the result of the work and report its diagnostics; None if it is interrupted."""
        outcome = run_to_completion(work, self.limits, what)
        if isinstance(outcome, str):
            self.interrupted = outcome
            return None
        self.report(outcome[1])
        return outcome[0]

    def exit_code(self, *, unexpected: bool = False, unknown: bool = False) -> Exit:
        unknown |= self.interrupted is not None
        return exit_code(self.diagnostics, unexpected=unexpected, unknown=unknown)

    def write_interruption(self) -> None:
        if self.interrupted is not None:
            output.write(f"{self.interrupted}\n", err=True)


def run_to_completion(work: Callable[[], Outcome], limits: Limits, what: str) -> Outcome | str:
    """Return the result of the work, or the reason of its interruption."""
    progress = output.Progress(lambda: what)
    try:
        return compute_supervised(work, limits, waiting=progress.show)
    except Interrupted as stop:
        return str(stop)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        progress.clear()


def _is_shown_by_check(one: Diagnostic) -> bool:
    return one.severity == "warning" and one.span.source.name.endswith(".cpl")


def _warnings_text(file: str, warnings: Sequence[Diagnostic]) -> str:
    """Return how many warnings a file has, and the command that shows them."""
    number = sum(one.span.source.name == file for one in warnings)
    from shlex import quote

    return f"{printable(file)}: {number} warning{'s' * (number > 1)}; `cplc check {quote(printable(file))}` shows them"
