"""Totalisation of the transition relation for tools that require infinite runs, and relativisation of formulas.

If a syntactic check excludes deadlocks, the system is unchanged. Otherwise a sink state *halted* becomes a successor of
every state and of itself. Formulas are relativised to the other states: existential goals must be reached before the
sink, universal goals need not hold in it, and CTL* quantifiers range over runs that avoid it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, assert_never

from cplc.export.expression_simplify import Domains, is_unsatisfiable
from cplc.export.request import ExportedFormula
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System, Variable
from cplc.system.synchronous import Action, Change, Player

_MAX_COMPARED_ACTIONS: Final = 16
"""Maximum number of actions of a player whose guards are compared pairwise."""


@dataclass(frozen=True)
class PlayerChoice:
    """A player with properties of its choice."""

    player: Player
    is_free: bool
    """Several actions may be allowed in one state."""
    is_total: bool
    """Some action is allowed in every state."""


@dataclass(frozen=True)
class TotalSystem:
    """A system with a total transition relation, and the formulas relativised to its original states."""

    system: System
    """The system with the players' choices as variables and, if needed, ``halted``."""
    formulas: tuple[ExportedFormula, ...]
    player_choices: tuple[PlayerChoice, ...]
    halted: str | None


def totalise(system: System, formulas: Sequence[ExportedFormula]) -> TotalSystem:
    """Return the system with choices as variables, and with a sink state unless deadlocks are excluded.

    With conditions of ``fairness`` the targets quantify over infinite fair runs only; then never to halt is one more
    condition.
    """
    domains = {variable.name: variable.domain for variable in system.variables}
    choices = tuple(
        Variable(player.choice, names, names, "own", player.agent, player.choice)
        for player in system.players
        for names in (tuple(action.name for action in player.actions),)
    )
    player_choices = tuple(_player_choice(player, domains) for player in system.players)
    domains |= {choice.name: choice.domain for choice in choices}
    changes = (change for player in system.players for rule in player.rules for change in rule)
    has_no_deadlock = all(one.is_total for one in player_choices) and all(
        _stays_in_range(change, domains) for change in changes
    )
    if has_no_deadlock:
        return TotalSystem(
            replace(system, variables=(*system.variables, *choices)), tuple(formulas), player_choices, None
        )
    name = "halted"
    while name in domains:
        name += "'"
    halted = Variable(name, (False, True), (False,), "own", "Env", name)
    fairness = (*system.fairness, e.Not(e.Read(name))) if system.fairness else ()
    relativised = tuple(
        formula if system.fairness else replace(formula, formula=relativise(formula.formula, name))
        for formula in formulas
    )
    widened = replace(system, variables=(*system.variables, halted, *choices), fairness=fairness)
    return TotalSystem(widened, relativised, player_choices, name)


def _player_choice(player: Player, domains: Domains) -> PlayerChoice:
    """Return the properties of the choice; valid guards become true."""
    actions = tuple(
        Action(one.name, e.TRUE if is_unsatisfiable(e.negate(one.allowed), domains) else one.allowed)
        for one in player.actions
    )
    allowed = [action.allowed for action in actions]
    pairs = combinations(allowed, 2)
    is_free = len(allowed) > _MAX_COMPARED_ACTIONS or not all(is_unsatisfiable(e.conj(pair), domains) for pair in pairs)
    is_total = is_unsatisfiable(e.conj(map(e.negate, allowed)), domains)
    return PlayerChoice(replace(player, actions=actions), is_free, is_total)


def _stays_in_range(change: Change, domains: Domains) -> bool:
    return all(
        _is_in_domain(value, domains, name)
        or is_unsatisfiable(e.conj((change.guard, _is_outside(value, domains[name]))), domains)
        for name, value in change.updates
    )


def _is_in_domain(value: Expr, domains: Domains, name: str) -> bool:
    """Tell whether the type of the expression implies a value in the variable's domain."""
    if isinstance(domains[name][0], bool):
        return True
    return isinstance(value, e.Read) and set(domains[value.variable]) <= set(domains[name])


def _is_outside(value: Expr, domain: tuple[Value, ...]) -> Expr:
    return e.negate(e.one_of(value, domain))


# --- relativisation to running states


def relativise(formula: Formula, halted: str) -> Formula:
    """Return a formula that holds in the system with ``halted`` iff this one holds in the system without."""
    halted_atom = f.Atom(e.Read(halted), halted)
    return _Relativisation(halted_atom, f.Not(halted_atom)).of(formula)


@dataclass(frozen=True)
class _Relativisation:
    halted_atom2: Formula
    running: Formula

    def of(self, formula: Formula) -> Formula:
        parts = tuple(map(self.of, f.children(formula)))
        rebuilt = f.with_children(formula, parts) if parts else formula
        if not isinstance(rebuilt, f.OnPaths):
            return rebuilt
        operator = f.ctl_path(rebuilt)
        if operator is not None:
            path = self._exists(operator) if rebuilt.quantifier == "E" else self._for_all(operator)
            return replace(rebuilt, path=path)
        endless = f.Globally(self.running)
        is_some = rebuilt.quantifier == "E"
        return replace(rebuilt, path=f.And((endless, rebuilt.path)) if is_some else f.Implies(endless, rebuilt.path))

    def _exists(self, path: f.CtlPath) -> Formula:
        match path:
            case f.Next(operand) | f.Finally(operand) | f.Globally(operand):
                return replace(path, operand=self._while_running(operand))
            case f.Until(_, right) | f.Release(_, right):
                return replace(path, right=self._while_running(right))
            case f.WeakUntil(left, right):
                return replace(path, left=self._while_running(left), right=self._while_running(right))
            case f.Derived():
                return self._exists(f.ctl_core(path))
            case _:
                assert_never(path)

    def _for_all(self, path: f.CtlPath) -> Formula:
        match path:
            case f.Next(operand) | f.Finally(operand) | f.Globally(operand):
                return replace(path, operand=self._unless_halted(operand))
            case f.Until(_, right) | f.Release(_, right) | f.WeakUntil(_, right):
                return replace(path, right=self._unless_halted(right))
            case f.Derived():
                return self._for_all(f.ctl_core(path))
            case _:
                assert_never(path)

    def _while_running(self, operand: Formula) -> Formula:
        return f.And((operand, self.running))

    def _unless_halted(self, operand: Formula) -> Formula:
        return f.Or((operand, self.halted_atom2))
