"""Resolved terms as the user would write them."""

from __future__ import annotations

from cplc.language.lifecycle import CLAIM_CLOSED, CLOSED, JOINED, OPEN
from cplc.logic.expressions import value_text
from cplc.semantics import terms as t


def atom_text(term: t.Term) -> str:
    """Return the text of a term without temporal operators."""
    match term:
        case t.Const(value):
            return value_text(value)
        case t.Happened(name) | t.FactRef(name) | t.Var(name) | t.Own(name):
            return name
        case t.Sent(message):
            return f"sent({message})"
        case t.InFlight(message):
            return f"inflight({message})"
        case t.Field(message, parameter):
            return f"{message}.{parameter}"
        case t.InState(commitment, states, view):
            subject = commitment if view is None else f"{commitment}@{view}"
            if states == frozenset(OPEN):
                return f"open({subject})"
            if states in (frozenset(CLOSED), frozenset(CLAIM_CLOSED)):
                return f"closed({subject})"
            return " | ".join(f"{state}({subject})" for state in sorted(states))
        case t.Stands(commitment, standings, view):
            subject = commitment if view is None else f"{commitment}@{view}"
            return " | ".join(f"{standing}({subject})" for standing in sorted(standings))
        case t.Age(commitment):
            return f"age({commitment})"
        case t.Terminal():
            return "terminal"
        case t.Apply("-", (operand,)):
            return f"-{_inner(operand)}"
        case t.Apply(op, (left, right)):
            return f"{_inner(left)} {op} {_inner(right)}"
        case t.Apply("!", (operand,)):
            return f"!{_inner(operand)}"
        case t.Apply(op, operands):
            return f" {op} ".join(_inner(operand) for operand in operands)
        case _:
            raise AssertionError(f"not an atom: {term}")


def action_text(term: t.Term) -> str:
    """Return the text of a combination of `does(…)`."""
    match term:
        case t.Does(("tick" | "idle") as verb, ""):
            return f"does({verb})"
        case t.Does("take" | "act", subject):
            return f"does({subject})"
        case t.Does(verb, subject, other, by_message):
            joined = "" if other is None else f" {JOINED[verb]} {other}"
            return f"does({'message ' if by_message else ''}{verb} {subject}{joined})"
        case t.Apply("!", (operand,)):
            return f"!{_inner_action(operand)}"
        case t.Apply(op, operands):
            return f" {op} ".join(map(_inner_action, operands))
        case _:
            return atom_text(term)


def content_text(term: t.Term) -> str:
    """Return the text of a content about runs."""
    match term:
        case t.Does():
            return action_text(term)
        case t.Apply("F" | "G" as op, (operand,)):
            return f"{op}{_bound(term)} {_inner_content(operand)}"
        case t.Apply("U" | "W" | "R" | "M" as op, (left, right)):
            return f"{_inner_content(left)} {op}{_bound(term)} {_inner_content(right)}"
        case t.Apply("!", (operand,)) if t.is_about_runs(term):
            return f"!{_inner_content(operand)}"
        case t.Apply("&" | "|" | "->" | "<->" as op, operands) if t.is_about_runs(term):
            return f" {op} ".join(map(_inner_content, operands))
        case _:
            return atom_text(term)


def _bound(term: t.Apply) -> str:
    unit = " ticks" if term.in_ticks else ""
    if term.low:
        return f"[{term.low}..{term.bound}]{unit}"
    return "" if term.bound is None else f"<={term.bound}{unit}"


def _inner_content(term: t.Term) -> str:
    text = content_text(term)
    return f"({text})" if isinstance(term, t.Apply) and len(term.operands) > 1 else text


def _inner_action(term: t.Term) -> str:
    text = action_text(term)
    return f"({text})" if isinstance(term, t.Apply) and len(term.operands) > 1 else text


def _inner(term: t.Term) -> str:
    text = atom_text(term)
    return f"({text})" if isinstance(term, t.Apply) and len(term.operands) > 1 else text
