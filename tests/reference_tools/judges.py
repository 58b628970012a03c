"""Model checkers for comparison: export target and invocation of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hypothesis.strategies import SearchStrategy
from tests.reference_tools import mcmas, nusmv
from tests.reference_tools.tool_answer import ToolAnswer
from tests.support.generators.logic_formulas import SIMPLE, Logic, logic_formulas, quantified

from cplc.export import Export
from cplc.logic.formulas import Formula
from cplc.system.model import System

_SHORT = Logic(past=False, games=False, weight=3, bound=2)
"""Formulas that MCMAS supports and, in CTL*, decides within seconds."""


@dataclass(frozen=True)
class Judge:
    name: str
    program: str
    """The path; empty where the tool is not installed."""
    target: str
    ask: Callable[..., ToolAnswer]
    """Called with the text of a file and ``seconds``; raises `subprocess.TimeoutExpired` after these."""
    formulas: Callable[[System], SearchStrategy[Formula]]
    """Random formulas of its logic over a system."""
    empty_quantifiers: bool
    """Its semantics agrees with ours in states without fair runs."""
    says_all: bool
    """Every protocol has some expressible formula."""

    def verdicts(self, exported: Export, *, seconds: float = 120) -> dict[str, bool]:
        """Return the verdict of each exported formula."""
        if not exported.written:
            return {}
        verdicts = self.ask(exported.text, seconds=seconds).verdicts
        return {name: true != (name in exported.negated) for name, true in zip(exported.written, verdicts, strict=True)}


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
