"""Lints of ISPL by domain propagation: lines that never fire, local states without actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.ispl.semantics import model
from cplc.ispl.semantics.conditions import reads
from cplc.ispl.syntax import ast
from cplc.source import Span

_MAX_LOCAL_STATES: Final = 2_000
"""Maximum number of local states that are enumerated."""

_MAX_PROTOCOL_LINES: Final = 100
"""Maximum number of protocol lines that are compared with each evolution line."""

_Subject = tuple[str, str] | str
"""A variable by agent and name, or an agent, whose values are its actions."""

_Domains = dict[_Subject, frozenset[model.Datum]]
"""Remaining values of each subject."""


def lints(checked: model.Model, names: Mapping[str, Span], initial: ast.Condition | None) -> Iterator[Diagnostic]:
    """Yield the warnings for a model without errors."""
    propagation = _DomainPropagation({agent.name: frozenset(agent.actions) for agent in checked.agents})
    if initial is not None and propagation.narrowed(checked.initial, {}) is None:
        message = "There is no initial state: this condition is unsatisfiable"
        yield rules.NO_INITIAL_STATE.at(initial.span, message, Note("so there is nothing to verify"))
    for agent in checked.agents:
        yield from _states_without_action(agent, names[agent.name])
        for line in agent.evolution:
            reason = _reason_not_to_fire(line, agent, propagation)
            if reason:
                yield rules.NEVER_FIRES.at(line.span, f"This line never fires: {reason}")


def _reason_not_to_fire(line: model.EvolutionLine, agent: model.Agent, propagation: _DomainPropagation) -> str | None:
    """Return the reason why a line cannot fire; None if it may."""
    domains = propagation.narrowed(line.condition, {})
    if domains is None:
        return "its condition contradicts itself"
    own = domains.get(agent.name, propagation.actions[agent.name])
    if (
        agent.name not in domains
        or not agent.protocol
        or len(agent.protocol) > _MAX_PROTOCOL_LINES
        or own & set(agent.other)
    ):
        return None
    for allowed in agent.protocol:
        if own.intersection(allowed.actions) and propagation.narrowed(allowed.condition, domains) is not None:
            return None
    return f"the protocol does not allow {' or '.join(f'`{name}`' for name in sorted(map(str, own)))} there"


class _DomainPropagation:
    """Domain propagation through unary constraints of conditions."""

    def __init__(self, actions: Mapping[str, frozenset[model.Datum]]) -> None:
        self.actions = actions
        self._values: dict[_Subject, frozenset[model.Datum]] = {}

    def narrowed(self, condition: model.Condition, domains: _Domains, holds: bool = True) -> _Domains | None:
        """Return the domains restricted by the condition; None if it is unsatisfiable."""
        match condition:
            case model.Not(operand):
                return self.narrowed(operand, domains, not holds)
            case model.And(operands) | model.Or(operands):
                if isinstance(condition, model.And) == holds:
                    return self._all(operands, domains, holds)
                narrowed = [self.narrowed(operand, domains, holds) for operand in operands]
                return self._union(domains, [one for one in narrowed if one is not None])
            case model.Acts(agent, action):
                return self._within(domains, agent, self.actions[agent], frozenset([action]), holds)
            case model.Comparison(op, model.Read(variable), model.Constant(value)):
                return self._compared(domains, variable, op, value, holds)
            case model.Comparison(op, model.Constant(value), model.Read(variable)):
                return self._compared(domains, variable, _MIRRORED[op], value, holds)
            case _:
                return domains

    def _all(self, operands: Iterable[model.Condition], domains: _Domains, holds: bool) -> _Domains | None:
        narrowed: _Domains | None = domains
        for operand in operands:
            if narrowed is not None:
                narrowed = self.narrowed(operand, narrowed, holds)
        return narrowed

    def _union(self, domains: _Domains, several: list[_Domains]) -> _Domains | None:
        """Return the union of the domains of several cases."""
        if not several:
            return None
        subjects = set(several[0]).intersection(*several[1:]) - set(domains) if len(several) < 50 else set()
        return {**domains, **{one: frozenset().union(*(case[one] for case in several)) for one in subjects}}

    def _compared(
        self, domains: _Domains, variable: model.Variable, op: str, value: model.Datum, holds: bool
    ) -> _Domains | None:
        if _count(variable.type) > _MAX_LOCAL_STATES:
            return domains
        subject = variable.agent, variable.name
        if subject not in self._values:
            self._values[subject] = frozenset(model.values_of(variable.type))
        values = self._values[subject]
        if op in ("=", "<>"):
            return self._within(domains, subject, values, frozenset([value]), holds == (op == "="))
        fit = frozenset(one for one in values if _compares(op, one, value))
        return self._within(domains, subject, values, fit, holds)

    def _within(
        self,
        domains: _Domains,
        subject: _Subject,
        everything: frozenset[model.Datum],
        fit: frozenset[model.Datum],
        holds: bool,
    ) -> _Domains | None:
        values = domains.get(subject, everything)
        remaining = values & fit if holds else values - fit
        return {**domains, subject: remaining} if remaining else None


_MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compares(op: str, left: model.Datum, right: model.Datum) -> bool:
    match op, left, right:
        case "=", _, _:
            return left == right
        case "<>", _, _:
            return left != right
        case "<", int(), int():
            return left < right
        case "<=", int(), int():
            return left <= right
        case ">", int(), int():
            return left > right
        case _:
            return isinstance(left, int) and isinstance(right, int) and left >= right


# --- states without action


def _states_without_action(agent: model.Agent, name: Span) -> Iterator[Diagnostic]:
    """Yield a warning if no protocol line applies in some local state."""
    if agent.other or not agent.protocol:
        return
    variables = list(dict.fromkeys(variable for line in agent.protocol for variable in _variables_of(line.condition)))
    if _size(variables) > _MAX_LOCAL_STATES:
        return
    stuck: list[dict[model.Variable, model.Datum]] = []
    for values in product(*(model.values_of(variable.type) for variable in variables)):
        state = dict(zip(variables, values, strict=True))
        if not any(_may_hold(line.condition, state) for line in agent.protocol):
            stuck.append(state)
    if stuck:
        where = " and ".join(f"{variable.name}={_shown(value)}" for variable, value in stuck[0].items())
        more = f", and in {len(stuck) - 1} more cases" if len(stuck) > 1 else ""
        message = f"`{agent.name}` has no action where {where}{more}"
        hint = Note("such a state is a deadlock of the system; add `Other : {…};` to allow an action")
        yield rules.NO_ACTION.at(name, message, hint)


def _shown(value: model.Datum) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _size(variables: Iterable[model.Variable]) -> int:
    return prod(_count(variable.type) for variable in variables)


def _count(type_: model.Type) -> int:
    return type_.high - type_.low + 1 if isinstance(type_, model.Bounded) else len(model.values_of(type_))


def _variables_of(condition: model.Condition) -> Iterator[model.Variable]:
    match condition:
        case model.Comparison(_, left, right):
            yield from reads(left)
            yield from reads(right)
        case model.Not(operand):
            yield from _variables_of(operand)
        case model.And(operands) | model.Or(operands):
            for operand in operands:
                yield from _variables_of(operand)
        case model.Acts():
            pass


def _may_hold(condition: model.Condition, state: Mapping[model.Variable, model.Datum]) -> bool:
    """Tell whether a condition may hold; unknown counts as true."""
    return _holds(condition, state) is not False


def _holds(condition: model.Condition, state: Mapping[model.Variable, model.Datum]) -> bool | None:
    match condition:
        case model.Comparison(op, left, right):
            first, second = _evaluate(left, state), _evaluate(right, state)
            return None if first is None or second is None else _compares(op, first, second)
        case model.Not(operand):
            inner = _holds(operand, state)
            return None if inner is None else not inner
        case model.And(operands):
            truths = [_holds(operand, state) for operand in operands]
            return False if False in truths else (None if None in truths else True)
        case model.Or(operands):
            truths = [_holds(operand, state) for operand in operands]
            return True if True in truths else (None if None in truths else False)
        case model.Acts():
            return None


def _evaluate(value: model.Value, state: Mapping[model.Variable, model.Datum]) -> model.Datum | None:
    """Return the value of an expression; None if unknown."""
    match value:
        case model.Constant(datum):
            return datum
        case model.Read(variable):
            return state[variable]
        case model.Complement(operand):
            inner = _evaluate(operand, state)
            return None if inner is None else not inner
        case model.Operation(op, left, right):
            first, second = _evaluate(left, state), _evaluate(right, state)
            if not isinstance(first, int) or not isinstance(second, int):
                return None
            return _evaluate_operation(op, first, second)


def _evaluate_operation(op: str, left: int, right: int) -> model.Datum | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "&":
            return bool(left and right)
        case "|":
            return bool(left or right)
        case "^":
            return left != right
        case _:
            return None
