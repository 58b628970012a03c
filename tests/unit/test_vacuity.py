"""Verdicts that hide something come with a remark."""

from __future__ import annotations

from typing import Literal

import pytest

from cplc.checking.results import Question, Result
from cplc.checking.verify import verify
from cplc.compilation import CplCompilation
from cplc.logic.formulas import Not, Or
from cplc.source import Source

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
    compilation = CplCompilation(Source("p.cpl", TEXT % (channels, formula)))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    (result,) = compilation.verify(compilation.declared_questions(), engine)
    return result


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("AG (never -> AF done)", "vacuous"),
        ("AG (violated(c) -> AF done)", "vacuous"),
        ("AG (offer -> AF (done | offer))", "holds"),
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
        ("A G (does(offer) -> F (done | sent(offer)))", "holds"),
        ("A G ((done & X !done) -> F never)", "vacuous"),
        ("A{!does(offer)} G (does(offer) -> X done)", "vacuous"),
        ("A G (does(offer) -> X offer)", "holds"),
        ("A G ((O does(never)) -> done)", "holds"),
    ],
)
def test_implication_with_unsatisfied_antecedent_is_vacuous(
    formula: str, verdict: str, engine: Literal["explicit", "symbolic"]
) -> None:
    result = answer(formula, engine)
    assert result.answer == verdict
    assert {remark.code for remark in result.remarks} == ({"vacuous-implication"} if verdict == "vacuous" else set())
    assert result.as_expected == (verdict != "fails")


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_accessibility_that_always_leads_somewhere(engine: Literal["explicit", "symbolic"]) -> None:
    result = answer("AG (active(c) -> C(A -> B, done -> offer))", engine, "sync")
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
    compilation = CplCompilation(Source("p.cpl", text))
    assert compilation.ok
    (result,) = compilation.verify(compilation.declared_questions(), engine)
    assert result.answer == "holds"
    (remark,) = result.remarks
    assert remark.code == "not-serial"
    assert remark.state is not None
    assert (remark.state["one"], remark.state["two"]) == ("active", "conditional")


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("AG (false -> done)", "vacuous-implication"),
        ("AG (done & false -> offer)", "vacuous-implication"),
        ("AG (1 = 2 -> done)", "vacuous-implication"),
        ("AG (closed(c) -> true)", "vacuous-implication"),
        ("AG (offer -> (done -> true))", "vacuous-implication"),
        ("AG (offer -> done | true)", "vacuous-implication"),
        ("EF (false -> done)", "vacuous-implication"),
        ("AG (offer -> EF (false -> done))", "vacuous-implication"),
        ("A G (done -> X true)", "trivial"),
        ("false -> AF done", "vacuous-implication"),
        ("AG !(done & false)", "trivial"),
        ("AG true", "trivial"),
        ("EF true", "trivial"),
        ("EG true", "trivial"),
        ("A[offer U true]", "trivial"),
        ("E[true U true]", "trivial"),
        ("A (offer W true)", "trivial"),
        ("AG (done -> done)", "trivial"),
        ("AG (done & offer -> done)", "trivial"),
        ("AG (done | !done)", "trivial"),
        ("AG (AF done -> AF done)", "trivial"),
        ("AG (done <-> done)", "trivial"),
        ("K(A, true)", "trivial"),
        ("AG (offer -> AF (done | !done))", "trivial"),
        ("A G (does(offer) -> F (done | !done))", "trivial"),
        ("!(done & !done)", "trivial"),
        ("EF !(done -> true)", "trivial"),
        ("AG (offer & false)", "trivial"),
        ("AG ((done -> false) -> !done)", "trivial"),
        ("AG (never -> false)", "vacuous-implication"),
        ("AG (true -> offer | !sent(offer) | inflight(offer))", None),
        ("A[true U sent(offer)] | EG !done", None),
        ("AG (done -> offer)", None),
        ("AG !!(offer | !offer & !done)", None),
        ("!(true -> AF done)", None),
    ],
)
def test_trivial_formulas_are_reported(formula: str, code: str | None, engine: Literal["explicit", "symbolic"]) -> None:
    result = answer(formula, engine)
    assert [remark.code for remark in result.remarks] == ([] if code is None else [code])
    assert (result.answer == "vacuous") == (code is not None and result.answer != "fails")


@pytest.mark.parametrize("method", ["explicit", "symbolic", "reduced", "onthefly"])
def test_a_formula_without_parts_says_nothing(method: Literal["explicit", "symbolic", "reduced", "onthefly"]) -> None:
    """The negation of an empty disjunction splits into no questions at all."""
    compilation = CplCompilation(Source("p.cpl", "protocol P { role A role B A -> B : m }"))
    (result,) = verify(compilation.system, [Question("q", "formula", Not(Or(())), "q")], method)
    assert (result.answer, [remark.code for remark in result.remarks]) == ("vacuous", ["trivial"])


def test_an_implication_with_a_constant_side_says_nothing_only_if_it_does_so_everywhere() -> None:
    text = """protocol P(n: 1..3 = 2) {
  role A
  role Cus[n]
  for c in Cus { c -> A : m }
  fact apart = forall c in Cus: forall d in Cus: c != d -> !(inflight(m[c]) & inflight(m[d]))
  property pairs:  AG (forall c in Cus: forall d in Cus: c != d -> (m[c] & m[d] -> !inflight(m[c])))
  property large:  n > 2 -> AG !m[1]
  property inside: AG (apart | !apart & EF m[1])
}
"""
    vacuous = {1: {"pairs", "large", "inside"}, 2: {"large"}, 3: set()}
    for size, names in vacuous.items():
        compilation = CplCompilation(Source("p.cpl", text), parameters={"n": str(size)})
        assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
        results = list(compilation.verify(compilation.declared_questions()))
        assert {result.question.name for result in results if result.answer == "vacuous"} == names, size


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
def test_quantifier_over_empty_range_is_vacuous(formula: str, quantifiers: list[str] | None) -> None:
    compilation = CplCompilation(Source("p.cpl", FAMILIES % formula))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    questions = (*compilation.declared_questions(), compilation.formula_question(formula))
    for one in questions:
        assert not isinstance(one, tuple)
        (result,) = compilation.verify([one])
        if quantifiers is None:
            assert result.answer == "fails"
        else:
            messages = [f"there is nothing that `{quantifier}` ranges over" for quantifier in quantifiers]
            assert [remark.message for remark in result.remarks] == messages
            assert result.answer == ("vacuous" if quantifiers else "holds")
