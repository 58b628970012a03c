"""In every example and library protocol, the promises of one role to another can be kept together in every state.

Otherwise `C` of the pair is vacuously true in some state. Protocols that are built to be stuck are listed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cplc.compilation import CplCompilation, load

_ROOT = Path(__file__).parents[1]
_BUILT_TO_BE_STUCK = frozenset({"LabOrderStuck", "PurchaseNonlive"})
_PROTOCOLS = [
    pytest.param(path, name, id=f"{folder}-{path.stem}-{name}")
    for folder in ("examples", "stdlib")
    for path in sorted((_ROOT / folder).glob("**/*.cpl"))
    for name in re.findall(r"^protocol (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize(("path", "name"), _PROTOCOLS)
def test_promises_of_a_pair_can_be_kept_together(path: Path, name: str) -> None:
    loaded = load(str(path))
    assert isinstance(loaded, CplCompilation)
    compilation = replace(loaded, protocol=name)
    pairs = dict.fromkeys(f"{one.debtor} -> {one.creditor}" for one in compilation.system.commitments)
    stuck = []
    for pair in pairs:
        question = compilation.formula_question(f"EF C({pair}, false)")
        assert not isinstance(question, tuple)
        if question.question.unsupported:
            pytest.skip(question.question.unsupported)
        (result,) = compilation.verify([question])
        assert result.answer in ("holds", "fails"), result.reason
        stuck += [pair] if result.answer == "holds" else []
    assert bool(stuck) == (name in _BUILT_TO_BE_STUCK), stuck
