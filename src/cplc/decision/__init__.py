"""Decision analysis of one participant: a Markov decision process built from its beliefs about the other agents."""

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
