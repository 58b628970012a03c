"""Progress of a search is reported while it runs, and memory is requested before its allocation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from tests.support.interrupted_searches import Keeping

from cplc.cli.limits import Interrupted, Limits, compute_supervised, run_supervised
from cplc.cli.output import Progress, be_quiet, with_progress
from cplc.compilation import CplCompilation, load
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.runtime.context import (
    Budget,
    Cancelled,
    Context,
    ResourceExhausted,
    TooLarge,
    current,
    use_budget,
    use_context,
)

_EXAMPLE = Path(__file__).parents[2] / "examples" / "netbill.cpl"


@pytest.fixture(autouse=True)
def context() -> Iterator[Context]:
    with use_context(Context()) as context:
        yield context


def _compilation() -> CplCompilation:
    compilation = load(str(_EXAMPLE), {"customers": "3"})
    assert isinstance(compilation, CplCompilation)
    return compilation


def test_an_exploration_says_how_many_states_there_are(context: Context) -> None:
    engine = ExplicitEngine(_compilation().system)
    count = engine.count(engine.reachable)
    assert context.progress_text() == f"{count:,} states, 0 of them unexplored"
    assert with_progress("counting", context) == f"counting: {context.progress_text()}"


def test_passes_are_counted_until_something_else_begins(context: Context) -> None:
    context.report_iteration(10)
    context.report_iteration(2000)
    assert context.progress_text() == "iteration 2, 2,000 nodes"
    context.report(None)
    assert with_progress("verifying", context) == "verifying"


def test_a_quiet_command_shows_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cplc.cli.output.is_terminal", lambda **_: True)
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


def test_memory_request_beyond_limit_is_refused() -> None:
    context = Context(bytes_left=lambda: 100)
    context.require_memory(100, "a table")
    with pytest.raises(TooLarge, match="a table needs more memory than is left"):
        context.require_memory(101, "a table")


def test_a_table_of_states_does_not_double_where_there_is_no_room(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cplc.statespace.packing._SMALL", 4)
    context.bytes_left = lambda: 1
    with pytest.raises(TooLarge, match="a table of more than"):
        _ = ExplicitEngine(_compilation().system).reachable


def test_supervised_work_knows_what_is_left() -> None:
    def work() -> int:
        left = current().bytes_left
        assert left is not None
        return left()

    assert compute_supervised(work, Limits(memory=2**40), waiting=lambda: None) > 2**39


def test_an_engine_that_gives_up_is_no_bug() -> None:
    def work() -> int:
        raise ResourceExhausted("more than 10 reachable states")

    with pytest.raises(Interrupted, match="more than 10 reachable states"):
        compute_supervised(work, Limits(), waiting=lambda: None)


def test_two_computations_do_not_see_each_other() -> None:
    """Threads of one process have progress, limits, budgets and stores of their own."""
    met = threading.Barrier(2, timeout=60)
    observed: dict[int, tuple[str, int | None, bool]] = {}

    def compute(number: int) -> None:
        context = current()
        context.report_iteration(number)
        context.limit_memory(lambda: number, number)
        with use_budget(Budget(units=number)):
            met.wait()
            with suppress(ResourceExhausted):
                current().charge(2)
            budget = current().budget
            assert budget is not None
            observed[number] = context.progress_text(), context.memory_limit, budget.is_exhausted

    threads = [threading.Thread(target=compute, args=(number,)) for number in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert observed == {1: ("iteration 1, 1 nodes", 1, True), 3: ("iteration 1, 3 nodes", 3, False)}


def test_supervised_searches_report_to_their_own_context(context: Context) -> None:
    """Two verifications at the same time: each caller sees the states of its own search, and cancels only that."""
    contexts = {customers: Context() for customers in ("2", "3")}
    begun = threading.Barrier(2, timeout=60)
    counts: dict[str, int] = {}

    def verify(customers: str) -> None:
        loaded = load(str(_EXAMPLE), {"customers": customers})
        assert isinstance(loaded, CplCompilation)

        def work() -> Iterator[int]:
            begun.wait()
            engine = ExplicitEngine(loaded.system)
            yield engine.count(engine.reachable)

        (counts[customers],) = run_supervised(work(), Limits(), waiting=lambda: None, context=contexts[customers])

    threads = [threading.Thread(target=verify, args=(customers,)) for customers in contexts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = {customers: one.progress_text() for customers, one in contexts.items()}
    assert texts == {customers: f"{count:,} states, 0 of them unexplored" for customers, count in counts.items()}
    assert counts["2"] < counts["3"]
    assert context.progress is None


def test_cancelled_search_saves_itself_and_ends(context: Context) -> None:
    store = Keeping()
    context.store = store
    context.cancel()
    with pytest.raises(Cancelled):
        _ = ExplicitEngine(_compilation().system).reachable
    assert store.content
    context = Context(store=store)
    with use_context(context):
        engine = ExplicitEngine(_compilation().system)
        assert engine.count(engine.reachable) == 21**3
