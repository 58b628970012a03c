"""Checkpointing of long runs (``--checkpoint``): options, and the interplay with limits and interruptions."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from cplc.cli.limits import Interrupted, LimitMonitor, Limits, Terminated
from cplc.cli.options import duration
from cplc.runtime.context import Context, current

if TYPE_CHECKING:
    from cplc.caching.checkpoint_file import Checkpoint
    from cplc.system.model import System

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULT_INTERVAL_SECONDS: Final = 30.0
_LIMIT_GRACE_SECONDS: Final = 0.15
"""Time that a run at its limit waits for a write in progress:"""
_LIMIT_GRACE_SHARE: Final = 0.02
"""at most this share of its time limit."""
SAFEPOINT_GRACE_SECONDS: Final = 1.0
"""Time that an interrupted run waits for a safepoint."""
_WRITE_GRACE_SECONDS: Final = 60.0
"""Time that an interrupted run waits for the write, unless it is interrupted again."""
_TIME_MARGIN_SHARE: Final = 0.05
"""Share of the time limit reserved for writing."""
_MAX_TIME_MARGIN_SECONDS: Final = 5.0
_MEMORY_SAVE_SHARE: Final = 0.85
"""Share of the memory limit at which searches are saved, while memory for writing is left."""


def checkpoint_options(command: Command) -> Command:
    """Add the options for the checkpoint file."""
    command = click.option(
        "--checkpoint-every",
        "every",
        type=duration,
        metavar="SECONDS",
        help="Interval between writes of the checkpoint: seconds, or 90s, 5m.  [default: 30s]",
    )(command)
    return click.option(
        "--checkpoint",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Save progress in this file, and resume from it after Ctrl-C, a limit, or a crash.",
    )(command)


def checkpointing_for(path: Path | None, every: float | None, limits: Limits) -> Checkpointing:
    """Return checkpointing for this run; without ``--checkpoint`` it does nothing."""
    if path is None and every is not None:
        raise click.UsageError("--checkpoint-every requires --checkpoint")
    return Checkpointing(path, _DEFAULT_INTERVAL_SECONDS if every is None else every, limits)


class Checkpointing:
    """The checkpoint file of a run, if there is one: created by the main thread, used by the working thread."""

    def __init__(self, path: Path | None, every: float, limits: Limits) -> None:
        self.path = path
        self._every = every
        self._guards = LimitMonitor(limits)
        self._seconds = limits.seconds
        self._store: Checkpoint | None = None
        self._context: Context | None = None

    def begin(self, system: Callable[[], System]) -> tuple[Checkpoint | None, str | None]:
        """Load the checkpoint of an earlier run and save searches from now on; return the store and a message."""
        if self.path is None:
            return None, None
        from cplc.caching.checkpoint_file import Checkpoint, Unusable

        store = Checkpoint(self.path, self._every, self._limit)
        try:
            content = store.open(system())
        except Unusable as problem:
            raise click.UsageError(
                f"`{self.path}` cannot be resumed from: {problem}. "
                "The file is unchanged; use another name, or remove it to start again."
            ) from None
        except OSError as problem:
            raise click.UsageError(f"`{self.path}` cannot be used: {problem.strerror or problem}") from None
        self._store = store
        self._context = current()
        self._context.store = store
        return store, None if content is None else f"resuming from {self.path}: {content.text()}\n"

    def _limit(self, effort: float) -> str | None:
        """Return the limit that leaves too little time for a write of ``effort`` seconds, if there is one."""
        if self._seconds is not None:
            margin = min(_MAX_TIME_MARGIN_SECONDS, self._seconds * _TIME_MARGIN_SHARE)
            if self._guards.seconds_left() < max(margin, 2 * effort):
                return "time"
        return "memory" if self._guards.share() > _MEMORY_SAVE_SHARE else None

    def doing(self) -> str:
        """Return the status of the file for the progress line."""
        store = self._store
        if store is None:
            return ""
        if store.problem:
            return f"; {self.path}: {store.problem}"
        return "" if store.last is None else f"; saved {int(time.monotonic() - store.last)} s ago"

    def ended(self, *, is_complete: bool) -> None:
        """Write the file at the end of the run."""
        if self._store is not None:
            current().store = None
            self._store.ended(is_complete=is_complete)

    def stopped(self, stop: Interrupted | KeyboardInterrupt, tell: Callable[[str], None]) -> str | None:
        """Save the interrupted work; return a message for the user."""
        store, context = self._store, self._context
        if store is None or context is None:
            return None
        context.cancel()
        try:
            if isinstance(stop, KeyboardInterrupt | Terminated):
                content = store.stopped(
                    SAFEPOINT_GRACE_SECONDS,
                    _WRITE_GRACE_SECONDS,
                    lambda: tell(f"writing {self.path}; Ctrl-C stops this too\n"),
                )
            else:
                patience = (
                    _LIMIT_GRACE_SECONDS
                    if self._seconds is None
                    else min(_LIMIT_GRACE_SECONDS, self._seconds * _LIMIT_GRACE_SHARE)
                )
                content = store.stopped(patience, patience)
        except KeyboardInterrupt:
            content = store.stopped(0, 0)
        return self.problem or f"saved in {self.path}: {content.text()}; the same command resumes from there\n"

    @property
    def problem(self) -> str | None:
        """The message about a failed write, if it failed."""
        store = self._store
        return f"{self.path} could not be written: {store.problem}\n" if store is not None and store.problem else None
