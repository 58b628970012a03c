"""Conditions under which two synchronous systems with the same variables differ in a round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product, zip_longest
from math import prod

from cplc.logic.expressions import FALSE, TRUE, Const, Expr, Read, conj, disj, equal, negate, reads, substitute
from cplc.system.model import System
from cplc.system.synchronous import Change, Player

_MAX_JOINT_ACTIONS = 4_096
"""Maximum number of joint actions for which the condition of a change is expanded."""


def round_difference(one: System, other: System) -> Expr | None:
    """Return a condition on states that holds wherever rounds of the systems differ; None if it cannot be given."""
    if (one.start, one.agents, one.shared) != (other.start, other.agents, other.shared):
        return None
    if [player.agent for player in one.players] != [player.agent for player in other.players]:
        return None
    allowed = {choice: _allowed(player, other.player[choice]) for choice, player in one.player.items()}
    conditions = [
        _some_action(condition, allowed)
        for mine, theirs in zip(one.players, other.players, strict=True)
        for condition in (*_protocol_differences(mine, theirs), *_rule_differences(mine, theirs))
    ]
    return disj(conditions)


def _allowed(mine: Player, theirs: Player) -> dict[str, Expr]:
    """Return the condition under which each action is allowed in one of the systems."""
    conditions: dict[str, list[Expr]] = {}
    for action in (*mine.actions, *theirs.actions):
        conditions.setdefault(action.name, []).append(action.allowed)
    return {name: disj(some) for name, some in conditions.items()}


def _protocol_differences(mine: Player, theirs: Player) -> list[Expr]:
    first, second = ({action.name: action.allowed for action in player.actions} for player in (mine, theirs))
    return [_exclusive(first.get(name, FALSE), second.get(name, FALSE)) for name in {**first, **second}]


def _rule_differences(mine: Player, theirs: Player) -> list[Expr]:
    if len(mine.rules) == len(theirs.rules):
        pairs = list(zip(mine.rules, theirs.rules, strict=True))
    else:  # the rule of a variable without lines is missing
        pairs = [(rule, rule) for rule in mine.rules if rule in theirs.rules]
        missing = [rule for rule in mine.rules if rule not in theirs.rules]
        added = [rule for rule in theirs.rules if rule not in mine.rules]
        pairs += list(zip_longest(missing, added, fillvalue=()))
    return [condition for first, second in pairs if first != second for condition in _changes_differ(first, second)]


def _changes_differ(first: Sequence[Change], second: Sequence[Change]) -> list[Expr]:
    conditions = []
    for mine, theirs in _paired(first, second):
        if mine == theirs:
            continue
        if mine is None or theirs is None:
            change = mine or theirs
            assert change is not None
            conditions.append(conj((change.guard, _matters(change, first, second))))
            continue
        only_one = _exclusive(mine.guard, theirs.guard)
        conditions.append(conj((only_one, _matters(mine, first, second))))
        conditions.append(conj((mine.guard, theirs.guard, _writes_differ(mine, theirs))))
    return conditions


def _paired(first: Sequence[Change], second: Sequence[Change]) -> list[tuple[Change | None, Change | None]]:
    """Return the changes by position; of a longer sequence, the first that differs has no partner."""
    mine: list[Change | None] = [*first]
    theirs: list[Change | None] = [*second]
    for number in range(max(len(mine), len(theirs))):
        if len(mine) > len(theirs) and (number >= len(theirs) or mine[number] != theirs[number]):
            theirs.insert(number, None)
        elif len(theirs) > len(mine) and (number >= len(mine) or mine[number] != theirs[number]):
            mine.insert(number, None)
    return list(zip(mine, theirs, strict=True))


def _matters(change: Change, first: Sequence[Change], second: Sequence[Change]) -> Expr:
    """Return the condition under which it matters whether a change is possible.

    It does not if no other change of its rule is possible, so that nothing would change, and it changes nothing either.
    """
    alternatives = [one.guard for changes in (first, second) for one in changes if one.updates != change.updates]
    writes = [negate(equal(value, Read(name))) for name, value in change.updates]
    return disj((*alternatives, *writes))


def _writes_differ(mine: Change, theirs: Change) -> Expr:
    first, second = dict(mine.updates), dict(theirs.updates)
    return disj(
        negate(equal(first.get(name, Read(name)), second.get(name, Read(name)))) for name in {**first, **second}
    )


def _exclusive(one: Expr, other: Expr) -> Expr:
    if one == other:
        return FALSE
    return disj((conj((one, negate(other))), conj((other, negate(one)))))


def _some_action(condition: Expr, allowed: dict[str, dict[str, Expr]]) -> Expr:
    """Return the condition on states under which some allowed joint action satisfies the condition."""
    choices = sorted(reads(condition) & allowed.keys())
    if prod(len(allowed[choice]) for choice in choices) > _MAX_JOINT_ACTIONS:
        return TRUE
    return disj(
        conj(
            (
                *(allowed[choice][action] for choice, action in zip(choices, actions, strict=True)),
                substitute(condition, {name: Const(action) for name, action in zip(choices, actions, strict=True)}),
            )
        )
        for actions in product(*(allowed[choice] for choice in choices))
    )
