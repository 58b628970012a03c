"""The command ``cplc``: its subcommands, and the handling of errors."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import StringIO

import click

from cplc import __version__
from cplc.cli.exit_codes import EXPLAINED, Exit
from cplc.cli.start_time import count_from_process_start

_COMMANDS = (
    "check",
    "verify",
    "analyze",
    "coverage",
    "sweep",
    "breaking",
    "simulate",
    "replay",
    "monitor",
    "beliefs",
    "mapping",
    "draw",
    "slack",
    "stats",
    "lower",
    "export",
    "fmt",
    "lsp",
    "new",
    "cache",
    "explain",
    "man",
)


class _Commands(click.Group):
    """Subcommands, imported on use: each one is ``command`` in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"cplc.cli.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        written = args[0]
        if written in _COMMANDS or written.startswith("-"):
            return super().resolve_command(ctx, args)
        from cplc.cli.corrections import command_correction

        meant = command_correction(written, _COMMANDS)
        hint = f"; did you mean `{meant}`?" if meant else ""
        raise click.UsageError(f"there is no command `{written}`{hint}", ctx)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc new Order
  cplc verify examples/netbill.cpl
  cplc verify examples/netbill.cpl -D customers=20 --property safe
  cplc verify examples/netbill.cpl --formula 'EF fulfilled(goods[1])'
  cplc explain unknown-name
""",
)
@click.version_option(__version__, message="cplc %(version)s")
def commands() -> None:
    """A compiler and model checker for commitment protocols."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    return guarded(
        lambda: commands.main(list(arguments), prog_name="cplc", standalone_mode=False, obj=tuple(arguments))
    )


def guarded(command: Callable[[], int | None]) -> int:
    """Run a command and return its exit code; an exception becomes a message."""
    try:
        code = command()
    except click.ClickException as mistake:
        if isinstance(mistake, click.NoSuchOption) and mistake.ctx is not None:
            mistake = _unknown_option(mistake, mistake.ctx)
        with StringIO() as shown:  # the message may quote untrusted input
            mistake.show(shown)
            _write_error(shown.getvalue())
        return Exit.WRONG
    except (KeyboardInterrupt, click.Abort):
        _write_error("interrupted\n")
        return Exit.UNKNOWN
    except (BrokenPipeError, SystemExit) as ending:
        # click exits after shell completion, and when the reader of the output has gone.
        if isinstance(ending, SystemExit) and not ending.code:
            return Exit.EXPECTED
        _discard_output()
        return Exit.UNKNOWN
    except OSError as problem:
        with suppress(OSError):  # the terminal may be closed
            _write_error(f"cplc: {problem.strerror or problem}: {problem.filename or 'output'}\n")
        return Exit.WRONG
    except Exception as error:  # errors of the user are diagnostics, never exceptions
        from cplc.cli.output import report_bug

        report_bug(error)
        return Exit.WRONG
    return int(code or Exit.EXPECTED)


def _unknown_option(mistake: click.NoSuchOption, context: click.Context) -> click.UsageError:
    """Return the error with the option of this command that was meant."""
    from cplc.cli.corrections import option_correction

    meant = option_correction(mistake.option_name, context.command)
    hint = f"; did you mean `{meant}`?" if meant else ""
    return click.UsageError(f"`{context.command_path}` has no option `{mistake.option_name}`{hint}", context)


def _write_error(text: str) -> None:
    """Write to standard error without control characters; the writer is imported on use, for the start-up time."""
    from cplc.cli.output import write

    write(text, err=True)


def main() -> None:
    """Run the command line of the process and end the process."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # Trees and systems of a hundred thousand objects live until the end: scanning them for cycles again and again would
    # cost 10 % of the time.
    gc.set_threshold(100_000, 10, 10)
    count_from_process_start()
    code = run(sys.argv[1:])
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        _discard_output()
        code = code or Exit.UNKNOWN
    # Abandoned work cannot be joined, and freeing millions of nodes would only cost time.
    if threading.active_count() > 1:
        os._exit(code)
    if "cplc.cli.signals" in sys.modules:  # imported on use, for the start-up time
        from cplc.cli.signals import outlast_the_interpreter

        outlast_the_interpreter()
    gc.freeze()  # or the interpreter would look for cycles among all objects before it ends
    sys.exit(code)


def _discard_output() -> None:
    """Redirect standard output to nowhere: its reader has gone."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.close(sink)
