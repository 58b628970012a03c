"""Command lines in the process of the tests, without the half second that each new process takes.

Only what needs a process runs as one: signals, closed pipes, encodings of the terminal, abandoned threads.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from cplc.cli.main import run


class Ended(NamedTuple):
    """Output and exit code of a command."""

    output: str
    errors: str
    code: int

    @property
    def everything(self) -> str:
        return self.output + self.errors


def run_cplc(
    *arguments: str, cwd: Path, given: bytes = b"", environment: Mapping[str, str] | None = None, merged: bool = False
) -> Ended:
    """Run `cplc` in a folder; ``merged`` writes standard error where standard output goes."""
    output = _stream()
    errors = output if merged else _stream()
    with (
        chdir(cwd),
        mock.patch.dict(os.environ, {**without_width(os.environ), **(environment or {})}, clear=True),
        mock.patch.object(sys, "__stdout__", None),  # the width of the terminal of the tests
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        code = run(arguments)
    return Ended(_text(output), "" if merged else _text(errors), code)


def without_width(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that does not give the width of the output."""
    return {name: value for name, value in environment.items() if name != "COLUMNS"}


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")
