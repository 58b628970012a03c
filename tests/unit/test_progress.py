"""How far a search has come is said while it goes on, and room is asked for before it is taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cplc.cli.limits import Interrupted, Limits, compute_supervised
from cplc.cli.output import Progress, be_quiet, with_progress
from cplc.compilation import CplCompilation, load
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.runtime import limits, progress
from cplc.runtime.limits import ResourceExhausted, TooLarge, require_memory, set_memory_limit

_EXAMPLE = Path(__file__).parents[2] / "examples" / "netbill.cpl"


@pytest.fixture(autouse=True)
def nothing_said() -> Iterator[None]:
    progress.report(None)
    yield
    progress.report(None)
    set_memory_limit(None)


def _compilation() -> CplCompilation:
    found = load(str(_EXAMPLE), {"customers": "3"})
    assert isinstance(found, CplCompilation)
    return found


def test_an_exploration_says_how_many_states_there_are() -> None:
    engine = ExplicitEngine(_compilation().system)
    count = engine.count(engine.reachable)
    assert progress.text() == f"{count:,} states, 0 of them unexplored"
    assert with_progress("counting") == f"counting: {progress.text()}"


def test_passes_are_counted_until_something_else_begins() -> None:
    progress.report_iteration(10)
    progress.report_iteration(2000)
    assert progress.text() == "iteration 2, 2,000 nodes"
    progress.report(None)
    assert with_progress("verifying") == "verifying"


def test_a_quiet_command_shows_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cplc.cli.output._is_terminal", lambda *, err: True)
    monkeypatch.setenv("TERM", "xterm")
    with click.Context(click.Command("verify")) as context:
        loud = Progress(lambda: "working")
        be_quiet(context)
        quiet = Progress(lambda: "working")
        for one in (quiet, loud):
            one._began -= 5
            one._last -= 5
        quiet.show()
        assert capsys.readouterr().err == ""
        loud.show()
        assert "working … 5 s" in capsys.readouterr().err


def test_what_is_not_left_is_not_taken() -> None:
    set_memory_limit(lambda: 100)
    require_memory(100, "a table")
    with pytest.raises(TooLarge, match="a table needs more memory than is left"):
        require_memory(101, "a table")


def test_a_table_of_states_does_not_double_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cplc.statespace.packing._SMALL", 4)
    set_memory_limit(lambda: 1)
    with pytest.raises(TooLarge, match="a table of more than"):
        _ = ExplicitEngine(_compilation().system).reachable


def test_supervised_work_knows_what_is_left() -> None:
    def work() -> int:
        left = limits._bytes_left[0]
        assert left is not None
        return left()

    assert compute_supervised(work, Limits(memory=2**40), waiting=lambda: None) > 2**39


def test_an_engine_that_gives_up_is_no_bug() -> None:
    def work() -> int:
        raise ResourceExhausted("more than 10 reachable states")

    with pytest.raises(Interrupted, match="more than 10 reachable states"):
        compute_supervised(work, Limits(), waiting=lambda: None)
