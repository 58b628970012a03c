"""One run of ``cplc verify``: prints results as they arrive, and computes the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from click import ClickException

from cplc import __version__
from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.cli.load import exit_for
from cplc.cli.output import AnyFormat, Colour
from cplc.cli.output_formats import WHOLE, document
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import in_order
from cplc.records import dataclass
from cplc.runtime.context import Context

if TYPE_CHECKING:
    from cplc.checking.results import Answer, ExcludedStates, Question, Result
    from cplc.compilation import BoundQuestion
    from cplc.report.outcome import Standing
    from cplc.report.text import Detail


@dataclass(frozen=True)
class Questions:
    """The questions, and the usual checks that the file switches off."""

    questions: tuple[BoundQuestion, ...]
    switched_off: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunMessage:
    """A message about the run itself."""

    text: str


@dataclass
class VerifyRun:
    """State of the run, used by the main thread only."""

    file: str
    definitions: dict[str, str]
    form: AnyFormat
    colour: Colour
    strict: bool
    detail: Detail
    asks_formula: bool
    """If set, the exit code depends on the verdict alone, not on warnings."""
    context: Context = field(default_factory=Context)
    """The context of the computation."""
    more_doing: Callable[[], str] = lambda: ""
    """Returns a suffix for the progress line."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    questions: tuple[BoundQuestion, ...] = ()
    switched_off: tuple[str, ...] = ()
    """The usual checks that the file switches off."""
    results: list[Result] = field(default_factory=list)
    settled: tuple[Question, Answer] | None = None
    """The answer of a question whose evidence is still being computed."""
    so_far: Result | None = None
    """The preliminary result of the current question, used if the run is interrupted."""
    interrupted: str | None = None
    error: str | None = None
    progress: output.Progress = field(init=False)
    _plain: list[Result] = field(default_factory=list)
    """Usual checks that hold and have not been shown yet."""
    _excluded: list[ExcludedStates] = field(default_factory=list)
    """Sets of states without fair runs that have been shown."""

    def __post_init__(self) -> None:
        self.progress = output.Progress(self._doing)

    def _doing(self) -> str:
        """Return a description of the current work."""
        if len(self.results) < len(self.questions):
            name = self.questions[len(self.results)].question.name
            which = f"{len(self.results) + 1} of {len(self.questions)}"
            doing = f"verifying {name} ({which})" if len(self.questions) > 1 else f"verifying {name}"
            sizes = self.so_far.sizes if self.so_far is not None else None
            if sizes is not None and sizes.text is not None and self.so_far is not None:
                doing = f"{doing}, which {sizes.text}"
            return output.with_progress(doing, self.context) + self.more_doing()
        return "compiling"

    def take(self, event: tuple[Diagnostic, ...] | Questions | RunMessage | Result) -> None:
        """Print an event."""
        self.progress.clear()
        if isinstance(event, tuple):
            self.diagnostics.extend(event)
            output.write_diagnostics(event, form=self.form, colour=self.colour, err=True)
        elif isinstance(event, Questions):
            self.questions, self.switched_off = event.questions, event.switched_off
        elif isinstance(event, RunMessage):
            self.tell(event.text)
        else:
            self.results.append(event)
            self.context.report(None)
            self._show(event)

    def tell(self, text: str | None) -> None:
        """Print a message about the run itself, in text output only."""
        if text and self.form == "text":
            self.progress.clear()
            output.write(text, err=True)

    def settle(self, question: Question, answer: Answer) -> None:
        self.settled = question, answer

    def take_note(self, result: Result) -> None:
        self.so_far = result

    def stop(self, reason: str) -> None:
        """Report the open questions as unknown for this reason; one that only lacks its evidence keeps its answer."""
        from cplc.checking.results import Result

        self.progress.clear()
        self.interrupted = reason
        for bound_question in self.questions[len(self.results) :]:
            answer: Answer = "unknown"
            why = reason
            if self.settled is not None and self.settled[0] is bound_question.question:
                answer, why = self.settled[1], f"its evidence was not computed: {reason}"
            result = Result(bound_question.question, answer, "", 0.0, bound_question.system, reason=why)
            if self.so_far is not None and self.so_far.question is bound_question.question:
                result = replace(result, sizes=self.so_far.sizes)
            self.results.append(result)
            self._show(result)
        if not self.questions and self.form != "json":
            output.write(f"{reason}\n", err=True)

    def fail(self, problem: Exception) -> None:
        """Complete the document of a run that ends with an exception."""
        self.progress.clear()
        if self.form not in ("text", "concise"):
            self.error = problem.format_message() if isinstance(problem, ClickException) else _bug_text(problem)
            self._write_whole()

    def finish(self) -> None:
        """Print the summary, or the document of the format."""
        self.progress.clear()
        match self.form:
            case "text":
                self._write_summary()
            case "concise":
                pass
            case _:
                self._write_whole()

    @property
    def exit(self) -> Exit:
        """The exit code. A definite outcome outweighs an unknown one."""
        strict = self.strict and not self.asks_formula
        code = Exit.WRONG if self.error else exit_for(self.diagnostics, strict=strict)
        if code == Exit.WRONG:
            return code
        if code == Exit.UNEXPECTED or any(self._is_unexpected(result) for result in self.results):
            return Exit.UNEXPECTED
        if self.interrupted or any(result.answer == "unknown" for result in self.results):
            return Exit.UNKNOWN
        return Exit.EXPECTED

    def _is_unexpected(self, result: Result) -> bool:
        if result.answer == "unknown":
            return False
        if self.strict and (result.answer == "vacuous" or any(remark.is_warning for remark in result.remarks)):
            return True
        return not result.as_expected and (self.strict or not result.question.advisory)

    def _show(self, result: Result) -> None:
        match self.form:
            case "text" if self.detail != "everything" and is_plain(result):
                self._plain.append(result)
            case "text":
                from cplc.report.text import plain, result_text

                self._show_plain()
                paint = output.result_colours if output.has_colour(self.colour) else plain
                output.write(result_text(result, paint, detail=self.detail, shown=self._excluded))
                self._excluded += [remark.excluded for remark in result.remarks if remark.excluded is not None]
            case "concise":
                from cplc.report.one_line_text import concise

                output.write(concise(result) + "\n")
            case _:
                pass

    def _show_plain(self) -> None:
        """Print the usual checks that hold without remarks in one line."""
        if self._plain:
            from cplc.report.text import plain, usual_checks_text

            paint = output.result_colours if output.has_colour(self.colour) else plain
            output.write(usual_checks_text(self._plain, paint))
            self._plain.clear()

    def _write_summary(self) -> None:
        """Print the numbers of answers, expected ones first."""
        self._show_plain()
        if self.switched_off:
            output.write(f"switched off in the file: {', '.join(self.switched_off)}\n")
        if not self.results:
            return
        counts = Counter(map(self._verdict, self.results))
        summary = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts, key=_VERDICTS.index))
        output.write(f"{printable(self.file)}: {summary}\n")

    def _verdict(self, result: Result) -> Standing:
        if result.answer == "unknown":
            return "unknown"
        if self._is_unexpected(result):
            return "not as expected"
        warned = (
            result.answer == "vacuous" or any(remark.is_warning for remark in result.remarks) or not result.as_expected
        )
        return "with a warning" if warned else "as expected"

    def _write_whole(self) -> None:
        """Print the document of formats that have one."""
        if self.form not in WHOLE:
            self._write_document()
            return
        from cplc.report.outcome import Outcome

        verdicts = [(result, self._verdict(result)) for result in self.results]
        diagnostics = in_order(self.diagnostics)
        stopped = self.error or self.interrupted
        outcome = Outcome("verify", self.file, __version__, diagnostics, verdicts, stopped, self.switched_off)
        output.write(document(self.form, outcome))

    def _write_document(self) -> None:
        from cplc.report.json_data import result_data

        output.write_json(
            {
                "command": "verify",
                "file": self.file,
                "parameters": self.definitions,
                "diagnostics": [output.diagnostic_data(diagnostic) for diagnostic in in_order(self.diagnostics)],
                "results": [result_data(result) for result in self.results],
                "switched_off": list(self.switched_off),
                "interrupted": self.interrupted,
                "error": self.error,
                "exit": self.exit,
            }
        )

    def write_traces(self, folder: Path) -> None:
        """Write the run of each result that has one."""
        from cplc.report.itf import trace

        for result in self.results:
            written = trace(result)
            if written is not None:
                output.write_file(folder / f"{file_name(result.question.name)}.itf.json", written)


def is_plain(result: Result) -> bool:
    """Return whether a usual check holds without remarks."""
    more = bool(result.remarks or result.notes or result.reason)
    if (sizes := result.sizes) is not None:
        more |= sizes.scope == "verified sizes" or bool(sizes.vacuous or sizes.not_asked)
    return result.question.is_usual and result.answer == "holds" and not more


def _bug_text(problem: Exception) -> str:
    return f"this is a bug in cplc: {type(problem).__name__}: {problem}"


_VERDICTS: tuple[Standing, ...] = ("as expected", "with a warning", "not as expected", "unknown")


def file_name(name: str) -> str:
    """Return a name that is valid on every file system."""
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
