"""Selection of the engine and of the reduced system that decide a formula, cached per system."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from cplc.checking.results import QUICK_SEARCH
from cplc.checking.verdict_cache import UpToSymmetry
from cplc.engines.interface import Engine
from cplc.engines.symbolic.bdd import BACKENDS
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.formulas import (
    And,
    Enforces,
    Finally,
    Formula,
    Globally,
    KnownFrom,
    Knows,
    OnPaths,
    Or,
    invariant,
    is_state_formula,
    possibility,
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
    # Sets of states are opaque and go back to the engine that made them.

Method = Literal["symbolic", "explicit", "onthefly", "reduced"]
"""``explicit`` uses no reduction: it is the reference for the others."""
EngineName = Literal["auto"] | Method

QUICK_SEARCH_EFFORT = 12_000
"""Work units of the search on the fly before decision diagrams are built: some tenths of a second."""
MAX_EXPLICIT_STATES = 20_000
"""Up to this many states the whole state space is explored once for all questions."""
MIN_BITS_FOR_CONE = 64
"""Minimum size of a state for cone-of-influence reduction."""
MIN_BITS_FOR_QUICK_SEARCH = 128
"""Minimum size of a state for a search on the fly before decision diagrams are built."""


@dataclass(frozen=True)
class Part:
    """One conjunct of a question, and the number of the operand that it comes from."""

    operand: int
    formula: Formula


def method_of(engine: EngineName) -> Method:
    if engine != "auto":
        return engine
    return "symbolic" if any(find_spec(name.partition(".")[0]) for name in BACKENDS) else "reduced"


class EngineSelector:
    """One system and the engines of its components and cones, each built once."""

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
        """By the identity of the component, which lives as long as this selector."""
        self._cone_systems: dict[int, System] = {}
        self._quick_results: dict[tuple[Formula, frozenset[str]], OnTheFlyEngine | None] = {}
        self._given_up: set[frozenset[str]] = set()
        self._reductions: dict[frozenset[str], ReducedEngines] = {}
        self._relevant: dict[Formula, frozenset[str]] = {}

    def engine_for(self, formula: Formula) -> AnyEngine:
        """Return the engine of the cone of influence of the formula."""
        if self.method == "explicit":
            return self.engine_of(self.system)
        return self.engine_of(self._cone(self._component_union(formula), formula))

    def unreduced_engine_for(self, formula: Formula) -> AnyEngine:
        """Return the engine of the components of the formula, without cone-of-influence reduction."""
        return self.engine_of(self._component_union(formula))

    def engine_of(self, system: System) -> AnyEngine:
        """Return the engine of a part of the system, built once."""
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
        """Return the independent components that the formula depends on."""
        return self.slices.slice(self.slices.components_of(formula))

    def unreduced(self, engine: AnyEngine) -> System:
        """Return the independent components that the engine's system is a cone of."""
        return self.slices.slice(self.slices.component_closure(engine.system.variable))

    def other_components(self, part: System) -> tuple[System, ...]:
        """Return the independent components of the system that a union of components leaves out."""
        return tuple(self.slices.slice(one) for one in self.slices.components if not one <= part.variable.keys())

    def _cone(self, wide: System, formula: Formula) -> System:
        """Return the cone of influence of the formula, if the components are large enough for it to matter.

        The first cone is reused. A formula that depends on more is decided on the whole components, so that at most two
        state spaces are explored.
        """
        if _bits(wide) < MIN_BITS_FOR_CONE:
            return wide
        cones = self._cones.get(id(wide))
        if cones is None:
            cones = self._cones[id(wide)] = ConeOfInfluence(wide)
        relevant = cones.cone(formula)
        narrow = self._cone_systems.get(id(wide))
        if narrow is None:
            narrow = self._cone_systems[id(wide)] = (
                project_to_cone(wide, relevant) if len(relevant) < len(wide.variables) else wide
            )
        return narrow if relevant <= narrow.variable.keys() else wide

    def engine_deciding(self, formula: Formula, assuming: frozenset[str]) -> AnyEngine:
        """Return the cheapest engine that decides the formula.

        Limits are counted in states, not in seconds, so the choice is deterministic.
        """
        return self._quick_search(formula, assuming) or self._reduced_engine(formula) or self.engine_for(formula)

    def _quick_search(self, formula: Formula, assuming: frozenset[str]) -> OnTheFlyEngine | None:
        """Return a search on the fly that decided the formula within its limit.

        After one failure it is not tried again: the decision diagrams then serve all further questions.
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
        """Return an engine on a reduced state space, unless the whole one is small."""
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
        """Return the name of the engine, and the reason for this choice."""
        requested = "" if self._auto else "as asked"
        if engine is not None and not isinstance(engine, Engine):
            return "onthefly", requested or QUICK_SEARCH
        if self.method == "reduced":
            why = requested or "no library for decision diagrams is installed"
            return "reduced", why if engine is None else f"{why}; {engine.extent}"
        return self.method, requested or "decision diagrams know every state"

    @property
    def _is_indivisible(self) -> bool:
        """Tell whether questions are not decomposed: for the explicit engine and for synchronous systems."""
        return self.method == "explicit" or self.system.is_synchronous

    def is_valid(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether the formula holds in every initial state; decided once up to symmetry.

        Let p and q depend on independent components. Then `AG (p | q)` holds iff `AG p` or `AG q` does, since the
        reachable states are the product of those of the components.
        """
        if self._is_indivisible:
            return self._is_valid(formula, assuming)
        groups = self._alternatives(formula)
        if len(groups) > 1:
            return any(self.is_valid(_always_some(group), assuming) for group in groups)
        return self._validity_cache.answer(formula, assuming, lambda: self._is_valid(formula, assuming))

    def _is_valid(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether the formula holds in every initial state.

        A disjunction does if one operand does. `EF (p & q)` is `EF p & EF q` if p and q depend on independent
        components.
        """
        if self.method != "explicit":
            reached = possibility(formula)
            if isinstance(formula, Or):
                narrow = sorted(formula.operands, key=lambda operand: len(self.slices.components_of(operand)))
                if any(self.is_valid(operand, assuming) for operand in narrow):
                    return True
            elif isinstance(reached, And):
                groups = self._independent(reached.operands)
                if len(groups) > 1:
                    return all(self.is_valid(OnPaths("E", Finally(And(group))), assuming) for group in groups)
        return self.engine_deciding(formula, assuming).is_valid(formula, assuming)

    def smallest_sufficient(self, formula: Formula) -> Formula:
        """Return a formula on fewer components that decides this one: the first alternative, if there are any."""
        groups = () if self._is_indivisible else self._alternatives(formula)
        return _always_some(groups[0]) if groups else formula

    def _alternatives(self, formula: Formula) -> Sequence[tuple[Formula, ...]]:
        """Return the operands of `AG (p | q | …)`, grouped by independent components; empty for other formulas."""
        always = invariant(formula)
        if isinstance(always, Or) and all(map(is_state_formula, always.operands)):
            return self._independent(always.operands)
        return ()

    def _independent(self, formulas: Iterable[Formula]) -> list[tuple[Formula, ...]]:
        """Group the formulas so that different groups depend on disjoint components."""
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
        """Return the conjuncts of the formula; each may depend on fewer components."""
        operands = formula.operands if isinstance(formula, And) else (formula,)
        if self._is_indivisible:
            return tuple(Part(number, operand) for number, operand in enumerate(operands))
        return tuple(Part(number, part) for number, operand in enumerate(operands) for part in conjuncts_of(operand))

    def occurs(self, formula: Formula, deciding: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether some reachable state satisfies the formula; decided once up to symmetry."""
        if self._is_indivisible:
            return self.example(formula, deciding, assuming) is not None
        return self._occurrence_cache.answer(
            formula, assuming, lambda: self.example(formula, deciding, assuming) is not None
        )

    def example(self, formula: Formula, deciding: Formula, assuming: frozenset[str]) -> State | None:
        """Return a reachable state that satisfies the formula, from the state space of the formula ``deciding``."""
        engine = self.engine_deciding(deciding, assuming)
        if isinstance(engine, Engine) and not engine.has_every_state:  # its state space is reduced for its own question
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
    """Tell whether one run may decide the formula: a path quantifier without epistemic or strategic operators."""
    return isinstance(formula, OnPaths) and not any(
        isinstance(part, KnownFrom | Knows | Enforces | Commits | Fulfils | Conditional)
        for part in subformulas(formula)
    )
