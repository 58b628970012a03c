"""Identifiers, conditions and values of synchronous systems in ISPL, in the scope of an agent or of the model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from cplc.export.identifiers import IdentifierSyntax, unique_identifiers
from cplc.export.ispl_expressions import IDENTIFIERS
from cplc.export.request import CannotExport
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import Agent, System, Variable

ENVIRONMENT: Final = "Environment"
_MCMAS_WORDS: Final = IdentifierSyntax(IDENTIFIERS.reserved - {"idle", "watch", "watching", "always"})
"""Reserved words of MCMAS, without the names that exports of protocols introduce."""
_OR, _AND, _ATOM = range(3)
"""Precedence levels of conditions."""


@dataclass(frozen=True)
class Names:
    """Identifiers of a model; variables are named within their agent."""

    system: System

    @cached_property
    def agents(self) -> Mapping[str, str]:
        originals = (agent.name for agent in self.system.agents if agent.name != ENVIRONMENT)
        names = unique_identifiers(originals, IDENTIFIERS)
        return {agent.name: names.get(agent.name, ENVIRONMENT) for agent in self.system.agents}

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """Unqualified names, distinct within each agent."""
        all_names: dict[str, str] = {}
        for agent in self.system.agents:
            own = {v.name.removeprefix(f"{agent.name}."): v.name for v in self.owned(agent)}
            names = unique_identifiers(own, _MCMAS_WORDS, self.agents.values())
            all_names |= {own[checked_length]: name for checked_length, name in names.items()}
        return all_names

    def owned(self, agent: Agent) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.system.variables if variable.owner == agent.name)

    @cached_property
    def values(self) -> Mapping[str, str]:
        words = (v for variable in self.system.variables for v in variable.domain if isinstance(v, str))
        return unique_identifiers(words, _MCMAS_WORDS, (*self.agents.values(), *self.variables.values()))

    @cached_property
    def actions(self) -> Mapping[str, str]:
        return unique_identifiers((action.name for p in self.system.players for action in p.actions), _MCMAS_WORDS)

    @property
    def taken(self) -> tuple[str, ...]:
        groups = (self.agents, self.variables, self.values, self.actions)
        return tuple(name for group in groups for name in group.values())

    def value(self, value: Value) -> str:
        match value:
            case bool():
                return str(value).lower()
            case int():
                return str(value)
            case str():
                return self.values[value]

    def type_of(self, variable: Variable) -> str:
        match variable.domain[0]:
            case bool():
                return "boolean"
            case int() as low if variable.domain == tuple(range(low, low + len(variable.domain))):
                return f"{low} .. {variable.domain[-1]}"
            case int():
                raise CannotExport(f"ISPL has no type for the values of `{variable.name}`, which are not in one range")
            case _:
                return f"{{{', '.join(map(self.value, variable.domain))}}}"


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes what an agent may read; ``None`` reads everything, by its full name."""

    names: Names
    agent: str | None
    allows_inequality: bool = True
    """``<>`` is available; in initial states MCMAS rejects it."""

    # --- conditions

    def condition(self, condition: Expr) -> str:
        return self._condition(condition)[0]

    def _condition(self, condition: Expr) -> tuple[str, int]:
        match condition:
            case e.Const(value):
                return self._constant(bool(value)), _ATOM
            case e.And(operands):
                return " and ".join(self._within(operand, _ATOM) for operand in operands), _AND
            case e.Or(operands):
                return " or ".join(self._within(operand, _ATOM) for operand in operands), _OR
            case e.Read(name):
                return f"{self._name(name)} = true", _ATOM
            case e.Not(e.Read(name)):
                return f"{self._name(name)} = false", _ATOM
            case e.Not(e.Less(left, right)):
                return f"{self.value(left)} >= {self.value(right)}", _ATOM
            case e.Not(e.Equal(left, right)) if self.allows_inequality and self._action_comparison(left, right) is None:
                return f"{self.value(left)} <> {self.value(right)}", _ATOM
            case e.Not(operand):
                return f"!({self.condition(operand)})", _ATOM
            case e.Less(left, right):
                return f"{self.value(left)} < {self.value(right)}", _ATOM
            case e.Equal(left, right):
                return self._action_comparison(left, right) or f"{self.value(left)} = {self.value(right)}", _ATOM
            case e.Ite(test, then, otherwise):
                chosen = e.disj((e.conj((test, then)), e.conj((e.negate(test), otherwise))))
                return self._condition(chosen)
            case e.Arith():
                raise AssertionError(condition)

    def _within(self, condition: Expr, level: int) -> str:
        text, precedence = self._condition(condition)
        return text if precedence >= level else f"({text})"

    def _action_comparison(self, left: Expr, right: Expr) -> str | None:
        """Return a comparison with an agent's action; None if it is none."""
        players = self.names.system.player
        match left, right:
            case (e.Read(choice), e.Const(str() as action)) | (e.Const(str() as action), e.Read(choice)) if (
                choice in players
            ):
                agent = players[choice].agent
                prefix = "" if agent == self.agent else f"{self.names.agents[agent]}."
                return f"{prefix}Action = {self.names.actions[action]}"
            case _:
                return None

    def _constant(self, value: bool) -> str:
        """Return a valid or an unsatisfiable comparison over a visible variable."""
        visible = self._visible_variables()
        if not visible:
            raise CannotExport(f"in ISPL a constant condition of `{self.agent}` requires a variable")
        same = self._name(visible[0])
        return f"{same} = {same}" if value else f"!({same} = {same})"

    def _visible_variables(self) -> tuple[str, ...]:
        system = self.names.system
        return tuple(system.variable) if self.agent is None else system.agent[self.agent].local

    def _name(self, variable: str) -> str:
        if variable in self.names.system.player:
            raise CannotExport("in ISPL an action is compared with the name of an action only")
        owner = self.names.system.variable[variable].owner
        if self.agent is not None and variable not in self.names.system.agent[self.agent].local:
            raise CannotExport(f"in ISPL `{self.agent}` cannot read `{variable}`")
        bare = self.names.variables[variable]
        return bare if owner == self.agent else f"{self.names.agents[owner]}.{bare}"

    # --- values

    def value(self, value: Expr) -> str:
        """Return the text of a value that is assigned or compared."""
        match value:
            case e.Const(constant):
                return self.names.value(constant)
            case e.Read(name):
                return self._name(name)
            case e.Not(e.Equal(left, right)):
                return f"({self._operand(left)} ^ {self._operand(right)})"
            case e.Equal(left, right):
                return f"~({self._operand(left)} ^ {self._operand(right)})"
            case e.Not(operand):
                return f"~{self._operand(operand)}"
            case e.And(operands):
                return f"({' & '.join(map(self._operand, operands))})"
            case e.Or(operands):
                return f"({' | '.join(map(self._operand, operands))})"
            case e.Arith("+" | "-" | "*" | "/" as op, left, right):
                return f"({self._operand(left)} {op} {self._operand(right)})"
            case _:
                raise CannotExport("ISPL has no remainder and no conditional values")

    def _operand(self, value: Expr) -> str:
        """Return the text of an operand, where negative numbers are not allowed."""
        match value:
            case e.Const(int() as number) if number < 0 and not isinstance(number, bool):
                return f"(0 - {-number})"
            case _:
                return self.value(value)
