"""Mutation operators for ISPL: small changes to a model, one for each mutant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from cplc.ispl.semantics import model as m
from cplc.logic.expressions import value_text
from cplc.mutation.mutants import Kind, Mutant
from cplc.source import Span

Part = TypeVar("Part")

_ALWAYS = m.And(())


def ispl_mutants(model: m.Model) -> Iterator[Mutant[m.Model]]:
    """Yield every mutant, in the order of the text."""
    every = [*_of_agents(model), *_of_initial_states(model), *_of_fairness(model)]
    return iter(sorted(every, key=lambda mutant: mutant.span.start))


def _of_agents(model: m.Model) -> Iterator[Mutant[m.Model]]:
    for position, agent in enumerate(model.agents):

        def changed(
            kind: Kind, change: str, span: Span, position: int = position, agent: m.Agent = agent, **fields: object
        ) -> Mutant[m.Model]:
            agents = _with(model.agents, position, replace(agent, **fields))  # type: ignore[arg-type]
            return Mutant(kind, agent.name, change, replace(model, agents=agents), span)

        for index, variable in enumerate(agent.observed):
            change = f"`{agent.name}` does not observe `{variable}`"
            yield changed("observation", change, agent.span, observed=_without(agent.observed, index))
        for index, line in enumerate(agent.protocol):
            for change, lines in _of_protocol_line(agent, index, line):
                yield changed("protocol", change, line.span or agent.span, protocol=lines)
        for index, action in enumerate(agent.other if len(agent.other) > 1 else ()):
            change = f"`{agent.name}` cannot `{action}` where no line of its protocol applies"
            yield changed("protocol", change, agent.protocol_span or agent.span, other=_without(agent.other, index))
        for index, step in enumerate(agent.evolution):
            for change, mutated in _of_evolution_line(agent, step):
                evolution = _without(agent.evolution, index)
                if mutated is not None:
                    evolution = _with(agent.evolution, index, mutated)
                yield changed("evolution", change, step.span, evolution=evolution)


def _of_protocol_line(
    agent: m.Agent, index: int, line: m.ProtocolLine
) -> Iterator[tuple[str, tuple[m.ProtocolLine, ...]]]:
    where = _text(line.condition)
    for position, action in enumerate(line.actions):
        shorter = replace(line, actions=_without(line.actions, position))
        yield f"`{agent.name}` cannot `{action}` where `{where}`", _with(agent.protocol, index, shorter)
    for part, weaker in _weaker(line.condition):
        change = f"`{agent.name}` need not wait for `{part}` to {_alternatives(line.actions)}"
        yield change, _with(agent.protocol, index, replace(line, condition=weaker))


def _of_evolution_line(agent: m.Agent, line: m.EvolutionLine) -> Iterator[tuple[str, m.EvolutionLine | None]]:
    """Yield the changes of a line, with None where it is removed."""
    when = _text(line.condition)
    effect = " and ".join(map(_assignment, line.assignments))
    yield f"`{effect}` never happens where `{when}`", None
    for position, assignment in enumerate(line.assignments):
        if len(line.assignments) > 1:
            shorter = replace(line, assignments=_without(line.assignments, position))
            yield f"`{assignment.variable}` does not change where `{when}`", shorter
        other = _other_value(assignment)
        if other is not None:
            text = f"`{_assignment(other)}` instead of `{_assignment(assignment)}` where `{when}`"
            yield text, replace(line, assignments=_with(line.assignments, position, other))
    for part, weaker in _weaker(line.condition):
        yield f"`{effect}` happens without `{part}`", replace(line, condition=weaker)


def _of_initial_states(model: m.Model) -> Iterator[Mutant[m.Model]]:
    for part, weaker in _weaker(model.initial):
        if model.initial_span is not None:
            mutated = replace(model, initial=weaker)
            yield Mutant("initial states", part, f"`{part}` need not hold at first", mutated, model.initial_span)


def _of_fairness(model: m.Model) -> Iterator[Mutant[m.Model]]:
    for position, span in enumerate(model.fairness_spans):
        text = " ".join(span.text.split())
        mutated = replace(
            model,
            fairness=_without(model.fairness, position),
            fairness_spans=_without(model.fairness_spans, position),
        )
        yield Mutant("fairness", text, f"`{text}` need not hold again and again", mutated, span)


# --- parts


def _weaker(written: m.Condition) -> Iterator[tuple[str, m.Condition]]:
    """Yield each conjunct of a condition, with the condition without it."""
    parts = written.operands if isinstance(written, m.And) else (written,)
    for position, part in enumerate(parts):
        rest = _without(parts, position)
        yield _text(part), rest[0] if len(rest) == 1 else m.And(rest) if rest else _ALWAYS


def _other_value(assignment: m.Assignment) -> m.Assignment | None:
    """Return the assignment of the next value of the variable instead of a constant."""
    values = m.values_of(assignment.variable.type)
    if not isinstance(assignment.value, m.Constant) or len(values) < 2 or assignment.value.value not in values:
        return None
    following = values[(values.index(assignment.value.value) + 1) % len(values)]
    return replace(assignment, value=m.Constant(following))


def _text(written: m.Condition, *, inner: bool = False) -> str:
    """Return a condition as ISPL writes it; ``inner`` adds parentheses where it is an operand."""
    match written:
        case m.Acts(agent, action):
            return f"{agent}.Action = {action}"
        case m.Comparison(op, left, right):
            return f"{_value(left)} {op} {_value(right)}"
        case m.Not(operand):
            return f"!({_text(operand)})"
        case m.And(operands):
            text = " and ".join(_text(operand, inner=True) for operand in operands)
        case m.Or(operands):
            text = " or ".join(_text(operand, inner=True) for operand in operands)
    return f"({text})" if inner else text


def _value(written: m.Value, *, inner: bool = False) -> str:
    match written:
        case m.Constant(datum):
            return value_text(datum)
        case m.Read(variable):
            return str(variable)
        case m.Complement(operand):
            return f"~{_value(operand, inner=True)}"
        case m.Operation(op, left, right):
            text = f"{_value(left, inner=True)} {op} {_value(right, inner=True)}"
            return f"({text})" if inner else text


def _assignment(written: m.Assignment) -> str:
    return f"{written.variable} = {_value(written.value)}"


def _alternatives(actions: Sequence[str]) -> str:
    return " or ".join(f"`{action}`" for action in actions)


def _without(parts: tuple[Part, ...], position: int) -> tuple[Part, ...]:
    return parts[:position] + parts[position + 1 :]


def _with(parts: tuple[Part, ...], position: int, part: Part) -> tuple[Part, ...]:
    return (*parts[:position], part, *parts[position + 1 :])
