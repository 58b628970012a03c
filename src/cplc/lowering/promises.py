"""The channel of promises: promised and kept commitments, as conditions over the variables of `Env`.

A commitment is *in force* while it is active, or pending and was active before. It is *on course* while it is open and
its content holds if nothing more ever happens; a state condition is never on course. It is *owed* while it is in force
and not on course. It is *promised* while it is in force, and once it is fulfilled. It is *kept* once it is fulfilled,
and while it is in force and on course.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cplc.language.lifecycle import CLAIM_OPEN, OPEN, STANDING_OF
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Binding, Channel, Conditional, Offer, Offering, Operation
from cplc.logic.expressions import FALSE, Const, Expr, Read, conj, disj, equal, negate
from cplc.logic.formulas import Atom, Formula
from cplc.lowering.lifecycle_analysis import last_moves, mover
from cplc.lowering.variable_names import follows_variable, former_variable
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import is_about_runs
from cplc.system.commitments import Debt, argument_of, last_move_of, standing_of
from cplc.system.model import System


def in_force(system: System, commitment: str) -> Expr:
    """Return the condition that a commitment is active, or pending and was active before."""
    waiting = conj((is_in(system, commitment, "pending"), is_in(system, former_variable(commitment), "active")))
    return disj((is_in(system, commitment, "active"), waiting))


def on_course(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is open and its content holds if nothing more ever happens."""
    return system.commitment[commitment].on_course


def offered(system: System, commitment: str) -> Expr:
    """Return the condition that a commitment is conditional, or pending and was conditional before."""
    waiting = conj((is_in(system, commitment, "pending"), is_in(system, former_variable(commitment), "conditional")))
    return disj((is_in(system, commitment, "conditional"), waiting))


def owed(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is in force and not on course."""
    return conj((in_force(system, commitment), negate(on_course(system, commitment))))


def kept(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is fulfilled, or in force and on course."""
    lasting = conj((in_force(system, commitment), on_course(system, commitment)))
    return disj((is_in(system, commitment, "fulfilled"), lasting))


def promised(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is in force or kept."""
    return disj((in_force(system, commitment), kept(system, commitment)))


def promises(system: System, name: str, commitments: Iterable[str]) -> Channel:
    """Return the channel of these commitments: each has an end for `promised` and an end for `kept`."""
    names = tuple(commitments)
    ends = {commitment: (promised(system, commitment), kept(system, commitment)) for commitment in names}
    ever = tuple(debtors for debtors, _ in ends.values() if not isinstance(debtors, Const))
    # `kept` implies `promised`, so the ends differ only where a commitment is promised and not kept.
    caught_up = conj(disj((negate(debtors), creditors)) for debtors, creditors in ends.values())
    return Channel(name, ever, disj(ever), caught_up)


def is_in(system: System, variable: str, state: str) -> Expr:
    """Return the condition that a variable has a value; false if the variable or the value does not exist."""
    declared = system.variable.get(variable)
    if declared is None or state not in declared.domain:
        return Const(False)
    return equal(Read(variable), Const(state))


def debts_of(system: System) -> dict[str, Debt]:
    """Return when each commitment is owed, suspended, or waits for another one."""
    return {commitment.name: _debt(system, commitment.name) for commitment in system.commitments}


def _debt(system: System, name: str) -> Debt:
    waiting = system.variable.get(follows_variable(name))
    targets = () if waiting is None else tuple(str(value) for value in waiting.domain if value != "none")
    follows = Read(follows_variable(name))
    pending = equal(Read(name), Const("pending")) if "pending" in system.variable[name].domain else FALSE
    suspended = pending if waiting is None else conj((pending, equal(follows, Const("none"))))
    waits_for = tuple((target, conj((pending, equal(follows, Const(target))))) for target in targets)
    return Debt(owed(system, name), in_force(system, name), suspended, waits_for)


_CLOSED: dict[Operation, str] = {"CaS": "withdrawn", "ReS": "released", "DeS": "delegated", "AsS": "assigned"}
"""The state in which the action leaves the commitment."""


def conditional(
    term: t.Conditional, model: CheckedModel, system: System, antecedent: Formula, consequent: Formula
) -> Conditional:
    """Return the modality over the system, of an antecedent and a consequent over it."""
    channel = _offering(term.between, model, system, term.modality)
    if term.other is None:
        return Conditional(channel, term.modality, antecedent, consequent)
    other = _offering(term.other, model, system, "SCC")
    handed_over_by_debtor = term.modality == "DeS"
    party = term.other.commitment or (term.other.debtor if handed_over_by_debtor else term.other.creditor)
    return Conditional(channel, term.modality, antecedent, consequent, other, party)


def _offering(between: t.Between, model: CheckedModel, system: System, operation: Operation) -> Offering:
    name, names = channel_of(between, model)
    offers = (_offer(system, commitment, operation) for commitment in names)
    possible = tuple(offer for offer in offers if offer.offered != FALSE or offer.ended != FALSE)
    return Offering(promises(system, name, names), possible)


def channel_of(between: t.Between, model: CheckedModel) -> tuple[str, tuple[str, ...]]:
    """Return the name of the channel and its commitments."""
    if between.commitment is not None:
        return between.commitment, (between.commitment,)
    names = (c.name for c in model.commitments if c.is_promised(between.debtor, between.creditor))
    return f"{between.debtor} -> {between.creditor}", tuple(names)


def _offer(system: System, commitment: str, operation: Operation) -> Offer:
    ended = is_in(system, commitment, _CLOSED[operation]) if operation in _CLOSED else FALSE
    return Offer(
        commitment,
        offered(system, commitment),
        promised(system, commitment),
        kept(system, commitment),
        ended,
    )


# --- Social commitments (`SC`): the commitments, claims and arguments that bind a debtor to a creditor
#
# A binding has a condition (the states where it binds) and a formula (the runs that keep it).
#
# A commitment binds while it is in force. A run keeps it if it stays open until it is fulfilled, or is open and on
# course forever. No other end keeps it: neither a release by the creditor nor a delegation or assignment for good. A
# successor by `retaining` keeps it for the debtor: until then the commitment is pending, therefore open and in force.
#
# An open claim binds its maker to its content, a side that accepted it to the same, and a side that refused it to the
# contrary. An argument binds the side that makes it: its claim implies the content it is about, or the contrary. The
# last move of a side binds it until its next move on the same subject, or until that closes. No move of the other
# side takes it back.


def bindings(
    model: CheckedModel, system: System, debtor: str, creditor: str, *, conditional: bool = False
) -> tuple[Binding, ...]:
    """Return the possible bindings of the debtor to the creditor, except those that bind in no state of this system.

    With ``conditional`` a commitment binds while it is conditional, too.
    """
    names = (one.name for one in model.commitments if one.is_promised(debtor, creditor))
    candidates = [_offer_binding(system, name) if conditional else _commitment_binding(system, name) for name in names]
    candidates += _claim_bindings(model, system, debtor, creditor)
    return tuple(binding for binding in candidates if binding.where != NEVER)


NEVER = Atom(e.FALSE, "false")


# --- commitments


def _commitment_binding(system: System, name: str) -> Binding:
    """Return the binding of a commitment in force."""
    lasting = _atom(
        conj((_open(system, name), on_course(system, name))), f"{name} is open and on course", in_words=True
    )
    return Binding(name, _in_force(system, name), _keeping(system, name, lasting))


def _offer_binding(system: System, name: str) -> Binding:
    """Return the binding of a commitment that is conditional or in force.

    A conditional one is also kept by a run that never activates it, or on which it expires before it is in force.
    """
    conditional = _is_in(system, name, ("conditional",))
    offered = disj((conditional, in_force(system, name)))
    plain = f"conditional({name}) | active({name})"
    where = (
        _atom(offered, f"{name} is conditional or in force", in_words=True)
        if _may_be_pending(system, name)
        else _atom(offered, plain)
    )
    idle = disj((negate(in_force(system, name)), on_course(system, name)))
    lasting = _atom(conj((_open(system, name), idle)), f"{name} is open, and on course or not in force", in_words=True)
    ended = _is_in(system, name, ("expired",))
    return Binding(name, where, _keeping(system, name, lasting, ended))


def _keeping(system: System, name: str, lasting: Atom, ended: Expr = e.FALSE) -> Formula:
    """Return the formula of runs that keep an open commitment: fulfilled eventually, or lasting forever."""
    fulfilled = disj((_is_in(system, name, ("fulfilled",)), ended))
    texts = [f"fulfilled({name})"] + ([f"expired({name})"] if ended != e.FALSE else [])
    goals: list[Formula] = [] if fulfilled == e.FALSE else [_atom(fulfilled, " | ".join(texts))]
    goals += [] if lasting == NEVER else [f.Globally(lasting)]
    if not goals:
        return NEVER
    goal = goals[0] if len(goals) == 1 else f.Or(tuple(goals))
    return f.Until(_atom(_open(system, name), f"open({name})"), goal)


def _in_force(system: System, name: str) -> Atom:
    if _may_be_pending(system, name):
        return _atom(in_force(system, name), f"{name} is in force", in_words=True)
    return _atom(in_force(system, name), f"active({name})")


def _may_be_pending(system: System, name: str) -> bool:
    """Return whether it can be in force while pending, which no formula of the language expresses."""
    return former_variable(name) in system.variable


def _open(system: System, name: str) -> Expr:
    return _is_in(system, name, OPEN)


# --- claims


def _claim_bindings(model: CheckedModel, system: System, debtor: str, creditor: str) -> Iterator[Binding]:
    """Yield the bindings by claims: of their maker, by an answer, and by arguments with them."""
    for claim in model.claims:
        name = claim.name
        if (claim.maker, claim.addressee) == (debtor, creditor):
            yield _claim_binding(system, name, _open_claim(system, name), name, so=True)
        elif (claim.addressee, claim.maker) == (debtor, creditor):
            yield _claim_binding(
                system, name, _last_move(model, system, name, "accept"), f"the acceptance of {name}", so=True
            )
            yield _claim_binding(
                system, name, _last_move(model, system, name, "refuse"), f"the refusal of {name}", so=False
            )
    yield from _argument_bindings(model, system, debtor, creditor)


def _claim_binding(system: System, name: str, where: Atom, what: str, *, so: bool) -> Binding:
    """Return the binding to the content of a claim (``so``) or to its contrary: open until that is decided."""
    is_open, on_course = _open_claim(system, name), system.claim[name].on_course
    end = "satisfied" if so else "violated"
    goal = _atom(_is_in(system, name, (end,)), f"{end}({name})")
    text = f"{name} is open and {'' if so else 'not '}on course"
    lasting = _atom(conj((is_open.condition, on_course if so else negate(on_course))), text, in_words=True)
    goals: list[Formula] = [one for one in (goal,) if one != NEVER]
    goals += [] if lasting == NEVER else [f.Globally(lasting)]
    keeping = f.Until(is_open, goals[0] if len(goals) == 1 else f.Or(tuple(goals))) if goals else NEVER
    return Binding(what, where, keeping)


def _argument_bindings(model: CheckedModel, system: System, debtor: str, creditor: str) -> Iterator[Binding]:
    """Yield the bindings by arguments: the claim used implies the content that it is about, or the contrary."""
    operations = (operation for message in model.messages for operation in message.operations)
    made = {(one.verb, one.commitment, one.target): None for one in operations if one.target in model.claim}
    for verb, name, target in made:
        assert target is not None
        maker = model.parties[name][verb == "attack"]
        if (maker, model.parties[name][verb != "attack"]) != (debtor, creditor):
            continue
        content = _content(model, system, name)
        contrary = f.Not(content) if verb == "attack" else content
        argument = _content(model, system, target)
        where = _last_move(model, system, name, verb, target)
        keeping = f.Next(f.Implies(argument, contrary))
        word = {"attack": "attack on", "justify": "justification of", "defend": "defence of"}[verb]
        yield Binding(f"the {word} {name} with {target}", where, keeping)


def _content(model: CheckedModel, system: System, name: str) -> Formula:
    """Return the content of a claim, or the goal of a commitment, as a formula about runs."""
    from cplc.lowering.formulas import lower_formula

    if name in model.claim:
        return lower_formula(model.claim[name].content, model, system)
    consequent = model.commitment[name].consequent
    fulfilling_state = lower_formula(consequent, model, system)
    return fulfilling_state if is_about_runs(consequent) else f.Finally(fulfilling_state)


def _open_claim(system: System, name: str) -> Atom:
    return _atom(_is_in(system, name, CLAIM_OPEN), f"open({name})")


def _last_move(model: CheckedModel, system: System, name: str, verb: str, target: str | None = None) -> Atom:
    """Return the states where this was the last move of its side on an open subject, with the claim ``target``."""
    standing, side = STANDING_OF[verb], mover(model, name, verb)
    remembered = last_moves(model, name).get(side, {})
    if remembered:
        value = remembered.get((verb, target))
        last = Read(last_move_of(name, side))
        return (
            NEVER if value is None else _atom(equal(last, e.Const(value)), f"{side} {standing} {name}", in_words=True)
        )
    conditions = [_is_in(system, standing_of(name), (standing,))]
    if target is not None and argument_of(name) in system.variable:
        conditions.append(_is_in(system, argument_of(name), (target,)))
    if len(conditions) > 1:
        return _atom(conj(conditions), f"{name} is {standing} with {target}", in_words=True)
    return _atom(conj(conditions), f"{standing}({name})")


# --- states


def _is_in(system: System, name: str, states: Iterable[str]) -> Expr:
    """Return the condition that a commitment or claim is in one of these states, restricted to its domain."""
    declared = system.variable.get(name)
    possible = () if declared is None else tuple(state for state in states if state in declared.domain)
    return disj(equal(Read(name), e.Const(state)) for state in possible)


def _atom(expr: Expr, text: str, *, in_words: bool = False) -> Atom:
    return NEVER if expr == e.FALSE else Atom(expr, text, in_words)
