"""Lint of counters that count one message: in a protocol whose messages are sent once, `repeatable` may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Edit, Fix, Note
from cplc.semantics import terms as t
from cplc.semantics.model import Assignment, CheckedModel, Message
from cplc.source import Source, Span

_MIN_VALUES: Final = 3
"""Values of a variable from which one change by its own value leaves some of them unused."""


def counted_once(checked: CheckedModel, source: Source) -> Iterator[Diagnostic]:
    """Yield a remark for each variable that one message changes by its own value, if no message can be sent again."""
    if any(message.repeatable or message.restarts or message.resets for message in checked.messages):
        return
    counting: dict[str, list[tuple[Message, Assignment]]] = {}
    for message in checked.messages:
        for assignment in (*message.updates, *message.receipt):
            if t.Var(assignment.variable) in t.subterms(assignment.value):
                counting.setdefault(assignment.variable, []).append((message, assignment))
    for variable, changes in counting.items():
        message, assignment = changes[0]
        if len(changes) > 1 or len(checked.variable[variable].domain) < _MIN_VALUES:
            continue
        if assignment.span.source != source:
            continue
        end = Span(source, assignment.span.end, assignment.span.end)
        yield rules.COUNTED_ONCE.at(
            assignment.span,
            f"`{variable}` is counted once: `{message.name}` is sent at most once, as every message here",
            Note("if it may be sent again, add `repeatable`"),
            fixes=[Fix(f"Make `{message.name}` repeatable", (Edit(end, " repeatable"),))],
        )
