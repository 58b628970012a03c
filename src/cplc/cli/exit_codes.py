"""Exit codes of all commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.diagnostics.core import Diagnostic


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


def exit_code(
    diagnostics: Sequence[Diagnostic] = (), *, strict: bool = False, unexpected: bool = False, unknown: bool = False
) -> Exit:
    """Return the exit code of a run: errors outweigh results, and a definite result outweighs an unknown one."""
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return Exit.WRONG
    if unexpected or (strict and any(diagnostic.severity == "warning" for diagnostic in diagnostics)):
        return Exit.UNEXPECTED
    return Exit.UNKNOWN if unknown else Exit.EXPECTED


def exit_of_results(
    results: Iterable[Result],
    diagnostics: Sequence[Diagnostic] = (),
    *,
    strict: bool = False,
    asks_formula: bool = False,
    is_interrupted: bool = False,
) -> Exit:
    """Return the exit code of a verification; that of a formula depends on its verdict alone, not on warnings."""
    from cplc.report.outcome import standing

    standings = {standing(result, strict=strict) for result in results}
    return exit_code(
        diagnostics,
        strict=strict and not asks_formula,
        unexpected="not as expected" in standings,
        unknown=is_interrupted or "unknown" in standings,
    )


def combined_exit(codes: Iterable[Exit]) -> Exit:
    """Return the exit code for several files: a definite outcome outweighs an unknown one."""
    present = set(codes)
    return next((code for code in (Exit.WRONG, Exit.UNEXPECTED, Exit.UNKNOWN) if code in present), Exit.EXPECTED)
