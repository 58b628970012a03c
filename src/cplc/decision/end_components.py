"""Reachability probabilities in one strongly connected component (SCC), given the values of its successors.

Definition. An end component (de Alfaro 1997; Baier and Katoen, section 10.6) is a set of nodes and actions in which
the one who chooses can stay forever. It is fair if no fair action of its nodes leaves it.

An infinite run attains no goal. So the adversary, who minimises, gets value 0 in each fair maximal end component. In
the rest it may cycle for a while but must leave. Collapsing each remaining end component into a single node (its MEC
quotient) makes every policy proper, and policy iteration exact.

If the participant decides as well, it has an optimal memoryless policy: its objective, to reach a goal or that the
adversary is unfair, is a Rabin condition. Strategy improvement (`cplc.decision.strategy_improvement`) finds it, and a
counter-strategy of the adversary certifies it. Where these do not meet, few policies are enumerated, and for many there
are only bounds: those of the strategies, and value iteration from 0 below and from 1 above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

from cplc.decision.belief_draws import EventProbability
from cplc.decision.game import ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.results import Number
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.graph_algorithms import strongly_connected_components

MAX_EXACT_NODES = 2_000
"""Number of nodes up to which the equations are solved exactly, within the limit of operations."""
_MAX_ELIMINATION_OPERATIONS = 400_000
MAX_POLICIES = 64
_MAX_VALUE_UPDATES = 1_000_000
"""Updates of single values by value iteration, after which the bounds stay as they are."""
_CONVERGENCE_THRESHOLD = 1e-12
_ROUNDING_MARGIN = 2.0**-50


@dataclass(frozen=True, slots=True)
class Action:
    chances: tuple[EventProbability, ...]
    targets: tuple[int, ...]
    """Target nodes; `EXIT` outside of the component."""
    values: tuple[Number, ...]
    """The value of each exit; for a target inside, the reward of the transition."""
    is_fair: bool


@dataclass(frozen=True, slots=True)
class Node:
    actions: tuple[Action, ...]
    is_controlled: bool = False
    """The participant chooses the action, not the adversary."""


_PROBABILITY_ONE = EventProbability(-1, 0, Fraction(1), Fraction(1))
EXIT = -1
NO_REWARDS: Mapping[int, Number] = {}


def extremal_probabilities(
    chances: Sequence[EventProbability], values: Sequence[Number], worst: bool
) -> list[Fraction]:
    """Return the probabilities in their intervals, with sum 1, that minimise (or maximise) the mean.

    A vertex of the interval polytope is optimal: the remaining mass goes to the events in the order of their values.
    """
    probabilities = [one.low for one in chances]
    remaining = 1 - sum(probabilities)
    if remaining > 0:
        for at in sorted(range(len(values)), key=lambda at: values[at], reverse=not worst):
            extra = min(chances[at].high - chances[at].low, remaining)
            probabilities[at] += extra
            remaining -= extra
    return probabilities


def solve_scc(
    model: Mdp, scc: Sequence[int], values: list[Number], worst: bool, exact: bool, fairness: bool, upper: bool
) -> bool:
    """Store the values of one component; return whether they are the values, and not only bounds."""
    builder = SccModelBuilder(model, scc, values)
    decisions = [mdp_action for state in scc for mdp_action in model.options(state) if is_decision(model, mdp_action)]
    if not worst:
        solution, tight = _solve_single_player(builder.nodes(None, decisions), worst, exact, fairness, upper)
    else:
        solution, tight = _solve_game(builder, decisions, exact, fairness, upper)
    for state, value in zip(scc, solution, strict=False):
        values[state] = value if exact else float(value)
    return tight


def _solve_game(
    builder: SccModelBuilder, decisions: Sequence[int], exact: bool, fairness: bool, upper: bool
) -> tuple[list[Number], bool]:
    """Solve a component in which the world minimises and the participant decides."""
    policies = prod(len(builder.model.events(mdp_action)) for mdp_action in decisions)
    bounds: tuple[list[Number], list[Number]] | None = None
    if policies > 1:
        bounds = _improved_bounds(builder, decisions, exact, fairness)
        if bounds is not None and bounds[0] == bounds[1]:
            return bounds[0], True
    if policies <= MAX_POLICIES:
        solutions = [
            _solve_single_player(builder.nodes(picks, ()), True, exact, fairness, upper)
            for picks in every_policy(builder.model, decisions)
        ]
        solution = [max(each) for each in zip(*(one for one, _ in solutions), strict=True)]
        return solution, all(one for _, one in solutions)
    if bounds is None or not exact:
        approximate = _value_iteration(builder.nodes(None, decisions), True, exact, upper)
        if bounds is None:
            return approximate, False
        merge: Callable[..., Number] = min if upper else max
        return [merge(pair) for pair in zip(bounds[upper], approximate, strict=False)], False
    return bounds[upper], False


def every_policy(model: Mdp, decisions: Sequence[int]) -> Iterator[dict[int, int]]:
    for picks in product(*(range(len(model.events(mdp_action))) for mdp_action in decisions)):
        yield dict(zip(decisions, picks, strict=True))


def _improved_bounds(
    builder: SccModelBuilder, decisions: Sequence[int], exact: bool, fairness: bool
) -> tuple[list[Number], list[Number]] | None:
    """Return certified bounds of the states; None if the component is too large for exact solutions."""
    from cplc.decision.strategy_improvement import certified_bounds

    nodes = builder.nodes(None, decisions)
    if len(nodes) > MAX_EXACT_NODES:
        return None

    def solver(worst: bool) -> Callable[[Sequence[Node]], list[Number]]:
        def solve(these: Sequence[Node]) -> list[Number]:
            solution, tight = _solve_single_player(these, worst, exact, fairness, False)
            if not tight:
                raise ResourceExhausted("a cycle has no exact solution")
            return solution

        return solve

    with suppress(ResourceExhausted):
        return certified_bounds(nodes, solver(True), solver(False), states=len(builder.scc), fairness=fairness)
    return None


def is_decision(model: Mdp, mdp_action: int) -> bool:
    return model.kind[mdp_action] == ActionKind.CONTROLLED and len(model.events(mdp_action)) > 1


class SccModelBuilder:
    """Builds the nodes of a component: first its states in order, then the choices within actions."""

    def __init__(
        self, model: Mdp, scc: Sequence[int], values: Sequence[Number], of: Mapping[int, Number] = NO_REWARDS
    ) -> None:
        self.model = model
        self.of = of
        """The reward of each step."""
        self.scc = scc
        self.values = values
        self.index = {state: index for index, state in enumerate(scc)}

    def nodes(self, picks: dict[int, int] | None, decisions: Iterable[int]) -> list[Node]:
        """Return the nodes under a policy of the participant; without one, it still chooses at its decisions."""
        open_turns = frozenset(decisions)
        more: list[Node] = []
        first = [
            Node(tuple(self._action(mdp_action, picks, open_turns, more) for mdp_action in self.model.options(state)))
            for state in self.scc
        ]
        return first + more

    def _action(
        self, mdp_action: int, picks: dict[int, int] | None, decisions: frozenset[int], more: list[Node]
    ) -> Action:
        model = self.model
        events = model.events(mdp_action)
        kind = model.kind[mdp_action]
        if mdp_action in decisions:
            chosen = tuple(_action([(_PROBABILITY_ONE, self._event(event, more))], is_fair=False) for event in events)
            return _action([(_PROBABILITY_ONE, self._new(Node(chosen, is_controlled=True), more))], is_fair=True)
        if picks is not None and mdp_action in picks:
            events = events[picks[mdp_action] : picks[mdp_action] + 1]
        outcomes = [
            (
                model.chances[model.chance[event]] if kind == ActionKind.BELIEF else _PROBABILITY_ONE,
                self._event(event, more),
            )
            for event in events
            if kind != ActionKind.BELIEF or model.chances[model.chance[event]].high > 0
        ]
        return _action(outcomes, is_fair=kind != ActionKind.SEND)

    def _event(self, event: int, more: list[Node]) -> tuple[int, Number]:
        transitions = self.model.transitions(event)
        if len(transitions) == 1:
            return self._target(transitions[0])
        return self._new(
            Node(
                tuple(
                    _action([(_PROBABILITY_ONE, self._target(transition))], is_fair=False) for transition in transitions
                )
            ),
            more,
        )

    def _target(self, transition: int) -> tuple[int, Number]:
        target, made = self.model.target[transition], self.of.get(self.model.step[transition], 0)
        return (self.index[target], made) if target in self.index else (EXIT, self.values[target] + made)

    def _new(self, node: Node, more: list[Node]) -> tuple[int, Number]:
        more.append(node)
        return len(self.scc) + len(more) - 1, 0


def _action(outcomes: Sequence[tuple[EventProbability, tuple[int, Number]]], is_fair: bool) -> Action:
    return Action(
        tuple(chance for chance, _ in outcomes),
        tuple(goes for _, (goes, _) in outcomes),
        tuple(value for _, (_, value) in outcomes),
        is_fair,
    )


def _solve_single_player(
    nodes: Sequence[Node], worst: bool, exact: bool, fairness: bool, upper: bool
) -> tuple[list[Number], bool]:
    """Solve a component in which a single player chooses."""
    if any(one.low == 0 for node in nodes for action in node.actions for one in action.chances):
        return _value_iteration(nodes, worst, exact, upper), False  # end components depend on the probabilities
    alive = set(range(len(nodes)))
    lost: set[int] = set()
    if worst:
        # In a fair end component the adversary can stay forever, and an infinite run attains nothing.
        lost = set().union(*end_components(nodes, alive, fair=fairness))
        alive -= lost
    leader = {index: index for index in alive}
    # MEC quotient: all nodes of an end component have the same optimal value, and afterwards every policy is proper (de
    # Alfaro 1997).
    for circle in end_components(nodes, alive, fair=False):
        leader.update(dict.fromkeys(circle, min(circle)))
    groups = sorted(set(leader.values()))
    number = {group: at for at, group in enumerate(groups)}
    members: dict[int, list[int]] = {}
    for index, group in leader.items():
        members.setdefault(group, []).append(index)
    merged = [
        Node(
            tuple(_redirected(action, leader, number, lost) for action in _exit_actions(nodes, members[group], leader))
        )
        for group in groups
    ]
    solved = policy_iteration(merged, worst) if len(merged) <= MAX_EXACT_NODES else None
    solution, tight = (_value_iteration(merged, worst, exact, upper), False) if solved is None else (solved, True)
    return [solution[number[leader[index]]] if index in leader else 0 for index in range(len(nodes))], tight


def _exit_actions(nodes: Sequence[Node], members: Sequence[int], leader: dict[int, int]) -> Iterator[Action]:
    """Yield the actions that leave the members with positive probability."""
    group = leader[members[0]]
    for index in members:
        for action in nodes[index].actions:
            if any(goes == EXIT or leader.get(goes) != group for goes in action.targets):
                yield action


def _redirected(action: Action, leader: dict[int, int], number: dict[int, int], lost: set[int]) -> Action:
    goes = tuple(EXIT if at == EXIT or at in lost else number[leader[at]] for at in action.targets)
    return Action(action.chances, goes, action.values, action.is_fair)


# --- end components


@dataclass(frozen=True)
class _SubMdp:
    """The actions that stay within a set of nodes, as a graph."""

    nodes: Sequence[Node]
    inside: set[int]

    def staying_actions(self, index: int) -> list[Action]:
        return [action for action in self.nodes[index].actions if self.inside.issuperset(action.targets)]

    def after(self, state: int, /) -> list[int]:
        return [goes for action in self.staying_actions(state) for goes in action.targets]


def end_components(nodes: Sequence[Node], within: set[int], fair: bool) -> Iterator[set[int]]:
    """Yield the maximal end components within some nodes; if ``fair``, no fair action of their nodes leaves them.

    Invariant: every end component within ``within`` lies in one of the waiting sets or was yielded.
    """
    before: dict[int, set[int]] = {}
    for index in within:
        for action in nodes[index].actions:
            for goes in action.targets:
                before.setdefault(goes, set()).add(index)
    waiting = [set(within)]
    while waiting:
        inside = waiting.pop()
        sub_mdp = _SubMdp(nodes, inside)
        doubtful = set(inside)
        # Invariant: a node of `inside` that lost a staying action since its last test is in `doubtful`.
        while doubtful:
            gone = {index for index in doubtful if not _stays(sub_mdp, index, fair)}
            inside -= gone
            doubtful = inside & set().union(*(before.get(index, set()) for index in gone))
        if not inside:
            continue
        mask = bytearray(len(nodes))
        for index in inside:
            mask[index] = 1
        sccs = list(strongly_connected_components(sub_mdp.after, bytes(mask)))
        if len(sccs) == 1:
            yield inside
        else:
            waiting.extend(map(set, sccs))


def _stays(sub_mdp: _SubMdp, index: int, fair: bool) -> bool:
    staying_actions = sub_mdp.staying_actions(index)
    return bool(staying_actions) and not (
        fair and any(action.is_fair and action not in staying_actions for action in sub_mdp.nodes[index].actions)
    )


def exit_if_rewarded(action: Action) -> Action:
    """Return the action, redirected to the exit if it has a reward."""
    inside = [value for goes, value in zip(action.targets, action.values, strict=True) if goes != EXIT]
    return replace(action, targets=(EXIT,) * len(action.targets)) if any(inside) else action


# --- equations

_NodePolicy = tuple[tuple[int, ...], tuple[Number, ...], list[Fraction]]


def policy_iteration(nodes: Sequence[Node], worst: bool, *, first: bool = False) -> list[Number] | None:
    """Solve exactly by policy iteration (Howard 1960); None beyond the limit of operations.

    Requires that every policy is proper, that is, it leaves the nodes with probability 1. With ``first``, only the
    policy of first actions must be proper, and an improper policy must be worse for the one who chooses.
    """
    values: list[Number] = [Fraction(0)] * len(nodes)
    policy = [_greedy_choice(Node(node.actions[:1]) if first else node, values, worst) for node in nodes]
    while True:
        # Each round improves the values of some node and worsens none, so no policy occurs twice (Howard 1960).
        solved = _solve_linear_system(policy)
        if solved is None:
            return None
        values = list(solved)
        better = [_greedy_choice(node, values, worst) for node in nodes]
        changed = False
        for at, (new, old) in enumerate(zip(better, policy, strict=True)):
            if new is None or old is None:
                continue
            one, other = _expected_value(new, values), _expected_value(old, values)
            if one < other if worst else one > other:
                policy[at], changed = new, True
        if not changed:
            return values


def _greedy_choice(node: Node, values: Sequence[Number], worst: bool) -> _NodePolicy | None:
    """Return the greedy action for these values; None if the node has no action."""
    best: _NodePolicy | None = None
    best_value = _ZERO
    for action in node.actions:
        if len(action.targets) == 1 and action.chances[0].low == 1:
            shares = _CERTAINLY
        else:
            shares = extremal_probabilities(action.chances, target_values(action, values), worst)
        one: _NodePolicy = (action.targets, action.values, shares)
        value = _expected_value(one, values)
        if best is None or (value < best_value if worst else value > best_value):
            best, best_value = one, value
    return best


_ZERO = Fraction(0)
_CERTAINLY = [Fraction(1)]


def _expected_value(policy: _NodePolicy, values: Sequence[Number]) -> Fraction:
    targets, made, shares = policy
    if shares is _CERTAINLY:
        value = _target_value(targets[0], made[0], values)
        return value if isinstance(value, Fraction) else Fraction(value)
    return sum(
        (weight * Fraction(_target_value(at, value, values)) for at, value, weight in zip(*policy, strict=True)),
        _ZERO,
    )


def target_values(action: Action, values: Sequence[Number]) -> list[Number]:
    """Return what each outcome of an action is worth, its reward included."""
    return [_target_value(at, value, values) for at, value in zip(action.targets, action.values, strict=True)]


def _target_value(at: int, value: Number, values: Sequence[Number]) -> Number:
    return value if at == EXIT else values[at] + value if value else values[at]


def _solve_linear_system(policy: Sequence[_NodePolicy | None]) -> list[Fraction] | None:
    """Solve ``x = Px + b`` by Gaussian elimination; the solution is unique because the policy is proper."""
    rows: list[dict[int, Fraction]] = []
    constants: list[Fraction] = []
    below: list[set[int]] = [set() for _ in policy]
    for at, one in enumerate(policy):
        row = {at: Fraction(1)}
        constant = Fraction(0)
        for goes, value, weight in zip(*one, strict=True) if one is not None else ():
            if value:
                constant += weight * Fraction(value)
            if goes != EXIT:
                row[goes] = row.get(goes, Fraction(0)) - weight
                below[goes].add(at)
        rows.append(row)
        constants.append(constant)
    operations = 0
    for at in range(len(rows)):
        # Invariant: rows from `at` on have no entry in earlier columns. `below` has the rows with an entry in a column.
        pivot = rows[at][at]
        for other in below[at]:
            if other <= at or not (factor := rows[other].pop(at, Fraction(0))):
                continue
            factor /= pivot
            for column, entry in rows[at].items():
                if column != at:
                    rows[other][column] = rows[other].get(column, Fraction(0)) - factor * entry
                    below[column].add(other)
            constants[other] -= factor * constants[at]
            operations += len(rows[at])
            if operations > _MAX_ELIMINATION_OPERATIONS:
                return None
    solution = [Fraction(0)] * len(rows)
    for at in reversed(range(len(rows))):
        substituted = sum((entry * solution[column] for column, entry in rows[at].items() if column > at), Fraction(0))
        solution[at] = (constants[at] - substituted) / rows[at][at]
    return solution


def _value_iteration(nodes: Sequence[Node], worst: bool, exact: bool, upper: bool) -> list[Number]:
    """Return lower (or upper) bounds by value iteration from 0 (or 1).

    Invariant: every value is a sound bound, because each update is monotone and rounded outwards by the margin.
    """
    if exact:
        raise ResourceExhausted("a cycle is too large, or has too many open choices, for an exact solution")
    values: list[Number] = [1.0 if upper else 0.0] * len(nodes)
    margin = 1 + _ROUNDING_MARGIN * 8 if upper else 1 - _ROUNDING_MARGIN * 8
    for _ in range(max(10, _MAX_VALUE_UPDATES // len(nodes))):
        change = 0.0
        for at in range(len(nodes) - 1, -1, -1):
            node = nodes[at]
            choose: Callable[..., float] = min if worst and not node.is_controlled else max
            value = choose((_approximate_value(action, values, worst) for action in node.actions), default=0.0) * margin
            value = min(value, float(values[at])) if upper else max(value, float(values[at]))
            change = max(change, abs(value - float(values[at])))
            values[at] = value
        if change < _CONVERGENCE_THRESHOLD:
            break
    return values


def _approximate_value(action: Action, values: Sequence[Number], worst: bool) -> float:
    after = [value if at == EXIT else values[at] for at, value in zip(action.targets, action.values, strict=True)]
    if len(after) == 1:
        return float(after[0])
    if all(one.low == one.high for one in action.chances):
        return sum(float(one.low) * float(value) for one, value in zip(action.chances, after, strict=True))
    share = extremal_probabilities(action.chances, after, worst)
    return sum(float(weight) * float(value) for weight, value in zip(share, after, strict=True))
