"""``python -m cplc.workers.worker_main PREPARE``: runs tasks from standard input, each in a separate process.

With ``fork``, the worker loads grammars and libraries once and forks for each task: no state leaks between tasks, and
memory is that of one task. A task reports the modules that it imported, and the worker imports them before the next.
Without ``fork``, the worker runs one task and exits. It exits with all its children as soon as the other end of the
pipe is closed.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import IO, Literal

from cplc.runtime.context import TooLarge
from cplc.workers.messages import Task, received, send

Kind = Literal["begun", "told", "wrong", "stopped", "ended"]
"""Kinds of messages: a process has started, an output, an error, a resource limit, and the end of a task."""

_STACK_BYTES = 256 * 2**20
_MAX_RECURSION = 20_000
"""Decision diagrams and formulas are deep."""
_COLLECTION_THRESHOLDS = (100_000, 10, 10)
"""Those of the command line: trees and systems live until the end, and scanning them for cycles costs time."""


def main() -> None:
    """Run tasks until the end of standard input."""
    requests, replies = _own_streams()
    if not hasattr(os, "fork"):
        send(replies, ("begun", os.getpid()))
        _run_in_thread(_next_task(requests), replies)
        send(replies, ("ended", 0))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    gc.set_threshold(*_COLLECTION_THRESHOLDS)
    module, _, name = sys.argv[1].partition(":")
    getattr(import_module(module), name)()
    gc.freeze()
    while True:
        try:
            task = _next_task(requests)
        except EOFError:
            return
        code, modules = _run_in_copy(task, requests, replies)
        send(replies, ("ended", code))
        _import_modules(modules)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Reserve standard input and output for messages, and discard other output."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, replies


def _next_task(requests: IO[bytes]) -> Task:
    task = received(requests)
    assert isinstance(task, Task)
    return task


def _import_modules(names: list[str]) -> None:
    """Import the modules that a task needed, so that the next task finds them."""
    missing = [name for name in names if name not in sys.modules]
    for name in missing:
        with suppress(Exception):  # a module may exist under another name only
            import_module(name)
    if missing:
        gc.freeze()


def _run_in_copy(task: Task, requests: IO[bytes], replies: IO[bytes]) -> tuple[int, list[str]]:
    """Run a task in a forked process; return its exit code, and the names of the modules it had at its end.

    Exit with it if the parent closes the pipe.
    """
    before = frozenset(sys.modules)
    reading, writing = os.pipe()
    theirs, ours = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os.close(ours)
        threading.Thread(target=_end_with, args=(theirs,), daemon=True).start()
        send(replies, ("begun", os.getpid()))
        _run_in_thread(task, replies)
        with suppress(OSError), os.fdopen(writing, "w", encoding="utf-8") as stream:
            stream.write("\n".join(name for name in sys.modules if name not in before))
        os._exit(0)
    os.close(writing)
    os.close(theirs)
    ready, _, _ = select.select([requests.fileno(), reading], [], [])
    if reading not in ready:  # the parent sends nothing during a task: it has closed the pipe
        os.kill(process, signal.SIGKILL)
        os._exit(0)
    with os.fdopen(reading, encoding="utf-8") as stream:
        modules = stream.read().split("\n")
    # The lifeline stays open until the process has ended: closed earlier, it would end a process that is about to exit
    # with 0, and a complete task would count as lost.
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(ours)
    return code, modules


def _end_with(lifeline: int) -> None:
    """Exit when the process at the other end of the pipe has ended."""
    os.read(lifeline, 1)
    os._exit(1)


def _run_in_thread(task: Task, replies: IO[bytes]) -> None:
    """Run the task in a thread with a large stack."""
    sys.setrecursionlimit(_MAX_RECURSION)
    threading.stack_size(_STACK_BYTES)
    thread = threading.Thread(target=_send_outputs, args=(task, replies))
    thread.start()
    thread.join()


def _send_outputs(task: Task, replies: IO[bytes]) -> None:
    def tell(kind: Kind, value: object) -> None:
        try:
            send(replies, (kind, value))
        except OSError:  # the parent has ended
            os._exit(1)

    try:
        for output in task.function(*task.arguments):
            tell("told", output)
    except MemoryError:
        tell("stopped", "memory is exhausted")
    except TooLarge as problem:
        tell("stopped", str(problem))
    except Exception as problem:  # a bug fails one task, not the whole run
        tell("wrong", f"this is a bug in cplc: {type(problem).__name__}: {problem}")


if __name__ == "__main__":
    main()
