"""Selection of the engine that decides a problem, after the passes of its method reduced it.

The reduced problem, and the engine whose evidence is shown, depend on the question alone. Problems with equal reduced
systems share one engine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from cplc.checking.results import QUICK_SEARCH
from cplc.engines.interface import Engine
from cplc.engines.symbolic.bdd import BACKENDS
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.formulas import And, Enforces, Finally, Formula, KnownFrom, Knows, OnPaths, subformulas
from cplc.records import dataclass
from cplc.reductions.components import conjuncts_of
from cplc.reductions.decomposition import Decomposition
from cplc.reductions.pipeline import SEARCH_PASSES, SYSTEM_PASSES, Pipeline, Reduced
from cplc.reductions.problem import Problem
from cplc.reductions.symmetry import Symmetry
from cplc.reductions.timed_components import TimedComponents
from cplc.runtime.context import MemoryFilled, ResourceExhausted
from cplc.system.model import State, System

# --- Verdict cache up to symmetry: formulas that a permutation of role instances maps to each other share one verdict


T = TypeVar("T")

_DecisionKey = tuple[Formula, frozenset[str]]


class UpToSymmetry:
    """Decisions on formulas under sets of roles that keep going, each made once up to symmetry.

    If a decision exceeded a limit, symmetric ones do too.
    """

    def __init__(self, symmetry: Symmetry) -> None:
        self._symmetry = symmetry
        self._exactly: dict[_DecisionKey, bool | str] = {}
        self._known: dict[Hashable, bool | str] = {}
        self._unnamed: list[_DecisionKey] = []
        """Questions without a computed symmetry key: a single question needs none."""

    def answer(self, formula: Formula, assuming: frozenset[str], decide: Callable[[], bool]) -> bool:
        """Return the cached verdict, or decide the formula."""
        question = (formula, assuming)
        verdict = self._exactly.get(question)
        if verdict is None:
            verdict = self._exactly[question] = (
                self._once(question, decide) if self._exactly else self._first(question, decide)
            )
        if isinstance(verdict, str):
            raise ResourceExhausted(verdict)
        return verdict

    def _first(self, question: _DecisionKey, decide: Callable[[], bool]) -> bool | str:
        verdict = decided(decide)
        self._unnamed.append(question)
        return verdict

    def _once(self, question: _DecisionKey, decide: Callable[[], bool]) -> bool | str:
        """Return the verdict of a symmetric formula, or decide it."""
        while self._unnamed:
            first = self._unnamed.pop()
            self._known[self._key(first)] = self._exactly[first]
        key = self._key(question)
        if key not in self._known:
            self._known[key] = decided(decide)
        return self._known[key]

    def _key(self, question: _DecisionKey) -> Hashable:
        formula, assuming = question
        return self._symmetry.key(formula, assuming), assuming


def decided(decide: Callable[[], T]) -> T | str:
    """Return the decision, or the limit that was exceeded, to be cached.

    What is cached must not depend on earlier questions: if they filled the memory, a new engine decides once more.
    """
    reason = ""
    for _ in range(2):
        try:
            return decide()
        except MemoryFilled as limit:  # the engine is replaced outside of this clause, where its nodes are not held
            reason = str(limit)
        except ResourceExhausted as limit:
            return str(limit)
    return reason


if TYPE_CHECKING:
    from cplc.checking.timelock_freedom import TimelockFreedom
    from cplc.engines.explicit.por_symmetry import ReducedEngines
    from cplc.engines.on_the_fly import OnTheFlyEngine

    AnyEngine = Engine[Any] | OnTheFlyEngine
    # Sets of states are opaque and go back to the engine that made them.

Method = Literal["symbolic", "explicit", "onthefly", "reduced"]
"""``explicit`` uses no reduction: it is the reference for the others."""
EngineName = Literal["auto"] | Method

QUICK_SEARCH_EFFORT = 12_000
"""Work units of the search on the fly before decision diagrams are built: some tenths of a second."""
MAX_EXPLICIT_STATES = 20_000
"""Up to this many states the whole state space is explored once for all questions."""
MIN_BITS_FOR_QUICK_SEARCH = 128
"""Minimum size of a state for a search on the fly before decision diagrams are built."""


_EngineKey = tuple[frozenset[str], int]
"""The variables of a reduced system and the number of its steps, which determine it."""


@dataclass(frozen=True)
class Part:
    """One conjunct of a question, and the number of the operand that it comes from."""

    operand: int
    formula: Formula


@dataclass(frozen=True, eq=False)
class Decider:
    """The reduced problem, and the engine that decides it."""

    reduced: Reduced
    engine: AnyEngine


def method_of(engine: EngineName) -> Method:
    if engine != "auto":
        return engine
    return "symbolic" if any(find_spec(name.partition(".")[0]) for name in BACKENDS) else "reduced"


class EngineSelector:
    """One system, the reduced problems of its questions, and their engines, each built once."""

    def __init__(self, system: System, method: Method, *, auto: bool) -> None:
        self.system = system
        self.method = method
        self.timed_components = TimedComponents(system)
        self.components = self.timed_components.independent
        self._decomposition = Decomposition(self.timed_components, lambda: self.timelock_freedom.holds)
        self._system_pipeline = Pipeline(() if method == "explicit" else SYSTEM_PASSES)
        self._search_pipeline = Pipeline(SEARCH_PASSES if method == "reduced" else ())
        self.symmetry = Symmetry(system)
        self._validity_cache = UpToSymmetry(self.symmetry)
        self._occurrence_cache = UpToSymmetry(self.symmetry)
        self._auto = auto
        self._has_quick_search = auto and method == "symbolic" and not system.is_synchronous
        self._reduced: dict[tuple[Formula, frozenset[str]], Reduced] = {}
        self._engines: dict[_EngineKey, AnyEngine] = {}
        self._quick_results: dict[tuple[Formula, frozenset[str]], OnTheFlyEngine | None] = {}
        self._given_up: set[_EngineKey] = set()
        self._reduced_searches: dict[_EngineKey, ReducedEngines] = {}
        self._is_small: dict[_EngineKey, bool] = {}

    # --- reduced problems

    def reduced(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> Reduced:
        """Return the problem with the smallest system that gives the formula the same verdict."""
        reduced = self._reduced.get((formula, assuming))
        if reduced is None:
            is_timelock_free = self._is_divided(formula) and self.timelock_freedom.holds
            whole = Reduced(Problem(self.system, formula, assuming, is_timelock_free))
            reduced = self._reduced[formula, assuming] = self._system_pipeline.reduce(whole)
        return reduced

    def reduced_component(self, component: System, formula: Formula, assuming: frozenset[str]) -> System:
        """Return the smallest system that gives the formula about one component the same verdict."""
        return self._system_pipeline.reduce(Reduced(Problem(component, formula, assuming))).system

    @cached_property
    def timelock_freedom(self) -> TimelockFreedom:
        from cplc.checking.timelock_freedom import TimelockFreedom

        return TimelockFreedom(self)

    @property
    def divides_time(self) -> bool:
        """Tell whether components that ticks alone connect are examined by themselves."""
        return self.method != "explicit" and self.timed_components.is_divided

    def _is_divided(self, formula: Formula) -> bool:
        return self.divides_time and self.timed_components.divides(formula)

    def fully_reduced(self, formula: Formula, assuming: frozenset[str]) -> Reduced:
        """Return the problem after all passes, as a system with many states is searched."""
        return self._search_pipeline.reduce(self.reduced(formula, assuming))

    def other_components(self, part: System) -> tuple[System, ...]:
        """Return the independent components of the system that a union of components leaves out."""
        slices = self.components
        return tuple(slices.slice(one) for one in slices.components if not one <= part.variable.keys())

    # --- engines

    def engine_for(self, formula: Formula) -> AnyEngine:
        """Return the engine of all states of the reduced system of the formula."""
        return self.engine_of(self.reduced(formula).system)

    def engine_of(self, system: System) -> AnyEngine:
        """Return the engine of a reduced system, built once."""
        key = _engine_key(system)
        engine = self._engines.get(key)
        if isinstance(engine, Engine) and engine.is_out_of_memory:
            del engine, self._engines[key]
            gc.collect()  # its parts refer to each other, and its nodes fill the memory
            engine = None
        if engine is None:
            engine = self._engines[key] = _engine(system, self.method)
        return engine

    def decider(self, formula: Formula, assuming: frozenset[str]) -> Decider:
        """Return the engine whose evidence is shown for the formula: the cheapest one.

        It depends on the formula alone: limits are counted in states, not in seconds.
        """
        reduced = self.reduced(formula, assuming)
        return self._quick_decider(reduced) or self._searching_decider(reduced)

    def _quick_decider(self, reduced: Reduced) -> Decider | None:
        engine = self._quick_search(reduced)
        return None if engine is None else Decider(reduced, engine)

    def _searching_decider(self, reduced: Reduced) -> Decider:
        """Return an engine on a part of the state space if that is enough, and otherwise on all of it."""
        if self.method == "reduced" and not self._is_explored(reduced.system):
            smaller = self.fully_reduced(reduced.original.formula, reduced.original.assuming)
            engine = self._reduced_searches[_engine_key(reduced.system)].engine(smaller.problem)
            if engine is not None:
                return Decider(smaller, engine)
        return Decider(reduced, self.engine_of(reduced.system))

    def _is_explored(self, system: System) -> bool:
        """Tell whether all states are explored because there are few of them."""
        key = _engine_key(system)
        if key not in self._is_small:
            from cplc.engines.explicit.por_symmetry import ReducedEngines

            searches = self._reduced_searches[key] = ReducedEngines(system)
            whole = searches.whole(MAX_EXPLICIT_STATES)
            self._is_small[key] = whole is not None
            if whole is not None:
                self._engines[key] = whole
        return self._is_small[key]

    def _quick_search(self, reduced: Reduced) -> OnTheFlyEngine | None:
        """Return a search on the fly that decided the problem within its limit."""
        problem = reduced.problem
        if not self._has_quick_search or not _takes_one_run(problem.formula):
            return None
        key = problem.formula, problem.assuming
        if key not in self._quick_results:
            quick = _on_the_fly(problem.system, QUICK_SEARCH_EFFORT) if _is_wide(problem.system) else None
            try:
                if quick is not None:
                    quick.decide(*key)
            except ResourceExhausted:
                self._given_up.add(_engine_key(problem.system))
                quick = None
            self._quick_results[key] = quick
        return self._quick_results[key]

    def _is_valid_by_some_engine(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether the formula holds in every initial state; all engines give the same verdict.

        Once a quick search gave up on a system, the others come last: decision diagrams serve all further questions.
        """
        reduced = self.reduced(formula, assuming)
        gives_up = _engine_key(reduced.system) in self._given_up
        if not gives_up and (quick := self._quick_search(reduced)) is not None:
            return quick.is_valid(formula, assuming)
        try:
            return self._searching_decider(reduced).engine.is_valid(formula, assuming)
        except ResourceExhausted:
            if gives_up and (quick := self._quick_search(reduced)) is not None:
                return quick.is_valid(formula, assuming)
            raise

    def engine_choice(self, engine: AnyEngine | None) -> tuple[Method, str]:
        """Return the name of the engine, and the reason for this choice."""
        requested = "" if self._auto else "as asked"
        if engine is not None and not isinstance(engine, Engine):
            return "onthefly", requested or QUICK_SEARCH
        if self.method == "reduced":
            why = requested or "no library for decision diagrams is installed"
            return "reduced", why if engine is None else f"{why}; {engine.extent}"
        return self.method, requested or "the default: all states as decision diagrams"

    # --- verdicts

    @property
    def _is_indivisible(self) -> bool:
        """Tell whether questions are not decomposed: for the explicit engine and for synchronous systems."""
        return self.method == "explicit" or self.system.is_synchronous

    def parts(self, formula: Formula) -> tuple[Part, ...]:
        """Return the conjuncts of the formula; each may depend on fewer components."""
        if not isinstance(formula, And):
            return tuple(Part(0, part) for part in self._conjuncts(formula)) or (Part(0, formula),)
        return tuple(
            Part(number, part) for number, operand in enumerate(formula.operands) for part in self._conjuncts(operand)
        )

    def _conjuncts(self, formula: Formula) -> tuple[Formula, ...]:
        return (formula,) if self._is_indivisible else conjuncts_of(formula)

    def smallest_sufficient(self, formula: Formula) -> Formula:
        """Return a formula on fewer components that decides this one: the first alternative, if there are any."""
        alternatives = self.alternatives(formula)
        return alternatives[0] if alternatives else formula

    def alternatives(self, formula: Formula) -> Sequence[Formula]:
        """Return invariants on fewer components one of which holds iff this one does, if there are several."""
        return () if self._is_indivisible else self._decomposition.alternatives(formula)

    def is_valid(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether the formula holds in every initial state; decided once up to symmetry."""
        if self._is_indivisible:
            return self._is_valid(formula, assuming)
        if alternatives := self.alternatives(formula):
            return any(self.is_valid(one, assuming) for one in alternatives)
        return self._validity_cache.answer(formula, assuming, lambda: self._is_valid(formula, assuming))

    def _is_valid(self, formula: Formula, assuming: frozenset[str]) -> bool:
        if self.method != "explicit":
            if any(self.is_valid(one, assuming) for one in self._decomposition.sufficient(formula)):
                return True
            if goals := self._decomposition.separate_goals(formula):
                return all(self.is_valid(one, assuming) for one in goals)
        return self._is_valid_by_some_engine(formula, assuming)

    # --- states

    def occurs(self, formula: Formula, deciding: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether some reachable state satisfies the formula; decided once up to symmetry."""
        if self._is_indivisible:
            return self.example(formula, deciding, assuming) is not None
        return self._occurrence_cache.answer(
            formula, assuming, lambda: self.example(formula, deciding, assuming) is not None
        )

    def example(self, formula: Formula, deciding: Formula, assuming: frozenset[str]) -> State | None:
        """Return a reachable state that satisfies the formula, from the state space of the formula ``deciding``."""
        engine = self.decider(deciding, assuming).engine
        if isinstance(engine, Engine) and not engine.has_every_state:  # its state space is reduced for its own question
            engine = self.decider(OnPaths("E", Finally(formula)), assuming).engine
        if not isinstance(engine, Engine):
            try:
                return engine.example(formula, assuming)
            except ResourceExhausted:
                if self.method == "onthefly":
                    raise
                engine = self.engine_for(deciding)
        if not isinstance(engine, Engine):
            return engine.example(formula, assuming)
        satisfying = engine.satisfying(formula, assuming)
        return None if engine.is_empty(satisfying) else engine.pick(satisfying)


def _engine_key(system: System) -> _EngineKey:
    return frozenset(system.variable), len(system.steps)


def _engine(system: System, method: Method) -> AnyEngine:
    match method:
        case "explicit" | "reduced":
            from cplc.engines.explicit.engine import ExplicitEngine

            return ExplicitEngine(system)
        case "onthefly":
            return _on_the_fly(system)
        case "symbolic":
            from cplc.engines.symbolic.engine import SymbolicEngine

            return SymbolicEngine(system)


def _on_the_fly(system: System, effort: int | None = None) -> OnTheFlyEngine:
    from cplc.engines.on_the_fly import OnTheFlyEngine

    return OnTheFlyEngine(system, effort=effort)


def _is_wide(system: System) -> bool:
    return system.bits >= MIN_BITS_FOR_QUICK_SEARCH


def _takes_one_run(formula: Formula) -> bool:
    """Tell whether one run may decide the formula: a path quantifier without epistemic or strategic operators."""
    return isinstance(formula, OnPaths) and not any(
        isinstance(part, KnownFrom | Knows | Enforces | Commits | Fulfils | Conditional)
        for part in subformulas(formula)
    )
