"""``cplc verify``: model checking of properties and checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import ClickException

from cplc import __version__
from cplc.cli import output
from cplc.cli.checkpointing import checkpoint_options, checkpointing_for
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.input_files import input_description
from cplc.cli.limits import Interrupted, Limits, run_supervised
from cplc.cli.load import Channels, as_protocol, compile_file, exit_for, formula_question_of, questions_of
from cplc.cli.options import colour_option, limit_options, model_options, names, report_format_option, strict_option
from cplc.cli.output import WHOLE, AnyFormat, Colour, document
from cplc.cli.result_cache import ResultStore, cache_option, is_enabled, shared_store, verify_cached
from cplc.cli.start_time import began
from cplc.cli.watch import run_and_watch, watch_option
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data, in_order
from cplc.records import dataclass
from cplc.runtime.context import Context

if TYPE_CHECKING:
    from cplc.checking.results import Answer, ExcludedStates, Question, Result
    from cplc.checking.verify import AnswerListener
    from cplc.compilation import BoundQuestion, Compilation, CplCompilation, EngineName, Strategies
    from cplc.parameterised import EverySize
    from cplc.report.outcome import Standing
    from cplc.report.text import Detail


PASSES = ("components", "cone-of-influence", "symmetry", "partial-order")
"""The names of the reductions; this copy saves imports when the program starts."""


@click.command(
    "verify",
    short_help="Verify the properties and checks of a file, or one formula.",
    epilog=f"""{EXPLAINED}
A property with `expect fails` that fails is as expected. A property that holds vacuously is as expected too, with a
warning. With --formula, the exit code is the verdict: 0 it holds, 1 it fails, 3 it is unknown.

A file that ends in `.ispl` is a model in ISPL, the language of MCMAS: its formulas are verified, `formula 1` first.
With --formula, the formula is in the syntax of ISPL, over the propositions and groups of the file.

\b
Examples:
  cplc verify examples/netbill.cpl
  cplc verify examples/netbill.cpl -D customers=20 --property safe --property served
  cplc verify examples/netbill.cpl --formula 'AG (pay[1] -> AF deliver[1])' --assuming Mer
  cplc verify model.ispl --formula 'LTL G F done'
  cplc verify examples/netbill.cpl --for-all-n
  cplc verify examples/netbill.cpl --timeout 5m --format json
  cplc verify examples/netbill.cpl --timeout 8h --checkpoint netbill.checkpoint
  cplc verify examples/netbill.cpl --watch
  cplc verify examples/netbill.cpl --format html > report.html
  cplc verify - < examples/netbill.cpl
""",
)
@model_options
@click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Verify this property only. May be repeated."
)
@click.option("--formula", metavar="FORMULA", help="Verify this formula instead of the properties of the file.")
@click.option(
    "--assuming",
    type=names,
    metavar="ROLES",
    help="Roles assumed to make progress (fairness), for --formula: `Mer,Cus` or `all`.",
)
@click.option(
    "--for-all-n",
    "for_all",
    is_flag=True,
    help="Verify every size of a role family: the declared sizes, or all sizes by a proof.",
)
@click.option(
    "--n", "counting", metavar="NAME", default="", help="Size parameter for --for-all-n, if there are several."
)
@limit_options
@report_format_option
@click.option(
    "--detail",
    type=click.Choice(["verdicts", "failures", "everything"]),
    default="failures",
    show_default=True,
    help="Verdicts to show with their runs.",
)
@click.option(
    "--strategies",
    type=click.Choice(["full", "uniform"]),
    default="full",
    show_default=True,
    help="Strategies use the whole state (full) or only what each agent observes (uniform); a uniform strategy has to "
    "win from all states that the agents of the group cannot tell apart.",
)
@click.option(
    "--vacuity", is_flag=True, help="Report vacuity: the atoms on which the verdict of a property does not depend."
)
@strict_option
@click.option(
    "--itf",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write each run shown into this folder, in the Informal Trace Format.",
)
@click.option(
    "--print-after",
    type=click.Choice(["all", *PASSES]),
    metavar="PASS",
    help=f"Print each question after this reduction, and the reduced system: {', '.join(PASSES)} or all.",
)
@cache_option
@checkpoint_options
@watch_option
@colour_option
def command(
    file: str,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    properties: Sequence[str],
    formula: str | None,
    assuming: tuple[str, ...] | None,
    for_all: bool,
    counting: str,
    engine: EngineName,
    timeout: float | None,
    memory: int | None,
    form: AnyFormat,
    detail: Detail,
    strategies: Strategies,
    vacuity: bool,
    strict: bool,
    itf: Path | None,
    print_after: str | None,
    cache: bool | None,
    checkpoint: Path | None,
    every: float | None,
    watch: bool,
    colour: Colour,
) -> Exit:
    """Verify the properties and checks of FILE, or one formula; `-` reads standard input."""
    if formula is not None and properties:
        raise click.UsageError("--formula and --property cannot be combined")
    if assuming is not None and formula is None:
        raise click.UsageError("--assuming requires --formula; a property declares its own assumptions")
    if counting and not for_all:
        raise click.UsageError("--n requires --for-all-n")
    if for_all and formula is not None:
        raise click.UsageError("--formula and --for-all-n cannot be combined")
    if checkpoint is not None and (for_all or watch):
        raise click.UsageError(f"--checkpoint and {'--for-all-n' if for_all else '--watch'} cannot be combined")
    limits = Limits(timeout, memory)
    saved = checkpointing_for(checkpoint, every, limits)
    if watch:
        return run_and_watch(lambda: [file])

    def work() -> Iterator[tuple[Diagnostic, ...] | Questions | RunMessage | Result]:
        needs_protocol = formula is not None or bool(properties) or for_all
        compilation, diagnostics = compile_file(
            file, definitions, channels, protocol, strategies, needs_protocol=needs_protocol
        )
        yield diagnostics
        if compilation is None:
            if not any(one.is_error for one in diagnostics):
                yield RunMessage(f"{printable(file)}: declares macros only: there is nothing to verify")
            return
        questions = _asked(compilation, properties, formula, assuming or ())
        if not isinstance(questions, Questions):
            yield questions
            return
        every = (
            _every_size(as_protocol(compilation, file, "--for-all-n"), counting, limits, run, vacuity=vacuity)
            if for_all
            else None
        )
        if every is not None and not properties:
            questions = replace(questions, questions=every.of_any_size(questions.questions))
        yield tuple(warning for one in questions.questions for warning in one.warnings)
        yield questions
        if print_after is not None:
            yield from map(RunMessage, _reductions(questions.questions, engine, print_after))
        if every is not None:
            yield from every.verify(questions.questions, engine)
            return
        stores: list[ResultStore] = []
        if saved is not None:
            store, message = saved.begin(compilation.system)
            stores.append(store)
            if message is not None:
                yield RunMessage(message)
        if is_enabled(cache) and (cache_store := shared_store()) is not None:
            stores.append(cache_store)
        is_complete = True
        for result in _answered(
            compilation, questions.questions, engine, vacuity=vacuity, stores=stores, on_answer=run.settle
        ):
            is_complete &= result.answer != "unknown"
            yield result
        if saved is not None:
            saved.ended(is_complete=is_complete)

    run = VerifyRun(
        file=file,
        definitions=dict(definitions),
        form=form,
        colour=colour,
        strict=strict,
        detail=detail,
        asks_formula=formula is not None,
        more_doing=lambda: "" if saved is None else saved.doing(),
    )
    try:
        for event in run_supervised(work(), limits, waiting=run.progress.show, context=run.context):
            run.take(event)
    except (Interrupted, KeyboardInterrupt) as stop:
        message = None if saved is None else saved.stopped(stop, run.tell)
        run.stop(str(stop) or "the run was interrupted")
        run.tell(message)
    except OSError:
        raise
    except Exception as problem:
        run.fail(problem)
        raise
    if itf is not None:
        run.write_traces(itf)
    run.finish()
    if saved is not None and run.interrupted is None:
        run.tell(saved.problem)
    return run.exit


def _asked(
    compilation: Compilation, properties: Sequence[str], formula: str | None, assuming: Sequence[str]
) -> Questions | tuple[Diagnostic, ...]:
    """Return the questions, or the errors of the formula."""
    if formula is not None:
        question = formula_question_of(compilation, formula, assuming)
        return question if isinstance(question, tuple) else Questions((question,))
    questions = questions_of(compilation.questions_with_thresholds, properties)
    return Questions(questions, () if properties else compilation.switched_off)


def _reductions(questions: Sequence[BoundQuestion], engine: EngineName, print_after: str) -> Iterator[str]:
    """Return the text of each question after a reduction."""
    from cplc.checking.reduction_listing import reduction_listing

    verified = (
        (one.question.system or one.system, one.question) for one in questions if one.question.kind != "analysis"
    )
    return reduction_listing(verified, engine, print_after)


def _every_size(
    compilation: CplCompilation, counting: str, limits: Limits, run: VerifyRun, *, vacuity: bool
) -> EverySize:
    """Return the verification of every size of a family, with its share of the time limit for each question."""
    from cplc.parameterised import EverySize, NotCounting, default_allowance, shares_of_time

    allowance = default_allowance if limits.seconds is None else shares_of_time(began(), limits.seconds)
    every = EverySize(compilation, counting, allowance, vacuity, on_answer=run.settle, so_far=run.take_note)
    try:
        every.parameter  # noqa: B018
    except NotCounting as problem:
        parameters = ", ".join(f"`{name}`" for name in problem.known) or "none here"
        message = (
            f"`{counting}` is not the size of a role family"
            if counting
            else "choose the size parameter of a role family"
        )
        raise click.UsageError(f"--n: {message}; size parameters: {parameters}") from None
    return every


def _answered(
    compilation: Compilation,
    questions: Sequence[BoundQuestion],
    engine: EngineName,
    *,
    vacuity: bool,
    stores: Sequence[ResultStore],
    on_answer: AnswerListener,
) -> Iterator[Result]:
    """Yield the answers; thresholds of participants come last and are never cached."""

    def verify(some: Sequence[BoundQuestion]) -> Iterator[Result]:
        return compilation.verify(some, engine, vacuity=vacuity, on_answer=on_answer)

    key_document = {**input_description(compilation), "engine": engine, "vacuity": vacuity} if stores else {}
    cacheable = [one for one in questions if one.question.kind != "analysis"]
    yield from verify_cached(cacheable, key_document, verify, stores)
    if len(cacheable) < len(questions):
        yield from verify(questions[len(cacheable) :])


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
                from cplc.report.text import concise

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
                "diagnostics": diagnostics_data(self.diagnostics),
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
