"""Synchronous systems for tools whose runs never end: what happens in a deadlock, and formulas that do not notice.

Where it is plain that no state is a deadlock there is nothing to do. Otherwise one state more, *halted*, follows
every state and itself. It is no state of the system, so formulas are told to pass it over: what some run does happens
before it, what all runs do need not happen once it is there, and runs that are to be endless never come to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from cplc.export.expression_simplify import Domains, is_unsatisfiable
from cplc.export.request import ExportedFormula
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System, Variable
from cplc.system.synchronous import Action, Change, Player

_COMPARED: Final = 16
"""Of a player with more actions than this no two are compared: it may choose."""


@dataclass(frozen=True)
class Choosing:
    """How a player's choice comes about."""

    player: Player
    is_free: bool
    """Whether several actions may be allowed at once."""
    is_sure: bool
    """Whether it is plain that some action always is."""


@dataclass(frozen=True)
class Total:
    """A system, what is asked of it, and how its rounds are made up so that there always is a next one."""

    system: System
    """With the choices of the players among the variables, and with ``halted``, if that is needed."""
    formulas: tuple[ExportedFormula, ...]
    choosing: tuple[Choosing, ...]
    halted: str | None


def total(system: System, formulas: Sequence[ExportedFormula]) -> Total:
    """Return the system with choices as variables, and with a state to halt in unless it is plain that it never does.

    With conditions of ``fairness`` the targets themselves speak of endless fair runs alone; there not to halt is one
    condition more.
    """
    domains = {variable.name: variable.domain for variable in system.variables}
    choices = tuple(
        Variable(player.choice, names, names, "own", player.agent, player.choice)
        for player in system.players
        for names in (tuple(action.name for action in player.actions),)
    )
    choosing = tuple(_choosing(player, domains) for player in system.players)
    domains |= {choice.name: choice.domain for choice in choices}
    changes = (change for player in system.players for rule in player.rules for change in rule)
    goes_on = all(one.is_sure for one in choosing) and all(_stays_inside(change, domains) for change in changes)
    if goes_on:
        return Total(replace(system, variables=(*system.variables, *choices)), tuple(formulas), choosing, None)
    name = "halted"
    while name in domains:
        name += "'"
    halted = Variable(name, (False, True), (False,), "own", "Env", name)
    fairness = (*system.fairness, e.Not(e.Read(name))) if system.fairness else ()
    relativised = tuple(
        formula if system.fairness else replace(formula, formula=passing_over(formula.formula, name))
        for formula in formulas
    )
    widened = replace(system, variables=(*system.variables, halted, *choices), fairness=fairness)
    return Total(widened, relativised, choosing, name)


def _choosing(player: Player, domains: Domains) -> Choosing:
    """Return how the choice comes about, with conditions that plainly always hold made true."""
    actions = tuple(
        Action(one.name, e.TRUE if is_unsatisfiable(e.negate(one.allowed), domains) else one.allowed)
        for one in player.actions
    )
    allowed = [action.allowed for action in actions]
    pairs = combinations(allowed, 2)
    is_free = len(allowed) > _COMPARED or not all(is_unsatisfiable(e.conj(pair), domains) for pair in pairs)
    is_sure = is_unsatisfiable(e.conj(map(e.negate, allowed)), domains)
    return Choosing(replace(player, actions=actions), is_free, is_sure)


def _stays_inside(change: Change, domains: Domains) -> bool:
    return all(
        _is_inside(value, domains, name)
        or is_unsatisfiable(e.conj((change.guard, _outside(value, domains[name]))), domains)
        for name, value in change.updates
    )


def _is_inside(value: Expr, domains: Domains, name: str) -> bool:
    """Whether the kind of the expression alone shows that it has a value of the variable's domain."""
    if isinstance(domains[name][0], bool):
        return True
    return isinstance(value, e.Read) and set(domains[value.variable]) <= set(domains[name])


def _outside(value: Expr, domain: tuple[Value, ...]) -> Expr:
    return e.negate(e.one_of(value, domain))


# --- formulas that pass over the state to halt in


def passing_over(formula: Formula, halted: str) -> Formula:
    """Return what holds of the system with ``halted`` where the formula holds of the system without."""
    halted_atom = f.Atom(e.Read(halted), halted)
    return _Passing(halted_atom, f.Not(halted_atom)).of(formula)


@dataclass(frozen=True)
class _Passing:
    there: Formula
    going: Formula

    def of(self, formula: Formula) -> Formula:
        parts = tuple(map(self.of, f.children(formula)))
        rebuilt = f.with_children(formula, parts) if parts else formula
        match rebuilt:
            case f.OnPaths(quantifier, path):
                operator = f.ctl_path(rebuilt)
                if operator is not None:
                    return replace(rebuilt, path=self._some(operator) if quantifier == "E" else self._all(operator))
                endless = f.Globally(self.going)
                along = f.And((endless, path)) if quantifier == "E" else f.Implies(endless, path)
                return replace(rebuilt, path=along)
            case _:
                return rebuilt

    def _some(self, path: f.Path) -> f.Path:
        match path:
            case f.Next(operand) | f.Finally(operand) | f.Globally(operand):
                return replace(path, operand=self._before(operand))
            case f.Until(_, right) | f.Release(_, right):
                return replace(path, right=self._before(right))
            case f.WeakUntil(left, right):
                return f.WeakUntil(self._before(left), self._before(right))

    def _all(self, path: f.Path) -> f.Path:
        match path:
            case f.Next(operand) | f.Finally(operand) | f.Globally(operand):
                return replace(path, operand=self._unless(operand))
            case f.Until(_, right) | f.WeakUntil(_, right) | f.Release(_, right):
                return replace(path, right=self._unless(right))

    def _before(self, operand: Formula) -> Formula:
        return f.And((operand, self.going))

    def _unless(self, operand: Formula) -> Formula:
        return f.Or((operand, self.there))
