"""Formula translation to CTL and LTL of NuSMV."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.request import NotExpressible
from cplc.export.smv_expressions import STEP, Vocabulary
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Conditional, Fulfils
from cplc.logic.formulas import Connective, Formula
from cplc.records import dataclass

_MAX_FORMULA_LENGTH: Final = 200_000
"""Maximum length of a formula in characters: bounds and weak operators are expanded."""


@dataclass(frozen=True, slots=True)
class Ctl:
    """Writes state formulas."""

    vocabulary: Vocabulary

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it is atomic or negated; raise `NotExpressible`."""
        match formula:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.OnPaths():
                return checked_length(f"({self._on_paths(formula)})")
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(formula, map(self.text, f.children(formula)), self.vocabulary)
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(formula))
            case f.Derived():
                return self.text(formula.definition)
            case f.PathOperator() | f.StateOperator():
                raise NotExpressible(construct_name(formula))
            case _:
                assert_never(formula)

    def _on_paths(self, formula: f.OnPaths) -> str:
        if formula.along is not None:
            raise NotExpressible("path quantifiers that are restricted to some steps")
        path = f.ctl_path(formula)
        if path is None and f.is_state_formula(formula.path):
            some = f"EG {self.vocabulary.dialect.true}"
            link = "->" if formula.quantifier == "A" else "&"
            return f"({some}) {link} {self.text(formula.path)}"
        if path is None:
            raise NotExpressible("several temporal operators below one path quantifier")
        return self._path(formula.quantifier, path)

    def _path(self, quantifier: str, path: f.CtlPath) -> str:
        match path:
            case f.Next(operand):
                return f"{quantifier}X {self.text(operand)}"
            case f.Finally(operand, None):
                return f"{quantifier}F {self.text(operand)}"
            case f.Globally(operand, None):
                return f"{quantifier}G {self.text(operand)}"
            case f.Finally(operand, f.Bound() as bound):
                return self._nested(quantifier, self.text(operand), "|", step_count(bound))
            case f.Globally(operand, f.Bound() as bound):
                return self._nested(quantifier, self.text(operand), "&", step_count(bound))
            case f.Until(left, right, None):
                return f"{quantifier}[{self.text(left)} U {self.text(right)}]"
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded_until(quantifier, self.text(left), self.text(right), step_count(bound))
            case f.Release(left, right, None):
                one, other = self.text(left), self.text(right)
                if quantifier == "A":
                    return f"!E[!{one} U !{other}]"
                return self._weak("E", other, f"({one} & {other})")
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                return self._weak(quantifier, self.text(left), self.text(right))
            case f.Derived():
                return self._path(quantifier, f.ctl_core(path))
            case _:
                assert_never(path)

    def _weak(self, quantifier: str, left: str, right: str) -> str:
        if quantifier == "A":
            return f"!E[!{right} U (!{left} & !{right})]"
        return f"E[{left} U {right}] | (EG {left})"

    def _nested(self, quantifier: str, operand: str, link: str, bound: int) -> str:
        text = operand
        for _ in range(bound):
            text = checked_length(f"({operand} {link} ({quantifier}X {text}))")
        return text

    def _bounded_until(self, quantifier: str, left: str, right: str, bound: int) -> str:
        text = right
        for _ in range(bound):
            text = checked_length(f"({right} | ({left} & ({quantifier}X {text})))")
        return text


@dataclass(frozen=True, slots=True)
class Ltl:
    """Writes path formulas; a step is taken iff the input selects it and it is enabled."""

    vocabulary: Vocabulary

    def text(self, path: Formula) -> str:
        """Return the formula, in brackets unless it is atomic or negated; raise `NotExpressible`."""
        match path:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.Taken():
                return step_taken(path, self.vocabulary)
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(path, map(self.text, f.children(path)), self.vocabulary)
            case f.Next(operand):
                return f"(X {self.text(operand)})"
            case f.Finally(operand, bound) | f.Globally(operand, bound):
                return f"({path.SYMBOL} {_interval(bound)}{self.text(operand)})"
            case f.Previous(operand):
                return f"(Y {self.text(operand)})"
            case f.Once(operand) | f.Historically(operand):
                return f"({path.SYMBOL} {self.text(operand)})"
            case f.Since(left, right):
                return f"({self.text(left)} S {self.text(right)})"
            case f.Until(left, right, None):
                return f"({self.text(left)} U {self.text(right)})"
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded_until(self.text(left), self.text(right), step_count(bound))
            case f.Release(left, right, None):
                return f"({self.text(left)} V {self.text(right)})"
            case f.Release():
                raise AssertionError(f"{path} is no formula of the language")
            case f.WeakUntil(left, right, None):
                one, other = self.text(left), self.text(right)
                return checked_length(f"({other} V ({one} | {other}))")
            case Commits() | Fulfils() | Conditional():
                raise NotExpressible(construct_name(path))
            case f.Derived():
                return self.text(path.definition)
            case f.StateOperator():
                raise NotExpressible(construct_name(path))
            case _:
                assert_never(path)

    def _bounded_until(self, left: str, right: str, bound: int) -> str:
        text = right
        for _ in range(bound):
            text = checked_length(f"({right} | ({left} & (X {text})))")
        return text


def step_taken(steps: f.Taken, vocabulary: Vocabulary) -> str:
    """Return that the input selects one of these steps and that it is enabled; otherwise the system idles."""
    disjuncts = [
        f"({STEP} = {vocabulary.steps[name]} & {vocabulary.guards[name]})"
        for name in vocabulary.steps
        if name in steps.steps
    ]
    return f"({' | '.join(disjuncts)})" if disjuncts else vocabulary.dialect.false


def boolean(formula: Connective, operands: Iterable[str], vocabulary: Vocabulary) -> str:
    """Return the operands joined by the connective of the formula."""
    texts = list(operands)
    match formula:
        case f.Not():
            return f"!{texts[0]}"
        case f.And() | f.Or():
            dialect, is_and = vocabulary.dialect, isinstance(formula, f.And)
            empty, link = (dialect.true, "&") if is_and else (dialect.false, "|")
        case f.Implies():
            empty, link = "", "->"
        case f.Iff():
            empty, link = "", "<->"
        case _:
            assert_never(formula)
    if len(texts) < 2:
        return texts[0] if texts else empty
    return checked_length(f"({f' {link} '.join(texts)})")


def checked_length(text: str) -> str:
    if len(text) > _MAX_FORMULA_LENGTH:
        raise NotExpressible("bounds this large")
    return text


def _interval(bound: f.Bound | None) -> str:
    return "" if bound is None else f"[0,{step_count(bound)}] "


def construct_name(formula: Formula) -> str:
    """Return the name of the construct that cannot be expressed, for messages."""
    match formula:
        case f.Enforces():
            return "strategies"
        case f.Knows():
            return "knowledge"
        case f.KnownFrom() | Commits() | Fulfils() | Conditional():
            return "social commitments"
        case f.Adjacent():
            return "operations on commitments, which compare adjacent states,"
        case f.OnPaths():
            return "nested path quantifiers"
        case f.Atom() | f.Not() | f.And() | f.PathOperator() | f.Regardless() | f.Derived():
            return "path formulas in place of state formulas"
        case _:
            assert_never(formula)
