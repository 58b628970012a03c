"""The interface of a compilation: one text from its diagnostics to verdicts, whatever its language.

`CplCompilation` and `IsplCompilation` implement it. Commands, sweeps and the editor work on the interface; only the
loader decides by the name of a file which language it is in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass
from cplc.settings import Settings, settings_for
from cplc.source import Source

if TYPE_CHECKING:
    from cplc.checking.results import Question, Result
    from cplc.checking.verify import AnswerListener
    from cplc.compatibility.compare import VerdictChange
    from cplc.compilation.never_reached import NeverReached
    from cplc.export import Export
    from cplc.formatter import Formatted
    from cplc.mutation.coverage import Outcome
    from cplc.mutation.mutants import Mutant
    from cplc.simulation.run_replay import Recorded, Replayed
    from cplc.system.model import System

Channels = Literal["sync", "async"]
Strategies = Literal["full", "uniform"]
"""Strategies of groups use the whole state, or only what each member observes."""
EngineName = Literal["auto", "symbolic", "explicit", "onthefly", "reduced"]


class PayloadRefused(Exception):
    """A payload that a message cannot have; the text says why."""


class UnknownQuestion(LookupError):
    """The file has no property or check of that name."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.candidates = tuple(candidates)


class NotApplicable(ValueError):
    """Raised for a request that has no meaning in the language of the text; the text says why."""


@dataclass(frozen=True)
class BoundQuestion:
    """A question and its system: the protocol's, with the views that the question mentions."""

    question: Question
    system: System
    warnings: tuple[Diagnostic, ...] = ()
    """Warnings about a formula of the command line."""


@dataclass(frozen=True)
class Compilation(ABC):
    """One text under one choice of options. Each stage is computed when it is first used."""

    source: Source
    path: Path | None = None
    strategies: Strategies = field(default="full", kw_only=True)

    language: ClassVar[Literal["CPL", "ISPL"]]

    # --- diagnostics

    @property
    @abstractmethod
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every problem of the text and of what it imports, in the order of the text."""

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """Remarks of `cplc check` alone."""
        return ()

    @property
    @abstractmethod
    def ok(self) -> bool:
        """True if the text has no errors and declares something to verify."""

    @property
    def unverifiable(self) -> tuple[Diagnostic, ...]:
        """Diagnostics that prevent the verification of a text without errors."""
        return ()

    @cached_property
    def settings(self) -> Settings:
        """The settings nearest to the text; the defaults for a text without path."""
        return settings_for(self.path.parent) if self.path else Settings()

    # --- inputs

    @property
    def protocol_names(self) -> tuple[str, ...]:
        """The names of the protocols that the text declares, in its order."""
        return ()

    @property
    def direct_imports(self) -> tuple[Path, ...] | None:
        """The paths that the text itself imports, present or missing; None if it has syntax errors."""
        return ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """The text and its imports."""
        return (self.source,)

    @property
    def import_candidates(self) -> tuple[Path, ...]:
        """The files that the text imports, whether they exist or not."""
        return ()

    @property
    def options(self) -> Mapping[str, object]:
        """The options of the text: parameters, channels, protocol."""
        return {}

    # --- the system

    @property
    @abstractmethod
    def system(self) -> System:
        """The interpreted system."""

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, object]:
        """Numbers of declarations, by name."""

    def system_with_variables(self, names: frozenset[str]) -> System:
        """Return the system with at least these variables, of those that only some questions need."""
        return self.system

    def replay(self, recorded: Recorded) -> tuple[System, Replayed]:
        """Return the system and the recorded run replayed in it."""
        from cplc.simulation.run_replay import replayed

        system = self.system_with_variables(recorded.variables)
        return system, replayed(system, recorded)

    def with_payload(self, message: str, payload: Mapping[str, str]) -> tuple[Compilation, Mapping[str, str]]:
        """Return the compilation in which a message can have these values, and the values as they are written there.

        Raise `PayloadRefused` for values that its fields cannot have.
        """
        return self, payload

    # --- questions

    @abstractmethod
    def questions(self, names: Sequence[str] = ()) -> tuple[BoundQuestion, ...]:
        """Return all properties and checks of the text, or those with these names; raise `UnknownQuestion`."""

    def declared_questions(self) -> tuple[BoundQuestion, ...]:
        """Return the questions that the text declares itself."""
        return self.questions()

    def questions_with_thresholds(self, names: Sequence[str] = ()) -> tuple[BoundQuestion, ...]:
        """Return the same questions, followed by the thresholds of participants."""
        return self.questions(names)

    @property
    def analysed_participants(self) -> tuple[str, ...]:
        """The participants with thresholds."""
        return ()

    @property
    def switched_off(self) -> tuple[str, ...]:
        """The usual checks that the text switches off."""
        return ()

    def never_reached(self) -> NeverReached | None:
        """Return the questions that lead to warnings from the reachable states; None if the text asks for none."""
        return None

    @abstractmethod
    def formula_question(self, text: str, assuming: Sequence[str] = ()) -> BoundQuestion | tuple[Diagnostic, ...]:
        """Return the question for a formula of the command line, or its errors."""

    def verify(
        self,
        questions: Sequence[BoundQuestion],
        engine: EngineName = "auto",
        *,
        vacuity: bool = False,
        on_answer: AnswerListener = lambda *_: None,
    ) -> Iterator[Result]:
        """Yield the verdict of each question as soon as it is known; see `Verifier.answer`."""
        from cplc.checking.verify import Verifier

        verifiers: dict[int, Verifier] = {}
        for one in questions:
            verifier = verifiers.setdefault(id(one.system), Verifier(one.system, engine))
            yield verifier.answer(one.question, vacuity=vacuity, on_answer=on_answer)

    # --- text

    @abstractmethod
    def formatted(self) -> Formatted:
        """Return the text in the canonical layout of its language, or its syntax errors."""

    # --- mutation

    @abstractmethod
    def mutants(self) -> Iterator[Mutant[Any]]:
        """Yield the mutants of the text, in its order."""

    @abstractmethod
    def mutated(self, model: Any) -> Compilation:
        """Return the compilation with the model of a mutant in place of the model of the text."""

    def coverage(
        self, names: Sequence[str] = (), engine: EngineName = "auto", among: range | None = None
    ) -> Iterator[Outcome]:
        """Yield for each mutant whether the questions of the text, or these of them, detect it.

        ``among`` restricts the mutants to these positions.
        """
        from cplc.mutation.coverage import coverage

        def asking(model: Any) -> tuple[System, list[tuple[Question, System]]]:
            compilation = self if model is None else self.mutated(model)
            questions = compilation.questions(names)
            # An advisory check detects no mutant: its failure does not fail the text.
            errors = [one for one in questions if not one.question.advisory]
            return compilation.system, [(one.question, one.system) for one in errors]

        return coverage(asking, self.mutants(), engine, among)

    # --- versions

    def comparable_with(self, new: Compilation) -> tuple[Compilation, Compilation, tuple[str, ...]]:
        """Return both versions with the same numbers of instances by key, and notes on what these stand for."""
        from cplc.compilation.any_number import with_same_instances

        return with_same_instances(self, new)

    def verdict_changes(self, old: Compilation) -> tuple[VerdictChange, ...]:
        """Return the formulas of an old version whose verdicts are others here."""
        return ()

    # --- other tools

    @abstractmethod
    def export(self, target: str, questions: Sequence[BoundQuestion], *, states: bool = False) -> Export:
        """Return the system and these questions in the format of another tool."""


def count_reachable(system: System, engine: EngineName = "auto") -> int:
    """Return the number of reachable states; the symbolic engine multiplies the numbers of independent components."""
    if engine == "explicit":
        from cplc.engines.explicit.engine import ExplicitEngine

        whole = ExplicitEngine(system)
        return whole.count(whole.reachable)
    from cplc.engines.symbolic.engine import SymbolicEngine
    from cplc.reductions import components

    def count(part: System) -> int:
        engine = SymbolicEngine(part)
        return engine.count(engine.reachable)

    return components.count_reachable(system, count)
