"""The symbolic engine: sets of states as binary decision diagrams.

Formulas are evaluated over all assignments and intersected with the reachable states at the end. Successors of
reachable states are reachable, so the value of a formula at a reachable state does not depend on unreachable ones, and
the diagrams of most formulas depend on few variables. Only large diagrams are cut down earlier.

References: Burch, Clarke, McMillan, Dill and Hwang, "Symbolic model checking: 10^20 states and beyond", 1992; Emerson
and Lei, "Efficient model checking in fragments of the propositional mu-calculus", 1986; Raimondi and Lomuscio,
"Automatic verification of multi-agent systems by model checking via ordered binary decision diagrams", 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, Literal, NoReturn, ParamSpec, TypeVar, assert_never

from cplc.engines.interface import Engine
from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.exists_path import ExistsPath
from cplc.engines.symbolic.fairness import FairRuns
from cplc.engines.symbolic.indistinguishability import ObservationProjections, agreement_closure
from cplc.engines.symbolic.reachability import BUDGET, ChainedFixpoints
from cplc.engines.symbolic.synchronous_relation import Round
from cplc.engines.symbolic.transitions import MAX_VARIANTS, Transition
from cplc.engines.symbolic.variable_order import Options, Representation, representation, with_changed_steps
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, reads
from cplc.logic.formulas import Formula
from cplc.runtime.context import MemoryFilled, ResourceExhausted
from cplc.system.model import State, System

if TYPE_CHECKING:
    from cplc.engines.games.fixpoints import Solution, Strategy

P = ParamSpec("P")
T = TypeVar("T")


def _with_node_limit(
    method: Callable[Concatenate[SymbolicEngine, P], T],
) -> Callable[Concatenate[SymbolicEngine, P], T]:
    """Retry after a collection if the manager is full; then raise the error that users of engines expect.

    If the reachable states do not fit, every further call is refused at once with the same reason.
    """

    @wraps(method)
    def guarded(self: SymbolicEngine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._exhaustion_reason is not None:
            raise ResourceExhausted(self._exhaustion_reason)
        # Nothing is collected inside an except clause, where the error keeps the frames with their nodes alive.
        for _ in range(2):
            with suppress(MemoryError):
                return self._recording_exhaustion(lambda: method(self, *args, **kwargs))
            self._collect()
        return self._recording_exhaustion(self._refuse)

    return guarded


class SymbolicEngine(Engine[Node]):
    """The symbolic engine of one system. Everything is computed on demand."""

    name = "symbolic"

    def __init__(
        self,
        system: System,
        backend: str | None = None,
        node_limit: int | None = None,
        *,
        variants: int = MAX_VARIANTS,
        budget: int = BUDGET,
    ) -> None:
        self.system = system
        self._options = Options(backend, node_limit, variants, budget)
        self._exhaustion_reason: str | None = None
        """Reason why the reachable states cannot be computed."""
        self._has_answered = False
        """True if the memory holds sets of an earlier question."""
        self._states_of: dict[tuple[Formula, frozenset[str]], Node] = {}
        self._solutions: dict[tuple[f.Enforces, frozenset[str]], Solution[Node]] = {}
        self._exists_paths: dict[tuple[frozenset[str] | None, frozenset[str], bool], ExistsPath] = {}
        self._fair_runs_by_steps: dict[frozenset[int], FairRuns] = {}

    @cached_property
    def _representation(self) -> Representation:
        return representation(self.system, self._options)

    @property
    def _encoding(self) -> Encoding:
        return self._representation.encoding

    @property
    def _transitions(self) -> tuple[Transition, ...]:
        return self._representation.transitions

    @property
    def _fixpoints(self) -> ChainedFixpoints:
        return self._representation.fixpoints

    @cached_property
    def _fair_runs(self) -> FairRuns:
        return FairRuns(self.system, self._encoding, self._fixpoints, self._recurrent)

    def _recurrent(self, condition: Expr | f.Regardless) -> Node:
        if isinstance(condition, f.Regardless):
            return self._holds(condition, frozenset())
        return self._encoding.condition(condition)

    @cached_property
    def regardless(self) -> SymbolicEngine:
        engine = SymbolicEngine(self.system.without_conditions)
        shared = ("_representation", "_reachable")
        vars(engine).update({name: getattr(self, name) for name in shared})
        return engine

    @property
    def peak(self) -> int:
        """Maximum number of nodes held at once."""
        return self._representation.peak

    @property
    def is_out_of_memory(self) -> bool:
        return "_reachable" in vars(self) and self._encoding.diagrams.is_exhausted

    def _recording_exhaustion(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except ResourceExhausted as limit:
            if "_reachable" not in vars(self):
                self._exhaustion_reason = str(limit)
            elif self._has_answered and self.is_out_of_memory:
                raise MemoryFilled(str(limit)) from None
            raise

    def _refuse(self) -> NoReturn:
        raise self._encoding.diagrams.exhausted()

    def _collect(self) -> None:
        self._encoding.diagrams.collect()

    # --- sets

    @property
    @_with_node_limit
    def reachable(self) -> Node:
        return self._reachable

    @cached_property
    def _reachable(self) -> Node:
        reachable = self._fixpoints.reachable
        for step in self._transitions:
            if reachable & step.out_of_range != self._encoding.false:
                raise ValueError(f"`{step.name}` assigns a variable a value outside of its domain")
        return reachable

    @cached_property
    def _initial(self) -> Node:
        return self._encoding.initial_states(frozenset(self.system.variable))

    @property
    @_with_node_limit
    def initial(self) -> Node:
        return self._initial

    @_with_node_limit
    def where(self, condition: Expr) -> Node:
        return self._reachable & self._encoding.condition(condition)

    @_with_node_limit
    def intersection(self, left: Node, right: Node) -> Node:
        return left & right

    @_with_node_limit
    def union(self, left: Node, right: Node) -> Node:
        return left | right

    @_with_node_limit
    def difference(self, left: Node, right: Node) -> Node:
        return left & ~right

    def is_empty(self, states: Node) -> bool:
        return states == self._encoding.false

    @_with_node_limit
    def count(self, states: Node) -> int:
        return self._encoding.count(states)

    @_with_node_limit
    def pick(self, states: Node) -> State:
        """Return the state whose encoding is first in the order of the diagrams."""
        if self.is_empty(states):
            raise ValueError("an empty set has no state to pick")
        return self._encoding.first(states)

    @_with_node_limit
    def singleton(self, state: State) -> Node:
        states = self._encoding.state(state)
        if states & self._reachable == self._encoding.false:
            raise ValueError("the state is not reachable")
        return states

    @_with_node_limit
    def contains(self, states: Node, state: State) -> bool:
        return self._encoding.contains(states, state)

    # --- steps

    def _selected_transitions(self, steps: Iterable[int] | None) -> Iterable[Transition]:
        transitions = self._fixpoints.transitions
        return transitions if steps is None else (transitions[index] for index in steps)

    @_with_node_limit
    def successors(self, states: Node, steps: Iterable[int] | None = None) -> Node:
        successors = self._encoding.false
        for step in self._selected_transitions(steps):
            successors = successors | step.image(states)
        self._encoding.diagrams.collect_if_needed()
        return successors

    @_with_node_limit
    def predecessors(self, states: Node, steps: Iterable[int] | None = None) -> Node:
        return self._reachable & self._fixpoints.preimage(states, steps)

    # --- formulas

    @_with_node_limit
    def satisfying(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> Node:
        self._projections.expect(formula)
        states = self._reachable & self._holds(formula, assuming)
        self._has_answered = True
        return states

    def _holds(self, formula: Formula, assuming: frozenset[str]) -> Node:
        """Return a set whose reachable members are the states that satisfy the formula."""
        states = self._states_of.get((formula, assuming))
        if states is None:
            states = self._states_of[formula, assuming] = self._evaluated(formula, assuming)
            self._encoding.diagrams.collect_if_needed()
        return states

    def _evaluated(self, formula: Formula, assuming: frozenset[str]) -> Node:
        match formula:
            case f.Atom(condition):
                return self._encoding.condition(condition)
            case f.Not(operand):
                return ~self._holds(operand, assuming)
            case f.And(operands):
                states = self._encoding.true
                for operand in operands:
                    states = states & self._holds(operand, assuming)
                return states
            case f.OnPaths("E", path):
                return self._exists_path(formula, assuming).satisfying(path)
            case f.OnPaths(_, path):
                return ~self._exists_path(formula, assuming).failing(path)
            case f.Adjacent():
                return self._adjacent(formula, self._holds(formula.operand, assuming))
            case f.KnownFrom(observed, operand):
                return ~self._agreeing(observed, ~self._holds(operand, assuming))
            case f.Knows(mode, agents, operand):
                return self._knowledge(mode, agents, self._holds(operand, assuming))
            case f.Regardless(operand):
                return self.regardless._holds(operand, assuming)
            case f.Enforces():
                return self._enforcing(formula, assuming).winning_region
            case f.Derived():
                return self._holds(formula.definition, assuming)
            case f.PathOperator():
                raise ValueError("a path formula needs a path quantifier")
            case _:
                assert_never(formula)

    # --- paths

    def _exists_path(self, formula: f.OnPaths, assuming: frozenset[str], *, by_laws: bool = True) -> ExistsPath:
        """Return the evaluator of existential path formulas; ``along`` restricts it to these steps.

        In a synchronous system a CTL formula may be satisfied by a run that ends.
        """
        along = formula.along
        may_end = by_laws and f.ctl_path(formula) is not None
        key = None if along is None else along.steps, assuming, may_end
        exists_path = self._exists_paths.get(key)
        if exists_path is None:
            fair_runs, allowed = self._fair_runs_along(along)
            exists_path = self._exists_paths[key] = ExistsPath(
                self._encoding,
                fair_runs,
                self._numbers,
                allowed,
                assuming,
                lambda part: self._holds(part, assuming),
                may_end=may_end,
            )
        return exists_path

    @_with_node_limit
    def by_tableau(self, formula: f.OnPaths, assuming: frozenset[str] = frozenset()) -> Node:
        """Return the states that satisfy the formula, by the tableau alone: slow, for cross-checking."""
        some_run = self._exists_path(formula, assuming, by_laws=False)
        if formula.quantifier == "E":
            return self._reachable & some_run.satisfying_by_tableau(formula.path)
        return self._reachable & ~some_run.satisfying_by_tableau(f.Not(formula.path))

    def _fair_runs_along(self, along: f.Taken | None) -> tuple[FairRuns, frozenset[int]]:
        if along is None:
            return self._fair_runs, frozenset(range(len(self._transitions)))
        allowed = frozenset(self._numbers[name] for name in along.steps if name in self._numbers)
        fair_runs = self._fair_runs_by_steps.get(allowed)
        if fair_runs is None:
            fixpoints = self._fixpoints.restricted_to(allowed)
            fair_runs = self._fair_runs_by_steps[allowed] = FairRuns(
                self.system, self._encoding, fixpoints, self._recurrent, allowed
            )
        return fair_runs, allowed

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {step.name: index for index, step in enumerate(self.system.steps)}

    # --- strategies

    @_with_node_limit
    def enforcing(self, formula: f.Enforces, assuming: frozenset[str] = frozenset()) -> Solution[Node]:
        return self._enforcing(formula, assuming)

    @_with_node_limit
    def strategy(
        self, formula: f.Enforces, starts: Node, assuming: frozenset[str] = frozenset()
    ) -> Strategy[Node] | None:
        return super().strategy(formula, starts, assuming)

    def _enforcing(self, formula: f.Enforces, assuming: frozenset[str]) -> Solution[Node]:
        solved = self._solutions.get((formula, assuming))
        if solved is None:
            solved = self._solution(formula, assuming)
            self._solutions[formula, assuming] = solved
        return solved

    def _solution(self, formula: f.Enforces, assuming: frozenset[str]) -> Solution[Node]:
        played = self.as_played_by(formula.group)
        if isinstance(played, SymbolicEngine) and played is not self:
            return played._played(formula, assuming, self._reachable)
        is_counting_all = self.system.has_idle_step
        return self._played(
            formula, assuming, self._encoding.true if is_counting_all else self._reachable & self._considered
        )

    def _played(self, formula: f.Enforces, assuming: frozenset[str], counting: Node) -> Solution[Node]:
        from cplc.engines.games.strategy_solver import solution
        from cplc.engines.symbolic.arena import arena

        def satisfying(operand: Formula) -> Node:
            return self._holds(operand, assuming)

        return solution(arena(self._encoding, self._fixpoints), self.system, formula, assuming, counting, satisfying)

    def _without_bounds_of(self, members: frozenset[str]) -> SymbolicEngine:
        """Return an engine with the same diagrams, whose sets are sets of this engine."""
        engine = SymbolicEngine(self.system.played_by(members))
        engine.free_members = members
        vars(engine).update(_representation=with_changed_steps(self._representation, engine.system, self._options))
        return engine

    # --- rounds

    def _adjacent(self, formula: f.Adjacent, states: Node) -> Node:
        (transition,) = self._fixpoints.transitions
        assert isinstance(transition, Round)
        if formula.back:
            return transition.round_successors(self._within_components(states), formula.same, formula.choice)
        return transition.round_predecessors(states & self._considered, formula.same, formula.choice)

    # --- knowledge and commitments

    def _knowledge(self, mode: Literal["each", "together", "common"], agents: tuple[str, ...], operand: Node) -> Node:
        match mode:
            case "together":
                return ~self._indistinguishable_from(agents, ~operand)
            case "each":
                states = self._encoding.true
                for agent in agents:
                    states = states & ~self._indistinguishable_from((agent,), ~operand)
                return states
            case "common":
                return ~self._reachable_by_doubt(agents, ~operand) if agents else self._encoding.true

    def _reachable_by_doubt(self, agents: tuple[str, ...], missing: Node) -> Node:
        """Return the states from which a chain of indistinguishable states of the agents leads into the set."""
        doubted, more = self._encoding.false, self._within_components(missing)
        while more != doubted:
            # Least fixpoint of the chains of indistinguishable states: the complement of common knowledge.
            doubted = more
            for agent in agents:
                more = more | self._within_components(self._indistinguishable_from((agent,), more))
            self._encoding.diagrams.collect_if_needed()
        return doubted

    def _within_components(self, states: Node, variables: Iterable[str] = ()) -> Node:
        """Intersect a set with the reachable states of the components of its support and of these variables.

        Other components are independent of these and have reachable states.
        """
        support = self._encoding.variables_in(states)
        around = self._fixpoints.reachable_in_components(None if support is None else support.union(variables))
        return states & around & self._considered

    @cached_property
    def _considered(self) -> Node:
        """The states that knowledge and commitments range over: in rounds, those from which a fair run starts."""
        if not self.system.excludes_unfair_states:
            return self._encoding.true
        return self._holds(f.OnPaths("E", f.Globally(f.And(()))), frozenset())

    def _indistinguishable_from(self, agents: tuple[str, ...], states: Node) -> Node:
        """Return the states that the agents together cannot distinguish from a reachable state of the set."""
        around = self._projections.projected(agents, states)
        if around is None:
            around = self._within_components(states)
        return self._encoding.diagrams.exists(around, self._projections.hidden(agents))

    @cached_property
    def _projections(self) -> ObservationProjections:
        return ObservationProjections(self.system, self._encoding, self._fixpoints, lambda: self._considered)

    @_with_node_limit
    def indistinguishable(self, agents: tuple[str, ...], states: Node) -> Node:
        return self._reachable & self._indistinguishable_from(agents, states)

    @_with_node_limit
    def agreeing(self, observed: tuple[Expr, ...], states: Node) -> Node:
        return self._reachable & self._agreeing(observed, states)

    def _agreeing(self, observed: tuple[Expr, ...], states: Node) -> Node:
        """Return the states that agree on all observed expressions with a reachable state of the set."""
        around = self._within_components(states, frozenset().union(*map(reads, observed)))
        return agreement_closure(self._encoding, observed, around)
