"""Checks of contents about runs: promises that nothing decides, and promises that do not say what they seem to say."""

from __future__ import annotations

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import model
from cplc.semantics.contents import MAX_LETTERS, Content, TooManyLetters, TooManyStates, compiled
from cplc.semantics.world import World


def check_contents(world: World, checked: model.CheckedModel) -> None:
    """Report contents about runs that no monitor can watch."""
    for commitment in checked.commitments:
        if commitment.name in checked.about_runs:
            _monitored(world, commitment, checked)


def _monitored(world: World, commitment: model.Commitment, checked: model.CheckedModel) -> Content | None:
    """Return the content with its monitor; report one that is too large, or that nothing ever decides."""
    name, span = commitment.name, commitment.span
    try:
        content = compiled(commitment.consequent, checked)
    except TooManyLetters:
        hint = Note("name what it mentions by facts of messages, or split it into several commitments")
        message = f"What `{name}` promises mentions more than {MAX_LETTERS} combinations of values"
        world.problems.report(rules.TOO_LARGE, span, message, hint)
        return None
    except TooManyStates:
        hint = Note("use smaller bounds in ticks, or split it into several commitments")
        world.problems.report(rules.TOO_LARGE, span, f"The monitor of what `{name}` promises is too large", hint)
        return None
    if not content.monitor.is_ever_decided:
        hint = Note("bound what is to happen: `F<=k ticks p` in place of `F p`")
        message = f"Nothing that happens ever keeps or breaks what `{name}` promises"
        world.problems.report(rules.UNDECIDED_CONTENT, span, message, hint)
        return None
    return content
