"""Compilation of one text, from its diagnostics to verdicts: one interface, implemented for CPL and for ISPL.

Each stage is a lazily computed, cached property. Heavy imports are deferred to their use, so that `cplc --version` and
`cplc check` start fast.
"""

from cplc.compilation.cpl import CplCompilation
from cplc.compilation.interface import (
    BoundQuestion,
    Channels,
    Compilation,
    EngineName,
    NotApplicable,
    PayloadRefused,
    Strategies,
    UnknownQuestion,
    count_reachable,
)
from cplc.compilation.ispl import IsplCompilation
from cplc.compilation.loader import ENDINGS, compile_text, load, with_places

__all__ = [
    "ENDINGS",
    "BoundQuestion",
    "Channels",
    "Compilation",
    "CplCompilation",
    "EngineName",
    "IsplCompilation",
    "NotApplicable",
    "Strategies",
    "PayloadRefused",
    "UnknownQuestion",
    "compile_text",
    "count_reachable",
    "load",
    "with_places",
]
