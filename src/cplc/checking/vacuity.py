"""Vacuity: formulas that hold for a reason that their author hardly means.

Antecedent failure is an implication whose left side never holds, or a commitment without successor states. A trivial
formula is a tautology or a contradiction. Mutually vacuous atoms do not matter, even together.

See Beer, Ben-David, Eisner and Rodeh, "Efficient detection of vacuity in temporal model checking", 2001.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, Protocol, assert_never

from cplc.checking.results import Remark
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils, SociallyCommits
from cplc.logic.expressions import FALSE, Const, Expr, conj, negate
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import State, System
from cplc.system.printer import formula_text, quoted
from cplc.system.satisfying_assignments import is_satisfiable


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
        if f.is_state_formula(antecedent.formula):
            where, never = antecedent.formula, "holds in no reachable state"
            if considered == "fair" or (considered == "fair on runs" and antecedent.on_runs):
                where, never = (
                    f.And((where, replace(f.SOME_FAIR_RUN, along=antecedent.along))),
                    "holds nowhere on any fair run",
                )
        elif f.has_past_operators(antecedent.formula):
            continue
        else:
            where, never = f.OnPaths("E", antecedent.formula, antecedent.along), "is true nowhere on any run"
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
    along: f.Taken | None = None
    """The steps that these runs may take."""


_INITIALLY = Antecedent(f.Atom(FALSE, "false"))


def positive_antecedents(formula: Formula, positive: bool = True, at: Antecedent = _INITIALLY) -> Iterator[Antecedent]:
    """Yield the left sides of the implications of positive polarity; ``at`` has the states of the formula itself."""
    elsewhere = replace(at, on_runs=False, along=None)
    match formula:
        case f.Implies(left, right):
            if positive:
                yield replace(at, formula=left)
            yield from positive_antecedents(left, not positive, at)
            yield from positive_antecedents(right, positive, at)
        case f.Not(operand):
            yield from positive_antecedents(operand, not positive, at)
        case f.OnPaths(_, path, along):
            yield from positive_antecedents(path, positive, replace(at, on_runs=True, along=along))
        case Conditional(_, operation, antecedent, consequent):
            if operation == "WCC":
                yield from positive_antecedents(antecedent, not positive, elsewhere)
                yield from positive_antecedents(consequent, positive, elsewhere)
        case SociallyCommits(operand=operand):
            yield from positive_antecedents(operand, positive, replace(at, on_runs=True, along=None))
        case Commits(operand=operand) | Fulfils(operand=operand):
            yield from positive_antecedents(operand, positive, elsewhere)
        case f.StateOperator():
            for child in f.children(formula):
                yield from positive_antecedents(child, positive, elsewhere)
        case f.Atom() | f.And() | f.PathOperator():
            for child in f.children(formula):
                yield from positive_antecedents(child, positive, at)
        case f.Derived():
            for part, sign in zip(formula.parts, f.polarities(formula), strict=True):
                if sign is not None:
                    yield from positive_antecedents(part, positive is sign, at)
        case _:
            assert_never(formula)


def not_serial(reachable: Reachable, formula: Formula) -> Iterator[Remark]:
    """Yield the channels in the formula whose accessibility relation is not serial: some state has no successor."""
    nothing = f.Atom(FALSE, "false")
    channels = {part.channel: None for part in f.subformulas(formula) if isinstance(part, Commits | Fulfils)}
    for channel in channels:
        no_successor = Commits(channel, nothing)
        if reachable.occurs(no_successor) and (example := reachable.example(no_successor)) is not None:
            yield Remark(
                "not-serial",
                f"in some reachable states `C({channel.name}, …)` is true because no reachable state keeps what is "
                "promised there",
                example,
            )


# --- Trivial formulas: tautologies and contradictions, true or false in every protocol
#
# Examples are `AG true`, `p -> p`, `A[p U true]` and `AG (AF p -> AF p)`. Reachability, fairness and the meaning of
# atoms play no part. The laws are those of propositional logic over atoms and non-Boolean operands, and those of
# temporal and epistemic operators over constants. Not every valid formula is recognised: validity of CTL* takes
# doubly exponential time.
#
# `E G true` is no law where runs may end or must be fair, since no run might begin.


MAX_OPERANDS = 12
"""Maximum number of distinct operands of a propositional combination that is decided; larger ones are simplified."""

_Modal = f.Knows | f.KnownFrom | Commits | Fulfils | f.Regardless | f.Adjacent | f.Enforces

_TRUE, _FALSE = f.Atom(e.TRUE, "true"), f.Atom(e.FALSE, "false")


def trivial_value(system: System, formula: Formula) -> bool | None:
    """Return the value that the formula has at every state of every system; None if no law gives it one."""
    return _constant(_Laws(system).simplified(formula))


def _constant(formula: Formula) -> bool | None:
    return True if formula == _TRUE else False if formula == _FALSE else None


class _Laws:
    def __init__(self, system: System) -> None:
        self._runs_begin = system.has_idle_step and not system.may_lack_fair_runs
        """True if a run, under any restriction to steps, begins in every state."""
        self._is_reflexive = system.has_idle_step
        """True if knowledge is reflexive: an agent always considers the present state possible."""

    def simplified(self, formula: Formula) -> Formula:
        """Return an equivalent formula, a constant if a law says so."""
        match formula:
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return self._combined(formula)
            case f.OnPaths(quantifier, path, along):
                inner = self.simplified(path)
                value = _constant(inner)
                decides = value is not None and (self._runs_begin or value is (quantifier == "A"))
                return inner if decides else f.OnPaths(quantifier, inner, along)
            case f.Next(operand):
                # There is a next state on every endless run.
                inner = self.simplified(operand)
                return inner if _constant(inner) is not None else f.Next(inner)
            case f.Previous(operand):
                inner = self.simplified(operand)
                return _FALSE if _constant(inner) is False else f.Previous(inner)
            case f.Until(left, right, bound):
                first, last = self.simplified(left), self.simplified(right)
                decides = _constant(last) is not None or _constant(first) is False
                return last if decides else f.Until(first, last, bound)
            case f.Release(left, right, bound):
                first, last = self.simplified(left), self.simplified(right)
                decides = _constant(last) is not None or _constant(first) is True
                return last if decides else f.Release(first, last, bound)
            case f.Since(left, right):
                last = self.simplified(right)
                return last if _constant(last) is not None else f.Since(self.simplified(left), last)
            case f.StateOperator():
                return self._modal(formula)
            case SociallyCommits():
                return self._social(formula)
            case f.Atom() | f.Taken() | f.Shorthand() | Conditional():
                return formula
            case f.Derived():
                return self.simplified(formula.definition)
            case _:
                assert_never(formula)

    def _combined(self, formula: Formula) -> Formula:
        """Return a constant if the formula is a tautology or a contradiction of propositional logic."""
        names: dict[Formula, str] = {}
        expr = self._propositional(formula, names)
        if isinstance(expr, e.Const):
            return _TRUE if expr.value else _FALSE
        if len(names) > MAX_OPERANDS:
            return formula
        domains = dict.fromkeys(names.values(), (False, True))
        if not is_satisfiable(domains, expr):
            return _FALSE
        return formula if is_satisfiable(domains, negate(expr)) else _TRUE

    def _propositional(self, formula: Formula, names: dict[Formula, str]) -> Expr:
        """Return the formula as an expression with a variable for each operand that is no combination itself."""
        if isinstance(formula, f.Not):
            return negate(self._propositional(formula.operand, names))
        if isinstance(formula, f.And):
            return conj(self._propositional(operand, names) for operand in formula.operands)
        if isinstance(formula, f.Or | f.Implies | f.Iff):
            return self._propositional(formula.definition, names)
        operand = self.simplified(formula)
        value = _constant(operand)
        return e.Read(names.setdefault(operand, str(len(names)))) if value is None else e.Const(value)

    def _social(self, formula: SociallyCommits) -> Formula:
        """Return false if nothing binds, or if the promises are contradictory: some run has to keep them."""
        never = not formula.bindings or _constant(self.simplified(formula.operand)) is False
        barred = formula.trigger is not None and _constant(self.simplified(formula.trigger)) is False
        return _FALSE if never or barred else formula

    def _modal(self, formula: _Modal) -> Formula:
        operand = formula.goal if isinstance(formula, f.Enforces) else formula.operand
        value = _constant(self.simplified(operand))
        if value is None:
            return formula
        if isinstance(formula, f.Regardless):
            return _TRUE if value else _FALSE
        if isinstance(formula, f.Knows | f.KnownFrom) and (value or self._is_reflexive):
            return _TRUE if value else _FALSE
        return formula


# --- Mutual vacuity: atoms that a valid property does not depend on (Kupferman and Vardi 2003)
#
# An atom of positive polarity is replaced by `false`, one of negative polarity by `true`, and one of mixed polarity
# (below `<->`) by each of them. These are the strongest replacements: with any other the formula is easier to
# satisfy.


@dataclass(frozen=True, slots=True)
class _Place:
    """One occurrence of an atom, and the strengthened formulas that must hold if it does not matter."""

    atom: f.Atom | f.Taken | f.Shorthand
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
    operands = f.children(formula)
    positions: tuple[bool | None, ...] = (positive,) * len(operands)
    match formula:
        case f.Atom(Const()):
            return
        case f.Atom() | f.Taken() | f.Shorthand():
            worst = {True: (_FALSE,), False: (_TRUE,), None: (_FALSE, _TRUE)}[positive]
            yield _Place(formula, worst)
            return
        case f.Not():
            positions = (_other(positive),)
        case Conditional(operation=operation) if operation != "WCC":
            positions = (None, None)
        case SociallyCommits(trigger=trigger):
            if trigger is not None:
                for place in _places(operands[-1], positive=None):
                    yield _Place(
                        place.atom, tuple(f.with_children(formula, (*operands[:-1], new)) for new in place.harder)
                    )
            positions = (positive,)
        case f.Derived():
            positions = tuple(
                None if sign is None else positive if sign else _other(positive) for sign in f.polarities(formula)
            )
        case f.And() | f.PathOperator() | f.StateOperator():
            pass
        case _:
            assert_never(formula)
    for number, (operand, position) in enumerate(zip(operands, positions, strict=False)):
        before, after = operands[:number], operands[number + 1 :]
        for place in _places(operand, positive=position):
            yield _Place(place.atom, tuple(f.with_children(formula, (*before, new, *after)) for new in place.harder))


def _other(positive: bool | None) -> bool | None:
    return None if positive is None else not positive
