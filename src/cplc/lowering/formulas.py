"""Translation of resolved formulas to formulas over the system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Channel, Commits, Fulfils, SociallyCommits
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.lowering.expressions import Interpretation, condition
from cplc.lowering.promises import bindings, conditional, promises
from cplc.lowering.term_text import action_text, atom_text
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Term
from cplc.system.model import System

if TYPE_CHECKING:
    from cplc.lowering.lifecycle_changes import Changes

OTHER_ACTIONS: Final = ("take", "send", "act", "tick", "idle")
"""The verbs of `does(...)` that the name of a step decides."""


def lower_formula(term: Term, model: CheckedModel, system: System, uniform: bool = False) -> Formula:
    """Return the formula over the system that the term means at a state.

    With ``uniform``, strategies depend on the observations of each agent, not on the whole state.
    """
    return _Lowering(model, system, uniform).formula(term)


def restricting_changes(term: Term) -> Iterator[t.Does]:
    """Yield the changes that every step of a run must make, or not make, by ``E{...}`` or ``A{...}``."""
    for part in t.subterms(term):
        if isinstance(part, t.OverPaths) and part.along is not None:
            for action in t.subterms(part.along):
                if isinstance(action, t.Does) and action.verb not in OTHER_ACTIONS:
                    yield action


class _Lowering:
    def __init__(self, model: CheckedModel, system: System, uniform: bool) -> None:
        self.model = model
        self.system = system
        self.uniform = uniform
        self.interpretation = Interpretation(model, terminal=system.terminal)

    def formula(self, term: Term) -> Formula:
        match term:
            case t.Apply("!", (operand,)):
                return f.negation(self.formula(operand))
            case t.Apply("&", operands):
                return _joined(f.And, [self.formula(operand) for operand in operands], "true")
            case t.Apply("|", operands):
                return _joined(f.Or, [self.formula(operand) for operand in operands], "false")
            case t.Apply("->", (left, right)):
                return f.Implies(self.formula(left), self.formula(right))
            case t.Apply("<->", (left, right)):
                return f.Iff(self.formula(left), self.formula(right))
            case t.OverPaths(quantifier, path, along, True):
                return self._paths(quantifier, path, along)
            case t.OverPaths(quantifier, path, along):
                return self._paths_of_moves(quantifier, path, along)
            case t.Does("idle"):
                return f.Not(self._moves)
            case t.Does(verb) if verb not in OTHER_ACTIONS:
                return self._change(term)
            case t.Does():
                return f.Taken(self._steps(term), action_text(term))
            case t.Social("SC" | "SCc"):
                return self._social(term)
            case t.Social("C", _, _, body):
                return Commits(self._channel(term), self.formula(body))
            case t.Social("Fu", _, _, body):
                return Fulfils(self._channel(term), self.formula(body))
            case t.Conditional(_, _, _, antecedent, consequent):
                return conditional(term, self.model, self.system, self.formula(antecedent), self.formula(consequent))
            case t.Knowledge(modality, group, body):
                mode = {"K": "each", "EK": "each", "DK": "together", "CK": "common"}[modality]
                return f.Knows(mode, group, self.formula(body))  # type: ignore[arg-type]
            case t.Strategic(group, goal):
                aim = self.formula(goal)
                assert isinstance(aim, f.Next | f.Finally | f.Globally | f.Until), "the checker lets no other through"
                return f.Enforces(group, aim, self.uniform)
            case t.Apply():
                return self._temporal(term) or f.Atom(condition(term, self.interpretation), atom_text(term))
            case _:
                return f.Atom(condition(term, self.interpretation), atom_text(term))

    def _temporal(self, term: t.Apply) -> Formula | None:
        """Return the path formula of a temporal operator; None for other operators."""
        match term:
            case t.Apply(op, operands, bound, in_ticks, low) if op in f.PATH_OPERATORS:
                bounds = () if bound is None else (f.Bound(bound, low, self._ticks if in_ticks else None),)
                return f.PATH_OPERATORS[op](*map(self.formula, operands), *bounds)
            case t.Apply("therefore", (left, right)):
                argument = self.formula(left)
                return _joined(f.And, [argument, f.Next(f.Implies(argument, self.formula(right)))], "true")
            case _:
                return None

    def _paths(self, quantifier: Literal["A", "E"], path: Term, along: Term | None) -> Formula:
        """Quantify over paths. A state formula only needs a fair path from its state.

        Justice can be satisfied from every state along any steps. Only conditions of ``fairness`` can leave a state
        without a fair path.
        """
        allowed = None if along is None else f.Taken(self._steps(along), action_text(along))
        path_formula = self.formula(path)
        if not f.is_state_formula(path_formula):
            return f.OnPaths(quantifier, path_formula, allowed)
        if not self.system.may_lack_fair_runs:
            return path_formula
        ever = f.OnPaths("E", f.Globally(f.Atom(e.TRUE, "true")), allowed)
        match quantifier, path:
            case ("E", t.Const(False)) | ("A", t.Const(True)):
                return path_formula
            case ("E", t.Const(True)):
                return ever
            case ("E", _):
                return _joined(f.And, [path_formula, ever], "true")
            case _:
                return f.Implies(ever, path_formula)

    def _paths_of_moves(self, quantifier: Literal["A", "E"], path: Term, along: Term | None) -> Formula:
        """Quantify over paths that never idle. Engines allow idling on every path, so the path formula excludes it."""
        assert along is not None, "only a restriction of steps excludes the idle step"
        allowed = f.Taken(self._steps(along), action_text(along))
        path_formula, moving = self.formula(path), f.Globally(self._moves)
        restricted = f.And((path_formula, moving)) if quantifier == "E" else f.Implies(moving, path_formula)
        return f.OnPaths(quantifier, restricted, allowed, may_idle=False)

    # --- steps

    @cached_property
    def _moves(self) -> f.Taken:
        return f.Taken(self._every_step, f.MOVES)

    @cached_property
    def _ticks(self) -> f.Taken:
        tick = t.Does("tick", "")
        return f.Taken(self._steps(tick), action_text(tick))

    def _steps(self, term: Term) -> frozenset[str]:
        """Return the steps that satisfy a combination of `does(…)`."""
        match term:
            case t.Const(value):
                return self._every_step if value is True else frozenset()
            case t.Apply("!", (operand,)):
                return self._every_step - self._steps(operand)
            case t.Apply("&", operands):
                return self._every_step.intersection(*map(self._steps, operands))
            case t.Apply("|", operands):
                return frozenset().union(*map(self._steps, operands))
            case t.Apply("->", (left, right)):
                return (self._every_step - self._steps(left)) | self._steps(right)
            case t.Apply("<->", (left, right)):
                return self._every_step - (self._steps(left) ^ self._steps(right))
            case t.Does("take", message):
                return self._effects.get(message, frozenset())
            case t.Does("send", message):
                return self._sendings.get(message, frozenset())
            case t.Does("act", role):
                return self._acts.get(role, frozenset())
            case t.Does("idle"):
                return frozenset()
            case t.Does("tick"):
                return frozenset(step.name for step in self.system.steps if step.kind == "tick")
            case t.Does():
                made = {step.name: self._changes.when(step, term) for step in self.system.steps}
                assert all(e.is_true(when) or e.is_false(when) for when in made.values()), "the steps are not divided"
                return frozenset(name for name, when in made.items() if e.is_true(when))
            case _:
                raise AssertionError(f"the checker lets no such action through: {term}")

    def _change(self, term: t.Does) -> Formula:
        """Return the formula that the next step makes a change: a step from a state where it makes the change."""
        steps: dict[Expr, list[str]] = {}
        for step in self.system.steps:
            when = self._changes.when(step, term)
            if not e.is_false(when):
                steps.setdefault(when, []).append(step.name)
        text = action_text(term)
        if steps.keys() <= {e.TRUE}:
            return f.Taken(frozenset(steps.get(e.TRUE, ())), text)
        alternatives: list[Formula] = []
        for when, names in steps.items():
            taken = f.Taken(frozenset(names), text)
            alternatives.append(
                taken if e.is_true(when) else f.And((f.Atom(when, f"{text} is possible", in_words=True), taken))
            )
        return f.Shorthand(_joined(f.Or, alternatives, "false"), text)

    @cached_property
    def _changes(self) -> Changes:
        from cplc.lowering.lifecycle_changes import Changes

        return Changes(self.model)

    @cached_property
    def _every_step(self) -> frozenset[str]:
        return frozenset(step.name for step in self.system.steps)

    @cached_property
    def _effects(self) -> dict[str, frozenset[str]]:
        """The steps in which each message takes effect."""
        return _grouped((s.event, s.name) for s in self.system.steps if s.is_effect)

    @cached_property
    def _sendings(self) -> dict[str, frozenset[str]]:
        return _grouped((s.event, s.name) for s in self.system.steps if s.kind in ("send", "exchange"))

    @cached_property
    def _acts(self) -> dict[str, frozenset[str]]:
        """The sends and receipts of each role; an exchange belongs to the sender."""
        return _grouped((s.actor, s.name) for s in self.system.steps if s.kind in ("send", "receive", "exchange"))

    # --- commitments

    def _channel(self, term: t.Social) -> Channel:
        """Return the channel of the promises from debtor to creditor, or of the one named."""
        if term.commitment is not None:
            return promises(self.system, term.commitment, (term.commitment,))
        names = (c.name for c in self.model.commitments if c.is_promised(term.debtor, term.creditor))
        return promises(self.system, f"{term.debtor} -> {term.creditor}", names)

    def _social(self, term: t.Social) -> Formula:
        """Return the formula of a social commitment over all bindings of the debtor to the creditor."""
        conditional = term.modality == "SCc"
        binding = bindings(self.model, self.system, term.debtor, term.creditor, conditional=conditional)
        trigger = None if term.trigger is None else self.formula(term.trigger)
        return SociallyCommits(f"{term.debtor} -> {term.creditor}", binding, self.formula(term.body), trigger)


def _joined(kind: type[f.And] | type[f.Or], operands: Iterable[Formula], empty: str) -> Formula:
    """Return the conjunction or disjunction, with nested operands of the same kind flattened."""
    flat: list[Formula] = []
    for operand in operands:
        flat.extend(operand.operands if isinstance(operand, kind) else [operand])
    if not flat:
        return f.Atom(e.Const(empty == "true"), empty)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, set()).add(value)
    return {key: frozenset(values) for key, values in groups.items()}
