"""Lifecycle changes: the states in which a step creates, fulfils, accepts ... a commitment or claim.

A step may make a change in some states only: a receipt fulfils a commitment that is open, a tick violates one that is
due. The conditions are over the state before the step. They are computed on demand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import product

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.condition_dependencies import ConditionDependencies
from cplc.lowering.lifecycle import Change
from cplc.lowering.lower import lifecycles_and_variables
from cplc.lowering.steps import StepBuilder
from cplc.lowering.term_text import action_text
from cplc.runtime.context import TooLarge
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.system.model import Step, System

MAX_PARTS = 64
"""Parts into which a step may be divided."""


class Changes:
    """The condition of each lifecycle change, for every step of a protocol."""

    def __init__(self, model: CheckedModel) -> None:
        lifecycles, _, variables = lifecycles_and_variables(model)
        recorded: dict[str, dict[Change, Expr]] = {}
        builder = StepBuilder(lifecycles, ConditionDependencies(lifecycles), variables, recorded)
        for message in model.messages:
            for _ in builder.steps_of_message(message):
                pass
        builder.tick()
        self._recorded = recorded

    def when(self, step: Step, change: t.Does) -> Expr:
        """Return the condition under which the step makes the change."""
        constant = dict(step.parts).get(action_text(change))
        if constant is not None:
            return e.Const(constant)
        made = self._recorded.get(undivided(step), {})
        key = change.verb, change.subject, change.by_message
        return e.disj(
            condition
            for (verb, subject, target, by_message), condition in made.items()
            if (verb, subject, by_message) == key and change.other in (None, target)
        )


def undivided(step: Step) -> str:
    """Return the name of the step that this one is a part of, or its own name if it is whole."""
    return step.name.removesuffix(_suffix(step.parts))


def _suffix(parts: Iterable[tuple[str, bool]]) -> str:
    made = [text.removeprefix("does(").removesuffix(")") for text, is_made in parts if is_made]
    return f" ({', '.join(made)})" if made else ""


def divided(system: System, changes: Changes, requested: Collection[t.Does]) -> System:
    """Return the system with each step divided so that every part makes a requested change always or never.

    The guards of the parts partition the guard of the step. The parts lead to the same states, and justice counts them
    as one step.
    """
    changes_by_text = {action_text(one): one for one in sorted(requested, key=action_text)}
    steps: list[Step] = []
    positions: list[tuple[int, ...]] = []
    for step in system.steps:
        parts = list(_parts(step, {text: changes.when(step, one) for text, one in changes_by_text.items()}))
        positions.append(tuple(range(len(steps), len(steps) + len(parts))))
        steps += parts
    if len(steps) == len(system.steps) and all(new is old for new, old in zip(steps, system.steps, strict=True)):
        return system
    justice = tuple(
        replace(one, steps=tuple(place for index in one.steps for place in positions[index])) for one in system.justice
    )
    return replace(system, steps=tuple(steps), justice=justice)


def _parts(step: Step, conditions: dict[str, Expr]) -> Iterator[Step]:
    """Yield the parts of a step with a satisfiable guard."""
    doubtful = {text: when for text, when in conditions.items() if not isinstance(when, e.Const)}
    if not doubtful:
        yield step
        return
    if 2 ** len(doubtful) > MAX_PARTS:
        raise TooLarge(
            f"`{step.name}` may make {len(doubtful)} of the changes in the formula in any combination, "
            f"which needs more than {MAX_PARTS} parts"
        )
    for choice in product((True, False), repeat=len(doubtful)):
        parts = tuple(zip(doubtful, choice, strict=True))
        chosen = [when if made else e.negate(when) for when, made in zip(doubtful.values(), choice, strict=True)]
        guard = e.conj((step.guard, *chosen))
        unbounded = None if step.unbounded is None else e.conj((step.unbounded, *chosen))
        if not e.is_false(guard if unbounded is None else unbounded):
            yield replace(step, name=step.name + _suffix(parts), guard=guard, parts=parts, unbounded=unbounded)
