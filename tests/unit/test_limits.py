"""Work that can be stopped: what it yields, what it raises, and what stops it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cplc.cli import limits
from cplc.cli.limits import Interrupted, Limits, compute_supervised, run_supervised
from cplc.cli.output import write_file
from cplc.runtime.context import Cancelled, TooLarge, _container, current


def _nothing() -> None:
    pass


def _endless(release: threading.Event) -> Iterator[int]:
    yield 1
    release.wait(60)
    yield 2


class _Clock:
    """The clock of the limits, which a test sets forward: no real time passes until a deadline."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def pass_deadline(self) -> None:
        self.now += 3600


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr(limits, "time", clock)
    monkeypatch.setattr(limits, "began", clock.monotonic)
    return clock


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """An event that lets abandoned work end with the test."""
    event = threading.Event()
    yield event
    event.set()


def test_resource_limit_is_unknown_not_a_bug() -> None:
    def work() -> int:
        raise TooLarge("all of it takes more than a million cases")

    with pytest.raises(Interrupted, match="all of it takes more than a million cases"):
        compute_supervised(work, Limits(), waiting=_nothing)


def test_everything_is_yielded_in_order_from_another_thread() -> None:
    threads = []

    def work() -> Iterator[int]:
        for number in range(1000):
            threads.append(threading.current_thread())
            yield number

    assert list(run_supervised(work(), Limits(), waiting=_nothing)) == list(range(1000))
    assert threading.main_thread() not in threads


def test_an_exception_comes_after_what_was_yielded_before() -> None:
    def work() -> Iterator[int]:
        yield 1
        raise LookupError("gone")

    received: list[int] = []
    with pytest.raises(LookupError, match="gone"):
        received.extend(run_supervised(work(), Limits(), waiting=_nothing))
    assert received == [1]


def test_memory_error_is_an_interruption() -> None:
    def work() -> Iterator[int]:
        yield 1
        raise MemoryError

    with pytest.raises(Interrupted, match="memory is exhausted"):
        list(run_supervised(work(), Limits(), waiting=_nothing))


def test_the_time_limit_stops_work_that_yields_nothing(release: threading.Event, clock: _Clock) -> None:
    received: list[int] = []

    def waiting() -> None:
        if received:
            clock.pass_deadline()

    with pytest.raises(Interrupted, match=r"the time limit of 20 s was reached"):
        received.extend(run_supervised(_endless(release), Limits(seconds=20), waiting=waiting))
    assert received == [1]


def test_time_limit_is_of_real_time(release: threading.Event) -> None:
    began = time.monotonic()
    with pytest.raises(Interrupted, match=r"the time limit of 0\.2 s was reached"):
        list(run_supervised(_endless(release), Limits(seconds=0.2), waiting=_nothing))
    assert 0.2 <= time.monotonic() - began < 60


@pytest.mark.parametrize("stop", [lambda: current().safepoint(), lambda: current().charge(1)], ids=["safe", "charge"])
def test_interrupted_work_ends(stop: Callable[[], None], release: threading.Event, clock: _Clock) -> None:
    """The thread ends with an exception: it neither works on nor waits forever."""
    ends: list[BaseException] = []
    workers: list[threading.Thread] = []

    def work() -> Iterator[int]:
        workers.append(threading.current_thread())
        try:
            while not release.is_set():
                stop()
                time.sleep(0.001)
        except BaseException as end:
            ends.append(end)
            raise
        yield 1

    def waiting() -> None:
        if workers:
            clock.pass_deadline()

    with pytest.raises(Interrupted):
        list(run_supervised(work(), Limits(seconds=20), waiting=waiting))
    workers[0].join(60)
    assert not workers[0].is_alive()
    assert [type(end) for end in ends] == [Cancelled]


def test_work_whose_events_nobody_takes_ends() -> None:
    workers: list[threading.Thread] = []

    def work() -> Iterator[int]:
        workers.append(threading.current_thread())
        while True:
            yield 1
            current().safepoint()
            time.sleep(0.001)

    events = run_supervised(work(), Limits(), waiting=_nothing)
    assert next(events) == 1
    events.close()  # type: ignore[attr-defined]
    workers[0].join(60)
    assert not workers[0].is_alive()


def test_finished_results_reported_after_limit(release: threading.Event, clock: _Clock) -> None:
    finished = threading.Event()

    def work() -> Iterator[int]:
        yield from (1, 2, 3)
        finished.set()
        release.wait(60)

    received: list[int] = []

    def slowly(number: int) -> None:
        received.append(number)
        finished.wait(60)
        clock.pass_deadline()

    with pytest.raises(Interrupted):
        list(map(slowly, run_supervised(work(), Limits(seconds=20), waiting=_nothing)))
    assert received == [1, 2, 3]


def test_time_limit_stops_endless_results(release: threading.Event) -> None:
    def work() -> Iterator[int]:
        while not release.is_set():
            yield 1
            time.sleep(0.01)

    with pytest.raises(Interrupted, match="time limit"):
        list(run_supervised(work(), Limits(seconds=0.2), waiting=_nothing))


def test_the_memory_limit_stops_work(release: threading.Event) -> None:
    with pytest.raises(Interrupted, match="the memory limit of 1 MB was reached"):
        list(run_supervised(_endless(release), Limits(memory=2**20), waiting=_nothing))


def test_there_is_a_memory_limit_by_default(release: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_memory_in_use", lambda: 2**60)
    with pytest.raises(Interrupted, match="memory limit"):
        list(run_supervised(_endless(release), Limits(), waiting=_nothing))


def test_memory_limit_of_each_control_group_counts(tmp_path: Path) -> None:
    membership, root = tmp_path / "cgroup", tmp_path / "fs"
    (root / "outer" / "inner").mkdir(parents=True)
    (root / "memory" / "old").mkdir(parents=True)
    membership.write_text("0::/outer/inner\n3:cpu:/elsewhere\n4:memory,x:/old\n", encoding="ascii")
    (root / "outer" / "inner" / "memory.max").write_text("max\n", encoding="ascii")
    (root / "outer" / "memory.max").write_text("3000\n", encoding="ascii")
    (root / "memory" / "old" / "memory.limit_in_bytes").write_text("2000\n", encoding="ascii")
    assert set(_container(membership, root)) == {2000, 3000}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to send")
@pytest.mark.parametrize(
    ("number", "stopped"), [(signal.SIGTERM, Interrupted), (signal.SIGINT, KeyboardInterrupt)], ids=["TERM", "INT"]
)
def test_signals_stop_work(number: signal.Signals, stopped: type[BaseException], release: threading.Event) -> None:
    here = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the parent of the tests ignores
    before = signal.getsignal(signal.SIGTERM)

    def waiting() -> None:
        os.kill(os.getpid(), number)

    with pytest.raises(stopped):
        list(run_supervised(_endless(release), Limits(), waiting=waiting))
    if number == signal.SIGTERM:
        os.kill(os.getpid(), number)  # the report that follows is not lost
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGTERM) == before
    signal.signal(signal.SIGINT, here)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to send")
def test_report_after_a_limit_outlasts_a_termination(release: threading.Event) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(Interrupted):
            list(run_supervised(_endless(release), Limits(seconds=0.001), waiting=_nothing))
        assert signal.getsignal(signal.SIGTERM) not in (before, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to send")
def test_signal_that_the_parent_ignores_does_not_stop_work(release: threading.Event) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sent: list[int] = []

    def waiting() -> None:
        if not sent:
            os.kill(os.getpid(), signal.SIGTERM)
            sent.append(1)
            release.set()

    try:
        assert list(run_supervised(_endless(release), Limits(), waiting=waiting)) == [1, 2]
        assert sent
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_progress_reported_while_waiting(release: threading.Event) -> None:
    reported = []

    def waiting() -> None:
        reported.append(1)
        release.set()

    assert list(run_supervised(_endless(release), Limits(), waiting=waiting)) == [1, 2]
    assert reported


def test_the_stack_of_other_threads_is_left_alone() -> None:
    before = threading.stack_size()
    assert compute_supervised(lambda: 7, Limits(), waiting=_nothing) == 7
    assert threading.stack_size() == before


def test_the_stack_is_deep_enough_for_deep_recursion() -> None:
    """Recursion through C needs the stack of the thread, which by default ends after a few thousand calls."""
    code = """
import sys
from cplc.cli.limits import Limits, compute_supervised
class Deep:
    def __init__(self, depth): self.depth = depth
    def __repr__(self): return repr(Deep(self.depth - 1)) if self.depth else "bottom"
sys.setrecursionlimit(100_000)
print(compute_supervised(lambda: repr(Deep(19_000)), Limits(), waiting=lambda: None))
"""
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "bottom\n", done.stderr[-500:]


def test_recursion_is_deeper_in_the_work_only() -> None:
    before = sys.getrecursionlimit()
    assert compute_supervised(sys.getrecursionlimit, Limits(), waiting=_nothing) == max(before, 20_000)
    assert sys.getrecursionlimit() == before


def test_without_threads_work_is_done_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "emscripten")
    where = compute_supervised(threading.current_thread, Limits(seconds=0.001), waiting=_nothing)
    assert where is threading.current_thread()


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    write_file(tmp_path / "new" / "a.json", "text")
    assert (tmp_path / "new" / "a.json").read_text(encoding="utf-8") == "text"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.json"]


@pytest.mark.parametrize("text", ["\ud800"], ids=["not encodable"])
def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text("before", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_file(tmp_path / "a.json", text)
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
