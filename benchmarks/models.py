"""Protocols of any size to measure with, built without the parser.

Each model comes with questions: a name, a formula and the roles that are assumed to keep going.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cplc.logic.formulas import Formula
from cplc.lowering.formulas import lower_formula
from cplc.lowering.lower import lower
from cplc.semantics.model import Assignment, CheckedModel, Commitment, Message, Operation, Role, Scope, Variable
from cplc.semantics.terms import TRUE, Apply, Const, Happened, InState, Knowledge, OverPaths, Sent, Social, Term, Var
from cplc.source import Source, Span
from cplc.system.model import System

_NOWHERE = Span(Source("<benchmark>", ""), 0, 0)


@dataclass(frozen=True)
class Case:
    """A system and its questions."""

    name: str
    system: System
    questions: tuple[tuple[str, Formula, frozenset[str]], ...]


@dataclass
class _Sketch:
    """A protocol being put together."""

    name: str
    roles: list[Role] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=lambda: [Scope("", None, ())])
    variables: list[Variable] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    commitments: list[Commitment] = field(default_factory=list)

    def role(self, name: str, family: str | None = None, index: int | None = None) -> str:
        self.roles.append(Role(name, family or name, index, span=_NOWHERE))
        return name

    def family(self, name: str, number: int) -> list[str]:
        return [self.role(f"{name}[{index}]", name, index) for index in range(1, number + 1)]

    def message(
        self,
        name: str,
        sender: str,
        receiver: str,
        *,
        scope: str = "",
        after: Iterable[Term] = (),
        rivals: Sequence[str] = (),
        means: Sequence[tuple[str, str]] = (),
        restarts: bool = False,
        sets: Sequence[tuple[str, Term]] = (),
    ) -> None:
        operations = tuple(Operation(verb, commitment, span=_NOWHERE) for verb, commitment in means)
        updates = tuple(Assignment(variable, value, span=_NOWHERE) for variable, value in sets)
        self.messages.append(
            Message(
                name,
                sender,
                (receiver,),
                (),
                _all(after),
                tuple(rivals),
                operations,
                updates,
                (),
                (),
                restarts,
                False,
                scope,
                span=_NOWHERE,
            )
        )

    def commitment(
        self,
        name: str,
        debtor: str,
        creditor: str,
        antecedent: Term,
        consequent: Term,
        *,
        scope: str = "",
        within: int | None = None,
        expires: int | None = None,
    ) -> None:
        self.commitments.append(
            Commitment(name, debtor, creditor, antecedent, consequent, within, expires, False, scope, span=_NOWHERE)
        )

    def case(self, questions: Iterable[tuple[str, Term, Iterable[str]]]) -> Case:
        model = CheckedModel(
            self.name,
            None,
            (),
            False,
            tuple(self.roles),
            tuple(self.variables),
            tuple(self.scopes),
            tuple(self.messages),
            (),
            tuple(self.commitments),
            frozenset(),
            (),
            (),
            (),
        )
        system = lower(model)
        return Case(
            self.name,
            system,
            tuple(
                (name, lower_formula(formula, model, system), frozenset(assuming))
                for name, formula, assuming in questions
            ),
        )


def netbill(customers: int) -> Case:
    """Low-priced information goods over the Internet; 21 reachable states for each customer."""
    sketch = _Sketch(f"NetBill, {customers} customers")
    mer = sketch.role("Mer")
    cus = sketch.family("Cus", customers)
    for number, c in enumerate(cus, 1):
        i, scope = f"[{number}]", c
        sketch.scopes.append(Scope(scope, "", (c,)))
        goods, payment = f"goods{i}", f"payment{i}"
        sketch.commitment(goods, mer, c, Happened(f"pay{i}"), Happened(f"deliver{i}"), scope=scope)
        sketch.commitment(payment, c, mer, Happened(f"offer{i}"), Happened(f"pay{i}"), scope=scope)

        def after(name: str, i: str = i) -> list[Term]:
            return [Happened(f"{name}{i}")]

        def add(
            name: str,
            sender: str,
            receiver: str,
            guard: list[Term],
            rival: str | None = None,
            means: Sequence[tuple[str, str]] = (),
            restarts: bool = False,
            i: str = i,
            scope: str = scope,
        ) -> None:
            rivals = [f"{rival}{i}"] if rival else []
            sketch.message(
                f"{name}{i}", sender, receiver, scope=scope, after=guard, rivals=rivals, means=means, restarts=restarts
            )

        add("request", c, mer, [])
        add("offer", mer, c, after("request"), means=[("create", goods)])
        add("reject", c, mer, after("offer"), "accept", [("release", goods)], restarts=True)
        add("accept", c, mer, after("offer"), "reject", [("create", payment)])
        add("pay", c, mer, after("accept"), "withhold")
        add("withhold", c, mer, after("accept"), "pay", [("violate", payment)], restarts=True)
        add("deliver", mer, c, after("pay"), "fail")
        add("fail", mer, c, after("pay"), "deliver", [("violate", goods)])
        add("receipt", mer, c, after("deliver"), restarts=True)
        add("refund", mer, c, after("fail"), means=[("compensate", goods)], restarts=True)
    indices = [f"[{number}]" for number in range(1, customers + 1)]
    pay = [Happened(f"pay{i}") for i in indices]
    deliver = [Happened(f"deliver{i}") for i in indices]
    settled = [_any([Happened(f"deliver{i}"), Happened(f"fail{i}")]) for i in indices]
    goods_of = [f"goods{i}" for i in indices]
    customer = list(zip(cus, pay, deliver, settled, goods_of, strict=True))
    safe = _all(
        _always(_not(_all([Social("Fu", c, mer, p), _always(_not(Social("C", mer, c, d)))])))
        for c, p, d, _, _ in customer
    )
    return sketch.case(
        [
            ("safe (C, Fu)", safe, ()),
            ("reachable (Fu)", _all(_possibly(Social("Fu", mer, c, d)) for c, _, d, _, _ in customer), ()),
            ("served (fair AF)", _all(_leads(p, s) for _, p, _, s, _ in customer), (mer,)),
            ("trusting (fails)", _all(_leads(_in(g, "active"), _in(g, "fulfilled")) for *_, g in customer), (mer,)),
            (
                "known (K)",
                _all(
                    _always(Apply("->", (_in(g, "fulfilled"), Knowledge("K", (c,), _in(g, "fulfilled")))))
                    for c, *_, g in customer
                ),
                (),
            ),
            ("resettable (AG EF)", _always(_possibly(_all(_in(g, "null") for g in goods_of))), ()),
        ]
    )


def contract_net(participants: int) -> Case:
    """One call for proposals; an award excludes every other, so the participants are coupled."""
    sketch = _Sketch(f"Contract Net, {participants} participants")
    mgr = sketch.role("Mgr")
    members = sketch.family("Prt", participants)
    awards: list[Term] = [Sent(f"award[{number}]") for number in range(1, participants + 1)]
    for number, p in enumerate(members, 1):
        i = f"[{number}]"
        reply, result = f"reply{i}", f"result{i}"
        answered = _any([Happened(f"award{i}"), Happened(f"decline{i}")])
        sketch.commitment(reply, mgr, p, Happened(f"propose{i}"), answered)
        sketch.commitment(result, p, mgr, Happened(f"award{i}"), Happened(f"inform{i}"))
        proposed, awarded = [Happened(f"propose{i}")], [Happened(f"award{i}")]
        called: list[Term] = [Happened(f"cfp{i}")]
        none_yet: list[Term] = [_not(award) for award in awards]
        sketch.message(f"cfp{i}", mgr, p, means=[("create", reply)])
        sketch.message(f"propose{i}", p, mgr, after=called, rivals=[f"refuse{i}"], means=[("create", result)])
        sketch.message(f"refuse{i}", p, mgr, after=called, rivals=[f"propose{i}"], means=[("release", reply)])
        sketch.message(f"award{i}", mgr, p, after=[*proposed, *none_yet], rivals=[f"decline{i}"])
        sketch.message(f"decline{i}", mgr, p, after=list(proposed), rivals=[f"award{i}"], means=[("expire", result)])
        sketch.message(f"inform{i}", p, mgr, after=list(awarded), rivals=[f"failure{i}"])
        sketch.message(f"failure{i}", p, mgr, after=list(awarded), rivals=[f"inform{i}"], means=[("violate", result)])
    first = "[1]"
    answered = _any([Happened(f"award{first}"), Happened(f"decline{first}")])
    return sketch.case(
        [
            ("one award", _always(_not(_all([Happened("award[1]"), Happened("award[2]")]))), ()),
            ("answered (fair AF)", _leads(Happened("propose[1]"), answered), (mgr,)),
            ("done (fair AF)", _leads(Happened("award[1]"), _closed("result[1]")), (members[0],)),
            ("committed (EF Fu)", _possibly(Social("Fu", members[0], mgr, Happened("inform[1]"))), ()),
            ("known (K)", _possibly(Knowledge("K", (members[0],), _not(Happened("award[2]")))), ()),
        ]
    )


def shared_stock(customers: int, stock: int = 3) -> Case:
    """Orders from one stock, brought back at the end: every customer depends on all others."""
    sketch = _Sketch(f"shared stock of {stock}, {customers} customers")
    mer = sketch.role("Mer")
    stock_left = Var("Mer.stock")
    sketch.variables.append(Variable("Mer.stock", mer, tuple(range(stock + 1)), stock, span=_NOWHERE))
    cus = sketch.family("Cus", customers)
    for number, c in enumerate(cus, 1):
        i, scope = f"[{number}]", c
        sketch.scopes.append(Scope(scope, "", (c,)))
        lend, back = f"lend{i}", f"back{i}"
        sketch.commitment(lend, mer, c, Happened(f"order{i}"), Happened(f"ship{i}"), scope=scope)
        sketch.commitment(back, c, mer, Happened(f"ship{i}"), Happened(f"return{i}"), scope=scope)
        sketch.message(f"order{i}", c, mer, scope=scope, means=[("create", back)])
        sketch.message(
            f"ship{i}",
            mer,
            c,
            scope=scope,
            after=[Happened(f"order{i}"), Apply(">", (stock_left, Const(0)))],
            means=[("create", lend)],
            sets=[("Mer.stock", Apply("-", (stock_left, Const(1))))],
        )
        sketch.message(f"return{i}", c, mer, scope=scope, after=[Happened(f"ship{i}")])
        sketch.message(
            f"thanks{i}",
            mer,
            c,
            scope=scope,
            after=[Happened(f"return{i}")],
            restarts=True,
            sets=[("Mer.stock", Apply("+", (stock_left, Const(1))))],
        )
    returned = Happened("return[1]")
    everybody = (mer, *cus)
    return sketch.case(
        [
            ("stock stays", _always(Apply("->", (Happened("ship[1]"), Apply("<", (stock_left, Const(stock)))))), ()),
            ("returned (fair AF)", _leads(Happened("ship[1]"), returned), everybody),
            ("served (fair AF, fails)", _leads(Happened("order[1]"), Happened("ship[1]")), everybody),
            (
                "refilled (fair AF)",
                _leads(Apply("=", (stock_left, Const(0))), Apply(">", (stock_left, Const(0)))),
                everybody,
            ),
            ("all out (EF)", _possibly(Apply("=", (stock_left, Const(0)))), ()),
            ("known (K)", _possibly(Knowledge("K", (cus[0],), Apply("<", (stock_left, Const(stock))))), ()),
        ]
    )


def deadlines(customers: int, ticks: int = 3) -> Case:
    """Work on prepayment with a global clock."""
    sketch = _Sketch(f"deadlines of {ticks}, {customers} customers")
    mer = sketch.role("Mer")
    cus = sketch.family("Cus", customers)
    for number, c in enumerate(cus, 1):
        i = f"[{number}]"
        work = f"work{i}"
        sketch.commitment(
            work, mer, c, Happened(f"pay{i}"), Happened(f"done{i}"), within=ticks, expires=max(1, ticks - 1)
        )
        sketch.message(f"offer{i}", mer, c, means=[("create", work)])
        sketch.message(f"pay{i}", c, mer, after=[Happened(f"offer{i}")])
        sketch.message(f"done{i}", mer, c, after=[Happened(f"pay{i}")], rivals=[f"sorry{i}"])
        sketch.message(
            f"sorry{i}", mer, c, after=[Happened(f"pay{i}")], rivals=[f"done{i}"], means=[("compensate", work)]
        )
    return sketch.case(
        [
            ("resolved (fair AF)", _leads(_in("work[1]", "active"), _closed("work[1]")), ()),
            ("may break (EF)", _possibly(_in("work[1]", "violated")), ()),
            ("honoured (fair AF, fails)", _leads(_in("work[1]", "active"), _in("work[1]", "fulfilled")), (mer,)),
        ]
    )


# --- formulas


def _all(operands: Iterable[Term]) -> Term:
    parts = tuple(operands)
    return parts[0] if len(parts) == 1 else Apply("&", parts) if parts else TRUE


def _any(operands: Iterable[Term]) -> Term:
    return Apply("|", tuple(operands))


def _not(operand: Term) -> Term:
    return Apply("!", (operand,))


def _always(operand: Term) -> Term:
    return OverPaths("A", Apply("G", (operand,)))


def _possibly(operand: Term) -> Term:
    return OverPaths("E", Apply("F", (operand,)))


def _leads(cause: Term, effect: Term) -> Term:
    return _always(Apply("->", (cause, OverPaths("A", Apply("F", (effect,))))))


def _in(commitment: str, state: str) -> Term:
    return InState(commitment, frozenset({state}))


def _closed(commitment: str) -> Term:
    return InState(commitment, frozenset({"fulfilled", "violated", "withdrawn", "released", "expired", "compensated"}))
