"""What the players of a synchronous system did in a round, found from the states before and after it.

A rule made one of the changes whose values are those after the round, and that is said of the choices alone once the
state before is known. So it is a search for choices under which all of this holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cplc.checking.interpreter import holds, value
from cplc.logic.expressions import TRUE, And, Expr, conj, disj, is_false, is_true, negate, partially_evaluate
from cplc.logic.formulas import Adjacent
from cplc.system.memoize import memoize_per_system
from cplc.system.model import State, System
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.synchronous import Change
from cplc.system.trace import Evidence, Move, Run


def actions_between(
    system: System, before: State, after: State, only: tuple[str, str] | None = None
) -> tuple[str, ...] | None:
    """Return what the players may have done, in their order; None if no round leads from the one to the other.

    With ``only`` the player of that choice does that action.
    """
    return _joint_actions(system).between(before, after, only)


class _JointActions:
    """The rounds of one system. The runs of its formulas go the same ways again and again, so rounds are kept."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._names = tuple(variable.name for variable in system.variables)
        rules = [rule for player in system.players for rule in player.rules]
        self._rules = [(rule, {name for change in rule for name, _ in change.updates}) for rule in rules]
        self._kept = set(self._names).difference(*(written for _, written in self._rules))
        self._found: dict[object, tuple[str, ...] | None] = {}

    def between(self, before: State, after: State, only: tuple[str, str] | None) -> tuple[str, ...] | None:
        key = tuple(before[name] for name in self._names), tuple(after[name] for name in self._names), only
        if key not in self._found:
            self._found[key] = self._search(before, after, only)
        return self._found[key]

    def _search(self, before: State, after: State, only: tuple[str, str] | None) -> tuple[str, ...] | None:
        if any(before[name] != after[name] for name in self._kept):
            return None
        explained = []
        for rule, written in self._rules:
            explained.append(_explained(rule, written, before, after))
            if is_false(explained[-1]):
                return None
        domains = {
            player.choice: [
                action.name
                for action in player.actions
                if (only is None or only[0] != player.choice or only[1] == action.name)
                and holds(action.allowed, before)
            ]
            for player in self._system.players
        }
        choices = next(satisfying_assignments(domains, And(tuple(explained))), None)
        return None if choices is None else tuple(str(choices[player.choice]) for player in self._system.players)


@memoize_per_system
def _joint_actions(system: System) -> _JointActions:
    return _JointActions(system)


def with_actions(system: System, evidence: Evidence) -> Evidence:
    """Say in each round of the evidence what the players did; a search finds nothing but the states."""
    only = evidence.formula.choice if isinstance(evidence.formula, Adjacent) else None
    return replace(
        evidence,
        run=_run_with_actions(system, evidence.run, only),
        parts=tuple((position, with_actions(system, part)) for position, part in evidence.parts),
        elsewhere=evidence.elsewhere and _run_with_actions(system, evidence.elsewhere, None),
        there=evidence.there and with_actions(system, evidence.there),
        lasting=evidence.lasting and with_actions(system, evidence.lasting),
    )


def _run_with_actions(system: System, run: Run, only: tuple[str, str] | None) -> Run:
    moves: list[Move] = []
    for before, move in zip(run.states, run.moves, strict=False):
        moves.append(replace(move, actions=actions_between(system, before, move.state, only) or ()))
    return replace(run, moves=tuple(moves))


def _explained(rule: Sequence[Change], written: set[str], before: State, after: State) -> Expr:
    """Return what the choices must be for the rule to have written what is there after the round."""
    made = []
    for change in rule:
        if _writes(change, written, before, after):
            made.append(partially_evaluate(change.guard, before))
            if is_true(made[-1]):
                return TRUE
    if all(before[name] == after[name] for name in written):
        made.append(conj(negate(partially_evaluate(change.guard, before)) for change in rule))
    return disj(made)


def _writes(change: Change, written: set[str], before: State, after: State) -> bool:
    """Whether what the rule writes is after the round as this change makes it."""
    updates = {name: value(update, before) for name, update in change.updates}
    return all(updates.get(name, before[name]) == after[name] for name in written)
