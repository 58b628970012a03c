"""Checkpoint files (``--checkpoint``): results and unfinished searches, from which a later run resumes.

A file belongs to one system and one version of the program, and is rejected for any other. The working thread writes
it at safepoints: often enough to lose little, and rarely enough that writing takes a small share of the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from cplc import __version__
from cplc.caching.cache_keys import program_fingerprint
from cplc.caching.section_file import (
    Parts,
    SectionFile,
    Unusable,
    open_verified,
    prepare_folder,
    remove_stale,
    replace_file,
)
from cplc.records import dataclass
from cplc.runtime.context import Search, current
from cplc.runtime.limits import TooLarge
from cplc.system.fingerprint import fingerprint
from cplc.system.model import System

_VERDICT: Final = "verdict "
_WRITE_COST_FACTOR: Final = 20
"""Upper bound on the cost of writing: 1 s of writing per so many seconds of work."""
_QUICK_WRITE_BYTES: Final = 64 * 2**20
"""Maximum size of a file that is rewritten while the user waits for the end of the run."""
_LIMIT_POLL_SECONDS: Final = 0.05
"""Interval between checks for a near limit."""
_MIN_RESULT_INTERVAL_SECONDS: Final = 1.0
"""Minimum interval between writes that are triggered by new results."""


@dataclass(frozen=True)
class CheckpointContent:
    """Summary of a checkpoint file, for display."""

    answers: int
    searches: tuple[str, ...]

    def text(self) -> str:
        """Return the summary as in `2 results, a search with 1,234 states`."""
        parts = [f"{self.answers:,} result{'' if self.answers == 1 else 's'}"] if self.answers else []
        parts += [f"a search with {search}" for search in self.searches[:3]]
        parts += [f"{len(self.searches) - 3} more searches"] if len(self.searches) > 3 else []
        return ", ".join(parts) or "nothing yet"


class Checkpoint:
    """Store of results (as `cplc.caching.entry_store`) and of searches (see `cplc.runtime.context`) in one file.

    ``limit`` returns the name of a limit that leaves no more time than a write of so many seconds needs. The working
    thread calls all methods but `stopped`, which the main thread calls.
    """

    def __init__(self, path: Path, every: float, limit: Callable[[float], str | None] = lambda seconds: None) -> None:
        self.path = path
        self._every = every
        self._limit = limit
        self._met: set[str | None] = {None}
        self._effort = 0.0
        """Duration of the last write, in seconds."""
        self._file = SectionFile(path)
        self._about: Mapping[str, object] = {}
        self._answers: dict[str, bytes] = {}
        """Results of this run."""
        self._searches: dict[str, Search] = {}
        self._far: dict[str, int] = {}
        """Progress of each search at its last write."""
        self._useless: set[str] = set()
        self._lock = threading.Lock()
        """Held while the file is written."""
        self._done = threading.Event()
        self._is_over = False
        self.problem: str | None = None
        """Reason for the failure of the last write, if it failed."""
        self.last: float | None = None
        """Time of the last write."""
        self._next = time.monotonic() + every
        self._glance = 0.0

    def open(self, system: System) -> CheckpointContent | None:
        """Read the checkpoint of an earlier run, if there is one. Raise `Unusable` if it belongs to another system.

        Raise `OSError` if the path is not readable and writable: better before the work than after it.
        """
        prepare_folder(self.path)
        remove_stale(self.path)
        own = {
            "version": __version__,
            "program": program_fingerprint(),
            "system": fingerprint(system),
            "protocol": system.name,
        }
        self._about = dict(own)
        with suppress(FileNotFoundError):
            self._file = open_verified(self.path)
            about = self._file.about
            if about.get("kind") == "monitor":
                raise Unusable("it is the state of a monitor, not a checkpoint")
            if about.get("program") != own["program"]:
                other = str(about.get("version"))
                version = f"cplc {other}" if other != __version__ else f"another build of cplc {other}"
                raise Unusable(f"it was written by {version}, not by cplc {__version__}")
            if about.get("system") != own["system"]:
                raise Unusable(
                    f"it belongs to another system than `{system.name}`: "
                    "another protocol, other parameters, or an older version of the file"
                )
            return self._kept()
        return None

    def _kept(self) -> CheckpointContent:
        answers = len(self._verdicts())
        descriptions = self._file.about.get("searches")
        return CheckpointContent(
            answers, tuple(str(one) for one in descriptions.values()) if isinstance(descriptions, dict) else ()
        )

    # --- answers

    def get(self, key: str) -> bytes | None:
        return self._answers.get(key) or self.load(_VERDICT + key)

    def put(self, key: str, content: bytes) -> None:
        self._answers[key] = content
        if self.last is None or time.monotonic() - self.last > max(
            _MIN_RESULT_INTERVAL_SECONDS, _WRITE_COST_FACTOR * self._effort
        ):
            self._try_to_write()

    def trim(self) -> None:
        """Do nothing: the file belongs to one system, so it does not grow without bound."""

    # --- searches

    def load(self, name: str) -> bytes | None:
        section = self._file.sections.get(name)
        if section is None or name in self._useless:
            return None
        current().require_memory(2 * section.size, "the saved search")
        with suppress(OSError):  # the file was removed
            return self._file.read(name)
        return None

    def discard(self, name: str) -> None:
        self._useless.add(name)

    def register(self, search: Search) -> None:
        self._searches[search.name] = search

    def unregister(self, name: str) -> None:
        self._searches.pop(name, None)
        self._useless.add(name)

    def detach(self, name: str) -> None:
        self._searches.pop(name, None)

    def safepoint(self, *, is_last: bool = False) -> None:
        now, limit = time.monotonic(), None
        if now > self._glance:
            self._glance = now + _LIMIT_POLL_SECONDS
            limit = self._limit(self._effort)
        if is_last or now > self._next or limit not in self._met:
            self._met.add(limit)
            self._try_to_write()
        if is_last:
            self._done.set()

    # --- the end

    def ended(self, *, is_complete: bool) -> None:
        """Write the file at the end of the run; a complete run saves its results only."""
        if is_complete:
            self._useless.update(*(self._file.sections.keys() - self._verdicts(), self._searches))
            self._searches.clear()
        self._try_to_write()

    def stopped(self, patience: float, most: float, slow: Callable[[], None] = lambda: None) -> CheckpointContent:
        """Let the cancelled computation write at its last safepoint, else write the results; return the content.

        The write must begin within ``patience`` seconds and end within ``most``; ``slow`` is called in between.
        """
        if not self._done.wait(patience) and self._lock.locked():
            slow()
            self._done.wait(most - patience)
        self._is_over = True
        if self._lock.acquire(timeout=_LIMIT_POLL_SECONDS):  # never released: no thread writes after this
            self._write_answers()
        remove_stale(self.path)
        return self._kept()

    def _write_answers(self) -> None:
        is_quick = sum(section.size for section in self._file.sections.values()) < _QUICK_WRITE_BYTES
        if not is_quick or all(_VERDICT + key in self._file.sections for key in self._answers.copy()):
            return
        try:
            self._replace({})
        except (OSError, Unusable) as problem:
            self.problem = _reason(problem)

    # --- the file

    def _verdicts(self) -> set[str]:
        return {name for name in self._file.sections if name.startswith(_VERDICT)}

    def _try_to_write(self) -> None:
        """Write, or record the problem: a full disk must not end the work."""
        try:
            try:
                self._write(self._searches)
            except (TooLarge, MemoryError) as problem:
                self._write({})
                self.problem = _reason(problem)
        except (OSError, Unusable) as problem:
            self._next = time.monotonic() + self._every
            if not self._is_over:
                self.problem = _reason(problem)

    def _write(self, searches: Mapping[str, Search]) -> None:
        """Write new results and changed searches, and retain the other sections."""
        began = time.monotonic()
        with self._lock:
            try:
                self._replace(searches)
            except Unusable:  # only its retained sections are lost
                self._file, self._far = SectionFile(self.path), {}
                self._replace(searches)
        now = time.monotonic()
        self.problem = None
        self.last, self._effort = now, now - began
        self._next = now + max(self._every, _WRITE_COST_FACTOR * self._effort)

    def _replace(self, searches: Mapping[str, Search]) -> None:
        far = {name: search.progress() for name, search in searches.items()}
        changed = [
            search
            for name, search in searches.items()
            if self._far.get(name) != far[name] or name not in self._file.sections
        ]
        new: dict[str, Parts] = {_VERDICT + key: _single(content) for key, content in self._answers.copy().items()}
        new |= {search.name: search.serialize for search in changed}
        retained = [name for name in self._file.sections if name not in new and name not in self._useless]
        before = self._file.about.get("searches")
        old_descriptions = before if isinstance(before, dict) else {}
        descriptions = {name: str(old_descriptions[name]) for name in retained if name in old_descriptions}
        descriptions |= {search.name: search.describe() for search in changed}
        self._file = replace_file(self._file, {**self._about, "searches": descriptions}, new, retained)
        self._far |= far
        self._useless -= new.keys()


def _reason(problem: Exception) -> str:
    match problem:
        case OSError(strerror=str(text)):
            return text
        case MemoryError():
            return "it needs more memory than is left"
        case _:
            return str(problem)


def _single(content: bytes) -> Parts:
    return lambda: (content,)
