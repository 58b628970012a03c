"""Golden tests of exported protocols; ``--update-golden`` writes the actual text.

Each ``tests/golden/export/PROTOCOL.cpl`` is exported to each target, once for each kind of channels.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from cplc.compilation import CplCompilation, load
from cplc.export import export

_FOLDER = Path(__file__).parents[1] / "golden" / "export"
_SUFFIXES = {
    "smv": ".smv",
    "smv-arctl": ".arctl.smv",
    "ispl": ".ispl",
    "ccs": ".ccs",
    "prism": ".prism",
    "json": ".json",
}
_PROTOCOLS = sorted(path.stem for path in _FOLDER.glob("*.cpl"))


@pytest.mark.parametrize("channels", ["async", "sync"])
@pytest.mark.parametrize("target", _SUFFIXES)
@pytest.mark.parametrize("protocol", _PROTOCOLS)
def test_text(protocol: str, target: str, channels: Literal["async", "sync"], update_golden: bool) -> None:
    compilation = load(str(_FOLDER / f"{protocol}.cpl"), channels=channels)
    assert isinstance(compilation, CplCompilation)
    assert compilation.ok
    request = compilation.to_be_exported(compilation.declared_questions())
    exported = export(target, replace(request, origin=replace(request.origin, source=f"{protocol}.cpl", version="1.0")))
    assert len(exported.written) + len(exported.notes) == len(request.formulas) + len(request.left_out)
    texts = {_SUFFIXES[target]: exported.text, **dict(exported.beside)}
    for suffix, text in texts.items():
        golden = _FOLDER / f"{protocol}_{channels}{suffix}"
        if update_golden:
            golden.write_text(text, encoding="utf-8")
        assert text == golden.read_text(encoding="utf-8")
