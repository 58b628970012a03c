"""Conversion of the objects that textX builds (`grammar/cpl.tx`) to the syntax tree.

An unreadable expression is reported, and the smallest construct around it is left out: its clause, variable, parameter
or declaration.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, Literal, TypeVar, cast

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import SWITCHED_OFF_CHECK, SYNTAX
from cplc.language.quotes import unquoted
from cplc.records import dataclass
from cplc.source import Span
from cplc.syntax import ast
from cplc.syntax.formula_parser import read
from cplc.syntax.scanner import Scan
from cplc.syntax.token_text import token_at

_DOTTED: Final = re.compile(r"\w+(?:\s*\.\s*\w+)*")
Item = ast.Version | ast.Import | ast.Protocol | ast.Declaration | ast.AgentItem
MISPLACED_VERSION: Final = "The version of the language stands at the beginning of the file, before everything else"
Converted = TypeVar("Converted")


@dataclass(frozen=True)
class Excerpt:
    """A text to parse, with the offsets of its characters in the source.

    ``shifts`` are pairs: from that offset of the text on, the source is that much further. Ascending.
    """

    text: str
    shifts: tuple[tuple[int, int], ...]

    def original(self, offset: int) -> int:
        shift = self.shifts[0][1]
        for start, value in self.shifts:
            if offset < start:
                # Inside a word that was put in the place of a misspelt one.
                return min(offset + shift, start + value)
            shift = value
        return offset + shift

    def replaced(self, start: int, end: int, word: str) -> Excerpt:
        """Return the excerpt with one word replaced, keeping the offsets of the rest."""
        growth = len(word) - (end - start)
        text = self.text[:start] + word + self.text[end:]
        earlier_shifts = tuple(pair for pair in self.shifts if pair[0] <= start)
        later = tuple((at + growth, value - growth) for at, value in self.shifts if at > start)
        return Excerpt(text, (*earlier_shifts, (start + len(word), earlier_shifts[-1][1] - growth), *later))


class Conversion:
    """Converts the items of one excerpt, and collects the errors of their expressions."""

    def __init__(self, scan: Scan, excerpt: Excerpt, *, in_agent: bool = False) -> None:
        self.scan = scan
        self.excerpt = excerpt
        self.in_agent = in_agent
        self.problems: list[Diagnostic] = []
        self._unread = 0

    def items(self, nodes: list[Any]) -> tuple[Item, ...]:
        return self._readable(nodes, self.item)

    def _readable(self, nodes: list[Any], convert: Callable[[Any], Converted]) -> tuple[Converted, ...]:
        """Convert the nodes without unreadable expressions."""
        results: list[Converted] = []
        for node in nodes:
            before = self._unread
            converted = convert(node)
            if self._unread == before:
                results.append(converted)
            self._unread = before
        return tuple(results)

    def item(self, node: Any) -> Item:
        span = self.span(node)
        match type(node).__name__:
            case "Version":
                return ast.Version(node.number, span=span)
            case "Import":
                return self._import(node, span)
            case "Protocol":
                return self._protocol(node, span)
            case "Role":
                size = self.expression(node.size) if node.size else None
                variables = self._readable(node.variables, self._variable)
                return ast.Role(self.name(node.name), size, variables, bool(node.is_record), self._doc(span), span=span)
            case "Choice":
                return ast.Choice(self.references(node.members), span=span)
            case "Fact":
                return ast.Fact(self.name(node.name), self.expression(node.value), self._doc(span), span=span)
            case "Commitment":
                return self._commitment(node, span)
            case "Claim":
                maker, addressee = self.reference(node.maker), self.reference(node.addressee)
                content = self.expression(node.content)
                return ast.Claim(self.name(node.name), maker, addressee, content, self._doc(span), span=span)
            case "Clock":
                return ast.Clock(self._duration(node.length), span=span)
            case "Channel":
                return self._channel(node, span)
            case "Empower":
                powers = tuple(
                    ast.Power(self.name(one.verb), self.reference(one.subject), span=self.span(one))
                    for one in node.powers
                )
                return ast.Empower(self.references(node.roles), powers, span=span)
            case "For":
                return self._loop(node, span)
            case "ForEach":
                return self._instances_by_key(node, span)
            case "Memory":
                initial = self.expression(node.initial) if node.initial else None
                return ast.Memory(self.reference(node.name), self._type(node.type), initial, self._doc(span), span=span)
            case "Use":
                arguments = self._readable(node.arguments, self._argument)
                alias = self._alias(node)
                conditions = self._readable(node.conditions, self._condition)
                return ast.Use(self.reference(node.protocol), arguments, alias, conditions, self._doc(span), span=span)
            case "Define":
                return self._definition(node, span)
            case "Property":
                return self._property(node, span)
            case "Check":
                return self._check(node, span)
            case "Fairness":
                return ast.Fairness(self.expression(node.condition), span=span)
            case "Message":
                return self._message(node, span)
            case "Agent":
                return self._agent(node, span)
            case "Analyze":
                thresholds = tuple(self._threshold(threshold) for threshold in node.thresholds)
                return ast.Analyze(self.reference(node.agent), self._assumptions(node), thresholds, span=span)
            case "Goal" | "Values" | "Belief" | "Decision":
                return self._agent_item(node, span)
            case other:
                raise TypeError(f"the grammar has an item that has no tree: {other}")

    # --- declarations

    def _import(self, node: Any, span: Span) -> ast.Import:
        alias = self._alias(node)
        if node.path:
            return ast.Import(self.string(node.path), True, alias, span=span)
        return ast.Import(re.sub(r"\s", "", node.target), False, alias, span=span)

    def _protocol(self, node: Any, span: Span) -> ast.Protocol:
        parameters = self._readable(node.parameters, self._parameter)
        title = self.string(node.title) if node.title else None
        body = declarations(self.items(node.items), self.problems)
        return ast.Protocol(self.name(node.name), parameters, title, node.sync, body, self._doc(span), span=span)

    def _loop(self, node: Any, span: Span) -> ast.For | ast.Each:
        """Convert a loop over declarations or, inside an agent, over its items."""
        variable, domain, items = self.name(node.variable), self.domain(node.domain), self.items(node.items)
        if self.in_agent:
            return ast.Each(variable, domain, agent_items(items, self.problems), span=span)
        return ast.For(variable, domain, declarations(items, self.problems), span=span)

    def _instances_by_key(self, node: Any, span: Span) -> ast.ForEach:
        key, type_, items = self.name(node.key), self._type(node.type), self.items(node.items)
        return ast.ForEach(key, type_, declarations(items, self.problems), span=span)

    def _agent(self, node: Any, span: Span) -> ast.Agent:
        outside, self.in_agent = self.in_agent, True
        items = agent_items(self.items(node.items), self.problems)
        self.in_agent = outside
        return ast.Agent(self.name(node.name), self.references(node.roles), items, self._doc(span), span=span)

    def _parameter(self, node: Any) -> ast.Parameter:
        default = self.expression(node.default) if node.default else None
        return ast.Parameter(self.name(node.name), self._type(node.type), default, span=self.span(node))

    def _payload(self, node: Any) -> ast.Parameter:
        return ast.Parameter(self.name(node.name), self._type(node.type), span=self.span(node))

    def _variable(self, node: Any) -> ast.RoleVariable:
        span = self.span(node)
        initial = self.expression(node.initial) if node.initial else None
        return ast.RoleVariable(self.name(node.name), self._type(node.type), initial, self._doc(span), span=span)

    def _type(self, node: Any) -> ast.Type:
        span = self.span(node)
        match type(node).__name__:
            case "BoolType":
                return ast.BoolType(span=span)
            case "DataType":
                with_argument = f"money({node.currency})" if node.currency else f"decimal({node.places})"
                return ast.DataType(node.word or with_argument, span=span)
            case "EnumType":
                return self._enumeration(node)
            case "NamedType":
                return ast.NamedType(self.reference(node.target), span=span)
            case _:
                return ast.Range(self.expression(node.low), self.expression(node.high), span=span)

    def _enumeration(self, node: Any) -> ast.EnumType:
        return ast.EnumType(tuple(self.name(member) for member in node.members), span=self.span(node))

    def _definition(self, node: Any, span: Span) -> ast.Define | ast.TypeDefinition:
        name = self.name(node.name)
        if node.values:
            if node.parameters:
                self._report(node.parameters[0], "An enumeration takes no parameters")
            return ast.TypeDefinition(name, self._enumeration(node.values), self._doc(span), span=span)
        parameters = tuple(self.name(parameter) for parameter in node.parameters)
        return ast.Define(name, parameters, self.expression(node.body), self._doc(span), span=span)

    def _commitment(self, node: Any, span: Span) -> ast.Commitment:
        options: dict[str, list[Any]] = {"Within": [], "Expires": [], "Revocable": []}
        for option in node.options:
            options[type(option).__name__].append(option)
        within, expires, revocable = (self._only(f"`{kind.lower()}`", options[kind]) for kind in options)
        return ast.Commitment(
            self.name(node.name), self._party(node.debtor), self._party(node.creditor),
            self.expression(node.antecedent), self.expression(node.consequent),
            self.expression(within.ticks) if within else None, self.expression(expires.ticks) if expires else None,
            revocable is not None, self._doc(span), span=span,
        )  # fmt: skip

    def _party(self, node: Any) -> ast.Party:
        answerable = node.answerable or None
        if not answerable and node.role:
            return self.reference(node.role)
        refs = [node.role] if node.role else node.group
        return ast.Group(self._readable(refs, self.reference), answerable, span=self.span(node))

    def _only(self, what: str, nodes: list[Any]) -> Any | None:
        """Return the first of these clauses or None, and report each further one."""
        for node in nodes[1:]:
            first = Note("the first is here", self.span(nodes[0]))
            self.problems.append(SYNTAX.at(self.span(node), f"{what} is written twice", first))
        return nodes[0] if nodes else None

    def _alias(self, node: Any) -> ast.Name | None:
        alias = self._only("`as`", node.aliases)
        return self.name(alias.name) if alias else None

    def _expected(self, node: Any) -> Literal["holds", "fails"]:
        expectation = self._only("`expect`", node.expectations)
        return "fails" if expectation and expectation.verdict == "fails" else "holds"

    def _when(self, node: Any) -> ast.Expr | None:
        when = self._only("`when`", node.conditions)
        return self.expression(when.condition) if when else None

    def _argument(self, node: Any) -> ast.Argument:
        """Convert `payer = A`: a single word is a name here, even where it could be an operator."""
        expression = self.reference(node.value) if self._is_name(node.value) else self.expression(node.value)
        return ast.Argument(self.name(node.name), expression, span=self.span(node))

    def _property(self, node: Any, span: Span) -> ast.Property:
        title = self._only("The title", node.titles)
        return ast.Property(
            self.name(node.name), self.string(title) if title else None,
            self._assumptions(node), self.expression(node.formula),
            self._expected(node), self._doc(span), span=span,
        )  # fmt: skip

    def _assumptions(self, node: Any) -> tuple[ast.Assumed, ...]:
        assuming = self._only("`assuming`", node.assumptions)
        return self._readable(assuming.assumed, self._assumed) if assuming else ()

    def _assumed(self, node: Any) -> ast.Assumed:
        within = self.expression(node.bound.ticks) if node.bound else None
        return ast.Assumed(self.reference(node.subject), within, span=self.span(node))

    def _channel(self, node: Any, span: Span) -> ast.Channel:
        unordered, queues, losses, copies, delays = (
            [option for option in node.options if type(option).__name__ == kind]
            for kind in ("Unordered", "Fifo", "Lossy", "Duplicating", "Within")
        )
        within, is_unordered = self._only("`within`", delays), self._only("`unordered`", unordered) is not None
        lossy, duplicating = self._only("`lossy`", losses), self._only("`duplicating`", copies)
        fifo = self._only("`fifo`", queues)
        sender, receiver = (self.reference(end) if end else None for end in (node.sender, node.receiver))
        return ast.Channel(
            sender, receiver, is_unordered, self.expression(within.ticks) if within else None,
            lossy is not None, self.expression(lossy.most) if lossy and lossy.most else None,
            duplicating is not None,
            self.expression(duplicating.most) if duplicating and duplicating.most else None,
            self.expression(fifo.places) if fifo else None, span=span,
        )  # fmt: skip

    def _check(self, node: Any, span: Span) -> ast.Check:
        assuming = self._only("`assuming`", node.assumptions)
        assumed = self._assumptions(node)
        items = tuple(self._check_item(item, node.expectations, assuming) for item in node.checks)
        return ast.Check(items, assumed, span=span)

    def _check_item(self, node: Any, expected_of_all: list[Any], assuming: Any) -> ast.CheckItem:
        """Convert a check; an `expect` after `assuming` is about all checks of the line."""
        name = self.name(node.name)
        expectations = [*node.expectations, *expected_of_all]
        if node.off or name.text == "none":
            for clause in (*expectations, *([assuming] if assuming else [])):
                what = "`assuming`" if clause is assuming else "`expect`"
                message = f"A check that is switched off takes no {what}"
                self.problems.append(SWITCHED_OFF_CHECK.at(self.span(clause), message))
        expectation = self._only("`expect`", expectations)
        expect: Literal["holds", "fails"] = "fails" if expectation and expectation.verdict == "fails" else "holds"
        return ast.CheckItem(name, expect, node.off)

    def _message(self, node: Any, span: Span) -> ast.Message:
        parameters = self._readable(node.parameters, self._payload)
        clauses = self._readable(node.clauses, self._clause)
        sender, receivers = self.reference(node.sender), self.references(node.receivers)
        return ast.Message(self.name(node.name), sender, receivers, parameters, clauses, self._doc(span), span=span)

    def _condition(self, node: Any) -> ast.Condition:
        kinds: dict[str, type[ast.Condition]] = {"After": ast.After, "Unless": ast.Unless, "If": ast.If}
        made = kinds[type(node).__name__]
        return made(self.expression(node.condition), span=self.span(node))

    def _clause(self, node: Any) -> ast.Clause:
        span = self.span(node)
        match type(node).__name__:
            case "After" | "Unless" | "If":
                return self._condition(node)
            case "Means":
                return ast.Means(tuple(self._operation(operation) for operation in node.operations), span=span)
            case "Set":
                return ast.Set(self._assignments(node.assignments), span=span)
            case "OnReceipt":
                return ast.OnReceipt(self._assignments(node.assignments), span=span)
            case "Resets":
                return ast.Resets(self.references(node.messages), span=span)
            case "Restart":
                return ast.Restart(span=span)
            case "Repeatable":
                return ast.Repeatable(span=span)
            case "Returns":
                replies = self._readable([node.first, *(one.reply for one in node.others)], self._reply)
                return ast.Returns(replies, span=span)
            case other:
                raise TypeError(f"the grammar has a clause that has no tree: {other}")

    def _reply(self, node: Any) -> ast.Reply:
        clauses = cast("tuple[ast.ReplyClause, ...]", self._readable(node.clauses, self._clause))
        return ast.Reply(self.name(node.name), tuple(map(self.name, node.fields)), clauses, span=self.span(node))

    def _operation(self, node: Any) -> ast.Operation:
        target = self.reference(node.target) if node.target else None
        subject = self.reference(node.subject)
        joined: ast.Joining = "with" if node.joined == "with" else "to"
        return ast.Operation(self.name(node.verb), subject, target, bool(node.retaining), joined, span=self.span(node))

    def _assignments(self, nodes: list[Any]) -> tuple[ast.Assignment, ...]:
        return tuple(
            ast.Assignment(self.reference(node.variable), self.expression(node.value), span=self.span(node))
            for node in nodes
        )

    # --- agents

    def _agent_item(self, node: Any, span: Span) -> ast.AgentItem:
        match type(node).__name__:
            case "Goal":
                return ast.Goal(self.expression(node.condition), span=span)
            case "Values":
                return ast.Values(tuple(self._worth(worth) for worth in node.worths), span=span)
            case "Belief":
                when = self._when(node)
                events = self._readable(node.events, self._event)
                if len(events) < len(node.events):
                    self._unread += 1
                within = self._only("`within`", node.bounds)
                bound = self.expression(within.ticks) if within else None
                return ast.Belief(self.reference(node.role), when, events, bound, span=span)
            case "Decision":
                return ast.Decision(self.references(node.messages), self._when(node), span=span)
            case other:
                raise TypeError(f"the grammar has something in an agent that has no tree: {other}")

    def _worth(self, node: Any) -> ast.Worth:
        amount = self._decimal(node.amount)
        if node.sign == "-":
            amount = ast.Decimal(-amount.value, span=amount.span)
        return ast.Worth(self.reference(node.message), amount, span=self.span(node))

    def _event(self, node: Any) -> ast.Event:
        payload = tuple(self.expression(value) for value in node.payload)
        high = self._decimal(node.high) if node.high else None
        return ast.Event(self.reference(node.message), payload, self._decimal(node.low), high, span=self.span(node))

    def _threshold(self, node: Any) -> ast.Threshold:
        value = self._decimal(node.value)
        if node.sign == "-":
            value = ast.Decimal(-value.value, span=value.span)
        return ast.Threshold(
            self.name(node.aspect), ">=" if node.relation == ">=" else ">", value,
            self._expected(node) if node.expectations else None, span=self.span(node),
        )  # fmt: skip

    def _decimal(self, node: Any) -> ast.Decimal:
        return ast.Decimal(Fraction(self._text(node)), span=self.span(node))

    # --- names and expressions

    def span(self, node: Any) -> Span:
        original = self.excerpt.original
        start = original(node._tx_position)
        return Span(self.scan.source, start, max(start, original(node._tx_position_end)))

    def name(self, node: Any) -> ast.Name:
        return ast.Name(node.text, span=self.span(node))

    def string(self, node: Any) -> str:
        return unquoted(self.span(node).text)

    def _text(self, node: Any) -> str:
        return self.excerpt.text[node._tx_position : node._tx_position_end]

    def _duration(self, node: Any) -> ast.Duration:
        return ast.Duration(" ".join(self._text(node).split()), span=self.span(node))

    def expression(self, node: Any) -> ast.Expr:
        if type(node).__name__ == "Duration":
            return self._duration(node)
        span = self.span(node)
        result, problems = read(self.scan.source, self._text(node), span.start)
        self.problems.extend(problems)
        if result is None:
            self._unread += 1
            return ast.Literal_(True, span=span)
        return result

    def references(self, nodes: list[Any]) -> tuple[ast.Ref, ...]:
        return tuple(self.reference(node) for node in nodes)

    def reference(self, node: Any) -> ast.Ref:
        """Convert a name with its indices; without any it may be a word that is an operator in formulas."""
        span = self.span(node)
        text = self._text(node)
        if _DOTTED.fullmatch(text):
            return ast.Ref(tuple(self._segment(span, word) for word in re.finditer(r"\w+", text)), span=span)
        return self._named(node, "Expected a name, found an expression")

    def _named(self, node: Any, otherwise: str) -> ast.Ref:
        """Convert an expression that must be a name with its indices."""
        before = self._unread
        result = self.expression(node)
        if isinstance(result, ast.Ref):
            return result
        if self._unread == before:
            self._report(node, otherwise)
            self._unread += 1
        return ast.Ref((ast.Segment(ast.Name(self._text(node), span=self.span(node))),), span=self.span(node))

    def _segment(self, whole: Span, word: re.Match[str]) -> ast.Segment:
        span = Span(whole.source, whole.start + word.start(), whole.start + word.end())
        return ast.Segment(ast.Name(word.group(), span=span))

    def _is_name(self, node: Any) -> bool:
        text = self._text(node)
        return text.isidentifier() and text not in ("true", "false")

    def domain(self, node: Any) -> ast.Domain:
        if node.high:
            return ast.Range(self.expression(node.low), self.expression(node.high), span=self.span(node))
        if self._is_name(node.low):
            return self.reference(node.low)
        return self._named(node.low, "Expected a family of roles or a range like `1..n`")

    def _doc(self, span: Span) -> str | None:
        return self.scan.doc(span.start)

    def _report(self, node: Any, message: str) -> None:
        self.problems.append(SYNTAX.at(self.span(node), message))


def declarations(items: tuple[Item, ...], problems: list[Diagnostic]) -> tuple[ast.Declaration, ...]:
    """Return the items allowed inside a protocol, and report the rest."""
    allowed: list[ast.Declaration] = []
    for item in items:
        match item:
            case ast.Version():
                problems.append(SYNTAX.at(item.span, MISPLACED_VERSION))
            case ast.Import():
                problems.append(SYNTAX.at(item.span, "An `import` stands at the beginning of the file"))
            case ast.Protocol(name):
                problems.append(SYNTAX.at(name.span, f"`protocol {name.text}` stands inside another block"))
            case ast.Goal() | ast.Values() | ast.Belief() | ast.Decision() | ast.Each():
                problems.append(SYNTAX.at(first_word(item.span), "This belongs inside an `agent … plays … { … }`"))
            case _:
                allowed.append(item)
    return tuple(allowed)


def agent_items(items: tuple[Item, ...], problems: list[Diagnostic]) -> tuple[ast.AgentItem, ...]:
    """Return the items allowed inside an agent, and report the rest."""
    allowed: list[ast.AgentItem] = []
    for item in items:
        match item:
            case ast.Goal() | ast.Values() | ast.Belief() | ast.Decision() | ast.Each():
                allowed.append(item)
            case _:
                message = "An agent can contain only `goal`, `value`, `believes`, `chooses` and `for`"
                problems.append(SYNTAX.at(first_word(item.span), message))
    return tuple(allowed)


def first_word(span: Span) -> Span:
    """Return the place of the first word in a span."""
    start, text = span.start, span.source.text
    return Span(span.source, start, start + max(1, len(token_at(text, start))))
