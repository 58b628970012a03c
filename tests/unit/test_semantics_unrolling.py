"""Instances, their names and scopes: what a family becomes."""

from __future__ import annotations

from tests.support.protocol_analysis import analysed, checked, codes

from cplc.semantics import terms as t
from cplc.semantics.analysis import analyse
from cplc.semantics.imports import loader
from cplc.semantics.model import Bound
from cplc.source import Source
from cplc.syntax.parser import parse, parse_formula

NETBILL = """
protocol NetBill(customers: 1..64 = 2) "goods" {
  role Mer
  role Cus[customers]
  for c in Cus {
    commitment goods = C(Mer, c, pay, deliver)
    c -> Mer : request
    Mer -> c : offer     after request   means create goods
    c -> Mer : reject    after offer     means release goods      restart
    c -> Mer : pay       after offer
    Mer -> c : deliver   after pay
    choice pay | reject
  }
  property trusting: forall c in Cus: AG (active(goods[c]) -> AF fulfilled(goods[c]))   expect fails
  check sound, live expect fails
}
"""


def test_family_becomes_instances_block_by_block() -> None:
    model = checked(NETBILL)
    assert [role.name for role in model.roles] == ["Mer", "Cus[1]", "Cus[2]"]
    assert [(role.family, role.index) for role in model.roles] == [("Mer", None), ("Cus", 1), ("Cus", 2)]
    names = ["request", "offer", "reject", "pay", "deliver"]
    assert [message.name for message in model.messages] == [f"{name}[{i}]" for i in (1, 2) for name in names]
    offer = model.message["offer[2]"]
    assert (offer.sender, offer.receivers, offer.guard) == ("Mer", ("Cus[2]",), t.Happened("request[2]"))
    assert [(operation.verb, operation.commitment) for operation in offer.operations] == [("create", "goods[2]")]
    assert model.message["pay[1]"].rivals == ("reject[1]",)
    assert model.message["reject[1]"].rivals == ("pay[1]",)
    assert model.commitment["goods[2]"].consequent == t.Happened("deliver[2]")
    assert model.message["reject[2]"].restarts
    assert not model.message["pay[2]"].restarts
    assert [(check.name, check.expect_holds) for check in model.checks] == [("sound", True), ("live", False)]
    assert (model.properties[0].name, model.properties[0].expect_holds) == ("trusting", False)
    formula = model.properties[0].formula
    assert isinstance(formula, t.Apply)
    assert (formula.op, len(formula.operands)) == ("&", 2)


def test_parameters_come_from_the_command_line() -> None:
    assert len(checked(NETBILL, {"customers": "5"}).messages) == 25
    assert checked(NETBILL, {"customers": "5"}).parameters == (("customers", 5),)
    assert codes(NETBILL, {"customers": "65"}) == ["value-out-of-range"]
    assert codes(NETBILL, {"customers": "many"}) == ["type-mismatch"]
    assert codes(NETBILL, {"customer": "3"}) == ["unknown-parameter"]


def test_channels_of_the_command_line_win() -> None:
    for channels, is_sync in (("sync", True), ("async", False), (None, False)):
        model = analysed(NETBILL, channels=channels).model  # type: ignore[arg-type]
        assert model is not None
        assert model.sync is is_sync
    synchronous = analysed(NETBILL.replace('"goods" {', '"goods" sync {'), channels="async").model
    assert synchronous is not None
    assert not synchronous.sync


def test_every_loop_instance_is_a_scope() -> None:
    model = checked(
        """
        protocol P {
          role A
          role B[2]
          role D[2]
          for b in B { A -> b : one  for d in D { b -> d : two   for i in 3..4 { d -> b : three } } }
          for b in B { b -> A : four }
          A -> B[1] : five
        }
        """
    )
    scopes = {scope.name: (scope.parent, scope.roles) for scope in model.scopes}
    assert scopes["P"] == (None, ("A", "B[1]", "B[2]", "D[1]", "D[2]"))
    assert scopes["B[1]"] == ("P", ("B[1]",))
    assert scopes["B[1]/D[2]"] == ("B[1]", ("D[2]",))
    assert scopes["B[1]/D[2]/i=3"] == ("B[1]/D[2]", ())
    assert scopes["B[2]#2"] == ("P", ("B[2]",))
    assert model.message["two[1,2]"].scope == "B[1]/D[2]"
    assert model.message["three[1,2,4]"].scope == "B[1]/D[2]/i=4"
    assert model.message["four[2]"].scope == "B[2]#2"
    assert model.message["five"].scope == "P"
    parents = [scope.parent for scope in model.scopes]
    names = [scope.name for scope in model.scopes]
    assert all(parent is None or parent in names[:position] for position, parent in enumerate(parents))


def test_instances_between_a_role_and_itself_are_left_out() -> None:
    model = checked(
        """
        protocol Gossip {
          role Peer[3]
          for p in Peer { for q in Peer {
            p -> q : ask   means create answer
            q -> p : tell  after ask
            fact met = ask & tell | null(answer)
            commitment answer = C(p, q, ask, tell)
          } }
          property p: forall p in Peer: EF forall q in Peer: q != p -> ask[p, q]
        }
        """
    )
    assert "ask[1,2]" in model.message
    assert "ask[2,2]" not in model.message
    assert "answer[3,3]" not in model.commitment
    assert model.fact["met[2,2]"].meaning == t.TRUE
    formula = model.properties[0].formula
    assert isinstance(formula, t.Apply)
    first = formula.operands[0]
    expected = t.Apply("&", (t.Happened("ask[1,2]"), t.Happened("ask[1,3]")))
    assert first == t.OverPaths("E", t.Apply("F", (expected,)))


def test_indices_are_computed() -> None:
    model = checked(
        """
        protocol Ring(n: 1..9 = 3) {
          role Node[n]
          for p in Node { p -> Node[p % n + 1] : token   after p = 1 | p > 1 & token[p - 1] }
          for i in 0..1 { Node[1] -> Node[i + 2] : note }
        }
        """
    )
    assert [(m.name, *m.receivers) for m in model.messages[:3]] == [
        ("token[1]", "Node[2]"), ("token[2]", "Node[3]"), ("token[3]", "Node[1]"),
    ]  # fmt: skip
    assert model.message["token[1]"].guard == t.TRUE
    assert model.message["token[3]"].guard == t.Happened("token[2]")
    assert [m.name for m in model.messages[3:]] == ["note[0]", "note[1]"]


def test_quantifiers_over_nobody() -> None:
    model = checked(
        """
        protocol P(n: 0..3 = 0) {
          role A
          role B
          role Idle[n]
          for i in Idle { i -> A : hello }
          A -> B : go   unless exists i in Idle: hello[i]
          A -> B : never   if exists i in Idle: hello[i]
          property all_: forall i in Idle: AG hello[i]
          property none: EF exists i in 2..1: go
        }
        """
    )
    assert model.message["go"].guard == t.TRUE
    assert model.message["never"].guard == t.FALSE
    assert model.properties[0].formula == t.TRUE
    assert model.properties[1].formula == t.OverPaths("E", t.Apply("F", (t.FALSE,)))


def test_payloads_variables_and_assignments() -> None:
    model = checked(
        """
        protocol Shop {
          role Seller { var stock: 0..3 = 3  var mood: {calm, cross}  var open_: bool = true }
          role Buyer[2] { var coins: 0..2 = 1 }
          for b in Buyer {
            Seller -> b : offer(price: 1..2, gift: bool)
              if price <= stock & gift & mood = calm
              set stock := stock - price
            b -> Seller : pay
              after offer.gift | offer.price > 1
              set coins := coins - 1
              on receipt Seller.mood := cross
          }
        }
        """
    )
    assert model.variable["Seller.mood"].domain == ("calm", "cross")
    assert model.variable["Seller.mood"].initial is None
    assert model.variable["Buyer[2].coins"].initial == 1
    offer = model.message["offer[1]"]
    assert [(p.name, p.domain) for p in offer.parameters] == [("price", (1, 2)), ("gift", (False, True))]
    stock = t.Var("Seller.stock")
    assert offer.guard == t.Apply(
        "&",
        (
            t.Apply("<=", (t.Own("price"), stock)),
            t.Own("gift"),
            t.Apply("=", (t.Var("Seller.mood"), t.Const("calm"))),
        ),
    )
    assert [(u.variable, u.value) for u in offer.updates] == [
        ("Seller.stock", t.Apply("-", (stock, t.Own("price"))))
    ]  # fmt: skip
    pay = model.message["pay[2]"]
    assert pay.guard == t.Apply(
        "|",
        (
            t.Apply("=", (t.Field("offer[2]", "gift"), t.TRUE)),
            t.Apply(">", (t.Field("offer[2]", "price"), t.Const(1))),
        ),
    )
    assert [(u.variable, u.value) for u in pay.receipt] == [("Seller.mood", t.Const("cross"))]


def test_macros_are_hygienic() -> None:
    model = checked(
        """
        define each(p) = forall i in 1..2: p
        protocol P {
          role A
          role B
          for i in 1..2 { A -> B : m  property here: EF each(m) & each(i = 1) }
          define gone(i) = i & m[1]
          property there: EF gone(m[2])
        }
        """
    )
    first, second, third = model.properties
    assert (first.name, second.name) == ("here[1]", "here[2]")
    doubled = t.Apply("&", (t.Happened("m[1]"), t.Happened("m[1]")))
    assert first.formula == t.OverPaths("E", t.Apply("F", (doubled,)))
    assert second.formula == t.FALSE
    both = t.Apply("&", (t.Happened("m[2]"), t.Happened("m[1]")))
    assert third.formula == t.OverPaths("E", t.Apply("F", (both,)))


def test_lifecycle_atoms_are_sets_of_states() -> None:
    analysis = analysed(NETBILL)
    for text, expected in {
        "open(goods[1])": t.InState("goods[1]", frozenset({"conditional", "active", "pending"})),
        "null(goods[2])": t.InState("goods[2]", frozenset({"null"})),
        "active(goods[2]@Cus[2])": t.InState("goods[2]", frozenset({"active"}), "Cus[2]"),
        "sent(pay[1])": t.Sent("pay[1]"),
        "inflight(pay[1])": t.InFlight("pay[1]"),
        "terminal": t.Terminal(),
        "C(Mer -> Cus[1], pay[1])": t.Social("C", "Mer", "Cus[1]", t.Happened("pay[1]")),
        "SC(Mer -> Cus[1], F pay[1])": t.Social("SC", "Mer", "Cus[1]", t.Apply("F", (t.Happened("pay[1]"),))),
        "EK(Cus, pay[1])": t.Knowledge("EK", ("Cus[1]", "Cus[2]"), t.Happened("pay[1]")),
        "A[pay[1] U<=3 terminal]": t.OverPaths("A", t.Apply("U", (t.Happened("pay[1]"), t.Terminal()), 3)),
    }.items():
        expr, problems = parse_formula(Source("--formula", text))
        assert not problems
        assert expr is not None
        resolved = analysis.resolve_formula(expr)
        assert (resolved.term, resolved.diagnostics, resolved.vacuous_quantifiers) == (expected, (), ()), text
    closed = parse_formula(Source("--formula", "closed(goods[1])"))[0]
    assert closed is not None
    term = analysis.resolve_formula(closed).term
    assert isinstance(term, t.InState)
    assert len(term.states) == 8
    assert not term.states & {"null", "conditional", "active", "pending"}


def test_formulas_of_the_command_line_are_checked() -> None:
    analysis = analysed(NETBILL)
    for text, code in {
        "EF pay": "wrong-indices",
        "EF pay[3]": "index-out-of-range",
        "EF paid": "unknown-name",
        "F pay[1]": "not-a-state-formula",
        "C(Cus[1] -> Cus[2], pay[1])": "nothing-promised",
    }.items():
        expr, _ = parse_formula(Source("--formula", text))
        assert expr is not None
        resolved = analysis.resolve_formula(expr)
        term, problems = resolved.term, resolved.diagnostics
        assert term is None
        assert [problem.code for problem in problems] == [code]
        assert problems[0].span.source.name == "--formula"


def test_assumptions_of_the_command_line() -> None:
    analysis = analysed(NETBILL)
    assert analysis.resolve_assumptions(["Mer", "Cus[1]"]) == (("Mer", "Cus[1]"), (), ())
    assert analysis.resolve_assumptions(["Cus"])[0] == ("Cus[1]", "Cus[2]")
    assert analysis.resolve_assumptions(["all"])[0] == ("Mer", "Cus[1]", "Cus[2]")
    assert analysis.resolve_assumptions(["deliver[1]", "pay"])[0] == ("deliver[1]", "pay[1]", "pay[2]")
    progress, bounds, _ = analysis.resolve_assumptions(["Mer", "pay[1] within 2"])
    assert progress == ("Mer", "pay[1]")
    assert bounds == (Bound(("pay[1]",), 2),)
    roles, _, problems = analysis.resolve_assumptions(["Cus[3]", "Mer", "Mer within soon"])
    assert roles == ("Mer",)
    assert [problem.code for problem in problems] == ["unknown-name", "bad-deadline"]


def test_last_protocol_is_default() -> None:
    text = "protocol P { role A role B A -> B : one } protocol Q { role A role B A -> B : two }"
    last, first = analysed(text).model, analysed(text, protocol="P").model
    assert last is not None
    assert first is not None
    assert (last.name, first.name) == ("Q", "P")
    wrong = analysed(text, protocol="R")
    assert wrong.model is None
    assert [diagnostic.code for diagnostic in wrong.diagnostics] == ["no-protocol"]


def test_protocols_that_are_not_asked_for_are_checked_all_the_same() -> None:
    text = "protocol P { role A role B[2] A -> B[3] : one } protocol Q { role A role B A -> B : two }"
    assert codes(text) == ["index-out-of-range"]


def test_property_with_error_does_not_invalidate_model() -> None:
    analysis = analysed("protocol P { role A role B A -> B : m property p: EF n property q: EF m check nothing }")
    assert analysis.model is not None
    assert [property_.name for property_ in analysis.model.properties] == ["q"]
    assert {diagnostic.code for diagnostic in analysis.diagnostics} == {"unknown-name", "unknown-check"}
    assert analysed("protocol P { role A role B A -> B : m after n }").model is None


def test_unreadable_text_suppresses_missing_names() -> None:
    file, _ = parse(
        Source("test.cpl", "protocol P { role A role B A -> B : m after n & k role Idle property p: EF 3 }")
    )
    whole = analyse(file, load=loader(None, parse))
    assert [diagnostic.code for diagnostic in whole.diagnostics] == ["unknown-name", "unknown-name", "type-mismatch"]
    torn = analyse(file, load=loader(None, parse), unread=frozenset({"n"}))
    assert [(d.code, d.span.text) for d in torn.diagnostics] == [("unknown-name", "k"), ("type-mismatch", "3")]
