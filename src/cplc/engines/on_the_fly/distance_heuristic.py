"""Distance heuristic: the additive delete-relaxation estimate of planning (Bonet and Geffner 2001).

In the relaxation a fact that was achieved once holds forever. Facts that a goal lacks are traced back to the steps
that achieve them and to the facts that these steps lack in turn; costs then propagate forward ("Planning as heuristic
search", Artificial Intelligence 129). Only facts that matter to the goal are considered. A wrong estimate
slows a search down but never changes its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from typing import assert_never

from cplc.engines.on_the_fly.lazy_states import LazyStateSpace
from cplc.engines.on_the_fly.search import Node, Product
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.statespace.packing import MemoTable

Fact = tuple[str, Value]
"""A variable and a value of it."""

_UNREACHABLE_COST = 1 << 20
_MAX_COMBINATIONS = 64
"""Comparisons with more combinations of values than this are approximated by true."""
_MAX_ESTIMATES = 4000
"""Different estimates after which a search continues without guidance."""
_FACTS_PER_UNIT = 2
"""Facts that are evaluated in one unit of work."""

# Conditions in terms of facts: a fact, or "all" or "any" of several.
_FactTree = tuple[str, tuple["_FactTree", ...]] | Fact
_ALL: _FactTree = ("all", ())
_NEVER: _FactTree = ("any", ())


class DistanceHeuristic:
    """Distance estimates for one system; the achievers of facts are computed on demand."""

    def __init__(self, world: LazyStateSpace) -> None:
        self.world = world
        self.system = world.system
        self._writers: dict[str, list[int]] = {}
        for number, step in enumerate(self.system.steps):
            for name in step.writes:
                self._writers.setdefault(name, []).append(number)
        self._achievers: dict[Fact, list[tuple[int, _FactTree]]] = {}
        self._trees: dict[tuple[Expr, bool], _FactTree] = {}
        self._missing: dict[int, tuple[_FactTree, int, MemoTable[tuple[Fact, ...]]]] = {}
        """Trees by their identity, with the mask of their variables and the missing facts by the values of these."""

    def estimate(self, goal: _FactTree, state: int) -> tuple[int, frozenset[int]]:
        """Return the estimated distance of the goal, and the helpful steps: the enabled ones of a cheapest plan."""
        value = self.world.packing.value

        @cache
        def holds(fact: Fact) -> bool:
            return value(fact[0], state) == fact[1]

        needed: dict[Fact, list[tuple[int, _FactTree]]] = {}
        helps: dict[Fact, set[Fact]] = {}
        waiting = list(self._missing_facts(goal, state))
        while waiting:
            fact = waiting.pop()
            if fact not in needed:
                needed[fact] = self._achievers_of(fact)
                for _, tree in needed[fact]:
                    for lacking in self._missing_facts(tree, state):
                        waiting.append(lacking)
                        helps.setdefault(lacking, set()).add(fact)
        cost: dict[Fact, int] = {}
        best: dict[Fact, tuple[int, _FactTree]] = {}
        stale = set(needed)
        rounds = 0
        while stale and rounds < len(needed) + 1:
            rounds += 1
            # Bellman and Ford: `stale` has the facts whose cost may decrease because that of a precondition did.
            for fact in reversed(needed):
                if fact not in stale:
                    continue
                stale.remove(fact)
                for way in needed[fact]:
                    length = 1 + _cost(way[1], holds, cost)
                    if length < cost.get(fact, _UNREACHABLE_COST):
                        cost[fact] = length
                        best[fact] = way
                        stale.update(helps.get(fact, ()))
        self.world.spend(rounds * len(needed) // _FACTS_PER_UNIT)
        return _cost(goal, holds, cost), frozenset(_first_steps(goal, holds, cost, best))

    def _missing_facts(self, tree: _FactTree, state: int) -> tuple[Fact, ...]:
        entry = self._missing.get(id(tree))
        if entry is None:
            packing = self.world.packing

            def missing(pattern: int) -> tuple[Fact, ...]:
                return _missing_facts(tree, lambda fact: packing.value(fact[0], pattern) == fact[1])

            entry = tree, packing.mask(_variables(tree, set())), MemoTable(missing)
            self._missing[id(tree)] = entry
        _, mask, table = entry
        return table[state & mask]

    def tree(self, condition: Expr, value: bool = True) -> _FactTree:
        """Return the condition, or its negation, as a tree of facts. Too complex parts are approximated by true."""
        tree = self._trees.get((condition, value))
        if tree is None:
            tree = self._trees[condition, value] = self._tree(condition, value)
        return tree

    def _tree(self, condition: Expr, value: bool) -> _FactTree:
        match condition:
            case e.Not(operand):
                return self.tree(operand, not value)
            case e.And(operands):
                return _combine("all" if value else "any", [self.tree(operand, value) for operand in operands])
            case e.Or(operands):
                return _combine("any" if value else "all", [self.tree(operand, value) for operand in operands])
            case e.Ite(test, then, otherwise):
                yes = _combine("all", [self.tree(test), self.tree(then, value)])
                no = _combine("all", [self.tree(test, False), self.tree(otherwise, value)])
                return _combine("any", [yes, no])
            case _:
                return self._enumerated(condition, value)

    def _enumerated(self, condition: Expr, value: bool) -> _FactTree:
        """Return the combinations of values for which a comparison has the given value."""
        names = sorted(e.reads(condition))
        domains = [self.system.variable[name].domain for name in names]
        size = 1
        for domain in domains:
            size *= len(domain)
        if size > _MAX_COMBINATIONS:
            return _ALL
        packing = self.world.packing
        holds = packing.condition(condition)
        combinations: list[_FactTree] = []
        for values in product(*domains):
            facts = list(zip(names, values, strict=True))
            if holds(sum(packing.bits(name, one) for name, one in facts)) is value:
                combinations.append(_combine("all", facts))
        return _combine("any", combinations)

    def _achievers_of(self, fact: Fact) -> list[tuple[int, _FactTree]]:
        """Return the steps that can achieve the fact, each with its precondition."""
        achievers = self._achievers.get(fact)
        if achievers is None:
            achievers = self._achievers[fact] = []
            name, value = fact
            for number in self._writers.get(name, ()):
                step = self.system.steps[number]
                guard = self.tree(step.guard)
                if name in step.free:
                    if value in self.system.variable[name].initial:
                        achievers.append((number, guard))
                    continue
                when = self._when_equal(dict(step.updates)[name], value)
                if when != _NEVER and guard != _NEVER:
                    achievers.append((number, _combine("all", [guard, when])))
        return achievers

    def _when_equal(self, assigned: Expr, value: Value) -> _FactTree:
        """Return the condition under which an expression has the value."""
        match assigned:
            case e.Const(constant):
                return _ALL if constant == value else _NEVER
            case e.Read(name):
                return (name, value) if value in self.system.variable[name].domain else _NEVER
            case e.Ite(test, then, otherwise):
                yes = _combine("all", [self.tree(test), self._when_equal(then, value)])
                no = _combine("all", [self.tree(test, False), self._when_equal(otherwise, value)])
                return _combine("any", [yes, no])
            case e.Arith():
                return self._enumerated(e.Equal(assigned, e.Const(value)), True)
            case _:
                return self.tree(assigned, bool(value))


def _combine(kind: str, operands: Iterable[_FactTree]) -> _FactTree:
    neutral, final = (_ALL, _NEVER) if kind == "all" else (_NEVER, _ALL)
    relevant = tuple(dict.fromkeys(operand for operand in operands if operand != neutral))
    if final in relevant:
        return final
    if len(relevant) == 1:
        return relevant[0]
    return (kind, relevant)


def _missing_facts(tree: _FactTree, holds: Callable[[Fact], bool]) -> tuple[Fact, ...]:
    """Return the facts that do not hold and would help; none where the condition holds.

    Trees share subtrees, and each is evaluated once: without that, the time is exponential in their depth.
    """
    results: dict[int, tuple[Fact, ...]] = {}

    def missing(tree: _FactTree) -> tuple[Fact, ...]:
        kind, operands = tree
        if not isinstance(operands, tuple):
            return () if holds((kind, operands)) else ((kind, operands),)
        facts = results.get(id(tree))
        if facts is None:
            facts = results[id(tree)] = joined(kind, operands)
        return facts

    def joined(kind: str, operands: tuple[_FactTree, ...]) -> tuple[Fact, ...]:
        inner: dict[Fact, None] = {}
        for operand in reversed(operands):
            facts = missing(operand)
            if kind == "any" and not facts:
                return ()
            inner.update(dict.fromkeys(reversed(facts)))
        return tuple(reversed(inner))

    return missing(tree)


def _variables(tree: _FactTree, visited: set[int]) -> Iterator[str]:
    """Yield the variables of a tree; subtrees that were visited are left out."""
    kind, operands = tree
    if not isinstance(operands, tuple):
        yield kind
    elif id(tree) not in visited:
        visited.add(id(tree))
        for operand in operands:
            yield from _variables(operand, visited)


def _cost(tree: _FactTree, holds: Callable[[Fact], bool], cost: dict[Fact, int]) -> int:
    kind, operands = tree
    if not isinstance(operands, tuple):
        return 0 if holds((kind, operands)) else cost.get((kind, operands), _UNREACHABLE_COST)
    if kind == "all":
        together = 0
        for operand in operands:
            together += _cost(operand, holds, cost)
            if together >= _UNREACHABLE_COST:
                return _UNREACHABLE_COST
        return together
    least = _UNREACHABLE_COST
    for operand in operands:
        least = min(least, _cost(operand, holds, cost))
        if least == 0:
            break
    return least


def _first_steps(
    goal: _FactTree, holds: Callable[[Fact], bool], cost: dict[Fact, int], best: dict[Fact, tuple[int, _FactTree]]
) -> Iterator[int]:
    """Yield the enabled steps of a cheapest relaxed plan."""
    waiting, visited = list(_cheapest(goal, holds, cost)), set[Fact]()
    while waiting:
        fact = waiting.pop()
        if fact in visited or fact not in best:
            continue
        visited.add(fact)
        step, tree = best[fact]
        before = list(_cheapest(tree, holds, cost))
        if not before:
            yield step
        waiting.extend(before)


def _cheapest(tree: _FactTree, holds: Callable[[Fact], bool], cost: dict[Fact, int]) -> Iterator[Fact]:
    """Yield the facts that do not hold in the cheapest alternative of the condition."""
    kind, operands = tree
    if not isinstance(operands, tuple):
        if not holds((kind, operands)):
            yield (kind, operands)
    elif kind == "all":
        for operand in operands:
            yield from _cheapest(operand, holds, cost)
    elif operands:
        yield from _cheapest(min(operands, key=lambda operand: _cost(operand, holds, cost)), holds, cost)


# --- distance of product nodes


class ProductHeuristic:
    """Distance of a product node from acceptance: stages of the automaton first, then estimated steps."""

    def __init__(self, heuristic: DistanceHeuristic, runs: Product) -> None:
        self._heuristic = heuristic
        self._product = runs
        self._stages = _stages(runs)
        self._goals: dict[int, _FactTree] = {}
        self._masks: dict[int, int] = {}
        self._cache: dict[tuple[int, int], tuple[int, frozenset[int]]] = {}

    def __call__(self, node: Node) -> tuple[int, int, frozenset[int]]:
        state, place = self._product.split(node)
        stage = self._stages.get(place)
        if stage is None:
            return len(self._stages), 0, frozenset()
        goal = self._goals.get(place)
        if goal is None:
            goal = self._goals[place] = self._goal(place, stage)
        if len(self._cache) >= _MAX_ESTIMATES:
            return stage, 0, frozenset()
        key = (place, state)
        if key not in self._cache:
            self._cache[key] = self._heuristic.estimate(goal, state)
        return stage, *self._cache[key]

    def _goal(self, place: int, stage: int) -> _FactTree:
        """Return the condition of the edges to a later stage, or of staying in the last one."""
        ways = []
        for edge in self._product.automaton.edges(place):
            if self._stages.get(edge.target, stage) < stage or (edge.target == place and stage == 0):
                goals = [relaxed_goal(self._heuristic, formula, value) for formula, value in edge.claims]
                goals += [self._possible(taken) for taken, value in edge.demands if value]
                ways.append(_combine("all", goals))
        return _combine("any", ways)

    def _possible(self, taken: f.Taken) -> _FactTree:
        steps = self._heuristic.system.steps
        return _combine("any", [self._heuristic.tree(steps[step].guard) for step in self._product.steps_of(taken)])


def _stages(runs: Product) -> dict[int, int]:
    """Return the number of edges from each automaton state to one in which a run may stay forever."""
    automaton = runs.automaton
    states, waiting = {automaton.first}, [automaton.first]
    before: dict[int, set[int]] = {}
    while waiting and len(states) < 200:
        state = waiting.pop()
        for edge in automaton.edges(state):
            before.setdefault(edge.target, set()).add(state)
            if edge.target not in states:
                states.add(edge.target)
                waiting.append(edge.target)
    last = {automaton.done} | {
        state
        for state in states - set(waiting)
        if any(edge.target == state and edge.marks == automaton.all_marks for edge in automaton.edges(state))
    }
    stages = dict.fromkeys(last, 0)
    ring, number = last, 0
    while ring:
        number += 1
        ring = {state for target in ring for state in before.get(target, ()) if state not in stages}
        stages.update(dict.fromkeys(ring, number))
    return stages


def relaxed_goal(heuristic: DistanceHeuristic, formula: Formula, value: bool) -> _FactTree:
    """Return a state condition that approximates the formula having the value."""
    match formula:
        case f.Atom(condition):
            return heuristic.tree(condition, value)
        case f.Not(operand):
            return relaxed_goal(heuristic, operand, not value)
        case f.And(operands):
            return _combine(
                "all" if value else "any", [relaxed_goal(heuristic, operand, value) for operand in operands]
            )
        case f.Iff() | f.Taken():
            return _ALL
        case f.Until(_, right):
            return relaxed_goal(heuristic, right, value)
        case f.Release(left, right) if left == f.UNSATISFIABLE:
            return relaxed_goal(heuristic, right, value)
        case f.Since(left, right) if left == f.VALID:
            return relaxed_goal(heuristic, right, value)
        case f.Derived():
            return relaxed_goal(heuristic, formula.definition, value)
        case f.PathOperator() | f.StateOperator():
            return _combine("all", [relaxed_goal(heuristic, child, value) for child in f.children(formula)])
        case _:
            assert_never(formula)
