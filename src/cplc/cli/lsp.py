"""``cplc lsp``: the language server, and the process in which it verifies."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from cplc.cli.exit_codes import Exit
from cplc.cli.limits import Interrupted, Limits, run_supervised
from cplc.cli.load import as_protocol
from cplc.cli.output import write
from cplc.source import Source

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation import BoundQuestion, Compilation, CplCompilation
    from cplc.diagnostics.core import Diagnostic


# --- Verification worker of the language server: questions of a protocol, and thresholds of participants
#
# Messages are plain data for a pipe. In a result, ``asked`` is the name by which the editor knows its question.


WorkerMessage = dict[str, Any]

_ANALYZE: Final = "analyze "
"""Prefix of the name of a question about a participant."""


def answer_request(request: Mapping[str, Any]) -> Iterator[WorkerMessage]:
    """Yield the names of the questions, then each result when it is computed."""
    compilation = _compile_request(request)
    why = _unverifiable(compilation)
    if why is not None:
        yield {"end": why}
        return
    name: str | None = request["question"]
    questions = [one for one in compilation.questions() if _matches_name(one, name)]
    agents = [one for one in compilation.analysed_participants if name in (None, f"{_ANALYZE}{one}")]
    yield {"asked": [*(one.question.name for one in questions), *(f"{_ANALYZE}{agent}" for agent in agents)]}
    never = compilation.never_reached() if name is None else None
    answers = compilation.verify([*questions, *(() if never is None else never.questions)])
    yield from _question_results(islice(answers, len(questions)), request["panel"])
    for number, agent in enumerate(agents, len(questions) + 1):
        protocol = as_protocol(compilation, request["name"])
        yield from _analyze_agent(protocol, agent, number if request["panel"] else None)
    if never is not None:
        yield {"warnings": list(map(_warning_data, never.warnings(answers, compilation.verify)))}


def _compile_request(request: Mapping[str, Any]) -> Compilation:
    from cplc.compilation import compile_text
    from cplc.server.open_imports import recording

    path = Path(request["name"])
    here = path if path.is_absolute() else None
    source = Source(request["name"], request["text"])
    load = recording(str(here) if here else None, request["buffers"], {})
    return compile_text(source, here, request["parameters"], protocol=request["protocol"], load=load)


def _unverifiable(compilation: Compilation) -> str | None:
    """Return the reason why nothing can be verified, if there is one."""
    problems = compilation.unverifiable if compilation.ok else compilation.diagnostics
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        return f"the file has errors: {errors[0].message}"
    return None if compilation.ok else "the file has nothing to verify"


def _matches_name(one: BoundQuestion, name: str | None) -> bool:
    question_name = one.question.name
    return name is None or question_name == name or question_name.startswith(f"{name}[")


def _question_results(results: Iterable[Result], has_panel: bool) -> Iterator[WorkerMessage]:
    from cplc.report.html import fragment
    from cplc.report.json_data import result_data
    from cplc.report.outcome import standing
    from cplc.report.text import result_text

    for number, result in enumerate(results, 1):
        shown = {"panel": fragment(number, result, standing(result))} if has_panel else {}
        name = result.question.name.split("[")[0]
        text = result_text(result, detail="everything")
        yield {"result": {**result_data(result), "asked": name, "text": text}, **shown}


def _warning_data(warning: Diagnostic) -> dict[str, Any]:
    """Return a warning of the text itself; its place is in characters."""
    return {
        "code": warning.code,
        "severity": warning.severity,
        "message": warning.message,
        "start": warning.span.start,
        "end": warning.span.end,
        "notes": [note.message for note in warning.notes],
    }


def _analyze_agent(compilation: CplCompilation, agent: str, number: int | None) -> Iterator[WorkerMessage]:
    """Yield a result for each `analyze` line; the first one of an assumption carries the full analysis."""
    from cplc.compilation.findings import analysis_finding
    from cplc.compilation.participants import AnalysisOptions, participants
    from cplc.report.decision_page import fragment
    from cplc.report.json_data import result_data
    from cplc.report.text import result_text

    for query in participants(compilation, [agent]):
        finding = analysis_finding(query, AnalysisOptions())
        text, drawn = finding.text(), "" if number is None else fragment(number, finding.section())
        for result in finding.results():
            text += result_text(result)
            shown = {} if number is None else {"panel": drawn}
            yield {"result": {**result_data(result), "asked": f"{_ANALYZE}{agent}", "text": text}, **shown}
            text, drawn = "", ""


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
