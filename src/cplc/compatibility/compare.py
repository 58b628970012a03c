"""Comparison of two versions: trace inclusion in both directions, and preserved commitments."""

from __future__ import annotations

from functools import cached_property

from cplc.checking.replay import EvidenceError, run_problems
from cplc.checking.results import Answer
from cplc.compatibility.matching import Match
from cplc.compatibility.trace_inclusion import Findings, Watch, search
from cplc.compatibility.visible_behaviour import Behaviour, RoundBehaviour, step_behaviours
from cplc.language.groups import binds_as_much
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.interpreter import Interpreter
from cplc.system.model import Commitment, System
from cplc.system.trace import Run

STATES = 2_000_000
SITUATIONS = 1_000_000


@dataclass(frozen=True)
class VerdictChange:
    """A formula of the old version whose verdict in the new version is another one."""

    name: str
    text: str
    before: Answer
    after: Answer | None
    """None if the new version has not the names of the formula."""

    @property
    def is_lost(self) -> bool:
        return self.before == "holds" and self.after in ("fails", None)


@dataclass(frozen=True)
class Comparison:
    match: Match
    newly: Findings
    """Traces of the new version that the old one does not have, and commitments of the old one that it breaks."""
    no_longer: Findings
    """Traces of the old version that the new one does not have."""
    verdicts: tuple[VerdictChange, ...] = ()
    """The formulas of a model in ISPL whose verdicts differ."""
    notes: tuple[str, ...] = ()
    """Notes on what the compared systems stand for."""

    @property
    def lost_roles(self) -> tuple[str, ...]:
        return self.match.only_old

    @cached_property
    def orphaned(self) -> tuple[Commitment, ...]:
        """The commitments whose debtor or creditor no longer exists."""
        lost = self.lost_roles
        return tuple(
            made
            for made in self.match.old.commitments
            if any(role in lost for role in (*made.debtors, *made.creditors))
        )

    @property
    def is_breaking(self) -> bool:
        """True if the new version has traces that the old one does not allow, or loses a commitment or formula."""
        is_lost = any(one.is_lost for one in self.verdicts)
        return bool(self.newly.novelties or self.newly.breaches or self.orphaned or is_lost)

    @property
    def unknown_verdict(self) -> VerdictChange | None:
        """The first formula with an unknown verdict in one version."""
        return next((one for one in self.verdicts if "unknown" in (one.before, one.after)), None)

    @property
    def has_lost(self) -> bool:
        """True if the new version has lost traces or roles."""
        return bool(self.no_longer.novelties or self.lost_roles)


def compare(
    match: Match, verdicts: tuple[VerdictChange, ...] = (), *, states: int = STATES, situations: int = SITUATIONS
) -> Comparison:
    """Return the differences that are found within the limits, together with those of verdicts."""
    old, new = match.old, match.new
    if old.open_domains or new.open_domains:
        # The states that one version may be in after a trace can hold any number of values: no bound is proved.
        unknown = Findings(incomplete="traces with any number of values of a type are not compared")
        return Comparison(match, unknown, unknown, verdicts)
    try:
        before, after = _behaviours(match, states)
    except ResourceExhausted as exhausted:
        unknown = Findings(incomplete=str(exhausted))
        return Comparison(match, unknown, unknown, verdicts)
    watched = []
    for commitment in old.commitments:
        if any(role in match.only_old for role in (*commitment.debtors, *commitment.creditors)):
            continue  # their messages are hidden
        successor = match.successor(commitment)
        if successor is not None and not binds_as_much(successor.answerable, commitment.answerable):
            successor = None
        watched.append(Watch(successor, commitment))
    newly = search(after, before, watched, situations)
    no_longer = search(before, after, (), situations)
    for system, findings in ((new, newly), (old, no_longer)):
        for run in (*(one.run for one in findings.novelties), *(one.run for one in findings.breaches)):
            _replay(system, run)
    return Comparison(match, newly, no_longer, verdicts)


def _behaviours(match: Match, states: int) -> tuple[Behaviour, Behaviour]:
    if not match.old.players:
        return step_behaviours(match, states)
    return RoundBehaviour(match, is_new=False, limit=states), RoundBehaviour(match, is_new=True, limit=states)


def _replay(system: System, run: Run) -> None:
    """Replay a run by the interpreter before it is reported."""
    interpreter = Interpreter(system)
    problems = list(run_problems(interpreter, run))
    if not interpreter.is_initial(run.start):
        problems.append("the run does not begin in an initial state")
    if problems:
        raise EvidenceError("; ".join(problems))
