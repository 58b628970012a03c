"""Expressions and formulas: names resolved, macros expanded, types checked; once for a whole family."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, Rule
from cplc.semantics import tree, types
from cplc.semantics.lookups import Lookups
from cplc.semantics.problems import Problems
from cplc.semantics.references import AnyArgument, Argument, References, Scope, ValueOf
from cplc.semantics.types import BOOL, INT, PATH, UNKNOWN, Type, described
from cplc.semantics.vocabulary import CLAIM_STATES, EVENTS, STATES
from cplc.source import Span
from cplc.syntax import ast

MOST_NODES = 100_000
"""How large one expression may become when its macros are expanded."""
MOST_LEVELS = 120
"""How deep it may be nested then; what comes after recurses."""

SUPPORTED = "supported are A and E directly over one of X, F, G, U, W, R, with conditions or such formulas below"

Typed = tuple[tree.Tree, Type]
_WRONG: Typed = (tree.FALSE, UNKNOWN)


class Purpose(Enum):
    """What an expression is for decides what it may say."""

    CONSTANT = auto()
    LOCAL = auto()
    STATE = auto()
    FORMULA = auto()


class Expressions:
    """Turns syntax into trees; what is wrong is reported and replaced by ``false``."""

    def __init__(self, problems: Problems, macro: Callable[[str, Scope, Span | None], tree.MacroSymbol | None]) -> None:
        self._problems = problems
        self._macro = macro
        self.references = References(self._error, self._index, lambda name, scope: macro(name, scope, None) is not None)
        self.names = Lookups(self.references, self._error, self._index)
        self.unusable: set[tree.MacroSymbol] = set()
        """Macros that cannot be expanded, which has been reported."""
        self._calls: list[ast.Call] = []
        self._depth = 0
        self._nodes = 0
        self._is_too_deep = False

    # --- what declarations ask for --------------------------------------------------------------

    def condition(self, expr: ast.Expr, scope: Scope, purpose: Purpose) -> tree.Tree:
        self._nodes = 0
        return self._condition(expr, scope, purpose)

    def number(self, expr: ast.Expr, scope: Scope) -> tree.Tree:
        """Return a whole number that is known before the protocol runs."""
        self._nodes = 0
        return self._index(expr, scope)

    def value(self, expr: ast.Expr, scope: Scope, expected: Type, purpose: Purpose) -> tree.Tree:
        """Return a value for a variable or parameter of this type."""
        self._nodes = 0
        if isinstance(expected, types.Bool):
            return self._condition(expr, scope, purpose)
        found, type_ = self._expr(expr, scope, purpose, tree.enumeration(expected))
        found, type_ = tree.as_number(found, type_) if isinstance(expected, types.Int) else (found, type_)
        if not types.fits(type_, expected):
            self._error(rules.TYPE_MISMATCH, expr.span, f"This is {described(type_)}, not {described(expected)}")
            return tree.FALSE
        return found

    def initial(self, expr: ast.Expr, scope: Scope, expected: Type) -> tree.Tree:
        """Return a value that is known before the protocol runs."""
        return self.value(expr, scope, expected, Purpose.CONSTANT)

    def introduce(self, name: ast.Name, scope: Scope) -> None:
        """Warn of a local name that hides another."""
        if scope.declares(name.text):
            self._error(rules.SHADOWED_NAME, name.span, f"`{name.text}` hides something else of that name")

    # --- reporting ------------------------------------------------------------------------------

    def _error(self, rule: Rule, span: Span, message: str, *notes: Note) -> None:
        calls = tuple(Note(f"in this use of `{call.name.text}`", call.span) for call in reversed(self._calls[-3:]))
        self._problems.report(rule, span, message, *notes, *calls)

    # --- expressions ----------------------------------------------------------------------------

    def _index(self, expr: ast.Expr, scope: Scope) -> tree.Tree:
        return self._number(expr, scope, Purpose.CONSTANT)

    def _number(self, expr: ast.Expr, scope: Scope, purpose: Purpose) -> tree.Tree:
        found, type_ = tree.as_number(*self._expr(expr, scope, purpose, None))
        if not types.fits(type_, INT):
            self._error(rules.TYPE_MISMATCH, expr.span, f"This is {described(type_)}, not a number")
        return found if type_ == INT else tree.LiteralTree(1)

    def _condition(self, expr: ast.Expr, scope: Scope, purpose: Purpose) -> tree.Tree:
        return self._as_condition(expr, *self._expr(expr, scope, purpose, None))

    def _as_condition(self, expr: ast.Expr, found: tree.Tree, type_: Type) -> tree.Tree:
        match type_:
            case types.Bool():
                return tree.Apply("=", (found, tree.TRUE), expr.span) if isinstance(found, tree.Payload) else found
            case types.Unknown():
                return found
            case types.Path():
                message = "A temporal operator stands directly below `A` or `E`"
                self._error(rules.UNSUPPORTED_FORMULA, expr.span, message, Note(SUPPORTED))
            case _:
                self._error(rules.TYPE_MISMATCH, expr.span, f"This is {described(type_)}, not a condition")
        return tree.FALSE

    def _expr(self, expr: ast.Expr, scope: Scope, purpose: Purpose, expected: types.Enum | None) -> Typed:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            if self._nodes == MOST_NODES + 1:
                place = self._calls[0].span if self._calls else expr.span
                self._problems.report(rules.TOO_LARGE, place, f"This formula has more than {MOST_NODES:,} parts")
            return _WRONG
        if self._depth > MOST_LEVELS:
            place = self._calls[0].span if self._calls else expr.span
            self._problems.report(rules.TOO_DEEP, place, "This formula is nested too deep")
            self._is_too_deep = True
            return _WRONG
        self._depth += 1
        result = self._dispatch(expr, scope, purpose, expected)
        self._depth -= 1
        return result

    def _dispatch(self, expr: ast.Expr, scope: Scope, purpose: Purpose, expected: types.Enum | None) -> Typed:
        match expr:
            case ast.Literal_(value):
                return tree.LiteralTree(value), BOOL if isinstance(value, bool) else INT
            case ast.Ref():
                return self._reference(expr, scope, purpose, expected)
            case ast.Call():
                return self._call(expr, scope, purpose, expected)
            case ast.Unary():
                return self._unary(expr, scope, purpose)
            case ast.Binary():
                return self._binary(expr, scope, purpose)
            case ast.Quantifier():
                return self._quantifier(expr, scope, purpose)
            case ast.View(commitment):
                hint = Note(f"ask for its state: `active({expr.span.text})`")
                self._error(rules.WRONG_KIND, expr.span, f"A view of `{commitment.span.text}` is no condition", hint)
                return _WRONG
            case _ if purpose is not Purpose.FORMULA:
                return self._not_here(expr.span, purpose)
            case ast.OverPaths():
                return self._over_paths(expr, scope)
            case ast.Social():
                return self._social(expr, scope)
            case ast.Knowledge():
                return self._knowledge(expr, scope)
            case ast.Does():
                return self._unsupported(expr.span, "`does(…)`, which speaks of the step taken,")
            case ast.Strategic():
                return self._unsupported(expr.span, "`<<…>>`, which asks for strategies,")

    def _unsupported(self, span: Span, what: str) -> Typed:
        self._error(rules.UNSUPPORTED_FORMULA, span, f"{what} is not supported by this version", Note(SUPPORTED))
        return _WRONG

    def _not_here(self, span: Span, purpose: Purpose) -> Typed:
        if purpose is Purpose.CONSTANT:
            self._error(rules.NOT_CONSTANT, span, "This number must be known before the protocol runs")
        else:
            message = "A guard, fact or condition speaks of the present state only"
            self._error(rules.NOT_A_STATE_CONDITION, span, message)
        return _WRONG

    def _reference(self, ref: ast.Ref, scope: Scope, purpose: Purpose, expected: types.Enum | None) -> Typed:
        head = ref.segments[0]
        if len(ref.segments) == 1 and not head.indices:
            name = head.name.text
            local = scope.locals.get(name)
            if isinstance(local, Argument):
                return self._expr(local.expr, local.scope, purpose, expected)
            if expected and name in expected.members:
                return tree.LiteralTree(name), expected
        match self.references.find(ref, scope):
            case ValueOf(found, type_):
                constant = isinstance(found, tree.LiteralTree | tree.ParameterValue | tree.LoopValue | tree.RoleAt)
                if purpose is Purpose.CONSTANT and not constant:
                    return self._not_here(ref.span, purpose)
                return found, type_
            case tree.Instance(symbol) as instance:
                return self._atom(ref, symbol, instance, purpose)
            case tree.AllOf(role):
                message = f"`{role.name}` is a family of roles, not a condition"
                self._error(rules.WRONG_KIND, ref.span, message)
                return _WRONG
            case _:
                return _WRONG

    def _atom(self, ref: ast.Ref, symbol: tree.Indexed, instance: tree.Instance, purpose: Purpose) -> Typed:
        if purpose is Purpose.CONSTANT:
            return self._not_here(ref.span, purpose)
        match symbol:
            case tree.MessageSymbol():
                return tree.Event("received", instance, ref.span), BOOL
            case tree.FactSymbol():
                return tree.FactAt(instance, ref.span), BOOL
            case tree.CommitmentSymbol():
                hint = Note(f"ask for its state: `active({ref.span.text})`")
                self._error(rules.WRONG_KIND, ref.span, f"`{ref.span.text}` is a commitment, not a condition", hint)
                return _WRONG
            case tree.ClaimSymbol():
                hint = Note(f"ask for its state: `accepted({ref.span.text})`")
                self._error(rules.WRONG_KIND, ref.span, f"`{ref.span.text}` is a claim, not a condition", hint)
                return _WRONG
            case tree.PartSymbol():
                message = f"`{ref.span.text}` is a used protocol, not a condition"
                self._error(rules.WRONG_KIND, ref.span, message)
                return _WRONG

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, call: ast.Call, scope: Scope, purpose: Purpose, expected: types.Enum | None) -> Typed:
        name = call.name.text
        if name in STATES or (name in CLAIM_STATES and self._macro(name, scope, None) is None):
            return self._lifecycle(call, scope, purpose)
        if name in EVENTS:
            return self._event(call, scope, purpose)
        macro = self._macro(name, scope, call.name.span)
        if macro is None:
            return _WRONG
        self.references.used.add(macro)
        if macro in self.unusable:
            return _WRONG
        parameters = macro.node.parameters
        if len(parameters) != len(call.arguments):
            takes = f"takes {len(parameters)}, not {len(call.arguments)}"
            shown = Note(f"`{name}({', '.join(p.text for p in parameters)})`", macro.span)
            self._error(rules.WRONG_ARGUMENTS, call.span, f"`{name}` {takes}", shown)
            return _WRONG
        arguments = {
            parameter.text: Argument(argument, scope)
            for parameter, argument in zip(parameters, call.arguments, strict=True)
        }
        self._calls.append(call)
        result = self._expr(macro.node.body, Scope(macro.unit, macro.home, (), arguments), purpose, expected)
        self._calls.pop()
        return result

    def macro_alone(self, macro: tree.MacroSymbol) -> bool:
        """Check a macro's body for what is wrong whatever its arguments are; whether it can be expanded."""
        self._nodes = 0
        self._is_too_deep = False
        anything = {parameter.text: AnyArgument() for parameter in macro.node.parameters}
        self._expr(macro.node.body, Scope(macro.unit, macro.home, (), anything), Purpose.FORMULA, None)
        return self._nodes <= MOST_NODES and not self._is_too_deep

    def _single_argument(self, call: ast.Call) -> ast.Expr | None:
        if len(call.arguments) == 1:
            return call.arguments[0]
        self._error(rules.WRONG_ARGUMENTS, call.span, f"`{call.name.text}` takes 1, not {len(call.arguments)}")
        return None

    def _named(self, argument: ast.Expr, scope: Scope) -> tuple[ast.Expr, Scope]:
        """Return what a macro's parameter stands for, if the argument is one."""
        while (
            isinstance(argument, ast.Ref)
            and len(argument.segments) == 1
            and not argument.segments[0].indices
            and isinstance(local := scope.locals.get(argument.segments[0].name.text), Argument)
        ):
            argument, scope = local.expr, local.scope
        return argument, scope

    def _lifecycle(self, call: ast.Call, scope: Scope, purpose: Purpose) -> Typed:
        if purpose is Purpose.CONSTANT:
            return self._not_here(call.span, purpose)
        argument = self._single_argument(call)
        if argument is None:
            return _WRONG
        argument, scope = self._named(argument, scope)
        view: tree.RoleTree | None = None
        ref: ast.Expr = argument
        if isinstance(argument, ast.View):
            ref = argument.commitment
            view = self.names.role(argument.role, scope)
        if not isinstance(ref, ast.Ref):
            message = f"`{call.name.text}` takes the name of a commitment or claim"
            self._error(rules.WRONG_ARGUMENTS, ref.span, message)
            return _WRONG
        found = self.names.in_state(call.name, ref, scope)
        if found is None or (isinstance(argument, ast.View) and view is None):
            return _WRONG
        return tree.Lifecycle(*found, view, argument.span), BOOL

    def _event(self, call: ast.Call, scope: Scope, purpose: Purpose) -> Typed:
        if purpose is Purpose.CONSTANT:
            return self._not_here(call.span, purpose)
        argument = self._single_argument(call)
        if argument is None:
            return _WRONG
        argument, scope = self._named(argument, scope)
        if not isinstance(argument, ast.Ref):
            self._error(rules.WRONG_ARGUMENTS, argument.span, f"`{call.name.text}` takes the name of a message")
            return _WRONG
        instance = self.names.message(argument, scope)
        if instance is None:
            return _WRONG
        return tree.Event("sent" if call.name.text == "sent" else "inflight", instance, call.span), BOOL

    # --- operators ------------------------------------------------------------------------------

    def _unary(self, expr: ast.Unary, scope: Scope, purpose: Purpose) -> Typed:
        match expr.op:
            case "!":
                return tree.Apply("!", (self._condition(expr.operand, scope, purpose),), expr.span), BOOL
            case "-":
                return tree.Apply("-", (self._number(expr.operand, scope, purpose),), expr.span), INT
            case _ if purpose is not Purpose.FORMULA:
                return self._not_here(expr.span, purpose)
            case "X" | "F" | "G":
                operand = self._condition(expr.operand, scope, purpose)
                return tree.Apply(expr.op, (operand,), expr.span, self._bound(expr.bound, scope)), PATH
            case "Y" | "O" | "H":
                return self._unsupported(expr.span, f"The past operator `{expr.op}`")

    def _bound(self, bound: ast.Expr | None, scope: Scope) -> tree.Tree | None:
        return None if bound is None else self._index(bound, scope)

    def _binary(self, expr: ast.Binary, scope: Scope, purpose: Purpose) -> Typed:
        op = expr.op
        match op:
            case "+" | "-" | "*" | "%":
                operands = (
                    self._number(expr.left, scope, purpose),
                    self._number(expr.right, scope, purpose),
                )
                return tree.Apply(op, operands, expr.span), INT
            case "<" | "<=" | ">" | ">=":
                operands = (
                    self._number(expr.left, scope, purpose),
                    self._number(expr.right, scope, purpose),
                )
                return tree.Apply(op, operands, expr.span), BOOL
            case "=" | "!=":
                return self._equality(expr, scope, purpose)
            case "&" | "|":
                parts = tuple(self._condition(part, scope, purpose) for part in _flattened(expr))
                return tree.Apply(op, parts, expr.span), BOOL
            case "->" | "<->":
                parts = (
                    self._condition(expr.left, scope, purpose),
                    self._condition(expr.right, scope, purpose),
                )
                return tree.Apply(op, parts, expr.span), BOOL
            case _ if purpose is not Purpose.FORMULA:
                return self._not_here(expr.span, purpose)
            case "U" | "W" | "R":
                parts = (
                    self._condition(expr.left, scope, purpose),
                    self._condition(expr.right, scope, purpose),
                )
                return tree.Apply(op, parts, expr.span, self._bound(expr.bound, scope)), PATH
            case "S":
                return self._unsupported(expr.span, "The past operator `S`")
            case "therefore":
                return self._unsupported(expr.span, "`therefore`")

    def _equality(self, expr: ast.Binary, scope: Scope, purpose: Purpose) -> Typed:
        left_name, right_name = _bare_name(expr.left), _bare_name(expr.right)
        if left_name and (not right_name or not scope.declares(left_name)):
            right, right_type = self._expr(expr.right, scope, purpose, None)
            left, left_type = self._expr(expr.left, scope, purpose, tree.enumeration(right_type))
        else:
            left, left_type = self._expr(expr.left, scope, purpose, None)
            right, right_type = self._expr(expr.right, scope, purpose, tree.enumeration(left_type))
        if isinstance(left_type, types.Role) and isinstance(right_type, types.Role):
            same: tree.Tree = tree.FALSE
            if isinstance(left, tree.RoleAt | tree.LoopValue) and isinstance(right, tree.RoleAt | tree.LoopValue):
                same = tree.SameRole(left, right)
            return (same if expr.op == "=" else tree.Apply("!", (same,), expr.span)), BOOL
        left, left_type = tree.as_number(left, left_type)
        right, right_type = tree.as_number(right, right_type)
        if not types.fits(left_type, right_type):
            message = f"{_upper(described(left_type))} cannot be compared with {described(right_type)}"
            self._error(rules.TYPE_MISMATCH, expr.span, message)
            return _WRONG
        if isinstance(left_type, types.Path) or isinstance(right_type, types.Path):
            return self._unsupported(expr.span, "A comparison of temporal operators")
        if isinstance(left_type, types.Bool) and not (tree.is_value(left) and tree.is_value(right)):
            hint = Note("write `<->` between conditions" if expr.op == "=" else "write `!(p <-> q)`")
            self._error(rules.TYPE_MISMATCH, expr.span, f"`{expr.op}` compares values, not conditions", hint)
            return _WRONG
        return tree.Apply("=" if expr.op == "=" else "!=", (left, right), expr.span), BOOL

    def _quantifier(self, expr: ast.Quantifier, scope: Scope, purpose: Purpose) -> Typed:
        self.introduce(expr.variable, scope)
        name = expr.variable.text
        domain = self.names.domain(expr.domain, scope)
        if domain is None:
            self._condition(expr.body, scope.with_local(name, AnyArgument()), purpose)
            return _WRONG
        binder = tree.Binder(name, domain, expr.variable.span)
        body = self._condition(expr.body, scope.with_local(name, binder), purpose)
        return tree.Quantified(expr.kind, binder, body, expr.span), BOOL

    # --- modalities -----------------------------------------------------------------------------

    def _over_paths(self, expr: ast.OverPaths, scope: Scope) -> Typed:
        if expr.along is not None:
            return self._unsupported(expr.span, f"`{expr.quantifier}{{…}}`, which restricts the steps of paths,")
        path, type_ = self._expr(expr.path, scope, Purpose.FORMULA, None)
        match type_:
            case types.Path():
                return tree.OverPaths(expr.quantifier, path), BOOL
            case types.Unknown():
                return tree.OverPaths(expr.quantifier, tree.Apply("X", (path,), expr.span)), BOOL
            case _:
                message = f"`{expr.quantifier}` stands directly over one temporal operator"
                self._error(rules.UNSUPPORTED_FORMULA, expr.span, message, Note(SUPPORTED))
                return _WRONG

    def _social(self, expr: ast.Social, scope: Scope) -> Typed:
        debtor, creditor = self.names.role(expr.debtor, scope), self.names.role(expr.creditor, scope)
        if expr.modality == "SC":
            body, type_ = self._expr(expr.body, scope, Purpose.FORMULA, None)
            if not isinstance(type_, types.Path):
                body = self._as_condition(expr.body, body, type_)
        else:
            body = self._condition(expr.body, scope, Purpose.FORMULA)
        if debtor is None or creditor is None:
            return _WRONG
        return tree.Social(expr.modality, debtor, creditor, body, expr.span), BOOL

    def _knowledge(self, expr: ast.Knowledge, scope: Scope) -> Typed:
        body = self._condition(expr.body, scope, Purpose.FORMULA)
        find: Callable[[ast.Ref, Scope], tree.RoleTree | tree.AllOf | None]
        find = self.names.role if expr.modality == "K" else self.names.roles
        group = [find(ref, scope) for ref in expr.group]
        known = tuple(member for member in group if member is not None)
        if len(known) < len(group) or not known:
            return _WRONG
        return tree.Knowledge(expr.modality, known, body, expr.span), BOOL


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _bare_name(expr: ast.Expr) -> str | None:
    if isinstance(expr, ast.Ref) and len(expr.segments) == 1 and not expr.segments[0].indices:
        return expr.segments[0].name.text
    return None


def _flattened(expr: ast.Binary) -> list[ast.Expr]:
    """Return the operands of a chain of one associative operator, in the order written."""
    operands: list[ast.Expr] = []
    stack: list[ast.Expr] = [expr]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Binary) and top.op == expr.op:
            stack.extend((top.right, top.left))
        else:
            operands.append(top)
    return operands
