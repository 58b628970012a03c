"""Options and settings of the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Deterministic everywhere: a test that fails, fails again.
settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("CPLC_TEST_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what comes out as what is expected")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what the developer has set for `cplc` out of the tests."""
    for name in ("CPLC_OUTPUT_FORMAT", "CPLC_DEBUG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    # A verdict is found anew each time, unless a test is about those that are not.
    monkeypatch.setenv("CPLC_CACHE", "off")
    monkeypatch.setenv("CPLC_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
