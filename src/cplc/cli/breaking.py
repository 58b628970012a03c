"""``cplc breaking``: breaking changes between two versions of a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import Exit
from cplc.cli.limits import Limits
from cplc.cli.load import STANDARD_INPUT, compile_file
from cplc.cli.options import ModelOptions, colour_option, files, format_option, reading_options, resource_options
from cplc.cli.output import Colour, Format
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import diagnostics_data

if TYPE_CHECKING:
    from cplc.compatibility.compare import Comparison


def rename(text: str) -> tuple[str, str]:
    """Read ``new=old``."""
    new, _, old = (part.strip() for part in text.partition("="))
    if not new or not old:
        raise click.BadParameter(f"`{text}` is not of the form new=old")
    return new, old


@click.command(
    "breaking",
    short_help="Compare two versions of a protocol for breaking changes.",
    epilog="""\b
Exit codes:
  0  compatible: no new behaviour, and every commitment is kept
  1  breaking (with --both: also if some behaviour is no longer possible)
  2  a file or the command is wrong, or cplc has a bug
  3  unknown: a limit was reached, or the run was interrupted
\b
Examples:
  cplc breaking old.cpl new.cpl
  cplc breaking old.cpl new.cpl --rename Seller=Mer --both
  cplc breaking old.ispl new.ispl
  git show HEAD:order.cpl | cplc breaking - order.cpl
""",
)
@click.argument("old", shell_complete=files)
@click.argument("new", shell_complete=files)
@click.option(
    "--rename",
    "renames",
    type=rename,
    metavar="NEW=OLD",
    multiple=True,
    help="Match a role, message, commitment or part of NEW with one of OLD; in ISPL an agent, or `Agent.action`. "
    "May be repeated.",
)
@click.option("--both", is_flag=True, help="Also report removed behaviour as breaking.")
@reading_options
@resource_options
@format_option
@colour_option
def command(
    old: str,
    new: str,
    renames: Sequence[tuple[str, str]],
    both: bool,
    options: ModelOptions,
    limits: Limits,
    form: Format,
    colour: Colour,
) -> Exit:
    """Compare two versions, OLD and NEW, for breaking changes; one of them may be `-`, standard input.

    NEW is compatible if each run of NEW, as the roles of OLD observe it, is a run of OLD (trace inclusion), and NEW
    makes the commitments of OLD in the same situations. Messages from and to roles of only one version are hidden.

    Of two models in ISPL, joint actions of the common agents are compared, and the formulas of OLD are verified in NEW.
    """
    if old == new == STANDARD_INPUT:
        raise click.UsageError("only one of the two files can be `-`, standard input")

    def work() -> tuple[Comparison | None, tuple[Diagnostic, ...]]:
        from cplc.compatibility.compare import compare
        from cplc.compatibility.matching import Match

        before, diagnostics = compile_file(old, options)
        after, more = compile_file(new, options)
        if before is None or after is None:
            return None, (*diagnostics, *more)
        if before.language != after.language:
            languages = f"`{old}` is in {before.language}, `{new}` in {after.language}"
            raise click.UsageError(f"{languages}: both versions must be in one language")
        # Warnings are reported by `check`; here only errors matter, which prevent the comparison.
        before, after, notes = before.comparable_with(after)
        match = Match(before.system, after.system, dict(renames))
        _refuse(match.unused(), f"`{new}` has nothing called")
        _refuse(match.clashes(), "with these renames two things would be called")
        if len(match.roles) < 2 <= len(match.old.agents):
            raise click.UsageError(
                f"`{old}` and `{new}` have fewer than two roles in common; match renamed roles with "
                f"--rename {(*match.only_new, 'NEW')[0]}={(*match.only_old, 'OLD')[0]}"
            )
        return replace(compare(match, after.verdict_changes(before)), notes=notes), ()

    run = CommandRun(form, colour, limits)
    comparison = run.compute(work, "comparing")
    code = _exit(comparison, both=both, interrupted=run.interrupted)
    from cplc.report.compatibility import comparison_concise, comparison_data, comparison_text

    if form == "text" and comparison is not None:
        output.write_fitted(comparison_text(comparison, _named(old), _named(new), both=both, style=run.style))
    elif form == "concise" and comparison is not None:
        output.write(comparison_concise(comparison, _named(old), _named(new), both=both))
    if form == "json":
        output.write_json(
            {
                "command": "breaking",
                "old": old,
                "new": new,
                "parameters": options.parameters,
                "renames": dict(renames),
                "diagnostics": diagnostics_data(run.diagnostics),
                "comparison": None if comparison is None else comparison_data(comparison),
                "interrupted": run.interrupted,
                "exit": code,
            }
        )
    else:
        run.write_interruption()
    return code


def _named(file: str) -> str:
    return "standard input" if file == STANDARD_INPUT else file


def _refuse(names: Sequence[str], problem: str) -> None:
    if names:
        raise click.UsageError(f"--rename: {problem} {', '.join(f'`{name}`' for name in names)}")


def _exit(comparison: Comparison | None, *, both: bool, interrupted: str | None) -> Exit:
    """Return the exit code. A definite outcome outweighs an unknown one."""
    if comparison is None:
        return Exit.UNKNOWN if interrupted else Exit.WRONG
    if comparison.is_breaking or (both and comparison.has_lost):
        return Exit.UNEXPECTED
    if comparison.newly.incomplete or comparison.unknown_verdict or (both and comparison.no_longer.incomplete):
        return Exit.UNKNOWN
    return Exit.EXPECTED
