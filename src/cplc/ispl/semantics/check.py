"""ISPL checker: from the syntax tree of a file to its resolved model, with errors and lints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final, TypeVar

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note, did_you_mean
from cplc.ispl.semantics import model
from cplc.ispl.semantics.conditions import Conditions, Place, reads
from cplc.ispl.semantics.declarations import Declarations, Declared, declarations
from cplc.ispl.semantics.formulas import Formulas
from cplc.ispl.syntax import ast
from cplc.logic import kleene
from cplc.logic.expressions import value_text
from cplc.records import dataclass
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.source import Span

# --- Lints of ISPL by domain propagation: lines that never fire, local states without actions


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
        where = " and ".join(f"{variable.name}={value_text(value)}" for variable, value in stuck[0].items())
        more = f", and in {len(stuck) - 1} more cases" if len(stuck) > 1 else ""
        message = f"`{agent.name}` has no action where {where}{more}"
        hint = Note("such a state is a deadlock of the system; add `Other : {…};` to allow an action")
        yield rules.NO_ACTION.at(name, message, hint)


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
            return kleene.negation(_holds(operand, state))
        case model.And(operands):
            return kleene.conjunction(_holds(operand, state) for operand in operands)
        case model.Or(operands):
            return kleene.disjunction(_holds(operand, state) for operand in operands)
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


Part = TypeVar("Part")


@dataclass(frozen=True)
class Checked:
    """The model of a file, None if it has errors, and the diagnostics."""

    model: model.Model | None
    diagnostics: tuple[Diagnostic, ...]


def check(file: ast.File, *, unread: frozenset[str] | None = frozenset(), is_incomplete: bool = False) -> Checked:
    """Resolve a file; ``unread`` are the words of statements with syntax errors."""
    problems = DiagnosticSink()
    problems.is_incomplete, problems.unread = is_incomplete, unread
    checked = _Checker(file, problems).result()
    if checked is not None and not problems.errors and not is_incomplete:
        problems.extend(lints(checked, {agent.name.text: agent.name.span for agent in file.agents}, file.initial))
    return Checked(None if problems.errors else checked, problems.sorted())


def check_formula(node: ast.Specification, file: ast.File) -> tuple[model.Specification | None, tuple[Diagnostic, ...]]:
    """Resolve a formula over the declarations of a file without errors."""
    problems = DiagnosticSink()
    formula = Formulas(declarations(file, DiagnosticSink()), problems).specification(node)
    return None if formula is None or problems.errors else _specified(node, formula), problems.sorted()


class _Checker:
    def __init__(self, file: ast.File, problems: DiagnosticSink) -> None:
        self._file = file
        self._problems = problems
        self._declared: Declarations = declarations(file, problems)

    def result(self) -> model.Model | None:
        file, declared = self._file, self._declared
        agents = [self._agent(agent) for agent in declared.agents.values()]
        everywhere = Conditions(declared, None, "evaluation", self._problems)
        propositions = [
            None if (condition := everywhere.condition(one.condition)) is None else model.Proposition(name, condition)
            for name, one in declared.propositions.items()
        ]
        for repeated in file.propositions:
            if declared.propositions[repeated.name.text] is not repeated:
                everywhere.condition(repeated.condition)
        starting = Conditions(declared, None, "initial states", self._problems)
        initial = None if file.initial is None else starting.condition(file.initial)
        formulas = Formulas(declared, self._problems)
        fairness = [formulas.fairness(one) for one in file.fairness]
        specifications = [
            None if (formula := formulas.specification(one)) is None else _specified(one, formula)
            for one in file.specifications
        ]
        self._report_unused(formulas)
        if initial is None:
            return None
        return model.Model(
            file.semantics == "SA",
            _present(agents),
            _present(propositions),
            initial,
            tuple(declared.groups.items()),
            _present(fairness),
            _present(specifications),
            initial_span=None if file.initial is None else file.initial.span,
            fairness_spans=tuple(one.span for one in file.fairness),
        )

    # --- agents

    def _agent(self, declared: Declared) -> model.Agent | None:
        node = declared.node
        protocol = [self._protocol_line(line, declared) for line in node.protocol if line.condition is not None]
        other = next((line.actions for line in node.protocol if line.condition is None), ())
        self._check_actions(other, declared)
        red = None
        if node.red is not None:
            red = self._conditions_of(declared, "red states").condition(node.red)
        evolution = [self._evolution_line(line, declared) for line in node.evolution]
        return model.Agent(
            declared.name,
            tuple(declared.variables.values()),
            tuple(declared.observed.values()),
            red,
            tuple(declared.actions),
            _present(protocol),
            tuple(dict.fromkeys(name.text for name in other)),
            _present(evolution),
            span=node.span,
            protocol_span=_enclosing_span([line.span for line in node.protocol]),
        )

    def _conditions_of(self, declared: Declared, place: Place) -> Conditions:
        return Conditions(self._declared, declared, place, self._problems)

    def _protocol_line(self, line: ast.ProtocolLine, declared: Declared) -> model.ProtocolLine | None:
        self._check_actions(line.actions, declared)
        if line.condition is None:
            return None
        condition = self._conditions_of(declared, "protocol").condition(line.condition)
        names = tuple(dict.fromkeys(name.text for name in line.actions))
        return None if condition is None else model.ProtocolLine(condition, names, span=line.span)

    def _check_actions(self, names: Iterable[ast.Name], declared: Declared) -> None:
        """Report unknown actions, and actions that a line repeats."""
        allowed: set[str] = set()
        for name in names:
            if name.text in allowed:
                self._problems.report(rules.REPEATED_NAME, name.span, f"This line repeats `{name.text}`")
            elif name.text not in declared.actions:
                message = f"`{declared.name}` has no action `{name.text}`"
                notes = did_you_mean(name.text, declared.actions)
                self._problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)
            allowed.add(name.text)

    def _evolution_line(self, line: ast.EvolutionLine, declared: Declared) -> model.EvolutionLine | None:
        reading = self._conditions_of(declared, "evolution")
        assignments = [reading.assignment(one) for one in line.assignments]
        condition = reading.condition(line.condition)
        first_spans: dict[str, Span] = {}
        for one in line.assignments:
            if one.variable.text in first_spans:
                first = Note("the other value", first_spans[one.variable.text])
                message = f"This line assigns `{one.variable.text}` twice"
                self._problems.report(rules.DUPLICATE_ASSIGNMENT, one.span, message, first)
            first_spans.setdefault(one.variable.text, one.span)
        if self._file.semantics == "SA" and len(first_spans) > 1:
            hint = Note("write one line for each variable, or `Semantics = MA;`")
            message = f"With `Semantics = SA` a line changes one variable, and this one changes {len(first_spans)}"
            self._problems.report(rules.SEVERAL_ASSIGNMENTS, line.span, message, hint)
        if condition is None or None in assignments:
            return None
        return model.EvolutionLine(_present(assignments), condition, span=line.span)

    # --- unused declarations

    def _report_unused(self, formulas: Formulas) -> None:
        for name, proposition in self._declared.propositions.items():
            if name not in formulas.used:
                message = f"No formula uses `{name}`"
                self._problems.report(rules.UNUSED, proposition.name.span, message)
        for group in self._file.groups:
            if group.name.text not in formulas.used_groups:
                self._problems.report(rules.UNUSED, group.name.span, f"No formula uses `{group.name.text}`")
        for declared in self._declared.agents.values():
            allowed = {name.text for line in declared.node.protocol for name in line.actions}
            if not declared.node.protocol:
                continue
            for action, span in declared.actions.items():
                if action not in allowed:
                    message = f"No line of the protocol of `{declared.name}` allows `{action}`"
                    self._problems.report(rules.UNUSED, span, message)


def _specified(node: ast.Specification, formula: model.Formula) -> model.Specification:
    return model.Specification(node.logic, formula, " ".join(node.span.text.split()), span=node.span)


def _enclosing_span(spans: Sequence[Span]) -> Span | None:
    """Return the span from the first to the last of the spans."""
    return Span(spans[0].source, spans[0].start, spans[-1].end) if spans else None


def _present(parts: Iterable[Part | None]) -> tuple[Part, ...]:
    """Return the parts that were resolved."""
    return tuple(part for part in parts if part is not None)
