"""Probabilities where runs may go round in circles: one strongly connected component, given what it leads to.

A run that never ends attains nothing. Where the world is against the participant, what it may do for ever is an *end
component*: states and choices that keep to each other, and with fairness all choices of those states that may not be
put off for ever. These are worth nothing; in what is left the world can go round for a while but has to leave, so
what circles there are become single nodes, after which every policy leaves and policy iteration is exact.

Where the participant has something to decide as well, it has a best policy without memory: its aim is to reach an
end, or that the world is unfair, which is an objective of Rabin. Few policies are tried one by one. With many there
are bounds: circles that are all lost, and circles that are all won.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod

from cplc.decision.mdp import ActionKind, EventProbability, Mdp
from cplc.decision.results import Number
from cplc.engines.explicit.graph import strongly_connected_components
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

MAX_EXACT_NODES = 2_000
"""Nodes that equations are solved for exactly, if that needs no more than so many operations."""
_MAX_ELIMINATION_OPERATIONS = 400_000
MAX_POLICIES = 64
_MAX_VALUE_UPDATES = 1_000_000
"""Of values, one by one, before bounds are left as far apart as they are."""
_CONVERGENCE_THRESHOLD = 1e-12
_ROUNDING_MARGIN = 2.0**-50


@dataclass(frozen=True, slots=True)
class Action:
    chances: tuple[EventProbability, ...]
    targets: tuple[int, ...]
    """To a node, or outside: then it is negative."""
    values: tuple[Number, ...]
    """Of what is outside; of a node, what is made on the way to it."""
    is_fair: bool


@dataclass(frozen=True, slots=True)
class Node:
    actions: tuple[Action, ...]
    is_controlled: bool = False
    """The participant chooses."""


_PROBABILITY_ONE = EventProbability(-1, 0, Fraction(1), Fraction(1))
EXIT = -1
NO_REWARDS: Mapping[int, int] = {}


def extremal_probabilities(
    chances: Sequence[EventProbability], values: Sequence[Number], worst: bool
) -> list[Fraction]:
    """Return the probabilities within their bounds, with the sum one, that make the mean least (or greatest)."""
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
    """Put in the values of one component; return whether they are more than bounds."""
    builder = SccModelBuilder(model, scc, values)
    decisions = [mdp_action for state in scc for mdp_action in model.options(state) if is_decision(model, mdp_action)]
    policy_iteration = prod(len(model.events(mdp_action)) for mdp_action in decisions)
    if not worst:
        solution, tight = _solve_single_player(builder.nodes(None, decisions), worst, exact, fairness, upper)
    elif policy_iteration <= MAX_POLICIES:
        solutions = [
            _solve_single_player(
                builder.nodes(dict(zip(decisions, picks, strict=True)), ()), worst, exact, fairness, upper
            )
            for picks in product(*(range(len(model.events(mdp_action))) for mdp_action in decisions))
        ]
        solution = [max(each) for each in zip(*(one for one, _ in solutions), strict=True)]
        tight = all(one for _, one in solutions)
    else:
        solution, tight = _value_iteration(builder.nodes(None, decisions), worst, exact, upper), False
    for state, value in zip(scc, solution, strict=False):
        values[state] = value if exact else float(value)
    return tight


def is_decision(model: Mdp, mdp_action: int) -> bool:
    return model.kind[mdp_action] == ActionKind.CONTROLLED and len(model.events(mdp_action)) > 1


class SccModelBuilder:
    """Nodes of a component: first its states in their order, then choices within options."""

    def __init__(
        self, model: Mdp, scc: Sequence[int], values: Sequence[Number], of: Mapping[int, int] = NO_REWARDS
    ) -> None:
        self.model = model
        self.of = of
        """What each step is worth."""
        self.scc = scc
        self.values = values
        self.index = {state: index for index, state in enumerate(scc)}

    def nodes(self, picks: dict[int, int] | None, decisions: Iterable[int]) -> list[Node]:
        """Return the nodes, where the participant follows the policy; without one, it still chooses at the turns."""
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
    nodes: list[Node], worst: bool, exact: bool, fairness: bool, upper: bool
) -> tuple[list[Number], bool]:
    """Solve where one side alone chooses."""
    if any(one.low == 0 for node in nodes for action in node.actions for one in action.chances):
        return _value_iteration(nodes, worst, exact, upper), False  # what can happen depends on the probabilities
    alive = set(range(len(nodes)))
    lost: set[int] = set()
    if worst:
        lost = set().union(*end_components(nodes, alive, fair=fairness))
        alive -= lost
    leader = {index: index for index in alive}
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
    """Yield the actions that do not stay among the members for certain."""
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
    """The edges of the actions that stay within a set of nodes."""

    nodes: Sequence[Node]
    inside: set[int]

    def staying_actions(self, index: int) -> list[Action]:
        return [action for action in self.nodes[index].actions if self.inside.issuperset(action.targets)]

    def after(self, state: int, /) -> list[int]:
        return [goes for action in self.staying_actions(state) for goes in action.targets]


def end_components(nodes: Sequence[Node], within: set[int], fair: bool) -> Iterator[set[int]]:
    """Yield the largest sets in which one can stay for ever, fairly: no pressing action of their nodes leads out."""
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
        while doubtful:
            gone = {index for index in doubtful if not _stays(sub_mdp, index, fair)}
            inside -= gone
            doubtful = inside & set().union(*(before.get(index, set()) for index in gone))
        if not inside:
            continue
        mask = bytearray(len(nodes))
        for index in inside:
            mask[index] = 1
        sccs = list(strongly_connected_components(sub_mdp, bytes(mask)))
        if len(sccs) == 1:
            yield inside
        else:
            waiting.extend(sccs)


def _stays(sub_mdp: _SubMdp, index: int, fair: bool) -> bool:
    staying_actions = sub_mdp.staying_actions(index)
    return bool(staying_actions) and not (
        fair and any(action.is_fair and action not in staying_actions for action in sub_mdp.nodes[index].actions)
    )


# --- equations

_NodePolicy = tuple[tuple[int, ...], tuple[Number, ...], list[Fraction]]


def policy_iteration(nodes: Sequence[Node], worst: bool, *, first: bool = False) -> list[Number] | None:
    """Solve exactly by policy iteration, if it is not too much; every policy leaves the nodes with probability one.

    If not every policy does, it begins with the first action of each node, and who chooses loses by staying.
    """
    values: list[Number] = [Fraction(0)] * len(nodes)
    policy = [_greedy_choice(Node(node.actions[:1]) if first else node, values, worst) for node in nodes]
    while True:
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
    """Return what is best with these values; None where nothing leads out."""
    best: _NodePolicy | None = None
    for action in node.actions:
        after = [_target_value(at, value, values) for at, value in zip(action.targets, action.values, strict=True)]
        one: _NodePolicy = (action.targets, action.values, extremal_probabilities(action.chances, after, worst))
        if best is None or (_expected_value(one, values) - _expected_value(best, values)) * (1 if worst else -1) < 0:
            best = one
    return best


def _expected_value(policy: _NodePolicy, values: Sequence[Number]) -> Fraction:
    return sum(
        (weight * Fraction(_target_value(at, value, values)) for at, value, weight in zip(*policy, strict=True)),
        Fraction(0),
    )


def _target_value(at: int, value: Number, values: Sequence[Number]) -> Number:
    return value if at == EXIT else values[at] + value if value else values[at]


def _solve_linear_system(policy: Sequence[_NodePolicy | None]) -> list[Fraction] | None:
    """Solve ``x = Px + b`` by elimination; there is one solution."""
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
    """Return values certainly not above (or below) the true ones: iterations from nothing or from all, rounded away."""
    if exact:
        raise ResourceExhausted("a circle is too large, or too open, to be solved exactly")
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
