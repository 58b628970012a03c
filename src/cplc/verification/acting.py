"""What the players of a synchronous system did in a round, found from the states before and after it.

A rule made one of the changes whose values are those after the round, and that is said of the choices alone once the
state before is known. So it is a search for choices under which all of this holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cplc.system.expr import Const, Expr, conj, disj, negate, replaced
from cplc.system.formula import Adjacent
from cplc.system.model import State, System
from cplc.system.rounds import Change
from cplc.system.solving import solutions
from cplc.system.trace import Evidence, Move, Run
from cplc.verification.interpreter import holds, value


def actions_between(
    system: System, before: State, after: State, only: tuple[str, str] | None = None
) -> tuple[str, ...] | None:
    """Return what the players may have done, in their order; None if no round leads from the one to the other.

    With ``only`` the player of that choice does that action.
    """
    domains = {
        player.choice: [
            action.name
            for action in player.actions
            if holds(action.allowed, before) and (only is None or only[0] != player.choice or only[1] == action.name)
        ]
        for player in system.players
    }
    rules = [rule for player in system.players for rule in player.rules]
    written = {name for rule in rules for change in rule for name, _ in change.updates}
    if any(before[name] != after[name] for name in before if name not in written):
        return None
    found = next(solutions(domains, conj(_explained(rules, before, after))), None)
    return None if found is None else tuple(str(found[player.choice]) for player in system.players)


def with_actions(system: System, evidence: Evidence) -> Evidence:
    """Say in each round of the evidence what the players did; a search finds nothing but the states."""
    only = evidence.formula.choice if isinstance(evidence.formula, Adjacent) else None
    return replace(
        evidence,
        run=_run_with_actions(system, evidence.run, only),
        parts=tuple((position, with_actions(system, part)) for position, part in evidence.parts),
        elsewhere=evidence.elsewhere and _run_with_actions(system, evidence.elsewhere, None),
        there=evidence.there and with_actions(system, evidence.there),
    )


def _run_with_actions(system: System, run: Run, only: tuple[str, str] | None) -> Run:
    moves: list[Move] = []
    for before, move in zip(run.states, run.moves, strict=False):
        moves.append(replace(move, actions=actions_between(system, before, move.state, only) or ()))
    return replace(run, moves=tuple(moves))


def _explained(rules: Iterable[Sequence[Change]], before: State, after: State) -> Iterator[Expr]:
    """Yield for each rule what the choices must be for it to have written what is there after the round."""
    known: dict[str, Expr] = {name: Const(at) for name, at in before.items()}
    for rule in rules:
        written = {name for change in rule for name, _ in change.updates}
        guards = [replaced(change.guard, known) for change in rule]
        made = [guard for guard, change in zip(guards, rule, strict=True) if _writes(change, written, before, after)]
        if all(before[name] == after[name] for name in written):
            made.append(conj(map(negate, guards)))
        yield disj(made)


def _writes(change: Change, written: set[str], before: State, after: State) -> bool:
    """Whether what the rule writes is after the round as this change makes it."""
    updates = {name: value(update, before) for name, update in change.updates}
    return all(updates.get(name, before[name]) == after[name] for name in written)
