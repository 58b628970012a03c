"""Where items are answered: here, one after the other, or by the workers of a Dask cluster, here or elsewhere.

Only `answered` runs on workers. It is given values and gives back values, so an item that was lost with its worker is
simply answered again, and it makes no difference where.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from cplc.caching.keys import program
from cplc.records import dataclass
from cplc.sweeping.apart import Apart
from cplc.sweeping.items import Answered, Item, Limits, unknown

_AHEAD: Final = 4
"""Items handed out for each worker: what is waiting there need not be waited for."""
_POLL: Final = 0.1
_GREETING: Final = 10
_FAREWELL: Final = 3
Waiting = Callable[[], None]


class NoCluster(Exception):
    """There is nobody to work; the text says why, and what would help."""


@dataclass(frozen=True)
class Here:
    """One item after the other, without anything that has to be installed."""

    def answered(self, items: Iterable[tuple[int, Item]], limits: Limits, waiting: Waiting) -> Iterator[Answered]:
        """Yield each item with its rows as soon as they are known."""
        apart = Apart()

        def wanted() -> bool:
            waiting()
            return True

        try:
            for number, item in items:
                began = time.monotonic()
                rows = apart.rows(item, limits, wanted)
                yield Answered(number, item, rows, time.monotonic() - began)
        finally:
            apart.end()


@dataclass(frozen=True)
class Cluster:
    """The workers of a cluster, as a client of Dask reaches them."""

    client: Any

    def answered(self, items: Iterable[tuple[int, Item]], limits: Limits, waiting: Waiting) -> Iterator[Answered]:
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
        found = future.result()
        assert isinstance(found, Answered)
        return found
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


def dask_setup(_worker: Any) -> None:
    """Let a worker of this machine not hear of Ctrl-C, which is for whoever started it; Dask calls this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def place(scheduler: str | None, workers: int) -> Iterator[Here | Cluster]:
    """Yield where to work: on that cluster, or on so many cores of this machine."""
    if scheduler is None and workers == 1:
        yield Here()
        return
    try:
        import distributed
    except ImportError:
        raise NoCluster("more than one worker needs Dask: `pip install 'cplc[sweep]'`, or take --workers 1") from None
    with _quiet(), _local(distributed, workers) if scheduler is None else _existing(distributed, scheduler) as client:
        yield Cluster(client)


@contextmanager
def _local(distributed: Any, workers: int) -> Iterator[Any]:
    """Start workers on this machine, which nobody else can reach; end them in any case."""
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
        silence_logs=logging.CRITICAL,
        preload=[__name__],
        memory_limit=0,  # memory is taken by processes that Dask knows nothing of, and each has a limit of its own
    )
    try:
        client = distributed.Client(cluster)
        try:
            yield client
        finally:
            client.close(timeout=_FAREWELL)
    finally:
        cluster.close(timeout=_FAREWELL)


@contextmanager
def _existing(distributed: Any, scheduler: str) -> Iterator[Any]:
    """Go to a cluster that is there; its workers must have this very program."""
    try:
        client = distributed.Client(scheduler, timeout=_GREETING)
    except (OSError, TimeoutError, ValueError) as problem:
        raise NoCluster(f"there is no scheduler at `{scheduler}`: {problem}") from None
    try:
        try:
            programs = client.run(program)
        except Exception as problem:  # whatever it is, these workers cannot be asked
            raise NoCluster(f"the workers at `{scheduler}` have no cplc that answers: {problem}") from None
        if not programs:
            raise NoCluster(f"the cluster at `{scheduler}` has no workers")
        others = [worker for worker, theirs in programs.items() if theirs != program()]
        if others:
            raise NoCluster(f"the worker at `{others[0]}` has another cplc, Python or library than this one")
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
