"""Processes started by a test: their settings, their descendants, and the sockets on which they listen."""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import psutil

_PATIENCE: Final = 60.0
"""Seconds to wait for what takes a fraction of one, so that a busy machine is no failure."""


def setting(module: str, **values: object) -> str:
    """Return Python code that sets constants of a module, each of which exists, in a process that a test starts."""
    before = importlib.import_module(module)
    for name in values:
        assert hasattr(before, name), f"{module} has no {name}"
    return "\n".join(
        [f"import {module} as _module", *(f"_module.{name} = {value!r}" for name, value in values.items())]
    )


def descendants(process: int) -> list[psutil.Process]:
    """Return all processes below this one that have not ended."""
    try:
        children = psutil.Process(process).children(recursive=True)
    except psutil.Error:
        return []
    return [one for one in children if is_alive(one)]


def is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def listening(processes: Iterable[psutil.Process]) -> list[str]:
    """Return the sockets that these processes accept connections or datagrams on."""
    return [
        f"{process.pid}: {one.laddr or one.type}"
        for process in processes
        for one in _sockets(process)
        if one.status == psutil.CONN_LISTEN or (one.laddr and not one.raddr)
    ]


def _sockets(process: psutil.Process) -> list[psutil._common.pconn]:
    with suppress(psutil.Error):
        return list(process.net_connections(kind="all"))
    return []


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that happens soon."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def end(processes: Iterable[psutil.Process]) -> None:
    """End processes that are left."""
    for process in processes:
        with suppress(psutil.Error, OSError):
            os.kill(process.pid, signal.SIGKILL)
