"""What is asked of a system and what was found out: data only."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from cplc.records import dataclass
from cplc.source import Span
from cplc.system.formula import Enforces, Formula
from cplc.system.model import State, System
from cplc.system.trace import Evidence

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
    findings: tuple[str, ...] = field(default=(), repr=False)
    """Of a conjunction, what the failure of each operand means."""
    places: tuple[Span | None, ...] = field(default=(), compare=False, repr=False)
    """Where it lies if an operand fails; for a question that has no place itself."""


@dataclass(frozen=True)
class Remark:
    """Something the user should know of a verdict: a vacuous implication, an accessibility that is not serial."""

    code: Literal["vacuous-implication", "over-nothing", "not-serial", "advisory", "independent-atom", "no-fair-run"]
    message: str
    state: State | None = None


@dataclass(frozen=True)
class WayOut:
    """A send by which a loop that avoids a goal could have been left."""

    role: str
    message: str
    after: int
    """How many steps of the run were taken where it is first possible."""
    ensures: bool
    """After it, every run on which all roles keep going reaches the goal; otherwise some run does."""


@dataclass(frozen=True)
class Avoidance:
    """How a run avoids what is asked of it, where no role's keeping going would have changed that."""

    goal: Formula
    lost: int | None
    """The number of the step after which the goal cannot be reached any more; 0 if it never could, None if it can."""
    acting: tuple[str, ...]
    """Where it still can: the roles whose sends the loop consists of."""
    ways_out: tuple[WayOut, ...]


@dataclass(frozen=True)
class Blame:
    """Responsibility for a failure that depends on which roles keep going."""

    coalitions: tuple[tuple[str, ...], ...]
    """The smallest sets of roles (families as one) whose co-operation makes the property true."""
    stopped: tuple[str, ...]
    """Roles that on the run shown could send forever and never did, and whose co-operation would help."""
    owed: tuple[str, ...]
    """Commitments in force at the end of the run: of debtors that stopped or, with an ``avoidance``, of all."""
    avoidance: Avoidance | None = None
    """Where no co-operation helps, how the run shown avoids the goal: by no role's stopping."""


@dataclass(frozen=True)
class NoReturn:
    """Where, on the run shown, a group lost the power to do what it ought to."""

    able: Enforces
    """What it could bring about."""
    step: int | None
    """The number of the first step after which it no longer could; None if it never could since it ought to."""
    since: int
    """After how many steps what it ought to do began to bind it."""
    commitment: str | None = None
    """The commitment in force that it ought to fulfil, where the formula is about one."""


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
