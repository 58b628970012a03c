"""Systems and formulas as text.

Formulas are printed in the syntax of the language, so they can be parsed again. Conditions and steps of a system are
for inspection: names of variables such as ``pay[1]@Mer`` are those of the system, not of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, assert_never

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils, SociallyCommits
from cplc.logic.expressions import Expr, Value, value_text
from cplc.logic.formulas import Formula
from cplc.system.commitments import standing_of
from cplc.system.model import Commitment, Justice, Operation, Step, System, Variable
from cplc.system.synchronous import Player

# How tightly a text holds together: each level may stand unbracketed below those above it here.
_ANYTHING, _IFF, _IMPLIES, _THEREFORE, _OR, _AND, _UNTIL, _PREFIX, _COMPARISON, _SUM, _PRODUCT, _CLOSED = range(12)

_LINE = 100

_Text = tuple[str, int]
_TOKEN = re.compile(r"<->|->|<=|>=|!=|\w+|[^\w\s]")
_LEVELS = {
    "forall": _ANYTHING,
    "exists": _ANYTHING,
    "<->": _IFF,
    "->": _IMPLIES,
    "therefore": _THEREFORE,
    "|": _OR,
    "&": _AND,
    "!": _PREFIX,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "%"), _PRODUCT),
}


def formula_text(formula: Formula) -> str:
    """Return the formula in the language's syntax, with as few brackets as possible."""
    return _formula(formula)[0]


def quoted(formula: Formula, text: str | None = None) -> str:
    """Return the formula, or a shorter ``text`` of it, for a sentence: in backquotes only if it can be parsed again.

    A formula outside the language is written in words, between double quotes.
    """
    text = formula_text(formula) if text is None else text
    in_words = any(isinstance(part, f.Atom) and part.in_words for part in f.subformulas(formula))
    return text if in_words else f"`{text}`"


def content_text(system: System, commitment: Commitment) -> str:
    """Return the content of a commitment: a formula about runs as it is written, or the condition."""
    return commitment.content or condition_text(system, commitment.consequent)


def expr_text(expr: Expr) -> str:
    """Return the expression, in the same style."""
    return _expr(expr)[0]


def condition_text(system: System, condition: Expr, meanings: Mapping[str, Expr] | None = None) -> str:
    """Return a condition with states and standings in formula syntax, and other variables by their names."""

    def named(expr: Expr) -> Expr:
        match expr:
            case e.And(operands):
                return e.And(tuple(map(named, operands)))
            case e.Or(operands):
                return e.Or(tuple(map(named, operands)))
            case e.Not(operand):
                return e.Not(named(operand))
            case e.Equal(e.Read(name), e.Const(state)) if system.variable[name].kind in _STATUS:
                return e.Read(f"{state}({name.removesuffix(standing_of(''))})")
            case _:
                return e.substitute(expr, meanings or {})

    return expr_text(named(condition))


_STATUS: Final = ("commitment", "claim", "view", "standing")
"""The kinds of variables for states and standings of commitments and claims."""


def _within(text: _Text, level: int) -> str:
    return text[0] if text[1] >= level else f"({text[0]})"


def _below_not(text: _Text) -> str:
    """Bracket comparisons too: ``!x = 1`` is right and reads wrong."""
    return text[0] if text[1] in {_PREFIX, _CLOSED} else f"({text[0]})"


def _infix(operator: str, operands: Iterable[_Text], level: int) -> _Text:
    return f" {operator} ".join(_within(operand, level) for operand in operands), level


# --- formulas


def _formula(formula: Formula) -> _Text:
    match formula:
        case f.Atom(_, text, True):
            return f'"{text}"', _CLOSED
        case f.Atom(_, text):
            return text, _loosest(text)
        case f.Regardless(operand):
            return _formula(operand)
        case f.Not(f.Taken(_, text)) if text == f.MOVES:
            return text.removeprefix("!"), _CLOSED
        case f.Not(operand):
            return f"!{_below_not(_formula(operand))}", _PREFIX
        case f.And(()):
            return "true", _CLOSED
        case f.Or(()):
            return "false", _CLOSED
        case f.And((operand,)) | f.Or((operand,)):
            return _formula(operand)
        case f.And(operands):
            return _infix("&", map(_formula, operands), _AND)
        case f.Or(operands):
            return _infix("|", map(_formula, operands), _OR)
        case f.Implies(left, right):
            return f"{_within(_formula(left), _THEREFORE)} -> {_within(_formula(right), _IMPLIES)}", _IMPLIES
        case f.Iff(left, right):
            return f"{_within(_formula(left), _IMPLIES)} <-> {_within(_formula(right), _IMPLIES)}", _IFF
        case f.OnPaths(quantifier, (f.Next() | f.Finally() | f.Globally()) as path, None):
            return quantifier + _formula(path)[0], _PREFIX
        case f.OnPaths(quantifier, _, along):
            steps = "" if along is None else f"{{{along.text}}}"
            return quantifier + steps + _below_quantifier(f.as_written(formula)), _PREFIX
        case f.Enforces(group, goal):
            return f"<<{', '.join(group)}>>{_below_quantifier(goal)}", _PREFIX
        case f.Next(operand):
            return _prefixed("X", operand)
        case f.Previous(operand):
            return _prefixed("Y", operand)
        case f.Until(left, right, bound):
            return _between(left, f"U{_bound(bound)}", right)
        case f.Release(left, right, bound):
            return _between(left, f"R{_bound(bound)}", right)
        case f.Since(left, right):
            return _between(left, "S", right)
        case f.Finally(operand, bound) | f.Globally(operand, bound):
            return _prefixed(f"{formula.SYMBOL}{_bound(bound)}", operand)
        case f.Taken(_, text) | f.Shorthand(_, text):
            return text, _loosest(text)
        case Commits(channel, operand):
            return f"C({channel.name}, {formula_text(operand)})", _CLOSED
        case Fulfils(channel, operand):
            return f"Fu({channel.name}, {formula_text(operand)})", _CLOSED
        case Conditional(channel, operation, antecedent, consequent, _, other_party):
            between = channel.name if other_party is None else f"{channel.name}, {other_party}"
            return f"{operation}({between}, {formula_text(antecedent)}, {formula_text(consequent)})", _CLOSED
        case SociallyCommits(pair, _, operand, None):
            return f"SC({pair}, {formula_text(operand)})", _CLOSED
        case SociallyCommits(pair, _, operand, trigger):
            assert trigger is not None
            return f"SCc({pair}, {formula_text(trigger)}, {formula_text(operand)})", _CLOSED
        case f.KnownFrom(_, operand, observer):
            return f"(wherever {observer} promises the same: {formula_text(operand)})", _CLOSED
        case f.Knows(mode, agents, operand):
            return f"{_knower(mode, agents)}, {formula_text(operand)})", _CLOSED
        case f.Adjacent():
            return _adjacent(formula), _CLOSED
        case f.WeakUntil(left, right, bound) | f.StrongRelease(left, right, bound):
            return _between(left, f"{formula.SYMBOL}{_bound(bound)}", right)
        case f.Derived():
            if not formula.SYMBOL:
                return _formula(formula.definition)
            first, *second = formula.parts
            return _between(first, formula.SYMBOL, *second) if second else _prefixed(formula.SYMBOL, first)
        case _:
            assert_never(formula)


def _adjacent(formula: f.Adjacent) -> str:
    equations = [f"{before} = {after}'" for before, after in formula.same]
    if formula.choice is not None:
        equations.append(" = ".join(formula.choice))
    where = "before" if formula.back else "after"
    return f"({where} some round [{', '.join(equations)}]: {formula_text(formula.operand)})"


def _knower(mode: str, agents: tuple[str, ...]) -> str:
    if mode == "each" and len(agents) == 1:
        return f"K({agents[0]}"
    operator = {"each": "EK", "together": "DK", "common": "CK"}[mode]
    return f"{operator}({{{', '.join(agents)}}}"


def _prefixed(operator: str, operand: Formula) -> _Text:
    return f"{operator} {_operand(operand)}", _PREFIX


def _between(left: Formula, operator: str, right: Formula) -> _Text:
    return f"{_operand(left)} {operator} {_operand(right)}", _UNTIL


def _below_quantifier(path: Formula) -> str:
    """Return the operand of a path quantifier, with square brackets around an until."""
    text, level = _formula(path)
    if level == _UNTIL:
        return f"[{text}]"
    return f" {text}" if level >= _PREFIX else f" ({text})"


def _operand(formula: Formula) -> str:
    return _within(_formula(formula), _PREFIX)


def _bound(bound: f.Bound | None) -> str:
    return "" if bound is None else str(bound)


def _loosest(text: str) -> int:
    """Return the binding strength of a text: that of its loosest operator outside brackets."""
    depth = 0
    level = _CLOSED
    for token in _TOKEN.findall(text):
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif depth == 0:
            level = min(level, _LEVELS.get(token, _CLOSED))
    return level


# --- expressions


def _expr(expr: Expr) -> _Text:
    match expr:
        case e.Const(value):
            return value_text(value), _CLOSED
        case e.Read(variable):
            return variable, _CLOSED
        case e.Not(e.Equal(left, right)):
            return _infix("!=", (_expr(left), _expr(right)), _SUM)[0], _COMPARISON
        case e.Not(e.Less(left, right)):
            return _infix(">=", (_expr(left), _expr(right)), _SUM)[0], _COMPARISON
        case e.Not(operand):
            return f"!{_below_not(_expr(operand))}", _PREFIX
        case e.And(()):
            return "true", _CLOSED
        case e.Or(()):
            return "false", _CLOSED
        case e.And((operand,)) | e.Or((operand,)):
            return _expr(operand)
        case e.And(operands):
            return _infix("&", map(_expr, operands), _AND)
        case e.Or(operands):
            return _infix("|", map(_expr, operands), _OR)
        case e.Equal(left, right):
            return _infix("=", (_expr(left), _expr(right)), _SUM)[0], _COMPARISON
        case e.Less(left, right):
            return _infix("<", (_expr(left), _expr(right)), _SUM)[0], _COMPARISON
        case e.Arith(op, left, right):
            level = _SUM if op in "+-" else _PRODUCT
            return f"{_within(_expr(left), level)} {op} {_within(_expr(right), level + 1)}", level
        case e.Ite(condition, then, otherwise):
            texts = (_within(_expr(part), _IFF) for part in (condition, then))
            return "if {} then {} else {}".format(*texts, expr_text(otherwise)), _ANYTHING


# --- systems


def system_text(system: System) -> str:
    """Return the text of the whole system, as ``cplc lower`` prints it."""
    return "\n".join(_system_lines(system)) + "\n"


def step_text(step: Step) -> str:
    """Return the text of one step: its actor, guard and updates."""
    return "\n".join(_step_lines(step))


def _system_lines(system: System) -> Iterator[str]:
    yield f"system {system.name}"
    yield from (f"  {key}: {value}" for key, value in system.header)
    for owner, family in [*((agent.name, agent.family) for agent in system.agents), ("Env", "Env")]:
        owned = [variable for variable in system.variables if variable.owner == owner]
        if owned or owner != "Env":
            yield ""
            yield f"agent {owner}" + (f" of {family}" if family != owner else "")
        yield from (f"  {_variable_text(variable)}" for variable in owned)
    yield from _section(
        "shared", (f"{one.first}, {one.second}: {one.at_first} ~ {one.at_second}" for one in system.shared)
    )
    for step in system.steps:
        yield ""
        yield from _step_lines(step)
    for player in system.players:
        yield ""
        yield from _player_lines(player)
    yield from _section("justice", (_justice_text(system, justice) for justice in system.justice))
    yield from _section("fairness", (*map(expr_text, system.fairness), *map(formula_text, system.recurring)))
    yield from _section("hazards", (f"{text}: {expr_text(condition)}" for text, condition, _ in system.hazards))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield from () if number else ("", title)
        yield f"  {line}"


def _player_lines(player: Player) -> Iterator[str]:
    yield f"player {player.agent}, {player.choice}"
    for action in player.actions:
        yield f"  {action.name} if {expr_text(action.allowed)}"
    for number, rule in enumerate(player.rules, 1):
        yield f"  rule {number}"
        for change in rule:
            updates = ", ".join(f"{name} := {expr_text(value)}" for name, value in change.updates)
            yield f"    if {expr_text(change.guard)}: {updates}"


def _variable_text(variable: Variable) -> str:
    match variable.initial:
        case (value,):
            initial = f"= {value_text(value)}"
        case values if set(values) == set(variable.domain):
            initial = "= any"
        case values:
            initial = f"= any of {', '.join(map(value_text, values))}"
    return f"{variable.name}: {_domain_text(variable.domain)} {initial}"


def _domain_text(domain: tuple[Value, ...]) -> str:
    if set(domain) == {False, True} and all(isinstance(value, bool) for value in domain):
        return "bool"
    numbers = [value for value in domain if isinstance(value, int) and not isinstance(value, bool)]
    if numbers and domain == tuple(range(numbers[0], numbers[0] + len(domain))):
        return f"{numbers[0]}..{numbers[-1]}"
    return f"{{{', '.join(map(value_text, domain))}}}"


def _step_lines(step: Step) -> Iterator[str]:
    yield f"step {step.name}" + (f" by {step.actor}" if step.actor else "")
    conditions = step.guard.operands if isinstance(step.guard, e.And) else (step.guard,)
    for number, condition in enumerate(conditions):
        yield f"  {'and ' if number else 'when'} {_within(_expr(condition), _PREFIX)}"
    for name, value in step.updates:
        yield from _update_lines(f"  set  {name} := ", value)
    yield from (f"  set  {name} := any initial value" for name in step.free)
    yield from (f"  does {_operation_text(operation)}" for operation in step.operations)


def _update_lines(begin: str, value: Expr) -> Iterator[str]:
    """Yield one line, or a line for each case where one would be too long."""
    line = begin + expr_text(value)
    if len(line) <= _LINE or not isinstance(value, e.Ite):
        yield line
        return
    while isinstance(value, e.Ite):
        yield f"{begin}if {_within(_expr(value.condition), _IFF)} then {_within(_expr(value.then), _IFF)}"
        begin = "else ".rjust(len(begin))
        value = value.otherwise
    yield begin + expr_text(value)


def _operation_text(operation: Operation) -> str:
    return f"{operation.act} where {expr_text(operation.applicable)}"


def _justice_text(system: System, justice: Justice) -> str:
    steps = ", ".join(system.steps[index].name for index in justice.steps)
    named = justice.name if steps == justice.name else f"{justice.name}: {steps}"
    if justice.due is not None:
        named = f"{named} again and again" if justice.recurs else f"{named} due where {expr_text(justice.due)}"
    return named if justice.role is None else f"{named} (assuming {justice.role})"
