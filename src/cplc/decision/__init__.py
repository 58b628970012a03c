"""One participant's decision: what it can count on, given what it believes of the others."""

from cplc.decision.analysis import analyse
from cplc.decision.results import (
    Advice,
    Analysis,
    Bounds,
    Distribution,
    Ending,
    Figure,
    Gain,
    Remark,
    Sensitivity,
    judged,
)

__all__ = [
    "Advice",
    "Analysis",
    "Bounds",
    "Distribution",
    "Ending",
    "Figure",
    "Gain",
    "Remark",
    "Sensitivity",
    "analyse",
    "judged",
]
