"""Name resolution and type checks of conditions and values, by the section in which they occur."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean, suggestion
from cplc.ispl.semantics import model
from cplc.ispl.semantics.declarations import Declarations, Declared
from cplc.ispl.syntax import ast
from cplc.ispl.syntax.ast import ACTION, ENVIRONMENT
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.source import Span

Place = Literal["protocol", "evolution", "red states", "evaluation", "initial states"]

_NUMBER: Final = "a number"
Kind = Literal["a number", "a boolean"] | model.Enumeration
"""Type of a value."""

TypedValue = tuple[model.Value, Kind]


class Conditions:
    """Resolves conditions of one agent, or of the whole model if ``agent`` is None."""

    def __init__(self, declared: Declarations, agent: Declared | None, place: Place, problems: DiagnosticSink) -> None:
        self._declared = declared
        self._agent = agent
        self._place = place
        self._problems = problems

    def _error(self, span: Span, message: str, *notes: Note) -> None:
        self._problems.report(rules.TYPE_MISMATCH, span, message, *notes)

    # --- conditions

    def condition(self, node: ast.Condition) -> model.Condition | None:
        """Return the resolved condition; None if it has errors, which are reported."""
        match node:
            case ast.Comparison():
                return self._comparison(node)
            case ast.Acts():
                return self._acts(node)
            case ast.Not(operand):
                inner = self.condition(operand)
                return None if inner is None else model.Not(inner)
            case ast.Junction(op, operands):
                read = [self.condition(operand) for operand in operands]
                parts = tuple(part for part in read if part is not None)
                if len(parts) < len(read):
                    return None
                return model.And(parts) if op == "and" else model.Or(parts)

    def _acts(self, node: ast.Acts) -> model.Acts | None:
        if self._place != "evolution" or self._agent is None:
            where = {"protocol": "A protocol condition", "red states": "The condition of red states"}
            message = f"{where.get(self._place, 'This condition')} depends on states; it cannot read `Action`"
            self._problems.report(rules.NOT_A_STATE_CONDITION, node.span, message)
            return None
        if node.agent is not None and node.agent.text == self._agent.name == ENVIRONMENT:
            self._report_self_reference(node.span, f"Action={node.action.text}")
        doer = self._agent if node.agent is None else self._declared.agent(node.agent, self._problems)
        if doer is None:
            return None
        if node.action.text not in doer.actions:
            notes = did_you_mean(node.action.text, doer.actions) or _name_list("its actions are", doer.actions)
            message = f"`{doer.name}` has no action `{node.action.text}`"
            self._problems.report(rules.UNKNOWN_NAME, node.action.span, message, *notes)
            return None
        return model.Acts(doer.name, node.action.text)

    def _report_self_reference(self, span: Span, written: str) -> None:
        assert self._agent is not None
        message = f"`{self._agent.name}` refers to itself without its name in its own conditions"
        self._problems.report(rules.SYNTAX, span, message, suggestion(f"write `{written}`", written))

    def _comparison(self, node: ast.Comparison) -> model.Condition | None:
        if isinstance(node.left, ast.Ref) and node.left.name.text == ACTION:
            message = "`Action` is compared by `=` with the name of an action"
            hint = Note(f"write `!({node.left} = a)` for all actions but `a`")
            self._problems.report(rules.SYNTAX, node.span, message, *([hint] if node.op in ("<>", "!=") else []))
            return None
        if node.op == "!=":
            message = "MCMAS 1.3 rejects `!=`"
            self._problems.report(rules.OTHER_DIALECT, node.span, message, suggestion("write `<>`", "<>", written="!="))
        if self._place == "initial states":
            self._check_initial_dialect(node)
        sides = self._sides(node)
        if sides is None:
            return None
        (left, left_kind), (right, right_kind) = sides
        if not self._are_comparable(node, left_kind, right_kind):
            return None
        if isinstance(left, model.Constant) and isinstance(right, model.Constant):
            self._error(node.span, "This compares two constants: a comparison requires a variable")
            return None
        fits = self._check_constant(left, right, node.right.span) and self._check_constant(right, left, node.left.span)
        return model.Comparison("<>" if node.op == "!=" else node.op, left, right) if fits else None

    def _check_initial_dialect(self, node: ast.Comparison) -> None:
        """Warn of comparisons that MCMAS rejects in the initial states."""
        plain = isinstance(node.left, ast.Ref) and isinstance(node.right, ast.Ref | ast.Number | ast.Truth)
        if node.op != "=" or not plain:
            message = "MCMAS 1.3 accepts only `Agent.x = value` and `Agent.x = Agent.y` in the initial states"
            self._problems.report(rules.OTHER_DIALECT, node.span, message)

    def _are_comparable(self, node: ast.Comparison, left: Kind, right: Kind) -> bool:
        match left, right:
            case model.Enumeration(ours), model.Enumeration(theirs):
                if not (set(ours) <= set(theirs) or set(theirs) <= set(ours)):
                    text = f"`{node.left.span.text}` and `{node.right.span.text}` have incompatible sets of values"
                    self._error(node.span, text)
                    return False
            case str(), str() if left == right:
                pass
            case _:
                text = f"This compares {_described(left)} with {_described(right)}"
                self._error(node.span, text)
                return False
        if left != _NUMBER and node.op not in ("=", "<>", "!="):
            self._error(node.span, f"Order comparisons require numbers; this is {_described(left)}")
            return False
        return True

    def _check_constant(self, variable: model.Value, value: model.Value, span: Span) -> bool:
        """Report a constant outside the domain of the variable that it is compared with."""
        if not isinstance(variable, model.Read) or not isinstance(value, model.Constant):
            return True
        return self.check_value(variable.variable, value, span)

    def check_value(self, variable: model.Variable, value: model.Constant, span: Span) -> bool:
        """Report a constant outside the domain of the variable."""
        match variable.type, value.value:
            case model.Bounded(low, high), int() as number if not low <= number <= high:
                message = f"`{variable.name}` is {variable.type}; {number} is out of range"
            case model.Enumeration(values), str() as name if name not in values:
                notes = did_you_mean(name, values)
                message = f"`{name}` is no value of `{variable.name}`, which is {variable.type}"
                self._problems.report(rules.VALUE_OUT_OF_RANGE, span, message, *notes)
                return False
            case _:
                return True
        self._problems.report(rules.VALUE_OUT_OF_RANGE, span, message)
        return False

    # --- values

    def _sides(self, node: ast.Comparison) -> tuple[TypedValue, TypedValue] | None:
        """Return both sides; an unqualified name compared with an enumeration is one of its values."""
        left, right = self._value_name(node.left), self._value_name(node.right)
        if self._agent is not None and any(_declares(self._agent, one.text) for one in (left, right) if one):
            return None
        if left is not None and right is not None:
            names = [name for name in (left, right) if not self._is_value(name.text)]
            for name in names or [left]:
                self._report_unknown(name)
            return None
        if left is not None:
            meant = self.value(node.right)
            return None if meant is None else self._swapped(self._constant_of_type(left, meant), meant)
        first = self.value(node.left)
        if right is not None:
            return None if first is None else self._paired(first, self._constant_of_type(right, first))
        second = self.value(node.right)
        return None if first is None or second is None else (first, second)

    def _paired(self, first: TypedValue, second: TypedValue | None) -> tuple[TypedValue, TypedValue] | None:
        return None if second is None else (first, second)

    def _swapped(self, first: TypedValue | None, second: TypedValue) -> tuple[TypedValue, TypedValue] | None:
        return None if first is None else (first, second)

    def _value_name(self, node: ast.Value) -> ast.Name | None:
        """Return the name if the value is an unqualified name other than a variable."""
        if isinstance(node, ast.Ref) and node.owner is None and not self._own_variable(node.name.text):
            return node.name
        return None

    def _own_variable(self, name: str) -> model.Variable | None:
        return None if self._agent is None else self._agent.variables.get(name)

    def _is_value(self, name: str) -> bool:
        agents = self._declared.agents.values() if self._agent is None else [self._agent]
        return any(name in agent.values for agent in agents)

    def _constant_of_type(self, name: ast.Name, other: TypedValue) -> TypedValue | None:
        """Return the value of that name in the type of the other side."""
        _, kind = other
        if isinstance(kind, model.Enumeration):
            return model.Constant(name.text), kind
        self._report_unknown(name)
        return None

    def _report_unknown(self, name: ast.Name) -> None:
        """Report an unqualified name that is not declared here."""
        text = name.text
        if self._agent is not None and _declares(self._agent, text):
            return
        hidden = self._declared.environment
        if self._agent is None:
            owners = [agent.name for agent in self._declared.agents.values() if text in agent.variables]
            hint = [suggestion(f"write `{owner}.{text}`", f"{owner}.{text}") for owner in owners[:1]]
            message = f"`{text}` lacks the name of its agent" if owners else f"Nothing is called `{text}`"
            notes = hint or list(did_you_mean(text, self._visible_names()))
        elif hidden is not None and hidden is not self._agent and text in hidden.variables:
            message, notes = f"`{self._agent.name}` has no variable `{text}`", []
            if text in self._agent.observed:
                qualified = f"{ENVIRONMENT}.{text}"
                notes = [suggestion(f"write `{qualified}` for the variable of the environment", qualified)]
        elif self._is_value(text):
            owner = self._agent.values[text]
            message, notes = f"`{text}` is a value of `{owner.name}` and cannot be compared with this", []
        else:
            message = f"`{self._agent.name}` has no variable `{text}`"
            notes = list(did_you_mean(text, self._visible_names()))
        self._problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)

    def _visible_names(self) -> list[str]:
        agents = self._declared.agents.values() if self._agent is None else [self._agent]
        return [name for agent in agents for name in (*agent.variables, *agent.values)]

    def value(self, node: ast.Value) -> TypedValue | None:
        """Return the resolved value and its type; None if it has errors, which are reported."""
        match node:
            case ast.Number(number):
                return model.Constant(number), "a number"
            case ast.Truth(truth):
                return model.Constant(truth), "a boolean"
            case ast.Ref():
                variable = self._variable(node)
                return None if variable is None else (model.Read(variable), _kind(variable.type))
            case ast.Complement(operand):
                inner = self._operand(operand, "a boolean")
                return None if inner is None else (model.Complement(inner), "a boolean")
            case ast.Operation(op, left, right):
                kind: Literal["a number", "a boolean"] = "a number" if op in "+-*/" else "a boolean"
                first, second = self._operand(left, kind), self._operand(right, kind)
                if op == "/" and second == model.Constant(0):
                    self._problems.report(rules.DIVISION_BY_ZERO, node.span, "This divides by zero")
                    return None
                if first is None or second is None:
                    return None
                if op == "/":
                    message = "Division truncates here, but is exact in MCMAS 1.3, where a fraction equals no value"
                    self._problems.report(rules.OTHER_DIALECT, node.span, message)
                return model.Operation(op, first, second), kind

    def _operand(self, node: ast.Value, expected: Kind) -> model.Value | None:
        typed_value = self.value(node)
        if typed_value is None:
            return None
        value, kind = typed_value
        if kind != expected:
            self._error(node.span, f"Expected {_described(expected)}, found {_described(kind)}")
            return None
        return value

    def _variable(self, node: ast.Ref) -> model.Variable | None:
        """Return the variable that is read; report it unless it is visible here."""
        if self._agent is None:
            return self._variable_of_model(node)
        if node.owner is None:
            own = self._agent.variables.get(node.name.text)
            if own is None:
                self._report_unknown(node.name)
            return own
        if node.owner.text == self._agent.name:
            self._report_self_reference(node.span, node.name.text)
            return self._agent.variables.get(node.name.text)
        owner = self._declared.agent(node.owner, self._problems)
        if owner is None:
            return None
        variable = owner.variables.get(node.name.text)
        if variable is None:
            self._report_unknown_of(owner, node.name)
        elif node.owner.text != ENVIRONMENT:
            message = f"`{self._agent.name}` does not observe `{node}`"
            hint = Note("an agent observes its own variables and the actions of other agents")
            self._problems.report(rules.UNSEEN, node.span, message, hint)
        elif node.name.text not in self._agent.observed:
            message = f"`{self._agent.name}` does not observe `{node}`"
            hint = Note(f"write `Lobsvars = {{{node.name.text}}};`, or declare the variable in `Obsvars`")
            self._problems.report(rules.UNSEEN, node.span, message, hint)
        else:
            return variable
        return None

    def _variable_of_model(self, node: ast.Ref) -> model.Variable | None:
        if node.owner is None:
            self._report_unknown(node.name)
            return None
        owner = self._declared.agent(node.owner, self._problems)
        if owner is None:
            return None
        variable = owner.variables.get(node.name.text)
        if variable is None:
            self._report_unknown_of(owner, node.name)
        return variable

    def _report_unknown_of(self, owner: Declared, name: ast.Name) -> None:
        if _declares(owner, name.text):
            return
        message = f"`{owner.name}` has no variable `{name.text}`"
        notes = did_you_mean(name.text, owner.variables)
        self._problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)

    # --- assignments

    def assignment(self, node: ast.Assignment) -> model.Assignment | None:
        """Return the resolved assignment to a variable of the agent."""
        assert self._agent is not None
        variable = self._agent.variables.get(node.variable.text)
        if variable is None:
            self._report_not_assignable(node.variable)
            return None
        name = self._value_name(node.value)
        typed_value = (
            self._constant_of_type(name, (model.Read(variable), _kind(variable.type)))
            if name
            else self.value(node.value)
        )
        if typed_value is None:
            return None
        value, kind = typed_value
        ours = _kind(variable.type)
        if isinstance(ours, model.Enumeration) and isinstance(kind, model.Enumeration):
            if set(ours.values) != set(kind.values):
                self._error(node.span, f"`{node.value.span.text}` does not have the values of `{variable.name}`")
                return None
        elif ours != kind:
            self._error(node.span, f"`{variable.name}` is {_described(ours)}; the assigned value is {_described(kind)}")
            return None
        if not self._check_range(variable, value, node.value.span):
            return None
        self._check_observable(value, node.value.span)
        return model.Assignment(variable, value)

    def _check_range(self, variable: model.Variable, value: model.Value, span: Span) -> bool:
        """Report an assigned value outside the domain of the variable."""
        match variable.type, value:
            case _, model.Constant():
                return self.check_value(variable, value, span)
            case model.Bounded(low, high), model.Read(model.Variable(type=model.Bounded(least, most)) as other):
                if high < least or most < low:
                    text = f"`{variable.name}` is {variable.type}, but `{other.name}` is {other.type}"
                    self._problems.report(rules.VALUE_OUT_OF_RANGE, span, text)
                    return False
                return True
            case _:
                return True

    def _report_not_assignable(self, name: ast.Name) -> None:
        assert self._agent is not None
        world = self._declared.environment
        if world is not None and name.text in world.variables:
            message = f"`{name.text}` belongs to the environment: no other agent can assign it"
            self._problems.report(rules.FOREIGN_VARIABLE, name.span, message)
        elif not _declares(self._agent, name.text):
            message = f"`{self._agent.name}` has no variable `{name.text}`"
            notes = did_you_mean(name.text, self._agent.variables)
            self._problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)

    def _check_observable(self, value: model.Value, span: Span) -> None:
        """Warn of assigned values over `Lobsvars`, which MCMAS rejects."""
        assert self._agent is not None
        for variable in reads(value):
            if variable.agent != self._agent.name and not variable.is_observable:
                message = f"MCMAS 1.3 reads `{variable.name}` of `Lobsvars` in conditions only, not in values"
                self._problems.report(rules.OTHER_DIALECT, span, message)


def _declares(agent: Declared, name: str) -> bool:
    """Tell whether the agent declares the variable, possibly with an invalid type that was reported."""
    return any(one.name.text == name for one in (*agent.node.variables, *agent.node.obsvars))


def reads(value: model.Value) -> Iterable[model.Variable]:
    """Yield the variables of a value."""
    match value:
        case model.Constant():
            pass
        case model.Read(variable):
            yield variable
        case model.Complement(operand):
            yield from reads(operand)
        case model.Operation(_, left, right):
            yield from reads(left)
            yield from reads(right)


def _kind(type_: model.Type) -> Kind:
    match type_:
        case model.Boolean():
            return "a boolean"
        case model.Bounded():
            return "a number"
        case model.Enumeration():
            return type_


def _described(kind: Kind) -> str:
    return str(kind)


def _name_list(label: str, names: Iterable[str]) -> tuple[Note, ...]:
    items = list(names)
    if not items:
        return ()
    more = ", …" if len(items) > 10 else ""
    return (Note(f"{label} {', '.join(f'`{name}`' for name in items[:10])}{more}"),)
