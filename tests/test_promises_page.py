"""The table of NetBill's states in the manual says what `C` and `Fu` are in each of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cplc.compilation import CplCompilation, load

_ROOT = Path(__file__).parents[1]
_PAGE = (_ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
_SENT = {
    "s1": ("request",),
    "s2": ("request", "offer"),
    "s3": ("request", "offer", "accept"),
    "s4": ("request", "offer", "accept", "pay"),
    "s5": ("request", "offer", "accept", "pay", "deliver"),
    "s6": ("request", "offer", "accept", "pay", "fail"),
}
_ROWS = [
    [cell.strip().strip("`") for cell in line.strip("|").split("|")]
    for line in _PAGE.splitlines()
    if re.match(r"\| (s\d|state) ", line)
]


def _is_true(compilation: CplCompilation, formula: str) -> bool:
    question = compilation.formula_question(formula)
    assert not isinstance(question, tuple), question
    (result,) = compilation.verify([question])
    return result.answer == "holds"


@pytest.mark.parametrize("row", _ROWS[1:], ids=lambda row: row[0])
def test_state_is_as_the_page_says(row: list[str]) -> None:
    state, goods, payment, *modalities = row
    loaded = load(str(_ROOT / "examples" / "netbill.cpl"))
    assert isinstance(loaded, CplCompilation)
    compilation = replace(loaded, channels="sync")
    messages = [message.name for message in compilation.model.messages]
    here = " & ".join(f"{'' if name[:-3] in _SENT[state] else '!'}{name}" for name in messages)
    assert _is_true(compilation, f"EF ({here})")
    assert _is_true(compilation, f"AG ({here} -> {goods}(goods[1]) & {payment}(payment[1]))")
    for heading, value in zip(_ROWS[0][3:], modalities, strict=True):
        formula = re.sub(r"\b(deliver|pay)\b", r"\1[1]", heading.replace("Cus", "Cus[1]"))
        assert _is_true(compilation, f"AG ({here} -> {'' if value == 'yes' else '!'}{formula})"), formula


def test_page_has_every_state() -> None:
    assert [row[0] for row in _ROWS[1:]] == list(_SENT)
