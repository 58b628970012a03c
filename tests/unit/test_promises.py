"""The commitment properties of NetBill depend on what its messages mean, and find real violations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cplc.compilation import CplCompilation
from cplc.source import Source

_NETBILL = (Path(__file__).parents[2] / "examples" / "netbill.cpl").read_text(encoding="utf-8")


def _answer(text: str, *names: str) -> list[str]:
    compilation = CplCompilation(Source("netbill.cpl", text))
    assert compilation.ok, [one.concise() for one in compilation.diagnostics if one.is_error]
    return [result.answer for result in compilation.verify(compilation.questions(names))]


def _formula(formula: str) -> str:
    return _answer(_NETBILL.rstrip().removesuffix("}") + f"  property asked: {formula}\n}}\n", "asked")[0]


def test_netbill_without_meanings_fulfils_nothing() -> None:
    assert _answer(_NETBILL, "safe", "reachable") == ["holds", "holds"]
    assert _answer(re.sub(r"means [^\n/]*?(?=restart|//|\n)", "", _NETBILL), "reachable") == ["fails"]


def test_netbill_without_meanings_for_goods_is_not_safe() -> None:
    assert _answer(re.sub(r"means \w+ goods", "", _NETBILL), "safe") == ["fails"]


@pytest.mark.parametrize(
    ("formula", "answer"),
    [
        ("EF (C(Mer -> Cus[1], deliver[1]) & EG !Fu(Mer -> Cus[1], deliver[1]))", "holds"),
        (
            "EF (C(Mer -> Cus[1], deliver[1]) & !E[C(Mer -> Cus[1], deliver[1]) U Fu(Mer -> Cus[1], deliver[1])])",
            "holds",
        ),
        ("EF (violated(goods[1]) & C(Mer -> Cus[1], true))", "fails"),
        ("AG (Fu(goods[1], deliver[1]) <-> fulfilled(goods[1]))", "holds"),
    ],
)
def test_netbill_violations_are_found(formula: str, answer: str) -> None:
    assert _formula(formula) == answer
