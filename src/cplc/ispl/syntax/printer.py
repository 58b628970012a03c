"""Printer of ISPL trees; parsing the printed text gives an equal tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cplc.ispl.syntax import ast

_VALUES: Final[dict[str, int]] = {"|": 1, "^": 1, "&": 2, "+": 4, "-": 4, "*": 5, "/": 5}
_COMPLEMENT: Final = 3
_ATOM: Final = 6

_IMPLIES, _OR, _AND, _NOT, _UNTIL, _TIGHT = range(6)


def file(tree: ast.File) -> str:
    """Return a file as text."""
    return "\n".join(_file(tree)) + "\n"


def _file(tree: ast.File) -> Iterator[str]:
    if tree.semantics:
        yield f"Semantics = {tree.semantics};"
        yield ""
    for agent in tree.agents:
        yield from _agent(agent)
        yield ""
    evaluated = (f"{one.name.text} if {condition(one.condition)};" for one in tree.propositions)
    yield from _section("Evaluation", evaluated)
    yield from _section("InitStates", _single(tree.initial))
    if tree.groups:
        yield from _section("Groups", (f"{one.name.text} = {_set(one.members)};" for one in tree.groups))
    if tree.fairness:
        yield from _section("Fairness", (f"{formula(one)};" for one in tree.fairness))
    yield from _section("Formulae", (f"{specification(one)};" for one in tree.specifications))


def _section(head: str, lines: Iterable[str], indent: str = "") -> Iterator[str]:
    yield f"{indent}{head}"
    yield from (f"{indent}  {line}" for line in lines)
    yield f"{indent}end {head.rstrip(':')}"


def _agent(agent: ast.Agent) -> Iterator[str]:
    yield f"Agent {agent.name.text}"
    if agent.obsvars:
        yield from _section("Obsvars:", map(_variable, agent.obsvars), "  ")
    if agent.lobsvars:
        yield f"  Lobsvars = {_set(agent.lobsvars)};"
    if agent.variables or not agent.is_environment:
        yield from _section("Vars:", map(_variable, agent.variables), "  ")
    if agent.red is not None:
        yield from _section("RedStates:", _single(agent.red), "  ")
    yield f"  Actions = {_set(agent.actions)};"
    yield from _section("Protocol:", map(_protocol_line, agent.protocol), "  ")
    yield from _section("Evolution:", map(_evolution_line, agent.evolution), "  ")
    yield "end Agent"


def _set(names: Iterable[ast.Name]) -> str:
    return f"{{{', '.join(name.text for name in names)}}}"


def _single(node: ast.Condition | None) -> list[str]:
    return [] if node is None else [f"{condition(node)};"]


def _variable(variable: ast.Variable) -> str:
    return f"{variable.name.text} : {type_text(variable.type)};"


def type_text(type_: ast.Type) -> str:
    """Return a type as it is written."""
    match type_:
        case ast.Boolean():
            return "boolean"
        case ast.Enumeration(values):
            return _set(values)
        case ast.Bounded(low, high):
            return f"{low} .. {high}"


def _protocol_line(line: ast.ProtocolLine) -> str:
    allowed = "Other" if line.condition is None else condition(line.condition)
    return f"{allowed} : {_set(line.actions)};"


def _evolution_line(line: ast.EvolutionLine) -> str:
    assigned = " and ".join(f"{one.variable.text} = {value(one.value)}" for one in line.assignments)
    return f"{assigned} if {condition(line.condition)};"


# --- conditions


def condition(node: ast.Condition) -> str:
    """Return a condition as text."""
    return _condition(node, _OR)


def _condition(node: ast.Condition, level: int) -> str:
    match node:
        case ast.Comparison(op, left, right):
            return f"{value(left)} {op} {value(right)}"
        case ast.Acts(agent, action):
            return f"{'' if agent is None else f'{agent.text}.'}Action = {action.text}"
        case ast.Not(operand):
            return f"!{_condition(operand, _NOT)}" if level <= _NOT else f"({condition(node)})"
        case ast.Junction(op, operands):
            here = _OR if op == "or" else _AND
            text = f" {op} ".join(_condition(operand, here + 1) for operand in operands)
            return text if level <= here else f"({text})"


def value(node: ast.Value) -> str:
    """Return a value as text."""
    return _value(node, 0)


def _value(node: ast.Value, level: int) -> str:
    match node:
        case ast.Number(number):
            return str(number)
        case ast.Truth(truth):
            return "true" if truth else "false"
        case ast.Ref():
            return str(node)
        case ast.Complement(operand):
            text = f"~{_value(operand, _COMPLEMENT)}"
            return text if level <= _COMPLEMENT else f"({text})"
        case ast.Operation(op, left, right):
            here = _VALUES[op]
            text = f"{_value(left, here)} {op} {_value(right, here + 1)}"
            return text if level <= here else f"({text})"


# --- formulas


def specification(node: ast.Specification) -> str:
    """Return a specification with its logic, as in `Formulae`."""
    return formula(node.formula) if node.logic == "CTL" else f"{node.logic} {formula(node.formula)}"


def formula(node: ast.Formula) -> str:
    """Return a formula as text."""
    return _formula(node, _IMPLIES)


def _formula(node: ast.Formula, level: int) -> str:
    match node:
        case ast.Prop(name):
            return name.text
        case ast.ColourAtom(agent, colour):
            return f"{agent.text}.{colour}"
        case ast.Not(operand):
            return _enclosed(f"! {_formula(operand, _NOT)}", level > _NOT)
        case ast.Junction(op, operands):
            here = _OR if op == "or" else _AND
            return _enclosed(f" {op} ".join(_formula(one, here + 1) for one in operands), level > here)
        case ast.Binary("->", left, right):
            return _enclosed(f"{_formula(left, _OR)} -> {_formula(right, _IMPLIES)}", level > _IMPLIES)
        case ast.Binary(_, left, right):
            return f"({_formula(left, _UNTIL)} U {_formula(right, _TIGHT)})"
        case ast.Unary(op, operand):
            return f"{op} {_formula(operand, _TIGHT)}"
        case ast.Enforces(group, goal):
            return f"<{group.text}> {_formula(goal, _TIGHT)}"
        case ast.Knows(op, who, operand):
            return f"{op}({who.text}, {formula(operand)})"
        case ast.Commits(op, agents, operands, degree):
            parts = [*(agent.text for agent in agents), *map(formula, operands)]
            if degree is not None:
                parts.append(f"{degree[0]} {degree[1]}")
            return f"{op}({', '.join(parts)})"


def _enclosed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
