"""Data independence: finitely many values stand for all values of a type that are only copied and compared.

Definition. A *place* is a field of a copy of a message, or a variable of a role. Places whose values are copied or
compared to each other belong to one class. Two states are of one *pattern* if they agree in everything but the values
of a class, and if the same places, and the same constants, have equal values in both.

Claim. Let a state of one class have values at no more than ``p`` places at once, and let the file name ``c`` constants
of it. Then the systems over any two domains of at least ``p + c`` values satisfy the same formulas of CTL*, of
knowledge, and of strategies that use the whole state.

Proof. A step chooses the values of the message that it sends. Where one of them is none of the state's values and none
of the constants, the other system has such a value, too: of ``p`` places those of the message are free before the
step, and a repeatable message counts twice, and once more for each older copy that a receiver may have kept of what was
lost since, and for each place of a queue. So having one pattern is a bisimulation. An agent that takes a state for
another sees the same values in both; an injection of the values of the other state that keeps those which the agent
sees, and the constants, leads to a state that is reachable in the other system, since permutations that keep the
constants are automorphisms. So it is a bisimulation for knowledge, too, of groups as well (Wolper, POPL 1986; Ip and
Dill, FMSD 1996; with knowledge: Belardinelli, Lomuscio and Patrizi, JAIR 2014). Steps correspond to steps of the same
agent, so it preserves games in which all see the whole state. It does not preserve strategies of agents that see their
own states alone: these can use values as signals, and more values are more signals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count, islice, pairwise
from typing import Final

from cplc.language.amounts import Amounts, amounts_of
from cplc.records import dataclass
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel, DataClass, Message, Place
from cplc.semantics.terms import Term

MAX_CHOICES: Final = 12
"""Ordered amounts of one run that are supported."""
_INDICES: Final = re.compile(r"\[[^\]]*\]")
_Key = Place | str
"""A place, or a family of places."""


def with_values(
    model: CheckedModel, further: Iterable[Term] = (), *, more: int = 0, for_logs: bool = False
) -> CheckedModel:
    """Return the model in which every place has the values that stand for all; ``further`` are formulas to be asked.

    ``more`` is a number of values besides those that are needed.
    ``for_logs`` gives all instances of a family the same values, and some more: an event may name no instance, and
    the variables of several possible states may have different values.
    """
    if not model.has_data:
        return model
    taken = _words(model)
    every = _classes(model, further, for_logs=for_logs)
    return with_domains(model, tuple(_with_names(one, taken, more, for_logs=for_logs) for one in every))


def with_recorded_values(model: CheckedModel, texts: Collection[str], initial: Collection[str]) -> CheckedModel:
    """Return the model in which places have the recorded values, if others stand for them.

    Evidence shows concrete amounts (`cplc.compilation.concrete_amounts`), and people type and write other values. The
    lowest amount of the ``initial`` state is that of fields whose messages are not there.
    """
    return with_domains(model, tuple(_with_recorded(one, texts, initial) for one in model.data))


def _with_recorded(one: DataClass, texts: Collection[str], initial: Collection[str]) -> DataClass:
    amounts = amounts_of(one.type)
    if amounts is None:
        written = sorted(text for text in texts if text.startswith('"') and text not in one.values)
        return replace(one, values=(*one.values, *written))
    recorded = {units for text in texts if (units := amounts.units(text)) is not None}
    if recorded.issubset(map(amounts.units, one.values)):
        return one
    constants = {units for text in one.constants if (units := amounts.units(text)) is not None}
    at_first = min((units for text in initial if (units := amounts.units(text)) is not None), default=None)
    values = sorted(recorded | constants, key=lambda units: (units != at_first, units))
    return replace(one, values=tuple(map(amounts.text, values)))


def with_domains(model: CheckedModel, classes: tuple[DataClass, ...]) -> CheckedModel:
    """Return the model in which the places of each class have its values."""
    domains: Mapping[Place, tuple[t.Value, ...]] = {place: one.values for one in classes for place in one.places}
    messages = tuple(
        replace(
            message,
            parameters=tuple(
                replace(p, domain=domains.get((message.name, p.name), p.domain)) for p in message.parameters
            ),
        )
        for message in model.messages
    )
    variables = tuple(replace(one, domain=domains.get(("", one.name), one.domain)) for one in model.variables)
    return replace(model, messages=messages, variables=variables, data=classes)


@dataclass
class _Partition:
    """A partition of places and constants, by union of sets."""

    parents: dict[_Key, _Key]

    def root(self, key: _Key) -> _Key:
        while (parent := self.parents.setdefault(key, key)) != key:
            key = parent
        return key

    def join(self, one: _Key, other: _Key) -> None:
        self.parents[self.root(one)] = self.root(other)


def _classes(model: CheckedModel, further: Iterable[Term], *, for_logs: bool) -> Iterator[DataClass]:
    types = dict(_types(model))
    partition = _Partition({})
    for place in types:
        partition.root(place)
        if for_logs:
            partition.join(place, f"{_INDICES.sub('', place[0])}.{_INDICES.sub('', place[1])}")
    constants: dict[_Key, dict[str, None]] = {}
    may_be_unset: set[_Key] = set()
    ordered: set[_Key] = set()
    for place, initial in (((("", one.name), one.initial)) for one in model.variables if ("", one.name) in types):
        if isinstance(initial, str):
            constants.setdefault(place, {})[initial] = None
    for message, term in (*_terms(model), *((None, term) for term in further)):
        for part in t.subterms(term):
            if isinstance(part, t.Apply) and part.op in ("=", "!=", "<", "<=", ">", ">="):
                _relate(part.operands, message, types, partition, constants)
                if part.op not in ("=", "!="):
                    ordered.update(key for one in part.operands if (key := _place(one, message)) is not None)
    for message in model.messages:
        for update in (*message.updates, *message.receipt):
            if ("", update.variable) in types:
                _relate((t.Var(update.variable), update.value), message, types, partition, constants)
                if isinstance(update.value, t.Field):
                    may_be_unset.add(("", update.variable))
    members: dict[_Key, list[Place]] = {}
    for place in types:
        members.setdefault(partition.root(place), []).append(place)
    unset = {partition.root(place) for place in may_be_unset}
    with_order = {partition.root(place) for place in ordered & types.keys()}
    for root, places in members.items():
        named = dict.fromkeys(text for place in places for text in constants.get(place, ()))
        number = _simultaneous(model, places)
        if for_logs:
            number += sum(not message for message, _ in places)
        is_ordered = root in with_order
        recurring = _recurring(model, places) if is_ordered else ""
        yield DataClass(
            types[places[0]],
            tuple(places),
            tuple(named),
            number,
            root in unset,
            is_ordered=is_ordered,
            choices=sum(1 for name, place in places if name or model.variable[place].initial is None),
            recurring=recurring,
        )


def _relate(
    operands: Iterable[Term],
    message: Message | None,
    types: Mapping[Place, str],
    partition: _Partition,
    constants: dict[_Key, dict[str, None]],
) -> None:
    """Join the places of a comparison or assignment, and note its constants."""
    every = tuple(operands)
    places = [place for term in every if (place := _place(term, message)) in types and place is not None]
    for place in places[1:]:
        partition.join(places[0], place)
    for term in every:
        if places and isinstance(term, t.Const) and isinstance(term.value, str):
            constants.setdefault(places[0], {})[term.value] = None


def _place(term: Term, message: Message | None) -> Place | None:
    match term:
        case t.Field(name, parameter):
            return name, parameter
        case t.Own(parameter) if message is not None:
            return message.name, parameter
        case t.Var(variable):
            return "", variable
        case _:
            return None


def _types(model: CheckedModel) -> Iterator[tuple[Place, str]]:
    for message in model.messages:
        yield from (((message.name, one.name), one.data) for one in message.parameters if one.data)
    yield from ((("", one.name), one.data) for one in model.variables if one.data)


def _terms(model: CheckedModel) -> Iterator[tuple[Message | None, Term]]:
    """Yield every condition and formula, with the message in whose clause it stands."""
    for message in model.messages:
        yield message, message.guard
    yield from ((None, fact.meaning) for fact in model.facts)
    for commitment in model.commitments:
        yield from ((None, commitment.antecedent), (None, commitment.consequent))
    yield from ((None, claim.content) for claim in model.claims)
    yield from ((None, one.condition) for one in model.fairness)
    yield from ((None, one.formula) for one in model.properties)


def _simultaneous(model: CheckedModel, places: Iterable[Place]) -> int:
    """Return the largest number of values that these places have in one state and the step from it.

    The copies of a message have one value, but for a repeatable message of which a new one is being sent. Where it may
    be lost, each receiver may still have an older one, and a queue has one in each place.
    """
    return sum(_copies(model.message[message]) if message else 1 for message, _ in places)


def _copies(message: Message) -> int:
    return 2 + len(message.tracked_to) + sum(count for _, count in message.queues) if message.repeatable else 1


def _recurring(model: CheckedModel, places: Iterable[Place]) -> str:
    """Return a message of these places that can be sent more than once."""
    reset = {name for message in model.messages for name in message.resets}
    restarts = any(message.restarts for message in model.messages)
    names = (name for name, _ in places if name)
    return next((name for name in names if restarts or name in reset or model.message[name].repeatable), "")


def _words(model: CheckedModel) -> set[str]:
    """Return the values of enumerations, which are no names of values."""
    domains = [one.domain for one in model.variables]
    domains += [one.domain for message in model.messages for one in message.parameters]
    return {value for domain in domains for value in domain if isinstance(value, str)}


def _with_names(one: DataClass, taken: set[str], more: int, *, for_logs: bool) -> DataClass:
    """Return the class with its values: the constants, and names after the field that most of its places are called by.

    The first value is that of fields whose messages are not there; it is fixed if it can be read.
    """
    amounts = amounts_of(one.type)
    if amounts is not None:
        return _with_amounts(one, amounts, more, for_logs=for_logs)
    stem = "#" if for_logs else Counter(name.rpartition(".")[2] for _, name in one.places).most_common(1)[0][0]
    is_first_fixed = one.may_be_unset and not one.constants
    numbers = (name for number in count(1) if (name := f"{stem}{number}") not in taken)
    names = tuple(islice(numbers, max(1, one.simultaneous + is_first_fixed + more)))
    values = (*one.constants, *names) if one.may_be_unset else (*names, *one.constants)
    return replace(one, values=values, free=names[is_first_fixed:])


def _with_amounts(one: DataClass, amounts: Amounts, more: int, *, for_logs: bool) -> DataClass:
    """Return the class with its amounts, in ascending order.

    Without comparisons by order, any amounts besides the constants will do. With ``k`` choices of amounts on a run at
    most, an interval between constants has ``2^k - 1`` amounts, or all of them where there are fewer: then no ``k``
    choices tell it from the interval that has all (Ehrenfeucht and Fraisse; Rosenstein, Linear Orderings, 1982). The
    monitor arranges its amounts again where they get too close. It needs as many as a state has and, around each of
    them, as many as one message chooses.
    """
    bounds = {amounts.lowest, amounts.highest} if one.may_be_unset else set[int]()
    constants = sorted({units for text in one.constants if (units := amounts.units(text)) is not None} | bounds)
    number = one.simultaneous + more
    size = 2 ** min(one.choices + more, MAX_CHOICES) - 1
    if for_logs:
        size = number + (number + 1) * max(Counter(message for message, _ in one.places if message).values(), default=0)
    if not one.is_ordered:
        candidates = (amounts.origin + at * amounts.usual for at in count(1))
        names = list(islice((at for at in candidates if at not in constants), max(1, number)))
        values = sorted({*constants, *names})
    else:
        values = sorted({*constants, *chain.from_iterable(_between(constants, size, amounts))})
    texts = tuple(map(amounts.text, values))
    free = tuple(text for text, units in zip(texts, values, strict=True) if units not in constants)
    return replace(one, constants=tuple(map(amounts.text, constants)), values=texts, free=free)


def _between(constants: list[int], size: int, amounts: Amounts) -> Iterator[Iterable[int]]:
    """Yield so many amounts below, between and above the constants; round ones where that is possible."""
    ends = [amounts.lowest - 1, *constants, amounts.highest + 1]
    for low, high in pairwise(ends):
        if high - low - 1 <= size:
            yield range(low + 1, high)
            continue
        is_last = high > amounts.highest
        unit = next(unit for unit in amounts.round if unit * (size + 1) < high - low)
        first = -(-(low + 1) // unit) * unit if is_last or low >= amounts.lowest else high - 1 - (high - 1) % unit
        if is_last or low >= amounts.lowest:
            first = max(first, amounts.origin + unit) if is_last and low < amounts.origin else first
            first = first if first + (size - 1) * unit < high else low + 1
            yield range(first, first + size * unit, unit)
        else:
            yield range(first, first - size * unit, -unit)


def explanations(model: CheckedModel) -> Iterator[str]:
    """Yield a sentence on each class: how many values stand for all, by which theorem."""
    for one in model.data:
        names = ", ".join(f"`{name}`" for name in one.names)
        number = f"{len(one.values)} stands" if len(one.values) == 1 else f"{len(one.values)} stand"
        if one.is_ordered:
            reason = f"as a run chooses at most {one.choices} in their order (Ehrenfeucht and Fraisse)"
            yield f"for all values of {names}: {number} for any, {reason}"
        else:
            yield f"for all values of {names}, which are only copied and compared: {number} for any (data independence)"
