"""Comparison with reliable channels: whether a failed property would hold if no message were lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cplc.checking.results import Result

if TYPE_CHECKING:
    from cplc.compilation.cpl import CplCompilation
    from cplc.compilation.interface import EngineName

RELIABLE = "It would hold if no message were lost."


def without_losses(compilation: CplCompilation) -> CplCompilation:
    """Return the same protocol on channels that lose nothing."""
    messages = tuple(replace(message, losses=()) for message in compilation.model.messages)
    return compilation.mutated(replace(compilation.model, messages=messages))


def with_reliable_answer(reliable: CplCompilation, result: Result, engine: EngineName) -> Result:
    """Return the result with a note if the property or check holds on reliable channels, under the same assumptions."""
    from cplc.checking.verify import Verifier

    if result.answer != "fails" or result.question.kind not in ("property", "check"):
        return result
    (bound,) = [one for one in reliable.questions((result.question.name,)) if one.question.span == result.question.span]
    if Verifier(bound.system, engine).decide(bound.question) != "holds":
        return result
    return replace(result, notes=(*result.notes, RELIABLE))
