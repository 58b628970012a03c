"""Questions and results of verification: data only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Literal

from cplc.logic.expressions import Value
from cplc.logic.formulas import Enforces, Formula, Knows
from cplc.records import dataclass
from cplc.source import Span
from cplc.system.model import State, System, Variable
from cplc.system.trace import Evidence, Run

Answer = Literal["holds", "fails", "vacuous", "unknown"]
Kind = Literal["property", "check", "formula", "model", "analysis"]
"""A property or check of the file, a formula of the command line, the model's own well-behaviour, or a threshold for
what a participant can count on."""


QUICK_SEARCH = "a quick search settled it"
"""Reason of `auto` for not using its default engine."""


@dataclass(frozen=True)
class Refinement:
    """A formula that an operand of a question implies, and that names the cause if it fails."""

    operand: int
    formula: Formula
    finding: str
    place: Span | None = field(default=None, compare=False, repr=False)
    level: int = 0
    """Refinements of the least level that has failing ones are reported."""


@dataclass(frozen=True)
class Question:
    """One formula to decide. A built-in check is one question whose formula is a conjunction."""

    name: str
    kind: Kind
    formula: Formula
    text: str
    """The formula as users read it, with families instantiated."""
    expected: Literal["holds", "fails"] = "holds"
    assuming: frozenset[str] = frozenset()
    bounds: tuple[tuple[str, int], ...] = ()
    """Roles and messages with the ticks within which they act by assumption; the system of the question keeps them."""
    title: str | None = None
    advisory: bool = False
    """A failure is a warning, not an error."""
    is_usual: bool = False
    """A check that runs on every protocol without being named in the file."""
    span: Span | None = field(default=None, compare=False, repr=False)
    system: System | None = field(default=None, compare=False, repr=False)
    """The system with monitor variables for this question; None for the system as it is."""
    vacuous_quantifiers: tuple[str, ...] = ()
    """Quantifiers that range over no instance, which makes the formula true."""
    constant_implications: tuple[str, ...] = ()
    """Messages about implications that constants in the text make true, so the formula lacks them."""
    findings: tuple[str, ...] = field(default=(), repr=False)
    """The meaning of the failure of each operand of a conjunction."""
    refinements: tuple[Refinement, ...] = field(default=(), repr=False)
    """Formulas that find the cause of a failure, decided only where an operand fails."""
    causes: Callable[[int], Iterable[Refinement]] | None = field(default=None, compare=False, repr=False)
    """Makes further refinements of an operand, where there would be many for all of them."""
    listings: tuple[tuple[Formula, str], ...] = field(default=(), repr=False)
    """Formulas that may fail without refuting the question, and the note for each that fails."""
    assumption_notes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Notes on what the question assumes."""
    data_notes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Notes on values that stand for any number, the same for all questions of a file."""
    places: tuple[Span | None, ...] = field(default=(), compare=False, repr=False)
    """Source location for the failure of each operand, if the question has none itself."""
    written: str = field(default="", compare=False)
    """The formula as it is written in the file; empty if nobody wrote it."""
    verdict_only: bool = False
    """Nothing but the verdict is computed: no evidence, and no remarks."""
    instances: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Values of loops and outer universal quantifiers, for each operand of the conjunction: `c = Cus[2]`."""
    unsupported: str = field(default="", compare=False, repr=False)
    """Why the system does not decide the question, so that its answer is unknown; empty if it does."""
    unproved: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    """Computes why a question that holds in this system may fail in others that it stands for; empty if it cannot."""

    @property
    def asked(self) -> str:
        """The formula as it was asked."""
        return self.written or self.text

    @property
    def assumed(self) -> str:
        """The roles and messages after ``assuming``: those with a bound first, so that it is clear whose it is."""
        bounds = dict(self.bounds)
        bounded = (f"{name} within {ticks}" for name, ticks in self.bounds)
        return ", ".join((*bounded, *(name for name in sorted(self.assuming) if name not in bounds)))


@dataclass(frozen=True)
class ExcludedStates:
    """The reachable states from which no fair run begins, so that no path quantifier covers them."""

    states: int | None
    """Number of these states; None if they were not counted, which means at least one."""
    reachable: int | None
    """Number of reachable states, if they were counted."""
    run: Run
    """A run to one of them; a shortest one if they were counted."""
    system: System = field(repr=False)
    """The whole system of the question, which the counts and the run are of."""

    @property
    def run_title(self) -> str:
        return f"{'a run' if self.states is None else 'a shortest run'} to one of them:"

    @property
    def is_everywhere(self) -> bool:
        """True if every reachable state is excluded, as far as they were counted."""
        return self.states is not None and self.states == self.reachable


RemarkCode = Literal[
    "vacuous-implication", "over-nothing", "trivial", "no-fair-run", "timelock", "unrealizable-fairness",
    "not-serial", "not-keepable", "never-fulfilled", "content-does-not-last", "independent-atom",
]  # fmt: skip


@dataclass(frozen=True)
class Remark:
    """A remark on a verdict: a vacuous implication, states that fairness excludes."""

    code: RemarkCode
    message: str
    state: State | None = None
    """An example state, with the variables that this part of the question depends on."""
    system: System | None = field(default=None, repr=False, compare=False)
    """The system that has these variables."""
    excluded: ExcludedStates | None = None

    @property
    def is_warning(self) -> bool:
        """True if something may be wrong with the question; otherwise it explains the answer."""
        return self.code != "not-keepable"


@dataclass(frozen=True)
class WayOut:
    """A send by which a loop that avoids a goal could have been left."""

    role: str
    message: str
    after: int
    """Number of steps of the run after which the send is first possible."""
    ensures: bool
    """After it, every run on which all roles keep going reaches the goal; otherwise some run does."""


@dataclass(frozen=True)
class Avoidance:
    """How a run avoids its goal although all roles keep going."""

    goal: Formula
    lost: int | None
    """The number of the step after which the goal cannot be reached any more; 0 if it never could, None if it can."""
    acting: tuple[str, ...]
    """The roles whose sends form the loop, where the loop can still be left."""
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
    """If no co-operation helps: how the run shown avoids the goal although no role stops."""
    is_realizable: bool = True
    """True if a fair run remains when all roles keep going; otherwise coalitions have no meaning."""


@dataclass(frozen=True)
class HelpingBounds:
    """Bounds on how long roles wait, and messages take, that would make a failed property hold."""

    roles: tuple[str, ...]
    """The families of roles that would have to act in time."""
    ticks: int | None
    """The largest number of ticks that helps; None if no bound of all roles does."""
    is_delayed: bool
    """True if messages would have to take at most as many ticks as well, where channels have no bound."""


@dataclass(frozen=True)
class PointOfNoReturn:
    """The step of the run at which a group lost its strategy for an obligation."""

    able: Enforces
    """The goal, and the group that had a strategy for it."""
    step: int | None
    """Number of the first step after which there is no strategy; None if there never was one."""
    since: int
    """Number of steps after which the obligation began."""
    commitment: str | None = None
    """The commitment in force that the obligation is about, if there is one."""


@dataclass(frozen=True)
class KnowledgeReason:
    """The observation by which an agent knows a content, and the messages that lead from the one to the other."""

    claim: Knows
    variable: Variable
    value: Value
    chain: tuple[str, ...]
    """Messages, each of which is sent only after the next one; empty if there is no such chain."""


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
        """The sizes for which the question was shown to hold."""
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
            every = f"holds for all {self.parameter} >= {self.verified[0]}{fixed}"
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
    """The system, or the components of it, that the evidence is of."""
    evidence: Evidence | None = None
    blame: Responsibility | None = None
    no_return: PointOfNoReturn | None = None
    helping_bounds: HelpingBounds | None = None
    """Bounds that would make it hold, if deadlines may be why it fails."""
    remarks: tuple[Remark, ...] = ()
    reason: str | None = None
    """Why the answer is unknown."""
    sizes: SizeCoverage | None = None
    """The sizes that the answer to a parameterised question covers."""
    findings: tuple[str, ...] = ()
    """One sentence for each operand of the question's conjunction that fails."""
    notes: tuple[str, ...] = ()
    """Notes that neither refute nor warn, such as dormant commitments."""
    left_out: int = 0
    """Number of variables that the question does not depend on, and the evidence leaves out."""
    engine_reason: str = ""
    """Why this engine was selected."""
    knowledge: KnowledgeReason | None = None
    """The reason for knowledge that the question claims, if it holds and one is found."""
    operand: int | None = None
    """Number of the operand of the question's conjunction that the evidence refutes."""
    cached: bool = False
    """True if the result comes from the cache: the same question on the same files."""

    @property
    def span(self) -> Span | None:
        """The location of the question in the file, or else of its first finding."""
        question = self.question
        if question.span is not None:
            return question.span
        placed = dict(zip(question.findings, question.places, strict=True)) if question.places else {}
        placed |= {one.finding: one.place for one in question.refinements}
        if self.findings and self.findings[0] not in placed and question.places and self.operand is not None:
            return question.places[self.operand]
        return next((placed[finding] for finding in self.findings if placed.get(finding) is not None), None)

    @property
    def instance(self) -> str:
        """The values of loops and quantifiers for which the evidence refutes the question; empty if there are none."""
        instances = self.question.instances
        return instances[self.operand] if self.operand is not None and self.operand < len(instances) else ""

    @property
    def as_expected(self) -> bool:
        """True if the answer is what the file expects; vacuous counts as holds, unknown as neither."""
        match self.answer:
            case "holds" | "vacuous":
                return self.question.expected == "holds"
            case "fails":
                return self.question.expected == "fails"
            case "unknown":
                return False
