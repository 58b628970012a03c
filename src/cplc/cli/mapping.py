"""``cplc mapping``: a proposed mapping from a log to a protocol."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.limits import Limits
from cplc.cli.load import STANDARD_INPUT, compile_protocol
from cplc.cli.options import LOG_FORMATS, ModelOptions, colour_option, files, model_options, resource_options
from cplc.cli.output import Colour

if TYPE_CHECKING:
    from cplc.diagnostics.core import Diagnostic
    from cplc.logs.events import Format
    from cplc.logs.mapping_inference import Proposal

_LOOKED_AT = 20_000


@click.command(
    "mapping",
    short_help="Propose a mapping from a log to a protocol.",
    epilog=f"""{EXPLAINED}
The proposal is based on the first {_LOOKED_AT:,} records. Check and correct it before you use it.

\b
Examples:
  cplc mapping shop.cpl orders.csv > orders.map.toml
  cplc monitor shop.cpl orders.csv --mapping orders.map.toml
""",
)
@model_options
@click.argument("log", metavar="LOG", shell_complete=files)
@click.option(
    "--log-format", "log_form", type=click.Choice(LOG_FORMATS),
    help="Format of the log.  [default: by name and content]",
)  # fmt: skip
@click.option("--case-type", metavar="TYPE", help="Object type of the cases, for OCEL.")
@resource_options
@colour_option
def command(
    file: str,
    log: str,
    options: ModelOptions,
    log_form: Format | None,
    case_type: str | None,
    limits: Limits,
    colour: Colour,
) -> Exit:
    """Propose a mapping from LOG to the messages and roles of the protocol of FILE."""

    def work() -> tuple[Proposal | None, tuple[Diagnostic, ...]]:
        from cplc.logs.json_documents import Notion
        from cplc.logs.log_statistics import LogContent, diagnose_unmappable
        from cplc.logs.mapping import LogMapping, vocabulary_of
        from cplc.logs.mapping_inference import propose
        from cplc.logs.reading import records

        compilation, diagnostics = compile_protocol(file, options)
        if compilation is None:
            return None, diagnostics
        source = cast(BinaryIO, sys.stdin.buffer) if log == STANDARD_INPUT else Path(log)
        content = LogContent()
        read = records(source, log_form, LogMapping(notion=Notion(case_type)), content=content)
        vocabulary = vocabulary_of(compilation.system)
        proposal = propose(islice(read, _LOOKED_AT), vocabulary, case_type)
        problem = None if proposal.has_fields else diagnose_unmappable(content)
        return proposal, (*diagnostics, *([problem] if problem is not None else []))

    run = CommandRun("text", colour, limits)
    proposal = run.compute(work, "reading the log")
    if run.interrupted:
        run.write_interruption()
        return Exit.UNKNOWN
    if proposal is None or not proposal.has_fields:
        return Exit.WRONG
    if proposal.problem:
        more = f" (and {proposal.unread - 1:,} more)" if proposal.unread > 1 else ""
        output.write(f"{proposal.problem}{more}\n", err=True)
    output.write(proposal.text)
    return Exit.EXPECTED
