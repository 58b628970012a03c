"""Values of open types that a user types: they join the domains of the model in which a run is simulated.

More values never change what a run can do: their number is a lower bound only (`cplc.semantics.data_values`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from cplc.language.amounts import amounts_of
from cplc.semantics.data_lints import too_many_values
from cplc.semantics.data_values import with_domains
from cplc.semantics.model import CheckedModel, DataClass


class NotAValue(Exception):
    """A text that denotes no value of the type of its field, or too many values."""


def with_payload(
    model: CheckedModel, message: str, payload: Mapping[str, str]
) -> tuple[CheckedModel, Mapping[str, str]]:
    """Return the model whose domains have the values of a payload, and the payload as it is written there.

    Raise `NotAValue` for a text that is not of the type of its field, and where there are too many values.
    """
    classes = {place: one for one in model.data for place in one.places}
    canonical = dict(payload)
    wider = {one.places: one for one in model.data}
    for field, text in payload.items():
        one = classes.get((message, field))
        if one is not None:
            one = wider[one.places]
            canonical[field] = _value(one, field, text)
            wider[one.places] = _with_value(one, canonical[field])
    result = with_domains(model, tuple(wider.values()))
    for problem in too_many_values(result):
        raise NotAValue(problem.message)
    return result, canonical


def _value(one: DataClass, field: str, text: str) -> str:
    """Return the value of a class that a text denotes; a word that is no name of a value is a text."""
    amounts = amounts_of(one.type)
    if amounts is not None:
        units = amounts.units(text)
        if units is None:
            raise NotAValue(f"`{field}` is {text}, no value of `{one.type}`")
        return amounts.text(units)
    if text in one.values or text.startswith('"'):
        return text
    return json.dumps(text, ensure_ascii=False)


def _with_value(one: DataClass, value: str) -> DataClass:
    """Return the class with a further value; the first one, that of messages which are not there, remains the first."""
    return one if value in one.values else replace(one, values=(*one.values, value))
