"""Mutual vacuity: atoms that a valid property does not depend on (Kupferman and Vardi 2003).

An atom of positive polarity is replaced by `false`, one of negative polarity by `true`, and one of mixed polarity
(below `<->`) by each of them. These are the strongest replacements: with any other the formula is easier to satisfy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import assert_never

from cplc.logic.commitments import Conditional, SociallyCommits
from cplc.logic.expressions import FALSE, TRUE, Const
from cplc.logic.formulas import (
    Adjacent,
    And,
    Atom,
    Derived,
    Enforces,
    Formula,
    KnownFrom,
    Knows,
    Next,
    Not,
    OnPaths,
    Previous,
    Regardless,
    Release,
    Shorthand,
    Since,
    Taken,
    Until,
    children,
    polarities,
    with_children,
)
from cplc.records import dataclass
from cplc.system.printer import formula_text

_FALSE, _TRUE = Atom(FALSE, "false"), Atom(TRUE, "true")


@dataclass(frozen=True, slots=True)
class _Place:
    """One occurrence of an atom, and the strengthened formulas that must hold if it does not matter."""

    atom: Atom | Taken | Shorthand
    harder: tuple[Formula, ...]


def independent_atoms(formula: Formula, holds: Callable[[Formula], bool]) -> Iterator[str]:
    """Yield a message for each atom that a valid formula does not depend on."""
    places = list(_places(formula, positive=True))
    texts = [formula_text(place.atom) for place in places]
    total, occurrences = Counter(texts), Counter[str]()
    for place, text in zip(places, texts, strict=True):
        occurrences[text] += 1
        if all(map(holds, place.harder)):
            which = f" (number {occurrences[text]} of {total[text]})" if total[text] > 1 else ""
            yield f"`{text}`{which} does not matter: the property holds with any formula in its place"


def _places(formula: Formula, *, positive: bool | None) -> Iterator[_Place]:
    """Yield each atom with the strengthened formulas; ``positive`` is None for mixed polarity.

    Only the content of a social commitment is written by the user. A trigger has mixed polarity.
    """
    operands = children(formula)
    positions: tuple[bool | None, ...] = (positive,) * len(operands)
    match formula:
        case Atom(Const()):
            return
        case Atom() | Taken() | Shorthand():
            worst = {True: (_FALSE,), False: (_TRUE,), None: (_FALSE, _TRUE)}[positive]
            yield _Place(formula, worst)
            return
        case Not():
            positions = (_other(positive),)
        case Conditional(operation=operation) if operation != "WCC":
            positions = (None, None)
        case SociallyCommits(trigger=trigger):
            if trigger is not None:
                for place in _places(operands[-1], positive=None):
                    yield _Place(
                        place.atom, tuple(with_children(formula, (*operands[:-1], new)) for new in place.harder)
                    )
            positions = (positive,)
        case Derived():
            positions = tuple(
                None if sign is None else positive if sign else _other(positive) for sign in polarities(formula)
            )
        case (
            And() | Next() | Until() | Release() | Previous() | Since()
            | OnPaths() | Enforces() | KnownFrom() | Knows() | Adjacent() | Regardless()
        ):  # fmt: skip
            pass
        case _:
            assert_never(formula)
    for number, (operand, position) in enumerate(zip(operands, positions, strict=False)):
        before, after = operands[:number], operands[number + 1 :]
        for place in _places(operand, positive=position):
            yield _Place(place.atom, tuple(with_children(formula, (*before, new, *after)) for new in place.harder))


def _other(positive: bool | None) -> bool | None:
    return None if positive is None else not positive
