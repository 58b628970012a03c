"""Recording of random runs as a log."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import field
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click

from cplc.cli import output
from cplc.language.durations import UNITS, duration_text
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.logs.events import Event, WrittenFormat
    from cplc.logs.writing import Recorder
    from cplc.system.model import System

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".xes": "xes", ".json": "ocel", ".jsonocel": "ocel"}
"""Formats of logs, by file ending."""


def log_format(path: Path) -> WrittenFormat:
    """Return the format of a log of this name, without the ending `.gz` of a compressed one."""
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    form = FORMATS.get(ending.lower())
    if form is None:
        endings = ", ".join(FORMATS)
        raise click.UsageError(f"--log writes files that end in {endings}, or these with .gz; `{path.name}` does not")
    return cast("WrittenFormat", form)


@dataclass
class Log:
    """A log being written, to a temporary file until it is complete."""

    path: Path
    form: WrittenFormat
    tick: int | None
    """In nanoseconds; None for that of the protocol, or an hour."""
    most: int
    _file: IO[bytes] = field(default_factory=BytesIO)
    _waiting: deque[Event] = field(default_factory=deque)
    _recorder: Recorder | None = None

    def begin(self, system: System) -> None:
        from cplc.logs.writing import Recorder

        if None not in (self.tick, system.tick) and self.tick != system.tick:
            lengths = duration_text(system.tick or 0), duration_text(self.tick or 0)
            raise click.UsageError(
                f"a tick is {lengths[0]} by `clock tick` of the protocol, and {lengths[1]} by --tick"
            )
        self._recorder = Recorder(system, self.tick or system.tick or UNITS["h"], self.most)
        self._file = tempfile.TemporaryFile(prefix="cplc-log-")  # noqa: SIM115 - `end` closes it

    def told(self, run: int, step: int) -> None:
        if self._recorder is not None and (event := self._recorder.event(run, step)) is not None:
            self._waiting.append(event)

    def ready(self) -> Iterator[Event]:
        """Yield the events since the last call."""
        while self._waiting:
            yield self._waiting.popleft()

    def write(self, events: Iterator[Event], system: System) -> None:
        """Write the events as they occur."""
        from cplc.logs.mapping import vocabulary_of
        from cplc.logs.writing import log_text

        for text in log_text(events, self.form, vocabulary_of(system)):
            self._file.write(text.encode())

    def end(self, *, keep: bool) -> None:
        """Move the complete log to its path, or delete it."""
        with self._file:
            if keep:
                self._put()

    def _put(self) -> None:
        self._file.seek(0)
        handle, name = output.make_temporary(self.path)
        try:
            with os.fdopen(handle, "wb") as plain:
                if self.path.suffix.lower() == ".gz":
                    with gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as packed:
                        shutil.copyfileobj(self._file, packed)
                else:
                    shutil.copyfileobj(self._file, plain)
            output.put(Path(name), self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
