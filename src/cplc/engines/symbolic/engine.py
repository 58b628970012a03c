"""The engine for large systems: sets of states as binary decision diagrams.

Formulas are evaluated over all assignments and cut down to the reachable states at the end: successors of reachable
states are reachable, so what a formula says of a reachable state does not depend on unreachable ones, and the diagrams
of most formulas speak of few variables. Only when they grow large are they cut down earlier.

References: Burch, Clarke, McMillan, Dill and Hwang, "Symbolic model checking: 10^20 states and beyond", 1992; Emerson
and Lei, "Efficient model checking in fragments of the propositional mu-calculus", 1986; Raimondi and Lomuscio,
"Automatic verification of multi-agent systems by model checking via ordered binary decision diagrams", 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property, wraps
from typing import Concatenate, Literal, NoReturn, ParamSpec, TypeVar

from cplc.engines.games.fixpoints import Solution, Strategy
from cplc.engines.games.strategy_solver import round_solution, solution
from cplc.engines.interface import Engine
from cplc.engines.symbolic.arena import SymbolicArena, SymbolicRoundArena
from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.exists_path import ExistsPath
from cplc.engines.symbolic.fairness import FairRuns
from cplc.engines.symbolic.indistinguishability import ObservationProjections
from cplc.engines.symbolic.observation import agreement_closure
from cplc.engines.symbolic.reachability import BUDGET, ChainedFixpoints
from cplc.engines.symbolic.representation import Options, Representation, representation
from cplc.engines.symbolic.synchronous_relation import Round
from cplc.engines.symbolic.transitions import VARIANTS, Transition
from cplc.logic.expressions import Expr, reads
from cplc.logic.formulas import (
    Adjacent,
    And,
    Atom,
    Commits,
    Conditional,
    Enforces,
    Formula,
    Fulfils,
    Globally,
    Iff,
    Implies,
    KnownFrom,
    Knows,
    Not,
    OnPaths,
    Or,
    Regardless,
    SociallyCommits,
    Taken,
    ctl_path,
    meaning,
)
from cplc.runtime.limits import ResourceExhausted
from cplc.system.model import State, System

P = ParamSpec("P")
T = TypeVar("T")


def _bounded(
    method: Callable[Concatenate[SymbolicEngine, P], T],
) -> Callable[Concatenate[SymbolicEngine, P], T]:
    """Try again without dead nodes when the manager is full; then raise what users of engines expect.

    Where the reachable states themselves do not fit, every further call is refused with the same reason at once.
    """

    @wraps(method)
    def guarded(self: SymbolicEngine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._too_large is not None:
            raise ResourceExhausted(self._too_large)
        # Nothing is collected inside an except clause, where the error keeps the frames with their nodes alive.
        for _ in range(2):
            with suppress(MemoryError):
                return self._noting_limit(lambda: method(self, *args, **kwargs))
            self._collect()
        return self._noting_limit(self._refuse)

    return guarded


class SymbolicEngine(Engine[Node]):
    """One system, its sets of states as decision diagrams. Nothing is computed before it is asked for."""

    name = "symbolic"

    def __init__(
        self,
        system: System,
        backend: str | None = None,
        node_limit: int | None = None,
        *,
        variants: int = VARIANTS,
        budget: int = BUDGET,
    ) -> None:
        self.system = system
        self._options = Options(backend, node_limit, variants, budget)
        self._too_large: str | None = None
        """Why the reachable states cannot be computed."""
        self._known: dict[tuple[Formula, frozenset[str]], Node] = {}
        self._solved: dict[tuple[Enforces, frozenset[str]], Solution[Node]] = {}
        self._some_runs: dict[tuple[frozenset[str] | None, frozenset[str], bool], ExistsPath] = {}
        self._narrowed: dict[frozenset[int], FairRuns] = {}

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
    def _sweeps(self) -> ChainedFixpoints:
        return self._representation.sweeps

    @cached_property
    def _fair_runs(self) -> FairRuns:
        return FairRuns(self.system, self._encoding, self._sweeps, self._recurrent)

    def _recurrent(self, condition: Expr | Regardless) -> Node:
        if isinstance(condition, Regardless):
            return self._holds(condition, frozenset())
        return self._encoding.condition(condition)

    @cached_property
    def regardless(self) -> SymbolicEngine:
        engine = SymbolicEngine(self.system.without_conditions)
        known = ("_representation", "_reachable")
        vars(engine).update({name: getattr(self, name) for name in known})
        return engine

    @property
    def peak(self) -> int:
        """The largest number of nodes that were held at once."""
        return self._representation.peak

    @property
    def is_out_of_memory(self) -> bool:
        return "_reachable" in vars(self) and self._encoding.diagrams.is_exhausted

    def _noting_limit(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except ResourceExhausted as limit:
            if "_reachable" not in vars(self):
                self._too_large = str(limit)
            raise

    def _refuse(self) -> NoReturn:
        raise self._encoding.diagrams.exhausted()

    def _collect(self) -> None:
        self._encoding.diagrams.collect()

    # --- sets

    @property
    @_bounded
    def reachable(self) -> Node:
        return self._reachable

    @cached_property
    def _reachable(self) -> Node:
        found = self._sweeps.reachable
        for step in self._transitions:
            if found & step.out_of_range != self._encoding.false:
                raise ValueError(f"`{step.name}` assigns a variable what is none of its values")
        return found

    @cached_property
    def _initial(self) -> Node:
        return self._encoding.initial_states(frozenset(self.system.variable))

    @property
    @_bounded
    def initial(self) -> Node:
        return self._initial

    @_bounded
    def where(self, condition: Expr) -> Node:
        return self._reachable & self._encoding.condition(condition)

    @_bounded
    def intersection(self, left: Node, right: Node) -> Node:
        return left & right

    @_bounded
    def union(self, left: Node, right: Node) -> Node:
        return left | right

    @_bounded
    def difference(self, left: Node, right: Node) -> Node:
        return left & ~right

    def is_empty(self, states: Node) -> bool:
        return states == self._encoding.false

    @_bounded
    def count(self, states: Node) -> int:
        return self._encoding.count(states)

    @_bounded
    def pick(self, states: Node) -> State:
        """Return the state whose codes come first in the order of the diagrams."""
        if self.is_empty(states):
            raise ValueError("an empty set has no state to pick")
        return self._encoding.first(states)

    @_bounded
    def singleton(self, state: State) -> Node:
        found = self._encoding.state(state)
        if found & self._reachable == self._encoding.false:
            raise ValueError("the state is not reachable")
        return found

    @_bounded
    def contains(self, states: Node, state: State) -> bool:
        return self._encoding.contains(states, state)

    # --- steps

    def _taken(self, steps: Iterable[int] | None) -> Iterable[Transition]:
        transitions = self._sweeps.transitions
        return transitions if steps is None else (transitions[index] for index in steps)

    @_bounded
    def successors(self, states: Node, steps: Iterable[int] | None = None) -> Node:
        found = self._encoding.false
        for step in self._taken(steps):
            found = found | step.image(states)
        self._encoding.diagrams.collect_if_needed()
        return found

    @_bounded
    def predecessors(self, states: Node, steps: Iterable[int] | None = None) -> Node:
        return self._reachable & self._sweeps.preimage(states, steps)

    # --- formulas

    @_bounded
    def satisfying(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> Node:
        self._seen.expect(formula)
        return self._reachable & self._holds(formula, assuming)

    def _holds(self, formula: Formula, assuming: frozenset[str]) -> Node:
        """Return a set whose reachable members are those that satisfy the formula."""
        known = self._known.get((formula, assuming))
        if known is None:
            known = self._known[formula, assuming] = self._evaluated(formula, assuming)
            self._encoding.diagrams.collect_if_needed()
        return known

    def _evaluated(self, formula: Formula, assuming: frozenset[str]) -> Node:
        encoding = self._encoding
        match formula:
            case Atom(condition):
                return encoding.condition(condition)
            case Not(operand):
                return ~self._holds(operand, assuming)
            case And(operands):
                found = encoding.true
                for operand in operands:
                    found = found & self._holds(operand, assuming)
                return found
            case Or(operands):
                found = encoding.false
                for operand in operands:
                    found = found | self._holds(operand, assuming)
                return found
            case Implies(left, right):
                return ~self._holds(left, assuming) | self._holds(right, assuming)
            case Iff(left, right):
                one, other = self._holds(left, assuming), self._holds(right, assuming)
                return (one & other) | (~one & ~other)
            case OnPaths("E", path):
                return self._some_run(formula, assuming).satisfying(path)
            case OnPaths(_, path):
                return ~self._some_run(formula, assuming).failing(path)
            case Adjacent():
                return self._adjacent(formula, self._holds(formula.operand, assuming))
            case Commits() | Fulfils() | Conditional() | SociallyCommits():
                return self._holds(meaning(formula), assuming)
            case KnownFrom(observed, operand):
                return ~self._agreeing(observed, ~self._holds(operand, assuming))
            case Knows(mode, agents, operand):
                return self._knowledge(mode, agents, self._holds(operand, assuming))
            case Regardless(operand):
                return self.regardless._holds(operand, assuming)
            case Enforces():
                return self._enforcing(formula, assuming).won
            case _:
                raise ValueError("only a path decides the formula")

    # --- paths

    def _some_run(self, formula: OnPaths, assuming: frozenset[str], *, by_laws: bool = True) -> ExistsPath:
        """Return the judge of single fair runs; ``along`` leaves them these steps alone.

        In a synchronous system what is CTL may be met by a run that ends.
        """
        along = formula.along
        may_end = by_laws and ctl_path(formula) is not None
        key = None if along is None else along.steps, assuming, may_end
        known = self._some_runs.get(key)
        if known is None:
            fair_runs, allowed = self._fair_runs_along(along)
            known = self._some_runs[key] = ExistsPath(
                self._encoding,
                fair_runs,
                self._numbers,
                allowed,
                assuming,
                lambda part: self._holds(part, assuming),
                may_end=may_end,
            )
        return known

    @_bounded
    def by_tableau(self, formula: OnPaths, assuming: frozenset[str] = frozenset()) -> Node:
        """Return the states that satisfy it, found without the laws that make it simpler: slowly, as a check."""
        some_run = self._some_run(formula, assuming, by_laws=False)
        if formula.quantifier == "E":
            return self._reachable & some_run.satisfying_by_tableau(formula.path)
        return self._reachable & ~some_run.satisfying_by_tableau(Not(formula.path))

    def _fair_runs_along(self, along: Taken | None) -> tuple[FairRuns, frozenset[int]]:
        if along is None:
            return self._fair_runs, frozenset(range(len(self._transitions)))
        allowed = frozenset(self._numbers[name] for name in along.steps if name in self._numbers)
        known = self._narrowed.get(allowed)
        if known is None:
            sweeps = self._sweeps.among(allowed)
            known = self._narrowed[allowed] = FairRuns(self.system, self._encoding, sweeps, self._recurrent, allowed)
        return known, allowed

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {step.name: index for index, step in enumerate(self.system.steps)}

    # --- strategies

    @_bounded
    def enforcing(self, formula: Enforces, assuming: frozenset[str] = frozenset()) -> Solution[Node]:
        return self._enforcing(formula, assuming)

    @_bounded
    def strategy(
        self, formula: Enforces, starts: Node, assuming: frozenset[str] = frozenset()
    ) -> Strategy[Node] | None:
        return super().strategy(formula, starts, assuming)

    def _enforcing(self, formula: Enforces, assuming: frozenset[str]) -> Solution[Node]:
        known = self._solved.get((formula, assuming))
        if known is None:
            known = self._solution(formula, assuming)
            self._solved[formula, assuming] = known
        return known

    def _solution(self, formula: Enforces, assuming: frozenset[str]) -> Solution[Node]:
        def satisfying(operand: Formula) -> Node:
            return self._holds(operand, assuming)

        if not self.system.is_synchronous:
            arena = SymbolicArena(self._encoding, self._sweeps)
            return solution(arena, self.system, formula, assuming, satisfying)
        (transition,) = self._sweeps.transitions
        assert isinstance(transition, Round)
        rounds = SymbolicRoundArena(self._encoding, self._sweeps, transition)
        return round_solution(rounds, self.system, formula, self._reachable & self._considered, satisfying)

    # --- rounds

    def _adjacent(self, formula: Adjacent, states: Node) -> Node:
        (transition,) = self._sweeps.transitions
        assert isinstance(transition, Round)
        if formula.back:
            return transition.adjacent_back(self._around(states), formula.same, formula.choice)
        return transition.adjacent(states & self._considered, formula.same, formula.choice)

    # --- knowledge and commitments

    def _knowledge(self, mode: Literal["each", "together", "common"], agents: tuple[str, ...], known: Node) -> Node:
        match mode:
            case "together":
                return ~self._alike(agents, ~known)
            case "each":
                found = self._encoding.true
                for agent in agents:
                    found = found & ~self._alike((agent,), ~known)
                return found
            case "common":
                return ~self._doubted(agents, ~known) if agents else self._encoding.true

    def _doubted(self, agents: tuple[str, ...], missing: Node) -> Node:
        """Return the states from which a chain of look-alikes, of one agent after the other, leads into the set."""
        found, more = self._encoding.false, self._around(missing)
        while more != found:
            found = more
            for agent in agents:
                more = more | self._around(self._alike((agent,), more))
            self._encoding.diagrams.collect_if_needed()
        return found

    def _around(self, states: Node, variables: Iterable[str] = ()) -> Node:
        """Cut a set down to the reachable states of the components that it, or one of the variables, belongs to.

        The other components have reachable states whatever these do.
        """
        support = self._encoding.variables_in(states)
        around = self._sweeps.reachable_around(None if support is None else support.union(variables))
        return states & around & self._considered

    @cached_property
    def _considered(self) -> Node:
        """The states that knowledge and commitments are about: in rounds those that begin a fair run."""
        if not (self.system.is_synchronous and self.system.conditions):
            return self._encoding.true
        return self._holds(OnPaths("E", Globally(And(()))), frozenset())

    def _alike(self, agents: tuple[str, ...], states: Node) -> Node:
        """Return what looks to these agents together like a reachable state of the set."""
        around = self._seen.projected(agents, states)
        if around is None:
            around = self._around(states)
        return self._encoding.diagrams.exists(around, self._seen.hidden(agents))

    @cached_property
    def _seen(self) -> ObservationProjections:
        return ObservationProjections(self.system, self._encoding, self._sweeps, lambda: self._considered)

    @_bounded
    def indistinguishable(self, agents: tuple[str, ...], states: Node) -> Node:
        return self._reachable & self._alike(agents, states)

    @_bounded
    def agreeing(self, observed: tuple[Expr, ...], states: Node) -> Node:
        return self._reachable & self._agreeing(observed, states)

    def _agreeing(self, observed: tuple[Expr, ...], states: Node) -> Node:
        """Return what agrees in all that is observed with a reachable state of the set."""
        around = self._around(states, frozenset().union(*map(reads, observed)))
        return agreement_closure(self._encoding, observed, around)
