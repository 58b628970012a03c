"""Progress of a verification: the questions of a text, their results, and the results of what was interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING

from cplc.records import dataclass
from cplc.runtime.context import Context

if TYPE_CHECKING:
    from cplc.checking.results import Answer, Question, Result
    from cplc.compilation.interface import BoundQuestion


@dataclass(frozen=True)
class Questions:
    """The questions, and the usual checks that the file switches off."""

    questions: tuple[BoundQuestion, ...]
    switched_off: tuple[str, ...] = ()


@dataclass
class Verification:
    """A verification; the thread that computes calls `settle` and `take_preliminary`, another one the rest."""

    context: Context = field(default_factory=Context)
    questions: Questions = Questions(())
    results: list[Result] = field(default_factory=list)
    settled: tuple[Question, Answer] | None = None
    """The answer of a question whose evidence is still being computed."""
    preliminary: Result | None = None
    """The preliminary result of the current question, used if the run is interrupted."""

    def settle(self, question: Question, answer: Answer) -> None:
        self.settled = question, answer

    def take_preliminary(self, result: Result) -> None:
        self.preliminary = result

    def add(self, result: Result) -> None:
        self.results.append(result)
        self.context.report(None)

    def doing(self) -> str:
        """Return a description of the current work."""
        number, total = len(self.results), len(self.questions.questions)
        if number == total:
            progress = self.context.progress_text()
            return f"searching for what is never reached: {progress}" if total and progress else "compiling"
        doing = f"verifying {self.questions.questions[number].question.name}"
        if total > 1:
            doing = f"{doing} ({number + 1} of {total})"
        sizes = self.preliminary.sizes if self.preliminary is not None else None
        if sizes is not None and sizes.text is not None:
            doing = f"{doing}, which {sizes.text}"
        progress = self.context.progress_text()
        return f"{doing}: {progress}" if progress else doing

    @property
    def is_complete(self) -> bool:
        """True if every question has its result."""
        return 0 < len(self.questions.questions) == len(self.results)

    def interrupt(self, reason: str) -> Iterator[Result]:
        """Add the open questions as unknown for this reason; one that only lacks its evidence keeps its answer."""
        from cplc.checking.results import Result

        for one in self.questions.questions[len(self.results) :]:
            answer: Answer = "unknown"
            why = reason
            if self.settled is not None and self.settled[0] is one.question:
                answer, why = self.settled[1], f"its evidence was not computed: {reason}"
            result = Result(one.question, answer, "", 0.0, one.system, reason=why)
            if self.preliminary is not None and self.preliminary.question is one.question:
                result = replace(result, sizes=self.preliminary.sizes)
            self.results.append(result)
            yield result
