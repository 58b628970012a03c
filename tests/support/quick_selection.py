"""Selection of `make quick`: a sample of the cases of every short test, within a budget of processor time.

The number of cases of a parametrised test that run is proportional to its square root; they are evenly spread. Test
functions in `golden/long_tests.json`, with more than `LONG_SECONDS` for each case, are left out: `--record-long-tests`
runs the sample with them and rewrites the list. A test with the marker `quick` runs in any case, with `cases=N` so many
of its cases. Time is that of the processor, of this process and of those that it started, so that other work on the
machine does not count.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Collection, Generator, Sequence
from math import ceil, sqrt
from pathlib import Path
from typing import Final, TypeVar

import pytest

BUDGET_SECONDS: Final = 60.0
LONG_SECONDS: Final = 0.06
"""Mean time of a case above which a test function is left out."""
REPORTED_SECONDS: Final = 0.8
"""A case that takes more is reported; machines differ, and the first test of a module may prepare much."""
SAMPLE_FACTOR: Final = 1.5
LONG_TESTS: Final = Path(__file__).parents[1] / "golden" / "long_tests.json"

T = TypeVar("T")


def sample(cases: Sequence[T], count: int | None = None) -> Sequence[T]:
    """Return so many of the cases, evenly spread; by default proportional to the square root of their number."""
    count = min(len(cases), ceil(SAMPLE_FACTOR * sqrt(len(cases))) if count is None else count)
    if count < 2:
        return cases[:1]
    return [cases[round(position * (len(cases) - 1) / (count - 1))] for position in range(count)]


def function_of(item_name: str) -> str:
    """Return the name of a test function, with its module, without the case."""
    return item_name.partition("[")[0]


def selected(items: Sequence[pytest.Item], long_tests: Collection[str]) -> list[pytest.Item]:
    """Return the tests to run, in their order."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(function_of(item.nodeid), []).append(item)
    chosen: list[pytest.Item] = []
    for function, group in cases.items():
        marker = group[0].get_closest_marker("quick")
        if marker is not None:
            chosen += sample(group, marker.kwargs.get("cases"))
        elif function not in long_tests:
            chosen += (item for item in sample(group) if item.get_closest_marker("slow") is None)
    return chosen


def used_seconds() -> float:
    """Return the processor time of this process and of its ended children."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def long_functions(seconds: dict[str, float]) -> list[str]:
    """Return the test functions whose cases take too long on average."""
    times: dict[str, list[float]] = {}
    for name, spent in seconds.items():
        times.setdefault(function_of(name), []).append(spent)
    return sorted(function for function, each in times.items() if sum(each) / len(each) > LONG_SECONDS)


class QuickSelection:
    """Plugin that selects the tests, measures them and fails a run that exceeds the budget."""

    def __init__(self, recording: bool, budget: float = BUDGET_SECONDS) -> None:
        self.recording = recording
        self.budget = budget
        self.seconds: dict[str, float] = {}
        self.long_tests = frozenset[str]() if recording else read_long_tests()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        chosen = selected(items, self.long_tests)
        retained = set(map(id, chosen))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in retained])
        items[:] = chosen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        begun = used_seconds()
        result = yield
        self.seconds[item.nodeid] = used_seconds() - begun
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.recording:
            LONG_TESTS.write_text(json.dumps(long_functions(self.seconds), indent=0) + "\n", encoding="utf-8")
        elif used_seconds() > self.budget and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = used_seconds()
        terminalreporter.section("processor time")
        terminalreporter.line(f"{total:.1f} s of at most {self.budget:.0f} s", red=total > self.budget)
        for name, seconds in sorted(self.seconds.items(), key=lambda entry: -entry[1])[:8]:
            if seconds > REPORTED_SECONDS and not self.recording:
                terminalreporter.line(f"{seconds:6.1f} s  {name}: shorten it, or make quick-record")


def read_long_tests() -> frozenset[str]:
    """Return the names of the test functions that are left out."""
    return frozenset(json.loads(LONG_TESTS.read_text(encoding="utf-8")))
