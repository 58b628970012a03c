"""What is asked of a system and what was found out: data only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal

from cplc.logic.formulas import Enforces, Formula
from cplc.records import dataclass
from cplc.source import Span
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Run

Answer = Literal["holds", "fails", "vacuous", "unknown"]
Kind = Literal["property", "check", "formula", "model", "analysis"]
"""A property or check of the file, a formula of the command line, the model's own well-behaviour, or a threshold for
what a participant can count on."""


QUICK_SEARCH = "a quick search settled it"
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
    is_usual: bool = False
    """A check that every protocol is asked, and that the file does not name."""
    span: Span | None = field(default=None, compare=False, repr=False)
    system: System | None = field(default=None, compare=False, repr=False)
    """The system with something observed in it that only this question needs; None for the system as it is."""
    vacuous_quantifiers: tuple[str, ...] = ()
    """Quantifiers that have no instance, where the formula is true for want of one."""
    constant_implications: tuple[str, ...] = ()
    """What there is to say of implications that a constant in the text makes true, so that the formula lacks them."""
    findings: tuple[str, ...] = field(default=(), repr=False)
    """Of a conjunction, what the failure of each operand means."""
    listings: tuple[tuple[Formula, str], ...] = field(default=(), repr=False)
    """Formulas that may fail without refuting anything, and the note that the result gets of each that does."""
    places: tuple[Span | None, ...] = field(default=(), compare=False, repr=False)
    """Where it lies if an operand fails; for a question that has no place itself."""


@dataclass(frozen=True)
class ExcludedStates:
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
    "not-serial", "not-keepable", "never-fulfilled", "content-does-not-last", "independent-atom",
]  # fmt: skip


@dataclass(frozen=True)
class Remark:
    """Something the user should know of a verdict: a vacuous implication, states that fairness excludes."""

    code: RemarkCode
    message: str
    state: State | None = None
    """An example, of those variables alone that the part of the question depends on."""
    system: System | None = field(default=None, repr=False, compare=False)
    """The system that has these variables."""
    excluded: ExcludedStates | None = None

    @property
    def is_warning(self) -> bool:
        """Whether something may be wrong with the question; otherwise it explains the answer."""
        return self.code != "not-keepable"


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
class Responsibility:
    """Responsibility for a failure that depends on which roles keep going."""

    coalitions: tuple[tuple[str, ...], ...]
    """The smallest sets of roles (families as one) whose co-operation makes the property true."""
    stopped: tuple[str, ...]
    """Roles that on the run shown could send forever and never did, and whose co-operation would help."""
    owed: tuple[str, ...]
    """Commitments in force at the end of the run: of debtors that stopped or, with an ``avoidance``, of all."""
    avoidance: Avoidance | None = None
    """Where no co-operation helps, how the run shown avoids the goal: by no role's stopping."""
    is_realizable: bool = True
    """Whether any fair run is left if all roles keep going; otherwise it is open what would hold then."""


@dataclass(frozen=True)
class PointOfNoReturn:
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
class SizeCoverage:
    """Sizes of a family that the verdict of a parameterised question covers."""

    parameter: str
    least: int
    """The least size that is declared."""
    greatest: int
    """The greatest size that is declared."""
    verified: tuple[int, ...] = ()
    """Sizes for which the question was verified to hold, in ascending order."""
    vacuous: tuple[int, ...] = ()
    """Those of them for which it holds vacuously."""
    failing: int | None = None
    """The smallest size for which it fails."""
    not_asked: tuple[int, ...] = ()
    """Sizes at which the file does not ask the question."""
    undefined: tuple[tuple[int, str], ...] = ()
    """Sizes at which the file has errors, and the first of these."""
    proof: str | None = None
    """Why the question holds for every size from the least verified one on."""
    fixed: tuple[tuple[str, str], ...] = ()
    """The other parameters and their values."""

    @property
    def scope(self) -> Literal["every size", "declared sizes", "verified sizes"]:
        """For which sizes the question was shown to hold."""
        if self.failing is None and not self.undefined:
            if self.proof is not None:
                return "every size"
            if len(self.verified) + len(self.not_asked) == self.greatest - self.least + 1:
                return "declared sizes"
        return "verified sizes"

    @property
    def text(self) -> str | None:
        """The sizes in words; None where nothing was verified."""
        return "; ".join(part for part in (self._verdict, *self._exceptions) if part) or None

    @property
    def _verdict(self) -> str:
        values = [f"{name} = {value}" for name, value in self.fixed]
        fixed = f", with {' and '.join(values)}" if values else ""
        if self.failing is not None:
            verified = f"; holds for {self._sizes(self.verified)}" if self.verified else ""
            return f"fails for {self.parameter} = {self.failing}{fixed}, the smallest failing size{verified}"
        if not self.verified:
            return ""
        verified = self._sizes(self.verified)
        if self.proof is not None:
            every = f"holds for every {self.parameter} from {self.verified[0]} on{fixed}"
            return f"{every}: verified for {verified}, the rest proved by {self.proof}"
        if self.scope == "declared sizes":
            sizes = "the only declared size" if self.least == self.greatest else "all declared sizes, each verified"
            return f"holds for {verified}{fixed}: {sizes}"
        return f"holds for {verified}{fixed}"

    @property
    def _exceptions(self) -> Iterator[str]:
        if self.vacuous:
            yield f"vacuously for {self._sizes(self.vacuous)}"
        if self.not_asked:
            yield f"not asked for {self._sizes(self.not_asked)}"

    @property
    def errors(self) -> str | None:
        """The sizes at which the file has errors, in words."""
        if not self.undefined:
            return None
        return f"the file has errors for {self._sizes([size for size, _ in self.undefined])}: {self.undefined[0][1]}"

    def _sizes(self, sizes: Sequence[int]) -> str:
        return f"{self.parameter} = {', '.join(_ranges(sizes))}"


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield the ranges of successive numbers in words."""
    first = last = numbers[0]
    for number in (*numbers[1:], None):
        if number is not None and number == last + 1:
            last = number
            continue
        yield str(first) if first == last else f"{first} to {last}"
        if number is not None:
            first = last = number


@dataclass(frozen=True)
class Result:
    question: Question
    answer: Answer
    engine: str
    seconds: float
    system: System
    """The system, or the independent part of it, that the evidence speaks of."""
    evidence: Evidence | None = None
    blame: Responsibility | None = None
    no_return: PointOfNoReturn | None = None
    remarks: tuple[Remark, ...] = ()
    reason: str | None = None
    """Why it is unknown."""
    sizes: SizeCoverage | None = None
    """Of a parameterised question, the sizes that this answer covers."""
    findings: tuple[str, ...] = ()
    """What fails, one sentence for each operand of the question's conjunction that does."""
    notes: tuple[str, ...] = ()
    """What is worth knowing and neither refutes nor warns: what stays dormant."""
    left_out: int = 0
    """How many variables the question does not depend on; the evidence leaves them out."""
    engine_reason: str = ""
    """Why it was this engine."""
    cached: bool = False
    """It was found by an earlier run, of the same question on the same files."""

    @property
    def span(self) -> Span | None:
        """Where it lies: in the file's question or, of a question that is not there, in what it finds."""
        question = self.question
        placed = zip(question.findings, question.places, strict=True) if question.places else ()
        return next((place for finding, place in placed if finding in self.findings), question.span)

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
