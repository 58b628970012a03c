"""Explicit-state model checking: a direct implementation of the definitions on the enumerated states.

It is the reference for every other engine and shares no algorithm with them. It searches for the reachable states,
decides fairness by strongly connected components, and knowledge and commitments by dictionaries of local states. Path
formulas beyond CTL are decided in the product with an automaton.

A set is a string of bytes, one for each reachable state in breadth-first order: 1 where the state is in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, assert_never

from cplc.automata.path_automaton import automaton
from cplc.engines.explicit.path_formulas import FairnessConstraints, Product, links
from cplc.engines.interface import Engine
from cplc.logic import expressions as expr
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Read
from cplc.logic.formulas import Formula
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.graph_algorithms import (
    backward_reachable,
    members,
    merged_classes,
    strongly_connected_components,
)
from cplc.statespace.packing import MemoTable
from cplc.statespace.state_graph import StateGraph, explore
from cplc.system.model import State, System

if TYPE_CHECKING:
    from cplc.engines.explicit.arena import ExplicitArena, ExplicitRoundArena
    from cplc.engines.games.fixpoints import Solution

States = bytes
_WIDE = 16
"""Conditions over more bits than this are split: otherwise nearly every state would be a pattern of its own."""
_REMEMBERED_BYTES = 1 << 26


class ExplicitEngine(Engine[States]):
    """The engine for one system with at most ``limit`` reachable states."""

    name = "explicit"

    def __init__(self, system: System, limit: int = 5_000_000) -> None:
        self.system = system
        self.limit = limit
        self._remembered: dict[Hashable, States] = {}
        self._solved: dict[tuple[f.Enforces, frozenset[str]], Solution[States]] = {}
        self._predecessors_without: dict[f.Taken, list[array[int]]] = {}

    @cached_property
    def _graph(self) -> StateGraph:
        return explore(self.system, self.limit)

    def use(self, graph: StateGraph) -> None:
        """Use this graph instead of exploring the system."""
        vars(self).update(_graph=graph)

    @cached_property
    def size(self) -> int:
        """The number of states."""
        return len(self._graph.states)

    # --- sets

    @cached_property
    def reachable(self) -> States:
        return b"\1" * self.size

    @cached_property
    def _nothing(self) -> States:
        return bytes(self.size)

    @cached_property
    def initial(self) -> States:
        return (b"\1" * self._graph.initial).ljust(self.size, b"\0")

    def where(self, condition: Expr) -> States:
        return self._once(("where", condition), lambda: self._where(condition))

    def _where(self, condition: Expr) -> States:
        if isinstance(condition, expr.Const):
            return self.reachable if condition.value else self._nothing
        packing = self._graph.packing
        mask = packing.mask(expr.reads(condition))
        if mask.bit_count() > _WIDE:
            match condition:
                case expr.And(operands):
                    return self._all(self.where(operand) for operand in operands)
                case expr.Or(operands):
                    return self._any(self.where(operand) for operand in operands)
                case expr.Not(operand):
                    return self.complement(self.where(operand))
                case expr.Ite(test, then, otherwise):
                    chosen = self.where(test)
                    satisfying = self.intersection(chosen, self.where(then))
                    return self.union(satisfying, self.difference(self.where(otherwise), chosen))
                case _:
                    pass
        holds = MemoTable(packing.condition(condition))
        return bytes([holds[state & mask] for state in self._graph.states])

    def intersection(self, left: States, right: States) -> States:
        return (int.from_bytes(left, "little") & int.from_bytes(right, "little")).to_bytes(self.size, "little")

    def union(self, left: States, right: States) -> States:
        return (int.from_bytes(left, "little") | int.from_bytes(right, "little")).to_bytes(self.size, "little")

    def difference(self, left: States, right: States) -> States:
        return (int.from_bytes(left, "little") & ~int.from_bytes(right, "little")).to_bytes(self.size, "little")

    def _all(self, sets: Iterable[States]) -> States:
        common = self.reachable
        for states in sets:
            common = self.intersection(common, states)
        return common

    def _any(self, sets: Iterable[States]) -> States:
        union = self._nothing
        for states in sets:
            union = self.union(union, states)
        return union

    def is_empty(self, states: States) -> bool:
        return 1 not in states

    def count(self, states: States) -> int:
        return states.count(1)

    def pick(self, states: States) -> State:
        """Return the first state of the set in breadth-first order."""
        number = states.find(1)
        if number < 0:
            raise ValueError("an empty set has no state to pick")
        return self._graph.packing.unpack(self._graph.states[number])

    def singleton(self, state: State) -> States:
        number = self._graph.number.get(self._graph.packing.pack(state))
        if number is None:
            raise ValueError("the state is not reachable")
        return self._set((number,))

    def contains(self, states: States, state: State) -> bool:
        number = self._graph.number.get(self._graph.packing.pack(state))
        if number is None:
            raise ValueError("the state is not reachable")
        return bool(states[number])

    def _set(self, numbers: Iterable[int]) -> States:
        flags = bytearray(self.size)
        for number in numbers:
            flags[number] = 1
        return bytes(flags)

    def _once(self, key: Hashable, compute: Callable[[], States]) -> States:
        """Return the cached set, or compute it."""
        cached = self._remembered.get(key)
        if cached is None:
            cached = compute()
            if len(self._remembered) * self.size > _REMEMBERED_BYTES:
                self._remembered.clear()
            self._remembered[key] = cached
        return cached

    # --- steps

    def successors(self, states: States, steps: Iterable[int] | None = None) -> States:
        graph = self._graph
        if steps is None:
            return self._set(target for state in members(states) for target in graph.after(state))
        taken = frozenset(steps)
        return self._set(target for state in members(states) for step, target in graph.edges(state) if step in taken)

    def predecessors(self, states: States, steps: Iterable[int] | None = None) -> States:
        graph = self._graph
        before = self._set(source for state in members(states) for source in graph.before(state))
        if steps is None:
            return before
        taken = frozenset(steps)
        return self._set(
            source
            for source in members(before)
            if any(step in taken and states[target] for step, target in graph.edges(source))
        )

    # --- formulas

    def satisfying(self, formula: Formula, assuming: frozenset[str] = frozenset()) -> States:
        return self._once((formula, assuming), lambda: self._satisfying(formula, assuming))

    def _satisfying(self, formula: Formula, assuming: frozenset[str]) -> States:
        def states(operand: Formula) -> States:
            return self.satisfying(operand, assuming)

        match formula:
            case f.Atom(condition):
                return self.where(condition)
            case f.Not(operand):
                return self.complement(states(operand))
            case f.And(operands):
                return self._all(map(states, operands))
            case f.OnPaths(quantifier, path, along):
                if (ctl := f.ctl_path(formula)) is not None:
                    operator = f.ctl_core(ctl)
                    if quantifier == "E":
                        return self._some_path(operator, assuming)
                    return self.complement(self._some_path(f.dual(operator), assuming))
                if quantifier == "E":
                    return self._some_run(path, along, assuming)
                return self.complement(self._some_run(f.Not(path), along, assuming))
            case f.KnownFrom(observed, operand):
                lacking = self.difference(self._considered, states(operand))
                return self.complement(self.agreeing(observed, lacking))
            case f.Knows(mode, agents, operand):
                if mode == "each":
                    return self._all(self._knows((agent,), states(operand)) for agent in agents)
                return (self._knows if mode == "together" else self._common_knowledge)(agents, states(operand))
            case f.Adjacent(operand):
                return self._adjacent(formula, self.intersection(states(operand), self._considered))
            case f.Regardless(operand):
                return self.regardless.satisfying(operand, assuming)
            case f.Enforces():
                return self.enforcing(formula, assuming).winning_region
            case f.Derived():
                return states(formula.definition)
            case f.PathOperator():
                raise ValueError("a path formula needs a path quantifier")
            case _:
                assert_never(formula)

    @cached_property
    def regardless(self) -> ExplicitEngine:
        engine = ExplicitEngine(self.system.without_conditions, self.limit)
        engine.use(self._graph)
        return engine

    # --- paths

    def _some_path(self, path: f.CtlOperator, assuming: frozenset[str]) -> States:
        """Return the states from which a fair run satisfies the path formula."""

        def states(operand: Formula) -> States:
            return self.satisfying(operand, assuming)

        match path:
            case f.Next(operand):
                return self._next(self._ending(states(operand), assuming))
            case f.Until(left, right, bound):
                return self._until(states(left), self._ending(states(right), assuming), bound)
            case f.Release(left, right, None):
                until = self._until(
                    states(right), self._ending(self.intersection(states(left), states(right)), assuming), None
                )
                return self.union(until, self._fair_globally(states(right), assuming))
            case f.Release(left, right, bound):
                assert bound is not None
                return self._released_within(left, right, bound, assuming)
            case _:
                assert_never(path)

    def _fair(self, assuming: frozenset[str]) -> States:
        """Return the states in which a finite CTL witness may end because a fair run continues from there.

        Justice alone never excludes a state: taking the steps in turn meets it. Fairness conditions can.
        """
        return self._lasting(assuming) if self.system.may_lack_fair_runs else self.reachable

    def _lasting(self, assuming: frozenset[str]) -> States:
        """Return the states from which an infinite fair run begins."""
        if self._graph.relation.has_idle_step and not self.system.may_lack_fair_runs:
            return self.reachable
        return self._once(("fair", assuming), lambda: self._fair_globally(self.reachable, assuming))

    @cached_property
    def _considered(self) -> States:
        """The states that the accessibility relations of knowledge and commitments relate."""
        return self.reachable if self._graph.relation.has_idle_step else self._fair(frozenset())

    def _ending(self, goal: States, assuming: frozenset[str]) -> States:
        """Return the goal states from which some fair run continues."""
        return self.intersection(goal, self._fair(assuming))

    def _next(self, goal: States) -> States:
        """Return the states with a successor in the goal, by the idle step if there is one."""
        before = self.predecessors(goal)
        return self.union(goal, before) if self._graph.relation.has_idle_step else before

    def _until(self, through: States, goal: States, bound: f.Bound | None) -> States:
        """Return the states from which the goal is reached within the bound, through these states."""
        if bound is None:
            return backward_reachable(self._graph.before, through, goal)
        ticks, nothing = bound.ticks, self._nothing
        reaching = self._layers(through, goal, nothing, ticks, bound.high - bound.low + 1)
        return self._layers(through, nothing, reaching, ticks, bound.low)

    def _released_within(self, left: Formula, right: Formula, bound: f.Bound, assuming: frozenset[str]) -> States:
        """Return the states from which a fair run satisfies ``left R right`` within the bound.

        After the window, any fair run goes on; without another tick, a run need not reach its end.
        """
        keep, ticks = self.satisfying(right, assuming), bound.ticks
        release = self._ending(self.satisfying(left, assuming), assuming)
        enough, anyhow, layers = self.intersection(release, keep), release, bound.high - bound.low
        if ticks is None:
            staying = self._ending(keep, assuming)
        else:
            still = f.Globally(f.Not(ticks))
            enough = self.union(enough, self.satisfying(f.OnPaths("E", f.And((f.Globally(right), still))), assuming))
            anyhow = self.union(release, self.satisfying(f.OnPaths("E", still), assuming))
            staying = self._layers(keep, enough, self._fair(assuming), ticks, 1)
        staying = self._layers(keep, enough, staying, ticks, layers)
        return self._layers(self.reachable, anyhow, staying, ticks, bound.low)

    def _layers(self, through: States, goal: States, states: States, ticks: f.Taken | None, number: int) -> States:
        """Return where a path reaches the goal or, after this number of ticks (or steps), one of the states.

        All states before are in ``through``.
        """
        for _ in range(number):
            # Invariant: after i rounds, `states` has the states with i ticks (or steps) left.
            before = self._next(states) if ticks is None else self.predecessors(states, self._numbers(ticks))
            layer = self.union(goal, self.intersection(through, before))
            if ticks is not None:
                layer = backward_reachable(self._before_without(ticks), through, layer)
            if layer == states:
                break
            states = layer
        return states

    def _numbers(self, taken: f.Taken) -> frozenset[int]:
        return frozenset(number for number, name in enumerate(self._graph.relation.labels) if name in taken.steps)

    def _before_without(self, taken: f.Taken) -> Callable[[int], Iterable[int]]:
        """Return the predecessors of a state by other steps."""
        predecessors = self._predecessors_without.get(taken)
        if predecessors is None:
            excluded = self._numbers(taken)
            predecessors = self._predecessors_without[taken] = [array("I") for _ in range(self.size)]
            for source in range(self.size):
                for step, target in self._graph.edges(source):
                    if step not in excluded:
                        predecessors[target].append(source)
        return predecessors.__getitem__

    def _fair_globally(self, keep: States, assuming: frozenset[str]) -> States:
        """Return the states from which a fair run stays in the set.

        Such a run reaches a strongly connected component of the set that meets every fairness constraint. If there is
        an idle step, a single state may be such a component.
        """
        graph = self._graph
        constraints = self._constraints(assuming)
        resting_reachable = self._nothing
        if graph.relation.has_idle_step:
            resting = self._set(state for state in members(keep) if constraints.met_within((state,)))
            resting_reachable = backward_reachable(graph.before, keep, resting)
        rest = self.difference(keep, resting_reachable)
        parts = (
            part
            for part in strongly_connected_components(graph.after, rest)
            if graph.relation.has_idle_step or len(part) > 1 or part[0] in graph.after(*part)
        )
        cycling = self._set(member for part in parts if constraints.met_within(set(part)) for member in part)
        return self.union(resting_reachable, backward_reachable(graph.before, keep, cycling))

    def _constraints(self, assuming: frozenset[str], permitted: bytes | None = None) -> FairnessConstraints:
        fairness = [self.recurrent(condition) for condition in self.system.conditions]
        allowed = None if permitted is None else frozenset(step for step, may in enumerate(permitted) if may)
        justice = self.system.constraints(assuming, allowed)
        waiting = [None if one.due is None else self.where(one.due) for one in justice]
        return FairnessConstraints(self._graph, justice, waiting, fairness)

    def _some_run(self, path: Formula, along: f.Taken | None, assuming: frozenset[str]) -> States:
        """Return the states from which some fair run, by these steps alone, satisfies the path formula."""
        reader = automaton(path)
        if self.size * len(reader.edges) > self.limit:
            raise ResourceExhausted(f"more than {self.limit:,} pairs of a state and of what a path must do from there")
        relation = self._graph.relation
        permitted = bytes([along is None or name in along.steps for name in relation.labels])
        product = Product(
            self._graph,
            links(reader, relation.labels, permitted, idling=relation.has_idle_step),
            [self.satisfying(label, assuming) for label in reader.labels],
            reader.marks,
            self._constraints(assuming, permitted),
        )
        accepting_from: dict[int, bytes] = {}
        if along is None or not self.system.may_lack_fair_runs:  # fairness may need a step that is not permitted
            ends = filter(reader.accepts_everything, range(len(reader.edges)))
            accepting_from = {state: self._lasting(assuming) for state in ends}
        return product.beginning(reader.initial, accepting_from)

    # --- strategies

    def enforcing(self, formula: f.Enforces, assuming: frozenset[str] = frozenset()) -> Solution[States]:
        cached = self._solved.get((formula, assuming))
        if cached is None:
            cached = self._solution(formula, assuming)
            self._solved[formula, assuming] = cached
        return cached

    def _solution(self, formula: f.Enforces, assuming: frozenset[str]) -> Solution[States]:
        played = self.as_played_by(formula.group)
        if not isinstance(played, ExplicitEngine) or played is self:
            return self._played(formula, assuming, self._considered)
        result = played._played(formula, assuming, self.embedded(self.reachable, played))
        return replace(result, winning_region=bytes([result.winning_region[n] for n in self._numbers_in(played)]))

    def _played(self, formula: f.Enforces, assuming: frozenset[str], counting: States) -> Solution[States]:
        from cplc.engines.games.strategy_solver import solution

        def satisfying(operand: Formula) -> States:
            return self.satisfying(operand, assuming)

        return solution(self._arena, self.system, formula, assuming, counting, satisfying)

    def _without_bounds_of(self, members: frozenset[str]) -> ExplicitEngine:
        engine = ExplicitEngine(self.system.played_by(members), self.limit)
        engine.free_members = members
        return engine

    def embedded(self, states: States, into: Engine[States]) -> States:
        if not isinstance(into, ExplicitEngine) or into is self:
            return states
        embedded = bytearray(into.size)
        for is_member, number in zip(states, self._numbers_in(into), strict=True):
            embedded[number] = is_member
        return bytes(embedded)

    def _numbers_in(self, other: ExplicitEngine) -> Iterable[int]:
        """Return the number of each state in an engine of a system with the same variables."""
        return map(other._graph.number.__getitem__, self._graph.states)

    @cached_property
    def _arena(self) -> ExplicitArena | ExplicitRoundArena:
        from cplc.engines.explicit.arena import arena

        return arena(self, self._graph, self.limit)

    # --- knowledge and commitments

    def _knows(self, agents: tuple[str, ...], satisfying: States) -> States:
        return self.complement(self.indistinguishable(agents, self.difference(self._considered, satisfying)))

    def indistinguishable(self, agents: tuple[str, ...], states: States) -> States:
        views = self._local_states(agents)
        observations = set(compress(views, states))
        return bytes([view in observations for view in views])

    def _local_states(self, agents: Iterable[str]) -> list[int]:
        """Return, for every reachable state, what these agents see of it."""
        mask = self._graph.packing.mask(name for agent in agents for name in self.system.agent[agent].local)
        return [state & mask for state in self._graph.states]

    def _common_knowledge(self, agents: tuple[str, ...], satisfying: States) -> States:
        """Return the states from which no chain of look-alikes, of one agent after the other, leads out of the set."""
        if not agents:
            return self.reachable
        leading = common_knowledge_classes([self._local_states((agent,)) for agent in agents], self._considered)
        doubtful = set(compress(leading, self.difference(self._considered, satisfying)))
        return bytes([group not in doubtful for group in leading])

    def _adjacent(self, formula: f.Adjacent, goal: States) -> States:
        """Return the states with a successor (``back``: a predecessor) in the goal by a round of the formula's kind."""
        from cplc.statespace.synchronous import SynchronousRelation, agreeing

        graph, relation, choice = self._graph, self._graph.relation, formula.choice
        assert isinstance(relation, SynchronousRelation), "adjacency by a round requires a synchronous system"
        agree = agreeing(graph.packing, formula.same)
        result = bytearray(self.size)
        for number, state in enumerate(graph.states):
            if formula.back and not goal[number]:
                continue
            targets = graph.after(number)
            if choice is not None:
                targets = array("I", map(graph.number.__getitem__, relation.by_action(state, choice)))
            for target in targets:
                if (formula.back or goal[target]) and agree(state, graph.states[target]):
                    result[target if formula.back else number] = 1
        return bytes(result)

    def agreeing(self, observed: tuple[Expr, ...], states: States) -> States:
        views = self._values(observed)
        observations = set(compress(views, states))
        return bytes([view in observations for view in views])

    def _values(self, observed: tuple[Expr, ...]) -> list[int]:
        """Return, for every reachable state, the values of these variables and conditions as one number."""
        packing = self._graph.packing
        mask = packing.mask(expr.variable for expr in observed if isinstance(expr, Read))
        views = [state & mask for state in self._graph.states]
        conditions = [self.where(expr) for expr in observed if not isinstance(expr, Read)]
        for bit, holds in enumerate(conditions, start=packing.width):
            views = [view | value << bit for view, value in zip(views, holds, strict=True)]
        return views


def common_knowledge_classes(views: Sequence[Sequence[int]], considered: bytes) -> list[int]:
    """Return for each state the representative of its class under the closure of the union of the relations.

    ``views`` has, for each agent, its local state in each state. Only considered states connect others.
    """

    def alike() -> Iterator[list[int]]:
        for local_states in views:
            states: dict[int, list[int]] = {}
            for state, view in enumerate(local_states):
                if considered[state]:
                    states.setdefault(view, []).append(state)
            yield from states.values()

    leader = merged_classes(dict(enumerate(range(len(considered)))), alike())
    return [leader[state] for state in range(len(considered))]
