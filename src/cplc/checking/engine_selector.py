"""One system and the engines that have explored it or its slices: which of them answers what."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from cplc.checking.results import QUICK_SEARCH
from cplc.checking.verdict_cache import UpToSymmetry
from cplc.engines.interface import Engine
from cplc.engines.symbolic.bdd import BACKENDS
from cplc.logic.formulas import (
    And,
    Commits,
    Conditional,
    Enforces,
    Finally,
    Formula,
    Fulfils,
    Globally,
    KnownFrom,
    Knows,
    OnPaths,
    Or,
    is_state_formula,
    subformulas,
)
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents, conjuncts_of
from cplc.reductions.cone_of_influence import ConeOfInfluence, project_to_cone
from cplc.reductions.symmetry import Symmetry
from cplc.runtime.limits import ResourceExhausted
from cplc.system.model import State, System

if TYPE_CHECKING:
    from cplc.engines.explicit.por_symmetry import ReducedEngine, ReducedEngines
    from cplc.engines.on_the_fly import OnTheFlyEngine

    AnyEngine = Engine[Any] | OnTheFlyEngine
    # Sets of states are handed back to the engine that they come from and never looked into.

Method = Literal["symbolic", "explicit", "onthefly", "reduced"]
"""``explicit`` leaves nothing out, for it judges the others."""
EngineName = Literal["auto"] | Method

QUICK_SEARCH_EFFORT = 12_000
"""How much a quick search may do before the decision diagrams are made: some tenths of a second."""
MAX_EXPLICIT_STATES = 20_000
"""So many states are met one by one in no time, and are there for all questions then."""
MIN_BITS_FOR_CONE = 64
"""From so many bits of a state on it matters who only looks on."""
MIN_BITS_FOR_QUICK_SEARCH = 128
"""From so many bits of a state on, decision diagrams take long enough for a quick search to be worth its while."""


@dataclass(frozen=True)
class Part:
    """One of the formulas that a question comes down to, and its operand in the question's conjunction."""

    operand: int
    formula: Formula


def method_of(engine: EngineName) -> Method:
    if engine != "auto":
        return engine
    return "symbolic" if any(find_spec(name.partition(".")[0]) for name in BACKENDS) else "reduced"


class EngineSelector:
    """One system and the engines that have explored it or its slices."""

    def __init__(self, system: System, method: Method, *, auto: bool) -> None:
        self.system = system
        self.method = method
        self.slices = IndependentComponents(system)
        symmetry = Symmetry(system)
        self._validity_cache = UpToSymmetry(symmetry)
        self._occurrence_cache = UpToSymmetry(symmetry)
        self._auto = auto
        self._has_quick_search = auto and method == "symbolic" and not system.is_synchronous
        self._engines: dict[frozenset[str], AnyEngine] = {}
        self._cones: dict[int, ConeOfInfluence] = {}
        """By the identity of the slice, which is kept as long as this."""
        self._cone_systems: dict[int, System] = {}
        self._quick_results: dict[tuple[Formula, frozenset[str]], OnTheFlyEngine | None] = {}
        self._given_up: set[frozenset[str]] = set()
        self._reductions: dict[frozenset[str], ReducedEngines] = {}
        self._relevant: dict[Formula, frozenset[str]] = {}

    def engine_for(self, formula: Formula) -> AnyEngine:
        """Return the engine that knows all that the formula depends on."""
        if self.method == "explicit":
            return self.engine_of(self.system)
        return self.engine_of(self._cone(self._component_union(formula), formula))

    def unreduced_engine_for(self, formula: Formula) -> AnyEngine:
        """Return the engine that knows those as well who only look on."""
        return self.engine_of(self._component_union(formula))

    def engine_of(self, system: System) -> AnyEngine:
        """Return the engine of a part of the system; each is made once."""
        variables = frozenset(system.variable)
        engine = self._engines.get(variables)
        if isinstance(engine, Engine) and engine.is_out_of_memory:
            del engine, self._engines[variables]
            gc.collect()  # its parts refer to each other, and its nodes fill the memory
            engine = None
        if engine is None:
            engine = self._engines[variables] = _engine(system, self.method)
        return engine

    def _component_union(self, formula: Formula) -> System:
        """Return the part of the system that the formula depends on, and all who are connected with it."""
        return self.slices.slice(self.slices.components_of(formula))

    def unreduced(self, engine: AnyEngine) -> System:
        """Return the part of the system that the engine's is without those who only look on."""
        return self.slices.slice(self.slices.component_closure(engine.system.variable))

    def other_components(self, part: System) -> tuple[System, ...]:
        """Return the independent components of the system that a union of components leaves out."""
        return tuple(self.slices.slice(one) for one in self.slices.components if not one <= part.variable.keys())

    def _cone(self, wide: System, formula: Formula) -> System:
        """Return the part without those who only look on, if it is large enough for that to matter.

        A second formula that needs others of them than the first is asked of all: what is found out once for all
        formulas would otherwise be found out again for each.
        """
        if _bits(wide) < MIN_BITS_FOR_CONE:
            return wide
        bystanders = self._cones.get(id(wide))
        if bystanders is None:
            bystanders = self._cones[id(wide)] = ConeOfInfluence(wide)
        relevant = bystanders.cone(formula)
        narrow = self._cone_systems.get(id(wide))
        if narrow is None:
            narrow = self._cone_systems[id(wide)] = (
                project_to_cone(wide, relevant) if len(relevant) < len(wide.variables) else wide
            )
        return narrow if relevant <= narrow.variable.keys() else wide

    def engine_deciding(self, formula: Formula, assuming: frozenset[str]) -> AnyEngine:
        """Return the engine that says whether the formula holds: one that knows less than all, if that is enough.

        How far such a one goes is counted in states and not in seconds, so it is the same engine every time.
        """
        return self._quick_search(formula, assuming) or self._reduced_engine(formula) or self.engine_for(formula)

    def _quick_search(self, formula: Formula, assuming: frozenset[str]) -> OnTheFlyEngine | None:
        """Return a quick search that has come to an end.

        Where it gave up once it is not tried again: the decision diagrams are there for all further questions.
        """
        if not self._has_quick_search or not _takes_one_run(formula):
            return None
        key = (formula, assuming)
        if key not in self._quick_results:
            part = self._cone(self._component_union(formula), formula)
            variables = frozenset(part.variable)
            worth_while = variables not in self._given_up and _bits(part) >= MIN_BITS_FOR_QUICK_SEARCH
            quick = _on_the_fly(part, QUICK_SEARCH_EFFORT) if worth_while else None
            try:
                if quick is not None:
                    quick.decide(formula, assuming)
            except ResourceExhausted:
                self._given_up.add(variables)
                quick = None
            self._quick_results[key] = quick
        return self._quick_results[key]

    def _reduced_engine(self, formula: Formula) -> ReducedEngine | None:
        """Return an engine for which some states are enough, where all of them are not met in no time."""
        if self.method != "reduced":
            return None
        part = self._cone(self._component_union(formula), formula)
        variables = frozenset(part.variable)
        reduction = self._reductions.get(variables)
        if reduction is None:
            from cplc.engines.explicit.por_symmetry import ReducedEngines

            reduction = self._reductions[variables] = ReducedEngines(part)
            if (whole := reduction.whole(MAX_EXPLICIT_STATES)) is not None:
                self._engines[variables] = whole
        return None if variables in self._engines else reduction.engine(formula)

    def engine_choice(self, engine: AnyEngine | None) -> tuple[Method, str]:
        """Return the engine that gives an answer, and why it was this one."""
        requested = "" if self._auto else "as asked"
        if engine is not None and not isinstance(engine, Engine):
            return "onthefly", requested or QUICK_SEARCH
        if self.method == "reduced":
            why = requested or "no library for decision diagrams is installed"
            return "reduced", why if engine is None else f"{why}; {engine.extent}"
        return self.method, requested or "decision diagrams know every state"

    @property
    def _is_indivisible(self) -> bool:
        """Whether everything is asked as it stands: of the explicit engine, which judges the others, and of rounds."""
        return self.method == "explicit" or self.system.is_synchronous

    def is_valid(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Whether the formula holds in every initial state; found once for all that differ only in their members.

        One of several conditions on independent slices always holds iff one of them always does: what can be reached
        in each of them can be reached in all of them at once.
        """
        if self._is_indivisible:
            return self._is_valid(formula, assuming)
        groups = self._alternatives(formula)
        if len(groups) > 1:
            return any(self.is_valid(_always_some(group), assuming) for group in groups)
        return self._validity_cache.answer(formula, assuming, lambda: self._is_valid(formula, assuming))

    def _is_valid(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Whether the formula holds in every initial state.

        A disjunction does where one operand does; what can be reached in each of several independent slices can be
        reached in all of them at once.
        """
        if self.method != "explicit":
            match formula:
                case Or(operands):
                    narrow = sorted(operands, key=lambda operand: len(self.slices.components_of(operand)))
                    if any(self.is_valid(operand, assuming) for operand in narrow):
                        return True
                case OnPaths("E", Finally(And(operands), None)):
                    groups = self._independent(operands)
                    if len(groups) > 1:
                        return all(self.is_valid(OnPaths("E", Finally(And(group))), assuming) for group in groups)
                case _:
                    pass
        return self.engine_deciding(formula, assuming).is_valid(formula, assuming)

    def smallest_sufficient(self, formula: Formula) -> Formula:
        """Return what decides that one of several conditions on independent slices always holds: the first of them."""
        groups = () if self._is_indivisible else self._alternatives(formula)
        return _always_some(groups[0]) if groups else formula

    def _alternatives(self, formula: Formula) -> Sequence[tuple[Formula, ...]]:
        """Return the conditions on independent slices of which one always has to hold, if that is what is said."""
        match formula:
            case OnPaths("A", Globally(Or(operands), None), None) if all(map(is_state_formula, operands)):
                return self._independent(operands)
            case _:
                return ()

    def _independent(self, formulas: Iterable[Formula]) -> list[tuple[Formula, ...]]:
        """Return the formulas in groups that depend on disjoint slices."""
        groups: list[tuple[frozenset[str], tuple[Formula, ...]]] = []
        for formula in formulas:
            variables = self._relevant.get(formula)
            if variables is None:
                variables = self._relevant[formula] = self.slices.components_of(formula)
            members: tuple[Formula, ...] = (formula,)
            apart = []
            for group_variables, group in groups:
                if group_variables & variables:
                    variables, members = group_variables | variables, group + members
                else:
                    apart.append((group_variables, group))
            groups = [*apart, (variables, members)]
        return [group for _, group in groups]

    def parts(self, formula: Formula) -> tuple[Part, ...]:
        """Return what holds together where the formula holds; each may depend on less."""
        operands = formula.operands if isinstance(formula, And) else (formula,)
        if self._is_indivisible:
            return tuple(Part(number, operand) for number, operand in enumerate(operands))
        return tuple(Part(number, part) for number, operand in enumerate(operands) for part in conjuncts_of(operand))

    def occurs(self, formula: Formula, deciding: Formula, assuming: frozenset[str]) -> bool:
        """Whether there is such an example; of formulas that differ in which members they name, found once."""
        if self._is_indivisible:
            return self.example(formula, deciding, assuming) is not None
        return self._occurrence_cache.answer(
            formula, assuming, lambda: self.example(formula, deciding, assuming) is not None
        )

    def example(self, formula: Formula, deciding: Formula, assuming: frozenset[str]) -> State | None:
        """Return a reachable state that satisfies a part of the formula that is being decided, if there is one."""
        engine = self.engine_deciding(deciding, assuming)
        if isinstance(engine, Engine) and not engine.has_every_state:  # it knows what its own question takes
            engine = self.engine_deciding(OnPaths("E", Finally(formula)), assuming)
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


def _always_some(group: tuple[Formula, ...]) -> Formula:
    return OnPaths("A", Globally(Or(group) if len(group) > 1 else group[0]))


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


def _bits(system: System) -> int:
    return sum((len(variable.domain) - 1).bit_length() for variable in system.variables)


def _takes_one_run(formula: Formula) -> bool:
    """Whether a run may settle it, and what other runs may look like to agents does not matter."""
    return isinstance(formula, OnPaths) and not any(
        isinstance(part, Commits | Fulfils | Conditional | KnownFrom | Knows | Enforces)
        for part in subformulas(formula)
    )
