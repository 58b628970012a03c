"""Every protocol of the standard library means what its properties say, and is checked without an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cplc.pipeline import Compilation
from cplc.resources import shipped
from cplc.source import Source

_FILES = sorted(path for path in Path(str(shipped("stdlib"))).glob("*.cpl"))
_PROTOCOLS = [
    (path, name) for path in _FILES for name in re.findall(r"^protocol (\w+)", path.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize(("path", "name"), _PROTOCOLS, ids=[f"{path.stem}-{name}" for path, name in _PROTOCOLS])
def test_answers_are_as_expected(path: Path, name: str) -> None:
    compilation = Compilation(Source(path.name, path.read_text("utf-8")), path, protocol=name)
    assert compilation.ok, [str(problem.message) for problem in compilation.diagnostics]
    results = list(compilation.verify(compilation.questions()))
    assert [result.question.name for result in results if not result.as_expected] == []
    failing = {result.question.name for result in results if result.answer == "fails"}
    assert failing, "a protocol shows at least one property that fails"
    assert len(failing) < len(results)
