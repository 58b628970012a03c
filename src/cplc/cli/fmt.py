"""``cplc fmt``: canonical formatting of files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from cplc.cli import output
from cplc.cli.command_run import run_to_completion
from cplc.cli.exit_codes import Exit
from cplc.cli.limits import Limits
from cplc.cli.load import STANDARD_INPUT, files_in
from cplc.cli.options import colour_option, files
from cplc.cli.output import Colour, report_bug
from cplc.compilation import ENDINGS, compile_text
from cplc.compilation.loader import decoded
from cplc.control_characters import printable
from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic
from cplc.formatter import Formatted
from cplc.runtime.file_access import MAX_BYTES, TooManyBytes, read_bytes
from cplc.source import STDIN_NAME, Source, Span


@click.command(
    "fmt",
    short_help="Format files in the canonical layout.",
    epilog="""\b
Exit codes:
  0  every file is formatted; with --check or --diff: was already
  1  with --check or --diff: some file is not formatted
  2  a file cannot be read or written, or has a syntax error, and is unchanged;
     or there is no file
  3  the run was interrupted
\b
Examples:
  cplc fmt
  cplc fmt examples/netbill.cpl --diff
  cplc fmt --check examples stdlib
  cplc fmt - < examples/netbill.cpl
""",
)
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER|-]...", shell_complete=files)
@click.option("--check", is_flag=True, help="List the files that would change; write nothing.")
@click.option("--diff", is_flag=True, help="Show the changes as a patch; write nothing.")
@colour_option
def command(paths: Sequence[str], check: bool, diff: bool, colour: Colour) -> Exit:
    """Format files: blanks, indentation, alignment. Meaning and comments do not change.

    In a folder, format every `.cpl` and `.ispl` file below it, except in hidden folders; without a name, in this
    folder. `-` reads standard input, a protocol or a model in ISPL, and writes to standard output. Line breaks inside a
    declaration are kept.
    """
    if STANDARD_INPUT in paths and len(paths) > 1:
        raise click.UsageError("`-` cannot be combined with other files")
    changed, unchanged, wrong = 0, 0, 0
    named = files_in(paths or ["."], *ENDINGS)
    if not named:
        output.write("no .cpl or .ispl file found\n", err=True)
        return Exit.WRONG
    for name in named:
        try:
            outcome = _outcome(name)
        except Exception as error:  # a bug in one file does not stop the formatting of the others
            report_bug(error, name)
            wrong += 1
            continue
        if isinstance(outcome, str):
            output.write(f"{outcome}\n", err=True)
            return Exit.UNKNOWN
        text, formatted = outcome
        if formatted.diagnostics:
            output.write_diagnostics(formatted.diagnostics, form="text", colour=colour, err=True)
            wrong += 1
            continue
        problem = _act(name, text, formatted.text, check=check, diff=diff)
        if problem is not None:
            output.write_diagnostics((problem,), form="text", colour=colour, err=True)
            wrong += 1
            continue
        changed += text != formatted.text
        unchanged += text == formatted.text
    if STANDARD_INPUT not in paths and not diff:
        output.write(_summary(changed, unchanged, wrong, check=check))
    if wrong:
        return Exit.WRONG
    return Exit.UNEXPECTED if changed and (check or diff) else Exit.EXPECTED


def _outcome(name: str) -> tuple[str, Formatted] | str:
    """Return a text and its canonical layout, or the reason of an interruption."""
    text = _text(name)
    if isinstance(text, Diagnostic):
        return "", Formatted("", (text,))
    source = Source(STDIN_NAME if name == STANDARD_INPUT else name, text)
    formatted = run_to_completion(lambda: compile_text(source).formatted(), Limits(), f"formatting {source.name}")
    return formatted if isinstance(formatted, str) else (text, formatted)


def _text(name: str) -> str | Diagnostic:
    """Return the text, unchanged: with its line ends and byte order mark."""

    def read() -> bytes:
        if name != STANDARD_INPUT:
            return read_bytes(name, MAX_BYTES)
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise TooManyBytes("standard input", MAX_BYTES)
        return data

    return decoded(name, read)


def _act(name: str, before: str, after: str, *, check: bool, diff: bool) -> Diagnostic | None:
    """Write the text, or show its changes; return the problem if it cannot be written."""
    if diff:
        output.write_exactly(output.difference(name, before, after))
    elif check:
        if before != after and name != STANDARD_INPUT:
            output.write(f"would change {printable(name)}\n")
    elif name == STANDARD_INPUT:
        output.write_exactly(after)
    elif before != after:
        try:
            output.write_file(Path(name).resolve(), after)
        except OSError as problem:
            message = f"cannot write `{name}`: {problem.strerror or problem}"
            return rules.UNREADABLE_FILE.at(Span(Source(name, ""), 0, 0), message)
    return None


def _summary(changed: int, unchanged: int, wrong: int, *, check: bool) -> str:
    parts = [
        (changed, "would change" if check else "changed"),
        (unchanged, "unchanged"),
        (wrong, "with errors"),
    ]
    return ", ".join(f"{number} file{'s' * (number > 1)} {what}" for number, what in parts if number) + "\n"
