"""``--checkpoint``: answers, and searches that are not at their end, in a file that a later run goes on from.

The file belongs to one system and one program, and is refused for any other. What is in it is written now and then by
the thread that does the work, between two pieces of it: often enough that little is lost, and so seldom that writing
takes no more than a small part of the time.
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
from cplc.runtime.checkpointing import Search
from cplc.runtime.limits import TooLarge, require_memory
from cplc.system.fingerprint import fingerprint
from cplc.system.model import System

_VERDICT: Final = "verdict "
_WRITE_COST_FACTOR: Final = 20
"""Writing takes at most one in so many seconds."""
_QUICK_WRITE_BYTES: Final = 64 * 2**20
"""A file of so many bytes is written while somebody waits."""
_LIMIT_POLL_SECONDS: Final = 0.05
"""So often it is seen whether a limit is near."""
_MIN_RESULT_INTERVAL_SECONDS: Final = 1.0
"""So many seconds after the file was written last an answer is worth writing it again."""


@dataclass(frozen=True)
class CheckpointContent:
    """What is in the file, for people."""

    answers: int
    searches: tuple[str, ...]

    def text(self) -> str:
        """Return it as in `2 answers, a search with 1,234 states`."""
        parts = [f"{self.answers:,} result{'' if self.answers == 1 else 's'}"] if self.answers else []
        parts += [f"a search with {search}" for search in self.searches[:3]]
        parts += [f"{len(self.searches) - 3} more searches"] if len(self.searches) > 3 else []
        return ", ".join(parts) or "nothing yet"


class Checkpoint:
    """Keeps answers and searches; see `cplc.runtime.checkpointing`, and `cplc.caching.entry_store` for answers.

    ``limit`` names a limit that is so near that what takes so many seconds should be done now. All is done by the
    thread that works, but for `stopped`, which another one calls.
    """

    def __init__(self, path: Path, every: float, limit: Callable[[float], str | None] = lambda seconds: None) -> None:
        self.path = path
        self._every = every
        self._limit = limit
        self._met: set[str | None] = {None}
        self._effort = 0.0
        """So many seconds it took to write the file last."""
        self._file = SectionFile(path)
        self._about: Mapping[str, object] = {}
        self._answers: dict[str, bytes] = {}
        """Those of this run."""
        self._searches: dict[str, Search] = {}
        self._far: dict[str, int] = {}
        """How far those searches had come that are in the file."""
        self._useless: set[str] = set()
        self._lock = threading.Lock()
        """Belongs to whoever writes the file."""
        self._wanted = threading.Event()
        self._done = threading.Event()
        self._is_over = False
        self.problem: str | None = None
        """Why it could not be written last."""
        self.last: float | None = None
        """When it was written last."""
        self._next = time.monotonic() + every
        self._glance = 0.0

    def open(self, system: System) -> CheckpointContent | None:
        """Read what an earlier run has left, if there is anything. Raise `Unusable` if that is not about this.

        A place that cannot be read, or written, is better known before the work than after it: raise `OSError` then.
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
        """Nothing to do: it belongs to one system alone."""

    # --- searches

    def load(self, name: str) -> bytes | None:
        section = self._file.sections.get(name)
        if section is None or name in self._useless:
            return None
        require_memory(2 * section.size, "what was found before")
        with suppress(OSError):  # somebody has removed it
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

    def safepoint(self) -> None:
        now, limit = time.monotonic(), None
        if now > self._glance:
            self._glance = now + _LIMIT_POLL_SECONDS
            limit = self._limit(self._effort)
        if self._wanted.is_set() or now > self._next or limit not in self._met:
            self._met.add(limit)
            self._try_to_write()
            self._wanted.clear()
            self._done.set()

    # --- the end

    def ended(self, *, is_complete: bool) -> None:
        """Write everything; where there is nothing left to be searched for, the answers alone."""
        if is_complete:
            self._useless.update(*(self._file.sections.keys() - self._verdicts(), self._searches))
            self._searches.clear()
        self._try_to_write()

    def stopped(self, patience: float, most: float, slow: Callable[[], None] = lambda: None) -> CheckpointContent:
        """Let the work write what it has found, then write at least the answers; return what is in the file.

        There are so many seconds for it to begin with that, and so many until it must be done; ``slow`` is called in
        between.
        """
        self._done.clear()
        self._wanted.set()
        if not self._done.wait(patience) and self._lock.locked():
            slow()
            self._done.wait(most - patience)
        self._is_over = True
        if self._lock.acquire(timeout=_LIMIT_POLL_SECONDS):  # and it is not given back: nobody writes any more
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
        """Write, or say later why not: a full disk shall not end the work."""
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
        """Write what is new, and keep what is not."""
        began = time.monotonic()
        with self._lock:
            try:
                self._replace(searches)
            except Unusable:  # what was kept in it is lost, and nothing else
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
            return "it takes more memory than is left"
        case _:
            return str(problem)


def _single(content: bytes) -> Parts:
    return lambda: (content,)
