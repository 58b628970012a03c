"""Output of ``cplc verify``: verdicts as they come, a summary or a document at the end, and the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from click import ClickException

from cplc import __version__
from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import Exit, exit_of_results
from cplc.cli.options import ModelOptions
from cplc.compilation.verification import Questions, Verification
from cplc.control_characters import printable
from cplc.diagnostics.render import diagnostics_data, in_order
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.report.outcome import Outcome
    from cplc.report.text import Detail, ResultWriter


@dataclass
class VerifyReport:
    """The report on one verification, written by the main thread."""

    run: CommandRun
    verification: Verification
    file: str
    options: ModelOptions
    detail: Detail = "failures"
    strict: bool = False
    asks_formula: bool = False
    error: str | None = None
    """The exception that ended the run."""
    _writer: ResultWriter | None = None
    _assumption_notes: set[str] = field(default_factory=set)
    """The notes on assumptions that were printed, without what they offer."""

    def take(self, event: Questions | str | Result) -> None:
        """Print a message about the run, or a result."""
        if isinstance(event, str):
            self.tell(event)
        elif isinstance(event, Questions):
            self.verification.questions = event
        else:
            self.verification.add(event)
            self._show(event)

    def tell(self, text: str | None) -> None:
        """Print a message about the run itself, in text output only."""
        if text and self.run.form == "text":
            output.write(text, err=True)

    def stop(self, reason: str) -> None:
        """Report the open questions as unknown for this reason."""
        for result in self.verification.interrupt(reason):
            self._show(result)
        if not self.verification.results and self.run.form != "json":
            output.write(f"{reason}\n", err=True)

    def fail(self, problem: Exception) -> None:
        """Complete the document of a run that ends with an exception."""
        bug = f"this is a bug in cplc: {type(problem).__name__}: {problem}"
        self.error = problem.format_message() if isinstance(problem, ClickException) else bug
        if self.run.form not in ("text", "concise"):
            self.finish()

    @property
    def exit(self) -> Exit:
        if self.error:
            return Exit.WRONG
        return exit_of_results(
            self.verification.results,
            self.run.diagnostics,
            strict=self.strict,
            asks_formula=self.asks_formula,
            is_interrupted=self.run.interrupted is not None,
        )

    def _show(self, result: Result) -> None:
        if self.run.form == "text":
            is_one = output.current_capture() is None or self.asks_formula
            if self.detail != "everything" and not is_one and self._is_as_expected(result):
                return  # among many files, only what needs attention is shown
            from cplc.report.text import ResultWriter

            self._writer = self._writer or ResultWriter(output.write, self.run.layout, self.detail)
            self._writer.add(self._without_repeated_notes(result))
        elif self.run.form == "concise":
            from cplc.report.text import concise

            output.write(concise(self._without_repeated_notes(result)) + "\n")

    def _without_repeated_notes(self, result: Result) -> Result:
        """Return the result with notes on its assumption if it rests on them, and if no result before had them."""
        of_assumption = result.question.assumption_notes
        if not of_assumption:
            return result
        from cplc.compilation.forced_messages import without_offer

        new = set()
        if result.answer in ("holds", "vacuous"):
            new = {note for note in of_assumption if without_offer(note) not in self._assumption_notes}
            self._assumption_notes.update(map(without_offer, new))
        return replace(result, notes=tuple(note for note in result.notes if note in new or note not in of_assumption))

    def _is_as_expected(self, result: Result) -> bool:
        from cplc.report.outcome import standing

        return standing(result, strict=self.strict) == "as expected"

    def finish(self) -> None:
        """Print the summary, or the document of the format."""
        self._write_end()
        capture = output.current_capture()
        if capture is not None:
            capture.counts = dict(Counter(standing for _, standing in self._outcome.results))
            capture.label = self._label
            if self._is_settled:
                capture.as_cached = self._output_from_cache(capture)

    @property
    def _is_settled(self) -> bool:
        """True if the same question about the same files always has these results."""
        is_stopped = self.run.interrupted is not None or self.error is not None
        return (
            bool(self.verification.results)
            and not is_stopped
            and all(
                result.answer != "unknown" and result.reason is None and result.question.kind != "analysis"
                for result in self.verification.results
            )
        )

    def _output_from_cache(self, capture: output.CapturedOutput) -> output.CapturedOutput:
        """Return the same output as it is shown when the results come from the cache."""
        again = output.CapturedOutput(is_terminal=capture.terminals[False], is_error_terminal=capture.terminals[True])
        verification = Verification(questions=self.verification.questions)
        verification.results.extend(replace(result, cached=True) for result in self.verification.results)
        run = CommandRun(self.run.form, self.run.colour, self.run.limits)
        report = VerifyReport(run, verification, self.file, self.options, self.detail, self.strict, self.asks_formula)
        with output.captured(again):
            run.report(self.run.diagnostics)
            for result in verification.results:
                report._show(result)
            report._write_end()
        return again

    def _write_end(self) -> None:
        match self.run.form:
            case "text":
                self._write_summary()
            case "json":
                self._write_data()
            case "concise":
                pass
            case form:
                output.write_document(form, self._outcome)

    @property
    def _outcome(self) -> Outcome:
        from cplc.report.outcome import Outcome, standing

        results = [(result, standing(result, strict=self.strict)) for result in self.verification.results]
        diagnostics, stopped = in_order(self.run.diagnostics), self.error or self.run.interrupted
        switched_off = self.verification.questions.switched_off
        among_others = output.current_capture() is not None
        return Outcome("verify", self.file, __version__, diagnostics, results, stopped, switched_off, among_others)

    @property
    def _label(self) -> str:
        """The file, with the protocol and the options that are not its own."""
        is_one = output.current_capture() is None or self.options.protocol is None
        given = (*(() if is_one else (f"protocol {self.options.protocol}",)), *self.options.settings)
        return f"{self.file} ({', '.join(given)})" if given else self.file

    def _write_summary(self) -> None:
        if self._writer is not None:
            self._writer.flush()
        switched_off = ", ".join(self.verification.questions.switched_off)
        is_one = output.current_capture() is None
        if switched_off and is_one:
            output.write(f"switched off in the file: {switched_off}\n")
        if self.verification.results:
            more = f" (switched off in the file: {switched_off})" if switched_off and not is_one else ""
            output.write(f"{printable(self._label)}: {self._outcome.summary()}{more}\n")

    def _write_data(self) -> None:
        from cplc.report.json_data import result_data

        output.write_json(
            {
                "command": "verify",
                "file": self.file,
                "parameters": self.options.parameters,
                "diagnostics": diagnostics_data(self.run.diagnostics),
                "results": [result_data(result) for result in self.verification.results],
                "switched_off": list(self.verification.questions.switched_off),
                "interrupted": self.run.interrupted,
                "error": self.error,
                "exit": self.exit,
            }
        )

    def write_traces(self, folder: Path) -> None:
        """Write the run of each result that has one."""
        from cplc.report.json_data import trace

        for result in self.verification.results:
            written = trace(result)
            if written is not None:
                output.write_file(folder / f"{output.file_name(result.question.name)}.itf.json", written)
