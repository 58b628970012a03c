"""What a verdict may hide: implications that never apply, and commitments that have nothing to check."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.engines.interface import Engine, S
from cplc.system.expr import FALSE
from cplc.system.formula import (
    Atom,
    Commits,
    Formula,
    Fulfils,
    Iff,
    Implies,
    Not,
    children,
    subformulas,
)
from cplc.system.printer import formula_text
from cplc.verification.results import Remark


def vacuous_implications(
    engine: Engine[S], formula: Formula, assuming: frozenset[str] = frozenset()
) -> Iterator[Remark]:
    """Yield the implications in positive position whose left side holds in no reachable state."""
    for left in dict.fromkeys(positive_lefts(formula)):
        if engine.is_empty(engine.satisfying(left, assuming)):
            yield Remark(
                "vacuous-implication",
                f"the left side of an implication, `{formula_text(left)}`, holds in no reachable state",
            )


def positive_lefts(formula: Formula, positive: bool = True) -> Iterator[Formula]:
    """Yield the left sides of the implications that the formula is the more true the truer they are."""
    match formula:
        case Atom():
            return
        case Implies(left, right):
            if positive:
                yield left
            yield from positive_lefts(left, not positive)
            yield from positive_lefts(right, positive)
        case Not(operand):
            yield from positive_lefts(operand, not positive)
        case Iff():
            return
        case _:
            for child in children(formula):
                yield from positive_lefts(child, positive)


def not_serial(engine: Engine[S], formula: Formula) -> Iterator[Remark]:
    """Yield the pairs of debtor and creditor in the formula of which some reachable state sees no state at all."""
    nothing = Atom(FALSE, "false")
    pairs = {(part.debtor, part.creditor): None for part in subformulas(formula) if isinstance(part, Commits | Fulfils)}
    for debtor, creditor in pairs:
        blind = engine.satisfying(Commits(debtor, creditor, nothing))
        if not engine.is_empty(blind):
            yield Remark(
                "not-serial",
                f"in some reachable states `C({debtor} -> {creditor}, …)` is true for want of any state to check",
                engine.pick(blind),
            )
