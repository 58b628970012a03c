"""One participant's decision: what it can count on, given what it believes of the others."""

from cplc.decision.analysis import analyse
from cplc.decision.results import (
    Analysis,
    AnalysisRemark,
    Bounds,
    Distribution,
    EndState,
    Figure,
    OptimalStrategy,
    Sensitivity,
    TotalReward,
    judged,
)

__all__ = [
    "OptimalStrategy",
    "Analysis",
    "Bounds",
    "Distribution",
    "EndState",
    "Figure",
    "TotalReward",
    "AnalysisRemark",
    "Sensitivity",
    "analyse",
    "judged",
]
