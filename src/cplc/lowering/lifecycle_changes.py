"""Changes: which commitment or claim is created, fulfilled, accepted ... by a step, and in which states.

A step may make a change in some states only: a receipt fulfils a commitment that is open, a tick violates one that is
due. The conditions are over the state before the step. They are worked out only for formulas that ask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import product

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.condition_dependencies import Dependence
from cplc.lowering.lifecycle import Change
from cplc.lowering.lower import declared
from cplc.lowering.steps import Workshop
from cplc.lowering.term_text import action_text
from cplc.runtime.limits import TooLarge
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.system.model import Justice, Step, System

MAX_PARTS = 64
"""Into how many parts a step is divided at most."""


class Changes:
    """When each step of a protocol makes which change."""

    def __init__(self, model: CheckedModel) -> None:
        book, _, variables = declared(model)
        recorded: dict[str, dict[Change, Expr]] = {}
        workshop = Workshop(book, Dependence(book), variables, recorded)
        for message in model.messages:
            for _ in workshop.of_message(message):
                pass
        workshop.tick()
        self._recorded = recorded

    def when(self, step: Step, asked: t.Does) -> Expr:
        """Return in which states the step makes the change; never, where it has nothing to do with it."""
        known = dict(step.parts).get(action_text(asked))
        if known is not None:
            return e.Const(known)
        made = self._recorded.get(undivided(step), {})
        key = asked.verb, asked.subject, asked.by_message
        return e.disj(
            condition
            for (verb, subject, target, by_message), condition in made.items()
            if (verb, subject, by_message) == key and asked.other in (None, target)
        )


def undivided(step: Step) -> str:
    """Return the name of the step that this is a part of; its own, if it is whole."""
    return step.name.removesuffix(_suffix(step.parts))


def _suffix(parts: Iterable[tuple[str, bool]]) -> str:
    made = [text.removeprefix("does(").removesuffix(")") for text, is_made in parts if is_made]
    return f" ({', '.join(made)})" if made else ""


def divided(system: System, changes: Changes, asked: Collection[t.Does]) -> System:
    """Return the system with each step divided by whether it makes these changes: every part makes them or does not.

    The parts of a step exclude each other and together are enabled where it is. They lead to the same states, and for
    justice they count as the one step that they are.
    """
    wanted = {action_text(one): one for one in sorted(asked, key=action_text)}
    steps: list[Step] = []
    positions: list[tuple[int, ...]] = []
    for step in system.steps:
        parts = list(_parts(step, {text: changes.when(step, one) for text, one in wanted.items()}))
        positions.append(tuple(range(len(steps), len(steps) + len(parts))))
        steps += parts
    if len(steps) == len(system.steps) and all(new is old for new, old in zip(steps, system.steps, strict=True)):
        return system
    justice = tuple(
        Justice(one.name, tuple(place for index in one.steps for place in positions[index]), one.role)
        for one in system.justice
    )
    return replace(system, steps=tuple(steps), justice=justice)


def _parts(step: Step, conditions: dict[str, Expr]) -> Iterator[Step]:
    """Yield the parts of a step that may be enabled."""
    doubtful = {text: when for text, when in conditions.items() if not isinstance(when, e.Const)}
    if not doubtful:
        yield step
        return
    if 2 ** len(doubtful) > MAX_PARTS:
        raise TooLarge(f"`{step.name}` may make {len(doubtful)} of the changes that are asked for, in any combination")
    for choice in product((True, False), repeat=len(doubtful)):
        parts = tuple(zip(doubtful, choice, strict=True))
        chosen = (when if made else e.negate(when) for when, made in zip(doubtful.values(), choice, strict=True))
        guard = e.conj((step.guard, *chosen))
        if not e.is_false(guard):
            yield replace(step, name=step.name + _suffix(parts), guard=guard, parts=parts)
