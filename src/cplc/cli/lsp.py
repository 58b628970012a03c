"""``cplc lsp``: the language server, and the process in which it verifies."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from cplc.cli.exit_codes import Exit
from cplc.cli.limits import Interrupted, Limits, run_supervised
from cplc.cli.lsp_worker import WorkerMessage, answer_request
from cplc.cli.output import write


@click.command(
    "lsp",
    short_help="Start the language server.",
    epilog="""\b
Examples:
  cplc lsp
  cplc lsp --tcp 2087
""",
)
@click.option(
    "--tcp",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Listen on this local TCP port instead of standard input.",
)
@click.option(
    "--stdio", is_flag=True, hidden=True, expose_value=False, help="Use standard input and output, the default."
)
@click.option("--job", is_flag=True, hidden=True)
def command(tcp: int | None, job: bool) -> Exit:
    """Start the language server (LSP) on standard input and output. Editors run this command; see docs/editor.md."""
    if job:
        return _run_request(json.loads(sys.stdin.buffer.read()))
    from cplc.server.app import serve

    serve(tcp)
    return Exit.EXPECTED


def _run_request(request: Mapping[str, Any]) -> Exit:
    """Verify a request of the server, and print each result as a line; the last line is the outcome."""
    try:
        message: WorkerMessage = {}
        for message in run_supervised(answer_request(request), Limits(), waiting=_check_server(os.getppid())):
            _write_message(message)
        if "end" not in message:
            _write_message({"end": None})
    except Interrupted as stop:
        _write_message({"end": str(stop)})
    except KeyboardInterrupt:
        _write_message({"end": "the run was interrupted"})
    except Exception as problem:
        _write_message({"end": f"this is a bug in cplc: {type(problem).__name__}: {problem}"})
        raise
    return Exit.EXPECTED


def _check_server(parent: int) -> Callable[[], None]:
    """Return a check that raises `Interrupted` once the server has ended."""

    def check() -> None:
        if os.getppid() != parent:
            raise Interrupted("the server is gone")

    return check


def _write_message(message: WorkerMessage) -> None:
    write(json.dumps(message) + "\n")
    sys.stdout.flush()
