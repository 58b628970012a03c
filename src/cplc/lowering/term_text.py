"""Resolved terms as the user would write them."""

from __future__ import annotations

from cplc.language.lifecycle import CLAIM_CLOSED, CLOSED, JOINED, OPEN
from cplc.semantics.terms import (
    Age,
    Apply,
    Const,
    Does,
    FactRef,
    Field,
    Happened,
    InFlight,
    InState,
    Own,
    Sent,
    Stands,
    Term,
    Terminal,
    Var,
    is_about_runs,
)


def atom_text(term: Term) -> str:
    """Return the text of a term without temporal operators."""
    match term:
        case Const(value):
            return str(value).lower() if isinstance(value, bool) else str(value)
        case Happened(name) | FactRef(name) | Var(name) | Own(name):
            return name
        case Sent(message):
            return f"sent({message})"
        case InFlight(message):
            return f"inflight({message})"
        case Field(message, parameter):
            return f"{message}.{parameter}"
        case InState(commitment, states, view):
            subject = commitment if view is None else f"{commitment}@{view}"
            if states == frozenset(OPEN):
                return f"open({subject})"
            if states in (frozenset(CLOSED), frozenset(CLAIM_CLOSED)):
                return f"closed({subject})"
            return " | ".join(f"{state}({subject})" for state in sorted(states))
        case Stands(commitment, standings, view):
            subject = commitment if view is None else f"{commitment}@{view}"
            return " | ".join(f"{standing}({subject})" for standing in sorted(standings))
        case Age(commitment):
            return f"age({commitment})"
        case Terminal():
            return "terminal"
        case Apply("-", (operand,)):
            return f"-{_inner(operand)}"
        case Apply(op, (left, right)):
            return f"{_inner(left)} {op} {_inner(right)}"
        case Apply("!", (operand,)):
            return f"!{_inner(operand)}"
        case Apply(op, operands):
            return f" {op} ".join(_inner(operand) for operand in operands)
        case _:
            raise AssertionError(f"not an atom: {term}")


def action_text(term: Term) -> str:
    """Return the text of a combination of `does(…)`."""
    match term:
        case Does(("tick" | "idle") as verb, ""):
            return f"does({verb})"
        case Does("take" | "act", subject):
            return f"does({subject})"
        case Does(verb, subject, other, by_message):
            joined = "" if other is None else f" {JOINED[verb]} {other}"
            return f"does({'message ' if by_message else ''}{verb} {subject}{joined})"
        case Apply("!", (operand,)):
            return f"!{_inner_action(operand)}"
        case Apply(op, operands):
            return f" {op} ".join(map(_inner_action, operands))
        case _:
            return atom_text(term)


def content_text(term: Term) -> str:
    """Return the text of a content about runs."""
    match term:
        case Does():
            return action_text(term)
        case Apply("F" | "G" as op, (operand,)):
            return f"{op}{_bound(term)} {_inner_content(operand)}"
        case Apply("U" | "W" | "R" | "M" as op, (left, right)):
            return f"{_inner_content(left)} {op}{_bound(term)} {_inner_content(right)}"
        case Apply("!", (operand,)) if is_about_runs(term):
            return f"!{_inner_content(operand)}"
        case Apply("&" | "|" | "->" | "<->" as op, operands) if is_about_runs(term):
            return f" {op} ".join(map(_inner_content, operands))
        case _:
            return atom_text(term)


def _bound(term: Apply) -> str:
    unit = " ticks" if term.in_ticks else ""
    if term.low:
        return f"[{term.low}..{term.bound}]{unit}"
    return "" if term.bound is None else f"<={term.bound}{unit}"


def _inner_content(term: Term) -> str:
    text = content_text(term)
    return f"({text})" if isinstance(term, Apply) and len(term.operands) > 1 else text


def _inner_action(term: Term) -> str:
    text = action_text(term)
    return f"({text})" if isinstance(term, Apply) and len(term.operands) > 1 else text


def _inner(term: Term) -> str:
    text = atom_text(term)
    return f"({text})" if isinstance(term, Apply) and len(term.operands) > 1 else text
