"""Selection of `make quick`: samples, long tests, and the budget."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.support.quick_selection import LONG_SECONDS, function_of, long_functions, read_long_tests, sample

_ROOT: Final = Path(__file__).parents[2]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 400])
def test_sample_is_evenly_spread_with_first_and_last(count: int) -> None:
    cases = range(count)
    chosen = sample(cases)
    assert set(chosen) <= set(cases)
    assert (chosen[0], chosen[-1]) == (0, count - 1) if count else not chosen
    gaps = [after - before for before, after in itertools.pairwise(chosen)]
    assert not gaps or (min(gaps) > 0 and max(gaps) - min(gaps) <= 1)
    assert len(sample(cases, 5)) == min(5, count)


def test_long_functions_are_those_with_long_cases_on_average() -> None:
    seconds = {"a.py::f[1]": 3 * LONG_SECONDS, "a.py::f[2]": 0.0, "a.py::g[1]": 1.9 * LONG_SECONDS, "a.py::g[2]": 0.0}
    assert long_functions(seconds) == ["a.py::f"]


def test_listed_long_tests_exist() -> None:
    texts = {name.partition("::")[0]: "" for name in read_long_tests()}
    for module in texts:
        texts[module] = (_ROOT / module).read_text(encoding="utf-8")
    missing = [
        name
        for name in sorted(read_long_tests())
        if f"def {name.rpartition('::')[2]}(" not in texts[name.partition("::")[0]] and "::Test" not in name
    ]
    assert missing == [], "make quick-record"


_PLUGIN = """
from tests.support.quick_selection import QuickSelection
def pytest_configure(config):
    config.addinivalue_line("markers", "quick: ...")
    config.pluginmanager.register(QuickSelection(False, budget=BUDGET))
"""


@pytest.mark.parametrize(("budget", "code"), [("3600", 0), ("0.01", 1)])
def test_run_over_budget_fails(budget: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_PLUGIN.replace("BUDGET", budget), encoding="utf-8")
    (tmp_path / "test_short.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == code, completed.stdout
    assert f"s of at most {float(budget):.0f} s" in completed.stdout


def test_function_of_a_case_is_its_name_without_the_case() -> None:
    assert function_of("a.py::C::f[x-[y]]") == "a.py::C::f"
