"""Selection of `make quick`: a sample of every test that is short, within a budget of processor time.

The number of cases of a parametrised test that run is proportional to its square root; they are evenly spread. Tests in
`golden/long_tests.json` are left out: `--record-long-tests` runs the sample with them and rewrites the list. Tests with
the marker `quick` run in any case. Time is that of the processor, of this process and of those that it started, so that
other work on the machine does not count.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Generator, Sequence
from math import ceil, sqrt
from pathlib import Path
from typing import Final, TypeVar

import pytest

BUDGET_SECONDS: Final = 60.0
LONG_SECONDS: Final = 0.15
"""A test that takes more is left out."""
REPORTED_SECONDS: Final = 0.6
"""A test that takes more is reported; machines and their load differ."""
SAMPLE_FACTOR: Final = 1.5
LONG_TESTS: Final = Path(__file__).parents[1] / "golden" / "long_tests.json"

T = TypeVar("T")


def sample(cases: Sequence[T]) -> Sequence[T]:
    """Return a number of them proportional to the square root, evenly spread, the first and the last included."""
    count = min(len(cases), ceil(SAMPLE_FACTOR * sqrt(len(cases))))
    if count < 2:
        return cases
    return [cases[round(position * (len(cases) - 1) / (count - 1))] for position in range(count)]


def used_seconds() -> float:
    """Return the processor time of this process and of its ended children."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class QuickSelection:
    """Plugin that selects the tests, measures them and fails a run that exceeds the budget."""

    def __init__(self, recording: bool) -> None:
        self.recording = recording
        self.seconds: dict[str, float] = {}
        self.long_tests = frozenset(json.loads(LONG_TESTS.read_text(encoding="utf-8")))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        cases: dict[str, list[pytest.Item]] = {}
        for item in items:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
        selected = [
            item
            for group in cases.values()
            for item in sample(group)
            if item.get_closest_marker("quick") is not None
            or (item.get_closest_marker("slow") is None and (self.recording or item.nodeid not in self.long_tests))
        ]
        retained = set(map(id, selected))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in retained])
        items[:] = selected

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        begun = used_seconds()
        result = yield
        self.seconds[item.nodeid] = used_seconds() - begun
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.recording:
            names = [name for name, seconds in sorted(self.seconds.items()) if seconds > LONG_SECONDS]
            LONG_TESTS.write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")
        elif used_seconds() > BUDGET_SECONDS and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = used_seconds()
        terminalreporter.section("processor time")
        terminalreporter.line(f"{total:.1f} s of at most {BUDGET_SECONDS:.0f} s", red=total > BUDGET_SECONDS)
        for name, seconds in sorted(self.seconds.items(), key=lambda entry: -entry[1]):
            if seconds > REPORTED_SECONDS and not self.recording:
                terminalreporter.line(f"{seconds:6.1f} s  {name}: shorten it, or make quick-record")
