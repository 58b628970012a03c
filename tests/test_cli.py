"""Every transcript in tests/cli and in the documentation is what the command line says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.literate import ConsoleTest, blocks, check_console, console_tests
from tests.sequences import play, steps, tales

_ROOT = Path(__file__).parents[1]
_TALES = tales()
_TOLD = {page for _, pages in _TALES for page in pages}
_FILES = [
    *sorted((_ROOT / "tests" / "cli").glob("**/*.md")),
    *(
        path
        for path in [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("**/*.md"))]
        if path not in _TOLD and any(block.language == "console" for block in blocks(path))
    ),
]


@pytest.mark.parametrize(
    "test",
    [pytest.param(test, id=f"{path.stem}::{test.name}") for path in _FILES for test in console_tests(path)],
)
def test_transcript(test: ConsoleTest, tmp_path: Path, update_golden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPLC_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "examples").symlink_to(_ROOT / "examples", target_is_directory=True)
    check_console(test, tmp_path, update=update_golden)


@pytest.mark.parametrize("pages", [pytest.param(pages, id=name) for name, pages in _TALES])
def test_pages_that_are_told_in_order(pages: tuple[Path, ...], tmp_path: Path, update_golden: bool) -> None:
    (tmp_path / "examples").symlink_to(_ROOT / "examples", target_is_directory=True)
    play(steps(pages), tmp_path, update=update_golden)
