"""Checks of contents about runs: promises that nothing decides, and promises that do not say what they seem to say."""

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
    """Report contents about runs that no monitor can watch."""
    for commitment in checked.commitments:
        if commitment.name in checked.about_runs:
            _monitored(table, commitment.name, commitment.consequent, commitment.span, checked)
    warned: set[Span] = set()
    for claim in checked.claims:
        content = _monitored(table, claim.name, claim.content, claim.span, checked)
        if content is not None and claim.span not in warned and _is_decided_when_made(content):
            warned.add(claim.span)
            message = f"The content of `{claim.name}` is decided by the state in which it is made"
            hint = Note("`F p` says that p is so now or later, `G p` that it stays so")
            table.problems.report(rules.DECIDED_AT_ONCE, claim.span, message, hint)


def _is_decided_when_made(content: Content) -> bool:
    """Whether the state after the step that makes the claim satisfies or violates it, whichever that is."""
    monitor = content.monitor
    if monitor.decided[0] is not None:
        return True
    return all(monitor.on_entering(0, holding) is not None for holding in range(len(monitor.holding)))


def _too_many_states(name: str, content: Term, checked: model.CheckedModel) -> tuple[str, Note]:
    """Return what is wrong with a content whose monitor is given up, and what fits in its place."""
    longest = longest_tick_bound(content)
    fitting = largest_that_fits(content, checked) if longest else None
    if fitting is None:
        message = f"What `{name}` says needs a monitor of more than {MAX_STATES} states"
        return message, Note("split it into several commitments" + (", or use smaller bounds in ticks" * bool(longest)))
    message = f"`<={longest} ticks` is too long in what `{name}` says: its monitor has more than {MAX_STATES} states"
    return message, Note(f"the longest bound that fits in its place is `<={fitting} ticks`")


def _monitored(table: InstanceTable, name: str, term: Term, span: Span, checked: model.CheckedModel) -> Content | None:
    """Return the content with its monitor; report one that is too large, or that nothing ever decides."""
    try:
        content = compiled(term, checked)
    except TooManyLetters:
        hint = Note("name what it mentions by facts of messages, or split it into several commitments")
        message = f"What `{name}` says mentions more than {MAX_LETTERS} combinations of values"
        table.problems.report(rules.TOO_LARGE, span, message, hint)
        return None
    except TooManyStates:
        table.problems.report(rules.TOO_LARGE, span, *_too_many_states(name, term, checked))
        return None
    if not content.monitor.is_ever_decided:
        hint = Note("bound what is to happen: `F<=k ticks p` in place of `F p`")
        message = f"Nothing that happens ever decides what `{name}` says"
        table.problems.report(rules.UNDECIDED_CONTENT, span, message, hint)
        return None
    return content
