"""Parameterised verification: a question for every size of a family.

The sizes that the file declares are verified one by one, from the least. Meanwhile a proof for every size is attempted,
by a cutoff (`cplc.parameterised.cutoff`) or by view abstraction (`cplc.parameterised.view_abstraction`). A
question fails if it fails for one size, and the smallest of these is reported. It holds for every size if there is a
proof, and for the declared sizes if each of them was verified. Otherwise it is unknown: a work budget was used up, or
an engine gave up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from cplc.checking.builtin_checks import IN_RANGE, range_question
from cplc.checking.results import Answer, Question, Remark, Result, SizeCoverage
from cplc.checking.verify import AnswerListener, Verifier
from cplc.compilation import BoundQuestion, CplCompilation, EngineName
from cplc.parameterised.cutoff import cutoff
from cplc.parameterised.instances import Proof, Sizes
from cplc.parameterised.view_abstraction import ViewAbstractionProofs
from cplc.records import dataclass
from cplc.runtime.context import Budget, ResourceExhausted, use_budget
from cplc.semantics.data_independence import NotUniform

DEFAULT_WORK = 1_000_000
"""Units of work for each question: 5 to 40 seconds of processor time, measured."""
CROSS_CHECKED = 5
"""Sizes up to this one are verified even where view abstraction proves the question for them."""
_ASIDE = 0.25
"""Fraction of the remaining budget for an attempt at a proof, and for the size after a failing one."""
_SHARED = 0.9
"""Fraction of the remaining time that the questions share; the rest is a reserve for overruns."""

Allowance = Callable[[int], Budget]
"""Returns the budget of the next question, given the number of unanswered questions."""


def default_allowance(questions: int) -> Budget:
    name = f"the default budget of {DEFAULT_WORK:,} units of work for each question (--timeout sets a time instead)"
    return Budget(DEFAULT_WORK, name=name)


def shares_of_time(began: float, seconds: float) -> Allowance:
    """Return an allowance that gives each question an equal share of the remaining time."""

    def share(questions: int) -> Budget:
        now = time.monotonic()
        deadline = now + max(0.0, began + seconds - now) * _SHARED / questions
        return Budget(deadline=deadline, name=f"the share of each question in the time limit of {seconds:g} s")

    return share


@dataclass(frozen=True)
class EverySize:
    """The questions of a protocol for every size of a family, by its parameter; by default the only such one."""

    compilation: CplCompilation
    given: str = ""
    allowance: Allowance = default_allowance
    vacuity: bool = False
    """True if vacuity is checked, at the size whose evidence is shown."""
    on_answer: AnswerListener = lambda *_: None
    """Receives a failing verdict before its counterexample is computed."""
    so_far: Callable[[Result], None] = lambda _: None
    """Receives, before each size, the result of the question if it is cancelled now."""

    @cached_property
    def sizes(self) -> Sizes:
        return Sizes(self.compilation, self.given)

    @cached_property
    def _view_abstraction(self) -> ViewAbstractionProofs:
        return ViewAbstractionProofs(self.sizes)

    @property
    def parameter(self) -> str:
        """The name of the parameter. Raise `NotCounting` if there is none."""
        return self.sizes.parameter

    def of_any_size(self, questions_of_file: Sequence[BoundQuestion]) -> tuple[BoundQuestion, ...]:
        """Return the questions of the file at any declared size, given those at the size of this compilation.

        Where declarations are uniform, all sizes with more members than a declaration mentions have the same questions:
        if one instance needs the question whether assignments stay in range, all instances do.
        """
        least, greatest = self.sizes.bounds
        uniformity = replace(self.sizes.uniformity, may_quantify_over_all=True)
        if uniformity.obstacle is None:
            greatest = min(greatest, max(least, uniformity.simultaneous_members + 2))
        questions = {one.question.name: one for one in questions_of_file}
        try:
            with use_budget(self.allowance(len(questions_of_file) + 1)):
                for size in range(least, greatest + 1):
                    for one in self.sizes.questions(size):
                        if one.question.kind == "model" or not self.compilation.model.analyses:
                            questions.setdefault(one.question.name, one)
        except ResourceExhausted:
            questions.setdefault(IN_RANGE, BoundQuestion(range_question(), self.compilation.system))
        return tuple(sorted(questions.values(), key=lambda one: one.question.kind != "model"))

    def verify(self, questions: Sequence[BoundQuestion], engine: EngineName = "auto") -> Iterator[Result]:
        """Yield the result of each question, for every size."""
        for position, one in enumerate(questions):

            def allowance(remaining: int = len(questions) - position) -> Budget:
                return self.allowance(remaining)

            began = time.perf_counter()
            result = _Verification(self, self._view_abstraction, one, engine, allowance).result()
            yield replace(result, seconds=time.perf_counter() - began)


class _Verification:
    """One question, verified size by size."""

    def __init__(
        self,
        every: EverySize,
        view_abstraction: ViewAbstractionProofs,
        bound: BoundQuestion,
        engine: EngineName,
        allowance: Callable[[], Budget],
    ) -> None:
        self._every = every
        self._sizes = every.sizes
        self._view_abstraction = view_abstraction
        self._asked = bound
        self._question = bound.question
        self._engine: EngineName = engine
        self._allowance = allowance
        self._budget = allowance()
        least, greatest = self._sizes.bounds
        self._coverage = SizeCoverage(self._sizes.parameter, least, greatest, fixed=self._sizes.fixed)
        self._last: tuple[Verifier, Question] | None = None
        """The last size that was decided."""
        self._excluding: tuple[Remark, ...] = ()
        """The remarks on states without fair run, at the smallest size that has such states."""

    def result(self) -> Result:
        least, greatest = self._sizes.bounds
        if self._question.kind == "analysis":
            return self._unknown("thresholds of participants are verified for one size only")
        proof = self._cutoff()
        end = proof.size if isinstance(proof, Proof) else greatest
        size, problem = least, None
        while size <= end or (size <= greatest and not self._may_be_proved):
            self._every.so_far(self._unknown(None))
            answer, problem = self._decide(size)
            if answer == "fails":
                return self._failing(size)
            if answer == "unknown":
                break
            if isinstance(proof, NotUniform) and self._may_be_proved and size < greatest:
                proof = self._by_view_abstraction(size) or proof
                if isinstance(proof, Proof):
                    end = min(greatest, max(size, CROSS_CHECKED))
            size += 1
        verified = self._coverage.verified
        if isinstance(proof, Proof) and self._may_be_proved and verified[-1] >= proof.size:
            self._coverage = replace(self._coverage, proof=proof.reason)
        if self._coverage.scope != "verified sizes":
            return self._with_evidence()
        unproved = (
            f"no proof for every {self._sizes.parameter}: {proof.message}" if isinstance(proof, NotUniform) else None
        )
        reasons = (self._coverage.errors, problem, unproved)
        return self._unknown("; ".join(reason for reason in reasons if reason is not None))

    # --- sizes

    def _decide(self, size: int) -> tuple[Answer, str | None]:
        """Return the answer at one size, and why it is unknown; a size without the question refutes nothing."""
        coverage = self._coverage
        try:
            with use_budget(self._budget):
                bound = self._sizes.asked(self._question, size)
        except ResourceExhausted as limit:
            return "unknown", self._limit(size, str(limit))
        if isinstance(bound, NotUniform):
            if self._sizes.of_size(size).ok:
                self._coverage = replace(coverage, not_asked=(*coverage.not_asked, size))
            else:
                self._coverage = replace(coverage, undefined=(*coverage.undefined, (size, bound.message)))
            return "holds", None
        verifier = Verifier(bound.system, self._engine)
        with use_budget(self._budget):
            answer = verifier.decide(bound.question)
            reason = None
            if answer == "unknown" and not self._budget.is_exhausted:
                result = verifier.answer(bound.question)
                answer, reason = result.answer, result.reason
        if answer == "unknown":
            return answer, self._limit(size, reason)
        self._last = verifier, bound.question
        if not self._excluding:
            with use_budget(self._budget):
                remarks = verifier.excluding(bound.question)
            where = f"for {self._sizes.parameter} = {size}, "
            self._excluding = tuple(replace(one, message=where + one.message) for one in remarks)
        if answer != "fails":
            vacuous = (*coverage.vacuous, size) if answer == "vacuous" else coverage.vacuous
            self._coverage = replace(coverage, verified=(*coverage.verified, size), vacuous=vacuous)
        return answer, None

    def _limit(self, size: int, reason: str | None) -> str:
        """Return why the verdict is unknown at one size."""
        where = f"{self._sizes.parameter} = {size}"
        if self._budget.is_exhausted or reason is None:
            return f"{self._budget.name} was used up at {where}"
        return f"for {where}, {reason}"

    # --- every size

    @property
    def _may_be_proved(self) -> bool:
        """True if all sizes so far were verified, except the first ones if they do not have the question."""
        verified, undefined = self._coverage.verified, [size for size, _ in self._coverage.undefined]
        return bool(verified) and all(size < verified[0] for size in (*undefined, *self._coverage.not_asked))

    def _cutoff(self) -> Proof | NotUniform:
        try:
            with use_budget(self._budget.part(_ASIDE)):
                return cutoff(self._sizes, self._question)
        except ResourceExhausted as limit:
            return NotUniform(str(limit), self._sizes.place)

    def _by_view_abstraction(self, size: int) -> Proof | None:
        try:
            with use_budget(self._budget.part(_ASIDE)):
                return self._view_abstraction.proof(self._question, size)
        except (ResourceExhausted, MemoryError):
            return None

    # --- results

    def _failing(self, size: int) -> Result:
        """Return the result for the smallest failing size, and decide the next size as well."""
        self._coverage = coverage = replace(self._coverage, failing=size)
        failing = self._last
        self._every.so_far(self._unknown(None))
        self._every.on_answer(self._question, "fails")
        _, greatest = self._sizes.bounds
        if size < greatest:
            self._budget = self._budget.part(_ASIDE)
            self._decide(size + 1)
        more = (size + 1,) if self._coverage.verified[-1:] == (size + 1,) else ()
        self._coverage = replace(coverage, verified=(*coverage.verified, *more))
        self._last = failing
        return self._with_evidence()

    def _with_evidence(self) -> Result:
        """Return the result of the last decided size; its evidence has a budget of its own."""
        if self._last is None:  # no size asks it
            return replace(self._unknown(None), answer="holds")
        verifier, question = self._last
        with use_budget(self._allowance()):
            result = verifier.answer(question, vacuity=self._every.vacuity)
        if result.answer == "unknown":
            return self._unknown(result.reason)
        other_remarks = (remark for remark in result.remarks if remark.excluded is None)
        return replace(result, sizes=self._coverage, remarks=(*other_remarks, *self._excluding))

    def _unknown(self, reason: str | None) -> Result:
        return Result(self._question, "unknown", "", 0.0, self._asked.system, reason=reason, sizes=self._coverage)
