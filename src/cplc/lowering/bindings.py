"""What binds a debtor to a creditor: for each thing that can, the states where it does and the runs that keep it.

A commitment binds while it is in force. A run keeps it that leaves it open until it is fulfilled, or open and on course
forever. Other ends do not keep it: neither a release by the creditor nor handing the promise on for good. Whoever is
delegated `retaining` keeps it for the debtor: until then it is pending, and therefore open and in force.

A claim binds its maker to its content, and whoever answered it to what the answer says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cplc.lowering import dialogue
from cplc.lowering.book import OPEN, former_of
from cplc.lowering.expressions import Reading, condition
from cplc.lowering.promises import in_force, on_course
from cplc.semantics.model import CheckedModel, Claim
from cplc.system import expr as e
from cplc.system import formula as f
from cplc.system.expr import Expr, Read, conj, disj, equal, negate
from cplc.system.formula import Atom, Binding, Formula
from cplc.system.model import System


def bindings(
    model: CheckedModel, system: System, debtor: str, creditor: str, *, conditional: bool = False
) -> tuple[Binding, ...]:
    """Return all that can bind the debtor to the creditor; what never does in this system is left out.

    With ``conditional`` a commitment binds while it is conditional, too.
    """
    pair = debtor, creditor
    names = (one.name for one in model.commitments if (one.debtor, one.creditor) == pair)
    found = [_offer(system, name) if conditional else _promise(system, name) for name in names]
    found += _claims(model, system, debtor, creditor)
    return tuple(binding for binding in found if binding.where != NEVER)


NEVER = Atom(e.FALSE, "false")


# --- commitments


def _promise(system: System, name: str) -> Binding:
    """Return how a commitment in force binds its debtor."""
    lasting = _atom(conj((_open(system, name), on_course(system, name))), f"open({name}) on course")
    return Binding(name, _in_force(system, name), _kept(system, name, lasting))


def _offer(system: System, name: str) -> Binding:
    """Return how a commitment that is conditional or in force binds its debtor.

    A conditional one is also kept by a run that never activates it, or on which it expires before it is in force.
    """
    conditional = _is_in(system, name, ("conditional",))
    where = _atom(disj((conditional, in_force(system, name))), f"conditional({name}) | {_in_force_text(system, name)}")
    idle = disj((negate(in_force(system, name)), on_course(system, name)))
    lasting = _atom(conj((_open(system, name), idle)), f"open({name}) and not in force, or on course")
    ended = _is_in(system, name, ("expired",))
    return Binding(name, where, _kept(system, name, lasting, ended))


def _kept(system: System, name: str, lasting: Atom, ended: Expr = e.FALSE) -> Formula:
    """Return which runs keep a commitment that is open: fulfilled in the end, or lasting forever."""
    fulfilled = disj((_is_in(system, name, ("fulfilled",)), ended))
    texts = [f"fulfilled({name})"] + ([f"expired({name})"] if ended != e.FALSE else [])
    goals: list[Formula] = [] if fulfilled == e.FALSE else [_atom(fulfilled, " | ".join(texts))]
    goals += [] if lasting == NEVER else [f.Globally(lasting)]
    if not goals:
        return NEVER
    goal = goals[0] if len(goals) == 1 else f.Or(tuple(goals))
    return f.Until(_atom(_open(system, name), f"open({name})"), goal)


def _in_force(system: System, name: str) -> Atom:
    return _atom(in_force(system, name), _in_force_text(system, name))


def _in_force_text(system: System, name: str) -> str:
    return f"active({name}) | pending({name})" if former_of(name) in system.variable else f"active({name})"


def _open(system: System, name: str) -> Expr:
    return _is_in(system, name, OPEN)


# --- claims


def _claims(model: CheckedModel, system: System, debtor: str, creditor: str) -> Iterator[Binding]:
    """Yield how the claims between the two bind the debtor, as their maker or by an answer."""
    reading = Reading(model, terminal=system.terminal)
    for claim in model.claims:
        content = condition(claim.content, reading)
        name = claim.name
        if (claim.maker, claim.addressee) == (debtor, creditor):
            yield _stands(system, name, dialogue.OWED, name, ("satisfied", content))
        elif (claim.addressee, claim.maker) == (debtor, creditor):
            yield _stands(system, name, ("accepted",), f"the acceptance of {name}", ("satisfied", content))
            yield _stands(system, name, ("refused",), f"the refusal of {name}", ("violated", negate(content)))
            yield from _attacks(model, system, claim)


def _stands(system: System, name: str, states: tuple[str, ...], what: str, content: tuple[str, Expr]) -> Binding:
    """Return how a claim binds in these states to a content: it stands until the content comes true, or is true."""
    standing = _claim_atom(system, name, dialogue.STANDING)
    end, so = content
    goal = _claim_atom(system, name, (end,))
    lasting = _atom(conj((standing.condition, so)), f"{standing.text} on course")
    goals: list[Formula] = [one for one in (goal,) if one != NEVER]
    goals += [] if lasting == NEVER else [f.Globally(lasting)]
    keeping = f.Until(standing, goals[0] if len(goals) == 1 else f.Or(tuple(goals))) if goals else NEVER
    return Binding(what, _claim_atom(system, name, states), keeping)


def _attacks(model: CheckedModel, system: System, claim: Claim) -> Iterator[Binding]:
    """Yield how an attack binds to its argument: what it is made with speaks against the claim."""
    operations = (operation for message in model.messages for operation in message.operations)
    attacks = [one for one in operations if (one.verb, one.commitment) == ("attack", claim.name)]
    reading = Reading(model, terminal=system.terminal)
    content = Atom(condition(claim.content, reading), f"content of {claim.name}")
    for target in dict.fromkeys(one.target for one in attacks if one.target is not None):
        argument = Atom(condition(model.claim[target].content, reading), f"content of {target}")
        where = _claim_atom(system, claim.name, ("attacked",))
        keeping = f.Next(f.Implies(argument, f.Not(content)))
        yield Binding(f"the attack on {claim.name} with {target}", where, keeping)


def _claim_atom(system: System, name: str, states: Iterable[str]) -> Atom:
    possible = [state for state in states if state in system.variable[name].domain]
    return _atom(_is_in(system, name, possible), " | ".join(f"{state}({name})" for state in possible))


# --- states


def _is_in(system: System, name: str, states: Iterable[str]) -> Expr:
    """Return when a commitment or claim is in one of these states, of those that it may ever be in."""
    declared = system.variable.get(name)
    possible = () if declared is None else tuple(state for state in states if state in declared.domain)
    return disj(equal(Read(name), e.Const(state)) for state in possible)


def _atom(expr: Expr, text: str) -> Atom:
    return NEVER if expr == e.FALSE else Atom(expr, text)
