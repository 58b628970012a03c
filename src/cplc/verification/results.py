"""What is asked of a system and what was found out: data only."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from cplc.records import dataclass
from cplc.source import Span
from cplc.system.formula import Enforces, Formula
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Run

Answer = Literal["holds", "fails", "vacuous", "unknown"]
Kind = Literal["property", "check", "formula", "model", "analysis"]
"""A property or check of the file, a formula of the command line, the model's own well-behaviour, or a threshold for
what a participant can count on."""


QUICK = "a quick search settled it"
"""Why `auto` did without the engine that it takes by default."""


@dataclass(frozen=True)
class Question:
    """One formula to decide. A built-in check is one question, its formula a conjunction of what it says."""

    name: str
    kind: Kind
    formula: Formula
    text: str
    """The formula as people read it."""
    expected: Literal["holds", "fails"] = "holds"
    assuming: frozenset[str] = frozenset()
    title: str | None = None
    advisory: bool = False
    """A failure is a warning, not an error."""
    span: Span | None = field(default=None, compare=False, repr=False)
    system: System | None = field(default=None, compare=False, repr=False)
    """The system with something observed in it that only this question needs; None for the system as it is."""
    over_nothing: tuple[str, ...] = ()
    """Quantifiers that have no instance, where the formula is true for want of one."""
    constant_implications: tuple[str, ...] = ()
    """What there is to say of implications that a constant in the text makes true, so that the formula lacks them."""
    findings: tuple[str, ...] = field(default=(), repr=False)
    """Of a conjunction, what the failure of each operand means."""
    places: tuple[Span | None, ...] = field(default=(), compare=False, repr=False)
    """Where it lies if an operand fails; for a question that has no place itself."""


@dataclass(frozen=True)
class Excluded:
    """The reachable states from which no fair run begins, so that no path quantifier covers them."""

    states: int | None
    """How many there are; None if they were not counted, which means at least one."""
    reachable: int | None
    """How many reachable states there are, if they were counted."""
    run: Run
    """A shortest run to one of them."""
    system: System = field(repr=False)
    """The whole system that the question is asked of: counts and run are of this one, never of a part."""

    @property
    def is_everywhere(self) -> bool:
        """Whether no reachable state is left, as far as they were counted."""
        return self.states is not None and self.states == self.reachable


RemarkCode = Literal[
    "vacuous-implication", "over-nothing", "trivial", "no-fair-run", "unrealizable-fairness",
    "not-serial", "independent-atom", "advisory",
]  # fmt: skip


@dataclass(frozen=True)
class Remark:
    """Something the user should know of a verdict: a vacuous implication, states that fairness excludes."""

    code: RemarkCode
    message: str
    state: State | None = None
    excluded: Excluded | None = None


@dataclass(frozen=True)
class Blame:
    """Who could have made it true, who stopped, and what was still owed."""

    coalitions: tuple[tuple[str, ...], ...]
    """The smallest sets of roles (families as one) whose co-operation makes the property true."""
    stopped: tuple[str, ...]
    """Roles that on the run shown could send for ever and never did."""
    owed: tuple[str, ...]
    """Commitments open at the end of the run whose debtors are among those who stopped."""
    is_realizable: bool = True
    """Whether any fair run is left if all roles keep going; otherwise it is open what would hold then."""


@dataclass(frozen=True)
class NoReturn:
    """Where, on the run shown, a group lost the power to do what it ought to."""

    able: Enforces
    """What it could bring about."""
    step: int | None
    """The number of the first step after which it no longer could; None if it never could since it ought to."""
    since: int
    """After how many steps what it ought to do began to bind it."""


@dataclass(frozen=True)
class Result:
    question: Question
    answer: Answer
    engine: str
    seconds: float
    system: System
    """The system, or the independent part of it, that the evidence speaks of."""
    evidence: Evidence | None = None
    blame: Blame | None = None
    no_return: NoReturn | None = None
    remarks: tuple[Remark, ...] = ()
    reason: str | None = None
    """Why it is unknown."""
    sizes: str | None = None
    """For which sizes of a family this is the answer, where all of them were asked about."""
    findings: tuple[str, ...] = ()
    """What fails, one sentence for each operand of the question's conjunction that does."""
    left_out: int = 0
    """How many variables the question does not depend on; the evidence leaves them out."""
    engine_reason: str = ""
    """Why it was this engine."""
    cached: bool = False
    """It was found by an earlier run, of the same question on the same files."""

    @property
    def span(self) -> Span | None:
        """Where it lies: in the file's question or, of a question that is not there, in what it finds."""
        asked = self.question
        found = zip(asked.findings, asked.places, strict=True) if asked.places else ()
        return next((place for finding, place in found if finding in self.findings), asked.span)

    @property
    def as_expected(self) -> bool:
        """Whether this is what the file expects; vacuous counts as holds, unknown as neither."""
        match self.answer:
            case "holds" | "vacuous":
                return self.question.expected == "holds"
            case "fails":
                return self.question.expected == "fails"
            case "unknown":
                return False
