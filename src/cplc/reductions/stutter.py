"""Stutter invariance of path formulas: whether idle steps of other components can change the value of a formula.

A *stutter step* is an idle step that is inserted before a step of a run: the state occurs twice, and only the later
occurrence, the *block representative*, is followed by the original step. A formula is

* *stutter-invariant* if at every copy of a state it has the value that it had at that state;
* *an event* if it has that value at the block representative and is false at all other copies, like ``does(a)``;
* *an event condition* if it has that value at the block representative and is true at all other copies, like ``does(a)
  -> p``;
* *anchored* if it has that value at the block representative, which holds for all of the above;
* *eventually invariant* if for every position there is a later one from which on stutter steps do not change its value
  at the first position.

State formulas are stutter-invariant, and so are temporal operators but ``X`` and ``Y`` over stutter-invariant operands
(Lamport 1983; conversely Peled and Wilke 1997). Further rules:

* ``F`` of an event is stutter-invariant: the block representatives ahead are the same from each copy. Dually ``G`` of
  an event condition; also ``p U q`` and ``p W q`` if ``p`` is an event condition (true at all inserted copies) and
  ``q`` is an event or stutter-invariant. They are not if ``p`` is stutter-invariant and ``q`` an event: a stutter step
  before the event requires ``p`` at its state as well. ``R`` is dual to ``U``.
* ``O`` of an event is anchored: at a block representative all earlier block representatives lie in the past, and this
  one is present. Dually ``H`` of an event condition; also ``p S q`` if ``p`` is stutter-invariant or an event condition
  and ``q`` is stutter-invariant or an event: ``p`` is required only after the event, which is the last copy of its
  state. They are not stutter-invariant: at earlier copies of the state of the event, ``O`` is still false.
* ``X`` of a stutter-invariant formula is anchored: the block representative is followed by some copy of the next state.
* The conjunction of an event and an anchored formula is an event. An event that implies an anchored formula is an event
  condition.

Anchored formulas are eventually invariant: insert stutter steps later. Eventually invariant formulas are closed under
Boolean operators, ``X``, operators with a bound in steps and ``Y O H S``, since these look at finitely many positions.
``F``, ``G``, ``U``, ``W`` and ``R`` without such a bound look at infinitely many and are eventually invariant only
where they are stutter-invariant. Bounds in ticks change nothing: a stutter step is no tick, so as many ticks come
before every copy of a state as before the state.

Claim: an eventually invariant path formula has the same value on a run and on some run with any number of stutter steps
after a finite prefix; the same holds for its negation.

References: Lamport, "What good is temporal logic?", 1983; Peled and Wilke, "Stutter-invariant temporal properties are
expressible without the next-time operator", 1997.
"""

from __future__ import annotations

from enum import Flag
from typing import assert_never

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula


class _Kind(Flag):
    """Stutter properties of a formula, ordered by implication."""

    NOTHING = 0
    EVENTUALLY_INVARIANT = 0b00001
    ANCHORED = 0b00011
    STUTTER_INVARIANT = 0b00111
    EVENT = 0b01011
    EVENT_CONDITION = 0b10011


_TRUE = _Kind.STUTTER_INVARIANT | _Kind.EVENT_CONDITION
_FALSE = _Kind.STUTTER_INVARIANT | _Kind.EVENT


def is_stutter_invariant(path: Formula) -> bool:
    """Return whether stutter steps after some finite prefix cannot change the value of the path formula."""
    return _Kind.EVENTUALLY_INVARIANT in _kind(path)


def is_stutter_invariant_everywhere(path: Formula) -> bool:
    """Return whether stutter steps, before the first step as well, cannot change the value of the path formula."""
    return _Kind.STUTTER_INVARIANT in _kind(path)


def _kind(formula: Formula) -> _Kind:
    match formula:
        case f.Atom(e.Const(value)):
            return _TRUE if value is True else _FALSE
        case f.Taken(steps):
            return _Kind.EVENT if steps else _FALSE
        case f.Not(operand):
            return _negated(_kind(operand))
        case f.And(operands):
            return _all([_kind(operand) for operand in operands])
        case f.Next(operand):
            inner = _kind(operand)
            return _Kind.ANCHORED if _Kind.STUTTER_INVARIANT in inner else inner & _Kind.EVENTUALLY_INVARIANT
        case f.Until(left, right, bound) | f.Release(left, right, bound) if f.closes(bound):
            return _kind(left) & _kind(right) & _Kind.EVENTUALLY_INVARIANT
        case f.Until(left, right):
            return _until(_kind(left), _kind(right))
        case f.Release(left, right):
            return _until(_negated(_kind(left)), _negated(_kind(right)))
        case f.Previous(operand):
            return _kind(operand) & _Kind.EVENTUALLY_INVARIANT
        case f.Since(left, right):
            return _since(_kind(left), _kind(right))
        case f.WeakUntil(left, right, None):  # more precise than the definition, which repeats the right operand
            return _until(_kind(left), _kind(right))
        case f.Derived():
            return _kind(formula.definition)
        case f.Atom() | f.StateOperator():
            return _Kind.STUTTER_INVARIANT  # a state decides it
        case _:
            assert_never(formula)


def _negated(kind: _Kind) -> _Kind:
    """Return the kind of the negation: events and event conditions are dual."""
    common = kind & _Kind.STUTTER_INVARIANT
    if _Kind.EVENT in kind:
        common |= _Kind.EVENT_CONDITION
    return common | _Kind.EVENT if _Kind.EVENT_CONDITION in kind else common


def _all(kinds: list[_Kind]) -> _Kind:
    common = _TRUE
    for kind in kinds:
        common &= kind
    is_event = _Kind.ANCHORED in common and any(_Kind.EVENT in kind for kind in kinds)
    return common | _Kind.EVENT if is_event else common


def _any(kinds: list[_Kind]) -> _Kind:
    return _negated(_all([_negated(kind) for kind in kinds]))


def _until(left: _Kind, right: _Kind) -> _Kind:
    if _Kind.STUTTER_INVARIANT in left and _Kind.STUTTER_INVARIANT in right:
        return _Kind.STUTTER_INVARIANT
    if _Kind.EVENT_CONDITION in left and (_Kind.STUTTER_INVARIANT in right or _Kind.EVENT in right):
        return _Kind.STUTTER_INVARIANT
    return _Kind.NOTHING


def _since(left: _Kind, right: _Kind) -> _Kind:
    if _Kind.STUTTER_INVARIANT in left and _Kind.STUTTER_INVARIANT in right:
        return _Kind.STUTTER_INVARIANT
    if (_Kind.STUTTER_INVARIANT in left or _Kind.EVENT_CONDITION in left) and (
        _Kind.STUTTER_INVARIANT in right or _Kind.EVENT in right
    ):
        return _Kind.ANCHORED
    return left & right & _Kind.EVENTUALLY_INVARIANT
