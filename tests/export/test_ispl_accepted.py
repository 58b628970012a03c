"""Exported ISPL has no errors and no constructs that MCMAS reads differently."""

from __future__ import annotations

from pathlib import Path

import pytest

from cplc.compilation import CplCompilation, IsplCompilation, load
from cplc.source import Source

_EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.cpl"))


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: str(path.stem))
def test_exported_example_has_no_ispl_diagnostics(path: Path) -> None:
    compilation = load(str(path))
    assert isinstance(compilation, CplCompilation)
    exported = compilation.export("ispl", compilation.declared_questions())
    reading = IsplCompilation(Source("exported.ispl", exported.text))
    serious = [one.concise() for one in reading.diagnostics if one.is_error or one.code == "other-dialect"]
    assert serious == []
    assert len(reading.model.specifications) == len(exported.written)
