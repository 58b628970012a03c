"""Canonical text of a syntax tree: parsing the text gives an equal tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cplc.language.decimals import decimal
from cplc.language.quotes import quoted
from cplc.language.words import PREFIXES, UNTILS
from cplc.syntax import ast

_LEVELS: Final[dict[str, int]] = {
    "<->": 1, "->": 2, "therefore": 3, "|": 4, "&": 5, **dict.fromkeys(UNTILS, 6),
    "=": 8, "!=": 8, "<": 8, "<=": 8, ">": 8, ">=": 8, "+": 9, "-": 9, "*": 10, "%": 10,
}  # fmt: skip
"""How tightly infix operators bind; 0 is any formula."""

_PREFIXED: Final = 7
_SUM: Final = 9
_NEGATED: Final = 11
_ATOM: Final = 12
_RIGHT: Final = UNTILS | {"->"}
_COMPARISON: Final = 8
_INDENT: Final = "  "


# --- expressions


def formula(expression: ast.Expr) -> str:
    """Return an expression as text."""
    return _at(expression, 0)


def _at(expression: ast.Expr, level: int) -> str:
    """Return an expression as text that can stand where at least that level is needed."""
    text = _plain(expression)
    return text if _level(expression) >= level else f"({text})"


def _level(expression: ast.Expr) -> int:
    match expression:
        case ast.Quantifier():
            return 0
        case ast.Binary(op) | ast.Junction(op):
            return _LEVELS[op]
        case ast.Unary("-"):
            return _NEGATED
        case ast.Unary() | ast.OverPaths() | ast.Strategic():
            return _PREFIXED
        case (
            ast.Literal_() | ast.Amount() | ast.Duration()
            | ast.Ref() | ast.View() | ast.Call() | ast.Social() | ast.Conditional()
            | ast.Knowledge() | ast.Does()
        ):  # fmt: skip
            return _ATOM


def _plain(expression: ast.Expr) -> str:
    """Return an expression without parentheses around it."""
    match expression:
        case ast.Literal_(bool() as value):
            return str(value).lower()
        case ast.Literal_(str() as text):
            return quoted(text)
        case ast.Literal_(value):
            return str(value)
        case ast.Duration(text) | ast.Amount(text):
            return text
        case ast.Ref((ast.Segment(name, ()),)) if name.text in PREFIXES:
            return f"({name.text})"
        case ast.Ref():
            return reference(expression)
        case ast.View(commitment, role):
            return f"{reference(commitment)}@{reference(role)}"
        case ast.Call(name, arguments):
            return f"{name.text}({_arguments(arguments)})"
        case ast.Unary(("!" | "-") as op, operand):
            return op + _at(operand, _level(expression))
        case ast.Unary(op, operand):
            return f"{op}{_bound(expression)} {_at(operand, _PREFIXED)}"
        case ast.Binary(op, left, right):
            level = _LEVELS[op]
            left_level = level + (op in _RIGHT or level == _COMPARISON)
            right_level = level + (op not in _RIGHT)
            return f"{_at(left, left_level)} {op}{_bound(expression)} {_at(right, right_level)}"
        case ast.Junction(op, operands):
            return f" {op} ".join(_at(operand, _LEVELS[op] + 1) for operand in operands)
        case ast.Quantifier(kind, variable, domain, body):
            return f"{kind} {variable.text} in {_domain(domain)}: {formula(body)}"
        case ast.OverPaths(quantifier, ast.Unary(("X" | "F" | "G") as op, operand) as path, None):
            return f"{quantifier}{op}{_bound(path)} {_at(operand, _PREFIXED)}"
        case ast.OverPaths(quantifier, path, along):
            steps = "" if along is None else f"{{{formula(along)}}}"
            return quantifier + steps + _path(path)
        case ast.Conditional(modality, between, other, antecedent, consequent):
            parties = " -> ".join(map(party, between)) + (f", {reference(other)}" if other is not None else "")
            return f"{modality}({parties}, {_argument(antecedent)}, {_argument(consequent)})"
        case ast.Social(modality, between, body, trigger):
            before = "" if trigger is None else f"{_argument(trigger)}, "
            return f"{modality}({' -> '.join(map(party, between))}, {before}{_argument(body)})"
        case ast.Knowledge(modality, (agent,), body):
            return f"{modality}({reference(agent)}, {_argument(body)})"
        case ast.Knowledge(modality, group, body):
            return f"{modality}({{{_references(group)}}}, {_argument(body)})"
        case ast.Does(verb, subject, other, joined, by):
            words = [word.text for word in (by, verb) if word]
            words += [reference(subject)]
            words += [joined, reference(other)] if other else []
            return f"does({' '.join(words)})"
        case ast.Strategic(group, path):
            return f"<<{_references(group)}>>{_path(path)}"


def party(tree: ast.Party) -> str:
    """Return one side of a commitment: a role, or a group of several."""
    if isinstance(tree, ast.Ref):
        return reference(tree)
    group = f"{{{_references(tree.members)}}}"
    return f"{tree.answerable} {group}" if tree.answerable else group


def _bound(operator: ast.Unary | ast.Binary) -> str:
    bound, unit = operator.bound, " ticks" if operator.in_ticks else ""
    if operator.low is not None and bound is not None:
        return f"[{_at(operator.low, _SUM)}..{_at(bound, _SUM)}]{unit}"
    match bound:
        case None:
            return ""
        case ast.Literal_(value) if not isinstance(value, bool):
            return f"<={value}{unit}"
        case ast.Ref((ast.Segment(name, ()),)):
            return f"<={name.text}{unit}"
        case _:
            return f"<=({formula(bound)}){unit}"


def _path(path: ast.Expr) -> str:
    """Return what follows `A`, `E` or `<<i>>`."""
    return f" {_plain(path)}" if _level(path) >= _PREFIXED else f"[{_plain(path)}]"


def _argument(expression: ast.Expr) -> str:
    """Return an expression that a comma or closing bracket follows: a lone name is no operator there."""
    return reference(expression) if isinstance(expression, ast.Ref) else formula(expression)


def _arguments(expressions: Iterable[ast.Expr]) -> str:
    return ", ".join(_argument(expression) for expression in expressions)


def reference(ref: ast.Ref) -> str:
    """Return a name with its indices."""
    return ".".join(_segment(segment) for segment in ref.segments)


def _segment(segment: ast.Segment) -> str:
    return segment.name.text + (f"[{', '.join(map(formula, segment.indices))}]" if segment.indices else "")


def _references(refs: Iterable[ast.Ref]) -> str:
    return ", ".join(map(reference, refs))


def _domain(domain: ast.Domain) -> str:
    return reference(domain) if isinstance(domain, ast.Ref) else _range(domain)


def _range(values: ast.Range) -> str:
    return f"{_at(values.low, _SUM)}..{_at(values.high, _SUM)}"


# --- declarations


def file(tree: ast.File) -> str:
    """Return a whole file as text: its version, imports, macros, protocols."""
    imports = [_import(item) for item in tree.imports]
    parts = [f"cpl {tree.version.number}"] if tree.version else []
    parts += ["\n".join(imports)] if imports else []
    parts += ["\n".join(_declaration(item)) for item in tree.types]
    parts += ["\n".join(_declaration(item)) for item in tree.defines]
    parts += ["\n".join(_protocol(item)) for item in tree.protocols]
    return "\n\n".join(parts) + "\n" if parts else ""


def declaration(tree: ast.Declaration) -> str:
    """Return one declaration as text."""
    return "\n".join(_declaration(tree))


def _import(tree: ast.Import) -> str:
    target = quoted(tree.target) if tree.is_path else tree.target
    return f"import {target}" + (f" as {tree.alias.text}" if tree.alias else "")


def _protocol(tree: ast.Protocol) -> list[str]:
    head = f"protocol {tree.name.text}"
    if tree.parameters:
        head += f"({_parameters(tree.parameters)})"
    if tree.title is not None:
        head += f" {quoted(tree.title)}"
    if tree.sync:
        head += " sync"
    return [*_doc(tree.doc), *_block(head, tree.declarations)]


def _block(head: str, body: Iterable[ast.Declaration]) -> list[str]:
    lines = [_INDENT + line for item in body for line in _declaration(item)]
    return [f"{head} {{", *lines, "}"]


def _declaration(tree: ast.Declaration) -> list[str]:
    match tree:
        case ast.For(variable, domain, body):
            return _block(f"for {variable.text} in {_domain(domain)}", body)
        case ast.ForEach(key, type_, body):
            return _block(f"for each {key.text}: {_type(type_)}", body)
        case ast.Memory(name, type_, initial, doc=doc):
            value = "" if initial is None else f" = {formula(initial)}"
            return [*_doc(doc), f"var {reference(name)}: {_type(type_)}{value}"]
        case ast.Role(doc=doc):
            return [*_doc(doc), *_role(tree)]
        case ast.Choice(members):
            return [f"choice {' | '.join(map(reference, members))}"]
        case ast.Fact(name, value, doc=doc):
            return [*_doc(doc), f"fact {name.text} = {formula(value)}"]
        case ast.Commitment(doc=doc):
            return [*_doc(doc), _commitment(tree)]
        case ast.Claim(name, maker, addressee, content, doc=doc):
            parties = f"{reference(maker)}, {reference(addressee)}"
            return [*_doc(doc), f"claim {name.text} = claim({parties}, {_argument(content)})"]
        case ast.Channel():
            return [_channel(tree)]
        case ast.Empower(roles, powers):
            what = ", ".join(f"{power.verb.text} {reference(power.subject)}" for power in powers)
            return [f"empower {_references(roles)} to {what}"]
        case ast.Clock(length):
            return [f"clock tick = {formula(length)}"]
        case ast.Use(protocol, arguments, alias, conditions, doc=doc):
            bound = ", ".join(f"{item.name.text} = {_argument(item.value)}" for item in arguments)
            text = f"use {reference(protocol)}" + (f"({bound})" if arguments else "")
            named = f" as {alias.text}" if alias else ""
            return [*_doc(doc), " ".join((text + named, *map(_clause, conditions)))]
        case ast.Define(name, parameters, body, doc=doc):
            names = ", ".join(parameter.text for parameter in parameters)
            return [*_doc(doc), f"define {name.text}({names}) = {formula(body)}"]
        case ast.TypeDefinition(name, enumeration, doc=doc):
            return [*_doc(doc), f"define {name.text} = {_type(enumeration)}"]
        case ast.Property(doc=doc):
            return [*_doc(doc), _property(tree)]
        case ast.Check(checks, assuming):
            items = (f"{'-' if item.is_off else ''}{item.name.text}{_expect(item.expect)}" for item in checks)
            return [f"check {', '.join(items)}{_assuming(assuming)}"]
        case ast.Fairness(condition):
            return [f"fairness {formula(condition)}"]
        case ast.Message(doc=doc):
            return [*_doc(doc), _message(tree)]
        case ast.Agent(name, roles, body, doc):
            return [*_doc(doc), *_agent_block(f"agent {name.text} plays {_references(roles)}", body)]
        case ast.Analyze(agent, assuming, thresholds):
            return [f"analyze {reference(agent)}{_assuming(assuming)}: {', '.join(map(_threshold, thresholds))}"]


def _agent_block(head: str, body: Iterable[ast.AgentItem]) -> list[str]:
    return [f"{head} {{", *(_INDENT + line for item in body for line in _agent_item(item)), "}"]


def _agent_item(tree: ast.AgentItem) -> list[str]:
    match tree:
        case ast.Goal(condition):
            return [f"goal {formula(condition)}"]
        case ast.Values(worths):
            return [f"value {', '.join(f'{reference(w.message)}: {decimal(w.amount.value)}' for w in worths)}"]
        case ast.Belief(role, condition, events, within):
            when = f" when {formula(condition)}" if condition is not None else ""
            return [f"believes {reference(role)}{when}{_within(within)}: {' | '.join(map(_event, events))}"]
        case ast.Decision(messages, condition):
            when = f" when {formula(condition)}" if condition is not None else ""
            return [f"chooses {' | '.join(map(reference, messages))}{when}"]
        case ast.Each(variable, domain, body):
            return _agent_block(f"for {variable.text} in {_domain(domain)}", body)


def _event(tree: ast.Event) -> str:
    payload = f"({_arguments(tree.payload)})" if tree.payload else ""
    high = f"..{decimal(tree.high.value)}" if tree.high is not None else ""
    return f"{reference(tree.message)}{payload} {decimal(tree.low.value)}{high}"


def _role(tree: ast.Role) -> list[str]:
    head = f"{'record' if tree.is_record else 'role'} {tree.name.text}" + (
        f"[{formula(tree.size)}]" if tree.size is not None else ""
    )
    if not tree.variables:
        return [head]
    lines: list[str] = []
    for variable in tree.variables:
        initial = f" = {formula(variable.initial)}" if variable.initial is not None else ""
        lines += [*_doc(variable.doc), f"var {variable.name.text}: {_type(variable.type)}{initial}"]
    return [f"{head} {{", *(_INDENT + line for line in lines), "}"]


def _commitment(tree: ast.Commitment) -> str:
    parties = f"{party(tree.debtor)}, {party(tree.creditor)}"
    text = f"commitment {tree.name.text} = C({parties}, {_argument(tree.antecedent)}, {_argument(tree.consequent)})"
    text += _within(tree.within)
    if tree.expires is not None:
        text += f" expires {formula(tree.expires)}"
    return text + (" revocable" if tree.revocable else "")


def _property(tree: ast.Property) -> str:
    head = f"property {tree.name.text}"
    if tree.title is not None:
        head += f" {quoted(tree.title)}"
    return f"{head}{_assuming(tree.assuming)}: {formula(tree.formula)}{_expect(tree.expect)}"


def _assuming(assumed: tuple[ast.Assumed, ...]) -> str:
    return f" assuming {', '.join(map(_assumed, assumed))}" if assumed else ""


def _threshold(tree: ast.Threshold) -> str:
    expect = "" if tree.expect is None else f" expect {tree.expect}"
    return f"{tree.aspect.text} {tree.relation} {decimal(tree.value.value)}{expect}"


def _assumed(tree: ast.Assumed) -> str:
    return reference(tree.subject) + _within(tree.within)


def _channel(tree: ast.Channel) -> str:
    text = "channel"
    if tree.sender is not None and tree.receiver is not None:
        text += f" {reference(tree.sender)} -> {reference(tree.receiver)}"
    text += " unordered" if tree.is_unordered else ""
    text += "" if tree.places is None else f" fifo {formula(tree.places)}"
    text += f" lossy{_parenthesised(tree.losses)}" if tree.is_lossy else ""
    text += f" duplicating{_parenthesised(tree.duplicates)}" if tree.is_duplicating else ""
    return text + _within(tree.within)


def _parenthesised(number: ast.Expr | None) -> str:
    return "" if number is None else f"({formula(number)})"


def _within(within: ast.Expr | None) -> str:
    return "" if within is None else f" within {formula(within)}"


def _expect(expect: str) -> str:
    return "" if expect == "holds" else f" expect {expect}"


def _message(tree: ast.Message) -> str:
    head = f"{reference(tree.sender)} -> {_references(tree.receivers)} : {tree.name.text}"
    if tree.parameters:
        head += f"({_parameters(tree.parameters)})"
    return "  ".join([head, *map(_clause, tree.clauses)])


def _clause(clause: ast.Clause) -> str:
    match clause:
        case ast.After(condition):
            return f"after {formula(condition)}"
        case ast.Unless(condition):
            return f"unless {formula(condition)}"
        case ast.If(condition):
            return f"if {formula(condition)}"
        case ast.Means(operations):
            return f"means {', '.join(map(_operation, operations))}"
        case ast.Set(assignments):
            return f"set {_assignments(assignments)}"
        case ast.OnReceipt(assignments):
            return f"on receipt {_assignments(assignments)}"
        case ast.Resets(messages):
            return f"resets {_references(messages)}"
        case ast.Restart():
            return "restart"
        case ast.Repeatable():
            return "repeatable"
        case ast.Returns(replies):
            return f"returns {' else '.join(map(_reply, replies))}"


def _reply(tree: ast.Reply) -> str:
    head = tree.name.text + (f"({', '.join(field.text for field in tree.fields)})" if tree.fields else "")
    return " ".join([head, *map(_clause, tree.clauses)])


def _operation(operation: ast.Operation) -> str:
    text = f"{operation.verb.text} {reference(operation.subject)}"
    if operation.target is not None:
        text += f" {operation.joined} {reference(operation.target)}"
    return text + (" retaining" if operation.retaining else "")


def _assignments(assignments: Iterable[ast.Assignment]) -> str:
    return ", ".join(f"{reference(item.variable)} := {formula(item.value)}" for item in assignments)


def _parameters(parameters: Iterable[ast.Parameter]) -> str:
    return ", ".join(
        f"{item.name.text}: {_type(item.type)}" + (f" = {formula(item.default)}" if item.default is not None else "")
        for item in parameters
    )


def _type(tree: ast.Type) -> str:
    match tree:
        case ast.BoolType():
            return "bool"
        case ast.EnumType(members):
            return f"{{{', '.join(member.text for member in members)}}}"
        case ast.DataType(name):
            return name
        case ast.NamedType(target):
            return reference(target)
        case ast.Range():
            return _range(tree)


def _doc(doc: str | None) -> list[str]:
    return [f"// {line}".rstrip() for line in doc.splitlines()] if doc else []
