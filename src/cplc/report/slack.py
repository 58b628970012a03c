"""The report on slack: a sentence, a table of bounds and delays, and the run of the first pair that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cplc.report.json_data import result_data
from cplc.report.layout import Style, plain
from cplc.report.step_text import counted, joined
from cplc.report.text import evidence_text

if TYPE_CHECKING:
    from cplc.checking.slack import Pair, Slack


def slack_text(slack: Slack, style: Style = plain) -> str:
    """Return the report on the slack of one commitment."""
    head = f"{style(slack.commitment, 'strong')} ({slack.debtor} to {slack.creditor})"
    lines = [f"{head}: {_sentence(slack)}", f"  deadline: {counted(slack.deadline, 'tick')}"]
    if not slack.is_sync and slack.delays:
        lines += ["", *(f"  {line}" for line in _table(slack))]
    if slack.undecided:
        pairs = joined([_pair(slack, pair) for pair in slack.undecided], "and")
        lines += ["", f"  undecided, and taken for not kept: {pairs}"]
    if slack.critical is not None:
        pair, result = slack.critical
        lines += ["", f"  not kept if {_pair(slack, pair)}:"]
        if result.evidence is not None:
            run = evidence_text(result.system, result.evidence, style).splitlines()
            lines += ["", *(f"  {line}" for line in run)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sentence(slack: Slack) -> str:
    if slack.middle is None:
        return "no bound keeps it"
    further = [f"with {bound} and {delay}" for bound, delay in slack.maximal if (bound, delay) != slack.middle]
    return f"kept if {_pair(slack, slack.middle)}" + (f"; also {', or '.join(further)}" if further else "")


def _pair(slack: Slack, pair: Pair) -> str:
    bound, delay = pair
    acts = f"every role acts within {counted(bound, 'tick')}"
    return acts if slack.is_sync else f"{acts} and messages take at most {delay}"


def _table(slack: Slack) -> list[str]:
    """Return the table of all pairs up to the limit: rows are bounds of roles, columns delays of messages."""
    numbers = range(slack.most + 1)
    width = len(str(slack.most)) + 2
    rows = ["acts within" + "".join(f"{delay:>{width}}" for delay in numbers) + "  ticks in flight"]
    for bound in numbers:
        largest = slack.delays[bound] if bound < len(slack.delays) else -1
        cells = "".join(f"{'+' if delay <= largest else '-':>{width}}" for delay in numbers)
        rows.append(f"{bound:>11}{cells}")
    return rows


def slack_data(slack: Slack) -> dict[str, object]:
    """Return the slack as JSON values."""
    critical = None
    if slack.critical is not None:
        (bound, delay), result = slack.critical
        critical = {"bound": bound, "delay": None if slack.is_sync else delay, "result": result_data(result)}
    return {
        "commitment": slack.commitment,
        "debtor": slack.debtor,
        "creditor": slack.creditor,
        "deadline": slack.deadline,
        "most": slack.most,
        "largest_delays": list(slack.delays),
        "maximal": [{"bound": bound, "delay": None if slack.is_sync else delay} for bound, delay in slack.maximal],
        "undecided": [list(pair) for pair in slack.undecided],
        "critical": critical,
    }
