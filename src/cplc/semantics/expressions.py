"""Checking of expressions and formulas: name resolution, macro expansion and types, once for a whole family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from math import gcd
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Arguments, Note, Rule, suggestion
from cplc.language.amounts import Decimals, amounts_of, currency_in
from cplc.language.durations import duration_text, nanoseconds
from cplc.language.lifecycle import CLAIM_PREDICATES, COMMITMENT_PREDICATES, STANDINGS
from cplc.language.quotes import quoted
from cplc.language.words import AGE, EVENTS
from cplc.semantics import resolved, types
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.modalities import ModalityChecker, no_content, no_goal, path_word, quantified
from cplc.semantics.name_hints import applied_name
from cplc.semantics.name_resolution import AnyArgument, Argument, References, Scope, SymbolLookup, ValueOf, kind_of
from cplc.semantics.terms import Op
from cplc.semantics.tree_types import as_number, enumeration, is_value
from cplc.semantics.type_notes import condition_of, no_clock, no_sum
from cplc.semantics.types import BOOL, DECIMAL, DURATION, INT, PATH, TEXT, TIME, UNKNOWN, Type, described
from cplc.source import Span
from cplc.syntax import ast

MAX_NODES = 100_000
"""Nodes of one expression after macro expansion."""
MAX_EXPANSION_DEPTH = 120
"""Nesting of an expression after macro expansion; later stages recurse over it."""

Typed = tuple[resolved.Tree, Type]
_WRONG: Typed = (resolved.FALSE, UNKNOWN)
_TRUST: Final = {
    "Tr": "MCMAS+ compares the first variable that two agents share; a protocol has promises, so ask `WCC` or `SCC`",
    "Tp": "its degree is defined by the code of MCMAS+ alone; `analyze` gives probabilities of a participant's goals",
    "Tc": "its degree is defined by the code of MCMAS+ alone; `analyze` gives probabilities of a participant's goals",
}
"""The trust modalities of MCMAS+, each with its replacement."""


class Purpose(Enum):
    """The context of an expression, which decides the operators it may contain."""

    CONSTANT = auto()
    DEADLINE = auto()
    """Ticks, over parameters and fields of the message that creates the commitment."""
    LOCAL = auto()
    STATE = auto()
    CONTENT = auto()
    """The content of a commitment: a condition, or an LTL formula."""
    GOAL = auto()
    """The goal of an agent: a condition on the end of a run, or an LTL formula about the run."""
    FORMULA = auto()


_ABOUT_RUNS = (Purpose.FORMULA, Purpose.CONTENT, Purpose.GOAL)
"""The contexts in which temporal operators are allowed."""


class ExpressionChecker:
    """Translates syntax trees to resolved trees. Errors are reported and replaced by ``false``."""

    def __init__(
        self, problems: DiagnosticSink, macro: Callable[[str, Scope, Span | None], resolved.MacroSymbol | None]
    ) -> None:
        self._problems = problems
        self._macro = macro
        self.references = References(
            self._error, self._index, self._key, lambda name, scope: macro(name, scope, None) is not None
        )
        self.names = SymbolLookup(self.references, self._error, self._index)
        self._modalities = ModalityChecker(self, self.names, self._error)
        self.unusable: set[resolved.MacroSymbol] = set()
        """Macros that cannot be expanded, which has been reported."""
        self._calls: list[ast.Call] = []
        self._depth = 0
        self._nodes = 0
        self._is_too_deep = False

    # --- what declarations ask for --------------------------------------------------------------

    def condition(self, expr: ast.Expr, scope: Scope, purpose: Purpose) -> resolved.Tree:
        self._nodes = 0
        return self._condition(expr, scope, purpose)

    def content(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return the content: a condition, or a formula about the run from activation on."""
        self._nodes = 0
        return self.path_formula(expr, scope, Purpose.CONTENT)[0]

    def goal(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return the goal of an agent: a condition on the end of a run, or a formula about the run."""
        self._nodes = 0
        return self.path_formula(expr, scope, Purpose.GOAL)[0]

    def fairness(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return a condition of fairness: of states, or ``does(m)``, a step that is taken again and again."""
        if isinstance(expr, ast.Does):
            self._nodes = 0
            return self._modalities.does_in_fairness(expr, scope)
        return self.condition(expr, scope, Purpose.STATE)

    def number(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return a whole number that is known before the protocol runs."""
        self._nodes = 0
        return self._index(expr, scope)

    def ticks(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return a number of ticks that is known before the protocol runs."""
        self._nodes = 0
        return self._ticks_of(expr, scope) if isinstance(expr, ast.Duration) else self._index(expr, scope)

    def deadline(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return a number of ticks, over parameters and fields of the message that creates the commitment."""
        self._nodes = 0
        return self._number(expr, scope, Purpose.DEADLINE)

    def value(self, expr: ast.Expr, scope: Scope, expected: Type, purpose: Purpose) -> resolved.Tree:
        """Return a value for a variable or parameter of this type."""
        self._nodes = 0
        if isinstance(expected, types.Bool):
            return self._condition(expr, scope, purpose)
        tree, type_ = self._expr(expr, scope, purpose, enumeration(expected))
        tree, type_ = as_number(tree, type_) if isinstance(expected, types.Int) else (tree, type_)
        tree, type_ = self._as_amount(expr, tree, type_, expected)
        if not types.fits(type_, expected):
            self._error(rules.TYPE_MISMATCH, expr.span, f"Expected {described(expected)}, found {described(type_)}")
            return resolved.FALSE
        return tree

    def initial(self, expr: ast.Expr, scope: Scope, expected: Type) -> resolved.Tree:
        """Return a value that is known before the protocol runs."""
        return self.value(expr, scope, expected, Purpose.CONSTANT)

    def introduce(self, name: ast.Name, scope: Scope) -> None:
        """Warn of a local name that hides another."""
        if (hidden := scope.declaration(name.text)) is not None:
            kind, span = hidden
            notes = Note("give this one another name"), Note("the hidden one", span)
            self._error(rules.SHADOWED_NAME, name.span, f"`{name.text}` hides {kind} of that name", *notes)

    # --- reporting ------------------------------------------------------------------------------

    def _error(self, rule: Rule, span: Span, message: str, *notes: Note, arguments: Arguments = ()) -> None:
        calls = tuple(Note(f"in this use of `{call.name.text}`", call.span) for call in reversed(self._calls[-3:]))
        self._problems.report(rule, span, message, *notes, *calls, arguments=arguments)

    # --- expressions ----------------------------------------------------------------------------

    def _index(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        return self._number(expr, scope, Purpose.CONSTANT)

    def _key(self, expr: ast.Expr, scope: Scope, name: str) -> resolved.Tree:
        """Return the index of an instance by key: a key of that block, or the number of an instance."""
        tree, type_ = self._expr(expr, scope, Purpose.CONSTANT, None)
        if type_ == types.Key(name) or (type_ == INT and isinstance(tree, resolved.LiteralTree)):
            return tree
        if not isinstance(type_, types.Unknown):
            message = f"Expected {described(types.Key(name))}, found {described(type_)}"
            self._error(rules.TYPE_MISMATCH, expr.span, message)
        return resolved.LiteralTree(1)

    def _number(self, expr: ast.Expr, scope: Scope, purpose: Purpose, *, in_sum: bool = False) -> resolved.Tree:
        if isinstance(expr, ast.Duration) and purpose in (Purpose.CONSTANT, Purpose.DEADLINE):
            return self._ticks_of(expr, scope)
        tree, type_ = as_number(*self._expr(expr, scope, purpose, None))
        if not types.fits(type_, INT):
            notes = no_sum(type_) if in_sum else no_clock(type_)
            self._error(rules.TYPE_MISMATCH, expr.span, f"Expected a number, found {described(type_)}", *notes)
        return tree if type_ == INT else resolved.LiteralTree(1)

    def _condition(self, expr: ast.Expr, scope: Scope, purpose: Purpose) -> resolved.Tree:
        return self._as_condition(expr, *self._expr(expr, scope, purpose, None))

    def _as_condition(self, expr: ast.Expr, tree: resolved.Tree, type_: Type) -> resolved.Tree:
        match type_:
            case types.Bool():
                return (
                    resolved.Apply("=", (tree, resolved.TRUE), expr.span)
                    if isinstance(tree, resolved.Payload)
                    else tree
                )
            case types.Unknown():
                return tree
            case types.Path():
                message = f"Expected a state formula, found `{path_word(tree) or 'does'}`, which is about a run"
                self._error(rules.NOT_A_STATE_FORMULA, expr.span, message, quantified(expr))
            case _:
                message = f"Expected a condition, found {described(type_)}"
                self._error(rules.TYPE_MISMATCH, expr.span, message, *condition_of(expr, type_))
        return resolved.FALSE

    def state_formula(self, expr: ast.Expr, scope: Scope) -> resolved.Tree:
        """Return a formula that a state decides."""
        return self._condition(expr, scope, Purpose.FORMULA)

    def path_formula(self, expr: ast.Expr, scope: Scope, purpose: Purpose = Purpose.FORMULA) -> Typed:
        """Return a condition or, where a formula is allowed, a path formula."""
        tree, type_ = self._expr(expr, scope, purpose, None)
        return (tree, PATH) if isinstance(type_, types.Path) else (self._as_condition(expr, tree, type_), BOOL)

    def _joined(self, op: Op, parts: Sequence[ast.Expr], whole: ast.Expr, scope: Scope, purpose: Purpose) -> Typed:
        """Return a Boolean combination, which is a path formula if an operand is one."""
        operands = [self.path_formula(part, scope, purpose) for part in parts]
        type_ = PATH if any(isinstance(one, types.Path) for _, one in operands) else BOOL
        return resolved.Apply(op, tuple(tree for tree, _ in operands), whole.span), type_

    def _expr(self, expr: ast.Expr, scope: Scope, purpose: Purpose, expected: types.Enum | None) -> Typed:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            if self._nodes == MAX_NODES + 1:
                place = self._calls[0].span if self._calls else expr.span
                self._problems.report(rules.TOO_LARGE, place, f"This formula has more than {MAX_NODES:,} parts")
            return _WRONG
        if self._depth > MAX_EXPANSION_DEPTH:
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
                if isinstance(value, str):
                    return resolved.LiteralTree(quoted(value)), TEXT
                return resolved.LiteralTree(value), BOOL if isinstance(value, bool) else INT
            case ast.Amount(text):
                return self._amount(expr, currency_in(text))
            case ast.Duration(text):
                return self._duration(expr, text)
            case ast.Ref():
                return self._reference(expr, scope, purpose, expected)
            case ast.Call():
                return self._call(expr, scope, purpose, expected)
            case ast.Unary():
                return self._unary(expr, scope, purpose)
            case ast.Binary():
                return self._binary(expr, scope, purpose)
            case ast.Junction(op):
                return self._joined(op, _flattened(expr), expr, scope, purpose)
            case ast.Quantifier():
                return self._quantifier(expr, scope, purpose)
            case ast.View(commitment):
                active = f"active({expr.span.text})"
                hint = suggestion(f"ask for its state: `{active}`", active)
                self._error(rules.WRONG_KIND, expr.span, f"A view of `{commitment.span.text}` is not a condition", hint)
                return _WRONG
            case ast.Does() if purpose is Purpose.CONTENT:
                return self._modalities.does_in_content(expr, scope)
            case _ if purpose is Purpose.CONTENT:
                if wrong := no_content(expr):
                    self._error(rules.NOT_A_CONTENT, expr.span, *wrong)
                return _WRONG
            case _ if purpose is Purpose.GOAL:
                self._error(rules.NOT_A_STATE_CONDITION, expr.span, *no_goal(expr))
                return _WRONG
            case ast.Does() if purpose is not Purpose.FORMULA:
                hint = Note("name the message itself: it is true once it has been received")
                return self._not_here(expr.span, purpose, hint)
            case _ if purpose is not Purpose.FORMULA:
                return self._not_here(expr.span, purpose)
            case ast.OverPaths():
                return self._modalities.over_paths(expr, scope)
            case ast.Social():
                return self._modalities.social(expr, scope)
            case ast.Conditional():
                return self._modalities.conditional(expr, scope)
            case ast.Knowledge():
                return self._modalities.knowledge(expr, scope)
            case ast.Does():
                return self._modalities.does(expr, scope)
            case ast.Strategic():
                return self._modalities.strategic(expr, scope)

    def _ticks_of(self, duration: ast.Duration, scope: Scope) -> resolved.Tree:
        """Return the number of ticks of a duration, which must be a multiple of the tick of the protocol."""
        length = nanoseconds(duration.text) or 0
        tick = None if scope.signature is None else tick_length(scope.signature.node)
        if tick is None:
            message = f"`{duration.text}` is no number of ticks: the protocol does not say how long a tick is"
            self._error(rules.BAD_DEADLINE, duration.span, message, Note("declare it, as in `clock tick = 1 h`"))
        elif length % tick:
            shorter = duration_text(gcd(length, tick))
            message = f"`{duration.text}` is no multiple of a tick, which is {duration_text(tick)}"
            below, above = (duration_text(length // tick * tick + more) for more in (0, tick))
            nearest = f"`{below}` or `{above}`" if length > tick else f"`{above}`"
            hint = Note(f"write {nearest}, or a shorter tick: `clock tick = {shorter}`")
            self._error(rules.BAD_DEADLINE, duration.span, message, hint)
        else:
            return resolved.LiteralTree(length // tick)
        return resolved.LiteralTree(1)

    def _not_here(self, span: Span, purpose: Purpose, *hints: Note) -> Typed:
        if purpose is Purpose.CONSTANT:
            self._error(rules.NOT_CONSTANT, span, "Expected a number that is known before the protocol runs")
        elif purpose is Purpose.DEADLINE:
            message = "A deadline is a number of ticks that is known when the commitment is created"
            hint = Note("use parameters, and fields of the message that creates it, as in `within offer.days`")
            self._error(rules.NOT_CONSTANT, span, message, hint)
        else:
            message = "A guard, fact or condition can only depend on the present state"
            self._error(rules.NOT_A_STATE_CONDITION, span, message, *hints)
        return _WRONG

    def _reference(self, ref: ast.Ref, scope: Scope, purpose: Purpose, expected: types.Enum | None) -> Typed:
        head = ref.segments[0]
        if len(ref.segments) == 1 and not head.indices:
            name = head.name.text
            local = scope.locals.get(name)
            if isinstance(local, Argument):
                self.references.refer(head.name.span, local.span)
                return self._expr(local.expr, local.scope, purpose, expected)
            if expected and name in expected.members:
                return resolved.LiteralTree(name), expected
        match self.references.find(ref, scope):
            case ValueOf(found, type_):
                constant = isinstance(
                    found, resolved.LiteralTree | resolved.ParameterValue | resolved.LoopValue | resolved.RoleAt
                )
                is_field = isinstance(found, resolved.Payload | resolved.OwnParameter)
                if not constant and (purpose is Purpose.CONSTANT or (purpose is Purpose.DEADLINE and not is_field)):
                    return self._not_here(ref.span, purpose)
                return found, type_
            case resolved.Instance(symbol) as instance:
                return self._atom(ref, symbol, instance, purpose)
            case resolved.AllOf(role):
                is_index = purpose is Purpose.CONSTANT
                message = f"`{role.name}` is a family of roles, not {'an index' if is_index else 'a condition'}"
                hint = Note(f"`forall c in {role.name}:` before the formula, and `c` here, is about each of them")
                self._error(rules.WRONG_KIND, ref.span, message, *((hint,) if is_index else ()))
                return _WRONG
            case _:
                return _WRONG

    def _atom(self, ref: ast.Ref, symbol: resolved.Indexed, instance: resolved.Instance, purpose: Purpose) -> Typed:
        if purpose in (Purpose.CONSTANT, Purpose.DEADLINE):
            return self._not_here(ref.span, purpose)
        if symbol in self.references.contested and not isinstance(symbol, resolved.MessageSymbol | resolved.FactSymbol):
            return _WRONG
        match symbol:
            case resolved.MessageSymbol():
                return resolved.Event("received", instance, ref.span), BOOL
            case resolved.FactSymbol():
                return resolved.FactAt(instance, ref.span), BOOL
            case resolved.CommitmentSymbol():
                state = "fulfilled" if purpose is Purpose.GOAL else "active"
                predicate = f"{state}({ref.span.text})"
                hint = suggestion(f"ask for its state: `{predicate}`", predicate)
                self._error(rules.WRONG_KIND, ref.span, f"`{ref.span.text}` is a commitment, not a condition", hint)
                return _WRONG
            case resolved.ClaimSymbol():
                accepted = f"accepted({ref.span.text})"
                hint = suggestion(f"ask for its state: `{accepted}`", accepted)
                self._error(rules.WRONG_KIND, ref.span, f"`{ref.span.text}` is a claim, not a condition", hint)
                return _WRONG
            case resolved.PartSymbol() | resolved.AgentSymbol():
                message = f"`{ref.span.text}` is {kind_of(symbol)}, not a condition"
                self._error(rules.WRONG_KIND, ref.span, message)
                return _WRONG

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, call: ast.Call, scope: Scope, purpose: Purpose, expected: types.Enum | None) -> Typed:
        name = call.name.text
        is_word = name in CLAIM_PREDICATES or name in STANDINGS
        if name in COMMITMENT_PREDICATES or (is_word and self._macro(name, scope, None) is None):
            return self._lifecycle(call, scope, purpose)
        if name in EVENTS:
            return self._event(call, scope, purpose)
        if name == AGE and self._macro(name, scope, None) is None:
            return self._age(call, scope, purpose)
        if self._is_other_notation(call, scope):
            return _WRONG
        if name in _TRUST and self._macro(name, scope, None) is None:
            self._error(
                rules.UNSUPPORTED_OPERATOR, call.span, f"`{name}` is not supported in protocols", Note(_TRUST[name])
            )
            return _WRONG
        if self._is_applied_name(call, scope):
            return _WRONG
        macro = self._macro(name, scope, call.name.span)
        if macro is None:
            return _WRONG
        self.references.used.add(macro)
        self.references.refer(call.name.span, macro.span)
        if macro in self.unusable:
            return _WRONG
        parameters = macro.node.parameters
        if len(parameters) != len(call.arguments):
            takes = f"takes {len(parameters)}, not {len(call.arguments)}"
            shown = Note(f"`{name}({', '.join(p.text for p in parameters)})`", macro.span)
            self._error(rules.WRONG_ARGUMENTS, call.span, f"`{name}` {takes}", shown)
            return _WRONG
        arguments = {
            parameter.text: Argument(argument, scope, parameter.span)
            for parameter, argument in zip(parameters, call.arguments, strict=True)
        }
        self._calls.append(call)
        result = self._expr(macro.node.body, Scope(macro.unit, macro.home, (), arguments), purpose, expected)
        self._calls.pop()
        return result

    def _is_other_notation(self, call: ast.Call, scope: Scope) -> bool:
        """Report a call of an undefined name that is a notation of a paper or another tool."""
        from cplc.syntax.other_notation import translations

        text = call.span.text
        edits = translations(text, words=False, file=call.span.source.text)
        if self._macro(call.name.text, scope, None) is not None or len(edits) != 1:
            return False
        if (edits[0].start, edits[0].end) != (0, len(text)):
            return False
        self._problems.add(edits[0].diagnostic(call.span))
        return True

    def _is_applied_name(self, call: ast.Call, scope: Scope) -> bool:
        """Report a call of a message, fact, commitment or claim, with the form that denotes an instance of it."""
        if scope.signature is None or self._macro(call.name.text, scope, None) is not None:
            return False
        meant = applied_name(call, scope.signature)
        if meant is None:
            return False
        symbol, form = meant
        message = f"`{symbol.name}` is {kind_of(symbol)}, not a macro"
        self._error(rules.WRONG_KIND, call.span, message, suggestion(f"write `{form}`", form))
        return True

    def macro_alone(self, macro: resolved.MacroSymbol) -> bool:
        """Check a macro's body independently of its arguments, and return whether it can be expanded."""
        self._nodes = 0
        self._is_too_deep = False
        anything = {parameter.text: AnyArgument(parameter.span) for parameter in macro.node.parameters}
        self._expr(macro.node.body, Scope(macro.unit, macro.home, (), anything), Purpose.FORMULA, None)
        return self._nodes <= MAX_NODES and not self._is_too_deep

    def _single_argument(self, call: ast.Call) -> ast.Expr | None:
        if len(call.arguments) == 1:
            return call.arguments[0]
        self._error(rules.WRONG_ARGUMENTS, call.span, f"`{call.name.text}` takes 1, not {len(call.arguments)}")
        return None

    def _named(self, argument: ast.Expr, scope: Scope) -> tuple[ast.Expr, Scope]:
        """Return the argument of a macro's parameter, if this is one."""
        while (
            isinstance(argument, ast.Ref)
            and len(argument.segments) == 1
            and not argument.segments[0].indices
            and isinstance(local := scope.locals.get(argument.segments[0].name.text), Argument)
        ):
            self.references.refer(argument.segments[0].name.span, local.span)
            argument, scope = local.expr, local.scope
        return argument, scope

    def _lifecycle(self, call: ast.Call, scope: Scope, purpose: Purpose) -> Typed:
        if purpose in (Purpose.CONSTANT, Purpose.DEADLINE):
            return self._not_here(call.span, purpose)
        argument = self._single_argument(call)
        if argument is None:
            return _WRONG
        argument, scope = self._named(argument, scope)
        view: resolved.RoleTree | None = None
        ref: ast.Expr = argument
        if isinstance(argument, ast.View):
            ref = argument.commitment
            view = self.names.role(argument.role, scope)
        if not isinstance(ref, ast.Ref):
            message = f"`{call.name.text}` takes the name of a commitment or claim"
            self._error(rules.WRONG_ARGUMENTS, ref.span, message)
            return _WRONG
        subject = self.names.in_state(call.name, ref, scope)
        if subject is None or (isinstance(argument, ast.View) and view is None):
            return _WRONG
        return resolved.Lifecycle(*subject, view, argument.span), BOOL

    def _age(self, call: ast.Call, scope: Scope, purpose: Purpose) -> Typed:
        """Return the age of a commitment or claim, which only guards may use."""
        if purpose is not Purpose.LOCAL:
            hint = Note("in formulas, use `F<=k ticks p`, or a deadline of the commitment")
            message = "`age` can be used only in guards, on what the sender sees"
            self._error(rules.NOT_A_STATE_CONDITION, call.span, message, hint)
            return _WRONG
        argument = self._single_argument(call)
        if argument is None:
            return _WRONG
        argument, scope = self._named(argument, scope)
        if not isinstance(argument, ast.Ref):
            self._error(rules.WRONG_ARGUMENTS, argument.span, "`age` takes the name of a commitment or claim")
            return _WRONG
        instance = self.names.obligation(argument, scope)
        return _WRONG if instance is None else (resolved.AgeOf(instance, call.span), INT)

    def _event(self, call: ast.Call, scope: Scope, purpose: Purpose) -> Typed:
        if purpose in (Purpose.CONSTANT, Purpose.DEADLINE):
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
        return resolved.Event("sent" if call.name.text == "sent" else "inflight", instance, call.span), BOOL

    # --- operators ------------------------------------------------------------------------------

    def _unary(self, expr: ast.Unary, scope: Scope, purpose: Purpose) -> Typed:
        match expr.op:
            case "!":
                return self._joined("!", (expr.operand,), expr, scope, purpose)
            case "-" if isinstance(expr.operand, ast.Amount):
                return self._amount(ast.Amount(f"-{expr.operand.text}", span=expr.span), currency_in(expr.operand.text))
            case "-" if isinstance(expr.operand, ast.Duration) and purpose is not Purpose.DEADLINE:
                return self._duration(expr, f"-{expr.operand.text}")
            case "-":
                return resolved.Apply("-", (self._number(expr.operand, scope, purpose),), expr.span), INT
            case op if purpose in _ABOUT_RUNS:
                low, bound = self._bounds(expr, scope, purpose)
                operand, _ = self.path_formula(expr.operand, scope, purpose)
                return resolved.Apply(op, (operand,), expr.span, bound, expr.in_ticks, low), PATH
            case _:
                return self._not_here(expr.span, purpose)

    def _bounds(
        self, expr: ast.Unary | ast.Binary, scope: Scope, purpose: Purpose
    ) -> tuple[resolved.Tree | None, resolved.Tree | None]:
        """Return both ends of the bound of a temporal operator, and report a unit that is not allowed here."""
        if purpose is Purpose.CONTENT and (wrong := no_content(expr)):
            self._error(rules.NOT_A_CONTENT, expr.span, *wrong)
        if purpose is Purpose.GOAL and no_content(expr):
            self._error(rules.NOT_A_STATE_CONDITION, expr.span, *no_goal(expr))
        low, bound = (None if limit is None else self._index(limit, scope) for limit in (expr.low, expr.bound))
        return low, bound

    def _binary(self, expr: ast.Binary, scope: Scope, purpose: Purpose) -> Typed:
        op = expr.op
        match op:
            case "+" | "-" | "*" | "%":
                operands = tuple(
                    self._number(operand, scope, purpose, in_sum=True) for operand in (expr.left, expr.right)
                )
                return resolved.Apply(op, operands, expr.span), INT
            case "<" | "<=" | ">" | ">=":
                return self._order(expr, scope, purpose)
            case "=" | "!=":
                return self._equality(expr, scope, purpose)
            case "->" | "<->":
                return self._joined(op, (expr.left, expr.right), expr, scope, purpose)
            case _ if purpose not in _ABOUT_RUNS:
                return self._not_here(expr.span, purpose)
            case "U" | "W" | "R" | "M" | "S" | "therefore":
                low, bound = self._bounds(expr, scope, purpose)
                left, right = (
                    self.path_formula(expr.left, scope, purpose)[0],
                    self.path_formula(expr.right, scope, purpose)[0],
                )
                return resolved.Apply(op, (left, right), expr.span, bound, expr.in_ticks, low), PATH

    def _amount(self, expr: ast.Amount, currency: str) -> Typed:
        """Return a constant amount; one without a currency is of the type that it is compared with."""
        type_ = types.Data(f"money({currency})") if currency else TIME if "T" in expr.text else DECIMAL
        return self._as_amount(expr, resolved.LiteralTree(expr.text), type_, type_)

    def _duration(self, expr: ast.Expr, text: str) -> Typed:
        return self._as_amount(expr, resolved.LiteralTree(text), DURATION, DURATION)

    def _as_amount(self, expr: ast.Expr, tree: resolved.Tree, type_: Type, expected: Type) -> Typed:
        """Return a constant number as an amount of the expected type, if it is one."""
        amounts = amounts_of(expected.name) if isinstance(expected, types.Data) else None
        is_number = type_ in (INT, DECIMAL, expected) and isinstance(tree, resolved.LiteralTree)
        if amounts is None or not is_number or not isinstance(tree, resolved.LiteralTree):
            return tree, type_
        if type_ in (INT, DECIMAL) and not (isinstance(amounts, Decimals) and not amounts.currency):
            return tree, type_
        units = amounts.units(str(tree.value))
        if units is None:
            what = f"`{expected.name}`" if isinstance(expected, types.Data) else "this type"
            message = f"`{expr.span.text}` is no value of {what}: {amounts.limits}"
            self._error(rules.VALUE_OUT_OF_RANGE, expr.span, message)
            return _WRONG
        return resolved.LiteralTree(amounts.text(units)), expected

    def _order(self, expr: ast.Binary, scope: Scope, purpose: Purpose) -> Typed:
        """Return a comparison of numbers or of amounts of one type."""
        (left, left_type), (right, right_type) = (
            as_number(*self._expr(operand, scope, purpose, None)) for operand in (expr.left, expr.right)
        )
        left, left_type = self._as_amount(expr.left, left, left_type, right_type)
        right, right_type = self._as_amount(expr.right, right, right_type, left_type)
        is_amount = isinstance(left_type, types.Data) and amounts_of(left_type.name) is not None
        if is_amount and types.fits(right_type, left_type):
            return resolved.Apply(expr.op, (left, right), expr.span), BOOL
        if UNKNOWN in (left_type, right_type):
            return _WRONG
        for operand, type_ in ((expr.left, left_type), (expr.right, right_type)):
            if not types.fits(type_, INT):
                expected = described(left_type) if is_amount else "a number"
                actual = described(right_type if is_amount else type_)
                notes = no_clock(left_type if is_amount else type_) if INT in (left_type, right_type) else ()
                self._error(rules.TYPE_MISMATCH, operand.span, f"Expected {expected}, found {actual}", *notes)
                return _WRONG
        return resolved.Apply(expr.op, (left, right), expr.span), BOOL

    def _equality(self, expr: ast.Binary, scope: Scope, purpose: Purpose) -> Typed:
        left_name, right_name = _bare_name(expr.left), _bare_name(expr.right)
        if left_name and (not right_name or not scope.declares(left_name)):
            right, right_type = self._expr(expr.right, scope, purpose, None)
            left, left_type = self._expr(expr.left, scope, purpose, enumeration(right_type))
        else:
            left, left_type = self._expr(expr.left, scope, purpose, None)
            right, right_type = self._expr(expr.right, scope, purpose, enumeration(left_type))
        if isinstance(left_type, types.Role) and isinstance(right_type, types.Role):
            same: resolved.Tree = resolved.FALSE
            if isinstance(left, resolved.RoleAt | resolved.LoopValue) and isinstance(
                right, resolved.RoleAt | resolved.LoopValue
            ):
                same = resolved.SameRole(left, right)
            return (same if expr.op == "=" else resolved.Apply("!", (same,), expr.span)), BOOL
        left, left_type = self._as_amount(expr.left, *as_number(left, left_type), right_type)
        right, right_type = self._as_amount(expr.right, *as_number(right, right_type), left_type)
        if not types.fits(left_type, right_type):
            what = described(left_type)
            message = f"{what[:1].upper()}{what[1:]} cannot be compared with {described(right_type)}"
            notes = no_clock(left_type) or no_clock(right_type) if INT in (left_type, right_type) else ()
            self._error(rules.TYPE_MISMATCH, expr.span, message, *notes)
            return _WRONG
        if isinstance(left_type, types.Path) or isinstance(right_type, types.Path):
            self._error(rules.TYPE_MISMATCH, expr.span, f"`{expr.op}` compares values, not formulas about runs")
            return _WRONG
        if isinstance(left_type, types.Bool) and not (is_value(left) and is_value(right)):
            hint = Note("write `<->` between conditions" if expr.op == "=" else "write `!(p <-> q)`")
            self._error(rules.TYPE_MISMATCH, expr.span, f"`{expr.op}` compares values, not conditions", hint)
            return _WRONG
        return resolved.Apply("=" if expr.op == "=" else "!=", (left, right), expr.span), BOOL

    def _quantifier(self, expr: ast.Quantifier, scope: Scope, purpose: Purpose) -> Typed:
        self.introduce(expr.variable, scope)
        name = expr.variable.text
        domain = self.names.domain(expr.domain, scope)
        if domain is None:
            self.path_formula(expr.body, scope.with_local(name, AnyArgument(expr.variable.span)), purpose)
            return _WRONG
        binder = resolved.Binder(name, domain, expr.variable.span)
        body, type_ = self.path_formula(expr.body, scope.with_local(name, binder), purpose)
        return resolved.Quantified(expr.kind, binder, body, expr.span), type_


def _bare_name(expr: ast.Expr) -> str | None:
    if isinstance(expr, ast.Ref) and len(expr.segments) == 1 and not expr.segments[0].indices:
        return expr.segments[0].name.text
    return None


def _flattened(expr: ast.Junction) -> list[ast.Expr]:
    """Return the operands in the order written, with nested operands of the same kind flattened."""
    operands: list[ast.Expr] = []
    stack: list[ast.Expr] = [expr]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Junction) and top.op == expr.op:
            stack.extend(reversed(top.operands))
        else:
            operands.append(top)
    return operands


def tick_length(protocol: ast.Protocol) -> int | None:
    """Return the nanoseconds of a tick that a protocol declares; None without a valid declaration."""
    lengths = (nanoseconds(one.length.text) for one in protocol.declarations if isinstance(one, ast.Clock))
    return next(lengths, None) or None
