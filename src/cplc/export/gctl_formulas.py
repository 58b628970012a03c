"""Formulas as the workbench's GCTL* asks them of the processes.

A state of the system is one in which the lock is free; the others are on the way. *Settled* says so: there, and only
there, ``idle`` is possible. A path formula is therefore said of the settled states of a path: the next of them, all of
them, one of them. A test that fails, or a look at a cell, leads back to where it began and stands for an idle step. A
path that does not settle for ever again looks at cells while a step is on the way, and does not count.

Fairness stands in every quantifier that it matters to, with the settled states at which a step *can* be taken: from
there, before the next settled one, it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from cplc.export.ccs_expressions import Vocabulary
from cplc.export.prism_formulas import alone
from cplc.export.smv_formulas import Unsaid, what_is
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Justice

_MAX_FORMULA_LENGTH: Final = 200_000
"""Bounds are written out; a formula that grows beyond this many characters is left out."""


@dataclass(frozen=True, slots=True)
class Gctl:
    vocabulary: Vocabulary
    justice: tuple[Justice, ...]
    """What holds on the runs that count, besides the fairness of the file."""
    asks: Callable[[Formula], bool]
    """Whether it makes a difference to a quantifier that only fair runs count."""

    def text(self, formula: Formula) -> str:
        """Return a state formula, closed; raise `Unsaid`."""
        match formula:
            case f.Atom(condition):
                return self.vocabulary.condition(condition)
            case f.OnPaths("A", path, along):
                return _short(f"(A ({self._counting(formula, along)} -> {self._path(path, True)}))")
            case f.OnPaths("E", path, along):
                return _short(f"(E ({self._counting(formula, along)} /\\ {self._path(path, True)}))")
            case f.Not(operand):
                return f"(not {self.text(operand)})"
            case f.And(operands):
                return _joined(" /\\ ", map(self.text, operands), "tt")
            case f.Or(operands):
                return _joined(" \\/ ", map(self.text, operands), "ff")
            case f.Implies(left, right):
                return _short(f"({self.text(left)} -> {self.text(right)})")
            case f.Iff(left, right):
                one, other = self.text(left), self.text(right)
                return _short(f"(({one} /\\ {other}) \\/ ((not {one}) /\\ (not {other})))")
            case _:
                raise Unsaid(what_is(formula))

    # --- which paths count

    def _counting(self, formula: f.OnPaths, along: f.Taken | None) -> str:
        """Return that a path settles again and again, keeps to the steps it may take, and is fair."""
        parts = ["(G F settled)"]
        steps = [step.name for step in self.vocabulary.system.steps]
        excluded_steps = () if along is None else [name for name in steps if name not in along.steps]
        if excluded_steps:
            parts.append(f"(G ~{self._steps(excluded_steps)})")
        if self.asks(alone(formula)):
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

    def _path(self, path: Formula, so: bool) -> str:
        """Return a path formula, or its negation, as it is said from a settled state on; closed."""
        if f.is_state_formula(path):
            return self.text(path) if so else f"(not {self.text(path)})"
        match path:
            case f.Not(operand):
                return self._path(operand, not so)
            case f.And(operands) | f.Or(operands):
                link = " /\\ " if isinstance(path, f.And) == so else " \\/ "
                return _joined(link, [self._path(operand, so) for operand in operands], "tt")
            case f.Implies(left, right):
                link = "\\/" if so else "/\\"
                return _short(f"({self._path(left, not so)} {link} {self._path(right, so)})")
            case f.Iff(left, right):
                alike = f"({self._path(left, True)} /\\ {self._path(right, so)})"
                return _short(f"({alike} \\/ ({self._path(left, False)} /\\ {self._path(right, not so)}))")
            case f.Taken(steps):
                return self._taken(steps, so)
            case f.Shorthand(operand):
                return self._path(operand, so)
            case f.Next(operand):
                return self._next(self._path(operand, so))
            case f.Finally(operand, bound):
                return self._somewhere(self._path(operand, so), so, bound)
            case f.Globally(operand, bound):
                return self._somewhere(self._path(operand, so), not so, bound)
            case f.Until(left, right, None):
                one, other = self._path(left, so), self._path(right, so)
                return self._until(one, other) if so else self._release(one, other)
            case f.Until(left, right, int() as bound):
                return self._bounded(self._path(left, so), self._path(right, so), so, bound)
            case f.Release(left, right):
                one, other = self._path(left, so), self._path(right, so)
                return self._release(one, other) if so else self._until(one, other)
            case f.WeakUntil(left, right):
                one, other = self._path(left, so), self._path(right, so)
                if so:
                    return _short(f"(((not settled) \\/ {one}) W (settled /\\ {other}))")
                return self._until(other, f"({one} /\\ {other})")
            case f.Previous() | f.Once() | f.Historically() | f.Since():
                raise Unsaid("what was before")
            case _:
                raise Unsaid(what_is(path))

    def _taken(self, steps: frozenset[str], so: bool) -> str:
        named = [step.name for step in self.vocabulary.system.steps if step.name in steps]
        if not named:
            return "ff" if so else "tt"
        if so:
            return f"(X ((not settled) U {self._steps(named)}))"
        return f"(X (~{self._steps(named)} U settled))"

    def _next(self, text: str) -> str:
        return _short(f"(X ((not settled) U (settled /\\ {text})))")

    def _somewhere(self, text: str, some: bool, bound: int | None) -> str:
        """Return that it is so at some settled state, or at all, at most so many steps away."""
        if bound is None:
            return f"(F (settled /\\ {text}))" if some else f"(G ((not settled) \\/ {text}))"
        unrolled = text
        link = "\\/" if some else "/\\"
        for _ in range(bound):
            unrolled = _short(f"({text} {link} {self._next(unrolled)})")
        return unrolled

    def _bounded(self, left: str, right: str, so: bool, bound: int) -> str:
        unrolled = right
        for _ in range(bound):
            step = self._next(unrolled)
            unrolled = f"({right} \\/ ({left} /\\ {step}))" if so else f"({right} /\\ ({left} \\/ {step}))"
            unrolled = _short(unrolled)
        return unrolled

    def _until(self, left: str, right: str) -> str:
        return _short(f"(((not settled) \\/ {left}) U (settled /\\ {right}))")

    def _release(self, left: str, right: str) -> str:
        return _short(f"((settled /\\ {left}) R ((not settled) \\/ {right}))")


def _joined(link: str, operands: Iterable[str], empty: str) -> str:
    texts = list(operands)
    if len(texts) < 2:
        return texts[0] if texts else empty
    return _short(f"({link.join(texts)})")


def _short(text: str) -> str:
    if len(text) > _MAX_FORMULA_LENGTH:
        raise Unsaid("a bound too large to write out")
    return text
