"""Domains of variables with any number of values, and questions that finitely many values do not decide."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.logic import formulas as f
from cplc.logic.commitments import expanded
from cplc.logic.formulas import Formula
from cplc.lowering.expressions import copy_holders
from cplc.lowering.variable_names import copy_variable, field_variable, place_variable, queued_variable
from cplc.semantics.model import CheckedModel, Place
from cplc.system.model import OpenDomain, OpenPlace


def open_domains(model: CheckedModel) -> Iterator[OpenDomain]:
    """Yield the domain of each class of places, with the variables that hold its values."""
    for one in model.data:
        places = tuple(variable for place in one.places for variable in _variables(place, model))
        yield OpenDomain(one.type, ", ".join(one.names), places, one.constants, one.free, one.is_ordered, one.choices)


def _variables(place: Place, model: CheckedModel) -> Iterator[OpenPlace]:
    """Yield the variables of a place: of each copy of a message, and of each place of a queue that can have it."""
    name, parameter = place
    if not name:
        yield OpenPlace(parameter)
        return
    message = model.message[name]
    for holder in copy_holders(message, sync=model.sync):
        yield OpenPlace(field_variable(name, parameter, holder), copy_variable(name, holder))
    for receiver, count in () if model.sync else message.queues:
        for at in range(1, count + 1):
            queued = queued_variable(message.sender, receiver, at, name, parameter)
            yield OpenPlace(queued, place_variable(message.sender, receiver, at), name)


def unsupported(formula: Formula, model: CheckedModel) -> str:
    """Return why finitely many values do not decide the formula; nothing if they do.

    Agents that see their own states alone can use values as signals: more values are more signals. Finite orders are
    told apart by more choices than they are made for, and by knowledge, which is about other states.
    """
    ordered = [one for one in model.data if one.is_ordered]
    if (recurring := next((one.recurring for one in ordered if one.recurring), None)) is not None:
        return f"`{recurring}` can be sent again and again: then no number of ordered amounts stands for all"
    parts = tuple(f.core_subformulas(expanded(formula)))
    if ordered and any(isinstance(part, f.Knows | f.KnownFrom | f.Adjacent) for part in parts):
        return "for knowledge, and for promises of a role to another, no number of ordered amounts stands for all"
    if any(isinstance(part, f.Enforces) and part.uniform for part in parts):
        return "agents that decide by what they see could use values as signals, so no number of values stands for all"
    return ""
