"""Each example and library file of the first version: what is remarked on, how it is migrated, and what it then says.

`tests/golden/version_1` has the files as they were, and beside each `.cpl` a `.txt` with what became of it. A
`.verdicts.txt` names the verdicts that are not as the file expects, and below them says why each has changed.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from cplc.compilation import CplCompilation
from cplc.compilation.automatic_fixes import fix_text
from cplc.source import Source

_ROOT = Path(__file__).parent / "golden" / "version_1"
_FILES = sorted(_ROOT.glob("*/*.cpl"))
_SLOW = {"persuasion.cpl"}
"""Verified by the slow tests only."""


def _compilation(path: Path, text: str) -> CplCompilation:
    return CplCompilation(Source(path.name, text), path)


def _before_and_after(path: Path) -> tuple[str, CplCompilation]:
    """Return what is remarked on and changed, and the migrated file."""
    text = path.read_text(encoding="utf-8")
    before = _compilation(path, text)
    migrated = fix_text(before)
    after = _compilation(path, migrated.text)
    change = difflib.unified_diff(
        text.splitlines(), migrated.text.splitlines(), "version 1", "version 2", "", "", 0, ""
    )
    left = [f"{remark.span}: {remark.message}" for remark in migrated.remarks]
    remarks = [remark.message for remark in before.remarks]
    mistakes = [problem.concise() for problem in after.diagnostics if problem.is_error]
    return "\n".join([*remarks, "", *change, "", "left to the writer:", *left, "mistakes:", *mistakes, ""]), after


def _unexpected(after: CplCompilation) -> str:
    results = after.verify(after.questions())
    names = [one.question.name for one in results if one.answer not in (one.question.expected, "vacuous")]
    return f"not as expected: {', '.join(names) or 'nothing'}\n"


def _compare(path: Path, content: str, *, update: bool) -> None:
    if update:
        path.write_text(content, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == content


@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_file_of_version_1_is_migrated(path: Path, update_golden: bool) -> None:
    content, after = _before_and_after(path)
    _compare(path.with_suffix(".txt"), content, update=update_golden)
    assert after.ok or not after.file.protocols
    assert not after.remarks
    assert after.source.text.startswith("cpl 2\n") or not content.strip().startswith("The file")
    assert fix_text(after).text == after.source.text


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] if path.name in _SLOW else []) for path in _FILES],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_migrated_file_has_the_verdicts_that_are_known(path: Path, update_golden: bool) -> None:
    _, after = _before_and_after(path)
    if not after.file.protocols:
        return
    golden = path.with_suffix(".verdicts.txt")
    _, *reasons = golden.read_text(encoding="utf-8").splitlines(keepends=True)
    unexpected = _unexpected(after)
    _compare(golden, "".join((unexpected, *reasons)), update=update_golden)
    explained = [name for reason in reasons for name in reason.partition(": ")[0].split(", ")]
    assert sorted(explained or ["nothing"]) == sorted(unexpected.removeprefix("not as expected: ").strip().split(", "))
