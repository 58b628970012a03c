"""State and path formulas over a system: CTL* with past, knowledge, commitments and strategies.

State and path formulas share one type. A path formula occurs only below a path quantifier. A state formula below
temporal operators is evaluated at the current state of the path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal

from cplc.logic.expressions import TRUE, Expr, reads
from cplc.records import dataclass


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
class Or:
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Iff:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Next:
    operand: Formula


@dataclass(frozen=True, slots=True)
class Finally:
    operand: Formula
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Globally:
    operand: Formula
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Until:
    left: Formula
    right: Formula
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class WeakUntil:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Release:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Previous:
    """``Y``: the path did not start here, and the operand held one step before."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class Once:
    operand: Formula


@dataclass(frozen=True, slots=True)
class Historically:
    operand: Formula


@dataclass(frozen=True, slots=True)
class Since:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Taken:
    """The next step of the path is one of these, by the names of the steps; never the idle step."""

    steps: frozenset[str]
    text: str
    """Source text."""


@dataclass(frozen=True, slots=True)
class Shorthand:
    """A path formula with a shorter source text: the change that the next step makes, by step and state."""

    operand: Formula
    text: str


MOVES: Final = "!does(idle)"
"""Source text of a `Taken` of all steps: the path does not idle."""


Path = Next | Finally | Globally | Until | WeakUntil | Release
"""Future operators: those that a path quantifier of CTL applies to."""

Past = Previous | Once | Historically | Since
"""Past operators. The past starts where the innermost path quantifier is evaluated."""

OnPath = Path | Past | Taken | Shorthand
"""Path operators."""


@dataclass(frozen=True, slots=True)
class OnPaths:
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
class Enforces:
    """``<<group>> goal``: the agents together have a strategy for the goal against all others.

    With ``uniform`` each agent decides by its own local state alone.
    """

    group: tuple[str, ...]
    goal: Next | Finally | Globally | Until
    """One temporal operator over state formulas, without a bound."""
    uniform: bool = False


@dataclass(frozen=True, slots=True)
class Channel:
    """The promises of one agent to another, by two ends: the debtor's and the creditor's.

    The commitment of CTLC+ relates a state to those with the same debtor's end in which the creditor's end has caught
    up. See `cplc.system.commitment_channels`.
    """

    name: str
    """The two agents, or the commitment, in the syntax of formulas."""
    promised: tuple[Expr, ...]
    """The debtor's end: variables and conditions."""
    bound: Expr
    """Something is promised."""
    caught_up: Expr
    """The creditor's end agrees with the debtor's."""

    @property
    def reads(self) -> frozenset[str]:
        """The variables of both ends."""
        return frozenset().union(*map(reads, (*self.promised, self.bound, self.caught_up)))


@dataclass(frozen=True, slots=True)
class Commits:
    """``C(channel, operand)``: abbreviates the formula that `meaning` returns."""

    channel: Channel
    operand: Formula


@dataclass(frozen=True, slots=True)
class Fulfils:
    """``Fu(channel, operand)``: abbreviates the formula that `meaning` returns."""

    channel: Channel
    operand: Formula


@dataclass(frozen=True, slots=True)
class Offer:
    """One commitment of a channel that is conditional, or that was closed while it was."""

    name: str
    offered: Expr
    """It is conditional, or suspended or delegated while it was."""
    promised: Expr
    fulfilled: Expr
    ended: Expr
    """It was closed by the operation: cancelled, released, delegated or assigned."""


@dataclass(frozen=True, slots=True)
class Offering:
    """The promises and offers of one agent to another: its channel, and the commitments that may be offered."""

    promises: Channel
    offers: tuple[Offer, ...]

    @property
    def name(self) -> str:
        return self.promises.name

    @property
    def reads(self) -> frozenset[str]:
        return self.promises.reads.union(*(reads(expr) for offer in self.offers for expr in expressions(offer)))


def expressions(offer: Offer) -> tuple[Expr, ...]:
    return offer.offered, offer.promised, offer.fulfilled, offer.ended


OFFERED = " without "
"""Separates the name of a channel from its offers, in the name of an observer of the other commitments."""

Operation = Literal["WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS"]
"""Modalities of conditional commitment (CTLcc): weak, strong, their fulfilment, and ends of strong ones."""


@dataclass(frozen=True, slots=True)
class Conditional:
    """``WCC(channel, antecedent, consequent)`` and similar: abbreviates the formula that `meaning` returns."""

    channel: Offering
    operation: Operation
    antecedent: Formula
    consequent: Formula
    other: Offering | None = None
    """The channel that a delegation or assignment moves the commitment to."""
    other_party: str | None = None
    """The third agent, or the other commitment."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One cause that binds a debtor to a creditor: the states where it binds, and the paths that keep it."""

    name: str
    """Name in the source: a commitment, a claim, an answer to a claim."""
    where: Formula
    """A state formula."""
    keeping: Formula
    """A path formula, evaluated where it binds."""


@dataclass(frozen=True, slots=True)
class SociallyCommits:
    """``SC(pair, operand)``, or ``SCc(pair, trigger, operand)``: abbreviates the formula of `meaning`."""

    pair: str
    """The debtor and the creditor in the syntax of formulas."""
    bindings: tuple[Binding, ...]
    """All causes that can bind the debtor to the creditor."""
    operand: Formula
    """A path formula."""
    trigger: Formula | None = None
    """Only paths on which this becomes true count."""


@dataclass(frozen=True, slots=True)
class KnownFrom:
    """Knowledge of a virtual observer: the operand holds in all states that agree with this one on what is observed.

    These are the reachable states in which the observed variables and conditions have the same values.
    """

    observed: tuple[Expr, ...]
    operand: Formula
    observer: str
    """The name of the channel whose debtor's end is observed."""


@dataclass(frozen=True, slots=True)
class Knows:
    """``K``/``EK`` (each), ``DK`` (together), ``CK`` (common): knowledge by local state, on reachable states."""

    mode: Literal["each", "together", "common"]
    agents: tuple[str, ...]
    operand: Formula


@dataclass(frozen=True, slots=True)
class Adjacent:
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
class Regardless:
    """The operand, evaluated without fairness conditions; for formulas inside a fairness condition."""

    operand: Formula


Formula = (
    Atom | Not | And | Or | Implies | Iff
    | Next | Finally | Globally | Until | WeakUntil | Release | Previous | Once | Historically | Since | Taken
    | Shorthand | OnPaths | Enforces | Commits | Fulfils | Conditional | SociallyCommits | KnownFrom | Knows
    | Adjacent | Regardless
)  # fmt: skip


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the immediate subformulas."""
    match formula:
        case Atom() | Taken():
            return ()
        case And(operands) | Or(operands):
            return operands
        case (
            Implies(left, right) | Iff(left, right)
            | Until(left, right) | WeakUntil(left, right) | Release(left, right) | Since(left, right)
        ):  # fmt: skip
            return (left, right)
        case Conditional(_, _, antecedent, consequent):
            return (antecedent, consequent)
        case OnPaths(_, path):
            return (path,)
        case Enforces(_, goal):
            return (goal,)
        case SociallyCommits(_, bindings, operand, trigger):
            parts = (part for binding in bindings for part in (binding.where, binding.keeping))
            return (operand, *parts) if trigger is None else (operand, *parts, trigger)
        case (
            Not(operand) | Commits(_, operand) | Fulfils(_, operand) | KnownFrom(_, operand) | Knows(_, _, operand)
            | Adjacent(operand) | Next(operand) | Finally(operand) | Globally(operand)
            | Previous(operand) | Once(operand) | Historically(operand) | Regardless(operand) | Shorthand(operand)
        ):  # fmt: skip
            return (operand,)


def with_children(formula: Formula, operands: tuple[Formula, ...]) -> Formula:
    """Return the same formula over other operands, as many as it has."""
    match formula:
        case And() | Or():
            return replace(formula, operands=operands)
        case Implies() | Iff() | Until() | WeakUntil() | Release() | Since():
            left, right = operands
            return replace(formula, left=left, right=right)
        case Conditional():
            antecedent, consequent = operands
            return replace(formula, antecedent=antecedent, consequent=consequent)
        case OnPaths():
            return replace(formula, path=operands[0])
        case Enforces():
            (goal,) = operands
            assert isinstance(goal, Next | Finally | Globally | Until)
            return replace(formula, goal=goal)
        case SociallyCommits():
            operand, *parts = operands
            trigger = None if formula.trigger is None else parts.pop()
            pairs = zip(formula.bindings, parts[::2], parts[1::2], strict=True)
            bindings = tuple(replace(one, where=where, keeping=keeping) for one, where, keeping in pairs)
            return replace(formula, bindings=bindings, operand=operand, trigger=trigger)
        case Atom() | Taken():
            return formula
        case _:
            return replace(formula, operand=operands[0])


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield every formula in it, on states or on paths, itself first."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


def state_subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield every formula in it that a state decides, itself first if it is one."""
    return (part for part in subformulas(formula) if is_state_formula(part))


def is_state_formula(formula: Formula) -> bool:
    """Return whether it is a state formula: path operators occur below path quantifiers alone."""
    match formula:
        case Not() | And() | Or() | Implies() | Iff():
            return all(map(is_state_formula, children(formula)))
        case (
            Atom() | OnPaths() | Enforces() | Commits() | Fulfils() | Conditional() | SociallyCommits() | KnownFrom()
            | Knows() | Adjacent() | Regardless()
        ):  # fmt: skip
            return True
        case _:
            return False


def meaning(formula: Commits | Fulfils | Conditional | SociallyCommits) -> Formula:
    """Return the definition of a commitment or fulfilment by knowledge, and of a social commitment by runs.

    Definition: ``s ~ t`` iff the debtor's end is the same at s and t, and the creditor's end has caught up at t. Claim:
    "every reachable t with ``s ~ t`` satisfies φ" is "the observer of the debtor's end knows ``caught_up -> φ``", and
    "some s' that satisfies ``C φ`` has ``s' ~ s``" is "s has caught up and satisfies ``C φ``". Proof: the first is the
    definition of knowledge. For the second, ``C φ`` has the same value at all states that the observer cannot
    distinguish, and a state that has caught up is related to itself.

    A social commitment is defined directly: some cause binds, some fair run keeps all causes that bind, and every such
    run satisfies φ.
    """
    if isinstance(formula, Conditional):
        from cplc.logic.conditional_commitments import conditional_meaning

        return conditional_meaning(formula)
    match formula:
        case SociallyCommits():
            return And((bound(formula), some_path_keeps(formula), all_keeping_paths_satisfy(formula)))
        case Commits(channel, operand):
            caught_up = Atom(channel.caught_up, f"all that {channel.name} promises is kept")
            knowledge = KnownFrom(channel.promised, Implies(caught_up, operand), channel.name)
            if channel.bound == TRUE:
                return knowledge
            return And((Atom(channel.bound, f"{channel.name} promises something"), knowledge))
        case Fulfils(channel, operand):
            caught_up = Atom(channel.caught_up, f"all that {channel.name} promises is kept")
            return And((caught_up, Commits(channel, operand)))


def expanded(formula: Formula) -> Formula:
    """Return the formula with every social commitment replaced by its definition."""
    operands = children(formula)
    parts = tuple(map(expanded, operands))
    rebuilt = formula if parts == operands else with_children(formula, parts)
    return meaning(rebuilt) if isinstance(rebuilt, SociallyCommits) else rebuilt


def bound(formula: SociallyCommits) -> Formula:
    """Return the condition that some cause binds the debtor."""
    places = tuple(binding.where for binding in formula.bindings)
    return places[0] if len(places) == 1 else Or(places)


def some_path_keeps(formula: SociallyCommits) -> Formula:
    """Return the formula: some fair run keeps all causes that bind here."""
    path = _counted(formula)
    return And((path, SOME_FAIR_RUN)) if is_state_formula(path) else OnPaths("E", path)


def all_keeping_paths_satisfy(formula: SociallyCommits) -> Formula:
    """Return the formula: every fair run that keeps all causes that bind here satisfies the operand."""
    path = Implies(_counted(formula), formula.operand)
    return Implies(SOME_FAIR_RUN, path) if is_state_formula(path) else OnPaths("A", path)


def _counted(formula: SociallyCommits) -> Formula:
    """Return the path formula of the runs that count: they keep all causes that bind, and the trigger occurs."""
    keeping = [binding_kept(binding) for binding in formula.bindings]
    if formula.trigger is not None:
        keeping.append(Finally(formula.trigger))
    return keeping[0] if len(keeping) == 1 else And(tuple(keeping))


def binding_kept(binding: Binding) -> Formula:
    """Return the path formula: the cause is kept if it binds where the path starts."""
    return Implies(binding.where, binding.keeping)


SOME_FAIR_RUN = OnPaths("E", Globally(Atom(TRUE, "true")))
"""A fair run starts here."""


def negation(formula: Formula) -> Formula:
    """Return the negation; the negation of idling is written as it is in the source."""
    match formula:
        case Not(Taken(_, text) as moving) if text == MOVES:
            return moving
        case _:
            return Not(formula)


def as_written(formula: OnPaths) -> Formula:
    """Return the path formula of the source, without the conjunct that excludes idle steps."""
    match formula.path:
        case And((said, Globally(Taken(_, text), None))) if not formula.may_idle and text == MOVES:
            return said
        case Implies(Globally(Taken(_, text), None), said) if not formula.may_idle and text == MOVES:
            return said
        case path:
            return path


def ctl_path(formula: OnPaths) -> Path | None:
    """Return the path operator below the quantifier if the formula is in CTL."""
    match formula:
        case OnPaths(_, Next() | Finally() | Globally() | Until() | WeakUntil() | Release() as path, None):
            return path if all(map(is_state_formula, children(path))) else None
        case _:
            return None


def negated_paths(path: Path) -> tuple[Path, ...]:
    """Return path formulas such that some path satisfies one of them iff some path violates the given one."""
    match path:
        case Next(operand):
            return (Next(Not(operand)),)
        case Finally(operand, bound):
            return (Globally(Not(operand), bound),)
        case Globally(operand, bound):
            return (Finally(Not(operand), bound),)
        case Until(left, right, bound):
            return (Until(Not(right), And((Not(left), Not(right))), bound), Globally(Not(right), bound))
        case WeakUntil(left, right):
            return (Until(Not(right), And((Not(left), Not(right)))),)
        case Release(left, right):
            return (Until(Not(left), Not(right)),)
