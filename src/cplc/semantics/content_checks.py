"""Checks of contents about runs: monitorability and size of the monitor."""

from __future__ import annotations

from cplc.automata.monitor import MAX_STATES
from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import model
from cplc.semantics.instances import InstanceTable
from cplc.semantics.run_contents import (
    MAX_LETTERS,
    Content,
    TooManyLetters,
    TooManyStates,
    compiled,
    largest_that_fits,
    longest_tick_bound,
)
from cplc.semantics.terms import Term
from cplc.source import Span


def check_contents(table: InstanceTable, checked: model.CheckedModel) -> None:
    """Report contents about runs without a usable monitor."""
    for commitment in checked.commitments:
        if commitment.name in checked.about_runs:
            _monitored(table, commitment.name, commitment.consequent, commitment.span, checked)
    warned: set[Span] = set()
    for claim in checked.claims:
        content = _monitored(table, claim.name, claim.content, claim.span, checked)
        if content is not None and claim.span not in warned and _is_decided_when_made(content):
            warned.add(claim.span)
            message = f"The content of `{claim.name}` is decided by the state in which it is made"
            hint = Note("`F p` says that p holds now or later, `G p` that it holds forever")
            table.problems.report(rules.DECIDED_AT_ONCE, claim.span, message, hint)


def _is_decided_when_made(content: Content) -> bool:
    """Return whether the state in which the claim is made always decides it."""
    monitor = content.monitor
    if monitor.decided[0] is not None:
        return True
    return all(monitor.on_entering(0, holding) is not None for holding in range(len(monitor.holding)))


def _too_many_states(name: str, content: Term, checked: model.CheckedModel) -> tuple[str, Note]:
    """Return the message for a content whose monitor is too large, with the largest bound that fits."""
    longest = longest_tick_bound(content)
    fitting = largest_that_fits(content, checked) if longest else None
    if fitting is None:
        message = f"The content of `{name}` needs a monitor with more than {MAX_STATES} states"
        return message, Note("split it into several commitments" + (", or use smaller bounds in ticks" * bool(longest)))
    message = (
        f"`<={longest} ticks` is too long in the content of `{name}`: its monitor has more than {MAX_STATES} states"
    )
    return message, Note(f"use a smaller bound: the largest one with a small enough monitor is `<={fitting} ticks`")


def _monitored(table: InstanceTable, name: str, term: Term, span: Span, checked: model.CheckedModel) -> Content | None:
    """Return the content with its monitor; report a monitor that is too large or never decides."""
    try:
        content = compiled(term, checked)
    except TooManyLetters:
        hint = Note("use messages in place of payloads and variables, or split it into several commitments")
        message = f"The content of `{name}` depends on more than {MAX_LETTERS} combinations of values"
        table.problems.report(rules.TOO_LARGE, span, message, hint)
        return None
    except TooManyStates:
        table.problems.report(rules.TOO_LARGE, span, *_too_many_states(name, term, checked))
        return None
    if not content.monitor.is_ever_decided:
        hint = Note("bound the time: write `F<=k ticks p` in place of `F p`")
        message = f"No event ever decides the content of `{name}`"
        table.problems.report(rules.UNDECIDED_CONTENT, span, message, hint)
        return None
    return content
