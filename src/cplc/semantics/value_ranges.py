"""Interval analysis of guards and assignments: comparisons that declared ranges decide, and values that fit nowhere.

Only ranges between literals count: a comparison that depends on a parameter of the protocol or on a loop is decided
for some of their values only, and one in a macro for some of its uses. A payload compares as false where its message is
missing, so it makes no comparison true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.semantics import resolved as r
from cplc.semantics.resolved import Tree
from cplc.source import Span

Interval = tuple[int, int]

_COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=")
_READ: Final = (r.OwnParameter, r.Payload, r.VariableOf)
_VALUE_TEXT: Final = {True: "always true", False: "never true"}


def range_warnings(template: r.Template) -> Iterator[Diagnostic]:
    """Yield a warning for each comparison in a guard or fact, and each `set`, that the ranges decide."""
    for declared in _declarations(template.body):
        match declared:
            case r.Message():
                yield from _warnings_of_message(declared)
            case r.Fact(symbol, meaning):
                yield from _comparisons(meaning, {}, symbol.node.span, set())
            case _:
                pass


def _declarations(body: tuple[r.Body, ...]) -> Iterator[r.Body]:
    for one in body:
        if isinstance(one, r.Loop):
            yield from _declarations(one.body)
        else:
            yield one


def _warnings_of_message(message: r.Message) -> Iterator[Diagnostic]:
    name, own, written = message.symbol.name, message.symbol.parameters, message.symbol.node.span
    reported: set[Span] = set()
    for guard in message.guards:
        for part, required in _literals(guard, True):
            if isinstance(part, r.Apply) and _is_within(part.span, written) and _decided(part, own) is (not required):
                reported.add(part.span)
                text = f"`{name}` can never be sent: `{part.span.text}` is {_VALUE_TEXT[not required]}"
                yield rules.NEVER_SENT.at(part.span, f"{text}, since {_ranges(part, own)}")
        yield from _comparisons(guard, own, written, reported)
    for update in message.updates:
        domain, values = _declared(_variable(update.role, update.variable)), _interval(update.value, own)
        if domain is not None and values is not None and (values[1] < domain[0] or domain[1] < values[0]):
            text = f"`{name}` can never be sent: it assigns {_text(values)} to `{update.variable}`"
            yield rules.NEVER_SENT.at(
                update.span,
                f"{text}, which is {_text(domain)}",
                Note("a message is sent only where every value that it sets is in range"),
            )


def _comparisons(tree: Tree, own: Mapping[str, r.Ranged], written: Span, reported: set[Span]) -> Iterator[Diagnostic]:
    """Yield the other decided comparisons of a tree that are ``written`` in this text."""
    for node in (tree, *r.nodes(tree)):
        if not isinstance(node, r.Apply) or node.span in reported or not _is_within(node.span, written):
            continue
        if (value := _decided(node, own)) is not None:
            text = f"`{node.span.text}` is {_VALUE_TEXT[value]}, since {_ranges(node, own)}"
            yield rules.CONSTANT_COMPARISON.at(
                node.span, text, Note("compare with a value inside the range, or leave the comparison out")
            )


def _literals(tree: Tree, required: bool) -> Iterator[tuple[Tree, bool]]:
    """Yield the literals that the tree implies if it has this value."""
    match tree:
        case r.Apply("!", (operand,)):
            yield from _literals(operand, not required)
        case r.Apply("&" | "|" as op, operands) if (op == "&") is required:
            for operand in operands:
                yield from _literals(operand, required)
        case _:
            yield tree, required


def _decided(tree: r.Apply, own: Mapping[str, r.Ranged]) -> bool | None:
    """Return the value of a comparison of numbers, if the ranges of its operands decide it."""
    if tree.op not in _COMPARISONS or len(tree.operands) != 2 or all(map(_is_literal, tree.operands)):
        return None
    left, right = (_interval(operand, own) for operand in tree.operands)
    if left is None or right is None:
        return None
    value = _compared(tree.op, left, right)
    is_maybe_missing = any(isinstance(node, r.Payload) for node in r.nodes(tree))
    return None if is_maybe_missing and (value is True or tree.op == "!=") else value


def _compared(op: str, left: Interval, right: Interval) -> bool | None:
    match op:
        case ">" | ">=":
            return _compared("<" if op == ">" else "<=", right, left)
        case "!=":
            equal = _compared("=", left, right)
            return None if equal is None else not equal
        case "=":
            if left[1] < right[0] or right[1] < left[0]:
                return False
            return True if left[0] == left[1] == right[0] == right[1] else None
        case _:
            is_strict = op == "<"
            if left[1] < right[0] or (not is_strict and left[1] == right[0]):
                return True
            return False if left[0] > right[1] or (is_strict and left[0] == right[1]) else None


def _interval(tree: Tree, own: Mapping[str, r.Ranged]) -> Interval | None:
    """Return bounds on the values of a number; None where they are not known from the text."""
    match tree:
        case r.LiteralTree(bool()):
            return None
        case r.LiteralTree(int(value)):
            return value, value
        case r.OwnParameter(name):
            return _declared(own.get(name))
        case r.Payload(message, name):
            symbol = message.symbol
            return _declared(symbol.parameters.get(name)) if isinstance(symbol, r.MessageSymbol) else None
        case r.VariableOf(role, name):
            return _declared(_variable(role, name))
        case r.Apply("-", (operand,)):
            negated = _interval(operand, own)
            return None if negated is None else (-negated[1], -negated[0])
        case r.Apply("+" | "-" as op, (first, second)):
            left, right = _interval(first, own), _interval(second, own)
            if left is None or right is None:
                return None
            return (left[0] + right[0], left[1] + right[1]) if op == "+" else (left[0] - right[1], left[1] - right[0])
        case r.Apply("*", (first, second)):
            left, right = _interval(first, own), _interval(second, own)
            if left is None or right is None:
                return None
            products = [one * other for one in left for other in right]
            return min(products), max(products)
        case _:
            return None


def _variable(role: r.RoleTree, name: str) -> r.Ranged | None:
    symbol = _role_of(role)
    variable = None if symbol is None else symbol.variables.get(name)
    return None if variable is None else variable.declared


def _role_of(role: r.RoleTree) -> r.RoleSymbol | None:
    match role:
        case r.RoleAt(symbol):
            return symbol
        case r.LoopValue(binder):
            return binder.domain.role if isinstance(binder.domain, r.FamilyDomain) else None


def _declared(declared: r.Ranged | None) -> Interval | None:
    if declared is None or declared.low is None or declared.high is None:
        return None
    low, high = _interval(declared.low, {}), _interval(declared.high, {})
    return None if low is None or high is None or low[0] > high[1] else (low[0], high[1])


def _is_literal(tree: Tree) -> bool:
    return isinstance(tree, r.LiteralTree) or (isinstance(tree, r.Apply) and all(map(_is_literal, tree.operands)))


def _ranges(tree: r.Apply, own: Mapping[str, r.Ranged]) -> str:
    """Return the ranges of the operands that are not written as numbers."""
    texts = dict[str, str]()
    for node in r.nodes(tree):
        if isinstance(node, _READ) and (interval := _interval(node, own)) is not None:
            texts[_name(node)] = _text(interval)
    return " and ".join(f"`{name}` is {text}" for name, text in texts.items())


def _name(tree: Tree) -> str:
    match tree:
        case r.OwnParameter(name):
            return name
        case r.Payload(span=span) | r.VariableOf(span=span):
            return span.text
        case _:
            return ""


def _text(interval: Interval) -> str:
    return str(interval[0]) if interval[0] == interval[1] else f"{interval[0]}..{interval[1]}"


def _is_within(span: Span, whole: Span) -> bool:
    return span.source is whole.source and whole.start <= span.start and span.end <= whole.end
