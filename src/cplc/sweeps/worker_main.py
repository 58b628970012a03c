"""``python -m cplc.sweeps.worker_main``: answers items that come on standard input, each in a process of its own.

Where processes can be copied, this one reads grammars and libraries once and copies itself for each item: what was
learned of one item is gone when the next one begins, and memory is what that item takes. Elsewhere it answers one item
and ends. It ends at once, with all its work, when nobody is at the other end any more.
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

from cplc.runtime.limits import TooLarge
from cplc.sweeps.jobs import Job

Kind = Literal["begun", "told", "wrong", "stopped", "ended"]
"""What a message says: which process has begun, what an item tells, why it tells no more, and that it is over."""

_STACK_BYTES = 256 * 2**20
_MAX_RECURSION = 20_000
"""As for all work: decision diagrams and formulas are deep."""


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
    """Answer until there is nothing more to answer."""
    requests, replies = _own_streams()
    if not hasattr(os, "fork"):
        send(replies, ("begun", os.getpid()))
        _run_in_thread(_item(requests), replies)
        send(replies, ("ended", 0))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it will end it
    _prepare()
    while True:
        try:
            job = _item(requests)
        except EOFError:
            return
        send(replies, ("ended", _run_in_copy(job, requests, replies)))


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Keep standard input and output for messages; what is printed by mistake goes nowhere."""
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
    """Load what every item needs, so that copies have it."""
    import cplc.engines.symbolic.engine
    import cplc.mutation.coverage
    import cplc.participant_analysis
    import cplc.simulation.random_walk  # noqa: F401
    from cplc.compilation import Compilation
    from cplc.source import Source

    assert Compilation(Source("nothing", "protocol Nothing { role A }")).diagnostics is not None
    gc.freeze()


def _run_in_copy(job: Job, requests: IO[bytes], replies: IO[bytes]) -> int:
    """Answer in a copy of this process; return how that has ended. If nobody waits any more, end with it."""
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
    if reading not in ready:  # nothing is sent while an item is answered: that is the end of the other side
        os.kill(process, signal.SIGKILL)
        os._exit(0)
    os.close(reading)
    os.close(ours)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _end_with(lifeline: int) -> None:
    """End this process when the one at the other end of the pipe has ended."""
    os.read(lifeline, 1)
    os._exit(1)


def _run_in_thread(job: Job, replies: IO[bytes]) -> None:
    """Answer in a thread that may go deep."""
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
        except OSError:  # nobody waits for it any more
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
    except Exception as problem:  # a mistake of ours spoils one item, and not the sweep
        tell("wrong", f"this is a bug in cplc: {type(problem).__name__}: {problem}")


if __name__ == "__main__":
    main()
