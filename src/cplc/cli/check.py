"""``cplc check``: diagnostics of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cplc import __version__
from cplc.cli import output
from cplc.cli.command_run import run_to_completion
from cplc.cli.exit_codes import EXPLAINED, Exit, combined_exit, exit_code
from cplc.cli.limits import Limits
from cplc.cli.load import STANDARD_INPUT, diagnostics_of, files_in, loaded_protocol
from cplc.cli.options import (
    ModelOptions,
    colour_option,
    files,
    protocol_file,
    reading_options,
    report_format_option,
    strict_option,
    watch_option,
)
from cplc.cli.output import AnyFormat, Colour, report_bug, write_document
from cplc.compilation import ENDINGS
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data, in_order, summary
from cplc.records import dataclass
from cplc.runtime.file_access import MAX_BYTES, read_bytes

if TYPE_CHECKING:
    from cplc.compilation.automatic_fixes import FixedText


@click.command(
    "check",
    short_help="Report errors and warnings in files.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc check examples/netbill.cpl
  cplc check examples/netbill.cpl --format concise
  cplc check examples/netbill.cpl --diff
  cplc check examples stdlib --strict
""",
)
@click.argument("paths", nargs=-1, type=protocol_file, metavar="[FILE|FOLDER|-]...", shell_complete=files)
@reading_options
@report_format_option
@colour_option
@strict_option
@click.option("--fix", is_flag=True, help="Apply the fixes that have a single possible meaning, then check.")
@click.option("--diff", is_flag=True, help="Show the changes of --fix as a patch; write nothing.")
@watch_option
def command(
    paths: Sequence[str],
    options: ModelOptions,
    form: AnyFormat,
    colour: Colour,
    strict: bool,
    fix: bool,
    diff: bool,
    watch: bool,
) -> Exit:
    """Report errors and warnings in files, without verification; `-` reads standard input.

    In a folder, check every `.cpl` and `.ispl` file below it, except in hidden folders; without a name, in this folder.
    A file that ends in `.ispl`, or standard input that begins with `Agent` or `Semantics`, is read as a model in ISPL,
    the language of MCMAS.
    """
    if STANDARD_INPUT in paths and len(paths) > 1:
        raise click.UsageError("`-` cannot be combined with other files")
    if watch:
        from cplc.cli.watch import run_and_watch

        return run_and_watch(lambda: files_in(paths or ["."], *ENDINGS))
    named = files_in(paths or ["."], *ENDINGS)
    if not named:
        output.write("no .cpl or .ispl file found: nothing was checked\n", err=True)
        return Exit.WRONG
    checked: list[_Checked] = []
    for file in named:
        try:
            one = _checked(file, options, strict=strict, fix=fix, diff=diff)
        except (click.ClickException, OSError):
            raise
        except Exception as error:  # a bug in one file does not stop the check of the others
            report_bug(error, file)
            checked.append(_Checked(file, (), Exit.WRONG))
            continue
        if isinstance(one, str):
            output.write(f"{one}\n", err=True)
            return combined_exit((Exit.UNKNOWN, *(result.code for result in checked)))
        checked.append(one)
        if diff:  # standard output is a patch
            shown: AnyFormat = "concise" if form == "concise" else "text"
            output.write_diagnostics(one.diagnostics, form=shown, colour=colour, err=True)
        else:
            output.write_diagnostics(one.diagnostics, form=form, colour=colour, err=False)
            if form == "text" and not one.diagnostics:
                output.write(f"{printable(file)}: {summary(one.diagnostics)}\n")
    code = combined_exit(one.code for one in checked)
    if not diff:
        _write_whole(checked, dict(options.parameters), code, form)
    return code


@dataclass(frozen=True)
class _Checked:
    file: str
    diagnostics: tuple[Diagnostic, ...]
    code: Exit


def _checked(
    file: str,
    options: ModelOptions,
    *,
    strict: bool,
    fix: bool,
    diff: bool,
) -> _Checked | str:
    """Return the diagnostics of a file, fixed first if requested; or the reason of an interruption."""
    repairs = 0
    remarks: tuple[Diagnostic, ...] = ()
    if fix or diff:
        repaired = fix_file(file, options, diff=diff)
        if isinstance(repaired, str):
            return repaired
        if repaired is not None:
            repairs, remarks = repaired.count, () if diff else repaired.remarks
        if repairs and not diff:
            output.write(f"{printable(file)}: {repairs} repaired\n", err=True)
    outcome = run_to_completion(lambda: diagnostics_of(file, options), Limits(), "checking")
    if isinstance(outcome, str):
        return outcome
    would_change = Exit.UNEXPECTED if diff and repairs else Exit.EXPECTED
    outcome = (*remarks, *outcome)
    return _Checked(file, outcome, combined_exit((exit_code(outcome, strict=strict), would_change)))


def _write_whole(checked: Sequence[_Checked], parameters: dict[str, str], code: Exit, form: AnyFormat) -> None:
    """Write the document of formats that have one for all files."""
    names = ", ".join(one.file for one in checked)
    match form:
        case "json":
            several = {"files": [{"file": one.file, "exit": one.code} for one in checked]} if len(checked) > 1 else {}
            output.write_json(
                {
                    "file": names,
                    "parameters": parameters,
                    "diagnostics": [data for one in checked for data in diagnostics_data(one.diagnostics)],
                    **several,
                    "exit": code,
                }
            )
        case "github" | "junit" | "sarif" | "html":
            from cplc.report.outcome import Outcome

            every = [diagnostic for one in checked for diagnostic in in_order(one.diagnostics)]
            write_document(form, Outcome("check", names, __version__, every))
        case "text" | "concise":
            pass


_BYTE_ORDER_MARK = "\ufeff"


def fix_file(file: str, options: ModelOptions, *, diff: bool) -> FixedText | str | None:
    """Apply the unambiguous fixes and return them; None if there are none, or the reason of an interruption.

    With ``diff``, print the changes only. Models in ISPL and standard input are not changed.
    """
    from cplc.compilation.automatic_fixes import fix_text

    def work() -> tuple[str, FixedText] | None:
        loaded = None if file == STANDARD_INPUT else loaded_protocol(file, options)
        return None if loaded is None else (loaded.source.text, fix_text(loaded))

    outcome = run_to_completion(work, Limits(), f"repairing {file}")
    if outcome is None or isinstance(outcome, str):
        return outcome
    before, after = outcome
    if diff:
        output.write_exactly(output.difference(file, before, after.text))
    elif after.count:
        path = Path(file).resolve()
        mark = _BYTE_ORDER_MARK if read_bytes(path, MAX_BYTES).startswith(_BYTE_ORDER_MARK.encode()) else ""
        output.write_file(path, mark + after.text)
    return after
