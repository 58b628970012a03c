"""The tools that judge exported files: which target each reads, and how each is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hypothesis.strategies import SearchStrategy
from tests.reference_tools import mcmas, nusmv
from tests.reference_tools.said import Said
from tests.strategies_logic import SIMPLE, Logic, logic_formulas, quantified

from cplc.export import Export
from cplc.logic.formulas import Formula
from cplc.system.model import System

_SHORT = Logic(past=False, games=False, weight=3, bound=2)
"""What is not left out for MCMAS, and short enough in CTL* for it not to be busy for minutes."""


@dataclass(frozen=True)
class Judge:
    name: str
    program: str
    """The path; empty where the tool is not installed."""
    target: str
    ask: Callable[..., Said]
    """Takes the text of a file and ``seconds``; `subprocess.TimeoutExpired` if it takes too long."""
    formulas: Callable[[System], SearchStrategy[Formula]]
    """What is worth asking it of a random system."""
    empty_quantifiers: bool
    """Whether what it says counts where no fair run begins."""
    says_all: bool
    """Whether something of every protocol can be said in its language."""

    def verdicts(self, exported: Export, *, seconds: float = 120) -> dict[str, bool]:
        """Return what it says of each formula that is written."""
        if not exported.written:
            return {}
        said = self.ask(exported.text, seconds=seconds).verdicts
        return {name: true != (name in exported.negated) for name, true in zip(exported.written, said, strict=True)}


def _quantified(system: System) -> SearchStrategy[Formula]:
    return logic_formulas(system) | quantified(system, SIMPLE)


JUDGES = (
    Judge("nusmv", nusmv.NUSMV, "smv", nusmv.ask, _quantified, empty_quantifiers=False, says_all=False),
    Judge(
        "nusmv-arctl",
        nusmv.NUSMV_ARCTL,
        "smv-arctl",
        nusmv.ask_arctl,
        _quantified,
        empty_quantifiers=False,
        says_all=False,
    ),
    Judge(
        "mcmas",
        mcmas.MCMAS,
        "ispl",
        mcmas.ask,
        partial(logic_formulas, logic=_SHORT),
        empty_quantifiers=True,
        says_all=True,
    ),
)
