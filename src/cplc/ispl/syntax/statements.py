"""Parser of single ISPL statements by `grammar/ispl.lark`, with syntax error messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

from lark import Token

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import RESERVED_NAME, SYNTAX
from cplc.ispl.syntax import ast
from cplc.ispl.syntax.ast import ACTION, ENVIRONMENT, MAX_NAME_LENGTH, OPERATORS, RESERVED, last_word
from cplc.source import Source, Span
from cplc.syntax.parse_tables import parser_of
from cplc.syntax.scanner import MAX_DIGITS

if TYPE_CHECKING:
    from lark import Lark, UnexpectedInput


Kind = Literal[
    "variable", "set", "names", "semantics", "protocol_line", "evolution_line", "proposition", "condition", "group",
    "formula", "branching",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = (
    "variable", "set", "names", "semantics", "protocol_line", "evolution_line", "proposition", "condition", "group",
    "formula", "branching",
)  # fmt: skip

FORMS: Final[dict[Kind, str]] = {
    "variable": "x : boolean;`, `x : {a, b};` or `x : 0..3;",
    "set": "Actions = {a, b};",
    "semantics": "Semantics = MA;` or `Semantics = SA;",
    "protocol_line": "condition : {a, b};` or `Other : {a};",
    "evolution_line": "x=1 and y=true if condition;",
    "proposition": "name if condition;",
    "group": "name = {Agent1, Agent2};",
}
"""Syntax of each statement for messages; alternatives are separated within backquotes."""

_TOKEN: Final = re.compile(r"[A-Za-z_0-9]+|<->|->|<=|>=|<>|!=|==|=>|:=|&&|\|\||\.\.|\S")

_FOREIGN_OPERATORS: Final[dict[str, str]] = {
    "&&": "conjunction is written `and`",
    "||": "disjunction is written `or`",
    "==": "equality is written `=`",
    ":=": "values are assigned with `=`",
    "=>": "implication is written `->`, in formulas only",
    "not": "negation is written `!`",
    "[": "ISPL uses parentheses: `A(p U q)`",
}


@cache
def _parser_and_builder() -> tuple[Lark, Builder]:
    builder = Builder()
    return parser_of("ispl", builder, KINDS), builder


_LOCK = Lock()


def read(kind: Kind, source: Source, text: str, offset: int, before: str, problems: list[Diagnostic]) -> object | None:
    """Return the tree of the statement at ``offset``; ``before`` is the token that follows it."""
    from lark import UnexpectedInput

    with _LOCK:
        parser, builder = _parser_and_builder()
        builder.source, builder.offset, builder.problems = source, offset, problems
        try:
            # lark declares a tree, but returns the result of the callbacks.
            result: object = parser.parse(text, start=kind)
        except UnexpectedInput as error:
            problems.append(_problem(kind, source, text, offset, before, error))
            return None
    return result


def _problem(kind: Kind, source: Source, text: str, offset: int, before: str, error: UnexpectedInput) -> Diagnostic:
    """Return the diagnostic for an unexpected token."""
    from lark import UnexpectedCharacters, UnexpectedToken

    at, expected = len(text.rstrip()), set[str]()
    match error:
        case UnexpectedToken():
            expected = set(error.accepts or error.expected)
            if error.token.type != "$END":
                at = error.token.start_pos or 0
        case UnexpectedCharacters():
            expected = set(error.allowed or ())
            at = cast("int", error.pos_in_stream)
        case _:
            pass
    match = _TOKEN.match(text, at)
    here = match[0] if match else ""
    if here:
        span = Span(source, offset + at, offset + at + len(here))
    elif before == "`;`":
        span = Span(source, offset + len(text), offset + len(text) + 1)
    else:
        first, end = last_word(text)
        span = Span(source, offset + first, offset + end)
    is_truth = here in ("true", "false")
    if (
        here in RESERVED
        and "NAME" in expected
        and not is_truth
        and (here not in OPERATORS or not {"_AND", "_OR"} & expected)
    ):
        form = (Note(f"the form is `{FORMS[kind]}`"),) if kind in FORMS and here not in OPERATORS else ()
        return reserved(here, span) if not form else _with(reserved(here, span), form)
    words = _TOKEN.findall(text[max(0, at - 60) : at])
    after = f" after `{words[-1]}`" if words else ""
    message = f"Expected {_expected_text(expected, before)}{after}, found {_quoted(here, before)}"
    return SYNTAX.at(span, message, *_hints(kind, expected, words, here))


def _with(diagnostic: Diagnostic, notes: tuple[Note, ...]) -> Diagnostic:
    return replace(diagnostic, notes=notes)


def _quoted(text: str, otherwise: str) -> str:
    if not text:
        return otherwise
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}…`"


_TOKEN_TEXTS: Final = {
    "_IF": "`if`", "COLON": "`:`", "_TO": "`..`", "EQUAL": "`=`", "COMMA": "`,`", "DOT": "`.`", "LBRACE": "`{`",
    "RBRACE": "`}`", "RPAR": "`)`", "LPAR": "`(`", "_BOOLEAN": "`boolean`", "SEMANTICS": "`MA` or `SA`",
    "NAME": "a name", "INT": "a number", "COLOUR": "`RedStates` or `GreenStates`", "OTHER": "`Other`",
    "GREATER": "`>`",
}  # fmt: skip


def _expected_text(expected: set[str], before: str) -> str:
    if "PREFIX" in expected:
        return "a formula"
    if "PLAIN" in expected:
        return "a condition or `Other`" if "OTHER" in expected else "a condition"
    if "TRUTH" in expected:
        return "a value"
    if "RELATION" in expected and "INT" not in expected:
        return "a comparison"
    ends = [_TOKEN_TEXTS[sign] for sign in ("_IF", "COLON", "COMMA", "RPAR") if sign in expected]
    if "$END" in expected:
        ends.append(before if before == "`;`" else "`;`")
    if expected & {"_AND", "_OR"}:
        signs = ["`and`", *(["`or`"] if "_OR" in expected else [])]
        return " or ".join([", ".join([*signs, *ends[:-1]]), *ends[-1:]])
    named = [_TOKEN_TEXTS[sign] for sign in _TOKEN_TEXTS if sign in expected and _TOKEN_TEXTS[sign] not in ends]
    return " or ".join([*named, *ends][:4]) or "something else"


def _hints(kind: Kind, expected: set[str], before: list[str], here: str) -> tuple[Note, ...]:
    """Return hints on the intended syntax."""
    last = before[-1] if before else ""
    if here[:1] in "_0123456789" and here and "NAME" in expected:
        return (Note("names begin with a letter"),)
    for written in (here, last):
        if written in _FOREIGN_OPERATORS:
            return (Note(_FOREIGN_OPERATORS[written]),)
    if kind in ("formula", "branching"):
        return _formula_hints(expected, here)
    if "RELATION" in expected and "INT" not in expected:
        return (Note(f"a condition compares: write `{last}=true` of a boolean"),) if last.isidentifier() else ()
    if here in ("=", "<>", "!=", "<", "<=", ">", ">=") and "_AND" in expected:
        if before[-2:-1] in (["&"], ["|"]):
            return (Note("`&` and `|` join booleans; comparisons are joined with `and` and `or`"),)
        return (Note("comparisons cannot be chained: join two with `and`"),)
    if here in ("->", "<->"):
        return (Note("conditions have only `and`, `or` and `!`: write `!(p) or q`"),)
    return (Note(f"the form is `{FORMS[kind]}`"),) if kind in FORMS else ()


def _formula_hints(expected: set[str], here: str) -> tuple[Note, ...]:
    if here in ("true", "false"):
        return (Note("formulas have no truth values: declare a proposition in `Evaluation`"),)
    if here in ("=", "<>", "!=", ".") and "_AND" in expected:
        return (Note("formulas consist of propositions: declare one in `Evaluation`, `name if condition;`"),)
    if here == "U" and "_AND" in expected:
        return (Note("CTL requires parentheses: `A(p U q)`; or begin the formula with `LTL`"),)
    if here == "<->":
        return (Note("write both implications: `(p -> q) and (q -> p)`"),)
    return ()


# --- Parser callbacks that build the tree of a statement: one for each alternative of `grammar/ispl.lark`


Enclosed = TypeVar("Enclosed", bound=ast.Value | ast.Condition | ast.Formula)
Operand = ast.Condition | ast.Formula

_PLAIN: Final = re.compile(
    r"(?:(\w+)\s*\.\s*)?(\w+)\s*([=<>!]+)\s*(?:(-?[0-9]+)|(?:(\w+)\s*\.\s*)?(\w+))", re.ASCII
)  # fmt: skip
"""A comparison of two plain operands: owner, name, relation, then a number or owner and name."""

_RESERVED_NAMES: Final = RESERVED - {ENVIRONMENT, ACTION}


class Builder:
    """Callbacks of lark on the children of each alternative; set ``source`` and ``offset`` before each text."""

    def __init__(self) -> None:
        self.source = Source("", "")
        self.offset = 0
        self.problems: list[Diagnostic] = []

    def span(self, first: Token | ast.Value | Operand | ast.Name, last: Token | ast.Value | Operand | ast.Name) -> Span:
        """Return the range from one part of the statement to another."""
        start = self._start(first) if isinstance(first, Token) else first.span.start
        end = self._end(last) if isinstance(last, Token) else last.span.end
        return Span(self.source, start, end)

    def _start(self, token: Token) -> int:
        return self.offset + (token.start_pos or 0)

    def _end(self, token: Token) -> int:
        return self.offset + (token.end_pos or 0)

    def _name(self, token: Token) -> ast.Name:
        return self.named(str(token), Span(self.source, self._start(token), self._end(token)))

    def named(self, text: str, span: Span) -> ast.Name:
        """Return a name, truncated to the maximum length."""
        if len(text) > MAX_NAME_LENGTH:
            self.problems.append(SYNTAX.at(span, f"A name has at most {MAX_NAME_LENGTH} characters"))
            return ast.Name(text[:MAX_NAME_LENGTH], span=span)
        return ast.Name(text, span=span)

    # --- values

    def ref(self, items: list[Token]) -> ast.Ref:
        *owner, name = map(self._name, items)
        return ast.Ref(owner[0] if owner else None, name, span=self.span(items[0], items[-1]))

    def truth(self, items: tuple[Token]) -> ast.Truth:
        return ast.Truth(items[0] == "true", span=self.span(items[0], items[0]))

    def number(self, items: list[Token]) -> ast.Number:
        return ast.Number(self._integer(items), span=self.span(items[0], items[-1]))

    def _integer(self, items: list[Token]) -> int:
        """Return the number of one token, or of a sign and a token."""
        text = "".join(items)
        if len(text) <= MAX_DIGITS:
            return int(text)
        self.problems.append(SYNTAX.at(self.span(items[0], items[-1]), f"A number has at most {MAX_DIGITS} digits"))
        return 0

    def operation(self, items: tuple[ast.Value, Token, ast.Value]) -> ast.Operation:
        left, sign, right = items
        op = cast("Literal['+', '-', '*', '/', '&', '|', '^']", str(sign))
        return ast.Operation(op, left, right, span=self.span(left, right))

    def complement(self, items: tuple[Token, ast.Value]) -> ast.Complement:
        sign, operand = items
        return ast.Complement(operand, span=self.span(sign, operand))

    def enclosed(self, items: tuple[Token, Enclosed, Token]) -> Enclosed:
        """Return the inner node with the span of the parentheses."""
        opening, inner, closing = items
        return replace(inner, span=self.span(opening, closing))

    # --- conditions

    def plain(self, items: tuple[Token]) -> ast.Condition:
        (token,) = items
        (comparison,) = self._comparisons(token)
        return comparison

    def chained(self, items: list[Token | ast.Condition]) -> ast.Condition:
        """Join the comparisons of one token with what follows them."""
        chain = cast("Token", items[0])
        operands = (*self._comparisons(chain), *(cast("ast.Condition", item) for item in items[1:]))
        return ast.Junction("and", operands, span=self.span(operands[0], operands[-1]))

    def _comparisons(self, token: Token) -> Iterator[ast.Condition]:
        start = self._start(token)
        for match in _PLAIN.finditer(token):
            yield self._comparison(match, start)

    def _comparison(self, match: re.Match[str], start: int) -> ast.Condition:
        """Return a comparison of two plain operands, or an atom over actions."""
        whole = Span(self.source, start + match.start(), start + match.end())
        owner, name, relation, number, other, value = match.groups()
        if name == ACTION and value and relation == "=" and not other:
            agent = self._matched_name(match, 1, start) if owner else None
            return ast.Acts(agent, self._matched_name(match, 6, start), span=whole)
        left = self._plain_operand(match, 1, start)
        op = cast("ast.Relation", relation)
        if number:
            span = Span(self.source, start + match.start(4), whole.end)
            return ast.Comparison(op, left, ast.Number(self._digits(number, span), span=span), span=whole)
        return ast.Comparison(op, left, self._plain_operand(match, 5, start), span=whole)

    def _plain_operand(self, match: re.Match[str], group: int, start: int) -> ast.Truth | ast.Ref:
        """Return the operand of two regex groups: an optional owner, and a name or truth value."""
        first = group if match[group] else group + 1
        span = Span(self.source, start + match.start(first), start + match.end(group + 1))
        if first != group and match[first] in ("true", "false"):
            return ast.Truth(match[first] == "true", span=span)
        owner = self._matched_name(match, group, start) if match[group] else None
        name = self._matched_name(match, group + 1, start)
        for part in (owner, name):
            if part is not None and part.text in _RESERVED_NAMES:
                self.problems.append(reserved(part.text, part.span))
        return ast.Ref(owner, name, span=span)

    def _digits(self, text: str, span: Span) -> int:
        if len(text) <= MAX_DIGITS:
            return int(text)
        self.problems.append(SYNTAX.at(span, f"A number has at most {MAX_DIGITS} digits"))
        return 0

    def _matched_name(self, match: re.Match[str], group: int, start: int) -> ast.Name:
        span = Span(self.source, start + match.start(group), start + match.end(group))
        return self.named(match[group], span)

    def comparison(self, items: tuple[ast.Value, Token, ast.Value]) -> ast.Condition:
        left, sign, right = items
        op = cast("ast.Relation", str(sign))
        return ast.Comparison(op, left, right, span=self.span(left, right))

    def negated(self, items: tuple[Token, Operand]) -> Operand:
        sign, operand = items
        return cast("Operand", ast.Not(operand, span=self.span(sign, operand)))

    def junction_and(self, items: list[Operand]) -> Operand:
        return cast("Operand", ast.Junction("and", tuple(items), span=self.span(items[0], items[-1])))

    def junction_or(self, items: list[Operand]) -> Operand:
        return cast("Operand", ast.Junction("or", tuple(items), span=self.span(items[0], items[-1])))

    # --- formulas

    def prop(self, items: tuple[Token]) -> ast.Prop:
        name = self._name(items[0])
        return ast.Prop(name, span=name.span)

    def coloured(self, items: tuple[Token, Token]) -> ast.ColourAtom:
        agent, colour = items
        return ast.ColourAtom(self._name(agent), cast("ast.Colour", str(colour)), span=self.span(agent, colour))

    def prefixed(self, items: tuple[Token, ast.Formula]) -> ast.Unary:
        sign, operand = items
        return ast.Unary(cast("ast.Prefix", str(sign)), operand, span=self.span(sign, operand))

    def binary(self, items: tuple[ast.Formula, Token, ast.Formula]) -> ast.Binary:
        left, sign, right = items
        return ast.Binary("U" if sign == "U" else "->", left, right, span=self.span(left, right))

    def until(self, items: tuple[Token, ast.Formula, Token, ast.Formula, Token]) -> ast.Binary:
        opening, left, _, right, closing = items
        return ast.Binary("U", left, right, span=self.span(opening, closing))

    def knows(self, items: tuple[Token, Token, Token, ast.Formula, Token]) -> ast.Knows:
        sign, _, who, operand, closing = items
        op = cast("ast.Knowledge", str(sign))
        return ast.Knows(op, self._name(who), operand, span=self.span(sign, closing))

    def enforces(self, items: tuple[Token, Token, Token, ast.Formula]) -> ast.Enforces:
        opening, group, _, goal = items
        return ast.Enforces(self._name(group), goal, span=self.span(opening, goal))

    def commits(self, items: list[Token | ast.Formula]) -> ast.Commits:
        sign, _, *inside, closing = items
        degree = None
        if str(sign) in ("Tp", "Tc"):
            *inside, relation, number = inside
            degree = cast("ast.Relation", str(relation)), self._integer([cast("Token", number)])
        agents = tuple(self._name(item) for item in inside if isinstance(item, Token))
        operands = tuple(item for item in inside if not isinstance(item, Token))
        op = cast("ast.Commitment", str(sign))
        return ast.Commits(op, agents, operands, degree, span=self.span(cast("Token", sign), cast("Token", closing)))

    # --- declarations

    def names(self, items: list[Token]) -> tuple[ast.Name, ...]:
        return tuple(map(self._name, items))

    def set(self, items: list[tuple[ast.Name, ...]]) -> tuple[ast.Name, ...]:
        return items[0] if items else ()

    def boolean(self, items: list[Token]) -> ast.Boolean:
        return ast.Boolean(span=self._placeholder_span(items))

    def enumeration(self, items: list[tuple[ast.Name, ...]]) -> ast.Enumeration:
        names = items[0] if items else ()
        span = self.span(names[0], names[-1]) if names else self._placeholder_span([])
        return ast.Enumeration(names, span=span)

    def _placeholder_span(self, _: list[Token]) -> Span:
        """Return a placeholder span for nodes without tokens; parent callbacks replace it."""
        return Span(self.source, self.offset, self.offset)

    def bound(self, items: list[Token]) -> ast.Number:
        return self.number(items)

    def bounded(self, items: tuple[ast.Number, ast.Number]) -> ast.Bounded:
        low, high = items
        return ast.Bounded(low.value, high.value, span=self.span(low, high))

    def variable(self, items: tuple[Token, ast.Type]) -> ast.Variable:
        name, type_ = items
        whole = Span(self.source, self._start(name), max(self._end(name), type_.span.end))
        return ast.Variable(self._name(name), type_, span=whole)

    def semantics(self, items: tuple[Token]) -> Literal["MA", "SA"]:
        return "SA" if items[0].startswith("S") else "MA"

    def protocol_line(self, items: list[Token | ast.Condition | tuple[ast.Name, ...]]) -> ast.ProtocolLine:
        head = items[0]
        actions = items[1] if len(items) > 1 and isinstance(items[1], tuple) else ()
        condition = cast("ast.Condition | None", None if isinstance(head, Token) else head)
        first = cast("Token | ast.Condition", head)
        return ast.ProtocolLine(condition, actions, span=self.span(first, actions[-1] if actions else first))

    def assignment(self, items: tuple[Token, ast.Value]) -> tuple[ast.Assignment, ...]:
        name, value = items
        return (ast.Assignment(self._name(name), value, span=self.span(name, value)),)

    def assignments(self, items: list[tuple[ast.Assignment, ...]]) -> tuple[ast.Assignment, ...]:
        return tuple(assignment for several in items for assignment in several)

    def evolution_line(self, items: tuple[tuple[ast.Assignment, ...], ast.Condition]) -> ast.EvolutionLine:
        assignments, condition = items
        span = Span(self.source, assignments[0].span.start, condition.span.end)
        return ast.EvolutionLine(assignments, condition, span=span)

    def proposition(self, items: tuple[Token, ast.Condition]) -> ast.Proposition:
        name, condition = items
        return ast.Proposition(self._name(name), condition, span=self.span(name, condition))

    def group(self, items: list[Token | tuple[ast.Name, ...]]) -> ast.Group:
        name = self._name(cast("Token", items[0]))
        members = cast("tuple[ast.Name, ...]", items[1]) if len(items) > 1 else ()
        return ast.Group(name, members, span=self.span(name, members[-1] if members else name))


def reserved(word: str, span: Span) -> Diagnostic:
    """Return the diagnostic for a reserved word in place of a name."""
    return RESERVED_NAME.at(span, f"`{word}` is a reserved word of ISPL")
