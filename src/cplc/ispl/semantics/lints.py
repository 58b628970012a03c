"""What an ISPL model says in vain, as far as its conditions plainly show it: lines that never fire, no action."""

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

_MOST_STATES: Final = 2_000
"""How many local states are looked at one by one."""

_MOST_LINES: Final = 100
"""How many lines of a protocol are compared with each line of an evolution."""

_Subject = tuple[str, str] | str
"""What has one of several values: a variable by its names, or an agent that does one of its actions."""

_Known = dict[_Subject, frozenset[model.Datum]]
"""The values that are left."""


def lints(checked: model.Model, names: Mapping[str, Span], initial: ast.Condition | None) -> Iterator[Diagnostic]:
    """Yield the warnings for a model without errors."""
    reading = _Plain({agent.name: frozenset(agent.actions) for agent in checked.agents})
    if initial is not None and reading.narrowed(checked.initial, {}) is None:
        message = "No state is initial: this never holds"
        yield rules.NO_INITIAL_STATE.at(initial.span, message, Note("so there is nothing to verify"))
    for agent in checked.agents:
        yield from _states_without_action(agent, names[agent.name])
        for line in agent.evolution:
            reason = _never(line, agent, reading)
            if reason:
                yield rules.NEVER_FIRES.at(line.span, f"This line never fires: {reason}")


def _never(line: model.EvolutionLine, agent: model.Agent, reading: _Plain) -> str | None:
    """Return why a line cannot fire, if that is plain."""
    domains = reading.narrowed(line.condition, {})
    if domains is None:
        return "its condition contradicts itself"
    own = domains.get(agent.name, reading.actions[agent.name])
    if agent.name not in domains or not agent.protocol or len(agent.protocol) > _MOST_LINES or own & set(agent.other):
        return None
    for allowed in agent.protocol:
        if own.intersection(allowed.actions) and reading.narrowed(allowed.condition, domains) is not None:
            return None
    return f"the protocol does not allow {' or '.join(f'`{name}`' for name in sorted(map(str, own)))} there"


class _Plain:
    """Conditions as far as they are about one thing at a time."""

    def __init__(self, actions: Mapping[str, frozenset[model.Datum]]) -> None:
        self.actions = actions
        self._values: dict[_Subject, frozenset[model.Datum]] = {}

    def narrowed(self, condition: model.Condition, domains: _Known, holds: bool = True) -> _Known | None:
        """Return what is left of the values where the condition holds, or None if it plainly cannot."""
        match condition:
            case model.Not(operand):
                return self.narrowed(operand, domains, not holds)
            case model.And(operands) | model.Or(operands):
                if isinstance(condition, model.And) == holds:
                    return self._all(operands, domains, holds)
                narrowed = [self.narrowed(operand, domains, holds) for operand in operands]
                return self._joined(domains, [one for one in narrowed if one is not None])
            case model.Acts(agent, action):
                return self._within(domains, agent, self.actions[agent], frozenset([action]), holds)
            case model.Comparison(op, model.Read(variable), model.Constant(value)):
                return self._compared(domains, variable, op, value, holds)
            case model.Comparison(op, model.Constant(value), model.Read(variable)):
                return self._compared(domains, variable, _MIRRORED[op], value, holds)
            case _:
                return domains

    def _all(self, operands: Iterable[model.Condition], domains: _Known, holds: bool) -> _Known | None:
        narrowed: _Known | None = domains
        for operand in operands:
            if narrowed is not None:
                narrowed = self.narrowed(operand, narrowed, holds)
        return narrowed

    def _joined(self, domains: _Known, several: list[_Known]) -> _Known | None:
        """Return the values that are left in one of several cases."""
        if not several:
            return None
        subjects = set(several[0]).intersection(*several[1:]) - set(domains) if len(several) < 50 else set()
        return {**domains, **{one: frozenset().union(*(case[one] for case in several)) for one in subjects}}

    def _compared(
        self, domains: _Known, variable: model.Variable, op: str, value: model.Datum, holds: bool
    ) -> _Known | None:
        if _count(variable.type) > _MOST_STATES:
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
        domains: _Known,
        subject: _Subject,
        everything: frozenset[model.Datum],
        fit: frozenset[model.Datum],
        holds: bool,
    ) -> _Known | None:
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
    """Yield a warning if no line of a protocol applies in some local state."""
    if agent.other or not agent.protocol:
        return
    variables = list(dict.fromkeys(variable for line in agent.protocol for variable in _mentioned(line.condition)))
    if _size(variables) > _MOST_STATES:
        return
    stuck: list[dict[model.Variable, model.Datum]] = []
    for values in product(*(model.values_of(variable.type) for variable in variables)):
        state = dict(zip(variables, values, strict=True))
        if not any(_may_hold(line.condition, state) for line in agent.protocol):
            stuck.append(state)
    if stuck:
        where = " and ".join(f"{variable.name}={_shown(value)}" for variable, value in stuck[0].items())
        more = f", and in {len(stuck) - 1} cases more" if len(stuck) > 1 else ""
        message = f"`{agent.name}` has no action where {where}{more}"
        hint = Note("if such a state is reached, the whole system stops; `Other : {…};` allows something there")
        yield rules.NO_ACTION.at(name, message, hint)


def _shown(value: model.Datum) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _size(variables: Iterable[model.Variable]) -> int:
    return prod(_count(variable.type) for variable in variables)


def _count(type_: model.Type) -> int:
    return type_.high - type_.low + 1 if isinstance(type_, model.Bounded) else len(model.values_of(type_))


def _mentioned(condition: model.Condition) -> Iterator[model.Variable]:
    match condition:
        case model.Comparison(_, left, right):
            yield from reads(left)
            yield from reads(right)
        case model.Not(operand):
            yield from _mentioned(operand)
        case model.And(operands) | model.Or(operands):
            for operand in operands:
                yield from _mentioned(operand)
        case model.Acts():
            pass


def _may_hold(condition: model.Condition, state: Mapping[model.Variable, model.Datum]) -> bool:
    """Tell whether a condition holds; what cannot be computed may."""
    return _holds(condition, state) is not False


def _holds(condition: model.Condition, state: Mapping[model.Variable, model.Datum]) -> bool | None:
    match condition:
        case model.Comparison(op, left, right):
            first, second = _valued(left, state), _valued(right, state)
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


def _valued(value: model.Value, state: Mapping[model.Variable, model.Datum]) -> model.Datum | None:
    """Return a value, or None where it takes more than is sure about arithmetic."""
    match value:
        case model.Constant(datum):
            return datum
        case model.Read(variable):
            return state[variable]
        case model.Complement(operand):
            inner = _valued(operand, state)
            return None if inner is None else not inner
        case model.Operation(op, left, right):
            first, second = _valued(left, state), _valued(right, state)
            if not isinstance(first, int) or not isinstance(second, int):
                return None
            return _applied(op, first, second)


def _applied(op: str, left: int, right: int) -> model.Datum | None:
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
