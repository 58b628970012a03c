"""The report on slack: a sentence, a table of limits, and the run that violates the commitment beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cplc.language.groups import agreeing, side_text
from cplc.report.json_data import result_data
from cplc.report.layout import Style, plain
from cplc.report.step_text import counted, joined
from cplc.report.text import evidence_text

if TYPE_CHECKING:
    from cplc.checking.slack import Limited, Limits, Slack, Ticks


def slack_text(slack: Slack, style: Style = plain) -> str:
    """Return the report on the slack of one commitment."""
    head = f"{style(slack.commitment, 'strong')} ({slack.debtor} to {slack.creditor})"
    lines = [f"{head}: {_sentence(slack)}", f"  deadline: {counted(slack.deadline, 'tick')}"]
    if slack.together is not None:
        lines += ["", *(f"  {line}" for line in _table(slack))]
    if slack.least:
        lines += ["", "  where all limits are 0 time cannot pass, so no limit is below 1"]
    if slack.is_timelocked:
        lines += ["", "  with these limits time cannot pass in some reachable state: a timelock"]
    if slack.most is not None and any(slack.is_cut(ticks) for _, ticks in (*(slack.together or ()), *slack.alone)):
        lines += ["", f"  the search ended at {counted(slack.most, 'tick')}, so numbers with `+` may be larger"]
    for limits in slack.undecided:
        lines += ["", f"  undecided, and taken for not kept: {joined(_conditions(limits), 'and')}"]
    if slack.critical is not None:
        limits, result = slack.critical
        beyond = dict(slack.together or ())
        changed = tuple((one, ticks) for one, ticks in limits if slack.together is None or beyond[one] != ticks)
        instead = "" if slack.together is None else "instead "
        lines += ["", f"  not kept if {instead}{joined(_conditions(changed), 'and')}:"]
        if result.evidence is not None:
            run = evidence_text(result.system, result.evidence, style).splitlines()
            lines += ["", *(f"  {line}" for line in run)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sentence(slack: Slack) -> str:
    if slack.together is None:
        return "no limits keep it"
    does = agreeing(slack.debtor, "does", "do")
    sends = [f"{side_text(slack.debtor)} {does} not send {joined([f'`{name}`' for name in slack.without], 'or')}"]
    conditions = [*(sends if slack.without else []), *_conditions(slack.together)]
    return f"kept if {joined(conditions, 'and')}" if conditions else "kept without any limits"


def _conditions(limits: Limits) -> list[str]:
    """Return the limits as conditions: roles, and channels, with one limit together."""
    roles: dict[int, list[str]] = {}
    channels: dict[int, list[str]] = {}
    for one, ticks in limits:
        if ticks is not None and one.receiver is None:
            roles.setdefault(ticks, []).append(one.sender)
        elif ticks is not None:
            channels.setdefault(ticks, []).append(f"from {one.sender} to {one.receiver}")
    acting = [
        f"{joined(names, 'and')} {'acts' if len(names) == 1 else 'act'} within {counted(ticks, 'tick')}"
        for ticks, names in roles.items()
    ]
    if (
        len(channels) == 1
        and sum(one.receiver is not None for one, _ in limits) == len(next(iter(channels.values()))) > 1
    ):
        return [*acting, *(f"messages take at most {counted(ticks, 'tick')}" for ticks in channels)]
    return [
        *acting,
        *(f"messages {joined(ends, 'and')} take at most {counted(ticks, 'tick')}" for ticks, ends in channels.items()),
    ]


def _name(one: Limited) -> str:
    return one.sender if one.receiver is None else f"messages from {one.sender} to {one.receiver}"


def _table(slack: Slack) -> list[str]:
    """Return the table of limits: together, and each alone if all others are 0."""
    rows = [("within", "together", "alone")]
    together = dict(slack.together or ())
    for one, ticks in slack.alone:
        rows.append((_name(one), _ticks(slack, together[one]), _ticks(slack, ticks)))
    width = max(len(name) for name, _, _ in rows)
    return [f"{name:<{width}}  {first:>8}  {other:>5}" for name, first, other in rows]


def _ticks(slack: Slack, ticks: Ticks) -> str:
    if ticks is None:
        return "any"
    return f"{ticks}+" if slack.is_cut(ticks) else str(ticks)


def slack_data(slack: Slack) -> dict[str, object]:
    """Return the slack as JSON values."""
    critical = None
    if slack.critical is not None:
        limits, result = slack.critical
        critical = {"limits": _limits_data(slack, limits), "result": result_data(result)}
    return {
        "commitment": slack.commitment,
        "debtor": slack.debtor,
        "creditor": slack.creditor,
        "deadline": slack.deadline,
        "most": slack.most,
        "together": None if slack.together is None else _limits_data(slack, slack.together),
        "alone": _limits_data(slack, slack.alone),
        "without": list(slack.without),
        "timelock": slack.is_timelocked,
        "least": slack.least,
        "undecided": [_limits_data(slack, limits) for limits in slack.undecided],
        "critical": critical,
    }


def _limits_data(slack: Slack, limits: Limits) -> list[dict[str, object]]:
    """Return each limit; ``ticks`` is None where any number will do."""
    return [
        {
            "role": one.sender if one.receiver is None else None,
            "channel": None if one.receiver is None else [one.sender, one.receiver],
            "ticks": ticks,
            "cut": slack.is_cut(ticks),
        }
        for one, ticks in limits
    ]
