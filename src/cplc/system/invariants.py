"""Well-formedness of systems: conditions that every system satisfies, however it was made.

Set difference with a mapping is written ``difference``, because ``-`` with its keys would iterate over the whole
mapping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cplc.logic.expressions import Expr, reads
from cplc.system.model import Step, System
from cplc.system.synchronous import Change, Player


def problems(system: System) -> Iterator[str]:
    """Yield each violation, as a text for maintainers."""
    for kind, names in (
        ("variable", [variable.name for variable in system.variables]),
        ("agent", [agent.name for agent in system.agents]),
        ("step", [step.name for step in system.steps]),
        ("message", [message.name for message in system.messages]),
        ("commitment", [commitment.name for commitment in system.commitments]),
        ("claim", [claim.name for claim in system.claims]),
    ):
        yield from (f"{kind} `{name}` occurs {n} times" for name, n in Counter(names).items() if n > 1)
    yield from _variables_are_sound(system)
    yield from _agents_own_what_they_see(system)
    yield from _shared_copies_match(system)
    for step in system.steps:
        yield from _step_is_sound(system, step)
    for justice in system.justice:
        if not justice.steps and not justice.is_condition:
            yield f"justice `{justice.name}` names no step"
        yield from (f"justice `{justice.name}` names no step {i}" for i in justice.steps if i >= len(system.steps))
        if justice.role is not None and justice.role not in system.agent:
            yield f"justice `{justice.name}` is of no agent"
    yield from _players_are_sound(system)
    for what, expr in _conditions(system):
        yield from (f"{what} reads `{name}`, which is no variable" for name in reads(expr).difference(system.variable))


def _variables_are_sound(system: System) -> Iterator[str]:
    owners = {agent.name for agent in system.agents} | {"Env"}
    for variable in system.variables:
        if not variable.domain or len(set(map(_typed, variable.domain))) != len(variable.domain):
            yield f"the domain of `{variable.name}` is empty or repeats a value"
        if len({type(value) for value in variable.domain}) > 1:
            yield f"the domain of `{variable.name}` mixes kinds of values"
        if not variable.initial or not set(variable.initial) <= set(variable.domain):
            yield f"`{variable.name}` has no initial value in its domain"
        if variable.owner not in owners:
            yield f"`{variable.name}` is owned by `{variable.owner}`, which is no agent"


def _agents_own_what_they_see(system: System) -> Iterator[str]:
    for agent in system.agents:
        for name in agent.local:
            if name not in system.variable or not (system.is_synchronous or system.variable[name].owner == agent.name):
                yield f"`{name}` is in the local state of `{agent.name}`, which does not own it"
    observed = {name for agent in system.agents for name in agent.local}
    for variable in system.variables:
        if variable.owner != "Env" and variable.name not in observed:
            yield f"`{variable.name}` is missing from the local state of `{variable.owner}`"


def _shared_copies_match(system: System) -> Iterator[str]:
    for pair in system.shared:
        first, second = system.variable.get(pair.at_first), system.variable.get(pair.at_second)
        if first is None or second is None:
            yield f"a shared copy is missing: `{pair.at_first}`, `{pair.at_second}`"
        elif (first.owner, second.owner) != (pair.first, pair.second) or first.domain != second.domain:
            yield f"`{pair.at_first}` and `{pair.at_second}` are not two copies of one thing"


def _step_is_sound(system: System, step: Step) -> Iterator[str]:
    written = [name for name, _ in step.updates] + list(step.free)
    if len(set(written)) != len(written):
        yield f"`{step.name}` writes a variable twice"
    unknown = step.footprint.difference(system.variable)
    yield from (f"`{step.name}` uses `{name}`, which is no variable" for name in unknown)
    if step.actor != "Env" and step.actor not in system.agent:
        yield f"`{step.name}` is taken by `{step.actor}`, which is no agent"


def _actions_are_sound(system: System, player: Player) -> Iterator[str]:
    if player.agent not in system.agent:
        yield f"`{player.choice}` is made by `{player.agent}`, which is no agent"
    if len({action.name for action in player.actions}) != len(player.actions) or not player.actions:
        yield f"`{player.agent}` has no actions, or one twice"
    for action in player.actions:
        unknown = reads(action.allowed).difference(system.variable)
        yield from (f"action `{action.name}` reads `{name}`, which is no variable" for name in unknown)


def _unknown_in_updates(system: System, change: Change) -> set[str]:
    written = {name for name, _ in change.updates}
    return written.union(*(reads(value) for _, value in change.updates)).difference(system.variable)


def _players_are_sound(system: System) -> Iterator[str]:
    if system.recurring and not system.players:
        yield "a system of steps has conditions of fairness that variables do not decide"
    if system.players and (system.steps or system.justice):
        yield "a synchronous system has steps or justice"
    if len(system.player) != len(system.players) or not system.player.keys().isdisjoint(system.variable):
        yield "the name of a choice is taken"
    readable = {**system.player, **system.variable}
    written = Counter[str]()
    for player in system.players:
        yield from _actions_are_sound(system, player)
        for rule in player.rules:
            written.update({name for change in rule for name, _ in change.updates})
            for change in rule:
                unknown = reads(change.guard).difference(readable) | _unknown_in_updates(system, change)
                yield from (f"`{player.agent}` uses `{name}`, which is neither variable nor choice" for name in unknown)
    yield from (f"{times} rules write `{name}`" for name, times in written.items() if times > 1)


def _conditions(system: System) -> Iterator[tuple[str, Expr]]:
    yield from ((f"message `{m.name}`", m.in_flight) for m in system.messages)
    yield from ((f"commitment `{c.name}`", c.consequent) for c in system.commitments)
    yield from ((f"commitment `{c.name}`", c.antecedent) for c in system.commitments)
    yield from ((f"commitment `{c.name}`", c.on_course) for c in system.commitments)
    yield from ((f"claim `{c.name}`", part) for c in system.claims for part in (c.content, c.on_course))
    yield "the initial condition", system.start
    yield from ((f"justice `{justice.name}`", justice.due) for justice in system.justice if justice.due is not None)
    yield from ((f"bounded message `{message.name}`", message.overdue) for message in system.bounded)
    yield from (("a fairness condition", condition) for condition in system.fairness)
    yield from ((f"hazard `{text}`", condition) for text, condition, _ in system.hazards)


def _typed(value: object) -> tuple[type, object]:
    return type(value), value
