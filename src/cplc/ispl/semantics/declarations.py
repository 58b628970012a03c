"""Declarations of an ISPL file: agents with variables and actions, propositions, groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean
from cplc.ispl.semantics import model
from cplc.ispl.syntax import ast
from cplc.ispl.syntax.ast import ACTION, ENVIRONMENT
from cplc.records import dataclass
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.source import Span

MAX_VALUES: Final = 1_000_000
"""Maximum number of values of a variable."""

_SPECIAL: Final = frozenset({ACTION, ENVIRONMENT})
"""Reserved words that the grammar reads as names."""


@dataclass(frozen=True)
class Declared:
    """Symbol table of one agent."""

    node: ast.Agent
    variables: Mapping[str, model.Variable]
    actions: Mapping[str, Span]
    values: Mapping[str, model.Variable]
    """Values of enumerations, each with a variable of that type."""
    observed: Mapping[str, model.Variable]
    """Variables of the environment that the agent observes."""

    @property
    def name(self) -> str:
        return self.node.name.text


@dataclass
class Declarations:
    """Symbol table of a file."""

    agents: dict[str, Declared] = field(default_factory=dict)
    propositions: dict[str, ast.Proposition] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def environment(self) -> Declared | None:
        return self.agents.get(ENVIRONMENT)

    def agent(self, name: ast.Name, problems: DiagnosticSink) -> Declared | None:
        """Return the agent of that name, or report that there is none."""
        agent = self.agents.get(name.text)
        if agent is None:
            notes = did_you_mean(name.text, self.agents)
            if name.text in self.groups:
                notes = (Note(f"`{name.text}` is a group"),)
            problems.report(rules.UNKNOWN_NAME, name.span, f"No agent is called `{name.text}`", *notes)
        return agent


def declarations(file: ast.File, problems: DiagnosticSink) -> Declarations:
    """Return the declarations of a file; report duplicates and invalid declarations."""
    result = Declarations()
    environment = next((agent for agent in file.agents if agent.is_environment), None)
    environment_variables = _variables(environment, problems) if environment else {}
    if environment is not None and file.agents[0] is not environment:
        problems.report(rules.SYNTAX, environment.name.span, "`Environment` must be the first agent")
    for agent in file.agents:
        _check_new(
            agent.name, result.agents, "agent", problems, {name: d.node.name for name, d in result.agents.items()}
        )
        if agent.name.text and agent.name.text not in result.agents:
            variables = environment_variables if agent is environment else _variables(agent, problems)
            observed = {} if agent.is_environment else _observed(agent, environment, environment_variables, problems)
            result.agents[agent.name.text] = _declared(agent, variables, observed, problems)
    named = {one.name.text: one.name for one in reversed(file.propositions)}
    for proposition in file.propositions:
        _check_new(proposition.name, result.propositions, "proposition", problems, named)
        result.propositions.setdefault(proposition.name.text, proposition)
    named = {one.name.text: one.name for one in reversed(file.groups)}
    for group in file.groups:
        _check_new(group.name, result.groups, "group", problems, named)
        _check_repeated(group.members, f"the group `{group.name.text}`", problems)
        members = [name.text for name in group.members if result.agent(name, problems)]
        result.groups.setdefault(group.name.text, tuple(dict.fromkeys(members)))
    return result


def _check_new(
    name: ast.Name, declared: Iterable[str], what: str, problems: DiagnosticSink, earlier: Mapping[str, ast.Name]
) -> None:
    """Report a duplicate or reserved name."""
    if name.text in declared and name.text:
        first = Note("the first declaration", earlier[name.text].span)
        problems.report(rules.DUPLICATE_NAME, name.span, f"Duplicate {what} `{name.text}`", first)
    elif name.text in _SPECIAL and what != "agent":
        problems.report(rules.RESERVED_NAME, name.span, f"`{name.text}` is a reserved word of ISPL")


def _check_repeated(names: Iterable[ast.Name], where: str, problems: DiagnosticSink) -> None:
    """Warn of names that a set repeats."""
    members: set[str] = set()
    for name in names:
        if name.text in members:
            problems.report(rules.REPEATED_NAME, name.span, f"`{name.text}` occurs twice in {where}")
        members.add(name.text)


def _variables(agent: ast.Agent, problems: DiagnosticSink) -> dict[str, model.Variable]:
    variables: dict[str, model.Variable] = {}
    names = {one.name.text: one.name for one in (*reversed(agent.variables), *reversed(agent.obsvars))}
    for index, variable in enumerate((*agent.obsvars, *agent.variables)):
        _check_new(variable.name, variables, "variable", problems, names)
        type_ = _type(variable, problems)
        if type_ is not None and variable.name.text not in variables:
            is_observable = index < len(agent.obsvars)
            declared = model.Variable(agent.name.text, variable.name.text, type_, is_observable, variable.name.span)
            variables[variable.name.text] = declared
    return variables


def _type(variable: ast.Variable, problems: DiagnosticSink) -> model.Type | None:
    name = variable.name
    match variable.type:
        case ast.Boolean():
            return model.Boolean()
        case ast.Enumeration(values):
            if not values:
                problems.report(rules.EMPTY_RANGE, name.span, f"`{name.text}` has no values")
                return None
            _check_repeated(values, f"the values of `{name.text}`", problems)
            for value in values:
                if value.text in _SPECIAL:
                    problems.report(rules.RESERVED_NAME, value.span, f"`{value.text}` is a reserved word of ISPL")
            return model.Enumeration(tuple(dict.fromkeys(value.text for value in values)))
        case ast.Bounded(low, high, span=span):
            if low > high:
                problems.report(rules.EMPTY_RANGE, span, f"The range {low} .. {high} is empty")
                return None
            if high - low >= MAX_VALUES:
                message = f"`{name.text}` has {high - low + 1:,} values, the maximum is {MAX_VALUES:,}"
                problems.report(rules.TOO_LARGE, span, message)
                return None
            return model.Bounded(low, high)


def _observed(
    agent: ast.Agent,
    environment: ast.Agent | None,
    environment_variables: Mapping[str, model.Variable],
    problems: DiagnosticSink,
) -> dict[str, model.Variable]:
    """Return the variables of the environment that an agent observes."""
    observable = {name: variable for name, variable in environment_variables.items() if variable.is_observable}
    _check_repeated(agent.lobsvars, f"`Lobsvars` of `{agent.name.text}`", problems)
    for name in agent.lobsvars:
        variable = environment_variables.get(name.text)
        if variable is None:
            if environment is None or not any(one.name.text == name.text for one in environment.variables):
                notes = did_you_mean(name.text, environment_variables)
                message = f"The environment has no variable `{name.text}`"
                problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)
        elif variable.is_observable:
            message = f"`{name.text}` is declared in `Obsvars`, so every agent observes it"
            problems.report(rules.WRONG_KIND, name.span, message, Note("`Lobsvars` lists variables of `Vars`"))
        else:
            observable[name.text] = variable
    return observable


def _declared(
    agent: ast.Agent,
    variables: dict[str, model.Variable],
    observed: dict[str, model.Variable],
    problems: DiagnosticSink,
) -> Declared:
    actions: dict[str, Span] = {}
    _check_repeated(agent.actions, f"`Actions` of `{agent.name.text}`", problems)
    for action in agent.actions:
        actions.setdefault(action.text, action.span)
        if action.text in _SPECIAL:
            problems.report(rules.RESERVED_NAME, action.span, f"`{action.text}` is a reserved word of ISPL")
    values: dict[str, model.Variable] = {}
    for variable in (*variables.values(), *observed.values()):
        if isinstance(variable.type, model.Enumeration):
            for value in variable.type.values:
                values.setdefault(value, variable)
    for name, variable in variables.items():
        if name in values and variable.span is not None:
            note = Note(f"it is a value of `{values[name]}`", values[name].span)
            message = f"`{name}` is both a variable and a value of an enumeration"
            problems.report(rules.DUPLICATE_NAME, variable.span, message, note)
    return Declared(agent, variables, actions, values, observed)
