"""``cplc verify``: model checking of properties and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cplc.cli import output
from cplc.cli.checkpointing import checkpoint_options, checkpointing_for
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.input_files import input_description
from cplc.cli.limits import Limits
from cplc.cli.load import as_protocol, compile_file, formula_question_of, questions_of
from cplc.cli.many_files import NothingToDo, NotSelected, ProjectCommand, for_each_file, many_files_options
from cplc.cli.options import (
    ModelOptions,
    colour_option,
    detail_option,
    formula_options,
    limit_options,
    property_option,
    report_format_option,
    strict_option,
    watch_option,
)
from cplc.cli.output import AnyFormat, Colour
from cplc.cli.result_cache import ResultStore, cache_option, is_enabled, shared_store, verify_cached
from cplc.cli.start_time import began
from cplc.cli.verify_report import VerifyReport
from cplc.compilation.verification import Questions, Verification
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.checking.verify import AnswerListener
    from cplc.compilation import BoundQuestion, Compilation, CplCompilation, EngineName, Strategies
    from cplc.parameterised import EverySize
    from cplc.report.text import Detail


PASSES = ("components", "cone-of-influence", "symmetry", "partial-order")
"""The names of the reductions; this copy saves imports when the program starts."""


@click.command(
    "verify",
    cls=ProjectCommand,
    short_help="Verify the properties and checks of files, or one formula.",
    epilog=f"""{EXPLAINED}
A property with `expect fails` that fails is as expected. A property that holds vacuously is as expected too, with a
warning. With --formula, the exit code is the verdict: 0 it holds, 1 it fails, 3 it is unknown.

A file that ends in `.ispl`, or standard input that begins with `Agent` or `Semantics`, is a model in ISPL, the language
of MCMAS: its formulas are verified, `formula 1` first.
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
  cplc verify protocols --changed origin/main --format junit > results.xml
  cplc verify
""",
)
@many_files_options
@property_option("Verify")
@formula_options("Verify")
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
@detail_option
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
@for_each_file(
    "verify",
    checkpoint="--checkpoint",
)
def command(
    file: str,
    options: ModelOptions,
    properties: Sequence[str],
    formula: str | None,
    assuming: tuple[str, ...] | None,
    for_all: bool,
    counting: str,
    engine: EngineName,
    limits: Limits,
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
    """Verify the properties and checks of files, or one formula of a file; `-` reads standard input.

    Several files and folders are verified in parallel, with one report. Without a name, the files of the project are
    verified, those that `cplc.toml` names.
    """
    _check_options(formula, properties, assuming, counting, for_all=for_all)
    if checkpoint is not None and (for_all or watch):
        raise click.UsageError(f"--checkpoint and {'--for-all-n' if for_all else '--watch'} cannot be combined")
    saved = checkpointing_for(checkpoint, every, limits)
    if watch:
        from cplc.cli.watch import run_and_watch

        return run_and_watch(lambda: [file])
    verification = Verification()
    run = CommandRun(form, colour, limits, shows_warnings=True)
    report = VerifyReport(run, verification, file, options, detail, strict, asks_formula=formula is not None)

    def work() -> Iterator[tuple[Diagnostic, ...] | Questions | str | Result]:
        needs_protocol = formula is not None or bool(properties) or for_all
        compilation, diagnostics = compile_file(file, options, strategies, needs_protocol=needs_protocol)
        yield diagnostics
        if compilation is None:
            if not any(one.is_error for one in diagnostics):
                yield f"{printable(file)}: declares macros only: there is nothing to verify"
            return
        questions = _asked(compilation, properties, formula, assuming or options.assuming or ())
        if not isinstance(questions, Questions):
            yield questions
            return
        every_size = None
        if for_all:
            protocol = as_protocol(compilation, file, "--for-all-n")
            every_size = _every_size(protocol, counting, limits, verification, vacuity=vacuity)
            if not properties:
                questions = replace(questions, questions=every_size.of_any_size(questions.questions))
        yield tuple(warning for one in questions.questions for warning in one.warnings)
        yield questions
        if print_after is not None:
            if output.current_capture() is not None:
                yield f"{printable(file)}:\n"
            yield from _reductions(questions.questions, engine, print_after)
        if every_size is not None:
            yield from every_size.verify(questions.questions, engine)
            return
        store, message = saved.begin(lambda: compilation.system)
        if message is not None:
            yield message
        cached = shared_store() if is_enabled(cache) else None
        stores: list[ResultStore] = [one for one in (store, cached) if one is not None]
        never = None if formula is not None or properties else compilation.never_reached()
        answering = _Answering(compilation, engine, vacuity=vacuity, stores=stores, on_answer=verification.settle)
        is_complete = True
        answers = answering.answers(questions.questions, () if never is None else never.questions)
        for result in islice(answers, len(questions.questions)):
            is_complete &= result.answer != "unknown"
            yield result
        if never is not None:
            yield never.warnings(answers, answering.answers)
        saved.ended(is_complete=is_complete)

    def doing() -> str:
        return verification.doing() + saved.doing()

    try:
        run.consume(work(), doing, report.take, verification.context)
    except (OSError, NothingToDo):
        raise
    except Exception as problem:
        report.fail(problem)
        raise
    if run.stopped is not None and verification.is_complete:
        run.interrupted = None  # every question is answered, and warnings alone were not searched to the end
    if run.stopped is not None:
        message = saved.stopped(run.stopped, report.tell)
        report.stop(run.interrupted or "")
        report.tell(message)
    if itf is not None:
        report.write_traces(output.place_below(itf, file))
    report.finish()
    if run.interrupted is None:
        report.tell(saved.problem)
    return report.exit


def _check_options(
    formula: str | None,
    properties: Sequence[str],
    assuming: Sequence[str] | None,
    counting: str,
    *,
    for_all: bool,
) -> None:
    if formula is not None and properties:
        raise click.UsageError("--formula and --property cannot be combined")
    if assuming is not None and formula is None:
        raise click.UsageError("--assuming requires --formula; a property declares its own assumptions")
    if counting and not for_all:
        raise click.UsageError("--n requires --for-all-n")
    if for_all and formula is not None:
        raise click.UsageError("--formula and --for-all-n cannot be combined")


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
    compilation: CplCompilation, counting: str, limits: Limits, verification: Verification, *, vacuity: bool
) -> EverySize:
    """Return the verification of every size of a family, with its share of the time limit for each question."""
    from cplc.parameterised import EverySize, NotCounting, default_allowance, shares_of_time

    allowance = default_allowance if limits.seconds is None else shares_of_time(began(), limits.seconds)
    every = EverySize(
        compilation, counting, allowance, vacuity, on_answer=verification.settle, so_far=verification.take_preliminary
    )
    try:
        every.parameter  # noqa: B018
    except NotCounting as problem:
        parameters = ", ".join(f"`{name}`" for name in problem.known)
        capture = output.current_capture()
        if capture is not None and (counting or not parameters):
            capture.candidates = list(problem.known)
            named = f" `{counting}`" if counting else ""
            raise NotSelected(f"no size{named} of a role family is a parameter") from None
        if not parameters:
            message = "this protocol has no role family whose size is a parameter"
        elif counting:
            message = f"`{counting}` is not the size of a role family; sizes of families are {parameters}"
        else:
            message = f"say with --n which size varies; sizes of families are {parameters}"
        raise click.UsageError(f"--for-all-n: {message}") from None
    if counting and (capture := output.current_capture()) is not None:
        capture.selected.append(counting)
    return every


@dataclass(frozen=True)
class _Answering:
    """Answers questions about a compilation, with the results of earlier runs."""

    compilation: Compilation
    engine: EngineName
    vacuity: bool = field(kw_only=True)
    stores: Sequence[ResultStore] = field(kw_only=True)
    on_answer: AnswerListener = field(kw_only=True)

    def answers(self, questions: Sequence[BoundQuestion], further: Sequence[BoundQuestion] = ()) -> Iterator[Result]:
        """Yield the answers, those of ``further`` questions last, which share the engines.

        Thresholds of participants come last among the questions and are never cached.
        """
        cacheable = [one for one in questions if one.question.kind != "analysis"]
        results = verify_cached([*cacheable, *further], self._key_document, self._verify, self.stores)
        yield from islice(results, len(cacheable))
        if len(cacheable) < len(questions):
            yield from self._verify(questions[len(cacheable) :])
        yield from results

    @property
    def _key_document(self) -> Mapping[str, object]:
        if not self.stores:
            return {}
        return {**input_description(self.compilation), "engine": self.engine, "vacuity": self.vacuity}

    def _verify(self, some: Sequence[BoundQuestion]) -> Iterator[Result]:
        return self.compilation.verify(some, self.engine, vacuity=self.vacuity, on_answer=self.on_answer)
