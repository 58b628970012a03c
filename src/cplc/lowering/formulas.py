"""From resolved formulas to formulas over the system."""

from __future__ import annotations

from cplc.lowering import dialogue
from cplc.lowering.expressions import Reading, condition
from cplc.lowering.lifecycle import OPEN
from cplc.lowering.text import atom_text
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Term
from cplc.system import expr as e
from cplc.system import formula as f
from cplc.system.formula import Formula
from cplc.system.model import System

_EVER = f.OnPaths("E", f.Globally(f.Atom(e.TRUE, "true")))
"""Some fair run starts here."""


def lower_formula(term: Term, model: CheckedModel, system: System) -> Formula:
    """Return the formula over the system that the term means at a state."""
    return _Lowering(model, system).state(term)


class _Lowering:
    def __init__(self, model: CheckedModel, system: System) -> None:
        self.model = model
        self.system = system
        self.reading = Reading(model, terminal=system.terminal)

    def state(self, term: Term) -> Formula:
        match term:
            case t.Apply("!", (operand,)):
                return f.Not(self.state(operand))
            case t.Apply("&", operands):
                return _joined(f.And, [self.state(operand) for operand in operands], "true")
            case t.Apply("|", operands):
                return _joined(f.Or, [self.state(operand) for operand in operands], "false")
            case t.Apply("->", (left, right)):
                return f.Implies(self.state(left), self.state(right))
            case t.Apply("<->", (left, right)):
                return f.Iff(self.state(left), self.state(right))
            case t.OverPaths(quantifier, path, None):
                return self._paths(quantifier, path)
            case t.Social("SC", debtor, creditor, body):
                return f.And((self._owing(debtor, creditor), self._paths("E", body)))
            case t.Social("C", debtor, creditor, body):
                return f.Commits(debtor, creditor, self.state(body))
            case t.Social("Fu", debtor, creditor, body):
                return f.Fulfils(debtor, creditor, self.state(body))
            case t.Knowledge(modality, group, body):
                mode = {"K": "each", "EK": "each", "DK": "together", "CK": "common"}[modality]
                return f.Knows(mode, group, self.state(body))  # type: ignore[arg-type]
            case t.Does() | t.Strategic() | t.OverPaths():
                raise AssertionError(f"the checker lets no such formula through: {term}")
            case _:
                return f.Atom(condition(term, self.reading), atom_text(term))

    def _paths(self, quantifier: str, path: Term) -> Formula:
        chosen = self._path(path)
        if chosen is not None:
            return f.OnPaths("A" if quantifier == "A" else "E", chosen)
        here = self.state(path)
        if not self.system.fairness:
            return here
        return f.And((here, _EVER)) if quantifier == "E" else f.Implies(_EVER, here)

    def _path(self, term: Term) -> f.Path | None:
        match term:
            case t.Apply("X", (operand,)):
                return f.Next(self.state(operand))
            case t.Apply("F", (operand,), bound):
                return f.Finally(self.state(operand), bound)
            case t.Apply("G", (operand,), bound):
                return f.Globally(self.state(operand), bound)
            case t.Apply("U", (left, right), bound):
                return f.Until(self.state(left), self.state(right), bound)
            case t.Apply("W", (left, right)):
                return f.WeakUntil(self.state(left), self.state(right))
            case t.Apply("R", (left, right)):
                return f.Release(self.state(left), self.state(right))
            case _:
                return None

    def _owing(self, debtor: str, creditor: str) -> Formula:
        """Some commitment from debtor to creditor is open, or one of them made a claim to the other that binds it."""
        pair = debtor, creditor
        states = [t.InState(c.name, frozenset(OPEN)) for c in self.model.commitments if (c.debtor, c.creditor) == pair]
        for claim in self.model.claims:
            if (claim.maker, claim.addressee) == pair:
                states += [t.InState(claim.name, frozenset({state})) for state in dialogue.OWED]
            elif (claim.addressee, claim.maker) == pair:
                states += [t.InState(claim.name, frozenset({state})) for state in dialogue.ANSWERED]
        return _joined(f.Or, [self.state(state) for state in states], "false")


def _joined(kind: type[f.And] | type[f.Or], operands: list[Formula], empty: str) -> Formula:
    if not operands:
        return f.Atom(e.Const(empty == "true"), empty)
    return operands[0] if len(operands) == 1 else kind(tuple(operands))
