"""The instances of a parameterised protocol, one for each size of a family, and the questions of each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property

from cplc.checking.results import Question
from cplc.compilation import BoundQuestion, CplCompilation, UnknownQuestion
from cplc.records import dataclass
from cplc.runtime.context import current
from cplc.semantics.data_independence import NotUniform, UniformityCheck
from cplc.semantics.resolved import LiteralTree, ParameterValue
from cplc.source import Span


class NotCounting(LookupError):
    """The parameter is not the size of a family, or the default is not unique; ``known`` are those that are sizes."""

    def __init__(self, counting: Sequence[str]) -> None:
        super().__init__()
        self.known = tuple(counting)


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a question holds at every larger size if it holds at every size up to this one."""

    size: int
    reason: str


_UNITS_PER_STEP = 30
"""Units of work to lower, encode and compare one step of a system."""
_LEAST_STEPS = 20
"""Minimum work for reading a file, in steps."""


@dataclass(frozen=True)
class Sizes:
    """A protocol for every value of a parameter that is the size of a family; by default the only such one."""

    compilation: CplCompilation
    given: str = ""
    _made: dict[int, CplCompilation] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def parameter(self) -> str:
        names = [name for name, _ in self.compilation.model.parameters]
        counting = [name for name in names if self._of(name).families and self._bounds_of(name)]
        if self.given not in counting and (self.given or len(counting) != 1):
            raise NotCounting(counting)
        return self.given or counting[0]

    def _of(self, name: str) -> UniformityCheck:
        return self.compilation.uniformity(name)

    @property
    def uniformity(self) -> UniformityCheck:
        return self._of(self.parameter)

    @property
    def bounds(self) -> tuple[int, int]:
        bounds = self._bounds_of(self.parameter)
        assert bounds is not None
        return bounds

    def _bounds_of(self, name: str) -> tuple[int, int] | None:
        """Return the declared range of a parameter; None if its bounds are not constants."""
        declared = self._of(name).declared
        low, high = self._number(declared.low), self._number(declared.high)
        return None if low is None or high is None else (low, high)

    def _number(self, bound: object) -> int | None:
        match bound:
            case LiteralTree(int(number)):
                return number
            case ParameterValue(name):
                value = dict(self.compilation.model.parameters)[name]
                return value if isinstance(value, int) else None
            case _:
                return None

    @property
    def place(self) -> Span:
        return self.uniformity.template.signature.node.name.span

    @cached_property
    def fixed(self) -> tuple[tuple[str, str], ...]:
        """The other parameters with the same value at every size, as text."""
        least, greatest = self.bounds
        instances = map(self.of_size, range(least, min(least + 1, greatest) + 1))
        values = [dict(one.model.parameters) for one in instances if one.ok]
        return tuple(
            (name, str(value).lower())
            for name, value in self.compilation.model.parameters
            if name != self.parameter and all(one[name] == value for one in values)
        )

    def of_size(self, size: int) -> CplCompilation:
        if size not in self._made:
            parameters = {**self.compilation.parameters, self.parameter: str(size)}
            self._made[size] = replace(self.compilation, parameters=parameters, _systems={})
        return self._made[size]

    def asked(self, question: Question, size: int) -> BoundQuestion | NotUniform:
        """Return the question at one size, or why it is not asked there."""
        compilation = self._charged(size)
        if compilation.ok:
            with suppress(UnknownQuestion):
                (bound,) = compilation.questions((question.name,))
                same = replace(bound.question, advisory=question.advisory, is_usual=question.is_usual)
                return replace(bound, question=same)
            return NotUniform(f"it is not asked for {self.parameter} = {size}", self.place)
        error = next(one for one in compilation.diagnostics if one.is_error)
        return NotUniform(error.message, self.place)

    def questions(self, size: int) -> tuple[BoundQuestion, ...]:
        """Return the questions of the file at one size; none if it has errors."""
        compilation = self._charged(size)
        return compilation.questions() if compilation.ok else ()

    def _charged(self, size: int) -> CplCompilation:
        """Return the instance of one size; its work is charged for every question, also when it is cached."""
        compilation = self.of_size(size)
        current().charge(_UNITS_PER_STEP * max(_LEAST_STEPS, len(compilation.system.steps) if compilation.ok else 0))
        return compilation

    def members_in(self, question: Question) -> int | NotUniform:
        """Return the maximum number of members that a subquestion mentions."""
        return self.uniformity.of_property(question.name) if question.kind == "property" else 1
