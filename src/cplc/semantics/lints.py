"""Lints of messages and declarations: unsatisfiable guards, resets that may lose a message, unused declarations.

The lints of messages approximate: they use the text alone, and the checks of the model find more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note, suggestion
from cplc.language.words import UNTILS
from cplc.semantics import model, resolved
from cplc.semantics import terms as t
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.signatures import Library
from cplc.semantics.terms import Term
from cplc.source import Span
from cplc.statespace.graph_algorithms import cycles
from cplc.syntax import ast
from cplc.syntax.tree import walk

Polarity = tuple[Term, bool]


def _needed(atom: Term) -> Iterator[str]:
    """Yield the messages that are there if a condition holds: comparisons with values of others are false."""
    match atom:
        case t.Happened(message):
            yield message
        case t.Apply("=" | "!=" | "<" | "<=" | ">" | ">="):
            yield from (part.message for part in t.subterms(atom) if isinstance(part, t.Field))
        case _:
            pass


class GuardLints:
    """Checks the guards and resets of a model."""

    def __init__(self, checked: model.CheckedModel) -> None:
        self._model = checked
        self._meanings = checked.meanings
        self._demands = {message.name: tuple(self._literals(message.guard)) for message in checked.messages}
        self._needs = {
            name: list(dict.fromkeys(needed for atom, holds in demands if holds for needed in _needed(atom)))
            for name, demands in self._demands.items()
        }

    def report(self, problems: DiagnosticSink) -> None:
        contradictions = {
            message.name: why for message in self._model.messages if (why := self._contradiction(message))
        }
        sendable = self._sendable(contradictions)
        alive = {message.span for message in self._model.messages if message.name in sendable}
        for message in self._model.messages:
            if message.name in contradictions and message.span not in alive:
                text = f"`{message.name}` can never be sent: {contradictions[message.name]}"
                problems.report(rules.NEVER_SENT, message.span, text)
        self._report_circles(sendable, alive, problems)
        if not self._model.sync:
            self._report_resets(problems)

    # --- guards ---------------------------------------------------------------------------------

    def _literals(self, guard: Term) -> Iterator[Polarity]:
        """Yield the literals that the guard implies."""
        stack = [(guard, True)]
        while stack:
            term, holds = stack.pop()
            match term:
                case t.Apply("!", (inner,)):
                    stack.append((inner, not holds))
                case t.Apply("&", operands) if holds:
                    stack.extend((operand, True) for operand in reversed(operands))
                case t.Apply("|", operands) if not holds:
                    stack.extend((operand, False) for operand in reversed(operands))
                case t.Apply("->", (left, right)) if not holds:
                    stack.extend(((right, False), (left, True)))
                case t.FactRef(fact):
                    stack.append((self._meanings[fact], holds))
                case _:
                    yield term, holds

    def _contradiction(self, message: model.Message) -> str | None:
        demands = self._demands[message.name]
        required = {atom: None for atom, holds in demands if holds}
        for atom, holds in demands:
            if isinstance(atom, t.Const) and atom.value is not holds:
                return "its guard is false"
            if not holds and atom in required:
                return f"its guard requires {_text(atom)} and its negation"
        needs = self._needs[message.name]
        for name in needs:
            if name in message.rivals:
                return f"it waits for `{name}`, and only one of the two is ever sent"
            if rival := next((other for other in self._model.message[name].rivals if other in needs), None):
                return f"it waits for `{name}` and `{rival}`, and only one of these is ever sent"
        return _conflicting_states(demands) or _conflicting_values(demands)

    def _sendable(self, contradictions: dict[str, str]) -> set[str]:
        """Return the messages that may be sent if all negated conditions are assumed to hold."""
        wakes: dict[str, list[str]] = {}
        for message in self._model.messages:
            for name in self._messages_in(message.guard):
                wakes.setdefault(name, []).append(message.name)
        sendable: set[str] = set()
        waiting = [message.name for message in reversed(self._model.messages)]
        # Least fixpoint. Invariant: `waiting` contains each message outside `sendable` whose guard may hold by now.
        while waiting:
            name = waiting.pop()
            if name in sendable or name in contradictions:
                continue
            if self._may_hold(self._model.message[name].guard, sendable, {}):
                sendable.add(name)
                waiting.extend(wakes.get(name, ()))
        return sendable

    def _messages_in(self, guard: Term) -> set[str]:
        """Return the messages on which a guard depends, directly or through facts."""
        messages: set[str] = set()
        visited_facts: set[str] = set()
        stack = [guard]
        while stack:
            for atom in t.atoms(stack.pop()):
                match atom:
                    case t.Happened(message) | t.Sent(message) | t.InFlight(message) | t.Field(message, _):
                        messages.add(message)
                    case t.FactRef(fact) if fact not in visited_facts:
                        visited_facts.add(fact)
                        stack.append(self._meanings[fact])
                    case _:
                        pass
        return messages

    def _may_hold(self, term: Term, sent: set[str], facts: dict[str, bool]) -> bool:
        match term:
            case t.Const(value):
                return bool(value)
            case t.Happened(message) | t.Sent(message) | t.InFlight(message) | t.Field(message, _):
                return message in sent
            case t.FactRef(fact):
                if fact not in facts:
                    facts[fact] = self._may_hold(self._meanings[fact], sent, facts)
                return facts[fact]
            case t.Apply("&" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "%" as op, operands):
                values = op in ("+", "-", "*", "%")
                return all(
                    self._may_hold(operand, sent, facts)
                    for operand in operands
                    if not (isinstance(operand, t.Const) and (values or op != "&"))
                )
            case t.Apply("|", operands):
                return any(self._may_hold(operand, sent, facts) for operand in operands)
            case _:
                return True

    def _report_circles(self, sendable: set[str], alive: set[Span], problems: DiagnosticSink) -> None:
        """Report messages that wait for each other in a cycle, without messages that only wait for the cycle."""
        stuck = {
            message.name: [name for name in self._needs[message.name] if name not in sendable]
            for message in self._model.messages
            if message.name not in sendable
        }
        for _, circle in cycles(stuck):
            if circle and all(self._model.message[name].span not in alive for name in circle):
                shown = ", which waits for ".join(f"`{name}`" for name in (*circle[1:], circle[0]))
                message = self._model.message[circle[0]]
                text = f"`{message.name}` can never be sent: it waits for {shown}"
                problems.report(rules.NEVER_SENT, message.span, text, *self._own_values(message))

    def _own_values(self, message: model.Message) -> Iterator[Note]:
        """Yield a note on a guard that compares values of an earlier message where those being sent are meant."""
        for part in t.subterms(message.guard):
            if isinstance(part, t.Field) and part.message == message.name:
                yield Note(
                    f"`{part.message}.{part.parameter}` is the value of an earlier `{part.message}`; the value that is "
                    f"being sent is `{part.parameter}`"
                )
                return

    # --- resets ---------------------------------------------------------------------------------

    def _report_resets(self, problems: DiagnosticSink) -> None:
        resetters: dict[str, set[str]] = {}
        for message in self._model.messages:
            for name in message.resets:
                resetters.setdefault(name, set()).add(message.name)
        for message in self._model.messages:
            for name in message.resets:
                if self._may_be_in_flight(self._model.message[name], message, resetters):
                    text = f"`{name}` is lost if it is in flight when `{message.name}` resets it"
                    problems.report(rules.RESET_IN_FLIGHT, message.span, text)

    def _may_be_in_flight(self, lost: model.Message, by: model.Message, resetters: dict[str, set[str]]) -> bool:
        """Return whether a message may be in flight when another one takes effect (an over-approximation)."""
        if lost.channels == by.channels:
            return not self._model.unordered.isdisjoint(by.channels)
        before = self._received_between(by)
        if lost.name in before and not lost.repeatable:
            return False
        if any(rival in before for rival in lost.rivals):
            return False
        waits = by.name in self._needs[lost.name]
        return not (waits and all(lost.name in (other, *self._model.message[other].resets)
                                  for other in resetters.get(by.name, ())))  # fmt: skip

    def _received_between(self, message: model.Message) -> set[str]:
        """Return the messages between the same two roles that are received before the message is sent."""
        pair = set(message.roles)
        received: set[str] = set()
        queue = list(self._needs[message.name])
        while queue:
            name = queue.pop()
            needed = self._model.message[name]
            if name in received or set(needed.roles) != pair:
                continue
            if not self._model.unordered.isdisjoint(needed.channels) and needed.sender != message.sender:
                received.add(name)
                continue
            received.add(name)
            queue.extend(self._needs[name])
        return received


def _conflicting_states(demands: tuple[Polarity, ...]) -> str | None:
    possible: dict[tuple[str, str | None], frozenset[str]] = {}
    for atom, holds in demands:
        if isinstance(atom, t.InState) and holds:
            key = (atom.commitment, atom.view)
            possible[key] = possible.get(key, atom.states) & atom.states
            if not possible[key]:
                return f"`{atom.commitment}` is never in two states at once"
    return None


def _conflicting_values(demands: tuple[Polarity, ...]) -> str | None:
    values: dict[Term, Term] = {}
    for atom, holds in demands:
        match atom:
            case t.Apply("=", (t.Var() | t.Field() | t.Own() as read, t.Const() as value)) if holds:
                if values.setdefault(read, value) != value:
                    return f"{_text(read)} never has two values at once"
            case _:
                pass
    return None


def _text(atom: Term) -> str:
    match atom:
        case t.Happened(message):
            return f"`{message}`"
        case t.Var(variable):
            return f"`{variable}`"
        case t.Field(message, parameter):
            return f"`{message}.{parameter}`"
        case t.Own(parameter):
            return f"`{parameter}`"
        case t.InState(commitment):
            return f"a state of `{commitment}`"
        case t.Stands(commitment):
            return f"the standing of `{commitment}`"
        case _:
            return "a condition"


def report_unused(library: Library, chosen: resolved.Signature, used: Collection[object]) -> None:
    """Warn of unused declarations of the protocol and its file."""

    def warn(kind: str, name: str, span: Span) -> None:
        library.problems.report(rules.UNUSED, span, f"Nothing refers to the {kind} `{name}`")

    for parameter in chosen.parameters.values():
        if parameter not in used:
            warn("parameter", parameter.name, parameter.span)
    for symbol in chosen.symbols.values():
        match symbol:
            case resolved.RoleSymbol():
                if symbol not in used:
                    warn("role", symbol.name, symbol.span)
                for variable in symbol.variables.values():
                    if variable not in used:
                        warn("variable", f"{symbol.name}.{variable.name}", variable.span)
            case resolved.FactSymbol() if symbol not in used:
                warn("fact", symbol.name, symbol.span)
            case _:
                pass
    agents = [symbol for symbol in chosen.symbols.values() if isinstance(symbol, resolved.AgentSymbol)]
    for agent in agents:
        if agent not in used and any(other in used for other in agents):
            warn("agent", agent.name, agent.span)
    for macro in (*library.macros[chosen.unit], *chosen.macros.values()):
        if macro not in used:
            warn("macro", macro.name, macro.span)
    for enumeration in (*library.types[chosen.unit], *chosen.types.values()):
        if enumeration not in used:
            warn("enumeration", enumeration.name, enumeration.span)


_SIGN: Final = re.compile(rf"\b[{''.join(sorted(UNTILS))}]\b")
_ALWAYS: Final = re.compile(r"A\s*G\b")
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def precedence_warnings(node: object) -> Iterator[Diagnostic]:
    """Yield a warning for each formula below a node with an easily mistaken grouping."""
    for inner in walk(node):
        match inner:
            case ast.Junction(_, operands, span=span):
                yield from _until_warnings(span, operands)
            case ast.OverPaths(_, ast.Binary("->" | "<->") as path) if _before(path.span) == "[":
                yield from _until_warnings(path.span, (path.left, path.right))
            case ast.Property(formula=formula):
                yield from _always_implies_warning(formula)
            case _:
                pass


def formula_warnings(formula: ast.Expr) -> Iterator[Diagnostic]:
    """Yield a warning for each easily mistaken grouping of a formula that stands by itself, as a property does."""
    yield from precedence_warnings(formula)
    yield from _always_implies_warning(formula)


def _until_warnings(whole: Span, operands: Sequence[ast.Expr]) -> Iterator[Diagnostic]:
    """Report an until next to an operator that some readers take for its operand."""
    ends = [*((left.span.end, right.span.start) for left, right in pairwise(operands))]
    ends.append((operands[-1].span.end, whole.end))
    bare = [
        one
        for one, (end, following) in zip(operands, ends, strict=True)
        if isinstance(one, ast.Binary) and one.op in UNTILS and ")" not in _code(whole, end, following)
    ]
    if not bare or all(isinstance(one, ast.Binary) and one.op in UNTILS for one in operands):
        return
    written = [_with_parentheses(whole, bare)]
    if len(bare) == 1 and (other := _other_grouping(whole, bare[0])) is not None:
        written.append(other)
    message = f"`{bare[0].op}` binds tighter than its neighbours: this is {_one_line(written[0])}"
    yield rules.MISREAD_FORMULA.at(whole, message, *_suggestion(whole, written))


def _always_implies_warning(formula: ast.Expr) -> Iterator[Diagnostic]:
    """Report `AG p -> q` as a whole property: it constrains nothing unless `p` holds forever."""
    while isinstance(formula, ast.Quantifier):
        formula = formula.body
    match formula:
        case ast.Binary("->", ast.OverPaths("A", ast.Unary("G", bound=None) as always) as left, right, span=span):
            if not _ALWAYS.match(left.span.text) or ")" in _code(span, left.span.end, right.span.start):
                return
            text = span.source.text
            held = text[always.span.start + 1 : left.span.end].strip()
            implied = text[text.index("->", left.span.end) + 2 : span.end]
            written = [f"({left.span.text}) ->{implied}", f"AG ({held} ->{implied})"]
            message = (
                f"`AG` binds tighter than `->`: {_one_line(written[0])} holds if {_one_line(held)} can ever be false"
            )
            yield rules.MISREAD_FORMULA.at(span, message, *_suggestion(span, written))
        case _:
            pass


def _with_parentheses(whole: Span, bare: Sequence[ast.Expr]) -> str:
    """Return the text with the parentheses of its actual grouping."""
    text, at, parts = whole.source.text, whole.start, []
    for one in bare:
        parts += [text[at : one.span.start], f"({one.span.text})"]
        at = one.span.end
    return "".join((*parts, text[at : whole.end]))


def _other_grouping(whole: Span, until: ast.Binary) -> str | None:
    """Return the text grouped as if an until bound less tightly than its neighbours."""
    text = whole.source.text
    sign = _SIGN.search(text, until.left.span.end, until.right.span.start)
    if sign is None or until.bound is not None:
        return None
    left, right = text[whole.start : sign.start()].rstrip(), text[sign.end() : whole.end].lstrip()
    is_first, is_last = whole.start == until.span.start, whole.end == until.span.end
    return f"{left if is_first else f'({left})'} {sign[0]} {right if is_last else f'({right})'}"


def _suggestion(whole: Span, written: Sequence[str]) -> tuple[Note, ...]:
    """Return the advice with the explicit groupings, if they fit on a line."""
    if "\n" in whole.text:
        return (Note("put parentheses around the operands"),)
    return (suggestion("write " + " or ".join(f"`{text}`" for text in written), *written),)


def _one_line(text: str) -> str:
    return f"`{' '.join(text.split())}`"


def _before(span: Span) -> str:
    return span.source.text[: span.start].rstrip()[-1:]


def _code(whole: Span, start: int, end: int) -> str:
    return _COMMENT.sub(" ", whole.source.text[start:end])
