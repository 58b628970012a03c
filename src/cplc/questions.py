"""What is asked of a system, and the answers: the same for protocols and for models in ISPL."""

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

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.known = tuple(known)


@dataclass(frozen=True)
class BoundQuestion:
    """A question and the system it is asked of: that of the protocol, with the views that the question mentions."""

    question: Question
    system: System
    warnings: tuple[Diagnostic, ...] = ()
    """What there is to say of a formula of the command line."""


class QuestionAnswering:
    """What can be verified."""

    def verify(
        self,
        asked: Sequence[BoundQuestion],
        engine: EngineName = "auto",
        *,
        vacuity: bool = False,
        on_answer: AnswerListener = lambda *_: None,
    ) -> Iterator[Result]:
        """Yield the verdict of each question as soon as it is known; see `Verifier.answer`."""
        from cplc.checking.verify import Verifier

        verifiers: dict[int, Verifier] = {}
        for one in asked:
            verifier = verifiers.setdefault(id(one.system), Verifier(one.system, engine))
            yield verifier.answer(one.question, vacuity=vacuity, on_answer=on_answer)


def select_questions(asked: tuple[BoundQuestion, ...], names: Sequence[str]) -> tuple[BoundQuestion, ...]:
    """Return the questions of these names; all of them where none is named."""
    if not names:
        return asked
    known = {one.question.name: one for one in reversed(asked)}
    for name in names:
        if name not in known:
            raise UnknownQuestion(name, list(known))
    return tuple(one for one in asked if one.question.name in names)
