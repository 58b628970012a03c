"""Every model in tests/language has the diagnostics and verdicts that it announces, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.literate.language import LanguageTest, check_language, language_tests

_FILES = sorted((Path(__file__).parent / "language").glob("**/*.md"))


@pytest.mark.quick(cases=50)
@pytest.mark.parametrize(
    "test",
    [pytest.param(test, id=f"{path.stem}::{test.name}") for path in _FILES for test in language_tests(path)],
)
def test_announced_diagnostics_and_verdicts(test: LanguageTest, tmp_path: Path) -> None:
    check_language(test, tmp_path)
