"""Export of the whole system and its formulas to JSON.

Expressions and formulas are lists whose first entry is the operator, as in ``["and", ["read", "pay@Mer"], …]``; see
``docs/export/json.md``.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Final, assert_never

from cplc.control_characters import json_text
from cplc.export.request import Export, ExportedFormula, Request
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Binding, Channel, Commits, Conditional, Fulfils, Offering, SociallyCommits
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.system.model import Commitment, Step, System
from cplc.system.synchronous import Player

FORMAT_VERSION: Final = 4
"""Incremented by incompatible changes."""


def export(request: Request) -> Export:
    """Return the complete document."""
    document = {
        "format": "cplc system",
        "format_version": FORMAT_VERSION,
        "exported_by": f"cplc {request.origin.version}",
        "source": request.origin.source,
        **system_data(request.system),
        "formulas": [_exported(formula) for formula in request.formulas],
    }
    text = ",\n".join(f"{_text(key)}: {_entries(value)}" for key, value in document.items())
    return Export(f"{{\n{text}\n}}\n", written=tuple(formula.name for formula in request.formulas))


def _entries(value: object) -> str:
    """Return a list with one entry per line, other values in one line."""
    if not isinstance(value, list) or not value:
        return _text(value)
    return "[\n" + ",\n".join(f"  {_text(entry)}" for entry in value) + "\n]"


def _text(value: object) -> str:
    return json_text(value)


def system_data(system: System) -> dict[str, object]:
    """Return the content of a system without source spans."""
    return {
        "name": system.name,
        "header": dict(system.header),
        "variables": [
            {field.name: getattr(variable, field.name) for field in fields(variable)} for variable in system.variables
        ],
        "agents": [{"name": a.name, "family": a.family, "local": a.local} for a in system.agents],
        "shared": [
            {"first": s.first, "second": s.second, "at_first": s.at_first, "at_second": s.at_second}
            for s in system.shared
        ],
        "messages": [
            {
                "name": message.name,
                "sender": message.sender,
                **(
                    {"receivers": message.receivers}
                    if message.has_several_receivers
                    else {"receiver": message.receivers[0]}
                ),
                "parameters": message.parameters,
                "sent": expr_data(message.sent),
                "received": expr_data(message.received),
                "in_flight": expr_data(message.in_flight),
            }
            for message in system.messages
        ],
        "commitments": [
            {
                "name": commitment.name,
                **_sides(commitment),
                "variable": commitment.variable,
                "antecedent": expr_data(commitment.antecedent),
                "consequent": expr_data(commitment.consequent),
                "content": commitment.content,
                "on_course": expr_data(commitment.on_course),
                "within": commitment.within,
                "expires": commitment.expires,
                "views": dict(commitment.views),
            }
            for commitment in system.commitments
        ],
        "claims": [
            {
                "name": claim.name,
                "maker": claim.maker,
                "addressee": claim.addressee,
                "variable": claim.variable,
                "content": expr_data(claim.content),
                "formula": claim.formula,
                "on_course": expr_data(claim.on_course),
                "views": dict(claim.views),
            }
            for claim in system.claims
        ],
        **(
            {"powers": [{"role": p.role, "verb": p.verb, "commitment": p.commitment} for p in system.powers]}
            if system.powers
            else {}
        ),
        "steps": [_step(step) for step in system.steps],
        "justice": [
            {
                "name": justice.name,
                "steps": [system.steps[index].name for index in justice.steps],
                "role": justice.role,
                **({} if justice.due is None else {"due": expr_data(justice.due)}),
                **({"is_condition": True} if justice.is_condition else {}),
            }
            for justice in system.justice
        ],
        "fairness": [expr_data(condition) for condition in system.fairness],
        "recurring": [formula_data(condition) for condition in system.recurring],
        "players": [_player(player) for player in system.players],
        "start": expr_data(system.start),
        "hazards": [{"text": text, "condition": expr_data(condition)} for text, condition, _ in system.hazards],
    }


def _sides(commitment: Commitment) -> dict[str, object]:
    """Return both sides: roles, or groups of several with those who are answerable."""
    debtors: dict[str, object] = {"debtor": commitment.debtor}
    if len(commitment.debtors) > 1:
        debtors = {"debtors": commitment.debtors, "answerable": commitment.answerable}
    if len(commitment.creditors) > 1:
        return debtors | {"creditors": commitment.creditors}
    return debtors | {"creditor": commitment.creditor}


def _step(step: Step) -> dict[str, object]:
    return {
        "name": step.name,
        "kind": step.kind,
        "actor": step.actor,
        "event": step.event,
        "payload": dict(step.payload),
        "guard": expr_data(step.guard),
        "updates": {name: expr_data(value) for name, value in step.updates},
        "free": step.free,
        "operations": [
            {
                "verb": operation.verb,
                "of": operation.commitment,
                "target": operation.target,
                "joined": operation.joined,
                "retaining": operation.retaining,
                "applicable": expr_data(operation.applicable),
                "state_before": expr_data(operation.state_before),
            }
            for operation in step.operations
        ],
    }


def _player(player: Player) -> dict[str, object]:
    return {
        "agent": player.agent,
        "choice": player.choice,
        "actions": [{"name": action.name, "allowed": expr_data(action.allowed)} for action in player.actions],
        "rules": [
            [
                {
                    "guard": expr_data(change.guard),
                    "updates": {name: expr_data(value) for name, value in change.updates},
                }
                for change in rule
            ]
            for rule in player.rules
        ],
    }


def _exported(question: ExportedFormula) -> dict[str, object]:
    return {
        "name": question.name,
        "text": question.text,
        "assuming": sorted(question.assuming),
        "expected": question.expected,
        "formula": formula_data(question.formula),
    }


def expr_data(expr: Expr) -> list[object]:
    match expr:
        case e.Const(value):
            return ["const", value]
        case e.Read(variable):
            return ["read", variable]
        case e.Not(operand):
            return ["not", expr_data(operand)]
        case e.And(operands):
            return ["and", *map(expr_data, operands)]
        case e.Or(operands):
            return ["or", *map(expr_data, operands)]
        case e.Equal(left, right):
            return ["=", expr_data(left), expr_data(right)]
        case e.Less(left, right):
            return ["<", expr_data(left), expr_data(right)]
        case e.Arith(op, left, right):
            return [op, expr_data(left), expr_data(right)]
        case e.Ite(condition, then, otherwise):
            return ["if", expr_data(condition), expr_data(then), expr_data(otherwise)]


def formula_data(formula: Formula) -> list[object]:
    match formula:
        case f.Atom(condition, text):
            return ["atom", expr_data(condition), text]
        case f.Taken():
            return ["does", *_taken(formula)]
        case (
            f.Until(left, right, bound) | f.Release(left, right, f.Bound() as bound)
            | f.WeakUntil(left, right, f.Bound() as bound) | f.StrongRelease(left, right, f.Bound() as bound)
        ):  # fmt: skip
            return [_word(formula), formula_data(left), formula_data(right), _bound(bound)]
        case f.OnPaths(quantifier, path, along):
            return [quantifier, formula_data(path), None if along is None else _taken(along)]
        case f.Enforces(group, goal, uniform):
            return ["enforces", group, formula_data(goal), "uniform" if uniform else "full"]
        case f.KnownFrom(observed, operand, observer):
            return ["known from", [*map(expr_data, observed)], formula_data(operand), observer]
        case f.Knows(mode, agents, operand):
            return ["knows", mode, agents, formula_data(operand)]
        case f.Adjacent(operand, same, choice, back):
            return ["adjacent", formula_data(operand), same, choice, "back" if back else "on"]
        case f.Shorthand(operand, text):
            return ["shorthand", formula_data(operand), text]
        case f.Finally(operand, bound) | f.Globally(operand, bound):
            return [_word(formula), formula_data(operand), _bound(bound)]
        case Commits(channel, operand) | Fulfils(channel, operand):
            return [_word(formula), _channel(channel), formula_data(operand)]
        case Conditional(channel, operation, antecedent, consequent, other, party):
            third = [] if other is None else [_offering(other), party]
            return [operation, _offering(channel), *third, formula_data(antecedent), formula_data(consequent)]
        case SociallyCommits(pair, bindings, operand, trigger):
            then = None if trigger is None else formula_data(trigger)
            return ["socially commits", pair, [*map(_binding, bindings)], formula_data(operand), then]
        case f.Not() | f.And() | f.Next() | f.Release() | f.Previous() | f.Since() | f.Regardless() | f.Derived():
            return [_word(formula), *map(formula_data, f.children(formula))]
        case _:
            assert_never(formula)


def _binding(binding: Binding) -> dict[str, object]:
    return {"name": binding.name, "where": formula_data(binding.where), "keeping": formula_data(binding.keeping)}


def _channel(channel: Channel) -> dict[str, object]:
    return {
        "name": channel.name,
        "promised": [*map(expr_data, channel.promised)],
        "bound": expr_data(channel.bound),
        "caught up": expr_data(channel.caught_up),
    }


def _offering(offering: Offering) -> dict[str, object]:
    offers = (
        {
            "name": offer.name,
            "offered": expr_data(offer.offered),
            "promised": expr_data(offer.promised),
            "kept": expr_data(offer.fulfilled),
            "ended": expr_data(offer.ended),
        }
        for offer in offering.offers
    )
    return _channel(offering.promises) | {"offers": [*offers]}


def _bound(bound: f.Bound | None) -> object:
    """Return the number of steps of ``<=k``; for other bounds the interval, and the ticks if these are counted."""
    if bound is None or (bound.low == 0 and bound.ticks is None):
        return None if bound is None else bound.high
    interval: dict[str, object] = {"from": bound.low, "to": bound.high}
    return interval if bound.ticks is None else interval | {"ticks": _taken(bound.ticks)}


def _taken(taken: f.Taken) -> list[object]:
    return [sorted(taken.steps), taken.text]


def _word(formula: Formula) -> str:
    """Return the name of the operator in words, such as ``weak until``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(formula).__name__).lower()
