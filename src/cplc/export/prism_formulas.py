"""Formula translation to PCTL* over a PRISM model without probabilistic choice.

Each strategy induces one run. So ``A path`` is equivalent to ``P>=1 [ path ]`` and ``E path`` to ``!(P<=0 [ path ])``.
Fairness is a premise within the brackets of formulas that depend on it. The translation is restricted to the syntax of
Storm: ``!``, ``&``, ``|``, labels, and the path operators ``X F G U``, with bounds on ``F`` and ``U`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.request import NotExpressible
from cplc.export.smv_formulas import construct_name
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.expressions import TRUE, Expr
from cplc.logic.formulas import Connective, Formula
from cplc.records import dataclass

_MAX_FORMULA_LENGTH: Final = 200_000
"""Maximum length of a formula in characters: nested bounds are expanded."""


@dataclass(frozen=True, slots=True)
class Pctl:
    labels: Mapping[Expr, str]
    """Label of each condition."""
    fair: tuple[Expr, ...] = ()
    """Conditions that hold infinitely often on fair runs."""
    depends_on_fairness: Callable[[Formula], bool] = lambda _: False
    """Tells whether the truth of a quantified formula depends on fairness."""

    def text(self, formula: Formula) -> str:
        """Return a state formula, in brackets; raise `NotExpressible`."""
        match formula:
            case f.Atom(condition):
                return self._label(condition)
            case f.OnPaths(quantifier, path, None):
                operator = f.ctl_path(formula)
                fair = self.fair if self.depends_on_fairness(without_nested_quantifiers(formula)) else ()
                if fair or operator is None:
                    return self._linear(quantifier, path, fair)
                return self._branching(quantifier, operator)
            case f.OnPaths():
                raise NotExpressible("path quantifiers that are restricted to some steps")
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return _boolean(formula, map(self.text, f.children(formula)))
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(formula))
            case f.Derived():
                return self.text(formula.definition)
            case f.PathOperator() | f.StateOperator():
                raise NotExpressible(construct_name(formula))
            case _:
                assert_never(formula)

    def _label(self, condition: Expr) -> str:
        return f'"{self.labels[condition]}"'

    def _branching(self, quantifier: str, path: f.CtlPath) -> str:
        """Return one path operator over state formulas, in PCTL."""
        match path:
            case f.Next(operand):
                return _quantified(quantifier, f"X {self.text(operand)}")
            case f.Finally(operand, bound):
                return _quantified(quantifier, f"F{_bound(bound)} {self.text(operand)}")
            case f.Globally(operand, None):
                return _quantified(quantifier, f"G {self.text(operand)}")
            case f.Globally(operand, bound):
                return _denied(quantifier, f"F{_bound(bound)} {_not(self.text(operand))}")
            case f.Until(left, right, bound):
                return _quantified(quantifier, f"{self.text(left)} U{_bound(bound)} {self.text(right)}")
            case f.Release(left, right, bound):
                return _denied(quantifier, f"{_not(self.text(left))} U{_bound(bound)} {_not(self.text(right))}")
            case f.WeakUntil(left, right, None):
                neither = f"({_not(self.text(left))} & {_not(self.text(right))})"
                return _denied(quantifier, f"{_not(self.text(right))} U {neither}")
            case f.Derived():
                return self._branching(quantifier, f.ctl_core(path))
            case _:
                assert_never(path)

    def _linear(self, quantifier: str, path: Formula, fair: Iterable[Expr]) -> str:
        often = [f"(G (F {self._label(condition)}))" for condition in fair]
        if quantifier == "A":
            return _quantified(quantifier, " | ".join((*map(_not, often), self._path(path))))
        return _quantified(quantifier, " & ".join((*often, self._path(path))))

    def _path(self, path: Formula) -> str:
        """Return a path formula, in brackets."""
        if f.is_state_formula(path):
            return self.text(path)
        match path:
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return _boolean(path, map(self._path, f.children(path)))
            case f.Next(operand):
                return f"(X {self._path(operand)})"
            case f.Finally(operand, None):
                return f"(F {self._path(operand)})"
            case f.Globally(operand, None):
                return f"(G {self._path(operand)})"
            case f.Finally(operand, f.Bound() as bound):
                return self._nested(self._path(operand), "|", step_count(bound))
            case f.Globally(operand, f.Bound() as bound):
                return self._nested(self._path(operand), "&", step_count(bound))
            case f.Until(left, right, None):
                return f"({self._path(left)} U {self._path(right)})"
            case f.Until(left, right, bound):
                assert bound is not None
                one, other = self._path(left), self._path(right)
                text = other
                for _ in range(step_count(bound)):
                    text = _checked_length(f"({other} | ({one} & (X {text})))")
                return text
            case f.Release(left, right, None):
                return f"!({_not(self._path(left))} U {_not(self._path(right))})"
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                one, other = self._path(left), self._path(right)
                return _checked_length(f"(({one} U {other}) | (G {one}))")
            case f.Taken() | f.Shorthand():
                raise NotExpressible("atoms over steps")
            case f.Previous() | f.Since():
                raise NotExpressible("past operators")
            case f.Derived():
                return self._path(path.definition)
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{path} is a state formula")
            case _:
                assert_never(path)

    def _nested(self, operand: str, link: str, bound: int) -> str:
        text = operand
        for _ in range(bound):
            text = _checked_length(f"({operand} {link} (X {text}))")
        return text


def without_nested_quantifiers(formula: f.OnPaths) -> Formula:
    """Return the quantified formula with its state subformulas replaced by true."""

    def without(part: Formula) -> Formula:
        if f.is_state_formula(part):
            return f.Atom(TRUE, "")
        return f.with_children(part, tuple(map(without, f.children(part))))

    return f.OnPaths(formula.quantifier, without(formula.path), formula.along)


def _quantified(quantifier: str, path: str) -> str:
    text = _checked_length(path)
    return f"(P>=1 [ {text} ])" if quantifier == "A" else f"!(P<=0 [ {text} ])"


def _denied(quantifier: str, path: str) -> str:
    """Return that the path formula is false on all runs, or on some."""
    text = _checked_length(path)
    return f"(P<=0 [ {text} ])" if quantifier == "A" else f"!(P>=1 [ {text} ])"


def _bound(bound: f.Bound | None) -> str:
    return "" if bound is None else f"<={step_count(bound)}"


def _not(text: str) -> str:
    return f"!{text}" if text.startswith(("(", '"')) else f"!({text})"


def _boolean(formula: Connective, operands: Iterable[str]) -> str:
    texts = list(operands)
    match formula:
        case f.Not():
            return _not(texts[0])
        case f.And():
            return _joined(" & ", texts, "true")
        case f.Or():
            return _joined(" | ", texts, "false")
        case f.Implies():
            return _checked_length(f"({_not(texts[0])} | {texts[1]})")
        case f.Iff():
            left, right = texts
            return _checked_length(f"(({left} & {right}) | ({_not(left)} & {_not(right)}))")
        case _:
            assert_never(formula)


def _joined(link: str, texts: list[str], empty: str) -> str:
    match texts:
        case []:
            return f"({empty})"
        case [text]:
            return text
        case _:
            return _checked_length(f"({link.join(texts)})")


def _checked_length(text: str) -> str:
    if len(text) > _MAX_FORMULA_LENGTH:
        raise NotExpressible("bounds this large")
    return text
