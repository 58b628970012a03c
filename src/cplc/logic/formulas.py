"""State and path formulas over a system: CTL* with past, knowledge, commitments and strategies.

State and path formulas share one type. A path formula occurs only below a path quantifier. A state formula below
temporal operators is evaluated at the current state of the path.

The core has few operators. Every other operator is `Derived`: it abbreviates a formula, its ``definition``, and
remembers how it was written. A `match` over formulas handles the operators of the core one by one, `Derived` by its
definition, and ends in `assert_never`. Operators that are treated alike are matched by their group, `PathOperator` or
`StateOperator`. A new derived operator needs its class here and its syntax; for a new operator of the core, the type
checker names every place that does not treat its group alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Final, Literal, assert_never, cast

from cplc.logic.expressions import FALSE, TRUE, Expr, Read
from cplc.records import dataclass

# --- operators of the core


class PathOperator:
    """An operator of the core whose value depends on the path: temporal operators, and the next step."""

    __slots__ = ()


class StateOperator:
    """An operator of the core that a state decides, whatever its operand: paths, strategies, knowledge, rounds."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Atom:
    """A condition on the current state; ``text`` is its source text, or a formula that the user could write."""

    condition: Expr
    text: str
    in_words: bool = False
    """True if the language has no formula for it and the text is prose."""


@dataclass(frozen=True, slots=True)
class Not:
    operand: Formula


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """The positions that a path operator ranges over: those before which ``low`` to ``high`` steps are taken.

    With ``ticks`` these steps alone are counted, otherwise all steps and idle steps. The window never closes on a path
    with fewer ticks, and without ``low`` ticks it never opens.
    """

    high: int
    low: int = 0
    ticks: Taken | None = None

    def __str__(self) -> str:
        window = f"[{self.low}..{self.high}]" if self.low else f"<={self.high}"
        return window if self.ticks is None else f"{window} ticks"

    @property
    def next(self) -> Bound | None:
        """The rest after one of the steps that are counted; None if the window closes."""
        return replace(self, high=self.high - 1, low=max(self.low - 1, 0)) if self.high else None


@dataclass(frozen=True, slots=True)
class Next(PathOperator):
    operand: Formula


@dataclass(frozen=True, slots=True)
class Until(PathOperator):
    """The right operand holds at a position within the bound, and the left one at all positions before it."""

    left: Formula
    right: Formula
    bound: Bound | None = None


@dataclass(frozen=True, slots=True)
class Release(PathOperator):
    """The dual of until: ``left R right`` is ``!(!left U !right)``.

    The right operand holds at all positions within the bound that come after no position at which the left one holds.
    """

    left: Formula
    right: Formula
    bound: Bound | None = None


@dataclass(frozen=True, slots=True)
class Previous(PathOperator):
    """``Y``: the path did not start here, and the operand held one step before.

    The past starts where the innermost path quantifier is evaluated.
    """

    operand: Formula


@dataclass(frozen=True, slots=True)
class Since(PathOperator):
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Taken(PathOperator):
    """The next step of the path is one of these, by the names of the steps; never the idle step."""

    steps: frozenset[str]
    text: str
    """Source text."""


MOVES: Final = "!does(idle)"
"""Source text of a `Taken` of all steps: the path does not idle."""


@dataclass(frozen=True, slots=True)
class OnPaths(StateOperator):
    """``A path``: on every fair path; ``E path``: on some fair path.

    ``along`` restricts the quantifier to paths of these steps and idling (ARCTL); for justice, other steps count as
    disabled.
    """

    quantifier: Literal["A", "E"]
    path: Formula
    along: Taken | None = None
    may_idle: bool = True
    """True if the source allows idle steps. Otherwise ``path`` itself excludes them, see `as_written`."""


@dataclass(frozen=True, slots=True)
class Enforces(StateOperator):
    """``<<group>> goal``: the agents together have a strategy for the goal against all others.

    With ``uniform`` each agent decides by its own local state alone.
    """

    group: tuple[str, ...]
    goal: Goal
    uniform: bool = False


@dataclass(frozen=True, slots=True)
class KnownFrom(StateOperator):
    """Knowledge of a virtual observer: the operand holds in all states that agree with this one on what is observed.

    These are the reachable states in which the observed variables and conditions have the same values.
    """

    observed: tuple[Expr, ...]
    operand: Formula
    observer: str
    """The name of the channel whose debtor's end is observed."""


@dataclass(frozen=True, slots=True)
class Knows(StateOperator):
    """``K``/``EK`` (each), ``DK`` (together), ``CK`` (common): knowledge by local state, on reachable states."""

    mode: Literal["each", "together", "common"]
    agents: tuple[str, ...]
    operand: Formula


@dataclass(frozen=True, slots=True)
class Adjacent(StateOperator):
    """In a synchronous system: some round leads from here to the operand or, if ``back``, from the operand to here.

    ``same`` pairs a variable before the round with one after it that has the same value. ``choice`` is an action that a
    player performs in the round, if given.
    """

    operand: Formula
    same: tuple[tuple[str, str], ...]
    choice: tuple[str, str] | None = None
    """The name of a player's choice, and its action."""
    back: bool = False


@dataclass(frozen=True, slots=True)
class Regardless(StateOperator):
    """The operand, evaluated without fairness conditions; for formulas inside a fairness condition."""

    operand: Formula


# --- derived operators


class Derived:
    """An operator outside of the core: an abbreviation of a formula that remembers how it was written."""

    __slots__ = ("_definition",)

    OPERANDS: ClassVar[tuple[str, ...]] = ("operand",)
    """The fields that are formulas."""
    SYMBOL: ClassVar[str] = ""
    """The word of a path operator, before its operand or between its operands."""

    _definition: Formula

    @property
    def definition(self) -> Formula:
        """The formula that it abbreviates, one operator of it at least in the core."""
        try:
            return self._definition
        except AttributeError:
            definition = self._define()
            object.__setattr__(self, "_definition", definition)
            return definition

    def _define(self) -> Formula:
        raise NotImplementedError

    @property
    def has_only_operands(self) -> bool:
        """True if it names nothing besides its operands: no agents, variables or steps."""
        return {field.name for field in fields(cast(Any, self))} <= {*self.OPERANDS, "operands", "bound"}

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The operands."""
        return tuple(getattr(self, name) for name in self.OPERANDS)

    def with_parts(self, parts: tuple[Formula, ...]) -> Derived:
        """Return the same operator over other operands."""
        return cast(Derived, replace(cast(Any, self), **dict(zip(self.OPERANDS, parts, strict=True))))


@dataclass(frozen=True, slots=True)
class Or(Derived):
    operands: tuple[Formula, ...]

    def _define(self) -> Formula:
        return Not(And(tuple(map(opposite, self.operands))))

    @property
    def parts(self) -> tuple[Formula, ...]:
        return self.operands

    def with_parts(self, parts: tuple[Formula, ...]) -> Or:
        return Or(parts)


@dataclass(frozen=True, slots=True)
class Implies(Derived):
    left: Formula
    right: Formula

    OPERANDS = ("left", "right")

    def _define(self) -> Formula:
        return Not(And((self.left, opposite(self.right))))


@dataclass(frozen=True, slots=True)
class Iff(Derived):
    left: Formula
    right: Formula

    OPERANDS = ("left", "right")

    def _define(self) -> Formula:
        return Or((And((self.left, self.right)), And((opposite(self.left), opposite(self.right)))))


@dataclass(frozen=True, slots=True)
class Finally(Derived):
    operand: Formula
    bound: Bound | None = None

    SYMBOL = "F"

    def _define(self) -> Formula:
        return Until(VALID, self.operand, self.bound)


@dataclass(frozen=True, slots=True)
class Globally(Derived):
    operand: Formula
    bound: Bound | None = None

    SYMBOL = "G"

    def _define(self) -> Formula:
        return Release(UNSATISFIABLE, self.operand, self.bound)


@dataclass(frozen=True, slots=True)
class WeakUntil(Derived):
    """Until, or the left operand forever; with a bound, until, or the left operand up to the end of the window."""

    left: Formula
    right: Formula
    bound: Bound | None = None

    OPERANDS = ("left", "right")
    SYMBOL = "W"

    def _define(self) -> Formula:
        if self.bound is None or not self.bound.low:
            return Release(self.right, Or((self.left, self.right)), self.bound)
        return Or((Globally(self.left, replace(self.bound, low=0)), Until(self.left, self.right, self.bound)))


@dataclass(frozen=True, slots=True)
class StrongRelease(Derived):
    """Release, and the left operand comes, at the end of the window at the latest: the dual of weak until."""

    left: Formula
    right: Formula
    bound: Bound | None = None

    OPERANDS = ("left", "right")
    SYMBOL = "M"

    def _define(self) -> Formula:
        if self.bound is None or not self.bound.low:
            return Until(self.right, And((self.left, self.right)), self.bound)
        return And((Release(self.left, self.right, self.bound), Finally(self.left, replace(self.bound, low=0))))


@dataclass(frozen=True, slots=True)
class Once(Derived):
    operand: Formula

    SYMBOL = "O"

    def _define(self) -> Formula:
        return Since(VALID, self.operand)


@dataclass(frozen=True, slots=True)
class Historically(Derived):
    operand: Formula

    SYMBOL = "H"

    def _define(self) -> Formula:
        return Not(Since(VALID, opposite(self.operand)))


@dataclass(frozen=True, slots=True)
class Shorthand(Derived):
    """A path formula with a shorter source text: the change that the next step makes, by step and state."""

    operand: Formula
    text: str

    def _define(self) -> Formula:
        return self.operand


PATH_OPERATORS: Final[Mapping[str, Callable[..., Formula]]] = {
    "X": Next,
    "U": Until,
    "R": Release,
    "Y": Previous,
    "S": Since,
    **{kind.SYMBOL: kind for kind in (Finally, Globally, WeakUntil, StrongRelease, Once, Historically)},
}
"""Path operators by their words in the language; a bound is the last argument."""

Core = (
    Atom | Not | And | Next | Until | Release | Previous | Since | Taken
    | OnPaths | Enforces | KnownFrom | Knows | Adjacent | Regardless
)  # fmt: skip
Formula = Core | Derived
CtlOperator = Next | Until | Release
"""The path operators of CTL."""
CtlPath = CtlOperator | Derived
"""A path operator of CTL as it is written; a derived one abbreviates one of the core."""
Connective = Not | And | Or | Implies | Iff
"""The operators of propositional logic."""
Goal = Next | Finally | Globally | Until
"""Goals of groups: one temporal operator over state formulas, without a bound."""

VALID = Atom(TRUE, "true")
UNSATISFIABLE = Atom(FALSE, "false")
SOME_FAIR_RUN = OnPaths("E", Globally(VALID))
"""A fair run starts here."""


# --- structure


def core(formula: Formula) -> Core:
    """Return the formula with its outermost operator replaced by its definition until that is in the core."""
    while isinstance(formula, Derived):
        formula = formula.definition
    return formula


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the immediate subformulas, as they are written."""
    match formula:
        case Derived():
            return formula.parts
        case Atom() | Taken():
            return ()
        case And(operands):
            return operands
        case Until(left, right) | Release(left, right) | Since(left, right):
            return (left, right)
        case OnPaths(_, path):
            return (path,)
        case Enforces(_, goal):
            return (goal,)
        case (
            Not(operand) | Next(operand) | Previous(operand)
            | KnownFrom(_, operand) | Knows(_, _, operand) | Adjacent(operand) | Regardless(operand)
        ):  # fmt: skip
            return (operand,)
        case _:
            assert_never(formula)


def with_children(formula: Formula, operands: tuple[Formula, ...]) -> Formula:
    """Return the same formula over other operands, as many as it has."""
    match formula:
        case Atom() | Taken():
            return formula
        case And():
            return And(operands)
        case Until() | Release() | Since():
            left, right = operands
            return replace(formula, left=left, right=right)
        case OnPaths():
            return replace(formula, path=operands[0])
        case Enforces():
            (goal,) = operands
            assert isinstance(goal, Next | Finally | Globally | Until)
            return replace(formula, goal=goal)
        case Not() | Next() | Previous() | KnownFrom() | Knows() | Adjacent() | Regardless():
            return replace(formula, operand=operands[0])
        case Derived():
            return formula.with_parts(operands)
        case _:
            assert_never(formula)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield every formula in it as it is written, on states or on paths, itself first."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


def core_subformulas(formula: Formula) -> Iterator[Core]:
    """Yield every formula in it after derived operators are replaced by their definitions, itself first."""
    unfolded = core(formula)
    yield unfolded
    for child in children(unfolded):
        yield from core_subformulas(child)


def state_subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield every formula in it that a state decides, itself first if it is one."""
    return (part for part in subformulas(formula) if is_state_formula(part))


def is_state_formula(formula: Formula) -> bool:
    """Return whether it is a state formula: path operators occur below path quantifiers alone."""
    match formula:
        case Atom() | StateOperator():
            return True
        case Not(operand):
            return is_state_formula(operand)
        case And(operands):
            return all(map(is_state_formula, operands))
        case PathOperator() | Shorthand():
            return False
        case Derived():
            return is_state_formula(formula.definition)
        case _:
            assert_never(formula)


def is_propositional(formula: Formula) -> bool:
    """Return whether the variables of one state decide the formula."""
    match formula:
        case Atom():
            return True
        case Not(operand):
            return is_propositional(operand)
        case And(operands):
            return all(map(is_propositional, operands))
        case Derived():
            return is_propositional(formula.definition)
        case PathOperator() | StateOperator():
            return False
        case _:
            assert_never(formula)


def has_past_operators(path: Formula) -> bool:
    """Return whether a past operator occurs outside of state formulas."""
    if is_state_formula(path):
        return False
    unfolded = core(path)
    return isinstance(unfolded, Previous | Since) or any(map(has_past_operators, children(unfolded)))


def mentions_past(formula: Formula) -> bool:
    """Return whether a past operator occurs anywhere in it."""
    return any(isinstance(part, Previous | Since) for part in core_subformulas(formula))


def polarities(formula: Derived) -> tuple[bool | None, ...]:
    """Return for each operand whether its occurrences in the definition are positive or negative; None for both."""
    names = tuple(f"operand {number}" for number in range(len(formula.parts)))
    occurrences: dict[str, set[bool]] = {name: set() for name in names}

    def visit(part: Formula, positive: bool) -> None:
        unfolded = core(part)
        if isinstance(unfolded, Atom) and unfolded.text in occurrences:
            occurrences[unfolded.text].add(positive)
        for child in children(unfolded):
            visit(child, positive is not isinstance(unfolded, Not))

    visit(formula.with_parts(tuple(Atom(Read(name), name) for name in names)), True)
    return tuple(signs.pop() if len(signs) == 1 else None for signs in occurrences.values())


# --- forms


def opposite(formula: Formula) -> Formula:
    """Return the negation, without double negations."""
    return formula.operand if isinstance(formula, Not) else Not(formula)


def negation(formula: Formula) -> Formula:
    """Return the negation; the negation of idling is written as it is in the source."""
    if isinstance(formula, Not) and isinstance(formula.operand, Taken) and formula.operand.text == MOVES:
        return formula.operand
    return Not(formula)


def as_written(formula: OnPaths) -> Formula:
    """Return the path formula of the source, without the conjunct that excludes idle steps."""
    if formula.may_idle:
        return formula.path
    path = formula.path
    if isinstance(path, And) and len(path.operands) == 2 and _is_moving(path.operands[1]):
        return path.operands[0]
    if isinstance(path, Implies) and _is_moving(path.left):
        return path.right
    return formula.path


def _is_moving(path: Formula) -> bool:
    return (
        isinstance(path, Globally)
        and path.bound is None
        and isinstance(path.operand, Taken)
        and path.operand.text == MOVES
    )


def invariant(formula: Formula) -> Formula | None:
    """Return the operand of ``A G``, without restriction to steps and without a bound; None for other formulas."""
    return _operand_of("A", Globally, formula)


def possibility(formula: Formula) -> Formula | None:
    """Return the operand of ``E F``, without restriction to steps and without a bound; None for other formulas."""
    return _operand_of("E", Finally, formula)


def _operand_of(quantifier: str, operator: type[Finally | Globally], formula: Formula) -> Formula | None:
    if not isinstance(formula, OnPaths) or formula.quantifier != quantifier or formula.along is not None:
        return None
    path = formula.path
    return path.operand if isinstance(path, operator) and path.bound is None else None


def ctl_path(formula: Formula) -> CtlPath | None:
    """Return the path operator below the quantifier, as it is written, if the formula is in CTL."""
    if not isinstance(formula, OnPaths) or formula.along is not None:
        return None
    path = formula.path
    if not isinstance(path, CtlPath) or not isinstance(core(path), CtlOperator):
        return None
    return path if all(map(is_state_formula, children(path))) else None


def ctl_core(path: CtlPath) -> CtlOperator:
    """Return the path operator of CTL that this one is or abbreviates."""
    operator = core(path)
    assert isinstance(operator, CtlOperator), f"{path} is no path operator of CTL"
    return operator


def has_finite_evidence(quantifier: str, path: CtlOperator) -> bool:
    """Return whether witnesses of ``E path``, or counterexamples of ``A path``, are finite prefixes."""
    match path:
        case Next():
            return True
        case Until(_, _, bound):
            return quantifier == "E" or closes(bound)
        case Release(_, _, bound):
            return quantifier == "A" or closes(bound)
        case _:
            assert_never(path)


def closes(bound: Bound | None) -> bool:
    """Return whether the window of an operator closes on every path; in ticks it need not, since time may stop."""
    return bound is not None and bound.ticks is None


def dual(path: CtlOperator) -> CtlOperator:
    """Return the path formula that holds on the paths that violate this one."""
    match path:
        case Next(operand):
            return Next(opposite(operand))
        case Until(left, right, bound):
            return Release(opposite(left), opposite(right), bound)
        case Release(left, right, bound):
            return Until(opposite(left), opposite(right), bound)
        case _:
            assert_never(path)
