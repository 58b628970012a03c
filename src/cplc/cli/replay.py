"""``cplc replay``: replay of recorded runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import Channels, compile_file, exit_for, run_to_completion
from cplc.cli.options import colour_option, files, reading_options, resource_options
from cplc.cli.output import Colour
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data
from cplc.records import dataclass
from cplc.runtime.file_access import TooManyBytes, is_below, is_regular_or_missing, project_root, read_bytes

if TYPE_CHECKING:
    from cplc.compilation import Compilation
    from cplc.simulation.recorded_runs import Recorded, Recording
    from cplc.simulation.run_replay import Replayed
    from cplc.system.model import System

_MAX_RECORD_BYTES: Final = 256 * 2**20


@dataclass(frozen=True)
class RecordedInput:
    """The runs of a record, and the model in which to replay them."""

    recording: Recording
    file: str
    definitions: tuple[tuple[str, str], ...]
    channels: Channels
    protocol: str | None

    def reading(self) -> tuple[Compilation | None, tuple[Diagnostic, ...]]:
        return compile_file(self.file, self.definitions, self.channels, self.protocol)


@click.command(
    "replay",
    short_help="Replay a recorded run, and report where it does not fit.",
    epilog=f"""{EXPLAINED}
RUN is a file written by `verify --format json`, `simulate --format json` or `--itf`. Without FILE, its runs are
replayed in the file and with the parameters that it names. A run that does not fit is not as expected.

\b
Examples:
  cplc simulate examples/netbill.cpl --format json > run.json
  cplc replay run.json
  cplc replay run.json changed.cpl
  cplc replay run.json --interactive
""",
)
@click.argument("record", metavar="RUN", shell_complete=files)
@click.argument("file", required=False, shell_complete=files)
@reading_options
@click.option("--run", "name", metavar="NAME", help="Replay this run only: its number, or its property.")
@click.option("--interactive", is_flag=True, help="Explore the run step by step.")
@resource_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@colour_option
def command(
    record: str,
    file: str | None,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
    name: str | None,
    interactive: bool,
    timeout: float | None,
    memory: int | None,
    form: Literal["text", "json"],
    colour: Colour,
) -> Exit:
    """Replay the runs of RUN in the protocol of FILE."""
    if interactive and (record == "-" or form != "text"):
        raise click.UsageError("--interactive reads commands from standard input and prints text")
    taken = read_record(record, file, definitions, channels, protocol)
    runs = selected_runs(taken.recording, name)

    def work() -> tuple[list[tuple[System, Replayed]], Compilation | None, tuple[Diagnostic, ...]]:
        reading, diagnostics = taken.reading()
        if reading is None:
            return [], None, diagnostics
        replayed_runs = [reading.replay(one) for one in runs]
        return replayed_runs, reading, diagnostics

    outcome = run_to_completion(work, Limits(timeout, memory), "replaying")
    if isinstance(outcome, str):
        output.write(f"{outcome}\n", err=True)
        return Exit.UNKNOWN
    replayed_runs, compilation, diagnostics = outcome
    code = exit_for(diagnostics, strict=False)
    if code == Exit.EXPECTED and any(one.misfit is not None for _, one in replayed_runs):
        code = Exit.UNEXPECTED
    output.write_diagnostics(diagnostics, form=form, colour=colour, err=True)
    if form == "json":
        _write_document(record, taken, replayed_runs, diagnostics, code)
        return code
    if interactive and replayed_runs:
        from cplc.cli.interactive_run import explore_recorded_run

        if len(replayed_runs) > 1:
            raise click.UsageError(f"--interactive needs a single run; choose one with --run: {_names(runs)}")
        assert compilation is not None
        explore_recorded_run(compilation, *replayed_runs[0], colour=colour)
        return code
    for system, one in replayed_runs:
        _show(system, one, taken.file, colour)
    return code


def read_record(
    record: str,
    file: str | None,
    definitions: Sequence[tuple[str, str]],
    channels: Channels,
    protocol: str | None,
) -> RecordedInput:
    """Return the runs of a record and their model; the command line overrides the record."""
    from cplc.simulation.recorded_runs import Unreadable, recording

    try:
        recorded = recording(_text(record))
    except Unreadable as problem:
        raise click.UsageError(f"`{record}` contains no run: {problem}") from None
    if not recorded.runs:
        raise click.UsageError(f"`{record}` contains no run")
    model = file or _named_file(record, recorded.file)
    recorded_parameters = recorded.parameters if file is None else {}
    parameters = {**recorded_parameters, **dict(definitions)}
    return RecordedInput(
        recorded,
        model,
        tuple(parameters.items()),
        channels or (recorded.channels if file is None else None),
        protocol or (recorded.protocol if file is None else None),
    )


def selected_runs(recording: Recording, name: str | None) -> tuple[Recorded, ...]:
    """Return the runs of this name, or all."""
    runs = tuple(one for one in recording.runs if name is None or one.name == name)
    if not runs:
        raise click.UsageError(f"no run is called `{name}`; there are {_names(recording.runs)}")
    return runs


def _names(runs: Sequence[Recorded]) -> str:
    names = [f"`{one.name}`" for one in runs]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _text(record: str) -> str:
    try:
        if record == "-":
            return (sys.stdin.buffer.read(_MAX_RECORD_BYTES) if sys.stdin else b"").decode("utf-8-sig")
        return read_bytes(record, _MAX_RECORD_BYTES, or_pipe=True).decode("utf-8-sig")
    except TooManyBytes:
        raise click.UsageError(f"`{record}` is larger than {_MAX_RECORD_BYTES // 2**20} MB") from None
    except UnicodeDecodeError as problem:
        raise click.UsageError(f"`{record}` is not UTF-8 text (byte {problem.start})") from None
    except (OSError, ValueError) as problem:
        raise click.UsageError(f"cannot read `{record}`: {getattr(problem, 'strerror', None) or problem}") from None


def _named_file(record: str, named: str | None) -> str:
    """Return the model that the record names, relative to the working directory or to the record."""
    from cplc.compilation import ENDINGS

    if named is None or named == "-":
        raise click.UsageError(f"`{record}` does not name the file of its runs; add the file as the second argument")
    folder = Path() if record == "-" else Path(record).parent
    file = named if Path(named).exists() or not (folder / named).exists() else str(folder / named)
    # The record is untrusted, and diagnostics quote lines of the file that it names.
    place = Path(os.path.realpath(file))
    is_inside = any(is_below(place, project_root(root)) for root in (Path(), folder))
    if not is_inside or place.suffix.lower() not in ENDINGS or not is_regular_or_missing(file):
        raise click.UsageError(
            f"`{record}` names `{named}`, which is not a protocol or model of this project; "
            "add the file as the second argument"
        )
    return file


def _show(system: System, one: Replayed, file: str, colour: Colour) -> None:
    from cplc.report.run_report import run_text
    from cplc.report.text import plain

    style = output.result_colours if output.has_colour(colour) else plain
    length = len(one.recorded.steps)
    output.write(f"run {one.recorded.name}: {length:,} step{'' if length == 1 else 's'}\n")
    if one.run is not None:
        output.write("".join(f"{line}\n" for line in run_text(system, one.run, style)))
    if one.ignored:
        names = ", ".join(one.ignored[:8]) + (f" and {len(one.ignored) - 8} more" if len(one.ignored) > 8 else "")
        output.write(f"  not compared, because {printable(file)} has no such variables: {names}\n")
    if one.misfit is None:
        output.write(f"  {style('fits', 'good')} {printable(file)}\n\n")
        return
    at = f"at step {one.misfit.at}" if one.misfit.at else "from the beginning"
    output.write(f"  {style('does not fit', 'bad')} {printable(file)} {at}: {one.misfit.message}\n")
    output.write("".join(f"    {reason}\n" for reason in one.misfit.reasons))
    if one.misfit.instead:
        more = len(one.misfit.instead) - 12
        names = ", ".join(one.misfit.instead[:12]) + (f" and {more} more" if more > 0 else "")
        output.write(f"    possible there: {names}\n")
    output.write("\n")


def _write_document(
    record: str,
    taken: RecordedInput,
    replayed_runs: Sequence[tuple[System, Replayed]],
    diagnostics: Sequence[Diagnostic],
    code: Exit,
) -> None:
    from cplc.report.json_data import run_data

    output.write_json(
        {
            "command": "replay",
            "record": record,
            "file": taken.file,
            "parameters": dict(taken.definitions),
            "channels": taken.channels,
            "protocol": taken.protocol,
            "diagnostics": diagnostics_data(diagnostics),
            "runs": [
                {
                    "name": one.recorded.name,
                    **(run_data(system, one.run) if one.run is not None else {"start": {}, "steps": [], "loop": None}),
                    "fits": one.misfit is None,
                    "misfit": None
                    if one.misfit is None
                    else {
                        "at": one.misfit.at,
                        "message": one.misfit.message,
                        "reasons": list(one.misfit.reasons),
                        "possible": list(one.misfit.instead),
                    },
                    "not_compared": list(one.ignored),
                }
                for system, one in replayed_runs
            ],
            "exit": code,
        }
    )
