"""Path formulas that cannot tell whether others move in between.

A *pause* is an idle step put in before a step of a run: its state is there twice then, and of the two only the later,
the *last copy*, has the step. A formula is

* *steady* if at every copy of a state it has the value it had there before;
* *an event* if it has that value at the last copy and is false at the others, as what says that a step is taken;
* *a condition on events* if it has that value at the last copy and is true at the others, as ``does(a) -> p``;
* *settled* if it has that value at the last copy, which all of these are;
* *begun* if for every position there is another from which on pauses do not change its value at that position.

What a state decides is steady, and so are the temporal operators but ``X`` and ``Y`` over what is steady. Besides,

* ``F`` of an event: the last copies are to come from wherever one stands. ``G`` of a condition dually, and ``p U q``
  and ``p W q`` where ``p`` is a condition, true at all copies that were put in, and ``q`` an event or steady. Not
  where ``p`` is steady and ``q`` an event: a pause before the event asks for ``p`` at its state as well. ``R`` is
  dual to ``U``.
* ``O`` of an event is settled: at the last copy of a state all last copies of those before are past, and this one.
  ``H`` of a condition dually, and ``p S q`` where ``p`` is steady or a condition and ``q`` steady or an event: ``p``
  is asked after the event only, which is the last copy of its state. They are not steady: before the event at the
  last copy of its own state ``O`` does not know of it yet.
* ``X`` of what is steady is settled: behind a last copy comes a copy of the next state, and any will do.
* An event and something settled are an event together; an event implies something settled on one condition.

Settled formulas are begun: put pauses behind. A Boolean combination of begun formulas is begun, and so are ``X`` of
one, bounded operators, and ``Y O H S``: they ask for finitely many positions. ``F``, ``G``, ``U``, ``W`` and ``R``
without a bound ask for infinitely many, and are begun as far as they are steady.

A path formula that is begun has the same value on a run and on some run with pauses wherever others may need them but
at the beginning; its negation is begun as well.
"""

from __future__ import annotations

from enum import Flag

from cplc.logic import expressions as e
from cplc.logic.formulas import (
    And,
    Atom,
    Finally,
    Formula,
    Globally,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    Or,
    Previous,
    Release,
    Shorthand,
    Since,
    Taken,
    Until,
    WeakUntil,
)


class _Kind(Flag):
    """What is known of a formula; each but the first is more than another."""

    NOTHING = 0
    EVENTUALLY_INVARIANT = 0b00001
    ANCHORED = 0b00011
    STUTTER_INVARIANT = 0b00111
    EVENT = 0b01011
    EVENT_CONDITION = 0b10011


_TRUE = _Kind.STUTTER_INVARIANT | _Kind.EVENT_CONDITION
_FALSE = _Kind.STUTTER_INVARIANT | _Kind.EVENT


def is_stutter_invariant(path: Formula) -> bool:
    """Whether pauses from some position on do not change what it says of a run."""
    return _Kind.EVENTUALLY_INVARIANT in _kind(path)


def _kind(formula: Formula) -> _Kind:
    match formula:
        case Atom(e.Const(value)):
            return _TRUE if value is True else _FALSE
        case Taken(steps):
            return _Kind.EVENT if steps else _FALSE
        case Shorthand(operand):
            return _kind(operand)
        case Not(operand):
            return _negated(_kind(operand))
        case And(operands):
            return _all([_kind(operand) for operand in operands])
        case Or(operands):
            return _any([_kind(operand) for operand in operands])
        case Implies(left, right):
            return _any([_negated(_kind(left)), _kind(right)])
        case Iff(left, right):
            return _kind(left) & _kind(right) & _Kind.STUTTER_INVARIANT
        case Next(operand):
            inner = _kind(operand)
            return _Kind.ANCHORED if _Kind.STUTTER_INVARIANT in inner else inner & _Kind.EVENTUALLY_INVARIANT
        case Finally(operand, None):
            return _until(_TRUE, _kind(operand))
        case Globally(operand, None):
            return _until(_TRUE, _negated(_kind(operand)))
        case Until(left, right, None) | WeakUntil(left, right):
            return _until(_kind(left), _kind(right))
        case Release(left, right):
            return _until(_negated(_kind(left)), _negated(_kind(right)))
        case Finally(operand) | Globally(operand) | Previous(operand):
            return _kind(operand) & _Kind.EVENTUALLY_INVARIANT
        case Until(left, right):
            return _kind(left) & _kind(right) & _Kind.EVENTUALLY_INVARIANT
        case Once(operand):
            return _since(_TRUE, _kind(operand))
        case Historically(operand):
            return _since(_TRUE, _negated(_kind(operand)))
        case Since(left, right):
            return _since(_kind(left), _kind(right))
        case _:
            return _Kind.STUTTER_INVARIANT  # a state decides it


def _negated(kind: _Kind) -> _Kind:
    """Events and conditions on them change places, the rest stays."""
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
