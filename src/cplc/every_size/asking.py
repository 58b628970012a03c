"""What a protocol asks at each size of a family."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property

from cplc.asking import Asked, UnknownQuestion
from cplc.pipeline import Compilation
from cplc.records import dataclass
from cplc.semantics.sizes import Obstacle, Uniformity
from cplc.source import Span
from cplc.verification.results import Question


class NotCounting(LookupError):
    """The parameter counts nobody, or none was named and there is not just one; ``known`` are those that do."""

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__()
        self.known = tuple(known)


@dataclass(frozen=True, slots=True)
class Shown:
    """Why larger sizes are like those up to this one."""

    size: int
    why: str


@dataclass(frozen=True)
class Sizes:
    """A protocol for every value of one parameter that counts members; by default the only one."""

    compilation: Compilation
    given: str = ""
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

    @property
    def uniformity(self) -> Uniformity:
        return self._of(self.parameter)

    @property
    def bounds(self) -> tuple[int, int]:
        bounds = self.uniformity.bounds
        assert bounds is not None
        return bounds

    @property
    def place(self) -> Span:
        return self.uniformity.template.signature.node.name.span

    def of_size(self, size: int) -> Compilation:
        if size not in self._made:
            parameters = {**self.compilation.parameters, self.parameter: str(size)}
            self._made[size] = replace(self.compilation, parameters=parameters, _systems={})
        return self._made[size]

    def asked(self, question: Question, size: int) -> Asked | Obstacle:
        """Return the question as it is asked at one size, or why it is not."""
        if question.kind == "analysis":
            return Obstacle("what a participant can count on is asked of one size alone", self.place)
        compilation = self.of_size(size)
        if compilation.ok:
            with suppress(UnknownQuestion):
                (asked,) = compilation.questions((question.name,))
                return asked
        wrong = next((one for one in compilation.diagnostics if one.is_error), None)
        return Obstacle("it is not asked there" if wrong is None else wrong.message, self.place)

    def members_in(self, question: Question) -> int | Obstacle:
        """Return how many members each formula of the question speaks of at most."""
        return self.uniformity.of_property(question.name) if question.kind == "property" else 1
