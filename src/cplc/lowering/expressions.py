"""From resolved terms to expressions: the same term reads differently to a sender, to `Env` and in a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering import dialogue
from cplc.lowering.variable_names import copy_of, field_of, kept_by, parity_of
from cplc.records import dataclass
from cplc.semantics.model import CheckedModel, Message
from cplc.semantics.terms import (
    Age,
    Apply,
    Const,
    FactRef,
    Field,
    Happened,
    InFlight,
    InState,
    Own,
    Sent,
    Stands,
    Term,
    Terminal,
    Value,
    Var,
)
from cplc.system.standings import UNANSWERED, standing_of


class StateReader(Protocol):
    """Whoever knows the lifecycle state of a commitment; None where it cannot be seen."""

    def __call__(self, commitment: str, view: str | None) -> Expr | None: ...


def env_state(commitment: str, view: str | None) -> Expr:
    """Return the state that `Env` keeps, or the view that is asked for."""
    return e.Read(kept_by(commitment, view))


@dataclass(frozen=True)
class Reading:
    """How names read at one place: whose copies, whose view, and what has changed since the state before."""

    model: CheckedModel
    role: str | None = None
    """Whose copies are read; None for what has been received."""
    own: Mapping[str, Expr] = field(default_factory=dict)
    """The payload of the very message in whose clauses the term stands."""
    changed: Mapping[str, Expr] = field(default_factory=dict)
    """New values, over the state before, of variables that differ by now."""
    state: StateReader = env_state
    terminal: Expr | None = None
    """When no step is possible; None where that is not known yet and cannot be asked."""

    def read(self, variable: str) -> Expr:
        return self.changed.get(variable, e.Read(variable))

    def _reader(self, message: Message) -> str | None:
        """Return whose copy of the message is read here; None where it cannot be seen."""
        if self.role is None:
            return message.receiver
        return self.role if self.role in (message.sender, message.receiver) else None

    def happened(self, name: str) -> Expr:
        reader = self._reader(self.model.message[name])
        return e.FALSE if reader is None else self.read(copy_of(name, reader))

    def sent(self, name: str) -> Expr:
        sender = self.model.message[name].sender
        return self.read(copy_of(name, sender)) if self.role in (None, sender) else e.FALSE

    def in_flight(self, name: str) -> Expr:
        if self.role is not None:
            return e.FALSE
        message = self.model.message[name]
        return in_flight(message, self.read)

    def payload(self, name: str, parameter: str) -> tuple[Expr, Expr]:
        reader = self._reader(self.model.message[name])
        if reader is None:
            return e.FALSE, e.Const(0)
        return self.happened(name), self.read(field_of(name, parameter, reader))

    def variable(self, name: str) -> tuple[Expr, Expr]:
        if self.role is not None and self.model.variable[name].role != self.role:
            return e.FALSE, e.Const(0)
        return e.TRUE, self.read(name)

    def age(self, commitment: str) -> tuple[Expr, Expr]:
        """Return when it is open, and the ticks since it was created."""
        state = self.state(commitment, None)
        if state is None:
            return e.FALSE, e.Const(0)
        assert isinstance(state, e.Read)
        is_open = e.one_of(state, sorted(dialogue.open_states(self.model, commitment)))
        return is_open, e.Read(f"{state.variable}.age")

    def stands(self, term: Stands) -> Expr:
        """Return when the standing is one of these; only ``unanswered`` does not imply that it is open."""
        state = self.state(term.commitment, term.view)
        if state is None:
            return e.FALSE
        assert isinstance(state, e.Read)
        is_open: Expr = e.TRUE
        if UNANSWERED in term.standings:
            is_open = e.one_of(state, sorted(dialogue.open_states(self.model, term.commitment)))
        if term.commitment not in self.model.moved_on:
            return is_open if UNANSWERED in term.standings else e.FALSE
        standing = e.one_of(e.Read(standing_of(state.variable)), sorted(term.standings))
        return e.conj((is_open, standing))

    def in_states(self, term: InState) -> Expr:
        state = self.state(term.commitment, term.view)
        return e.FALSE if state is None else e.one_of(state, sorted(term.states))


def in_flight(message: Message, read: Callable[[str], Expr] = e.Read) -> Expr:
    """The sender's copy is set and differs from the receiver's."""
    sent = read(copy_of(message.name, message.sender))
    received = read(copy_of(message.name, message.receiver))
    if not message.repeatable:
        return e.conj((sent, e.negate(received)))
    same = e.equal(read(parity_of(message.name, message.sender)), read(parity_of(message.name, message.receiver)))
    return e.conj((sent, e.disj((e.negate(received), e.negate(same)))))


def condition(term: Term, reading: Reading) -> Expr:
    """Return the truth value of a term without temporal operators."""
    match term:
        case Const(value):
            return e.TRUE if value is True else e.FALSE
        case Happened(message):
            return reading.happened(message)
        case Sent(message):
            return reading.sent(message)
        case InFlight(message):
            return reading.in_flight(message)
        case InState():
            return reading.in_states(term)
        case Stands():
            return reading.stands(term)
        case FactRef(fact):
            return condition(reading.model.fact[fact].meaning, reading)
        case Field() | Own() | Var() | Age():
            return e.conj(_value(term, reading))
        case Apply("!", (operand,)):
            return e.negate(condition(operand, reading))
        case Apply("&", operands):
            return e.conj(condition(operand, reading) for operand in operands)
        case Apply("|", operands):
            return e.disj(condition(operand, reading) for operand in operands)
        case Apply("->", (left, right)):
            return e.disj((e.negate(condition(left, reading)), condition(right, reading)))
        case Apply("<->", (left, right)):
            first, second = condition(left, reading), condition(right, reading)
            return e.ite(first, second, e.negate(second))
        case Apply("=" | "!=" | "<" | "<=" | ">" | ">=", (left, right)):
            return _comparison(term.op, _value(left, reading), _value(right, reading))
        case Terminal() if reading.terminal is not None:
            return reading.terminal
        case _:
            raise AssertionError(f"not a condition: {term}")


def _comparison(op: str, left: tuple[Expr, Expr], right: tuple[Expr, Expr]) -> Expr:
    """Compare two values; false where one of them is not there, ``!=`` included."""
    (left_there, a), (right_there, b) = left, right
    match op:
        case "=":
            outcome = e.equal(a, b)
        case "!=":
            outcome = e.negate(e.equal(a, b))
        case "<":
            outcome = e.less(a, b)
        case ">":
            outcome = e.less(b, a)
        case "<=":
            outcome = e.negate(e.less(b, a))
        case _:
            outcome = e.negate(e.less(a, b))
    return e.conj((left_there, right_there, outcome))


def _value(term: Term, reading: Reading) -> tuple[Expr, Expr]:
    """Return when a term has a value, and which."""
    match term:
        case Const(value):
            return e.TRUE, e.Const(value)
        case Field(message, parameter):
            return reading.payload(message, parameter)
        case Own(parameter):
            return e.TRUE, reading.own[parameter]
        case Var(variable):
            return reading.variable(variable)
        case Age(commitment):
            return reading.age(commitment)
        case Apply("-", (operand,)):
            there, value_ = _value(operand, reading)
            return there, e.arith("-", e.Const(0), value_)
        case Apply("+" | "-" | "*" | "%" as op, (left, right)):
            (left_there, a), (right_there, b) = _value(left, reading), _value(right, reading)
            return e.conj((left_there, right_there)), e.arith(op, a, b)
        case _:
            return e.TRUE, condition(term, reading)


def value(term: Term, reading: Reading) -> Expr:
    """Return the value of a term that is always there."""
    return _value(term, reading)[1]


def possible_values(expr: Expr, domains: Mapping[str, tuple[Value, ...]], limit: int = 4096) -> set[Value] | None:
    """Return a set that contains every value the expression can have, or None if that is too much to say."""
    match expr:
        case e.Const(value_):
            return {value_}
        case e.Read(variable):
            return set(domains[variable])
        case e.Arith(op, left, right):
            first = possible_values(left, domains, limit)
            second = possible_values(right, domains, limit)
            if first is None or second is None or len(first) * len(second) > limit:
                return None
            return {e.arithmetic(op, int(a), int(b)) for a in first for b in second}
        case e.Ite(_, then, otherwise):
            first = possible_values(then, domains, limit)
            second = possible_values(otherwise, domains, limit)
            return None if first is None or second is None else first | second
        case _:
            return {False, True}
