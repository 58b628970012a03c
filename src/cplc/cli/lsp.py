"""``cplc lsp``: the language server, and the process in which it verifies."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cplc.cli.exits import Exit
from cplc.cli.limits import Interrupted, Limits, supervised
from cplc.cli.output import write
from cplc.source import Source

if TYPE_CHECKING:
    from cplc.pipeline import Asked, Compilation

Said = dict[str, Any]


@click.command(
    "lsp",
    short_help="Answer an editor: the language server.",
    epilog="""\b
Examples:
  cplc lsp
  cplc lsp --tcp 2087
""",
)
@click.option(
    "--tcp", type=click.IntRange(1, 65535), metavar="PORT", help="Listen on this port of the machine, not on stdin."
)
@click.option("--stdio", is_flag=True, hidden=True, expose_value=False, help="What many clients say; it is so anyway.")
@click.option("--job", is_flag=True, hidden=True)
def command(tcp: int | None, job: bool) -> Exit:
    """Speak the Language Server Protocol on standard input and output. Editors start this; see docs/editor.md."""
    if job:
        return _job(json.loads(sys.stdin.buffer.read()))
    from cplc.server.app import serve

    serve(tcp)
    return Exit.EXPECTED


def _job(wanted: Mapping[str, Any]) -> Exit:
    """Verify what the server asks, and say each result in a line; the last one says how it ended."""
    try:
        for said in supervised(_answers(wanted), Limits(), waiting=_for_a_server(os.getppid())):
            _say(said)
        _say({"end": None})
    except Interrupted as stop:
        _say({"end": str(stop)})
    except KeyboardInterrupt:
        _say({"end": "the run was interrupted"})
    except Exception as problem:
        _say({"end": f"this is a bug in cplc: {type(problem).__name__}: {problem}"})
        raise
    return Exit.EXPECTED


def _for_a_server(parent: int) -> Callable[[], None]:
    """Return what stops the work when nobody waits for it any more."""

    def check() -> None:
        if os.getppid() != parent:
            raise Interrupted("the server is gone")

    return check


def _say(said: Said) -> None:
    write(json.dumps(said) + "\n")
    sys.stdout.flush()


def _answers(wanted: Mapping[str, Any]) -> Iterator[Said]:
    from cplc.report.data import result_data
    from cplc.report.html import fragment
    from cplc.report.outcome import standing
    from cplc.report.text import result_text

    compilation = _compilation(wanted)
    if not compilation.ok:
        errors = [problem for problem in compilation.diagnostics if problem.is_error]
        yield {"end": f"the file has mistakes: {errors[0].message}" if errors else "the file says nothing to verify"}
        return
    asked = [one for one in compilation.questions() if _is_wanted(one, wanted["question"])]
    yield {"asked": [one.question.name for one in asked]}
    for number, result in enumerate(compilation.verify(asked), 1):
        shown = {"panel": fragment(number, result, standing(result))} if wanted["panel"] else {}
        yield {"result": {**result_data(result), "text": result_text(result, detail="everything")}, **shown}


def _compilation(wanted: Mapping[str, Any]) -> Compilation:
    from cplc.pipeline import Compilation
    from cplc.server.imports import recording

    path = Path(wanted["name"])
    here = path if path.is_absolute() else None
    load = recording(str(here) if here else None, wanted["buffers"], {})
    return Compilation(Source(wanted["name"], wanted["text"]), here, protocol=wanted["protocol"], load=load)


def _is_wanted(one: Asked, name: str | None) -> bool:
    found = one.question.name
    return name is None or found == name or found.startswith(f"{name}[")
