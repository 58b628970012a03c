"""The file of `--checkpoint`: believed if it is whole and about this, and never in the way of a run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.systems import systems

from cplc.caching import checkpoint_file as checkpoints
from cplc.caching.checkpoint_file import (
    Checkpoint,
    SectionFile,
    Unusable,
    open_verified,
    prepare_folder,
    remove_stale,
    replace_file,
)
from cplc.cli import limits
from cplc.cli.checkpointing import Checkpointing
from cplc.cli.limits import Limits
from cplc.compilation import CplCompilation, load
from cplc.logic.expressions import FALSE, TRUE, And, Or, Read
from cplc.runtime.context import Search, TooLarge
from cplc.source import Source, Span
from cplc.system.fingerprint import fingerprint
from cplc.system.model import System

_ROOT = Path(__file__).parents[2]
_CONTENTS = {"verdict a": b"", "states 1": bytes(range(256)), "states 2": b"x" * 3}


def _netbill(customers: int = 2) -> System:
    compilation = load(str(_ROOT / "examples" / "netbill.cpl"), {"customers": str(customers)})
    assert isinstance(compilation, CplCompilation)
    return compilation.system


def _container(path: Path) -> SectionFile:
    def parts(content: bytes) -> Any:
        return lambda: (content[:2], content[2:])

    return replace_file(SectionFile(path), {"n": 1}, {name: parts(content) for name, content in _CONTENTS.items()}, ())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("kept") / "kept"
    _container(path)
    return path, path.read_bytes()


# --- the file


def test_checkpoint_round_trips(tmp_path: Path) -> None:
    made = _container(tmp_path / "kept")
    content = open_verified(tmp_path / "kept")
    assert content == made
    assert {name: content.read(name) for name in content.sections} == _CONTENTS
    assert content.read("nothing") is None
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    again = replace_file(content, {}, {"new": lambda: (b"1", memoryview(b"2"))}, ["states 1"])
    assert open_verified(tmp_path / "kept") == again
    assert again.read("states 1") == _CONTENTS["states 1"]
    assert again.read("new") == b"12"


@given(st.data())
def test_damaged_checkpoint_is_refused(whole: tuple[Path, bytes], data: st.DataObject) -> None:
    path, content = whole
    place = data.draw(st.integers(0, len(content) - 1))
    damage = data.draw(
        st.sampled_from(
            [
                content[:place],
                content[:place] + bytes([content[place] ^ data.draw(st.integers(1, 255))]) + content[place + 1 :],
                content[:place] + data.draw(st.binary(min_size=1, max_size=9)) + content[place:],
                content + data.draw(st.binary(min_size=1, max_size=100)),
                content[place:] + content[:place] if place else b"",
            ]
        )
    )
    if damage == content:  # what was put in was there
        return
    path.write_bytes(damage)
    with pytest.raises(Unusable):
        open_verified(path)


@given(st.binary(max_size=200), st.booleans())
def test_other_file_is_no_checkpoint(whole: tuple[Path, bytes], content: bytes, with_head: bool) -> None:
    path, _ = whole
    path.write_bytes(b"cplc checkpoint 1\n" + content if with_head else content)
    with pytest.raises(Unusable):
        open_verified(path)


def test_pipe_or_device_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="it is not a regular file"):
        open_verified(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(Unusable, match="it is not a regular file"):
            open_verified(tmp_path / "pipe")


def test_interrupted_write_leaves_old_checkpoint(tmp_path: Path) -> None:
    before = _container(tmp_path / "kept")
    content = (tmp_path / "kept").read_bytes()

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file(before, {}, {"new": broken}, before.sections)
    assert (tmp_path / "kept").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_checkpoint_changed_by_another_process_is_not_overwritten(tmp_path: Path) -> None:
    before = _container(tmp_path / "kept")
    replace_file(SectionFile(tmp_path / "kept"), {}, {"states 1": lambda: (bytes(256),)}, ())
    assert before.read("states 1") is None
    with pytest.raises(Unusable, match="another process has changed it"):
        replace_file(before, {}, {}, ["states 1"])
    (tmp_path / "kept").unlink()
    with pytest.raises(Unusable, match="another process has removed it"):
        replace_file(before, {}, {}, ["states 1"])
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_of_killed_runs_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    names = {".kept.unfinished-1-old", ".kept.unfinished-1-new", f".kept.unfinished-{os.getpid()}-new", ".kept.other"}
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    os.utime(tmp_path / ".kept.unfinished-1-old", (time.time() - 7200,) * 2)
    remove_stale(path)
    assert {one.name for one in tmp_path.iterdir()} == {".kept.unfinished-1-new", ".kept.other"}
    prepare_folder(tmp_path / "new" / "folder" / "kept")
    assert list((tmp_path / "new" / "folder").iterdir()) == []


# --- the fingerprint of the system


@given(systems(), systems())
def test_different_systems_have_different_fingerprints(one: System, other: System) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (one == other)
    assert fingerprint(replace(one)) == fingerprint(one)


def test_fingerprint_covers_system_without_source_positions() -> None:
    system = _netbill()
    step = system.steps[0]
    first, *rest = system.variables
    other_systems = [
        replace(system, name="other"),
        replace(system, start=Or((system.start, Read(first.name)))),
        replace(system, steps=system.steps[1:]),
        replace(system, steps=(*system.steps[1:], step)),
        replace(system, steps=(replace(step, guard=FALSE), *system.steps[1:])),
        replace(system, variables=(replace(first, initial=first.domain), *rest)),
        replace(system, variables=(*rest, first)),
        replace(system, justice=system.justice[1:]),
        replace(system, fairness=(*system.fairness, TRUE)),
    ]
    assert len({fingerprint(one) for one in (system, *other_systems)}) == 1 + len(other_systems)
    elsewhere = replace(step, span=Span(Source("elsewhere", ""), 1, 2))
    assert fingerprint(replace(system, steps=(elsewhere, *system.steps[1:]))) == fingerprint(system)
    assert fingerprint(replace(system, start=And((TRUE, FALSE)))) != fingerprint(replace(system, start=And((TRUE,))))


def test_checkpoint_of_another_system_is_refused_and_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept"
    store = Checkpoint(path, 1000)
    assert store.open(_netbill()) is None
    store.put("a", b"answer")
    content = path.read_bytes()
    with pytest.raises(Unusable, match="it belongs to another system than `NetBill`"):
        Checkpoint(path, 1000).open(_netbill(3))
    with monkeypatch.context() as changed:
        changed.setattr(checkpoints, "program_fingerprint", lambda: "another")
        with pytest.raises(Unusable, match="it was written by another build of cplc"):
            Checkpoint(path, 1000).open(_netbill())
        changed.setattr(checkpoints, "__version__", "99.0")
        with pytest.raises(Unusable, match=r"it was written by cplc .*, not by cplc 99\.0"):
            Checkpoint(path, 1000).open(_netbill())
    assert path.read_bytes() == content
    opened = Checkpoint(path, 1000).open(_netbill())
    assert opened is not None
    assert opened.text() == "1 result"


# --- when it is written


class _Search:
    """A search that comes further with every moment."""

    def __init__(self, name: str, content: bytes = b"states") -> None:
        self.count = 0
        self.content = content
        self.search = Search(name, lambda: self.count, self._written, lambda: f"{self.count} states")

    def _written(self) -> Iterator[bytes]:
        yield self.content


@pytest.fixture
def store(tmp_path: Path) -> Checkpoint:
    made = Checkpoint(tmp_path / "kept", 1000)
    made.open(_netbill())
    return made


def _again(store: Checkpoint) -> Checkpoint:
    checkpoint = Checkpoint(store.path, 1000)
    checkpoint.open(_netbill())
    return checkpoint


def test_search_is_saved_at_the_interval(tmp_path: Path) -> None:
    store = Checkpoint(tmp_path / "kept", 0.0)
    store.open(_netbill())
    one = _Search("states one")
    store.register(one.search)
    one.count = 7
    store._next = time.monotonic() - 1
    store.safepoint()
    assert _again(store).load("states one") == b"states"
    store._next = time.monotonic() + 1000
    one.content = b"more"
    store.safepoint()
    assert _again(store).load("states one") == b"states", "it is not time yet"
    store._next = time.monotonic() - 1
    store.safepoint()
    assert _again(store).load("states one") == b"states", "it has come no further"
    store._next, one.count = time.monotonic() - 1, 8
    store.safepoint()
    assert _again(store).load("states one") == b"more"


def test_saving_takes_bounded_fraction_of_time(store: Checkpoint) -> None:
    store._every = 0.0
    store._effort = 3.0
    store.last = time.monotonic() - 30
    store.put("a", b"1")
    assert not store.path.exists()
    store.last = time.monotonic() - 61
    store.put("b", b"2")
    assert (_again(store).get("a"), _again(store).get("b")) == (b"1", b"2")


def test_a_limit_that_is_near_is_met_once(tmp_path: Path) -> None:
    near: list[str | None] = [None]
    store = Checkpoint(tmp_path / "kept", 1000, lambda effort: near[0])
    store.open(_netbill())
    one = _Search("states one")
    store.register(one.search)

    def moment(limit: str | None) -> bytes | None:
        near[0], store._glance = limit, 0.0
        one.count += 1
        one.content = str(one.count).encode()
        store.safepoint()
        return _again(store).load("states one")

    assert [moment(limit) for limit in (None, "memory", "memory", "time", "memory")] == [None, b"2", b"2", b"4", b"4"]


def test_a_limit_is_near_while_there_is_still_time_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_memory_in_use", lambda: 80)
    near = Checkpointing(tmp_path / "kept", 30, Limits(100, 100))._limit
    with monkeypatch.context() as later:
        now = time.monotonic()
        for seconds, effort, limit in ((50, 1, None), (50, 30, "time"), (97, 1, "time"), (101, 0, "time")):
            later.setattr(time, "monotonic", lambda after=seconds: now + after)
            assert near(effort) == limit
    monkeypatch.setattr(limits, "_memory_in_use", lambda: 90)
    assert near(1) == "memory"


def test_discarded_search_is_removed_from_checkpoint(store: Checkpoint) -> None:
    store.register(_Search("states one").search)
    store.register(_Search("states two").search)
    store.put("a", b"answer")
    again = _again(store)
    assert again.load("states one") is not None
    again.discard("states one")
    again.unregister("states two")
    assert again.load("states one") is again.load("states two") is None
    again.put("b", b"other")
    assert set(_again(store)._file.sections) == {"verdict a", "verdict b"}


def test_newer_search_replaces_discarded_one(store: Checkpoint) -> None:
    store.register(_Search("states one", b"wrong").search)
    store.put("a", b"answer")
    again = _again(store)
    again.discard("states one")
    again.register(_Search("states one", b"right").search)
    for _ in range(3):
        again.ended(is_complete=False)
        assert again.load("states one") == _again(store).load("states one") == b"right"


def test_finished_checkpoint_has_answers_only(store: Checkpoint) -> None:
    store.register(_Search("states one").search)
    store.put("a", b"answer")
    store.ended(is_complete=False)
    content = _again(store).open(_netbill())
    assert content is not None
    assert content.text() == "1 result, a search with 0 states"
    store.ended(is_complete=True)
    content = _again(store).open(_netbill())
    assert content is not None
    assert content.text() == "1 result"


def test_concurrent_runs_do_not_corrupt_checkpoint(store: Checkpoint) -> None:
    one, other = _Search("states one", b"1"), _Search("states two", b"2")
    store.register(one.search)
    store.put("a", b"answer")
    second = _again(store)
    second.register(other.search)
    second.put("b", b"other")
    assert set(_again(store)._file.sections) == {"verdict a", "verdict b", "states one", "states two"}
    one.count = 3
    store.ended(is_complete=False)
    assert (store.problem, _again(store).get("a"), _again(store).load("states one")) == (None, b"answer", b"1")
    second.ended(is_complete=False)
    assert (second.problem, _again(store).get("b"), _again(store).load("states two")) == (None, b"other", b"2")
    store.path.unlink()
    assert second.load("states two") is None
    second.ended(is_complete=False)
    assert (second.problem, _again(store).get("b")) == (None, b"other")


def test_write_error_does_not_stop_verification(store: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    one = _Search("states one")
    store.register(one.search)
    with monkeypatch.context() as changed:
        changed.setattr("cplc.caching.checkpoint_file.os.fsync", full)
        store.put("a", b"answer")
        assert [store.problem] == ["No space left on device"]
        assert list(store.path.parent.iterdir()) == []
    store.put("b", b"answer")
    assert [store.problem] == [None]
    assert _again(store).get("a") == b"answer"

    def too_large() -> list[bytes]:
        raise TooLarge("writing it takes more memory than is left")

    store.register(replace(one.search, progress=lambda: 99, serialize=too_large))
    store.ended(is_complete=False)
    assert store.problem == "writing it takes more memory than is left"
    assert _again(store).load("states one") == b"states", "the earlier search is still there"


# --- the end, which another thread sees to


def test_interrupt_waits_for_write(store: Checkpoint) -> None:
    one = _Search("states one")
    store.register(one.search)
    ended, slow = threading.Event(), threading.Event()

    def replace_file() -> Iterator[bytes]:
        assert slow.wait(60)
        yield b"all"

    def work() -> None:
        while not ended.is_set():
            store.safepoint(is_last=True)
            time.sleep(0.001)

    store.register(replace(one.search, serialize=replace_file))
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        is_saved = store.stopped(0.3, 60, slow.set)
    finally:
        ended.set()
    assert is_saved.text() == "a search with 0 states"
    assert _again(store).load("states one") == b"all"


def test_second_interrupt_keeps_saved_answers(store: Checkpoint) -> None:
    """The work is in the middle of something, and comes by no moment."""
    store.register(_Search("states one").search)
    store.last = time.monotonic()
    store.put("a", b"answer")
    assert not store.path.exists()
    assert store.stopped(0, 0).text() == "1 result"
    assert set(_again(store)._file.sections) == {"verdict a"}
    assert store.stopped(0, 0).text() == "1 result", "once more, when one does not wait for that either"
