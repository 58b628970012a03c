"""From the file named on the command line to something that can be worked with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from cplc.cli import output
from cplc.cli.exits import Exit
from cplc.cli.limits import Interrupted, Limits, computed
from cplc.diagnostics.core import Diagnostic

if TYPE_CHECKING:
    from cplc.pipeline import Compilation

Outcome = TypeVar("Outcome")
Channels = Literal["sync", "async"] | None


def compilation_of(
    file: str, definitions: Sequence[tuple[str, str]], channels: Channels
) -> tuple[Compilation | None, tuple[Diagnostic, ...]]:
    """Return what the file is compiled to, unless it cannot be read or is wrong, and all that is to be said of it."""
    from cplc.pipeline import Compilation, load

    loaded = load(file, dict(definitions), channels)
    if not isinstance(loaded, Compilation):
        return None, (loaded,)
    return (loaded if loaded.ok else None), loaded.diagnostics


def finished(work: Callable[[], Outcome], limits: Limits, what: str) -> Outcome | str:
    """Return what the work returns, or why it was stopped."""
    try:
        return computed(work, limits, waiting=output.progress(lambda: what))
    except Interrupted as stop:
        return str(stop)
    except KeyboardInterrupt:
        return "the run was interrupted"
    finally:
        output.clear_progress()


def exit_for(diagnostics: Sequence[Diagnostic], *, strict: bool) -> Exit:
    """Return what the diagnostics alone make of the run."""
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return Exit.WRONG
    return Exit.UNEXPECTED if strict and diagnostics else Exit.EXPECTED
