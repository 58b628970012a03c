"""One participant's decision, from the system to all that is found out about it."""

from __future__ import annotations

from cplc.risk.results import Analysis
from cplc.system.model import System
from cplc.system.participant import Participant, Threshold

STATES = 5_000_000


def analyse(
    system: System,
    participant: Participant,
    thresholds: tuple[Threshold, ...] = (),
    *,
    exact: bool = False,
    fairness: bool = True,
    reduction: bool = True,
    sensitivity: bool = True,
    limit: int = STATES,
) -> Analysis:
    """Return what the participant can count on; nothing is raised for what is too large, the figures then say so.

    The thresholds are for where verdicts flip. Without ``reduction`` the system is not split into independent parts.
    """
    raise NotImplementedError
