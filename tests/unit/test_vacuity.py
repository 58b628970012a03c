"""Verdicts that hide something come with a remark."""

from __future__ import annotations

from typing import Literal

import pytest

from cplc.pipeline import Compilation
from cplc.source import Source
from cplc.verification.results import Result

TEXT = """protocol P %s {
  role A
  role B
  commitment c = C(A, B, true, done)
  A -> B : offer  means create c
  A -> B : done   after offer
  A -> B : never  if false
  property p: %s
}
"""


def answer(formula: str, engine: Literal["explicit", "symbolic"], channels: str = "") -> Result:
    compilation = Compilation(Source("p.cpl", TEXT % (channels, formula)))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    (result,) = compilation.verify(compilation.questions(), engine)
    return result


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("AG (never -> AF done)", "vacuous"),
        ("AG (violated(c) -> AF done)", "vacuous"),
        ("AG (offer -> AF (done | !done))", "holds"),
        ("never -> done", "vacuous"),
        ("done -> never", "holds"),
        ("AG !(never & !done)", "holds"),
        ("!((never -> done) & offer)", "holds"),
        ("AG (!(never -> done) -> offer)", "vacuous"),
        ("AG (offer -> (violated(c) -> done))", "vacuous"),
        ("AG (EF violated(c) -> done)", "vacuous"),
        ("AG (never -> done) & AG !done", "fails"),
        ("EF (never -> offer)", "vacuous"),
        ("A G (never -> F G done)", "vacuous"),
        ("A G F (never -> X done)", "vacuous"),
        ("A G (does(never) -> F done)", "vacuous"),
        ("A G (does(offer) -> F (done | !done))", "holds"),
        ("A G ((done & X !done) -> F never)", "vacuous"),
        ("A{!does(offer)} G (does(offer) -> X done)", "vacuous"),
        ("A G (does(offer) -> X offer)", "holds"),
        ("A G ((O does(never)) -> done)", "holds"),
    ],
)
def test_implications_that_never_apply(formula: str, verdict: str, engine: Literal["explicit", "symbolic"]) -> None:
    result = answer(formula, engine)
    assert result.answer == verdict
    assert {remark.code for remark in result.remarks} == ({"vacuous-implication"} if verdict == "vacuous" else set())
    assert result.as_expected == (verdict != "fails")


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_accessibility_that_always_leads_somewhere(engine: Literal["explicit", "symbolic"]) -> None:
    result = answer("AG (active(c) -> C(A -> B, done | !done))", engine, "sync")
    assert result.answer == "holds"
    assert result.remarks == ()


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_a_state_that_sees_nothing_is_shown(engine: Literal["explicit", "symbolic"]) -> None:
    # Keeping the first promise makes the second one active: no state keeps what is promised while both are not.
    text = """protocol P {
  role A
  role B
  commitment one = C(A, B, true, x)
  commitment two = C(A, B, x, y)
  A -> B : sign     means create one, create two
  A -> B : x        after sign
  A -> B : y        after x
  property p: AG (sign & !x -> C(A -> B, false))
}
"""
    compilation = Compilation(Source("p.cpl", text))
    assert compilation.ok
    (result,) = compilation.verify(compilation.questions(), engine)
    assert result.answer == "holds"
    (remark,) = result.remarks
    assert remark.code == "not-serial"
    assert remark.state is not None
    assert (remark.state["one"], remark.state["two"]) == ("active", "conditional")


FAMILIES = """protocol P(n: 0..3 = 0) {
  role A
  role B
  role Cus[n]
  for c in Cus { A -> c : m }
  A -> B : x
  fact everyone = forall c in Cus: m[c]
  for i in 1..2 { fact before = forall j in 1..(i - 1): x }
  property p: %s
}
"""


@pytest.mark.parametrize(
    ("formula", "quantifiers"),
    [
        ("AF (forall c in Cus: m[c])", ["forall c in Cus"]),
        ("forall c in Cus: AF m[c]", ["forall c in Cus"]),
        ("AG !(exists c in Cus: m[c])", ["exists c in Cus"]),
        ("AG ((exists c in Cus: m[c]) -> x)", ["exists c in Cus"]),
        ("AF everyone | AF !everyone", ["forall c in Cus"]),
        ("AF (forall i in 1..0: forall c in Cus: m[c])", ["forall i in 1..0"]),
        ("EF (x & (forall c in Cus: m[c]) & !(exists c in Cus: m[c]))", ["forall c in Cus", "exists c in Cus"]),
        ("EF (x | (exists c in Cus: m[c]))", []),
        ("AG ((forall c in Cus: m[c]) -> (EF x | x))", []),
        ("EF (x & ((forall c in Cus: m[c]) <-> x))", []),
        ("EF (forall i in 1..2: forall j in 1..(i - 1): x)", []),
        ("EF (before[1] & before[2])", []),
        ("EF before[1]", ["forall j in 1..(i - 1)"]),
        ("AG !everyone", None),
    ],
)
def test_quantifiers_that_range_over_nothing(formula: str, quantifiers: list[str] | None) -> None:
    compilation = Compilation(Source("p.cpl", FAMILIES % formula))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    asked = (*compilation.questions(), compilation.formula_question(formula))
    for one in asked:
        assert not isinstance(one, tuple)
        (result,) = compilation.verify([one])
        if quantifiers is None:
            assert result.answer == "fails"
        else:
            said = [f"there is nothing that `{quantifier}` ranges over" for quantifier in quantifiers]
            assert [remark.message for remark in result.remarks] == said
            assert result.answer == ("vacuous" if quantifiers else "holds")
