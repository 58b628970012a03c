"""Verdicts for every size of a family, where a few sizes can be shown to stand for all.

Some sizes are verified like any other question. From a size N on nothing changes if

* the declarations are uniform in the families that the parameter counts the members of (`cplc.semantics.sizes`), so
  that a system of more members has more copies of the same, and only variables of no member connect copies;
* no formula that the question comes down to speaks of more than N members; and
* at N, each of these formulas with the independent part of the system that it depends on is found unchanged at N + 1.

For what a formula depends on is a union of connected components. If one of them had more than the copies that the
formula speaks of, a variable of no member would connect them, hence all copies, and there would be more at N + 1. So
no component has more, at any size, and each formula of a larger system is one of these after members have been given
other numbers, which changes no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from cplc.asking import Asked, EngineName, UnknownQuestion
from cplc.pipeline import Compilation
from cplc.semantics.sizes import Obstacle, Uniformity
from cplc.source import Span
from cplc.system.formula import Formula
from cplc.system.model import System
from cplc.system.slicing import Slices, separate
from cplc.verification.results import Question, Result

AS_FAR_AS = 5
"""The largest size that is tried where none can stand for all."""

_Part = tuple[Formula, System, frozenset[str]]
"""A formula, what it depends on, and who is assumed to keep going there."""


class NotCounting(LookupError):
    """The parameter counts nobody, or none was named and there is not just one; ``known`` are those that do."""

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__()
        self.known = tuple(known)


@dataclass(frozen=True)
class EverySize:
    """The questions of a protocol for every value of one parameter that counts members; by default the only one."""

    compilation: Compilation
    given: str = ""
    as_far_as: int = AS_FAR_AS
    _made: dict[int, Compilation] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def parameter(self) -> str:
        names = [name for name, _ in self.compilation.model.parameters]
        known = [name for name in names if self._of(name).families and self._of(name).bounds]
        if self.given not in known and (self.given or len(known) != 1):
            raise NotCounting(known)
        return self.given or known[0]

    def _of(self, name: str) -> Uniformity:
        return self.compilation.uniformity(name)

    def of_size(self, size: int) -> Compilation:
        if size not in self._made:
            parameters = {**self.compilation.parameters, self.parameter: str(size)}
            self._made[size] = replace(self.compilation, parameters=parameters, _systems={})
        return self._made[size]

    def verify(self, asked: Sequence[Asked], engine: EngineName = "auto") -> Iterator[Result]:
        """Yield the verdict of each question, which is of every size."""
        return (self._verdict(one.question, engine) for one in asked)

    def _verdict(self, question: Question, engine: EngineName) -> Result:
        bounds = self._of(self.parameter).bounds
        assert bounds is not None
        least, greatest = bounds
        found = self._cutoff(question, least, greatest)
        last = min(greatest, max(least, self.as_far_as)) if isinstance(found, Obstacle) else found
        results: list[Result] = []
        for size in range(least, last + 1):
            results.append(self._result(question, size, engine))
            if results[-1].answer in {"fails", "unknown"}:
                break
        joined = _joined(results, self.parameter, least, greatest, found)
        return replace(joined, seconds=sum(result.seconds for result in results))

    def _result(self, question: Question, size: int, engine: EngineName) -> Result:
        compilation = self.of_size(size)
        asked = self._asked(question, size)
        if isinstance(asked, Asked):
            (result,) = compilation.verify((asked,), engine)
            return result
        return Result(question, "unknown", "", 0.0, self.compilation.system, reason=asked.message)

    def _asked(self, question: Question, size: int) -> Asked | Obstacle:
        """Return the question as it is asked at one size, or why it is not."""
        if question.kind == "analysis":
            return Obstacle("what a participant can count on is asked of one size alone", self._place)
        compilation = self.of_size(size)
        if compilation.ok:
            with suppress(UnknownQuestion):
                (asked,) = compilation.questions((question.name,))
                return asked
        wrong = next((one for one in compilation.diagnostics if one.is_error), None)
        return Obstacle("it is not asked there" if wrong is None else wrong.message, self._place)

    @property
    def _place(self) -> Span:
        return self._of(self.parameter).template.signature.node.name.span

    # --- a size that stands for all that are larger

    def _cutoff(self, question: Question, least: int, greatest: int) -> Obstacle | int:
        """Return the size from which on nothing changes, or what keeps it from being known."""
        uniformity = self._of(self.parameter)
        if uniformity.obstacle is not None:
            return uniformity.obstacle
        members = uniformity.of_property(question.name) if question.kind == "property" else 1
        if isinstance(members, Obstacle):
            return members
        size = max(2, least, members)
        if size + 1 > greatest:
            return Obstacle(f"`{self.parameter}` ends at {greatest}", self._place)
        asked, more = self._asked(question, size), self._asked(question, size + 1)
        if isinstance(asked, Obstacle):
            return asked
        if isinstance(more, Obstacle):
            return more
        later = _parts(more)
        if all(part in later for part in _parts(asked)):
            return size
        return Obstacle("what it depends on grows with every member", question.span or self._place)


def _parts(asked: Asked) -> list[_Part]:
    """Return what the question comes down to."""
    slices = Slices(asked.question.system or asked.system)

    def part(formula: Formula) -> _Part:
        system = slices.of(slices.relevant(formula))
        acting = {justice.role for justice in system.justice}
        agents = tuple(agent for agent in system.agents if agent.local)
        return formula, replace(system, header=(), agents=agents), asked.question.assuming & acting

    return [part(formula) for formula in separate(asked.question.formula)]


def _joined(results: Sequence[Result], parameter: str, least: int, greatest: int, found: Obstacle | int) -> Result:
    """Return the result of all sizes, the last of which decides; ``found`` is what stands for those not tried."""
    last = results[-1]
    size = least + len(results) - 1
    before = f"it holds for {_sizes(parameter, least, size - 1)}, and " if size > least else ""
    if last.answer == "fails":
        return replace(last, sizes=f"{before}it fails for {parameter} = {size}")
    if last.answer == "unknown":
        return replace(last, sizes=f"{before}it is unknown for {parameter} = {size}")
    if isinstance(found, int):
        tried = _sizes(parameter, least, size)
        return replace(
            last, sizes=f"for every {parameter} from {least} on: tried for {tried}; more change nothing in it"
        )
    if size == greatest:
        return replace(last, sizes=f"for every {parameter} that there may be: {_sizes(parameter, least, size)}")
    reason = f"it holds for {_sizes(parameter, least, size)}, and nothing is known of more: {found.message}"
    return replace(last, answer="unknown", evidence=None, reason=reason)


def _sizes(parameter: str, first: int, last: int) -> str:
    return f"{parameter} = {first}" if first == last else f"{parameter} = {first} to {last}"
