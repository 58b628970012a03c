"""Notes on expressions of the wrong type: what was probably meant."""

from __future__ import annotations

from cplc.diagnostics.core import Note
from cplc.language.amounts import amounts_of
from cplc.semantics import types
from cplc.semantics.types import DECIMAL, DURATION, TIME, Type, described
from cplc.syntax import ast


def no_clock(type_: Type) -> tuple[Note, ...]:
    """Return the advice for a time or duration where ticks are counted."""
    if type_ not in (TIME, DURATION):
        return ()
    return (
        Note(f"{described(type_)} is data: no time passes by it. Deadlines and `age` count ticks, as in `within 36 h`"),
        Note("a deadline that a message names is a number of ticks: `offer(days: 1..30)` and `within offer.days`"),
    )


def no_sum(type_: Type) -> tuple[Note, ...]:
    """Return the advice for an amount in a sum, a difference, a product or a remainder."""
    if not isinstance(type_, types.Data) or (amounts_of(type_.name) is None and type_ != DECIMAL):
        return ()
    return (
        Note("amounts, times and durations are copied and compared; there are no sums or differences of them"),
        Note("few whole numbers may be a range, which has sums: `price: 0..50`"),
    )


def condition_of(expr: ast.Expr, type_: Type) -> tuple[Note, ...]:
    """Return the conditions that a role, a number or a value could be meant as."""
    text = expr.span.text
    match type_:
        case types.Role():
            return (Note(f"`does({text})` is a step of this role; `assuming {text}` lets it keep going"),)
        case types.Int() | types.Enum() | types.Data() if isinstance(expr, ast.Ref):
            return (Note(f"compare it, as in `{text} = …`"),)
        case _:
            return ()
