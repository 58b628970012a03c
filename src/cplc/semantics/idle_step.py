"""The idle step in action formulas, the `α` of `E{α}`: it satisfies every `α` that does not name it."""

from __future__ import annotations

from cplc.semantics import terms as t
from cplc.semantics.terms import Term


def allows_idling(action: Term) -> bool:
    """Return whether the idle step satisfies a combination of `does(…)`."""
    match action:
        case t.Const(value):
            return value is True
        case t.Apply("!", (operand,)):
            return not allows_idling(operand)
        case t.Apply("&", operands):
            return all(map(allows_idling, operands))
        case t.Apply("|", operands):
            return any(map(allows_idling, operands))
        case t.Apply("->", (left, right)):
            return not allows_idling(left) or allows_idling(right)
        case t.Apply("<->", (left, right)):
            return allows_idling(left) == allows_idling(right)
        case t.Does(verb):
            return verb == "idle"
        case _:
            raise AssertionError(f"the checker lets no such action through: {action}")


def names_idle_step(action: Term) -> bool:
    """Return whether a combination of `does(…)` contains `does(idle)`."""
    match action:
        case t.Apply(_, operands):
            return any(map(names_idle_step, operands))
        case _:
            return action == t.Does("idle", "")
