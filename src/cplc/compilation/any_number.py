"""Questions about any number of instances by key, from a few of them (`cplc.checking.any_number`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from cplc.checking.any_number import OF_ONE_INSTANCE, Instances, unproved

if TYPE_CHECKING:
    from cplc.checking.results import Question
    from cplc.compilation.cpl import CplCompilation
    from cplc.compilation.interface import BoundQuestion, Compilation
    from cplc.semantics.model import Check, CheckedModel
    from cplc.system.model import System


def has_any_number(model: CheckedModel) -> bool:
    """Return whether the instances of some block stand for any number of them."""
    return any(not one.is_fixed for one in model.blocks)


def check_of_one_instance(compilation: CplCompilation, name: str, declared: Check | None) -> BoundQuestion | None:
    """Return the check for one instance of each block, if that decides it for any number.

    ``declared`` is the check in the file; without it, it is a usual one.
    """
    model = compilation.model
    if not has_any_number(model) or name not in OF_ONE_INSTANCE or (name == "resolvable" and model.has_ticks):
        return None
    one = compilation.with_one_instance
    if not one.ok:  # the file names further instances by their numbers
        return None
    span = None if declared is None else declared.span
    bound = next((b for b in one.questions() if (b.question.name, b.question.span) == (name, span)), None)
    if bound is None:
        return None
    return replace(bound, question=replace(bound.question, system=bound.question.system or bound.system))


def with_instances(compilation: CplCompilation, counts: Mapping[str, int]) -> CplCompilation:
    """Return the protocol with these numbers of instances of its blocks, unless its parameters give others."""
    given = {one.key: str(counts[one.key]) for one in compilation.model.blocks}
    return replace(compilation, parameters={**given, **compilation.parameters}, _systems={}, _divisions={})


def with_same_instances(old: Compilation, new: Compilation) -> tuple[Compilation, Compilation, tuple[str, ...]]:
    """Return two versions with the same numbers of instances, and notes on what these stand for.

    Instances are factors of a product, and inclusion between the traces of factors implies that between the products.
    So one instance is enough; where a file names others, it is the larger number of both versions.
    """
    from cplc.compilation.cpl import CplCompilation

    if not isinstance(old, CplCompilation) or not isinstance(new, CplCompilation):
        return old, new, ()
    blocks = (*old.model.blocks, *new.model.blocks)
    if not blocks:
        return old, new, ()
    counts: dict[str, int] = {one.key: 1 for one in blocks}
    if not (old.with_one_instance.ok and new.with_one_instance.ok):
        for one in blocks:
            counts[one.key] = max(counts[one.key], one.instances)
    notes = (_standing_for(one.key, counts[one.key]) for one in blocks if not one.is_fixed)
    return with_instances(old, counts), with_instances(new, counts), tuple(dict.fromkeys(notes))


def with_one_key(compilation: CplCompilation) -> CplCompilation:
    """Return the protocol of one instance of each block, whose declarations have no index: what a monitor follows."""
    if compilation.is_of_one_key or not compilation.model.blocks:
        return compilation
    return replace(compilation, is_of_one_key=True, _systems={}, _divisions={}, _advisers={})


def for_any_number(
    model: CheckedModel, question: Question, system: System, related: Mapping[str, int] | None = None
) -> Question:
    """Return the question with what proves its answer for any number of instances.

    ``related`` is the largest number of instances that a formula relates, by the key of their block.
    """
    if not has_any_number(model):
        return question
    name = question.name.partition("[")[0]

    @cache
    def reasons() -> str:
        for block in model.blocks:
            if block.is_fixed:
                continue
            number_of = {one: number for one, (key, number) in model.key_of.items() if key == block.key}
            relates = block.related.get(name, 1) if related is None else related[block.key]
            instances = Instances(block.key, block.instances, relates, number_of)
            check = question.name if question.kind == "check" else ""
            reason = unproved(question.formula, question.system or system, instances, question.assuming, check)
            if reason:
                return reason
        return ""

    return replace(question, unproved=reasons, data_notes=(*question.data_notes, *notes_on_instances(model)))


def notes_on_instances(model: CheckedModel) -> tuple[str, ...]:
    """Return the notes on instances that stand for any number."""
    return tuple(_standing_for(one.key, one.instances) for one in model.blocks if not one.is_fixed)


def _standing_for(key: str, count: int) -> str:
    if count == 1:
        return f"one instance of `for each {key}` stands for any number, since instances share nothing"
    return f"{count} instances of `for each {key}` stand for any number, since they share nothing"
