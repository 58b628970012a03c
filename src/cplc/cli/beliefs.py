"""``cplc beliefs``: beliefs of a participant about others, estimated from logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.log_replay import Observed, log_options, mine, observed_data, report_skipped
from cplc.cli.options import ModelOptions, brief_format_option, colour_option, files, model_options, resource_options
from cplc.cli.output import Colour
from cplc.diagnostics.core import did_you_mean
from cplc.diagnostics.render import diagnostics_data

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation
    from cplc.logs.events import Format
    from cplc.mining.observed_choices import BeliefEstimates


@click.command(
    "beliefs",
    short_help="Estimate the probabilities of other agents' choices from logs.",
    epilog=f"""{EXPLAINED}
The command counts the situations in which one agent could send several messages, and which message it sent. The bounds
are Clopper-Pearson confidence intervals: they contain the true probability at least as often as --confidence says. The
output can be pasted into an `agent` of the protocol.

\b
Examples:
  cplc beliefs shop.cpl orders.csv --agent Seller
  cplc beliefs shop.cpl 2025.jsonl.gz 2026.jsonl --agent Alice --confidence 0.99
  cplc simulate examples/marketplace.cpl --runs 1000 --log runs.jsonl
  cplc beliefs examples/marketplace.cpl runs.jsonl --agent Sam --points
""",
)
@model_options
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", shell_complete=files)
@click.option("--agent", required=True, metavar="NAME", help="Estimate the beliefs of this participant or role.")
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    metavar="P",
    default=0.95,
    show_default=True,
    help="Confidence level of the bounds.",
)
@click.option("--points", is_flag=True, help="Print relative frequencies instead of bounds.")
@log_options
@resource_options
@brief_format_option
@colour_option
def command(
    file: str,
    logs: tuple[str, ...],
    options: ModelOptions,
    agent: str,
    confidence: float,
    points: bool,
    mapping: str | None,
    log_form: Format | None,
    tick: float | None,
    limits: Limits,
    form: Literal["text", "json"],
    colour: Colour,
) -> Exit:
    """Estimate from LOG the beliefs of an agent about the others in the protocol of FILE."""

    def estimator(compilation: CplCompilation) -> Callable[[Observed], BeliefEstimates]:
        from cplc.mining.observed_choices import estimate_beliefs

        roles = _observed_roles(compilation, agent)
        return lambda observed: estimate_beliefs(observed.choices, roles, confidence)

    run = CommandRun(form, colour, limits)
    observed, estimates = mine(run, file, options, logs, log_form, mapping, tick, estimator)
    if form == "json":
        _write_document(run, file, agent, confidence, observed, estimates)
    elif estimates is not None and observed is not None:
        _write_text(estimates, observed, agent, confidence, points=points)
    run.write_interruption()
    return run.exit_code()


def _observed_roles(compilation: CplCompilation, agent: str) -> frozenset[str]:
    """Return the roles of a participant, or the role of this name."""
    model = compilation.model
    for participant in model.participants:
        if participant.name == agent:
            return frozenset(participant.roles)
    families = {one.family for one in compilation.system.agents}
    roles = frozenset(one.name for one in compilation.system.agents if agent in (one.name, one.family))
    if not roles:
        candidates = [*(one.name for one in model.participants), *families, *compilation.system.agent]
        hints = [note.message for note in did_you_mean(agent, candidates)]
        listed = f"there are {', '.join(dict.fromkeys(candidates[:12]))}"
        raise click.UsageError(f"no participant or role is called `{agent}`; {(hints or [listed])[0]}")
    return roles


def _write_text(estimates: BeliefEstimates, observed: Observed, agent: str, confidence: float, *, points: bool) -> None:
    from cplc.mining.mining_report import beliefs_text, comment_lines

    report_skipped(observed)
    cases = observed.monitor.totals.cases
    how = "relative frequencies" if points else f"Clopper-Pearson bounds, confidence {confidence:.10g}"
    width = output.report_columns()
    lines = list(comment_lines(f"beliefs of {agent}: {cases:,} case{'' if cases == 1 else 's'}; {how}", width))
    beliefs = list(beliefs_text(estimates, width, points=points))
    lines += beliefs or comment_lines("the logs contain no choice of another agent", width)
    output.write("".join(f"{line}\n" for line in lines))


def _write_document(
    run: CommandRun,
    file: str,
    agent: str,
    confidence: float,
    observed: Observed | None,
    estimates: BeliefEstimates | None,
) -> None:
    from cplc.mining.mining_report import beliefs_data

    output.write_json(
        {
            "command": "beliefs",
            "file": file,
            "agent": agent,
            "confidence": confidence,
            "diagnostics": diagnostics_data(run.diagnostics),
            **observed_data(observed),
            **(beliefs_data(estimates) if estimates is not None else {"beliefs": [], "left_out": []}),
            "interrupted": run.interrupted,
            "exit": run.exit_code(),
        }
    )
