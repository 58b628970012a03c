"""``cplc draw``: drawings of a protocol or of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import as_protocol, compile_file
from cplc.cli.options import ModelOptions, colour_option, files, model_options, resource_options
from cplc.cli.output import Colour
from cplc.diagnostics.core import Diagnostic, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cplc.compilation import Compilation
    from cplc.drawing.graph import Graph
    from cplc.drawing.sequence import Chart
    from cplc.simulation.run_replay import Recorded
    from cplc.system.model import Claim, Commitment, System
    from cplc.system.trace import Run

What = Literal["chart", "role", "states", "commitment", "owes", "messages"]
Target = Literal["svg", "mermaid", "plantuml", "dot"]


_ENDINGS: Final[dict[str, Target]] = {
    ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".puml": "plantuml", ".plantuml": "plantuml",
}  # fmt: skip
_PICTURES: Final = frozenset({".png", ".pdf", ".jpg", ".jpeg", ".gif", ".webp", ".eps", ".ps"})


@click.command(
    "draw",
    short_help="Draw a protocol or a run.",
    epilog=f"""{EXPLAINED}
chart: the message sequence of a run, or every message once. role: the states of one role as it observes them.
states: all reachable states. commitment: the life cycle of a commitment. owes: debtors and creditors. messages: which
message depends on which. Of a model in ISPL, a run, the local states of an agent and all states can be drawn.
A drawing that would be too large shows less detail, and says so.

\b
Examples:
  cplc draw examples/netbill.cpl --what messages -o netbill.svg
  cplc draw examples/netbill.cpl --what role --name Mer --to dot | dot -Tpdf > mer.pdf
  cplc draw examples/netbill.cpl --what commitment --name goods --to mermaid
  cplc draw examples/netbill.cpl --run run.json -o run.svg
  cplc draw examples/train_gate.ispl --what role --name East -o east.svg
""",
)
@model_options
@click.option(
    "--what",
    type=click.Choice(["chart", "role", "states", "commitment", "owes", "messages"]),
    default="chart",
    show_default=True,
    help="Kind of drawing.",
)
@click.option(
    "--name", metavar="NAME", help="Role or agent, commitment or claim to draw; a family stands for its first member."
)
@click.option(
    "--run", "record", shell_complete=files, metavar="RUN", help="File with a recorded run, for chart and owes."
)
@click.option("--run-name", metavar="NAME", help="Run to draw: its number in the record, or its property.")
@click.option(
    "--to",
    "target",
    type=click.Choice(["svg", "mermaid", "plantuml", "dot"]),
    help="Format of the drawing.  [default: by the ending of --output, else svg]",
)
@click.option(
    "-o", "--output", "path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write to this file.  [default: standard output]",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing file.")
@resource_options
@colour_option
def command(
    file: str,
    options: ModelOptions,
    what: What,
    name: str | None,
    record: str | None,
    run_name: str | None,
    target: Target | None,
    path: Path | None,
    force: bool,
    limits: Limits,
    colour: Colour,
) -> Exit:
    """Draw the protocol or model of FILE."""
    if record is not None and what not in ("chart", "owes"):
        raise click.UsageError("--run requires --what chart or --what owes")
    if run_name is not None and record is None:
        raise click.UsageError("--run-name requires --run")
    if name is not None and what not in ("role", "commitment"):
        raise click.UsageError("--name requires --what role or --what commitment")
    if path is not None and path.exists() and not force:
        raise click.UsageError(f"`{path}` exists already; --force replaces it")
    to = target or _target_of(path)
    recorded = None if record is None else _recorded(record, file, run_name)

    def work() -> tuple[str | None, tuple[Diagnostic, ...]]:
        compilation, diagnostics = compile_file(file, options)
        if compilation is not None and what not in ("role", "states") and not (what == "chart" and record):
            as_protocol(compilation, file, f"--what {what} without --run" if what == "chart" else f"--what {what}")
        drawn = None if compilation is None else _drawn(compilation, what, name, recorded, to)
        return drawn, diagnostics

    run = CommandRun("text", colour, limits)
    text = run.compute(work, "drawing")
    if text is not None and path is not None:
        output.write_file(path, text)
    elif text is not None:
        output.write(text)
    run.write_interruption()
    return run.exit_code()


def _target_of(path: Path | None) -> Target:
    """Return the format that the ending of a file names; refuse pictures that have to be made of another format."""
    ending = "" if path is None else path.suffix.lower()
    if ending in _PICTURES:
        raise click.UsageError(
            f"`{ending}` is no format of drawings: write an `.svg`, or `--to dot` and let Graphviz make the picture"
        )
    return _ENDINGS.get(ending, "svg")


def _recorded(record: str, file: str, name: str | None) -> Recorded:
    from cplc.cli.replay import read_record, selected_runs

    runs = selected_runs(read_record(record, file, ModelOptions({})).recording, name)
    if len(runs) > 1:
        names = ", ".join(f"`{one.name}`" for one in runs[:12])
        raise click.UsageError(f"`{record}` has {len(runs)} runs; choose one with --run-name: {names}")
    return runs[0]


def _drawn(compilation: Compilation, what: What, name: str | None, recorded: Recorded | None, target: Target) -> str:
    from cplc.drawing import protocol_diagrams, state_diagrams
    from cplc.drawing.sequence import protocol_chart
    from cplc.report.run_report import family

    system = compilation.system
    title = system.name
    match what:
        case "chart" if recorded is not None:
            return _chart_of_run(compilation, recorded, target)
        case "chart":
            return _chart(protocol_chart(system, title, family), target)
        case "role":
            agent = system.agent[_named(name, "role", system.agent)]
            return _graph(state_diagrams.local_state_graph(system, agent, f"{title}: {agent.name}"), target)
        case "states":
            return _graph(state_diagrams.state_graph(system, title), target)
        case "commitment":
            commitments: dict[str, Commitment | Claim] = {**system.commitment, **system.claim}
            one = commitments[_named(name, "commitment or claim", commitments)]
            return _graph(protocol_diagrams.lifecycle_graph(system, one, f"{title}: {one.name}"), target)
        case "owes":
            state = None
            if recorded is not None:
                system, run = _taken(compilation, recorded)
                state = run.states[-1]
                title = f"{title}, run {recorded.name}"
            return _graph(protocol_diagrams.obligations_graph(system, f"{title}: who owes whom", state), target)
        case "messages":
            return _graph(protocol_diagrams.message_graph(system, f"{title}: what messages wait for"), target)


def _chart_of_run(compilation: Compilation, recorded: Recorded, target: Target) -> str:
    from cplc.drawing.sequence import run_chart
    from cplc.report.run_report import family
    from cplc.report.trace_narration import Narration

    system, run = _taken(compilation, recorded)
    irrelevant = frozenset(at for at, step in enumerate(recorded.steps) if not step.is_relevant)
    folds = Narration(run, (), (), None, irrelevant=irrelevant).folds
    return _chart(run_chart(system, run, f"{system.name}, run {recorded.name}", family, folds), target)


def _taken(compilation: Compilation, recorded: Recorded) -> tuple[System, Run]:
    """Return the run replayed in the protocol; refuse one that does not fit."""
    system, again = compilation.replay(recorded)
    if again.run is None or again.misfit is not None:
        at = again.misfit.at if again.misfit else 0
        message = again.misfit.message if again.misfit else ""
        raise click.UsageError(
            f"the run does not fit the protocol at step {at}: {message}; `cplc replay` shows the details"
        )
    return system, again.run


def _named(name: str | None, what: str, candidates: Iterable[str]) -> str:
    """Return the only candidate, the one of this name, or the first member of this family."""
    names = list(candidates)
    if name is None and len(names) == 1:
        return names[0]
    listed = f"there are {', '.join(names[:12])}{' …' if len(names) > 12 else ''}" if names else "there is none"
    if name is None:
        raise click.UsageError(f"choose a {what} with --name; {listed}")
    matches = [one for one in names if one == name] or [one for one in names if one.startswith(f"{name}[")]
    if not matches:
        hints = [note.message for note in did_you_mean(name, names)]
        raise click.UsageError(f"no {what} is called `{name}`; {(hints or [listed])[0]}")
    return matches[0]


def _graph(graph: Graph, target: Target) -> str:
    from cplc.drawing import graph as graphs
    from cplc.drawing.graph import graph_svg

    match target:
        case "svg":
            return graph_svg(graph)
        case "mermaid":
            return graphs.mermaid(graph)
        case "plantuml":
            return graphs.plantuml(graph)
        case "dot":
            return graphs.dot(graph)


def _chart(chart: Chart, target: Target) -> str:
    from cplc.drawing import sequence
    from cplc.drawing.sequence import chart_svg

    match target:
        case "svg":
            return chart_svg(chart)
        case "mermaid":
            return sequence.chart_mermaid(chart)
        case "plantuml":
            return sequence.chart_plantuml(chart)
        case "dot":
            return sequence.chart_dot(chart)
