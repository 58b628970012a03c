"""Translation of resolved terms to expressions, for a sender, for `Env` or for a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, Protocol

from cplc.language.amounts import number_in
from cplc.language.lifecycle import UNANSWERED
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.lifecycle_analysis import open_states
from cplc.lowering.variable_names import (
    copy_variable,
    field_variable,
    parity_variable,
    place_variable,
    state_variable,
    transit_variable,
)
from cplc.records import dataclass
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel, Message
from cplc.system.commitments import standing_of


class StateLookup(Protocol):
    """A function from a commitment to the variable of its lifecycle state, or None if it is not observable."""

    def __call__(self, commitment: str, view: str | None) -> Expr | None: ...


def env_state(commitment: str, view: str | None) -> Expr:
    """Return the state of `Env`, or the view."""
    return e.Read(state_variable(commitment, view))


@dataclass(frozen=True)
class Interpretation:
    """The interpretation of names at one place: the copies and the view read, and the values changed by the step."""

    model: CheckedModel
    role: str | None = None
    """The role whose copies are read; None for the receivers' copies."""
    own: Mapping[str, Expr] = field(default_factory=dict)
    """The payload of the message in whose clause the term occurs."""
    changed: Mapping[str, Expr] = field(default_factory=dict)
    """The new values of changed variables, over the state before the step."""
    state: StateLookup = env_state
    terminal: Expr | None = None
    """The condition that no step is enabled; None before the steps are built, where no term may read it."""

    def read(self, variable: str) -> Expr:
        return self.changed.get(variable, e.Read(variable))

    def _reader(self, message: Message) -> str | None:
        """Return the observer whose copy of the message is read; None if it is not observable."""
        if self.role is None:
            return effect_observer(message, sync=self.model.sync)
        return self.role if self.role in message.roles else None

    def happened(self, name: str) -> Expr:
        reader = self._reader(self.model.message[name])
        return e.FALSE if reader is None else self.read(copy_variable(name, reader))

    def sent(self, name: str) -> Expr:
        sender = self.model.message[name].sender
        return self.read(copy_variable(name, sender)) if self.role in (None, sender) else e.FALSE

    def in_flight(self, name: str) -> Expr:
        if self.role is not None:
            return e.FALSE
        message = self.model.message[name]
        return in_flight(message, self.read)

    def payload(self, name: str, parameter: str) -> tuple[Expr, Expr]:
        reader = self._reader(self.model.message[name])
        if reader is None:
            return e.FALSE, e.Const(0)
        return self.happened(name), self.read(field_variable(name, parameter, reader))

    def variable(self, name: str) -> tuple[Expr, Expr]:
        if self.role is not None and self.model.variable[name].role != self.role:
            return e.FALSE, e.Const(0)
        return e.TRUE, self.read(name)

    def age(self, commitment: str) -> tuple[Expr, Expr]:
        """Return the condition that it is open, and the ticks since its creation."""
        state = self.state(commitment, None)
        if state is None:
            return e.FALSE, e.Const(0)
        assert isinstance(state, e.Read)
        is_open = e.one_of(state, sorted(open_states(self.model, commitment)))
        return is_open, e.Read(f"{state.variable}.age")

    def stands(self, term: t.Stands) -> Expr:
        """Return the condition that the standing is one of these. All but ``unanswered`` imply that it is open."""
        state = self.state(term.commitment, term.view)
        if state is None:
            return e.FALSE
        assert isinstance(state, e.Read)
        is_open: Expr = e.TRUE
        if UNANSWERED in term.standings:
            is_open = e.one_of(state, sorted(open_states(self.model, term.commitment)))
        if term.commitment not in self.model.subjects_of_moves:
            return is_open if UNANSWERED in term.standings else e.FALSE
        standing = e.one_of(e.Read(standing_of(state.variable)), sorted(term.standings))
        return e.conj((is_open, standing))

    def in_states(self, term: t.InState) -> Expr:
        state = self.state(term.commitment, term.view)
        return e.FALSE if state is None else e.one_of(state, sorted(term.states))


ENV: Final = "Env"


def effect_observer(message: Message, *, sync: bool) -> str:
    """Return the observer whose copy is set when the message takes effect.

    That is the receiver. Of several, the first one to receive it counts, which may be any: then `Env` has a copy, and
    it is a function of those of the receivers as long as payloads do not change.
    """
    return message.receivers[0] if sync or not message.has_several_receivers else ENV


def copy_holders(message: Message, *, sync: bool) -> tuple[str, ...]:
    """Return the observers with a copy of the message: its sender first."""
    return tuple(dict.fromkeys((*message.roles, effect_observer(message, sync=sync))))


def transit_holders(message: Message) -> tuple[str, ...]:
    """Return the observers with a variable of whether the message is on its way to them.

    Of a message that is sent again, `Env` has one as well if there are several receivers: of whether this sending has
    taken effect.
    """
    queues = dict(message.queues)
    receivers = tuple(receiver for receiver in message.unreliably_to if receiver not in queues)
    has_own = message.tracked_to and message.repeatable and message.has_several_receivers
    return (*receivers, ENV) if has_own else receivers


def in_flight(message: Message, read: Callable[[str], Expr] = e.Read) -> Expr:
    """Return the condition that the message is in flight to some receiver."""
    return e.disj(in_flight_to(receiver, message, read) for receiver in message.receivers)


def in_flight_to(receiver: str, message: Message, read: Callable[[str], Expr] = e.Read) -> Expr:
    """Return the condition that the sender's copy is set and differs from the receiver's.

    Where the message may be lost or duplicated or is in a queue, copies do not tell, and variables of `Env` do.
    """
    places = dict(message.queues).get(receiver, 0)
    if places:
        queue = (read(place_variable(message.sender, receiver, place)) for place in range(1, places + 1))
        return e.disj(e.equal(one, e.Const(message.name)) for one in queue)
    if receiver in transit_holders(message):
        return read(transit_variable(message.name, receiver))
    sent = read(copy_variable(message.name, message.sender))
    received = read(copy_variable(message.name, receiver))
    if not message.repeatable:
        return e.conj((sent, e.negate(received)))
    same = e.equal(read(parity_variable(message.name, message.sender)), read(parity_variable(message.name, receiver)))
    return e.conj((sent, e.disj((e.negate(received), e.negate(same)))))


def condition(term: t.Term, interpretation: Interpretation) -> Expr:
    """Return the truth value of a term without temporal operators."""
    match term:
        case t.Const(value):
            return e.TRUE if value is True else e.FALSE
        case t.Happened(message):
            return interpretation.happened(message)
        case t.Sent(message):
            return interpretation.sent(message)
        case t.InFlight(message):
            return interpretation.in_flight(message)
        case t.InState():
            return interpretation.in_states(term)
        case t.Stands():
            return interpretation.stands(term)
        case t.FactRef(fact):
            return condition(interpretation.model.fact[fact].meaning, interpretation)
        case t.Field() | t.Own() | t.Var() | t.Age():
            return e.conj(_value(term, interpretation))
        case t.Apply("!", (operand,)):
            return e.negate(condition(operand, interpretation))
        case t.Apply("&", operands):
            return e.conj(condition(operand, interpretation) for operand in operands)
        case t.Apply("|", operands):
            return e.disj(condition(operand, interpretation) for operand in operands)
        case t.Apply("->", (left, right)):
            return e.disj((e.negate(condition(left, interpretation)), condition(right, interpretation)))
        case t.Apply("<->", (left, right)):
            first, second = condition(left, interpretation), condition(right, interpretation)
            return e.ite(first, second, e.negate(second))
        case t.Apply("=" | "!=" | "<" | "<=" | ">" | ">=", (left, right)):
            less = AmountOrder(interpretation.model.ordered_amounts) if interpretation.model.data else e.less
            return _comparison(term.op, _value(left, interpretation), _value(right, interpretation), less)
        case t.Terminal() if interpretation.terminal is not None:
            return interpretation.terminal
        case _:
            raise AssertionError(f"not a condition: {term}")


@dataclass(frozen=True, slots=True)
class AmountOrder:
    """The strict order of amounts, which expressions have as words: it is spelled out over their domains."""

    amounts: Mapping[str, tuple[str, ...]]
    """The amounts of variables and of fields, in ascending order."""

    def __call__(self, left: Expr, right: Expr) -> Expr:
        match left, right:
            case e.Ite(when, then, otherwise), _:
                return e.ite(when, self(then, right), self(otherwise, right))
            case _, e.Ite(when, then, otherwise):
                return e.ite(when, self(left, then), self(left, otherwise))
            case e.Const(str() as one), e.Const(str() as other):
                return e.TRUE if number_in(one) < number_in(other) else e.FALSE
            case e.Read(), e.Const(str() as bound) if (amounts := self._of(left)) is not None:
                return e.one_of(left, (one for one in amounts if number_in(one) < number_in(bound)))
            case e.Const(str() as bound), e.Read() if (amounts := self._of(right)) is not None:
                return e.one_of(right, (one for one in amounts if number_in(one) > number_in(bound)))
            case e.Read(), e.Read() if (amounts := self._of(left)) is not None:
                below = (e.one_of(left, amounts[:at]) for at in range(len(amounts)))
                return e.disj(
                    e.conj((e.equal(right, e.Const(one)), less)) for one, less in zip(amounts, below, strict=True)
                )
            case _:
                return e.less(left, right)

    def _of(self, read: Expr) -> tuple[str, ...] | None:
        return self.amounts.get(read.variable.partition("@")[0]) if isinstance(read, e.Read) else None


def _comparison(op: str, left: tuple[Expr, Expr], right: tuple[Expr, Expr], less: Callable[[Expr, Expr], Expr]) -> Expr:
    """Compare two values; false if one of them is undefined, for ``!=`` too."""
    (left_defined, a), (right_defined, b) = left, right
    match op:
        case "=":
            outcome = e.equal(a, b)
        case "!=":
            outcome = e.negate(e.equal(a, b))
        case "<":
            outcome = less(a, b)
        case ">":
            outcome = less(b, a)
        case "<=":
            outcome = e.negate(less(b, a))
        case _:
            outcome = e.negate(less(a, b))
    return e.conj((left_defined, right_defined, outcome))


def _value(term: t.Term, interpretation: Interpretation) -> tuple[Expr, Expr]:
    """Return the condition that a term is defined, and its value."""
    match term:
        case t.Const(value):
            return e.TRUE, e.Const(value)
        case t.Field(message, parameter):
            return interpretation.payload(message, parameter)
        case t.Own(parameter):
            return e.TRUE, interpretation.own[parameter]
        case t.Var(variable):
            return interpretation.variable(variable)
        case t.Age(commitment):
            return interpretation.age(commitment)
        case t.Apply("-", (operand,)):
            defined, value_ = _value(operand, interpretation)
            return defined, e.arith("-", e.Const(0), value_)
        case t.Apply("+" | "-" | "*" | "%" as op, (left, right)):
            (left_defined, a), (right_defined, b) = _value(left, interpretation), _value(right, interpretation)
            return e.conj((left_defined, right_defined)), e.arith(op, a, b)
        case _:
            return e.TRUE, condition(term, interpretation)


def value(term: t.Term, interpretation: Interpretation) -> Expr:
    """Return the value of a term that is always defined."""
    return _value(term, interpretation)[1]


def possible_values(expr: Expr, domains: Mapping[str, tuple[t.Value, ...]], limit: int = 4096) -> set[t.Value] | None:
    """Return a superset of the values of the expression, or None if there are more than ``limit`` combinations."""
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
