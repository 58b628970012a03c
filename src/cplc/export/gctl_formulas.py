"""Formula translation to GCTL* of the Concurrency Workbench.

A state of the system is a state of the processes in which the lock is free, called *settled*: ``idle`` is enabled in
settled states only. Path formulas are relativised to the settled states of a path. An aborted step, or a self-loop of a
cell, returns to its source and represents an idle step. A path with finitely many settled states reads cells forever
within one step; path quantifiers exclude it.

Fairness is a premise within each quantifier that depends on it. A step is enabled in a settled state if some path takes
it before the next settled state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, assert_never

from cplc.export.ccs_expressions import Vocabulary
from cplc.export.prism_formulas import without_nested_quantifiers
from cplc.export.request import NotExpressible
from cplc.export.smv_formulas import construct_name
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Justice

_MAX_FORMULA_LENGTH: Final = 200_000
"""Maximum length of a formula in characters: bounds are expanded."""


@dataclass(frozen=True, slots=True)
class Gctl:
    vocabulary: Vocabulary
    justice: tuple[Justice, ...]
    """Justice constraints on fair runs, besides the fairness of the file."""
    depends_on_fairness: Callable[[Formula], bool]
    """Tells whether the truth of a quantified formula depends on fairness."""

    def text(self, formula: Formula) -> str:
        """Return a state formula, closed; raise `NotExpressible`."""
        match formula:
            case f.Atom(condition):
                return self.vocabulary.condition(condition)
            case f.OnPaths(quantifier, path, along):
                link = "->" if quantifier == "A" else "/\\"
                fair = self._fair_runs(formula, along)
                return _checked_length(f"({quantifier} ({fair} {link} {self._path(path, True)}))")
            case f.Not(operand):
                return f"(not {self.text(operand)})"
            case f.And(operands):
                return _joined(" /\\ ", map(self.text, operands), "tt")
            case f.Or(operands):
                return _joined(" \\/ ", map(self.text, operands), "ff")
            case f.Implies(left, right):
                return _checked_length(f"({self.text(left)} -> {self.text(right)})")
            case f.Iff(left, right):
                one, other = self.text(left), self.text(right)
                return _checked_length(f"(({one} /\\ {other}) \\/ ((not {one}) /\\ (not {other})))")
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(formula))
            case f.Derived():
                return self.text(formula.definition)
            case (
                f.Next() | f.Until() | f.Release() | f.Previous() | f.Since() | f.Taken()
                | f.Enforces() | f.KnownFrom() | f.Knows() | f.Adjacent() | f.Regardless()
            ):  # fmt: skip
                raise NotExpressible(construct_name(formula))
            case _:
                assert_never(formula)

    # --- fair paths

    def _fair_runs(self, formula: f.OnPaths, along: f.Taken | None) -> str:
        """Return that a path is infinitely often settled, takes allowed steps only, and is fair."""
        parts = ["(G F settled)"]
        steps = [step.name for step in self.vocabulary.system.steps]
        excluded_steps = () if along is None else [name for name in steps if name not in along.steps]
        if excluded_steps:
            parts.append(f"(G ~{self._steps(excluded_steps)})")
        if self.depends_on_fairness(without_nested_quantifiers(formula)):
            for justice in self.justice:
                served = [steps[index] for index in justice.steps if along is None or steps[index] in along.steps]
                if served:
                    waits_not = f"(G F (settled /\\ (not {self._possible(served)})))"
                    parts.append(f"({waits_not} \\/ (G F {self._steps(served)}))")
            conditions = map(self.vocabulary.condition, self.vocabulary.system.fairness)
            parts += [f"(G F (settled /\\ {condition}))" for condition in conditions]
        return _joined(" /\\ ", parts, "tt")

    def _possible(self, steps: Iterable[str]) -> str:
        """Return that one of the steps is enabled."""
        return f"(E (X ((not settled) U {self._steps(steps)})))"

    def _steps(self, steps: Iterable[str]) -> str:
        return f"{{{', '.join(map(self.vocabulary.step, steps))}}}"

    # --- paths

    def _path(self, path: Formula, positive: bool) -> str:
        """Return a path formula or, unless ``positive``, its negation, in brackets; it starts in a settled state."""
        if f.is_state_formula(path):
            return self.text(path) if positive else f"(not {self.text(path)})"
        match path:
            case f.Not(operand):
                return self._path(operand, not positive)
            case f.And(operands) | f.Or(operands):
                link = " /\\ " if isinstance(path, f.And) == positive else " \\/ "
                return _joined(link, [self._path(operand, positive) for operand in operands], "tt")
            case f.Implies(left, right):
                link = "\\/" if positive else "/\\"
                return _checked_length(f"({self._path(left, not positive)} {link} {self._path(right, positive)})")
            case f.Iff(left, right):
                alike = f"({self._path(left, True)} /\\ {self._path(right, positive)})"
                return _checked_length(
                    f"({alike} \\/ ({self._path(left, False)} /\\ {self._path(right, not positive)}))"
                )
            case f.Taken(steps):
                return self._taken(steps, positive)
            case f.Next(operand):
                return self._next(self._path(operand, positive))
            case f.Finally(operand, bound):
                return self._somewhere(self._path(operand, positive), positive, bound)
            case f.Globally(operand, bound):
                return self._somewhere(self._path(operand, positive), not positive, bound)
            case f.Until(left, right, None) | f.Release(left, right, None):
                one, other = self._path(left, positive), self._path(right, positive)
                return (self._until if isinstance(path, f.Until) is positive else self._release)(one, other)
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded(self._path(left, positive), self._path(right, positive), positive, bound)
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right):
                one, other = self._path(left, positive), self._path(right, positive)
                if positive:
                    return _checked_length(f"(((not settled) \\/ {one}) W (settled /\\ {other}))")
                return self._until(other, f"({one} /\\ {other})")
            case f.Previous() | f.Since():
                raise NotExpressible("past operators")
            case f.Derived():
                return self._path(path.definition, positive)
            case f.Atom() | f.OnPaths() | f.Enforces() | f.KnownFrom() | f.Knows() | f.Adjacent() | f.Regardless():
                raise AssertionError(f"{path} is a state formula")
            case _:
                assert_never(path)

    def _taken(self, steps: frozenset[str], positive: bool) -> str:
        named = [step.name for step in self.vocabulary.system.steps if step.name in steps]
        if not named:
            return "ff" if positive else "tt"
        if positive:
            return f"(X ((not settled) U {self._steps(named)}))"
        return f"(X (~{self._steps(named)} U settled))"

    def _next(self, text: str) -> str:
        return _checked_length(f"(X ((not settled) U (settled /\\ {text})))")

    def _somewhere(self, text: str, existential: bool, bound: int | None) -> str:
        """Return that the formula holds in some settled state, or in all, within the bound."""
        if bound is None:
            return f"(F (settled /\\ {text}))" if existential else f"(G ((not settled) \\/ {text}))"
        unrolled = text
        link = "\\/" if existential else "/\\"
        for _ in range(bound):
            unrolled = _checked_length(f"({text} {link} {self._next(unrolled)})")
        return unrolled

    def _bounded(self, left: str, right: str, positive: bool, bound: int) -> str:
        unrolled = right
        for _ in range(bound):
            step = self._next(unrolled)
            unrolled = f"({right} \\/ ({left} /\\ {step}))" if positive else f"({right} /\\ ({left} \\/ {step}))"
            unrolled = _checked_length(unrolled)
        return unrolled

    def _until(self, left: str, right: str) -> str:
        return _checked_length(f"(((not settled) \\/ {left}) U (settled /\\ {right}))")

    def _release(self, left: str, right: str) -> str:
        return _checked_length(f"((settled /\\ {left}) R ((not settled) \\/ {right}))")


def _joined(link: str, operands: Iterable[str], empty: str) -> str:
    texts = list(operands)
    if len(texts) < 2:
        return texts[0] if texts else empty
    return _checked_length(f"({link.join(texts)})")


def _checked_length(text: str) -> str:
    if len(text) > _MAX_FORMULA_LENGTH:
        raise NotExpressible("bounds this large")
    return text
