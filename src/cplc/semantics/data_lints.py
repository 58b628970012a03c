"""Checks of fields and variables with any number of values: what finitely many values cannot stand for."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.semantics.instances import MAX_FAMILY_SIZE, InstanceTable
from cplc.semantics.model import CheckedModel

MAX_AMOUNTS = 1_000
"""Values of an ordered class, over which every comparison is spelled out."""


def too_many_values(model: CheckedModel) -> Iterator[Diagnostic]:
    """Yield an error for each class of ordered amounts, and each message, with too many values."""
    for data in model.data:
        if data.is_ordered and len(data.values) > MAX_AMOUNTS:
            message = next(one for one in model.messages if any(name == one.name for name, _ in data.places))
            text = (
                f"{data.choices} ordered amounts on one run need {len(data.values):,} values, more than {MAX_AMOUNTS:,}"
            )
            hint = Note("compare fewer amounts with `<` and `<=`; `=` and `!=` need few values")
            yield rules.TOO_LARGE.at(message.span, text, hint)
    for message in model.messages:
        payloads = prod(len(one.domain) for one in message.parameters)
        if payloads > MAX_FAMILY_SIZE:
            values = ", ".join(f"`{one.name}` has {len(one.domain):,} values" for one in message.parameters)
            text = f"`{message.name}` has {payloads:,} payloads, more than {MAX_FAMILY_SIZE:,}"
            hint = Note(f"{values}: one for each place whose value can be compared with it")
            yield rules.TOO_LARGE.at(message.span, text, hint)


def report_open_types(table: InstanceTable, model: CheckedModel) -> None:
    """Report values that are too many, and agents, whose figures depend on the number of values."""
    table.problems.extend(too_many_values(model))
    for participant in model.participants:
        if participant.span is not None:
            open_types = ", ".join(f"`{name}`" for name in dict.fromkeys(one.type for one in model.data))
            text = f"`{participant.name}` cannot plan in a protocol with values of {open_types}"
            hint = Note("probabilities and plans depend on the number of values: write an enumeration or a range")
            table.problems.report(rules.TYPE_MISMATCH, participant.span, text, hint)
