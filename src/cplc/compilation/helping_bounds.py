"""Bounds that would make a failed property hold: how soon roles would have to act, and messages arrive.

A property that deadlines refute may hold if some roles act within so many ticks. Smaller bounds allow fewer runs, so
the largest bound that helps is found by doubling and bisection. One family of roles is tried first, then all roles, and
then the same with channels that bound their delays as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cplc.checking.responsibility import bounded_engine, helped_by_fairness
from cplc.checking.results import HelpingBounds, Question, Result
from cplc.logic.expressions import reads
from cplc.logic.formulas import Atom, core_subformulas
from cplc.semantics.model import Bound, Check, CheckedModel, Property

if TYPE_CHECKING:
    from cplc.checking.results import Answer
    from cplc.compilation.cpl import CplCompilation
    from cplc.compilation.interface import EngineName

MAX_TICKS = 64
"""Largest bound that is tried."""


def with_helping_bounds(compilation: CplCompilation, result: Result, engine: EngineName) -> Result:
    """Return the result with bounds that would make the property hold, if deadlines may be why it fails."""
    if not _may_depend_on_time(compilation.model, result):
        return result
    for roles, is_delayed in _candidates(compilation.model):
        ticks = _largest(
            lambda ticks, roles=roles, is_delayed=is_delayed: _decided(  # type: ignore[misc]
                compilation, result, roles, ticks, engine, is_delayed=is_delayed
            )
        )
        if ticks is not None:
            return replace(result, helping_bounds=HelpingBounds(roles, ticks, is_delayed))
    return replace(result, helping_bounds=HelpingBounds((), None, False))


def _may_depend_on_time(model: CheckedModel, result: Result) -> bool:
    """Return whether a deadline, or a bound, is involved in the failure of a small universal property."""
    question = result.question
    if result.answer != "fails" or not model.has_ticks or _declared(model, question) is None:
        return False
    if result.blame is not None and (result.blame.coalitions or not result.blame.is_realizable):
        return False
    system = question.system or result.system
    timed = {one.variable for one in result.system.commitments if one.within is not None or one.expires is not None}
    parts = core_subformulas(question.formula)
    named = frozenset[str]().union(*(reads(part.condition) for part in parts if isinstance(part, Atom)))
    is_involved = bool(question.bounds) or not named.isdisjoint(timed)
    return is_involved and helped_by_fairness(question.formula, system) and bounded_engine(system) is not None


def _declared(model: CheckedModel, question: Question) -> Property | Check | None:
    """Return the declaration of a property, or of the check that asks for strategies; None for other questions."""
    if question.kind == "property":
        return next((one for one in model.properties if one.name == question.name), None)
    if question.kind == "check" and question.name == "honourable":
        return next((one for one in model.checks if one.name == question.name and one.span == question.span), None)
    return None


def _candidates(model: CheckedModel) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield families of roles, the debtors of deadlines first, and whether channels are bounded as well."""
    family = {role.name: role.family for role in model.roles}
    timed = (one for one in model.commitments if one.within is not None)
    sending = dict.fromkeys(family[message.sender] for message in model.messages)
    families = dict.fromkeys((*(family[debtor] for one in timed for debtor in one.debtors), *sending))
    for is_delayed in (False, True) if _unbounded(model) else (False,):
        yield from (((one,), is_delayed) for one in families if one in sending and len(sending) > 1)
        yield tuple(sending), is_delayed


def _unbounded(model: CheckedModel) -> tuple[tuple[str, str], ...]:
    """Return the channels on which messages may take any time, and can have a bound."""
    if model.sync:
        return ()
    ends = dict.fromkeys(channel for message in model.messages for channel in message.channels)
    queued = {(message.sender, receiver) for message in model.messages for receiver, _ in message.queues}
    return tuple(one for one in ends if one not in model.delays and one not in queued)


def _largest(decided: Callable[[int], Answer]) -> int | None:
    """Return the largest bound under which the property holds; time may be unable to pass under the smallest one."""

    def is_enough(ticks: int) -> bool:
        return decided(ticks) in ("holds", "vacuous")

    low = 1 if (at_once := decided(0)) == "unknown" else 0
    if at_once == "fails" or (low and not is_enough(low)):
        return None
    high = low + 1
    # Invariant: the property holds with `low`.
    while high <= MAX_TICKS and is_enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_enough(middle) else (low, middle)
    return low


def _decided(
    compilation: CplCompilation,
    result: Result,
    roles: tuple[str, ...],
    ticks: int,
    engine: EngineName,
    *,
    is_delayed: bool,
) -> Answer:
    """Return the answer if these roles act within so many ticks, and messages take as long at most."""
    from cplc.checking.verify import Verifier

    model, name = compilation.model, result.question.name
    family = {role.name: role.family for role in model.roles}
    declared = _declared(model, result.question)
    assert declared is not None
    bounds = {message: bound.ticks for bound in declared.bounds for message in bound.messages}
    for message in model.messages:
        if family[message.sender] in roles:
            bounds[message.name] = min(ticks, bounds.get(message.name, ticks))
    members = [role.name for role in model.roles if role.family in roles]
    assuming = tuple(dict.fromkeys((*declared.assuming, *members)))
    assumed = tuple(Bound((message,), bound) for message, bound in bounds.items())
    delays = tuple((ends, ticks) for ends in _unbounded(model)) if is_delayed else ()
    model = replace(model, channel_delays=(*model.channel_delays, *delays))
    if isinstance(declared, Property):
        model = replace(model, properties=(replace(declared, assuming=assuming, bounds=assumed),))
    else:
        model = replace(model, checks=(replace(declared, assuming=assuming, bounds=assumed),))
    timed = compilation.mutated(model)
    bound = timed.questions((name,))[0]
    return Verifier(bound.system, engine).decide(bound.question)
