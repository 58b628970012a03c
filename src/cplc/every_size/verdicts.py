"""Verdicts for every size: some sizes are verified like any other question, and are shown to stand for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from cplc.asking import Asked, EngineName
from cplc.every_size.asking import Shown, Sizes
from cplc.every_size.cutoff import cutoff
from cplc.every_size.induction import Induction
from cplc.pipeline import Compilation
from cplc.records import dataclass
from cplc.semantics.sizes import Obstacle
from cplc.verification.results import Question, Remark, Result

AS_FAR_AS = 5
"""The largest size that is tried where none can stand for all."""


@dataclass(frozen=True)
class EverySize:
    """The questions of a protocol for every value of one parameter that counts members; by default the only one."""

    compilation: Compilation
    given: str = ""
    as_far_as: int = AS_FAR_AS

    @cached_property
    def sizes(self) -> Sizes:
        return Sizes(self.compilation, self.given)

    @cached_property
    def _induction(self) -> Induction:
        return Induction(self.sizes)

    @property
    def parameter(self) -> str:
        """The name of the parameter. Raise `NotCounting` if there is none."""
        return self.sizes.parameter

    def verify(self, asked: Sequence[Asked], engine: EngineName = "auto") -> Iterator[Result]:
        """Yield the verdict of each question, which is of every size."""
        return (self._verdict(one.question, engine) for one in asked)

    def _verdict(self, question: Question, engine: EngineName) -> Result:
        least, greatest = self.sizes.bounds
        found = cutoff(self.sizes, question)
        last = found.size if isinstance(found, Shown) else min(greatest, max(least, self.as_far_as))
        results: list[Result] = []
        for size in range(least, last + 1):
            results.append(self._result(question, size, engine))
            if results[-1].answer in {"fails", "unknown"}:
                break
        else:
            if isinstance(found, Obstacle) and last < greatest:
                found = self._induction.shown(question, last) or found
        joined = _joined(results, self.parameter, least, greatest, found)
        excluding = tuple(_first_excluding(results, self.parameter, least))
        others = tuple(remark for remark in joined.remarks if remark.excluded is None)
        joined = replace(joined, remarks=others + excluding)
        return replace(joined, seconds=sum(result.seconds for result in results))

    def _result(self, question: Question, size: int, engine: EngineName) -> Result:
        asked = self.sizes.asked(question, size)
        if isinstance(asked, Asked):
            (result,) = self.sizes.of_size(size).verify((asked,), engine)
            return result
        return Result(question, "unknown", "", 0.0, self.compilation.system, reason=asked.message)


def _first_excluding(results: Sequence[Result], parameter: str, least: int) -> Iterator[Remark]:
    """Yield what is known of states without fair run at the smallest size where there are such; counts are of that."""
    for size, result in enumerate(results, least):
        remarks = [remark for remark in result.remarks if remark.excluded is not None]
        if remarks:
            yield from (replace(one, message=f"for {parameter} = {size}, {one.message}") for one in remarks)
            return


def _joined(results: Sequence[Result], parameter: str, least: int, greatest: int, found: Obstacle | Shown) -> Result:
    """Return the result of all sizes, the last of which decides; ``found`` is what stands for those not tried."""
    last = results[-1]
    size = least + len(results) - 1
    before = f"it holds for {_sizes(parameter, least, size - 1)}, and " if size > least else ""
    if last.answer == "fails":
        return replace(last, sizes=f"{before}it fails for {parameter} = {size}")
    if last.answer == "unknown":
        return replace(last, sizes=f"{before}it is unknown for {parameter} = {size}")
    if isinstance(found, Shown):
        tried = _sizes(parameter, least, size)
        return replace(last, sizes=f"for every {parameter} from {least} on: tried for {tried}; {found.why}")
    if size == greatest:
        return replace(last, sizes=f"for every {parameter} that there may be: {_sizes(parameter, least, size)}")
    reason = f"it holds for {_sizes(parameter, least, size)}, and nothing is known of more: {found.message}"
    return replace(last, answer="unknown", evidence=None, reason=reason)


def _sizes(parameter: str, first: int, last: int) -> str:
    return f"{parameter} = {first}" if first == last else f"{parameter} = {first} to {last}"
