"""Comparison with reliable channels: whether a failed property would hold if messages arrived once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cplc.checking.results import Result

if TYPE_CHECKING:
    from cplc.compilation.cpl import CplCompilation
    from cplc.compilation.interface import EngineName

RELIABLE = "It would hold if no message were lost."
RELIABLE_ONCE = "It would hold if no message were lost or duplicated."


def without_losses(compilation: CplCompilation) -> CplCompilation:
    """Return the same protocol on channels that neither lose nor duplicate messages."""
    messages = tuple(replace(message, losses=(), duplicates=()) for message in compilation.model.messages)
    return compilation.mutated(replace(compilation.model, messages=messages))


def with_reliable_answer(
    compilation: CplCompilation, reliable: CplCompilation, result: Result, engine: EngineName
) -> Result:
    """Return the result with a note if the property or check holds on reliable channels, under the same assumptions."""
    from cplc.checking.verify import Verifier

    if result.answer != "fails" or result.question.kind not in ("property", "check"):
        return result
    (bound,) = [one for one in reliable.questions((result.question.name,)) if one.question.span == result.question.span]
    if Verifier(bound.system, engine).decide(bound.question) != "holds":
        return result
    has_duplicates = any(message.duplicates for message in compilation.model.messages)
    return replace(result, notes=(*result.notes, RELIABLE_ONCE if has_duplicates else RELIABLE))
