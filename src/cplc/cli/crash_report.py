"""Reports of bugs in `cplc` itself, printed instead of a traceback."""

from __future__ import annotations

import os
import traceback
from typing import Final

from cplc import __version__
from cplc.cli.output import write

_REPORT_TO: Final = "Please report it with the command, the file and the output of CPLC_DEBUG=1."


def report_bug(error: Exception, file: str | None = None) -> None:
    """Print the exception, with the file if there are several; `CPLC_DEBUG` adds the traceback."""
    if os.environ.get("CPLC_DEBUG"):
        write("".join(traceback.format_exception(error)), err=True)
    detail = str(error).splitlines()
    where = f"{file}: " if file else ""
    write(f"{where}cplc {__version__}: this is a bug in cplc: {type(error).__name__}", err=True)
    write(f"{': ' if detail else ''}{detail[0][:200] if detail else ''}\n{_REPORT_TO}\n", err=True)
