"""Result cache used by the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from cplc.checking.results import Result
    from cplc.compilation import BoundQuestion

_OFF = {"", "0", "off", "no", "false"}

cache_option = click.option(
    "--cache/--no-cache",
    "cache",
    default=None,
    help="Reuse results of earlier runs, and store new ones.  [default: yes, unless CI is set]",
)


def is_enabled(option: bool | None) -> bool:
    """Return whether the cache is enabled: by the option, else by the environment."""
    if option is not None:
        return option
    setting = os.environ.get("CPLC_CACHE")
    return setting.strip().lower() not in _OFF if setting is not None else not os.environ.get("CI")


class ResultStore(Protocol):
    """A store of encoded results, by key."""

    def get(self, key: str, /) -> bytes | None: ...
    def put(self, key: str, content: bytes, /) -> None: ...
    def trim(self) -> None: ...


def shared_store() -> ResultStore | None:
    """Return the cache shared by all runs, if there is a folder for it."""
    from cplc.caching.entry_store import EntryStore, cache_folder

    place = cache_folder()
    return None if place is None else EntryStore(place)


def verify_cached(
    questions: Sequence[BoundQuestion],
    reading: Mapping[str, object],
    verify: Callable[[Sequence[BoundQuestion]], Iterator[Result]],
    stores: Sequence[ResultStore],
) -> Iterator[Result]:
    """Yield the results in order: cached ones, and those computed by ``verify``.

    Unknown results are not cached: more time or memory may decide them.
    """
    keys = _keys(questions, reading) if stores else None
    if keys is None:
        yield from verify(questions)
        return
    cached_results = [_cached_result(stores, key, one) for key, one in zip(keys, questions, strict=True)]
    new_results = verify([one for one, result in zip(questions, cached_results, strict=True) if result is None])
    is_new = False
    for one, key, result in zip(questions, keys, cached_results, strict=True):
        if result is None:
            result = next(new_results)
            is_new |= _store_result(stores, key, one, result)
        yield result
    if is_new:
        for store in stores:
            store.trim()


def _keys(questions: Sequence[BoundQuestion], reading: Mapping[str, object]) -> list[str] | None:
    """Return the cache key of each question; None if the program cannot be fingerprinted."""
    from cplc.caching.cached_results import result_key

    try:
        return [result_key(reading, one.question) for one in questions]
    except OSError:
        return None


def _cached_result(stores: Sequence[ResultStore], key: str, question: BoundQuestion) -> Result | None:
    from cplc.caching.cached_results import decode_result

    for store in stores:
        content = store.get(key)
        result = None if content is None else decode_result(content, question.question, question.system)
        if result is not None and _evidence_replays(result):
            return result
    return None


def _evidence_replays(result: Result) -> bool:
    """Return whether the cached evidence, if there is any, replays in the system: the cache is not trusted."""
    from cplc.checking.replay import replay

    return result.evidence is None or not replay(result.system, result.evidence, result.question.assuming)


def _store_result(stores: Sequence[ResultStore], key: str, question: BoundQuestion, result: Result) -> bool:
    from cplc.caching.cached_results import encode_result

    if result.answer == "unknown" or result.reason is not None:
        return False
    content = encode_result(result, question.system)
    if content is None:
        return False
    for store in stores:
        store.put(key, content)
    return True
