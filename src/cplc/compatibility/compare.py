"""Two versions of a protocol, and what the difference means for whoever relied on the old one."""

from __future__ import annotations

from functools import cached_property

from cplc.checking.interpreter import Interpreter
from cplc.checking.replay import EvidenceError, run_problems
from cplc.compatibility.matching import Match
from cplc.compatibility.trace_inclusion import Findings, Watch, search
from cplc.compatibility.visible_behaviour import behaviours
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted
from cplc.system.model import Commitment, System
from cplc.system.trace import Run

STATES = 2_000_000
SITUATIONS = 1_000_000


@dataclass(frozen=True)
class Comparison:
    match: Match
    newly: Findings
    """What the new version can do beyond the old one, and the old one's promises that it breaks."""
    no_longer: Findings
    """What the old version could do beyond the new one."""

    @property
    def lost_roles(self) -> tuple[str, ...]:
        return self.match.only_old

    @cached_property
    def orphaned(self) -> tuple[Commitment, ...]:
        """The promises of which a party takes no part any more: nobody can rely on them."""
        lost = self.lost_roles
        return tuple(made for made in self.match.old.commitments if made.debtor in lost or made.creditor in lost)

    @property
    def is_breaking(self) -> bool:
        """Whether those who relied on the old version may meet what it did not allow, or lose what it promised."""
        return bool(self.newly.novelties or self.newly.breaches or self.orphaned)

    @property
    def has_lost(self) -> bool:
        """Whether something that could happen no longer can."""
        return bool(self.no_longer.novelties or self.lost_roles)


def compare(match: Match, *, states: int = STATES, situations: int = SITUATIONS) -> Comparison:
    """Return what differs, as far as that is found within the limits."""
    old, new = match.old, match.new
    try:
        before, after = behaviours(match, states)
    except ResourceExhausted as exhausted:
        unknown = Findings(incomplete=str(exhausted))
        return Comparison(match, unknown, unknown)
    watched = []
    for commitment in old.commitments:
        if commitment.debtor in match.only_old or commitment.creditor in match.only_old:
            continue  # nothing between them can be seen
        watched.append(Watch(match.successor(commitment), commitment))
    newly = search(after, before, watched, situations)
    no_longer = search(before, after, (), situations)
    for system, findings in ((new, newly), (old, no_longer)):
        for run in (*(one.run for one in findings.novelties), *(one.run for one in findings.breaches)):
            _replay(system, run)
    return Comparison(match, newly, no_longer)


def _replay(system: System, run: Run) -> None:
    """Let the plain interpreter confirm a run before anybody sees it."""
    interpreter = Interpreter(system)
    problems = list(run_problems(interpreter, run))
    if not interpreter.is_initial(run.start):
        problems.append("the run does not begin in an initial state")
    if problems:
        raise EvidenceError("; ".join(problems))
