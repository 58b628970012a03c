"""Social commitments as derived formulas, defined by knowledge (`C`, `Fu`, `WCC` …) or by runs (`SC`, `SCc`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from cplc.logic import formulas as f
from cplc.logic.expressions import TRUE, Expr, reads
from cplc.records import dataclass


@dataclass(frozen=True, slots=True)
class Channel:
    """The promises of one agent to another, by two ends: the debtor's and the creditor's.

    The commitment of CTLC+ relates a state to those with the same debtor's end in which the creditor's end has caught
    up. See `cplc.system.commitments`.
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
class Commits(f.Derived):
    """``C(channel, operand)``: the observer of the debtor's end knows the operand, given that the creditor caught up.

    Definition: ``s ~ t`` iff the debtor's end is the same at s and t, and the creditor's end has caught up at t. Claim:
    "every reachable t with ``s ~ t`` satisfies φ" is "the observer of the debtor's end knows ``caught_up -> φ``".
    Proof: this is the definition of knowledge.
    """

    channel: Channel
    operand: f.Formula

    def _define(self) -> f.Formula:
        channel = self.channel
        caught_up = f.Atom(channel.caught_up, f"all that {channel.name} promises is kept")
        knowledge = f.KnownFrom(channel.promised, f.Implies(caught_up, self.operand), channel.name)
        if channel.bound == TRUE:
            return knowledge
        return f.And((f.Atom(channel.bound, f"{channel.name} promises something"), knowledge))


@dataclass(frozen=True, slots=True)
class Fulfils(f.Derived):
    """``Fu(channel, operand)``: some state that satisfies ``C(channel, operand)`` is related to this one.

    Claim: this is "the creditor's end has caught up, and ``C φ``". Proof: ``C φ`` has the same value at all states that
    the observer cannot distinguish, and a state that has caught up is related to itself.
    """

    channel: Channel
    operand: f.Formula

    def _define(self) -> f.Formula:
        caught_up = f.Atom(self.channel.caught_up, f"all that {self.channel.name} promises is kept")
        return f.And((caught_up, Commits(self.channel, self.operand)))


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
class Conditional(f.Derived):
    """``WCC(channel, antecedent, consequent)`` and similar, see `cplc.logic.conditional_commitments`."""

    channel: Offering
    operation: Operation
    antecedent: f.Formula
    consequent: f.Formula
    other: Offering | None = None
    """The channel that a delegation or assignment moves the commitment to."""
    other_party: str | None = None
    """The third agent, or the other commitment."""

    OPERANDS = ("antecedent", "consequent")

    def _define(self) -> f.Formula:
        from cplc.logic.conditional_commitments import conditional_meaning

        return conditional_meaning(self)


@dataclass(frozen=True, slots=True)
class Binding:
    """One cause that binds a debtor to a creditor: the states where it binds, and the paths that keep it."""

    name: str
    """Name in the source: a commitment, a claim, an answer to a claim."""
    where: f.Formula
    """A state formula."""
    keeping: f.Formula
    """A path formula, evaluated where it binds."""


@dataclass(frozen=True, slots=True)
class SociallyCommits(f.Derived):
    """``SC(pair, operand)``, or ``SCc(pair, trigger, operand)``, defined by runs.

    Some cause binds, some fair run keeps all causes that bind, and every such run satisfies the operand.
    """

    pair: str
    """The debtor and the creditor in the syntax of formulas."""
    bindings: tuple[Binding, ...]
    """All causes that can bind the debtor to the creditor."""
    operand: f.Formula
    """A path formula."""
    trigger: f.Formula | None = None
    """Only paths on which this becomes true count."""

    def _define(self) -> f.Formula:
        return f.And((bound(self), some_path_keeps(self), all_keeping_paths_satisfy(self)))

    @property
    def parts(self) -> tuple[f.Formula, ...]:
        """The operand, the two formulas of each binding, and the trigger if there is one."""
        causes = (part for binding in self.bindings for part in (binding.where, binding.keeping))
        return (self.operand, *causes, *(() if self.trigger is None else (self.trigger,)))

    def with_parts(self, parts: tuple[f.Formula, ...]) -> SociallyCommits:
        operand, *causes = parts
        trigger = None if self.trigger is None else causes.pop()
        pairs = zip(self.bindings, causes[::2], causes[1::2], strict=True)
        bindings = tuple(replace(one, where=where, keeping=keeping) for one, where, keeping in pairs)
        return replace(self, bindings=bindings, operand=operand, trigger=trigger)


def bound(formula: SociallyCommits) -> f.Formula:
    """Return the condition that some cause binds the debtor."""
    places = tuple(binding.where for binding in formula.bindings)
    return places[0] if len(places) == 1 else f.Or(places)


def some_path_keeps(formula: SociallyCommits) -> f.Formula:
    """Return the formula: some fair run keeps all causes that bind here."""
    path = _counted(formula)
    return f.And((path, f.SOME_FAIR_RUN)) if f.is_state_formula(path) else f.OnPaths("E", path)


def all_keeping_paths_satisfy(formula: SociallyCommits) -> f.Formula:
    """Return the formula: every fair run that keeps all causes that bind here satisfies the operand."""
    path = f.Implies(_counted(formula), formula.operand)
    return f.Implies(f.SOME_FAIR_RUN, path) if f.is_state_formula(path) else f.OnPaths("A", path)


def _counted(formula: SociallyCommits) -> f.Formula:
    """Return the path formula of the runs that count: they keep all causes that bind, and the trigger occurs."""
    keeping = [binding_kept(binding) for binding in formula.bindings]
    if formula.trigger is not None:
        keeping.append(f.Finally(formula.trigger))
    return keeping[0] if len(keeping) == 1 else f.And(tuple(keeping))


def binding_kept(binding: Binding) -> f.Formula:
    """Return the path formula: the cause is kept if it binds where the path starts."""
    return f.Implies(binding.where, binding.keeping)


def expanded(formula: f.Formula) -> f.Formula:
    """Return the formula with every social commitment replaced by its definition."""
    operands = f.children(formula)
    parts = tuple(map(expanded, operands))
    rebuilt = formula if parts == operands else f.with_children(formula, parts)
    return rebuilt.definition if isinstance(rebuilt, SociallyCommits) else rebuilt
