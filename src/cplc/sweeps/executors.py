"""Executors: items are answered by worker processes of this machine, or by the workers of a Dask cluster.

A worker is given values and gives back values. So an item that was lost with its worker is answered again, and it makes
no difference where.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

from cplc.caching.cache_keys import program_fingerprint
from cplc.records import dataclass
from cplc.sweeps.jobs import Answered, Item, Limits, unknown
from cplc.sweeps.worker_process import Abandoned, Apart

_QUEUED: Final = 2
"""Items under way for each worker of this machine: one that it answers, and the next one."""
_AHEAD: Final = 4
"""Items handed out for each worker: what is waiting there need not be waited for."""
_POLL: Final = 0.1
_GREETING: Final = 10
_FAREWELL: Final = 3
Waiting = Callable[[], None]
Answers = Generator[Answered, None, None]


class NoCluster(Exception):
    """There is nobody to work; the text says why, and what would help."""


@dataclass(frozen=True)
class Local:
    """Worker processes of this machine. They are reached through pipes, so nothing listens anywhere."""

    workers: int = 1

    def answered(self, items: Iterable[tuple[int, Item]], limits: Limits, waiting: Waiting) -> Answers:
        """Yield each item with its rows as soon as they are known; with several workers that is in no order.

        A worker is started when there is an item for it. When the iteration ends, in whatever way, so do all workers.
        """
        todo = iter(items)
        pool = _Pool(limits)
        try:
            while True:
                for number, item in _some(todo, self.workers * _QUEUED - pool.under_way):
                    pool.submit(number, item, self.workers)
                if not pool.under_way:
                    return
                waiting()
                with suppress(Empty):
                    yield pool.next(_POLL)
        finally:
            pool.end()


class _Pool:
    """Threads that each lead one worker process."""

    def __init__(self, limits: Limits) -> None:
        self.under_way = 0
        self._limits = limits
        self._requests: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Answered | BaseException] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._is_ending = threading.Event()

    def submit(self, number: int, item: Item, workers: int) -> None:
        self._requests.put((number, item))
        self.under_way += 1
        if len(self._threads) < min(workers, self.under_way):
            thread = threading.Thread(target=self._lead, name="cplc-worker", daemon=True)
            self._threads.append(thread)
            thread.start()

    def next(self, timeout: float) -> Answered:
        """Return the next item that is answered; raise `Empty` after the timeout, or what went wrong in a thread."""
        outcome = self._outcomes.get(timeout=timeout)
        self.under_way -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _lead(self) -> None:
        apart = Apart()
        try:
            while (request := self._requests.get()) is not None:
                number, item = request
                began = time.monotonic()
                rows = apart.rows(item, self._limits, lambda: not self._is_ending.is_set())
                self._outcomes.put(Answered(number, item, rows, time.monotonic() - began))
        except Abandoned:
            pass
        except BaseException as problem:  # it is raised again in the thread that waits
            self._outcomes.put(problem)
        finally:
            apart.end()

    def end(self) -> None:
        """End all workers with what they work on, and wait until they have ended."""
        self._is_ending.set()
        for _ in self._threads:
            self._requests.put(None)
        for thread in self._threads:
            thread.join()


@dataclass(frozen=True)
class Cluster:
    """The workers of a cluster, as a client of Dask reaches them."""

    client: Any

    def answered(self, items: Iterable[tuple[int, Item]], limits: Limits, waiting: Waiting) -> Answers:
        """Yield each item with its rows as soon as they are known, which is in no order."""
        from distributed import wait

        todo = iter(items)
        under_way: dict[Any, tuple[int, Item]] = {}
        while True:
            for number, item in _some(todo, self._room() - len(under_way)):
                future = self.client.submit(answered, number, item, limits, pure=False)
                under_way[future] = (number, item)
            if not under_way:
                return
            waiting()
            with suppress(TimeoutError):
                wait(list(under_way), timeout=_POLL, return_when="FIRST_COMPLETED")
            for future in [one for one in under_way if one.done()]:
                yield _outcome(future, *under_way.pop(future))

    def _room(self) -> int:
        threads: int = sum(self.client.nthreads().values())
        return max(1, threads) * _AHEAD


def _some(items: Iterator[tuple[int, Item]], most: int) -> Iterator[tuple[int, Item]]:
    for _ in range(most):
        try:
            yield next(items)
        except StopIteration:
            return


def _outcome(future: Any, number: int, item: Item) -> Answered:
    """Return what was answered; a worker that ends again and again over an item answers nothing."""
    from distributed import KilledWorker

    problem = future.exception()
    if problem is None:
        result = future.result()
        assert isinstance(result, Answered)
        return result
    if isinstance(problem, KilledWorker):
        return Answered(number, item, (unknown("", "each worker that was given it has ended"),), 0.0)
    raise problem


_own = threading.local()


def answered(number: int, item: Item, limits: Limits) -> Answered:
    """Answer one item, on a worker."""
    apart = getattr(_own, "apart", None)
    if apart is None:
        apart = _own.apart = Apart()
    began = time.monotonic()
    if limits.memory is None:
        limits = Limits(limits.seconds, _share())
    rows = apart.rows(item, limits, _is_wanted())
    return Answered(number, item, rows, time.monotonic() - began)


def _share() -> int | None:
    """Return how much memory Dask gives to each thread of this worker; None where it sets no limit."""
    from distributed import get_worker

    worker = get_worker()
    whole: int | None = worker.memory_manager.memory_limit
    return whole // worker.state.nthreads if whole else None


def _is_wanted() -> Callable[[], bool]:
    """Return a function that tells whether the cluster still wants what this worker is doing."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return wanted


@contextmanager
def place(scheduler: str | None, workers: int) -> Iterator[Local | Cluster]:
    """Yield who answers: so many worker processes of this machine, or the cluster at that address."""
    if scheduler is None:
        yield Local(workers)
        return
    try:
        import distributed
    except ImportError:
        raise NoCluster("--scheduler needs Dask: `pip install 'cplc[sweep]'`; --workers does not") from None
    with _quiet(), _existing(distributed, scheduler) as client:
        yield Cluster(client)


@contextmanager
def _existing(distributed: Any, scheduler: str) -> Iterator[Any]:
    """Go to a cluster that is there; its workers must have this very program."""
    try:
        client = distributed.Client(scheduler, timeout=_GREETING)
    except (OSError, TimeoutError, ValueError) as problem:
        raise NoCluster(f"there is no scheduler at `{scheduler}`: {problem}") from None
    except TypeError as problem:  # what Dask raises where its configuration names no certificates
        raise NoCluster(f"the scheduler at `{scheduler}` cannot be reached: {problem}") from None
    try:
        try:
            programs = client.run(program_fingerprint)
        except Exception as problem:  # whatever it is, these workers cannot be asked
            raise NoCluster(f"the workers at `{scheduler}` have no cplc that answers: {problem}") from None
        if not programs:
            raise NoCluster(f"the cluster at `{scheduler}` has no workers")
        incompatible = [worker for worker, theirs in programs.items() if theirs != program_fingerprint()]
        if incompatible:
            raise NoCluster(f"the worker at `{incompatible[0]}` has another cplc, Python or library than this one")
        yield client
    finally:
        client.close(timeout=_FAREWELL)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let libraries say nothing of workers that come and go: the table says what matters."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [one.level for one in loggers]
    try:
        for one in loggers:
            one.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for one, level in zip(loggers, before, strict=True):
            one.setLevel(level)
