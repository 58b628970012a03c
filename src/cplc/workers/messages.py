"""Tasks of worker processes, and values on the pipes to them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import IO, Any

from cplc.records import dataclass


@dataclass(frozen=True)
class Task:
    """A call of a function of a module, which yields outputs; both are pickled."""

    function: Callable[..., Iterator[object]]
    arguments: tuple[Any, ...]


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
