"""``cplc replay``: replay of recorded runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import compile_file
from cplc.cli.options import ModelOptions, brief_format_option, colour_option, files, reading_options, resource_options
from cplc.cli.output import Colour
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data
from cplc.records import dataclass
from cplc.runtime.file_access import TooManyBytes, is_below, is_regular_or_missing, project_root, read_bytes

if TYPE_CHECKING:
    from cplc.compilation import Compilation
    from cplc.simulation.run_replay import Recorded, Recording, Replayed
    from cplc.system.model import System

_MAX_RECORD_BYTES: Final = 256 * 2**20


@dataclass(frozen=True)
class RecordedInput:
    """The runs of a record, and the model in which to replay them."""

    recording: Recording
    file: str
    options: ModelOptions


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
@brief_format_option
@colour_option
def command(
    record: str,
    file: str | None,
    options: ModelOptions,
    name: str | None,
    interactive: bool,
    limits: Limits,
    form: Literal["text", "json"],
    colour: Colour,
) -> Exit:
    """Replay the runs of RUN in the protocol of FILE."""
    if interactive and (record == "-" or form != "text"):
        raise click.UsageError("--interactive reads commands from standard input and prints text")
    taken = read_record(record, file, options)
    runs = selected_runs(taken.recording, name)

    def work() -> tuple[tuple[Compilation | None, list[tuple[System, Replayed]]], tuple[Diagnostic, ...]]:
        compilation, diagnostics = compile_file(taken.file, taken.options)
        return (compilation, [compilation.replay(one) for one in runs] if compilation else []), diagnostics

    run = CommandRun(form, colour, limits)
    outcome = run.compute(work, "replaying")
    if outcome is None:
        run.write_interruption()
        return Exit.UNKNOWN
    from cplc.report.run_report import replayed_data, replayed_text

    compilation, replayed_runs = outcome
    code = run.exit_code(unexpected=any(one.misfit is not None for _, one in replayed_runs))
    if form == "json":
        output.write_json(
            {
                "command": "replay",
                "record": record,
                "file": taken.file,
                "parameters": taken.options.parameters,
                "channels": taken.options.channels,
                "protocol": taken.options.protocol,
                "diagnostics": diagnostics_data(run.diagnostics),
                "runs": [replayed_data(system, one) for system, one in replayed_runs],
                "exit": code,
            }
        )
        return code
    if interactive and replayed_runs:
        from cplc.cli.interactive_run import explore_recorded_run

        if len(replayed_runs) > 1:
            raise click.UsageError(f"--interactive needs a single run; choose one with --run: {_names(runs)}")
        assert compilation is not None
        explore_recorded_run(compilation, *replayed_runs[0], run.layout)
        return code
    for system, one in replayed_runs:
        output.write_fitted(replayed_text(system, one, printable(taken.file), run.layout))
    return code


def read_record(record: str, file: str | None, options: ModelOptions) -> RecordedInput:
    """Return the runs of a record and their model; the command line overrides the record."""
    from cplc.simulation.run_replay import Unreadable, recording

    try:
        recorded = recording(_text(record))
    except Unreadable as problem:
        raise click.UsageError(f"`{record}` contains no run: {problem}") from None
    if not recorded.runs:
        raise click.UsageError(f"`{record}` contains no run")
    model = file or _named_file(record, recorded.file)
    recorded_parameters = recorded.parameters if file is None else {}
    parameters = {**recorded_parameters, **options.parameters}
    channels = options.channels or (recorded.channels if file is None else None)
    protocol = options.protocol or (recorded.protocol if file is None else None)
    return RecordedInput(recorded, model, ModelOptions(parameters, channels, protocol, is_effective=file is None))


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
