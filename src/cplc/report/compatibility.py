"""Report on the differences between two versions of a protocol, as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cplc.checking.results import Answer
from cplc.compatibility.compare import Comparison, VerdictChange
from cplc.compatibility.trace_inclusion import Breach, Findings, Novelty
from cplc.compatibility.visible_behaviour import Event
from cplc.language.groups import answerable_text
from cplc.report.json_data import Data, run_data
from cplc.report.layout import Part, Style, plain
from cplc.report.text import run_lines
from cplc.system.model import Commitment, System

MAX_RUNS = 3
"""Maximum number of runs shown for each kind of difference."""
MAX_EVENTS = 5


def comparison_text(comparison: Comparison, old: str, new: str, *, both: bool, style: Style = plain) -> str:
    """Return the answers to the three questions, with a shortest run for what differs."""
    lines = [
        *_scope(comparison, old, new),
        "",
        *_newly(comparison, style),
        *_promises(comparison, style),
        *_verdicts(comparison, style),
        *_no_longer(comparison, style, both=both),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def comparison_concise(comparison: Comparison, old: str, new: str, *, both: bool) -> str:
    """Return one line for each difference."""
    newly, gone = comparison.newly, comparison.no_longer
    lines = [f"{new}: breaking: {event_text(one.event)} can newly happen" for one in newly.novelties]
    lines += [f"{new}: breaking: {one.commitment}: {_breach(comparison, one)}" for one in newly.breaches]
    lines += [f"{new}: breaking: {one.name}: {_orphan(comparison, one)}" for one in comparison.orphaned]
    lines += [
        f"{new}: {'breaking' if one.is_lost else 'note'}: {one.name} {_verdict(one)}" for one in comparison.verdicts
    ]
    kind = "breaking" if both else "note"
    lines += [f"{old}: {kind}: {event_text(one.event)} can no longer happen" for one in gone.novelties]
    lines += [f"{old}: {kind}: role {role} is gone" for role in comparison.lost_roles]
    lines += [f"{new}: unknown: {reason}" for reason in _reasons(comparison)]
    return "".join(f"{line}\n" for line in lines)


def comparison_data(comparison: Comparison) -> Data:
    match = comparison.match
    return {
        "roles": list(match.roles),
        "only_old_roles": list(match.only_old),
        "only_new_roles": list(match.only_new),
        "newly": [_novelty_data(match.new, one) for one in comparison.newly.novelties],
        "promises": [_breach_data(match.new, one) for one in comparison.newly.breaches],
        "orphaned": [one.name for one in comparison.orphaned],
        "no_longer": [_novelty_data(match.old, one) for one in comparison.no_longer.novelties],
        **({"verdicts": [_verdict_data(one) for one in comparison.verdicts]} if match.old.players else {}),
        "unknown": list(_reasons(comparison)),
        **({"notes": list(comparison.notes)} if comparison.notes else {}),
    }


def event_text(event: Event) -> str:
    """Return an event as messages are written."""
    payload = f"({', '.join(event.payload)})" if event.payload else ""
    match event.what:
        case "tick":
            return "that time passes"
        case "receive":
            return f"`{event.receiver} receives {event.message}`"
        case "round":
            return f"`{event.message}`"
        case _:
            return f"`{event.sender} -> {event.receiver} : {event.message}{payload}`"


def _scope(comparison: Comparison, old: str, new: str) -> Iterator[str]:
    match = comparison.match
    yield f"old: {old}"
    yield f"new: {new}"
    what = "actions of" if match.old.players else "messages between"
    yield f"compared: {what} {_joined(match.agents_with_choice if match.old.players else match.roles)}"
    yield from (f"note: {note}" for note in comparison.notes)
    for version, roles in (("old", match.only_old), ("new", match.only_new)):
        if roles:
            verb = "is" if len(roles) == 1 else "are"
            what = "actions of" if match.old.players else "messages from and to"
            yield f"hidden: {what} {_joined(roles)}, which {verb} only in the {version} one"


def _newly(comparison: Comparison, style: Style) -> Iterator[str]:
    findings = comparison.newly
    yield _answer("every run of the new one could happen in the old one", findings, findings.novelties, style, "bad")
    yield from _novelties(comparison.match.new, findings.novelties, "old", style)


def _no_longer(comparison: Comparison, style: Style, *, both: bool) -> Iterator[str]:
    findings = comparison.no_longer
    differs = (*findings.novelties, *comparison.lost_roles)
    yield _answer(
        "every run of the old one can still happen in the new one",
        findings,
        differs,
        style,
        "bad" if both else "warning",
    )
    for role in comparison.lost_roles:
        yield f"  {role} takes no part any more"
    yield from _novelties(comparison.match.old, findings.novelties, "new", style)


def _promises(comparison: Comparison, style: Style) -> Iterator[str]:
    findings = comparison.newly
    if not comparison.match.old.commitments:
        return
    differs = (*findings.breaches, *comparison.orphaned)
    yield _answer(
        "what the old one promises, the new one promises in the same situations", findings, differs, style, "bad"
    )
    for made in comparison.orphaned:
        yield f"  {made.name} ({made.debtor} to {made.creditor}): {_orphan(comparison, made)}"
    for one in findings.breaches[:MAX_RUNS]:
        made = comparison.match.old.commitment[one.commitment]
        yield ""
        yield f"  {one.commitment} ({made.debtor} to {made.creditor}): after this run {_breach(comparison, one)}"
        yield from _run(comparison.match.new, one, style)
    yield from _others([one.commitment for one in findings.breaches[MAX_RUNS:]])
    if findings.breaches:
        yield ""


def _verdicts(comparison: Comparison, style: Style) -> Iterator[str]:
    if not comparison.match.old.players:
        return
    lost = [one for one in comparison.verdicts if one.is_lost]
    unknown = comparison.unknown_verdict
    findings = Findings(incomplete=None if unknown is None else f"{unknown.name} {_verdict(unknown)}")
    yield _answer("what holds in the old one holds in the new one", findings, lost, style, "bad")
    yield from (f"  {one.name}, {one.text}: {_verdict(one)}" for one in comparison.verdicts)
    if comparison.verdicts:
        yield ""


def _verdict(one: VerdictChange) -> str:
    """Return the two verdicts as a clause about the formula."""
    if one.after is None:
        return f"{_VERDICTS[one.before]} in the old one, and cannot be asked in the new one, which lacks its names"
    return f"{_VERDICTS[one.before]} in the old one, and {_VERDICTS[one.after]} in the new one"


_VERDICTS: dict[Answer, str] = {
    "holds": "holds", "vacuous": "holds vacuously", "fails": "fails", "unknown": "is unknown",
}  # fmt: skip


def _verdict_data(one: VerdictChange) -> Data:
    return {"name": one.name, "formula": one.text, "old": one.before, "new": one.after}


def _orphan(comparison: Comparison, made: Commitment) -> str:
    lost = [role for role in (*made.debtors, *made.creditors) if role in comparison.lost_roles]
    return f"{_joined(lost)} {'takes' if len(lost) == 1 else 'take'} no part any more"


def _answer(statement: str, findings: Findings, differences: Sequence[object], style: Style, worst: Part) -> str:
    if differences:
        return f"{style('no', worst)}       {statement}"
    if findings.incomplete:
        return f"{style('unknown', 'warning')}  {statement}: {findings.incomplete}"
    return f"{style('yes', 'good')}      {statement}"


def _novelties(system: System, novelties: Sequence[Novelty], other: str, style: Style) -> Iterator[str]:
    for one in novelties[:MAX_RUNS]:
        yield ""
        yield f"  {event_text(one.event)} cannot happen then in the {other} one; {_instead(one)}"
        yield from _run(system, one, style)
    yield from _others([event_text(one.event) for one in novelties[MAX_RUNS:]])
    if novelties:
        yield ""


def _run(system: System, one: Novelty | Breach, style: Style) -> Iterator[str]:
    for line in run_lines(system, one.run, (), style):
        yield f"  {line}".rstrip()


def _instead(one: Novelty) -> str:
    if not one.instead:
        return "nothing that can be compared could happen there"
    shown = [event_text(event) for event in one.instead[:MAX_EVENTS]]
    more = len(one.instead) - len(shown)
    return f"what could: {', '.join(shown)}{f' and {more} more' if more else ''}"


def _others(names: Sequence[str]) -> Iterator[str]:
    if names:
        shown = ", ".join(names[:MAX_EVENTS])
        yield ""
        yield f"  and so with {shown}" + (f" and {len(names) - MAX_EVENTS} more" if len(names) > MAX_EVENTS else "")


def _breach(comparison: Comparison, one: Breach) -> str:
    was = " or ".join(one.promised)
    if one.state is None:
        made = comparison.match.old.commitment[one.commitment]
        weaker = comparison.match.successor(made)
        if weaker is not None:
            before = answerable_text(made.debtor, made.answerable)
            after = answerable_text(weaker.debtor, weaker.answerable)
            return f"it is {was}, answered for by {before} in the old one, by {after} in the new one"
        return f"it is {was} in the old one, and the new one has no such commitment"
    return f"it is {was} in the old one, and {one.state} in the new one"


def _novelty_data(system: System, one: Novelty) -> Data:
    return {
        "event": _event_data(one.event),
        "instead": [*map(_event_data, one.instead)],
        "run": run_data(system, one.run),
    }


def _event_data(event: Event) -> Data:
    return {
        "kind": event.what,
        "message": event.message,
        "sender": event.sender,
        "receiver": event.receiver,
        "payload": list(event.payload),
        "text": event_text(event).strip("`"),
    }


def _breach_data(system: System, one: Breach) -> Data:
    return {
        "commitment": one.commitment,
        "old_states": list(one.promised),
        "new_state": one.state,
        "run": run_data(system, one.run),
    }


def _reasons(comparison: Comparison) -> Iterator[str]:
    incomplete = (comparison.newly.incomplete, comparison.no_longer.incomplete)
    yield from dict.fromkeys(reason for reason in incomplete if reason)


def _joined(names: Sequence[str]) -> str:
    if len(names) > MAX_EVENTS:
        return f"{', '.join(names[:MAX_EVENTS])} and {len(names) - MAX_EVENTS} more"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
