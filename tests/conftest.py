"""Options and settings of the whole suite."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests.support.quick_selection import QuickSelection
from tests.support.random_examples import DEFAULT_EXAMPLES, PROFILE, scaled

# Deterministic everywhere: a test that fails, fails again.
settings.register_profile(
    PROFILE,
    derandomize=True,
    deadline=None,
    max_examples=scaled(DEFAULT_EXAMPLES),
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(PROFILE)


# What the parent ignores (`nohup`, a shell without job control, some build systems) is inherited through every program
# that is started, and tests send these signals. A handler that does nothing ignores them here, too, but a program that
# is started has the default again.
for _number in (getattr(signal, _name) for _name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, _name)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the output as the expected output")
    parser.addoption("--record-long-tests", action="store_true", help="list the tests that `make quick` leaves out")


def pytest_configure(config: pytest.Config) -> None:
    if PROFILE == "quick":
        config.pluginmanager.register(QuickSelection(bool(config.getoption("--record-long-tests"))))


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what the developer has set for `cplc` out of the tests."""
    for name in ("CPLC_OUTPUT_FORMAT", "CPLC_DEBUG", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    os.unsetenv("COLUMNS")  # readline sets it for child processes, and not in `os.environ`
    # Each test computes its verdicts, unless it is about cached ones.
    monkeypatch.setenv("CPLC_CACHE", "off")
    monkeypatch.setenv("CPLC_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("CPLC_CACHE_KEY", "the key of the tests")


@pytest.fixture(autouse=True)
def restored_signals() -> Iterator[None]:
    """Restore the handlers of signals: after a run that was stopped, a process outlasts further requests to end."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    before = {number: signal.getsignal(number) for name in names if (number := getattr(signal, name, None)) is not None}
    yield
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


_SEVERAL_TESTS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""Processes of the standard library that stay until the interpreter ends."""


def _left(since: float = 0.0) -> list[str]:
    """End the processes that tests have started since then and have not ended; return what they were."""
    try:
        import psutil
        from tests.support.processes import descendants, end
    except ImportError:  # nothing can be seen without it
        return []
    complaints = []
    for process in descendants(os.getpid()):
        try:
            command = " ".join(process.cmdline())
            if process.create_time() < since or any(one in command for one in _SEVERAL_TESTS):
                continue
        except psutil.Error:
            continue
        complaints.append(f"{process.pid}: {command}")
        end([process])
    return complaints


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    """End what a failed test leaves behind, which it would have ended had it gone on."""
    report = yield
    if call.when == "call" and call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        _left(since=call.start - 1)
    return report


@pytest.fixture(scope="session", autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Fail if a process of a test outlives the tests; end it in any case."""
    yield
    assert _left() == [], "processes that tests have left behind; they are ended now"
