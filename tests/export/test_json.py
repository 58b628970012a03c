"""The JSON document is complete: system and formulas can be reconstructed from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.case_files import cases, compiled
from tests.support.generators.logic_formulas import logic_formulas, quantified
from tests.support.generators.systems import roles, systems
from tests.support.random_examples import examples

from cplc.export import ExportedFormula, Origin, Request, export
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Binding, Channel, Commits, Conditional, Fulfils, Offer, Offering, SociallyCommits
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.system.model import (
    Agent,
    Claim,
    Commitment,
    Justice,
    Message,
    Operation,
    Power,
    Shared,
    Step,
    System,
    Variable,
)
from cplc.system.synchronous import Action, Change, Player


def system_of(data: dict[str, Any]) -> System:
    position = {step["name"]: index for index, step in enumerate(data["steps"])}
    return System(
        data["name"],
        tuple(data["header"].items()),
        tuple(Variable(**_tuples(entry, "domain", "initial")) for entry in data["variables"]),
        tuple(Agent(**_tuples(entry, "local")) for entry in data["agents"]),
        tuple(Shared(**entry) for entry in data["shared"]),
        tuple(map(_message, data["messages"])),
        tuple(
            Commitment(**_views(_read(_sides(c), "antecedent", "consequent", "on_course"))) for c in data["commitments"]
        ),
        tuple(map(_step, data["steps"])),
        tuple(
            Justice(
                one["name"],
                tuple(position[name] for name in one["steps"]),
                one["role"],
                expr_of(one["due"]) if "due" in one else None,
                one.get("is_condition", False),
            )
            for one in data["justice"]
        ),
        tuple(map(expr_of, data["fairness"])),
        tuple((hazard["text"], expr_of(hazard["condition"]), None) for hazard in data["hazards"]),
        tuple(Claim(**_views(_read(claim, "content"))) for claim in data["claims"]),
        tuple(map(_player, data["players"])),
        expr_of(data["start"]),
        powers=tuple(Power(**power) for power in data.get("powers", ())),
    )


def _sides(data: dict[str, Any]) -> dict[str, Any]:
    """Return a commitment with each side as one text, a group in braces."""
    data = dict(data)
    for several, one in (("debtors", "debtor"), ("creditors", "creditor")):
        if several in data:
            data[one] = "{" + ", ".join(data.pop(several)) + "}"
    return data


def _message(data: dict[str, Any]) -> Message:
    receivers = data["receivers"] if "receivers" in data else [data["receiver"]]
    shared = {key: value for key, value in data.items() if key != "receiver"}
    return Message(
        **_tuples(_read({**shared, "receivers": receivers}, "sent", "received", "in_flight"), "parameters", "receivers")
    )


def _player(data: dict[str, Any]) -> Player:
    return Player(
        data["agent"],
        data["choice"],
        tuple(Action(action["name"], expr_of(action["allowed"])) for action in data["actions"]),
        tuple(
            tuple(
                Change(expr_of(change["guard"]), tuple((n, expr_of(value)) for n, value in change["updates"].items()))
                for change in rule
            )
            for rule in data["rules"]
        ),
    )


def _step(data: dict[str, Any]) -> Step:
    operations = [
        {**_read(operation, "applicable", "state_before"), "commitment": operation["of"]}
        for operation in data["operations"]
    ]
    for operation in operations:
        del operation["of"]
    return Step(
        **{
            **_tuples(_read(data, "guard"), "free"),
            "payload": tuple(data["payload"].items()),
            "updates": tuple((name, expr_of(value)) for name, value in data["updates"].items()),
            "operations": tuple(Operation(**operation) for operation in operations),
        }
    )


def _tuples(entry: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {**entry, **{key: tuple(entry[key]) for key in keys}}


def _read(entry: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {**entry, **{key: expr_of(entry[key]) for key in keys}}


def _views(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "views": tuple(entry["views"].items())}


def expr_of(data: list[Any]) -> Expr:
    match data:
        case ["const", value]:
            return e.Const(value)
        case ["read", name]:
            return e.Read(name)
        case ["not", operand]:
            return e.Not(expr_of(operand))
        case ["and", *operands]:
            return e.And(tuple(map(expr_of, operands)))
        case ["or", *operands]:
            return e.Or(tuple(map(expr_of, operands)))
        case ["=", left, right]:
            return e.Equal(expr_of(left), expr_of(right))
        case ["<", left, right]:
            return e.Less(expr_of(left), expr_of(right))
        case ["if", condition, then, otherwise]:
            return e.Ite(expr_of(condition), expr_of(then), expr_of(otherwise))
        case [op, left, right]:
            return e.Arith(op, expr_of(left), expr_of(right))
        case _:
            raise AssertionError(data)


_UNARY: dict[str, Callable[[Formula], Formula]] = {
    "not": f.Not,
    "next": f.Next,
    "previous": f.Previous,
    "once": f.Once,
    "historically": f.Historically,
}
_BINARY: dict[str, Callable[[Formula, Formula], Formula]] = {
    "implies": f.Implies,
    "iff": f.Iff,
    "weak until": f.WeakUntil,
    "strong release": f.StrongRelease,
    "release": f.Release,
    "since": f.Since,
}
_BOUNDED: dict[str, Callable[[Formula, Formula, f.Bound | None], Formula]] = {
    "until": f.Until,
    "release": f.Release,
    "weak until": f.WeakUntil,
    "strong release": f.StrongRelease,
}


def channel_of(data: dict[str, Any]) -> Channel:
    promised = tuple(map(expr_of, data["promised"]))
    return Channel(data["name"], promised, expr_of(data["bound"]), expr_of(data["caught up"]))


def offering_of(data: dict[str, Any]) -> Offering:
    offers = (
        Offer(one["name"], *(expr_of(one[end]) for end in ("offered", "promised", "kept", "ended")))
        for one in data["offers"]
    )
    return Offering(channel_of(data), tuple(offers))


def bound_of(data: Any) -> f.Bound | None:
    if data is None or isinstance(data, int):
        return None if data is None else f.Bound(data)
    ticks = data.get("ticks")
    return f.Bound(data["to"], data["from"], None if ticks is None else f.Taken(frozenset(ticks[0]), ticks[1]))


def formula_of(data: list[Any]) -> Formula:
    match data:
        case ["atom", condition, text]:
            return f.Atom(expr_of(condition), text)
        case ["does", steps, text]:
            return f.Taken(frozenset(steps), text)
        case ["shorthand", operand, text]:
            return f.Shorthand(formula_of(operand), text)
        case ["and", *operands]:
            return f.And(tuple(map(formula_of, operands)))
        case ["or", *operands]:
            return f.Or(tuple(map(formula_of, operands)))
        case ["finally", operand, bound]:
            return f.Finally(formula_of(operand), bound_of(bound))
        case ["globally", operand, bound]:
            return f.Globally(formula_of(operand), bound_of(bound))
        case ["A" | "E" as quantifier, path, along]:
            taken = None if along is None else f.Taken(frozenset(along[0]), along[1])
            return f.OnPaths(quantifier, formula_of(path), taken)
        case ["enforces", group, goal, sight]:
            goal_formula = formula_of(goal)
            assert isinstance(goal_formula, f.Next | f.Finally | f.Globally | f.Until)
            return f.Enforces(tuple(group), goal_formula, sight == "uniform")
        case ["commits", channel, operand]:
            return Commits(channel_of(channel), formula_of(operand))
        case ["fulfils", channel, operand]:
            return Fulfils(channel_of(channel), formula_of(operand))
        case [("DeS" | "AsS") as word, channel, other, party, antecedent, consequent]:
            content = formula_of(antecedent), formula_of(consequent)
            return Conditional(offering_of(channel), word, *content, offering_of(other), party)
        case [("WCC" | "SCC" | "FuW" | "FuS" | "CaS" | "ReS") as word, channel, antecedent, consequent]:
            return Conditional(offering_of(channel), word, formula_of(antecedent), formula_of(consequent))
        case ["socially commits", pair, bindings, operand, trigger]:
            things = tuple(
                Binding(one["name"], formula_of(one["where"]), formula_of(one["keeping"])) for one in bindings
            )
            return SociallyCommits(pair, things, formula_of(operand), None if trigger is None else formula_of(trigger))
        case ["known from", observed, operand, observer]:
            return f.KnownFrom(tuple(map(expr_of, observed)), formula_of(operand), observer)
        case ["knows", mode, agents, operand]:
            return f.Knows(mode, tuple(agents), formula_of(operand))
        case ["adjacent", operand, same, choice, direction]:
            pairs = tuple((before, after) for before, after in same)
            return f.Adjacent(
                formula_of(operand), pairs, None if choice is None else tuple(choice), direction == "back"
            )
        case [word, operand]:
            return _UNARY[word](formula_of(operand))
        case [word, left, right, bound]:
            return _BOUNDED[word](formula_of(left), formula_of(right), bound_of(bound))
        case [word, left, right]:
            return _BINARY[word](formula_of(left), formula_of(right))
        case _:
            raise AssertionError(data)


def _same(request: Request) -> None:
    data = json.loads(export("json", request).text)
    assert data["format_version"] == 4
    assert system_of(data) == request.system
    again = [
        ExportedFormula(q["name"], formula_of(q["formula"]), q["text"], frozenset(q["assuming"]), q["expected"])
        for q in data["formulas"]
    ]
    assert again == list(request.formulas)


def test_protocols() -> None:
    for case in cases():
        compilation = compiled(case)
        _same(compilation.to_be_exported(compilation.declared_questions() or compilation.questions()))


@examples(20)
@given(st.data())
def test_random_systems(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(logic_formulas(system) | quantified(system))
    _same(Request(system, [ExportedFormula("f", formula, "", data.draw(roles(system)))], Origin("-", "0")))
