"""``python -m cplc.sweeps.worker_main``: runs jobs from standard input, each in a separate process.

With ``fork``, the worker loads grammars and libraries once and forks for each job: no state leaks between jobs, and
memory is that of one job. Without it, the worker runs one job and exits. It exits with all its children as soon as the
other end of the pipe is closed.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import sys
import threading
from typing import IO, Literal

from cplc.runtime.context import TooLarge
from cplc.sweeps.jobs import Job

Kind = Literal["begun", "told", "wrong", "stopped", "ended"]
"""Kinds of messages: a process has started, an output, an error, a resource limit, and the end of a job."""

_STACK_BYTES = 256 * 2**20
_MAX_RECURSION = 20_000
"""Decision diagrams and formulas are deep."""


def send(stream: IO[bytes], value: object) -> None:
    content = pickle.dumps(value)
    stream.write(len(content).to_bytes(8, "big") + content)
    stream.flush()


def received(stream: IO[bytes]) -> object:
    """Return the next value; raise `EOFError` at the end."""
    length = stream.read(8)
    if len(length) < 8:
        raise EOFError
    content = stream.read(int.from_bytes(length, "big"))
    return pickle.loads(content)


def main() -> None:
    """Run jobs until the end of standard input."""
    requests, replies = _own_streams()
    if not hasattr(os, "fork"):
        send(replies, ("begun", os.getpid()))
        _run_in_thread(_item(requests), replies)
        send(replies, ("ended", 0))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    _prepare()
    while True:
        try:
            job = _item(requests)
        except EOFError:
            return
        send(replies, ("ended", _run_in_copy(job, requests, replies)))


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Reserve standard input and output for messages, and discard other output."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, replies


def _item(requests: IO[bytes]) -> Job:
    job = received(requests)
    assert isinstance(job, Job)
    return job


def _prepare() -> None:
    """Import the modules that every job needs, before the first fork."""
    import cplc.compilation.participants
    import cplc.engines.symbolic.engine
    import cplc.mutation.coverage
    import cplc.simulation.random_walk  # noqa: F401
    from cplc.compilation import CplCompilation
    from cplc.source import Source

    assert CplCompilation(Source("nothing", "protocol Nothing { role A }")).diagnostics is not None
    gc.freeze()


def _run_in_copy(job: Job, requests: IO[bytes], replies: IO[bytes]) -> int:
    """Run a job in a forked process; return its exit code. Exit with it if the parent closes the pipe."""
    reading, writing = os.pipe()
    theirs, ours = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os.close(ours)
        threading.Thread(target=_end_with, args=(theirs,), daemon=True).start()
        send(replies, ("begun", os.getpid()))
        _run_in_thread(job, replies)
        os._exit(0)
    os.close(writing)
    os.close(theirs)
    ready, _, _ = select.select([requests.fileno(), reading], [], [])
    if reading not in ready:  # the parent sends nothing during a job: it has closed the pipe
        os.kill(process, signal.SIGKILL)
        os._exit(0)
    os.close(reading)
    os.close(ours)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _end_with(lifeline: int) -> None:
    """Exit when the process at the other end of the pipe has ended."""
    os.read(lifeline, 1)
    os._exit(1)


def _run_in_thread(job: Job, replies: IO[bytes]) -> None:
    """Run the job in a thread with a large stack."""
    sys.setrecursionlimit(_MAX_RECURSION)
    threading.stack_size(_STACK_BYTES)
    thread = threading.Thread(target=_send_outputs, args=(job, replies))
    thread.start()
    thread.join()


def _send_outputs(job: Job, replies: IO[bytes]) -> None:
    from cplc.sweeps.job_runner import JobError, run_job

    def tell(kind: Kind, value: object) -> None:
        try:
            send(replies, (kind, value))
        except OSError:  # the parent has ended
            os._exit(1)

    try:
        for message in run_job(job):
            tell("told", message)
    except JobError as problem:
        tell("wrong", str(problem))
    except MemoryError:
        tell("stopped", "memory is exhausted")
    except TooLarge as problem:
        tell("stopped", str(problem))
    except Exception as problem:  # a bug fails one job, not the sweep
        tell("wrong", f"this is a bug in cplc: {type(problem).__name__}: {problem}")


if __name__ == "__main__":
    main()
