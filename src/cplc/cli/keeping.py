"""Verdicts of earlier runs, where the command line may use them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cplc.caching.store import Store
    from cplc.pipeline import Asked
    from cplc.verification.results import Result

_OFF = {"", "0", "off", "no", "false"}

cache_option = click.option(
    "--cache/--no-cache",
    "cache",
    default=None,
    help="Whether to take verdicts from earlier runs and to keep new ones.  [default: yes, but not where CI is set]",
)


def is_wanted(said: bool | None) -> bool:
    """Whether verdicts are kept: as the command line says, or the environment."""
    if said is not None:
        return said
    setting = os.environ.get("CPLC_CACHE")
    return setting.strip().lower() not in _OFF if setting is not None else not os.environ.get("CI")


def answers(
    asked: Sequence[Asked],
    reading: Mapping[str, object],
    verify: Callable[[Sequence[Asked]], Iterator[Result]],
) -> Iterator[Result]:
    """Yield the answers in their order: those that are known from earlier, and those that ``verify`` finds.

    What is unknown may be known with more time or memory, and is not kept.
    """
    from cplc.caching.store import Store, folder

    place = folder()
    keys = _keys(asked, reading)
    if place is None or keys is None:
        yield from verify(asked)
        return
    store = Store(place)
    known = [_known(store, key, one) for key, one in zip(keys, asked, strict=True)]
    found = verify([one for one, result in zip(asked, known, strict=True) if result is None])
    is_new = False
    for one, key, result in zip(asked, keys, known, strict=True):
        if result is None:
            result = next(found)
            is_new |= _keep(store, key, one, result)
        yield result
    if is_new:
        store.trim()


def _keys(asked: Sequence[Asked], reading: Mapping[str, object]) -> list[str] | None:
    """Return the name of each verdict; None where this program cannot be told from others."""
    from cplc.caching.keys import key

    try:
        return [key(reading, one.question) for one in asked]
    except OSError:
        return None


def _known(store: Store, key: str, asked: Asked) -> Result | None:
    from cplc.caching.entries import read

    content = store.get(key)
    return None if content is None else read(content, asked.question, asked.system)


def _keep(store: Store, key: str, asked: Asked, result: Result) -> bool:
    from cplc.caching.entries import written

    if result.answer == "unknown" or result.reason is not None:
        return False
    content = written(result, asked.system)
    if content is None:
        return False
    store.put(key, content)
    return True
