"""Questions answered: which engine, on which part of the system, and everything that belongs to a verdict.

Nothing is shown as a fact that does not replay: evidence is checked on the system that the engine saw and, where that
was a slice, its beginning on the whole system too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from cplc.engines.bdd import BACKENDS
from cplc.engines.interface import Engine, ResourceExhausted
from cplc.system.bystanders import needed, without_bystanders
from cplc.system.formula import And, Commits, Enforces, Finally, Formula, Fulfils, Knows, OnPaths, Or, subformulas
from cplc.system.model import State, System
from cplc.system.slicing import Slices, separate
from cplc.system.symmetry import Symmetry
from cplc.system.trace import Evidence
from cplc.verification.acting import with_actions
from cplc.verification.blame import blame
from cplc.verification.embedding import embedding_problems
from cplc.verification.evidence import explain_initial
from cplc.verification.independence import independent_atoms
from cplc.verification.no_return import point_of_no_return
from cplc.verification.replay import EvidenceError, replay
from cplc.verification.results import QUICK, Answer, Question, Remark, Result
from cplc.verification.vacuity import Example, not_serial, vacuous_implications
from cplc.verification.widening import NotWidened, widened

if TYPE_CHECKING:
    from cplc.engines.onthefly import OnTheFlyEngine

    AnyEngine = Engine[Any] | OnTheFlyEngine
    # Sets of states are handed back to the engine that they come from and never looked into.

Method = Literal["symbolic", "explicit", "onthefly"]
EngineName = Literal["auto"] | Method

QUICK_EFFORT = 12_000
"""How much a quick search may do before the decision diagrams are made: some tenths of a second."""
MANY_BITS = 64
"""From so many bits of a state on it matters who only looks on."""
_LARGE = 128
"""From so many bits of a state on, decision diagrams take long enough for a quick search to be worth its while."""


def verify(system: System, questions: Iterable[Question], engine: EngineName = "auto") -> Iterator[Result]:
    """Yield the result of each question as soon as it is known."""
    verifier = Verifier(system, engine)
    return (verifier.answer(question) for question in questions)


@dataclass(frozen=True)
class _Part:
    """One of the formulas that a question comes down to, and its operand in the question's conjunction."""

    operand: int
    formula: Formula
    kind: Hashable
    """Parts of the same kind hold together: role instances that nothing tells apart make them differ, if anything."""


Settled = Callable[[Question, Answer], None]
"""Is told what is known of a question before all is."""


class Verifier:
    """Answers questions about one system; what engines have found out is kept from one question to the next."""

    def __init__(self, system: System, engine: EngineName = "auto") -> None:
        self.system = system
        self.method: Method = _method(engine)
        self._auto = engine == "auto"
        self._explorations: dict[int, _Exploration] = {}

    def answer(self, question: Question, *, vacuity: bool = False, settled: Settled = lambda *_: None) -> Result:
        """Return the answer with all that belongs to it; with ``vacuity`` also the atoms that do not matter.

        Whether it holds is told ``settled`` before the run that shows it is made, which may take longer.
        """
        began = time.perf_counter()
        exploration = self._exploration(question)
        system = exploration.system
        try:
            result = _Answering(question, exploration, vacuity, settled).result()
        except ResourceExhausted as limit:
            result = Result(question, "unknown", self.method, 0.0, system, reason=str(limit))
        except EvidenceError as error:
            reason = f"internal: evidence does not replay ({error})"
            result = Result(question, "unknown", self.method, 0.0, system, reason=reason)
        return replace(result, seconds=time.perf_counter() - began)

    def decide(self, question: Question) -> Answer:
        """Return the answer alone: no evidence, nobody to blame."""
        try:
            return _Answering(question, self._exploration(question)).answer()
        except ResourceExhausted:
            return "unknown"

    def _exploration(self, question: Question) -> _Exploration:
        system = question.system or self.system
        exploration = self._explorations.get(id(system))
        if exploration is None:
            exploration = self._explorations[id(system)] = _Exploration(system, self.method, auto=self._auto)
        return exploration


def _method(engine: EngineName) -> Method:
    if engine != "auto":
        return engine
    return "symbolic" if any(find_spec(name.partition(".")[0]) for name in BACKENDS) else "explicit"


class _Exploration:
    """One system and the engines that have explored it or its slices."""

    def __init__(self, system: System, method: Method, *, auto: bool) -> None:
        self.system = system
        self.method = method
        self.slices = Slices(system)
        self.symmetry = Symmetry(system)
        self._auto = auto
        self._quick = auto and method == "symbolic" and not system.is_synchronous
        self._engines: dict[frozenset[str], AnyEngine] = {}
        self._narrow: dict[frozenset[str], System] = {}
        self._settled: dict[tuple[Formula, frozenset[str]], OnTheFlyEngine | None] = {}
        self._given_up: set[frozenset[str]] = set()

    def engine_for(self, formula: Formula) -> AnyEngine:
        """Return the engine that knows all that the formula depends on."""
        if self.method == "explicit":
            return self._engine_of(self.system)
        return self._engine_of(self._narrowed(self._wide(formula), formula))

    def wide_engine_for(self, formula: Formula) -> AnyEngine:
        """Return the engine that knows those as well who only look on."""
        return self._engine_of(self._wide(formula))

    def _engine_of(self, system: System) -> AnyEngine:
        variables = frozenset(system.variable)
        engine = self._engines.get(variables)
        if engine is None:
            engine = self._engines[variables] = _engine(system, self.method)
        return engine

    def _wide(self, formula: Formula) -> System:
        """Return the part of the system that the formula depends on, and all who are connected with it."""
        return self.slices.of(self.slices.relevant(formula))

    def wide(self, engine: AnyEngine) -> System:
        """Return the part of the system that the engine's is without those who only look on."""
        return self.slices.of(self.slices.closed(engine.system.variable))

    def _narrowed(self, wide: System, formula: Formula) -> System:
        """Return the part without those who only look on, if it is large enough for that to matter.

        A second formula that needs others of them than the first is asked of all: what is found out once for all
        formulas would otherwise be found out again for each.
        """
        if _bits(wide) < MANY_BITS:
            return wide
        variables = frozenset(wide.variable)
        kept = needed(wide, formula)
        if variables not in self._narrow:
            self._narrow[variables] = without_bystanders(wide, kept) if kept < variables else wide
        narrow = self._narrow[variables]
        return narrow if kept <= narrow.variable.keys() else wide

    def engine_deciding(self, formula: Formula, assuming: frozenset[str]) -> AnyEngine:
        """Return the engine that says whether the formula holds: the quick search, if that comes to an end.

        How far it goes is counted in states and not in seconds, so it is the same engine every time. Where it gave up
        once it is not tried again: the decision diagrams are there for all further questions.
        """
        if not self._quick or not _takes_one_run(formula):
            return self.engine_for(formula)
        key = (formula, assuming)
        if key not in self._settled:
            part = self._narrowed(self._wide(formula), formula)
            variables = frozenset(part.variable)
            worth_while = variables not in self._given_up and _bits(part) >= _LARGE
            quick = _on_the_fly(part, QUICK_EFFORT) if worth_while else None
            try:
                if quick is not None:
                    quick.decide(formula, assuming)
            except ResourceExhausted:
                self._given_up.add(variables)
                quick = None
            self._settled[key] = quick
        return self._settled[key] or self.engine_for(formula)

    def choice(self, engine: AnyEngine | None) -> tuple[Method, str]:
        """Return the engine that gives an answer, and why it was this one."""
        if not self._auto:
            return self.method, "as asked"
        if engine is not None and not isinstance(engine, Engine):
            return "onthefly", QUICK
        if self.method == "explicit":
            return "explicit", "no library for decision diagrams is installed"
        return "symbolic", "decision diagrams know every state"

    def is_valid(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Whether the formula holds in every initial state.

        A disjunction does where one operand does; what can be reached in each of several independent slices can be
        reached in all of them at once.
        """
        if self.method != "explicit":
            match formula:
                case Or(operands):
                    narrow = sorted(operands, key=lambda operand: len(self.slices.relevant(operand)))
                    if any(self.is_valid(operand, assuming) for operand in narrow):
                        return True
                case OnPaths("E", Finally(And(operands), None)):
                    groups = self._independent(operands)
                    if len(groups) > 1:
                        return all(self.is_valid(OnPaths("E", Finally(And(group))), assuming) for group in groups)
                case _:
                    pass
        return self.engine_deciding(formula, assuming).is_valid(formula, assuming)

    def _independent(self, formulas: Iterable[Formula]) -> list[tuple[Formula, ...]]:
        """Return the formulas in groups that depend on disjoint slices."""
        groups: list[tuple[frozenset[str], tuple[Formula, ...]]] = []
        for formula in formulas:
            variables = self.slices.relevant(formula)
            members: tuple[Formula, ...] = (formula,)
            apart = []
            for known, group in groups:
                if known & variables:
                    variables, members = known | variables, group + members
                else:
                    apart.append((known, group))
            groups = [*apart, (variables, members)]
        return [group for _, group in groups]

    def parts(self, formula: Formula, assuming: frozenset[str]) -> tuple[_Part, ...]:
        """Return what holds together where the formula holds; each may depend on less.

        The explicit engine, which judges the others, is asked everything as it stands.
        """
        operands = formula.operands if isinstance(formula, And) else (formula,)
        if self.method == "explicit" or self.system.is_synchronous:
            return tuple(_Part(number, operand, operand) for number, operand in enumerate(operands))
        parts = [(number, part) for number, operand in enumerate(operands) for part in separate(operand)]
        if len(parts) == 1:
            return tuple(_Part(number, part, part) for number, part in parts)
        return tuple(_Part(number, part, self.symmetry.key(part, assuming)) for number, part in parts)


def _engine(system: System, method: Method) -> AnyEngine:
    match method:
        case "explicit":
            from cplc.engines.explicit import ExplicitEngine

            return ExplicitEngine(system)
        case "onthefly":
            return _on_the_fly(system)
        case "symbolic":
            from cplc.engines.symbolic import SymbolicEngine

            return SymbolicEngine(system)


def _on_the_fly(system: System, effort: int | None = None) -> OnTheFlyEngine:
    from cplc.engines.onthefly import OnTheFlyEngine

    return OnTheFlyEngine(system, effort=effort)


def _bits(system: System) -> int:
    return sum((len(variable.domain) - 1).bit_length() for variable in system.variables)


def _takes_one_run(formula: Formula) -> bool:
    """Whether a run may settle it, and what other runs may look like to agents does not matter."""
    return isinstance(formula, OnPaths) and not any(
        isinstance(part, Commits | Fulfils | Knows | Enforces) for part in subformulas(formula)
    )


def _distinct(parts: Iterable[_Part]) -> Iterable[_Part]:
    """Return the first part of each kind."""
    first: dict[Hashable, _Part] = {}
    for part in parts:
        first.setdefault(part.kind, part)
    return first.values()


NO_FAIR_RUN = Remark("no-fair-run", "no fair run begins in an initial state, so every formula holds of all of them")


class _Answering:
    """One question on its way to a result."""

    def __init__(
        self,
        question: Question,
        exploration: _Exploration,
        vacuity: bool = False,
        settled: Settled = lambda *_: None,
    ) -> None:
        self.question = question
        self.vacuity = vacuity
        self.settled = settled
        self.exploration = exploration
        self.assuming = question.assuming

    def result(self) -> Result:
        parts = self._parts(self.assuming)
        failing = self._failing(parts)
        self.settled(self.question, "fails" if failing else "holds")
        if not failing:
            return self._holding(parts)
        first, problem = failing[0], None
        evidence: Evidence | None = None
        engine = self.exploration.engine_deciding(first.formula, self.assuming)
        try:
            evidence = self._evidence(first.formula)
            whole, shown = self.exploration.system, self.exploration.wide(engine)
            blamed = blame(whole, shown, self.question.formula, self.assuming, self._is_valid, evidence)
            no_return = point_of_no_return(engine, evidence, self.assuming) if isinstance(engine, Engine) else None
        except ResourceExhausted as limit:
            blamed, no_return = None, None
            what = "the run could not be made" if evidence is None else "who is to blame was left open"
            problem = f"{what}: {limit}"
        findings = dict.fromkeys(part.operand for part in failing)
        return replace(
            self._plain("fails", engine),
            evidence=evidence,
            blame=blamed,
            no_return=no_return,
            remarks=self._not_serial(parts),
            reason=problem,
            findings=tuple(self.question.findings[operand] for operand in findings) if self.question.findings else (),
        )

    def answer(self) -> Answer:
        parts = self._parts(self.assuming)
        if self._failing(parts):
            return "fails"
        return "vacuous" if self._vacuous(parts) else "holds"

    def _parts(self, assuming: frozenset[str]) -> tuple[_Part, ...]:
        return self.exploration.parts(self.question.formula, assuming)

    def _failing(self, parts: Sequence[_Part]) -> list[_Part]:
        """Return what fails: all of it where each has something to say of its own, otherwise the first.

        A part that an engine gives up on leaves the answer open only where no other part fails.
        """
        failing: set[Hashable] = set()
        limit: ResourceExhausted | None = None
        for part in _distinct(parts):
            try:
                holds = self.exploration.is_valid(part.formula, self.assuming)
            except ResourceExhausted as reached:
                limit = reached
                continue
            if not holds:
                failing.add(part.kind)
                if not self.question.findings:
                    break
        if limit is not None and not failing:
            raise limit
        return [part for part in parts if part.kind in failing]

    def _is_valid(self, assuming: frozenset[str]) -> bool:
        parts = _distinct(self._parts(assuming))
        return all(self.exploration.is_valid(part.formula, assuming) for part in parts)

    def _holding(self, parts: Sequence[_Part]) -> Result:
        if not parts:
            return self._plain("holds", None)
        engine = self.exploration.engine_deciding(parts[0].formula, self.assuming)
        if engine.is_empty(engine.beginning) if isinstance(engine, Engine) else not engine.begins:
            return replace(self._plain("vacuous", engine), remarks=(NO_FAIR_RUN,))
        evidence, problem = None, None
        try:
            evidence = self._evidence(parts[0].formula)
        except ResourceExhausted as limit:
            problem = f"the run could not be made: {limit}"
        vacuous: tuple[Remark, ...] = ()
        remarks: tuple[Remark, ...] = ()
        try:
            vacuous = self._vacuous(parts)
            remarks = vacuous + self._not_serial(parts) + (tuple(self._independent(parts)) if self.vacuity else ())
        except ResourceExhausted as limit:
            if self.exploration.method != "onthefly":
                raise
            problem = f"whether it holds vacuously was left open: {limit}"
        answer: Answer = "vacuous" if vacuous else "holds"
        return replace(self._plain(answer, engine), evidence=evidence, remarks=remarks, reason=problem)

    def _independent(self, parts: Sequence[_Part]) -> Iterator[Remark]:
        """Yield what there is to say of atoms that the property would hold without."""
        if self.question.kind in {"property", "formula"}:
            said = (
                text
                for part in _distinct(parts)
                for text in independent_atoms(
                    part.formula, lambda formula: self.exploration.is_valid(formula, self.assuming)
                )
            )
            yield from (Remark("independent-atom", text) for text in dict.fromkeys(said))

    def _vacuous(self, parts: Sequence[_Part]) -> tuple[Remark, ...]:
        if self.question.kind not in {"property", "formula"}:
            return ()
        silent = tuple(
            Remark("over-nothing", f"there is nothing that `{quantifier}` ranges over")
            for quantifier in self.question.over_nothing
        )
        return silent + self._remarks(parts, vacuous_implications)

    def _plain(self, answer: Answer, engine: AnyEngine | None) -> Result:
        whole = self.exploration.system
        system = whole if engine is None else self.exploration.wide(engine)
        left_out = len(whole.variables) - len(system.variables)
        name, reason = self.exploration.choice(engine)
        return Result(self.question, answer, name, 0.0, system, left_out=left_out, engine_reason=reason)

    def _remarks(
        self, parts: Iterable[_Part], find: Callable[[Example, Formula], Iterator[Remark]]
    ) -> tuple[Remark, ...]:
        found = [remark for part in _distinct(parts) for remark in find(self._examples(part.formula), part.formula)]
        return tuple({remark.message: remark for remark in found}.values())

    def _examples(self, formula: Formula) -> Example:
        """Return what finds states where a part of the formula holds."""

        def example(part: Formula) -> State | None:
            engine = self.exploration.engine_deciding(formula, self.assuming)
            if not isinstance(engine, Engine):
                try:
                    return engine.example(part, self.assuming)
                except ResourceExhausted:
                    if self.exploration.method == "onthefly":
                        raise
                    engine = self.exploration.engine_for(formula)
            if not isinstance(engine, Engine):
                return engine.example(part, self.assuming)
            found = engine.satisfying(part, self.assuming)
            return None if engine.is_empty(found) else engine.pick(found)

        return example

    def _not_serial(self, parts: Iterable[_Part]) -> tuple[Remark, ...]:
        social = [part for part in parts if any(isinstance(f, Commits | Fulfils) for f in subformulas(part.formula))]
        return self._remarks(social, not_serial)

    def _evidence(self, formula: Formula) -> Evidence:
        """Return why the formula has its value, replayed."""
        engine = self.exploration.engine_deciding(formula, self.assuming)
        evidence = self._found_by(engine, formula)
        wide = self.exploration.wide(engine)
        if wide is not engine.system:
            evidence = self._widened(evidence, formula, wide)
        problems = list(embedding_problems(self.exploration.system, wide, evidence)) if self._is_part(wide) else []
        if problems:
            raise EvidenceError("; ".join(problems))
        return evidence

    def _is_part(self, system: System) -> bool:
        return system is not self.exploration.system

    def _found_by(self, engine: AnyEngine, formula: Formula) -> Evidence:
        if isinstance(engine, Engine):
            evidence = explain_initial(engine, formula, self.assuming)
        else:
            _, evidence = engine.decide(formula, self.assuming)
            if engine.system.is_synchronous:
                evidence = with_actions(engine.system, evidence)
        problems = replay(engine.system, evidence, self.assuming)
        if problems:
            raise EvidenceError("; ".join(problems))
        return evidence

    def _widened(self, evidence: Evidence, formula: Formula, wide: System) -> Evidence:
        """Return the evidence with those who only look on; where it takes too long to bring it about, another."""
        with suppress(NotWidened):
            found = widened(evidence, wide)
            if not replay(wide, found, self.assuming):
                return found
        return self._found_by(self.exploration.wide_engine_for(formula), formula)
