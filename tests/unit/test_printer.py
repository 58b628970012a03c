"""How systems and formulas look."""

from __future__ import annotations

import pytest
from tests.support.commitment_channels import promises

from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Fulfils
from cplc.logic.expressions import FALSE, TRUE, And, Arith, Const, Equal, Expr, Ite, Less, Not, Or, Read
from cplc.logic.formulas import Formula
from cplc.system.model import Agent, Justice, Operation, Shared, Step, System, Variable
from cplc.system.printer import expr_text, formula_text, system_text

A, B, N = Read("a"), Read("b"), Read("n")
TAKE, SEND = f.Taken(frozenset({"receive m"}), "does(m)"), f.Taken(frozenset({"send m"}), "does(send m)")
ALONG = f.Taken(frozenset({"receive m"}), "does(m) | !does(A)")
P, Q, SUM = f.Atom(A, "p"), f.Atom(B, "q"), f.Atom(TRUE, "m.x = 3")


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (f.OnPaths("A", f.Globally(f.Implies(P, f.OnPaths("A", f.Finally(Q))))), "AG (p -> AF q)"),
        (f.Implies(f.OnPaths("A", f.Globally(P)), Q), "AG p -> q"),
        (f.Implies(f.Implies(P, Q), f.Implies(Q, P)), "(p -> q) -> q -> p"),
        (f.Iff(f.Iff(P, Q), f.Implies(P, Q)), "(p <-> q) <-> p -> q"),
        (f.Or((f.And((P, Q)), f.And((P, f.Or((P, Q)))))), "p & q | p & (p | q)"),
        (f.Not(f.And((P, Q))), "!(p & q)"),
        (f.Not(SUM), "!(m.x = 3)"),
        (f.OnPaths("E", f.Next(SUM)), "EX m.x = 3"),
        (f.OnPaths("E", f.Next(f.Atom(TRUE, "p & q"))), "EX (p & q)"),
        (f.And((f.Atom(TRUE, "forall c in Cus: pay[c]"), Q)), "(forall c in Cus: pay[c]) & q"),
        (f.OnPaths("E", f.Until(f.Or((P, Q)), f.Not(Q), f.Bound(3))), "E[(p | q) U<=3 !q]"),
        (f.OnPaths("A", f.WeakUntil(f.OnPaths("E", f.Release(P, Q)), Q)), "A[E[p R q] W q]"),
        (f.OnPaths("A", f.StrongRelease(P, f.Finally(Q))), "A[p M F q]"),
        (f.OnPaths("A", f.Finally(P, f.Bound(2))), "AF<=2 p"),
        (f.OnPaths("A", f.Finally(P, f.Bound(2, ticks=SEND))), "AF<=2 ticks p"),
        (f.OnPaths("E", f.Globally(P, f.Bound(4, 2))), "EG[2..4] p"),
        (f.OnPaths("E", f.WeakUntil(P, Q, f.Bound(4, 2, SEND))), "E[p W[2..4] ticks q]"),
        (f.OnPaths("A", f.StrongRelease(P, Q, f.Bound(0))), "A[p M<=0 q]"),
        (f.OnPaths("A", f.Release(P, Q, f.Bound(7))), "A[p R<=7 q]"),
        (f.Not(Commits(promises("Mer -> Cus[1]", []), f.Implies(P, Q))), "!C(Mer -> Cus[1], p -> q)"),
        (Fulfils(promises("Mer -> Cus[1]", []), P), "Fu(Mer -> Cus[1], p)"),
        (f.Knows("each", ("Mer",), P), "K(Mer, p)"),
        (f.Knows("each", ("Mer", "Cus[1]"), P), "EK({Mer, Cus[1]}, p)"),
        (f.Knows("together", ("Mer",), P), "DK({Mer}, p)"),
        (f.Knows("common", ("Mer", "Cus[1]"), P), "CK({Mer, Cus[1]}, p)"),
        (f.OnPaths("A", f.And((f.Finally(P), f.Globally(f.Not(Q))))), "A (F p & G !q)"),
        (f.OnPaths("A", f.Globally(f.Finally(P))), "AG F p"),
        (f.OnPaths("E", f.Until(f.Until(P, Q), f.Previous(Q), f.Bound(2))), "E[(p U q) U<=2 Y q]"),
        (f.OnPaths("E", f.Since(f.Once(P), f.Historically(SUM))), "E[O p S H m.x = 3]"),
        (f.OnPaths("A", f.Globally(f.Implies(SEND, f.Once(TAKE)))), "AG (does(send m) -> O does(m))"),
        (f.OnPaths("E", SEND), "E does(send m)"),
        (f.OnPaths("E", f.And((SUM, f.Next(P)))), "E (m.x = 3 & X p)"),
        (f.OnPaths("E", f.Finally(P), ALONG), "E{does(m) | !does(A)} F p"),
        (f.OnPaths("A", f.WeakUntil(P, Q), ALONG), "A{does(m) | !does(A)}[p W q]"),
        (f.OnPaths("A", f.OnPaths("E", f.Next(P))), "A EX p"),
        (f.Enforces(("A", "B[1]"), f.Finally(f.And((P, Q)))), "<<A, B[1]>> F (p & q)"),
        (f.Not(f.Enforces(("A",), f.Until(P, Q), uniform=True)), "!<<A>>[p U q]"),
        (f.And(()), "true"),
        (f.Not(f.Or(())), "!false"),
    ],
)
def test_formulas(formula: Formula, text: str) -> None:
    assert formula_text(formula) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Not(Equal(N, Const(3))), "n != 3"),
        (Not(Less(N, Const(3))), "n >= 3"),
        (Not(And((A, B))), "!(a & b)"),
        (Or((And((A, B)), Not(A))), "a & b | !a"),
        (And((Or((A, B)), TRUE)), "(a | b) & true"),
        (Arith("-", N, Arith("-", N, Const(1))), "n - (n - 1)"),
        (Arith("*", Arith("+", N, Const(1)), Const(2)), "(n + 1) * 2"),
        (Less(Arith("%", N, Const(2)), N), "n % 2 < n"),
        (Equal(Equal(A, B), A), "(a = b) = a"),
        (Ite(A, Const("x"), Ite(B, Const("y"), Const("z"))), "if a then x else if b then y else z"),
        (And((A, Ite(A, B, FALSE))), "a & (if a then b else false)"),
    ],
)
def test_expressions(expr: Expr, text: str) -> None:
    assert expr_text(expr) == text


def test_system() -> None:
    long_name = "a_name_that_takes_much_of_a_line"
    system = System(
        "Small",
        (("protocol", "Small"), ("channels", "async")),
        (
            Variable("m@A", (False, True), (False,), "copy", "A", "m"),
            Variable("m@B[1]", (False, True), (False,), "copy", "B[1]", "m"),
            Variable("n", (0, 1, 2), (0, 1, 2), "own", "B[1]", "n"),
            Variable(long_name, ("null", "active", "gone"), ("null", "gone"), "commitment", "Env", "c"),
        ),
        (Agent("A", "A", ("m@A",)), Agent("B[1]", "B", ("m@B[1]", "n"))),
        (Shared("A", "B[1]", "m@A", "m@B[1]"),),
        (),
        (),
        (
            Step("send m", "send", "A", "m", (), Not(Read("m@A")), (("m@A", TRUE),)),
            Step(
                "receive m",
                "receive",
                "B[1]",
                "m",
                (),
                And((Read("m@A"), Or((Not(Read("m@B[1]")), Equal(N, Const(0)))))),
                (
                    ("m@B[1]", TRUE),
                    (
                        long_name,
                        Ite(
                            Equal(Read(long_name), Const("null")),
                            Const("active"),
                            Ite(Read("m@A"), Const("gone"), Read(long_name)),
                        ),
                    ),
                ),
                operations=(Operation("create", "c", None, Equal(Read(long_name), Const("null")), Read(long_name)),),
            ),
            Step("restart B[1]", "restart", "Env", "B[1]", (), Read("m@B[1]"), (), ("n",)),
        ),
        (Justice("receive m", (1,), None), Justice("send m", (0,), "A"), Justice("all", (0, 1), None)),
        (Equal(N, Const(0)),),
        (("`n` leaves its range", Less(Const(2), N), None),),
    )
    assert list(system.problems()) == []
    assert (
        system_text(system)
        == """\
system Small
  protocol: Small
  channels: async

agent A
  m@A: bool = false

agent B[1] of B
  m@B[1]: bool = false
  n: 0..2 = any

agent Env
  a_name_that_takes_much_of_a_line: {null, active, gone} = any of null, gone

shared
  A, B[1]: m@A ~ m@B[1]

step send m by A
  when !m@A
  set  m@A := true

step receive m by B[1]
  when m@A
  and  (!m@B[1] | n = 0)
  set  m@B[1] := true
  set  a_name_that_takes_much_of_a_line := if a_name_that_takes_much_of_a_line = null then active
                                      else if m@A then gone
                                      else a_name_that_takes_much_of_a_line
  does create c where a_name_that_takes_much_of_a_line = null

step restart B[1] by Env
  when m@B[1]
  set  n := any initial value

justice
  receive m
  send m (assuming A)
  all: send m, receive m

fairness
  n = 0

hazards
  `n` leaves its range: 2 < n
"""
    )
