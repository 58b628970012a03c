"""Items in processes of their own: limits hold, what was told counts, and nobody is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cplc.sweeping.apart import Abandoned, Apart, memory_of
from cplc.sweeping.items import Item, Limits, Options, Text

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")

_EXAMPLES = Path(__file__).parents[2] / "examples"


def _item(name: str, ask: Options, **parameters: str) -> Item:
    path = _EXAMPLES / name
    return Item(Text(str(path), path.read_text(encoding="utf-8")), ask, tuple(parameters.items()))


_SMALL = _item("purchase.cpl", Options("stats"))
_ENDLESS = _item("dining_cryptographers.cpl", Options("stats", engine="explicit"), n="40")


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    found = Apart()
    yield found
    found.end()


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_item_is_answered_and_the_process_stays(apart: Apart) -> None:
    (row,) = apart.rows(_SMALL, Limits())
    process = apart._process
    assert dict(row.figures)["states"] == "473"
    assert apart.rows(_SMALL, Limits()) == (row,)
    assert apart._process is process


def test_time_and_memory_are_limited_and_the_next_item_is_not_harmed(apart: Apart) -> None:
    (slow,) = apart.rows(_ENDLESS, Limits(seconds=0.5))
    (large,) = apart.rows(_ENDLESS, Limits(memory=90 * 2**20))
    (small,) = apart.rows(_SMALL, Limits(60, 2**30))
    assert (slow.answer, slow.reason) == ("unknown", "the time limit of 0.5 s was reached")
    assert (large.answer, large.reason) == ("unknown", "the memory limit of 90 MB was reached")
    assert small.is_settled


def test_what_was_answered_before_a_limit_counts(apart: Apart) -> None:
    item = _item("dining_cryptographers.cpl", Options(engine="explicit"), n="12")
    rows = apart.rows(item, Limits(seconds=1))
    assert len(rows) == 5
    assert {row.answer for row in rows} == {"unknown"}
    assert [row.subject for row in rows][:1] == ["correct"]


def test_what_is_wrong_is_an_error(apart: Apart) -> None:
    (row,) = apart.rows(_item("netbill.cpl", Options(), customers="900"), Limits())
    assert row.answer == "error"
    assert "cannot be 900" in row.reason


def test_a_process_that_somebody_ends_is_unknown_and_replaced(apart: Apart) -> None:
    apart.rows(_SMALL, Limits())
    assert apart._process is not None
    process = apart._process.pid

    def end_it() -> None:
        time.sleep(0.2)
        os.kill(process, signal.SIGKILL)

    threading.Thread(target=end_it).start()
    (row,) = apart.rows(_ENDLESS, Limits(seconds=20))
    assert row.reason == "the process that worked on it has ended"
    assert apart.rows(_SMALL, Limits())[0].is_settled


def test_nobody_works_on_what_nobody_waits_for() -> None:
    apart = Apart()
    processes: list[int] = []

    def wanted() -> bool:
        if apart._process is not None:
            children = Path(f"/proc/{apart._process.pid}/task/{apart._process.pid}/children")
            if children.exists():
                processes.extend(map(int, children.read_text(encoding="ascii").split()))
        return not processes

    with pytest.raises(Abandoned):
        apart.rows(_ENDLESS, Limits(seconds=20), _for(5, wanted))
    assert apart._process is None
    _until(lambda: not any(map(_is_there, processes)))


def _for(seconds: float, wanted: Callable[[], bool]) -> Callable[[], bool]:
    """Return the same, but where nothing can be seen not for ever."""
    end = time.monotonic() + seconds
    return lambda: wanted() and time.monotonic() < end


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_memory_is_that_of_the_process() -> None:
    assert memory_of(os.getpid()) > 2**20
    assert memory_of(2**22 + 1) == 0
