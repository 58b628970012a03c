"""Export of synchronous systems to ISPL, agent by agent.

Numbers remain numbers, since ISPL computes with them. So MCMAS overestimates the number of reachable states if the size
of a range is not a power of two, as it does for the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, Literal, assert_never

from cplc.export.ispl import abbreviated_names, wrap
from cplc.export.ispl_formulas import ALWAYS, IDENTIFIERS, Ctl, CtlStar, FormulaNames, Vocabulary, is_ctl
from cplc.export.request import CannotExport, Export, ExportedFormula, NotExpressible, Request
from cplc.export.templating import IdentifierSyntax, comment, header_lines, render, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Agent, System, Variable
from cplc.system.synchronous import Player

# --- Identifiers, conditions and values of synchronous systems in ISPL, in the scope of an agent or of the model


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
            all_names |= {own[variable]: name for variable, name in names.items()}
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


_MAX_INITIAL_COMBINATIONS: Final = 10_000
"""Maximum number of valuations that a condition on initial states is expanded to."""


def export(request: Request) -> Export:
    """Return the model with the formulas that MCMAS 1.3 can express."""
    file = _File(request.system, tuple(request.formulas))
    translated, left_out = [], []
    for one in request.formulas:
        try:
            translated.append((one, file.formula(one.formula)))
        except NotExpressible as problem:
            left_out.append(f"`{one.name}`: {problem} cannot be expressed")
    fairness = list(file.fairness())
    texts = [*fairness, *([text for _, text in translated] or [ALWAYS])]
    text = render(
        "ispl_synchronous.j2",
        header=header_lines(request, (), left_out),
        semantics=file.semantics,
        agents=list(file.agents()),
        propositions=list(file.evaluation(any(re.search(rf"\b{ALWAYS}\b", text) for text in texts))),
        initial=list(file.initial()),
        coalitions=list(file.coalitions()),
        fairness=fairness,
        formulas=[(one.remarks, text) for one, text in translated] or [(["no formula was exported"], ALWAYS)],
        comment=comment,
        wrap=wrap,
    )
    return Export(text, tuple(left_out), comment="--", written=tuple(one.name for one, _ in translated))


@dataclass(frozen=True, slots=True)
class _Agent:
    original: str
    name: str
    observed: list[str]
    variables: list[tuple[str, str, str]]
    """Original name, identifier and type of each."""
    actions: list[str]
    protocol: list[tuple[str, str]]
    """Conditions, each with an action that it allows."""
    other: list[str]
    evolution: list[tuple[str, str]]


@dataclass(frozen=True)
class _File:
    """Content of the file, with identifiers."""

    system: System
    questions: tuple[ExportedFormula, ...]

    @cached_property
    def names(self) -> Names:
        return Names(self.system)

    @cached_property
    def semantics(self) -> Literal["MultiAssignment", "SingleAssignment"]:
        players = self.system.players
        if all(len(player.rules) <= 1 for player in players):
            return "MultiAssignment"
        changes = [change for player in players for rule in player.rules for change in rule]
        targets = [{name for change in rule for name, _ in change.updates} for p in players for rule in p.rules]
        if all(len(change.updates) == 1 for change in changes) and all(len(names) == 1 for names in targets):
            return "SingleAssignment"
        raise CannotExport("in ISPL either each agent has one rule or each of its variables has one")

    def agents(self) -> Iterator[_Agent]:
        players = {player.agent: player for player in self.system.players}
        if len(players) < len(self.system.players) or players.keys() != self.system.agent.keys():
            raise CannotExport("in ISPL every agent chooses exactly one action per round")
        first = sorted(self.system.agents, key=lambda agent: agent.name != ENVIRONMENT)
        return (self._agent(agent, players[agent.name]) for agent in first)

    def _agent(self, agent: Agent, player: Player) -> _Agent:
        writer = Writer(self.names, agent.name)
        own = self.names.owned(agent)
        if not own and agent.name != ENVIRONMENT:
            raise CannotExport(f"in ISPL `{agent.name}` must have a variable")
        ours = {variable.name for variable in own}
        if any(name not in ours for rule in player.rules for change in rule for name, _ in change.updates):
            raise CannotExport(f"in ISPL `{agent.name}` can change its own variables only")
        names = self.names.variables
        protocol, other = self._protocol(player, writer)
        return _Agent(
            agent.name,
            self.names.agents[agent.name],
            [names[name] for name in agent.local if name not in ours],
            [(v.name.removeprefix(f"{agent.name}."), names[v.name], self.names.type_of(v)) for v in own],
            [self.names.actions[action.name] for action in player.actions],
            protocol,
            other,
            list(self._evolution(player, writer)),
        )

    def _protocol(self, player: Player, writer: Writer) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the lines and the actions of `Other`; an environment without lines could take any action."""
        called = self.names.actions
        if all(isinstance(action.allowed, e.Const) for action in player.actions):
            allowed = [called[action.name] for action in player.actions if e.is_true(action.allowed)]
            if allowed:
                return [], allowed
        return [
            (writer.condition(action.allowed), called[action.name])
            for action in player.actions
            if len(player.actions) == 1 or not e.is_false(action.allowed)
        ], []

    def _evolution(self, player: Player, writer: Writer) -> Iterator[tuple[str, str]]:
        for rule in player.rules:
            for change in rule:
                made = (f"{self.names.variables[name]} = {writer.value(value)}" for name, value in change.updates)
                yield " and ".join(made), self._guard(change.guard, player, writer)

    def _guard(self, guard: Expr, player: Player, writer: Writer) -> str:
        if not isinstance(guard, e.Const):
            return writer.condition(guard)
        some = f"Action = {self.names.actions[player.actions[0].name]}"
        return f"{some} or !({some})" if guard.value else f"{some} and !({some})"

    # --- formulas

    def _formulas(self) -> Iterator[Formula]:
        yield from (one.formula for one in self.questions)
        yield from (condition.operand for condition in self.system.recurring)

    def fairness(self) -> Iterator[str]:
        """Yield the fairness conditions; conditions on variables are propositions."""
        yield from (self.formula_names.propositions[condition] for condition in self.system.fairness)
        for condition in self.system.recurring:
            try:
                yield self.formula(condition.operand)
            except NotExpressible as problem:
                raise CannotExport(f"fairness conditions with {problem} cannot be expressed") from None

    @cached_property
    def _conditions(self) -> dict[Expr, str]:
        """Conditions of the propositions, each with its original text."""
        parts = (part for formula in self._formulas() for part in f.subformulas(formula))
        texts = {part.condition: part.text for part in parts if isinstance(part, f.Atom)}
        for condition in self.system.fairness:
            texts.setdefault(condition, "fairness")
        return texts

    @cached_property
    def _coalitions(self) -> dict[frozenset[str], str]:
        groups: dict[frozenset[str], str] = {}
        for part in (part for formula in self._formulas() for part in f.subformulas(formula)):
            if isinstance(part, f.Knows) and part.agents and (part.mode != "each" or len(part.agents) > 1):
                groups[frozenset(part.agents)] = " and ".join(part.agents)
            elif isinstance(part, f.Enforces):
                groups[frozenset(part.group)] = " and ".join(part.group)
        return groups

    @cached_property
    def formula_names(self) -> FormulaNames:
        propositions = abbreviated_names(self._conditions, (ALWAYS, *self.names.taken))
        taken = (ALWAYS, *self.names.taken, *propositions.values())
        return FormulaNames(propositions, self.names.agents, abbreviated_names(self._coalitions, taken))

    def formula(self, formula: Formula) -> str:
        for part in f.core_subformulas(formula):
            match part:
                case f.KnownFrom():
                    raise NotExpressible("social commitments")
                case f.Adjacent():
                    raise NotExpressible("operations on commitments")
                case f.Taken() | f.Previous() | f.Since():
                    raise NotExpressible("steps and past operators")
                case f.Enforces(uniform=True):
                    raise NotExpressible("uniform strategies, an option of MCMAS (-atlk 2),")
                case f.Enforces() | f.Knows(_, ()) if not is_ctl(formula):
                    raise NotExpressible("strategies and validity in CTL*")
                case f.Atom() | f.Not() | f.And() | f.PathOperator() | f.StateOperator():
                    pass
                case _:
                    assert_never(part)
        if is_ctl(formula):
            return Ctl(self.formula_names).text(formula)
        return f"CTL* {CtlStar(self.formula_names, self.system).text(formula)}"

    def evaluation(self, always: bool) -> Iterator[tuple[str, str, str]]:
        """Yield the propositions; MCMAS requires one."""
        writer = Writer(self.names, None)
        if always or not self.formula_names.propositions:
            yield ALWAYS, ALWAYS, writer.condition(e.TRUE)
        for condition, name in self.formula_names.propositions.items():
            yield self._conditions[condition], name, writer.condition(condition)

    def coalitions(self) -> Iterator[tuple[str, list[str]]]:
        for group, name in self.formula_names.coalitions.items():
            yield name, [text for agent, text in self.names.agents.items() if agent in group]

    # --- initial states

    def initial(self) -> Iterator[str]:
        """Yield the conjuncts of the initial condition; MCMAS requires one."""
        writer = Writer(self.names, None, allows_inequality=False)
        yielded = False
        for variable in self.system.variables:
            if set(variable.initial) != set(variable.domain):
                text = writer.condition(e.one_of(e.Read(variable.name), variable.initial))
                yield text if len(variable.initial) == 1 else f"({text})"
                yielded = True
        if not e.is_true(self.system.start):
            yield f"({writer.condition(self._in_equalities(self.system.start))})"
        elif not yielded:
            yield writer.condition(e.TRUE)

    def _in_equalities(self, condition: Expr) -> Expr:
        """Return the condition over equalities only, as MCMAS requires in initial states."""
        match condition:
            case e.Not(operand):
                return e.negate(self._in_equalities(operand))
            case e.And(operands):
                return e.conj(map(self._in_equalities, operands))
            case e.Or(operands):
                return e.disj(map(self._in_equalities, operands))
            case e.Equal(e.Read() | e.Const(), e.Read() | e.Const()) | e.Read() | e.Const():
                return condition
            case _:
                cases = 1
                for name in e.reads(condition):
                    cases *= len(self.system.variable[name].domain)
                if cases > _MAX_INITIAL_COMBINATIONS:
                    raise CannotExport("ISPL has no arithmetic in initial states; this condition has too many cases")
                return Vocabulary(self.system).condition(condition)
