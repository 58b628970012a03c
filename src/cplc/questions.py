"""Questions bound to a system, and their verification: common to protocols and models in ISPL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass

if TYPE_CHECKING:
    from cplc.checking.results import Question, Result
    from cplc.checking.verify import AnswerListener
    from cplc.system.model import System

Channels = Literal["sync", "async"]
Strategies = Literal["full", "uniform"]
"""Strategies of groups use the whole state, or only what each member observes."""
EngineName = Literal["auto", "symbolic", "explicit", "onthefly", "reduced"]


class UnknownQuestion(LookupError):
    """The file has no property or check of that name."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.candidates = tuple(candidates)


@dataclass(frozen=True)
class BoundQuestion:
    """A question and its system: the protocol's, with the views that the question mentions."""

    question: Question
    system: System
    warnings: tuple[Diagnostic, ...] = ()
    """Warnings about a formula of the command line."""


class QuestionAnswering:
    """Verification of bound questions."""

    def verify(
        self,
        questions: Sequence[BoundQuestion],
        engine: EngineName = "auto",
        *,
        vacuity: bool = False,
        on_answer: AnswerListener = lambda *_: None,
    ) -> Iterator[Result]:
        """Yield the verdict of each question as soon as it is candidates; see `Verifier.answer`."""
        from cplc.checking.verify import Verifier

        verifiers: dict[int, Verifier] = {}
        for one in questions:
            verifier = verifiers.setdefault(id(one.system), Verifier(one.system, engine))
            yield verifier.answer(one.question, vacuity=vacuity, on_answer=on_answer)


def select_questions(questions: tuple[BoundQuestion, ...], names: Sequence[str]) -> tuple[BoundQuestion, ...]:
    """Return the questions with these names, or all if no name is given."""
    if not names:
        return questions
    declared = [one.question.name for one in reversed(questions)]
    for name in names:
        if name not in declared:
            raise UnknownQuestion(name, list(dict.fromkeys(declared)))
    return tuple(one for one in questions if one.question.name in names)
