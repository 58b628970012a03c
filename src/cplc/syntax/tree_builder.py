"""Builder of expression trees, called by the parser: one method for each alternative of `grammar/formula.lark`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Generic, Literal, NamedTuple, TypeVar, cast

from cplc.language.quotes import unquoted
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.lalr import Token

Node = TypeVar("Node")


@dataclass(frozen=True, slots=True)
class Part(Generic[Node]):
    """A node with its place, its parentheses included, from which the spans of enclosing nodes are computed."""

    node: Node
    start: int
    end: int


Expr = Part[ast.Expr]
Ref = Part[ast.Ref]
Group = Part[tuple[ast.Ref, ...]]
Party = Part[ast.Party]
Between = Part[tuple[ast.Party, ...]]
Conditions = Part[tuple[ast.Expr, ast.Expr]]
Objects = Part[tuple[ast.Ref, ast.Ref | None, ast.Joining]]
Child = Token | Expr


class Limits(NamedTuple):
    """The bound of a temporal operator, its unit, and the lower end of an interval."""

    bound: ast.Expr | None = None
    in_ticks: bool = False
    low: ast.Expr | None = None


_UNLIMITED: Final = Limits()


def _start(child: Token | Part[Node]) -> int:
    return child.start if isinstance(child, Part) else child.start_pos or 0


def _end(child: Token | Part[Node]) -> int:
    return child.end if isinstance(child, Part) else child.end_pos or 0


class Builder:
    """Callbacks of lark with the list of matched items; set ``source`` and ``offset`` before each text."""

    def __init__(self) -> None:
        self.source = Source("", "")
        self.offset = 0

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source, self.offset + start, self.offset + end)

    def _name(self, token: Token) -> ast.Name:
        return ast.Name(str(token), span=self._span(_start(token), _end(token)))

    # --- operands

    def number(self, items: tuple[Token]) -> Expr:
        (token,) = items
        start, end = _start(token), _end(token)
        return Part(ast.Literal_(int(token), span=self._span(start, end)), start, end)

    def truth(self, items: tuple[Token]) -> Expr:
        (token,) = items
        start, end = _start(token), _end(token)
        return Part(ast.Literal_(token == "true", span=self._span(start, end)), start, end)

    def text(self, items: tuple[Token]) -> Expr:
        """Build a text from the source: in what the parser reads its characters are hidden."""
        (token,) = items
        start, end = _start(token), _end(token)
        span = self._span(start, end)
        return Part(ast.Literal_(unquoted(span.text), span=span), start, end)

    def amount(self, items: tuple[Token]) -> Expr:
        (token,) = items
        start, end = _start(token), _end(token)
        number, currency = str(token).rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ").strip(), str(token)[-3:]
        text = f"{number} {currency}" if currency.isalpha() else str(token)
        return Part(ast.Amount(text, span=self._span(start, end)), start, end)

    def duration(self, items: tuple[Token]) -> Expr:
        (token,) = items
        start, end = _start(token), _end(token)
        number = str(token).rstrip("abcdefghijklmnopqrstuvwxyz").strip()
        text = f"{number} {str(token).removeprefix(number).strip()}"
        return Part(ast.Duration(text, span=self._span(start, end)), start, end)

    def segment(self, items: list[Child]) -> Part[ast.Segment]:
        name, *rest = items
        indices = tuple(item.node for item in rest if isinstance(item, Part))
        return Part(ast.Segment(self._name(cast("Token", name)), indices), _start(name), _end(items[-1]))

    def ref(self, segments: list[Part[ast.Segment]]) -> Ref:
        start, end = segments[0].start, segments[-1].end
        return Part(ast.Ref(tuple(part.node for part in segments), span=self._span(start, end)), start, end)

    def ref_name(self, items: list[Child]) -> Ref:
        return self.ref([self.segment(items)])

    def view(self, items: tuple[Ref, Ref]) -> Expr:
        commitment, role = items
        start, end = commitment.start, role.end
        return Part(ast.View(commitment.node, role.node, span=self._span(start, end)), start, end)

    def enclosed(self, items: tuple[Token, Expr, Token]) -> Expr:
        opening, inner, closing = items
        return Part(inner.node, _start(opening), _end(closing))

    def call(self, items: list[Child]) -> Expr:
        name, *rest = items
        arguments = tuple(item.node for item in rest if isinstance(item, Part))
        start, end = _start(name), _end(items[-1])
        return Part(ast.Call(self._name(cast("Token", name)), arguments, span=self._span(start, end)), start, end)

    # --- operators

    def unary(self, items: tuple[Token, Expr]) -> Expr:
        sign, operand = items
        return self._prefixed(sign, operand, _UNLIMITED)

    def bounded_unary(self, items: tuple[Token, Limits, Expr]) -> Expr:
        """Build ``F<=k p`` or ``F[a..b] p``."""
        sign, limits, operand = items
        return self._prefixed(sign, operand, limits)

    def limits(self, items: list[Child]) -> Limits:
        """Build ``<=k`` or ``[a..b]``; the last item may be the unit, ticks."""
        numbers = [item.node for item in items if isinstance(item, Part)]
        in_ticks = items[-1] == "ticks"
        return Limits(numbers[-1], in_ticks, numbers[0] if len(numbers) > 1 else None)

    def _prefixed(self, sign: Token, operand: Expr, limits: Limits) -> Expr:
        """Build ``F p``, and ``AF p`` as ``A`` over ``F p``."""
        start, end = _start(sign), operand.end
        op = cast("ast.UnaryOp", str(sign[-1]))
        if len(sign) == 1:
            return Part(ast.Unary(op, operand.node, *limits, span=self._span(start, end)), start, end)
        path = ast.Unary(op, operand.node, *limits, span=self._span(start + 1, end))
        return Part(ast.OverPaths("A" if sign[0] == "A" else "E", path, span=self._span(start, end)), start, end)

    def binary(self, items: tuple[Expr, Token, Expr]) -> Expr:
        left, sign, right = items
        return self._infix(left, sign, right, _UNLIMITED)

    def bounded_binary(self, items: tuple[Expr, Token, Limits, Expr]) -> Expr:
        """Build ``p U<=k q`` or ``p U[a..b] q``."""
        left, sign, limits, right = items
        return self._infix(left, sign, right, limits)

    def _infix(self, left: Expr, sign: Token, right: Expr, limits: Limits) -> Expr:
        span = self._span(left.start, right.end)
        if sign in ("&", "|"):
            return self._joined(left, cast("Literal['&', '|']", str(sign)), right, span)
        op = cast("ast.BinaryOp", str(sign))
        return Part(ast.Binary(op, left.node, right.node, *limits, span=span), left.start, right.end)

    def _joined(self, left: Expr, op: Literal["&", "|"], right: Expr, span: Span) -> Expr:
        """Build a chain as one node, however long it is; in parentheses it is an operand like any other."""
        node = left.node
        goes_on = isinstance(node, ast.Junction) and node.op == op and node.span.end == self.offset + left.end
        before = node.operands if goes_on and isinstance(node, ast.Junction) else (node,)
        return Part(ast.Junction(op, (*before, right.node), span=span), left.start, right.end)

    def membership(self, items: list[Child]) -> Expr:
        """Build ``x in {a, b}`` as ``x = a | x = b``."""
        value, *members = (item for item in items if isinstance(item, Part))
        end = _end(items[-1])
        span = self._span(value.start, end)
        equal = tuple(ast.Binary("=", value.node, member.node, span=span) for member in members)
        return Part(equal[0] if len(equal) == 1 else ast.Junction("|", equal, span=span), value.start, end)

    def over_paths(self, items: tuple[Token, Expr]) -> Expr:
        sign, path = items
        return self._quantified(sign, path, None)

    def along_paths(self, items: tuple[Token, Expr, Expr]) -> Expr:
        sign, along, path = items
        return self._quantified(sign, path, along.node)

    def _quantified(self, sign: Token, path: Expr, along: ast.Expr | None) -> Expr:
        start, end = _start(sign), path.end
        quantifier: Literal["A", "E"] = "A" if sign == "A" else "E"
        return Part(ast.OverPaths(quantifier, path.node, along, span=self._span(start, end)), start, end)

    def range(self, items: tuple[Expr, Expr]) -> Part[ast.Range]:
        low, high = items
        start, end = low.start, high.end
        return Part(ast.Range(low.node, high.node, span=self._span(start, end)), start, end)

    def quantifier(self, items: tuple[Token, Token, Part[ast.Domain], Expr]) -> Expr:
        sign, variable, domain, body = items
        start, end = _start(sign), body.end
        kind: Literal["forall", "exists"] = "forall" if sign == "forall" else "exists"
        node = ast.Quantifier(kind, self._name(variable), domain.node, body.node, span=self._span(start, end))
        return Part(node, start, end)

    # --- modalities

    def refs(self, items: list[Ref]) -> Group:
        return Part(tuple(item.node for item in items), items[0].start, items[-1].end)

    def between(self, items: list[Party]) -> Between:
        """Build the parties of a modality: a commitment by its name, or debtor and creditor."""
        return Part(tuple(item.node for item in items), items[0].start, items[-1].end)

    def party_of_several(self, items: list[Ref]) -> Party:
        start, end = items[0].start, items[-1].end
        return Part(ast.Group(tuple(item.node for item in items), span=self._span(start, end)), start, end)

    def conditions(self, items: tuple[Expr, Expr]) -> Conditions:
        condition, body = items
        return Part((condition.node, body.node), condition.start, body.end)

    def social(self, items: tuple[Token, Token, Between, Expr, Token]) -> Expr:
        sign, _, between, body, closing = items
        start, end = _start(sign), _end(closing)
        modality = cast("Literal['C', 'Fu', 'SC']", str(sign))
        return Part(ast.Social(modality, between.node, body.node, span=self._span(start, end)), start, end)

    def social_if(self, items: tuple[Token, Token, Ref, Ref, Conditions, Token]) -> Expr:
        sign, _, debtor, creditor, conditions, closing = items
        start, end = _start(sign), _end(closing)
        trigger, body = conditions.node
        node = ast.Social("SCc", (debtor.node, creditor.node), body, trigger, span=self._span(start, end))
        return Part(node, start, end)

    def conditional(self, items: tuple[Token, Token, Between, Conditions, Token]) -> Expr:
        sign, _, between, conditions, closing = items
        return self._conditional(sign, between, None, conditions, closing)

    def handing_over(self, items: tuple[Token, Token, Between, Ref, Conditions, Token]) -> Expr:
        sign, _, between, other, conditions, closing = items
        return self._conditional(sign, between, other.node, conditions, closing)

    def _conditional(
        self, sign: Token, between: Between, other: ast.Ref | None, conditions: Conditions, closing: Token
    ) -> Expr:
        start, end = _start(sign), _end(closing)
        modality = cast("ast.ConditionalModality", str(sign))
        node = ast.Conditional(modality, between.node, other, *conditions.node, span=self._span(start, end))
        return Part(node, start, end)

    def knows(self, items: tuple[Token, Token, Ref, Expr, Token]) -> Expr:
        sign, opening, agent, body, closing = items
        return self.group_knows((sign, opening, self.refs([agent]), body, closing))

    def group_knows(self, items: tuple[Token, Token, Group, Expr, Token]) -> Expr:
        sign, _, group, body, closing = items
        start, end = _start(sign), _end(closing)
        modality = cast("Literal['K', 'EK', 'DK', 'CK']", str(sign))
        return Part(ast.Knowledge(modality, group.node, body.node, span=self._span(start, end)), start, end)

    def does(self, items: tuple[Token, Token, Ref, Token]) -> Expr:
        sign, _, subject, closing = items
        start, end = _start(sign), _end(closing)
        return Part(ast.Does(None, subject.node, span=self._span(start, end)), start, end)

    def objects(self, items: list[Child]) -> Objects:
        """Build the subject of an operation, with the preposition and the other commitment or claim."""
        subject = cast("Ref", items[0])
        if len(items) == 1:
            return Part((subject.node, None, "to"), subject.start, subject.end)
        other, joined = cast("Ref", items[2]), cast("ast.Joining", str(items[1]))
        return Part((subject.node, other.node, joined), subject.start, other.end)

    def does_operation(self, items: tuple[Token, Token, Token, Objects, Token]) -> Expr:
        sign, _, verb, objects, closing = items
        start, end = _start(sign), _end(closing)
        return Part(ast.Does(self._name(verb), *objects.node, span=self._span(start, end)), start, end)

    def does_by(self, items: tuple[Token, Token, Token, Token, Objects, Token]) -> Expr:
        sign, opening, by, verb, objects, closing = items
        done = self.does_operation((sign, opening, verb, objects, closing))
        assert isinstance(done.node, ast.Does)
        return Part(replace(done.node, by=self._name(by)), done.start, done.end)

    def strategic(self, items: tuple[Token, Group, Expr]) -> Expr:
        sign, group, path = items
        start, end = _start(sign), path.end
        return Part(ast.Strategic(group.node, path.node, span=self._span(start, end)), start, end)
