"""Protocols used as parts of others: their instances, scopes and names."""

from __future__ import annotations

from tests.support.protocol_analysis import checked

from cplc.semantics import terms as t

PARTS = """
protocol Payment(most: 1..9 = 3) {
  role Payer { var purse: 0..9 = 3 }
  role Payee
  commitment debt = C(Payer, Payee, true, paid)
  fact paid = exists i in 1..2: pay[i]
  Payer -> Payee : owe   means create debt
  for i in 1..2 {
    Payer -> Payee : pay(amount: 1..most)   after owe   if purse >= amount  set purse := purse - amount  restart
  }
  Payee -> Payer : done   after paid   restart
  property inside: EF paid
  fairness !paid
  check live
}

protocol Shop {
  role Mer
  role Cus[2]
  for c in Cus {
    use Payment(Payer = c, Payee = Mer, most = 2) as part
    c -> Mer : order
    Mer -> c : ship     after order & part.paid & part.pay[1] & part.pay[c, 2]
  }
  use Payment(Payer = Mer, Payee = Cus[1])
  property p: AG (part.Payer[1].purse = part[2].Payer.purse -> Payment.Payer.purse <= 3)
  property q: EF active(part.debt[2])
}
"""


def test_parts_are_instances_with_names_of_their_own() -> None:
    model = checked(PARTS)
    assert "part.pay[2,1]" in model.message
    assert "Payment.pay[2]" in model.message
    assert model.message["part.pay[1,2]"].parameters[0].domain == (1, 2)
    assert model.message["Payment.pay[1]"].parameters[0].domain == (1, 2, 3)
    assert (model.message["part.owe[2]"].sender, model.message["part.owe[2]"].receivers) == ("Cus[2]", ("Mer",))
    assert model.commitment["part.debt[1]"].consequent == t.FactRef("part.paid[1]")
    assert model.fact["part.paid[2]"].meaning == t.Apply(
        "|", (t.Happened("part.pay[2,1]"), t.Happened("part.pay[2,2]"))
    )
    assert model.message["ship[2]"].guard == t.Apply(
        "&",
        (
            t.Happened("order[2]"),
            t.FactRef("part.paid[2]"),
            t.Happened("part.pay[2,1]"),
            t.Happened("part.pay[2,2]"),
        ),
    )


def test_part_is_scope_with_own_variables() -> None:
    model = checked(PARTS)
    scopes = {scope.name: scope for scope in model.scopes}
    assert scopes["part[2]"].parent == "Cus[2]"
    assert scopes["Payment"].parent == "Shop"
    assert model.message["part.done[2]"].scope == "part[2]"
    assert model.message["part.pay[2,1]"].scope == "part[2]/i=1"
    assert model.message["order[2]"].scope == "Cus[2]"
    assert [(v.name, v.role, v.scope) for v in model.variables] == [
        ("Cus[1].part[1].purse", "Cus[1]", "part[1]"),
        ("Cus[2].part[2].purse", "Cus[2]", "part[2]"),
        ("Mer.Payment.purse", "Mer", "Payment"),
    ]
    assert model.message["part.pay[2,1]"].updates[0].variable == "Cus[2].part[2].purse"


def test_variables_of_a_part_are_reached_through_it() -> None:
    formula = checked(PARTS).properties[0].formula
    assert isinstance(formula, t.OverPaths)
    assert isinstance(formula.path, t.Apply)
    left, right = t.Var("Cus[1].part[1].purse"), t.Var("Cus[2].part[2].purse")
    least = t.Apply("<=", (t.Var("Mer.Payment.purse"), t.Const(3)))
    assert formula.path.operands == (t.Apply("->", (t.Apply("=", (left, right)), least)),)


def test_properties_and_checks_of_parts_stay_there_and_fairness_comes_along() -> None:
    model = checked(PARTS)
    assert [property_.name for property_ in model.properties] == ["p", "q"]
    assert model.checks == ()
    assert tuple(one.condition for one in model.fairness) == tuple(
        t.Apply("!", (t.FactRef(name),)) for name in ("part.paid[1]", "part.paid[2]", "Payment.paid")
    )


def test_names_of_a_part_and_of_its_host_do_not_mix() -> None:
    model = checked(
        """
        protocol Inner { role A  role B  fact go = ask  A -> B : ask  B -> A : reply  after go }
        protocol Outer { role A  role B  use Inner(A = B, B = A) as x
          A -> B : go   B -> A : reply  after go & x.ask  B -> A : ask }
        """
    )
    assert model.message["x.reply"].guard == t.FactRef("x.go")
    assert model.fact["x.go"].meaning == t.Happened("x.ask")
    assert (model.message["x.ask"].sender, model.message["ask"].sender) == ("B", "B")
    assert model.message["reply"].guard == t.Apply("&", (t.Happened("go"), t.Happened("x.ask")))


def test_family_of_part_is_bound_to_family() -> None:
    model = checked(
        """
        protocol Inner(n: 1..9 = 3) { role A  role B[n]  for b in B { A -> b : go  b -> A : back after go & b < n } }
        protocol Outer { role M  role Cus[3]  use Inner(A = M, B = Cus) as x
          property p: forall c in Cus: K(x.B[c], x.back[c]) -> EK(x.B, x.go[1]) }
        """
    )
    assert model.message["x.go[3]"].receivers == ("Cus[3]",)
    assert model.message["x.back[3]"].guard == t.FALSE
    formula = model.properties[0].formula
    assert isinstance(formula, t.Apply)
    first = formula.operands[0]
    assert isinstance(first, t.Apply)
    assert first.operands[0] == t.Knowledge("K", ("Cus[1]",), t.Happened("x.back[1]"))
    assert isinstance(first.operands[1], t.Knowledge)
    assert first.operands[1].group == ("Cus[1]", "Cus[2]", "Cus[3]")
