"""Exit codes of all commands."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    EXPECTED = 0
    UNEXPECTED = 1
    WRONG = 2
    UNKNOWN = 3


EXPLAINED = """\
\b
Exit codes:
  0  everything is as expected
  1  something is not as expected (with --strict: or there is a warning)
  2  the file or the command is wrong, or cplc has a bug
  3  unknown: a limit was reached, no run is fair, or the run was interrupted
"""
