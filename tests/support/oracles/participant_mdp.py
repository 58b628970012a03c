"""Oracle for the participant's decision process: guaranteed values by the definitions, with exact fractions.

`model_checker.py`, which has no packed states, gives the game node by node. Its value is found by enumerating all
strategies: for the participant one choice for each node, for the environment any non-empty set of choices, taken at
random. A strategy of the environment is fair if in each set of nodes that no run leaves it takes all required choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product
from math import inf, prod

from tests.support.oracles.model_checker import Frozen, Naive, evaluate

from cplc.logic.expressions import Expr
from cplc.system.participant import Belief, Event, Participant

Node = tuple[object, ...]
Lottery = tuple[tuple[Fraction, Node], ...]
_SENDS = ("send", "exchange")


@dataclass(frozen=True)
class Choice:
    lottery: Lottery
    pressing: bool
    worth: Fraction = Fraction(0)


@dataclass(frozen=True)
class Judge:
    naive: Naive
    participant: Participant

    def _holds(self, condition: Expr, state: Frozen) -> bool:
        return bool(evaluate(condition, self.naive.thaw(state)))

    def _enabled(self, state: Frozen) -> set[int]:
        return {at for at in range(len(self.naive.system.steps)) if self.naive.taken(state, at)}

    def _applying(self, state: Frozen) -> list[Belief]:
        enabled = self._enabled(state)
        return [
            belief
            for belief in self.participant.beliefs
            if self._holds(belief.condition, state) and all(enabled & set(one.steps) for one in belief.events)
        ]

    def _worth(self, step: int) -> Fraction:
        return sum((one.amount for one in self.participant.worth if step in one.steps), Fraction(0))

    def _taking(self, state: Frozen, steps: set[int], pressing: bool) -> list[Choice]:
        return [
            Choice(((Fraction(1), ("state", target)),), pressing, self._worth(step))
            for step in sorted(steps)
            for target in sorted(self.naive.taken(state, step), key=repr)
        ]

    def _one_step(self, state: Frozen, step: int, pressing: bool) -> Choice:
        return Choice(((Fraction(1), self._way(state, {step})),), pressing)

    def _way(self, state: Frozen, steps: set[int]) -> Node:
        """Return the node where one of the steps is chosen, or where the only one leads if it is worth nothing."""
        targets = frozenset().union(*(self.naive.taken(state, step) for step in steps))
        if len(steps) == len(targets) == 1 and not any(map(self._worth, steps)):
            return "state", *targets
        return "way", state, frozenset(steps)

    @cached_property
    def game(self) -> dict[Node, tuple[bool, list[Choice]]]:
        """Each node: whether the participant chooses there, and what there is to choose."""
        choices_by_node: dict[Node, tuple[bool, list[Choice]]] = {}
        new: list[Node] = [("state", state) for state in self.naive.initial]
        while new:
            node = new.pop()
            if node not in choices_by_node:
                choices_by_node[node] = self._at(node)
                new += [target for choice in choices_by_node[node][1] for _, target in choice.lottery]
        return choices_by_node

    def _at(self, node: Node) -> tuple[bool, list[Choice]]:
        match node:
            case ("state", tuple(state)):
                return False, self._of_the_world(state)
            case ("turn", tuple(state)):
                return True, [self._one_step(state, step, False) for step in sorted(self._own(state))]
            case ("way", tuple(state), frozenset(steps)):
                return False, self._taking(state, set(steps), False)
            case _:
                raise AssertionError(node)

    def _covered(self, state: Frozen) -> set[int]:
        return {step for one in self._applying(state) for event in one.events for step in event.steps}

    def _own(self, state: Frozen) -> set[int]:
        steps = self.naive.system.steps
        forbidden = {
            step for one in self.participant.decisions for step in one.steps if not self._holds(one.condition, state)
        }
        mine = {
            step
            for step in self._enabled(state)
            if steps[step].kind in _SENDS and steps[step].actor in self.participant.agents
        }
        return mine - forbidden - self._covered(state)

    def _of_the_world(self, state: Frozen) -> list[Choice]:
        steps = self.naive.system.steps
        enabled = self._enabled(state)
        if any(steps[step].kind == "restart" for step in enabled):
            return []
        world_choices: list[Choice] = []
        for step in sorted(enabled - self._covered(state)):
            one = steps[step]
            mine = one.kind in _SENDS and one.actor in self.participant.agents
            still = one.kind == "tick" and self.naive.taken(state, step) == {state}
            if not mine and not still:
                world_choices.append(self._one_step(state, step, one.kind not in _SENDS))
        for belief in self._applying(state):
            targets: list[Node] = [self._way(state, enabled & set(one.steps)) for one in belief.events]
            world_choices += [
                Choice(tuple((share, to) for share, to in zip(shares, targets, strict=True) if share), True)
                for shares in corners(belief.events)
            ]
        if self._own(state):
            world_choices.append(Choice(((Fraction(1), ("turn", state)),), True))
        return world_choices

    # --- whether it attains what is wanted

    def goal_states(self, condition: Expr) -> frozenset[Node]:
        ends = [node for node, (_, choices) in self.game.items() if not choices]
        return frozenset(node for node in ends if self._holds(condition, node[1]))  # type: ignore[arg-type]

    def policies(self) -> int:
        return prod(len(choices) if own else 2 ** len(choices) - 1 for own, choices in self.game.values() if choices)

    def guaranteed(self, goal_states: frozenset[Node], fairness: bool) -> Fraction:
        mine = [node for node, (own, _) in self.game.items() if own]
        return max(
            min(self._against(dict(zip(mine, picks, strict=True)), goal_states, fairness))
            for picks in product(*(range(len(self.game[node][1])) for node in mine))
        )

    def best(self, goal_states: frozenset[Node]) -> Fraction:
        nodes = [node for node, (_, choices) in self.game.items() if choices]
        return max(
            self._value({node: (pick,) for node, pick in zip(nodes, picks, strict=True)}, goal_states, max)
            for picks in product(*(range(len(self.game[node][1])) for node in nodes))
        )

    def _against(self, mine: Mapping[Node, int], goal_states: frozenset[Node], fairness: bool) -> Iterator[Fraction]:
        adversarial = [node for node, (own, choices) in self.game.items() if choices and not own]
        sizes = [len(self.game[node][1]) for node in adversarial]
        for supports in product(*(_subsets(size) if fairness else [(at,) for at in range(size)] for size in sizes)):
            policy = {**{node: (pick,) for node, pick in mine.items()}, **dict(zip(adversarial, supports, strict=True))}
            if not fairness or self._is_fair(policy):
                yield self._value(policy, goal_states, min)

    def _is_fair(self, policy: Mapping[Node, tuple[int, ...]]) -> bool:
        after = self._reached(policy)
        for node, chosen in policy.items():
            returns = all(node in after[other] for other in after[node])
            missing = set(range(len(self.game[node][1]))) - set(chosen)
            if returns and not self.game[node][0] and any(self.game[node][1][at].pressing for at in missing):
                return False
        return True

    def _reached(self, policy: Mapping[Node, tuple[int, ...]]) -> dict[Node, set[Node]]:
        reachable: dict[Node, set[Node]] = {}
        for root in self.game:
            visited, new = {root}, [root]
            while new:
                node = new.pop()
                for at in policy.get(node, ()):
                    targets = {to for _, to in self.game[node][1][at].lottery} - visited
                    visited |= targets
                    new += targets
            reachable[root] = visited
        return reachable

    def _value(self, policy: Mapping[Node, tuple[int, ...]], goal_states: frozenset[Node], choose: object) -> Fraction:
        """Return the probability of a wanted end, for the worst (best) of the initial states."""
        after = self._reached(policy)
        nodes = [node for node in policy if after[node] & goal_states]
        index = {node: at for at, node in enumerate(nodes)}
        rows: list[list[Fraction]] = []
        for node in nodes:
            row = [Fraction(0)] * (len(nodes) + 1)
            row[index[node]] = Fraction(1)
            for at in policy[node]:
                for share, to in self.game[node][1][at].lottery:
                    part = share / len(policy[node])
                    if to in index:
                        row[index[to]] -= part
                    elif to in goal_states:
                        row[-1] += part
            rows.append(row)
        solution = _solved(rows)
        values = [
            solution[index[node]] if node in index else Fraction(node in goal_states)
            for node in (("state", state) for state in self.naive.initial)
        ]
        return min(values) if choose is min else max(values)

    # --- what it makes, where runs do not go round in circles

    @cached_property
    def is_acyclic(self) -> bool:
        everything = {node: tuple(range(len(choices))) for node, (_, choices) in self.game.items()}
        after = self._reached(everything)
        return not any(
            node in after[to]
            for node, (_, choices) in self.game.items()
            for choice in choices
            for _, to in choice.lottery
        )

    def gains(self, worst: bool) -> tuple[Fraction, Fraction]:
        """Return the probability of making something, and what is expected."""
        pick = min if worst else max

        def likely(node: Node, total: Fraction) -> Fraction:
            own, choices = self.game[node]
            if not choices:
                return Fraction(total > 0)
            each = [sum(p * likely(to, total + one.worth) for p, to in one.lottery) for one in choices]
            return Fraction(max(each) if own else pick(each))

        def mean(node: Node) -> Fraction:
            own, choices = self.game[node]
            each = [one.worth + sum(p * mean(to) for p, to in one.lottery) for one in choices]
            return Fraction((max(each) if own else pick(each)) if each else 0)

        starts: list[Node] = [("state", state) for state in self.naive.initial]
        return pick(likely(node, Fraction(0)) for node in starts), pick(map(mean, starts))

    def at_least(self, amount: Fraction, *, worst: bool) -> Fraction:
        """Return the probability of making so much."""
        pick = min if worst else max

        def likely(node: Node, remaining: Fraction) -> Fraction:
            own, choices = self.game[node]
            if not choices:
                return Fraction(remaining <= 0)
            each = [sum(p * likely(to, remaining - one.worth) for p, to in one.lottery) for one in choices]
            return Fraction(max(each) if own else pick(each))

        return pick(likely(("state", state), amount) for state in self.naive.initial)

    # --- what it makes in all, also where they do

    def totals(self, fairness: bool) -> tuple[Fraction | float, Fraction | float]:
        """Return the least and the greatest mean of all that is made, infinite ones too; `Undecided` where both are."""
        mine = [node for node, (own, choices) in self.game.items() if own and choices]
        adversarial = [node for node, (own, choices) in self.game.items() if choices and not own]
        least = max(
            min(self._totals(dict(zip(mine, picks, strict=True)), adversarial, fairness, -inf))
            for picks in product(*(range(len(self.game[node][1])) for node in mine))
        )
        return least, max(self._totals({}, [*adversarial, *mine], fairness, inf))

    def _totals(
        self, given: Mapping[Node, int], adversarial: list[Node], fairness: bool, wished: float
    ) -> Iterator[Fraction | float]:
        """Yield what comes of each policy of the others; to stay as long as one likes is not unfair yet."""
        for supports in product(*(_subsets(len(self.game[node][1])) for node in adversarial)):
            policy = {
                **{node: (pick,) for node, pick in given.items()},
                **dict(zip(adversarial, supports, strict=True)),
            }
            totals = [self._total(policy, ("state", state)) for state in self.naive.initial]
            fair = not fairness or self._is_fair(policy)
            yield from (total for total in totals if fair or total == wished)

    def _total(self, policy: Mapping[Node, tuple[int, ...]], start: Node) -> Fraction | float:
        after = self._reached(policy)
        inside = [node for node in policy if node in after[start]]
        recurrent = [node for node in inside if all(node in after[other] for other in after[node])]
        signs = {one.worth > 0 for node in recurrent for one in self._chosen(policy, node) if one.worth}
        if len(signs) > 1:
            raise Undecided
        if signs:
            return inf if True in signs else -inf
        index = {node: at for at, node in enumerate(node for node in inside if node not in recurrent)}
        rows: list[list[Fraction]] = []
        for node in index:
            row = [Fraction(0)] * (len(index) + 1)
            row[index[node]] = Fraction(1)
            for one in self._chosen(policy, node):
                row[-1] += one.worth / len(policy[node])
                for share, to in one.lottery:
                    if to in index:
                        row[index[to]] -= share / len(policy[node])
            rows.append(row)
        return _solved(rows)[index[start]] if start in index else Fraction(0)

    def _chosen(self, policy: Mapping[Node, tuple[int, ...]], node: Node) -> list[Choice]:
        return [self.game[node][1][at] for at in policy[node]]


class Undecided(Exception):
    """The total reward may grow and fall without bound."""


def _subsets(count: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(count), size) for size in range(1, count + 1)))


def corners(events: tuple[Event, ...]) -> list[tuple[Fraction, ...]]:
    """Return the probabilities within bounds of which all but one are at a bound, with the sum one."""
    vertices: dict[tuple[Fraction, ...], None] = {}
    for free in range(len(events)):
        other_events = events[:free] + events[free + 1 :]
        for shares in product(*({one.low, one.high} for one in other_events)):
            rest = 1 - sum(shares)
            if events[free].low <= rest <= events[free].high:
                vertices[(*shares[:free], Fraction(rest), *shares[free:])] = None
    return list(vertices)


def _solved(rows: list[list[Fraction]]) -> list[Fraction]:
    """Solve equations with one solution, by Gauss and Jordan."""
    size = len(rows)
    for at in range(size):
        pivot = next(row for row in range(at, size) if rows[row][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [entry / rows[at][at] for entry in rows[at]]
        for other in range(size):
            factor = rows[other][at]
            if other != at and factor:
                rows[other] = [one - factor * two for one, two in zip(rows[other], rows[at], strict=True)]
    return [row[-1] for row in rows]
