"""Antecedent failure: implications whose left side never holds, and commitments without successor states.

See Beer, Ben-David, Eisner and Rodeh, "Efficient detection of vacuity in temporal model checking", 2001.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, Protocol, assert_never

from cplc.checking.results import Remark
from cplc.logic.commitments import Commits, Conditional, Fulfils, SociallyCommits
from cplc.logic.expressions import FALSE
from cplc.logic.formulas import (
    SOME_FAIR_RUN,
    Adjacent,
    And,
    Atom,
    Derived,
    Enforces,
    Formula,
    Implies,
    KnownFrom,
    Knows,
    Next,
    Not,
    OnPaths,
    Previous,
    Regardless,
    Release,
    Since,
    Taken,
    Until,
    children,
    has_past_operators,
    is_state_formula,
    polarities,
    subformulas,
)
from cplc.records import dataclass
from cplc.system.model import State
from cplc.system.printer import quoted


class Reachable(Protocol):
    """Queries for reachable states."""

    def occurs(self, formula: Formula) -> bool:
        """Tell whether some reachable state satisfies the formula."""
        ...

    def example(self, formula: Formula) -> State | None:
        """Return a reachable state that satisfies the formula, if there is one."""
        ...


def vacuous_implications(reachable: Reachable, formula: Formula, considered: Considered = "all") -> Iterator[Remark]:
    """Yield the implications of positive polarity whose left side never holds where the formula evaluates it.

    A left side without past operators holds somewhere on a run iff it holds at the start of some run; left sides with
    past operators are skipped. All states on a fair run begin a fair run, so under fairness the left side has to hold
    in such a state.
    """
    for antecedent in dict.fromkeys(positive_antecedents(formula)):
        if is_state_formula(antecedent.formula):
            where, never = antecedent.formula, "holds in no reachable state"
            if considered == "fair" or (considered == "fair on runs" and antecedent.on_runs):
                where, never = (
                    And((where, replace(SOME_FAIR_RUN, along=antecedent.along))),
                    "holds nowhere on any fair run",
                )
        elif has_past_operators(antecedent.formula):
            continue
        else:
            where, never = OnPaths("E", antecedent.formula, antecedent.along), "is true nowhere on any run"
        if not reachable.occurs(where):
            yield Remark(
                "vacuous-implication", f"the left side of an implication, {quoted(antecedent.formula)}, {never}"
            )


Considered = Literal["all", "fair on runs", "fair"]
"""The reachable states that count: all; on runs those that begin a fair run; or these alone."""


@dataclass(frozen=True)
class Antecedent:
    """The left side of an implication, and the states in which it is evaluated."""

    formula: Formula
    on_runs: bool = False
    """True if these are states on runs; otherwise initial states, or epistemic alternatives."""
    along: Taken | None = None
    """The steps that these runs may take."""


_INITIALLY = Antecedent(Atom(FALSE, "false"))


def positive_antecedents(formula: Formula, positive: bool = True, at: Antecedent = _INITIALLY) -> Iterator[Antecedent]:
    """Yield the left sides of the implications of positive polarity; ``at`` has the states of the formula itself."""
    elsewhere = replace(at, on_runs=False, along=None)
    match formula:
        case Implies(left, right):
            if positive:
                yield replace(at, formula=left)
            yield from positive_antecedents(left, not positive, at)
            yield from positive_antecedents(right, positive, at)
        case Not(operand):
            yield from positive_antecedents(operand, not positive, at)
        case OnPaths(_, path, along):
            yield from positive_antecedents(path, positive, replace(at, on_runs=True, along=along))
        case Conditional(_, operation, antecedent, consequent):
            if operation == "WCC":
                yield from positive_antecedents(antecedent, not positive, elsewhere)
                yield from positive_antecedents(consequent, positive, elsewhere)
        case SociallyCommits(operand=operand):
            yield from positive_antecedents(operand, positive, replace(at, on_runs=True, along=None))
        case Commits(operand=operand) | Fulfils(operand=operand):
            yield from positive_antecedents(operand, positive, elsewhere)
        case Knows() | KnownFrom() | Enforces() | Adjacent() | Regardless():
            for child in children(formula):
                yield from positive_antecedents(child, positive, elsewhere)
        case Atom() | And() | Next() | Until() | Release() | Previous() | Since() | Taken():
            for child in children(formula):
                yield from positive_antecedents(child, positive, at)
        case Derived():
            for part, sign in zip(formula.parts, polarities(formula), strict=True):
                if sign is not None:
                    yield from positive_antecedents(part, positive is sign, at)
        case _:
            assert_never(formula)


def not_serial(reachable: Reachable, formula: Formula) -> Iterator[Remark]:
    """Yield the channels in the formula whose accessibility relation is not serial: some state has no successor."""
    nothing = Atom(FALSE, "false")
    channels = {part.channel: None for part in subformulas(formula) if isinstance(part, Commits | Fulfils)}
    for channel in channels:
        no_successor = Commits(channel, nothing)
        if reachable.occurs(no_successor) and (example := reachable.example(no_successor)) is not None:
            yield Remark(
                "not-serial",
                f"in some reachable states `C({channel.name}, …)` is true because no reachable state keeps what is "
                "promised there",
                example,
            )
