"""An example in ISPL and the protocol of the same story in CPL agree: on verdicts, and on how many ends there are."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from cplc.compilation import CplCompilation, IsplCompilation, load
from cplc.engines.explicit.engine import ExplicitEngine

_EXAMPLES = Path(__file__).parents[1] / "examples"
_PAYS = "(exists j in 1..n: bill[j].yours)"
_TOLD = "(forall i in 1..n: result[i])"
_ODD = f"({_TOLD} & result[1].odd)"
_EVEN = f"({_TOLD} & !result[1].odd)"
_TWINS = (
    ("AF (odd or even)", f"A F {_TOLD}"),
    ("AG (odd -> (paid1 or paid2 or paid3))", f"AG ({_ODD} -> {_PAYS})"),
    ("AG (even -> (!paid1 and !paid2 and !paid3))", f"AG ({_EVEN} -> !{_PAYS})"),
    ("AG (odd -> K(C1, paid1 or paid2 or paid3))", f"AG ({_ODD} -> K(Crypt[1], {_PAYS}))"),
    ("AG (odd and !paid1 -> !K(C1, paid2))", f"AG ({_ODD} & !bill[1].yours -> !K(Crypt[1], bill[2].yours))"),
    ("AG (odd and !paid1 -> K(C1, paid2))", f"AG ({_ODD} & !bill[1].yours -> K(Crypt[1], bill[2].yours))"),
    ("AG !(odd and !paid3 and K(C1, paid3))", f"AG !({_ODD} & !bill[3].yours & K(Crypt[1], bill[3].yours))"),
    (
        "AG (odd and paid3 -> DK(neighbours, paid3))",
        f"AG ({_ODD} & bill[3].yours -> DK({{Crypt[1], Crypt[2]}}, bill[3].yours))",
    ),
    ("AG (even -> K(C1, !paid2))", f"AG ({_EVEN} -> K(Crypt[1], !bill[2].yours))"),
    ("AG (odd -> K(C1, !paid2))", f"AG ({_ODD} -> K(Crypt[1], !bill[2].yours))"),
)
"""A formula about the dinner in ISPL, in which all act at once, and the same about the dinner message by message."""


def _dinner() -> CplCompilation:
    loaded = load(str(_EXAMPLES / "dining_cryptographers.cpl"))
    assert isinstance(loaded, CplCompilation)
    return loaded


def _dinner_in_ispl() -> IsplCompilation:
    loaded = load(str(_EXAMPLES / "cryptographers.ispl"))
    assert isinstance(loaded, IsplCompilation)
    return loaded


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@pytest.mark.parametrize(("theirs", "ours"), _TWINS, ids=[ours for ours, _ in _TWINS])
def test_twins_give_the_same_verdict(theirs: str, ours: str, engine: Literal["explicit", "symbolic"]) -> None:
    model, protocol = _dinner_in_ispl(), _dinner()
    question = model.formula_question(theirs)
    assert not isinstance(question, tuple), question
    # In ISPL everybody acts in every round; here somebody may fall silent unless that is excluded.
    same = protocol.formula_question(ours, ("all",))
    assert not isinstance(same, tuple), same
    (first,), (second,) = model.verify((question,), engine), protocol.verify((same,), engine)
    assert (first.answer, second.answer) in (("holds", "holds"), ("fails", "fails"))


def test_twins_have_as_many_ends() -> None:
    """There are eight ways for the coins to fall, and four to pay."""
    model, protocol = _dinner_in_ispl(), _dinner()
    assert _count(model, "odd or even") == _count(protocol, _TOLD) == 32
    assert _count(model, "odd") == _count(protocol, _ODD) == 24


def _count(compilation: CplCompilation | IsplCompilation, condition: str) -> int:
    question = compilation.formula_question(condition)
    assert not isinstance(question, tuple), question
    engine = ExplicitEngine(question.system)
    return engine.count(engine.satisfying(question.question.formula))
