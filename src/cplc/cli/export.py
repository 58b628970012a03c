"""``cplc export``: a system and its questions in the format of another tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.load import as_protocol, compile_file, formula_question_of, questions_of, select_by_name
from cplc.cli.many_files import for_each_file, many_files_options
from cplc.cli.options import ModelOptions, colour_option, formula_options, property_option
from cplc.cli.output import Colour
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.export import TARGETS, CannotExport
from cplc.runtime.context import ResourceExhausted

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation
    from cplc.compilation.participants import ParticipantQuery
    from cplc.export import Export
    from cplc.export.request import Request

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice

_READERS: Final = {
    "nusmv": "smv", "nuxmv": "smv", "mcmas": "ispl", "cwb-nc": "ccs", "cwb": "ccs", "graphviz": "dot", "storm": "prism",
}  # fmt: skip
"""Tools, each with the target format that it reads."""


class _TargetChoice(_Choice):
    """Target formats, by their names and those of the tools that read them."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if (target := _READERS.get(value.lower())) is not None:
            self.fail(f"{value} reads the format `{target}`: write --to {target}", param, ctx)
        return super().convert(value, param, ctx)


@click.command(
    "export",
    short_help="Export a model to another model checker or tool.",
    epilog=f"""{EXPLAINED}
What a target cannot express is left out; standard error and the head of the file list it with the reason.

\b
Examples:
  cplc export examples/netbill.cpl --to smv -o netbill.smv
  cplc export examples/netbill.cpl --to smv -D customers=2 --property safe
  cplc export examples/netbill.cpl --to json --formula 'EF fulfilled(goods[1])'
""",
)
@many_files_options
@click.option("--to", "target", type=_TargetChoice(TARGETS), required=True, help="Target format.")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file, and any second file next to it; of several files, into this folder.  [default: standard "
    "output]",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@property_option("Export")
@formula_options("Export")
@click.option(
    "--agent", metavar="NAME", help="Export the decision process of this participant, with its beliefs (prism)."
)
@click.option(
    "--game", is_flag=True, help="With --agent: export the explored game, in which the world is another player (prism)."
)
@click.option("--states", is_flag=True, help="Draw the reachable states instead of the messages between roles (dot).")
@colour_option
@for_each_file("export")
def command(
    file: str,
    options: ModelOptions,
    target: str,
    path: Path | None,
    force: bool,
    properties: Sequence[str],
    formula: str | None,
    assuming: tuple[str, ...] | None,
    agent: str | None,
    game: bool,
    states: bool,
    colour: Colour,
) -> Exit:
    """Export the systems of files and their properties to the format of another tool.

    Several files, or those of the project, are exported into a folder: `-o FOLDER`.
    """
    if formula is not None and properties:
        raise click.UsageError("--formula and --property cannot be combined")
    if assuming is not None and formula is None:
        raise click.UsageError("--assuming requires --formula; a property declares its own assumptions")
    if states and target != "dot":
        raise click.UsageError("--states requires --to dot")
    if agent is not None and (target != "prism" or formula is not None or properties):
        raise click.UsageError("--agent requires --to prism, and cannot be combined with --formula or --property")
    if game and agent is None:
        raise click.UsageError("--game requires --agent")
    if path == Path("-"):
        path = None
    if output.current_capture() is not None:
        path = _place_among_others(file, options, target, path)
    if path is not None:
        _check_place(path, file, force=force)

    def work() -> tuple[Export | None, tuple[Diagnostic, ...]]:
        compilation, diagnostics = compile_file(file, options)
        if compilation is None:
            return None, diagnostics
        if agent is not None:
            return _decision(as_protocol(compilation, file, "--agent"), agent, is_game=game), diagnostics
        if formula is None:
            questions = (
                questions_of(compilation.questions, properties) if properties else compilation.declared_questions()
            )
        else:
            question = formula_question_of(compilation, formula, assuming or options.assuming or ())
            if isinstance(question, tuple):
                return None, (*diagnostics, *question)
            questions = (question,)
        return compilation.export(target, questions, states=states), diagnostics

    run = CommandRun("text", colour)
    exported = None
    try:
        exported = run.compute(work, "exporting")
    except CannotExport as problem:
        run.interrupted = str(problem)
    if exported is not None:
        for note in exported.notes:
            output.write(f"{_subject(file)}left out: {note}\n", err=True)
        if path is None:
            _write_out(exported)
        else:
            _write_files(exported, path, force=force)
            if output.current_capture() is not None:
                output.write(f"{printable(file)}: {printable(str(path))}\n")
    run.write_interruption()
    return run.exit_code()


def _decision(compilation: CplCompilation, agent: str, *, is_game: bool) -> Export:
    """Return the decision model of one participant."""
    from cplc.compilation.participants import participants
    from cplc.export import prism_mdp

    bound_participants, _ = select_by_name(lambda names: participants(compilation, names), (agent,), "agent")
    request = replace(compilation.to_be_exported(()), system=bound_participants[0].system)
    if is_game:
        return _games(request, bound_participants)
    return prism_mdp.export(request, bound_participants[0].participant)


def _games(request: Request, queries: Sequence[ParticipantQuery]) -> Export:
    """Return the game under a participant's first assumption; each further assumption is a companion file."""
    from cplc.compilation.explored_game import explored_game
    from cplc.export import prism_game

    try:
        games = [
            prism_game.export(replace(request, system=one.system), explored_game(one), one.label) for one in queries
        ]
    except ResourceExhausted as exhausted:
        raise CannotExport(f"the game is too large: {exhausted}") from None
    first, *more = games
    beside = [
        (f".{number}{suffix}", text)
        for number, one in enumerate(more, 2)
        for suffix, text in ((".prism", one.text), *one.beside)
    ]
    return replace(first, beside=(*first.beside, *beside))


def _subject(file: str) -> str:
    """Return the beginning of a message among those on other files."""
    return "" if output.current_capture() is None else f"{printable(file)}: "


def _place_among_others(file: str, options: ModelOptions, target: str, folder: Path | None) -> Path:
    """Return the path for the export of one of several files: below the folder, as the file is in the project."""
    if folder is None:
        raise click.UsageError("the exports of several files need a folder: -o FOLDER")
    place = output.place_below(folder, file)
    name = f"{place.name}-{options.protocol}" if options.protocol else place.name
    return place.with_name(f"{name}.{target}")


def _check_place(path: Path, file: str, *, force: bool) -> None:
    """Reject invalid output paths before any work is done."""
    if path.is_dir():
        raise click.UsageError(f"`{path}` is a directory, not a file")
    if path.exists() and Path(file).exists() and path.samefile(file):
        raise click.UsageError(f"`{path}` is the exported file itself")
    if path.exists() and not force:
        raise click.UsageError(f"`{path}` exists already; --force replaces it")


def _write_out(exported: Export) -> None:
    output.write(exported.text)
    for suffix, text in exported.beside:
        output.write(f"{exported.comment} --- {suffix}\n{text}")


def _write_files(exported: Export, path: Path, *, force: bool) -> None:
    """Write the files, or none of them."""
    texts = {path: exported.text} | {path.with_suffix(suffix): text for suffix, text in exported.beside}
    if len(texts) <= len(exported.beside):
        raise click.UsageError(f"`{path}` has the name of the second file of this export")
    for place in texts:
        if place != path and place.exists() and not force:
            raise click.UsageError(f"`{place}` exists already; --force replaces it")
    try:
        output.write_files(texts)
    except OSError as problem:
        raise click.UsageError(f"cannot write `{path}`: {problem.strerror or problem}") from None
