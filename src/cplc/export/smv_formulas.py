"""Formulas in CTL and LTL as NuSMV reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cplc.export.smv_expressions import STEP, Vocabulary
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.records import dataclass

_MAX_FORMULA_LENGTH: Final = 200_000
"""Bounds and weak operators are written out; a formula that grows beyond this many characters is left out."""


class Unsaid(Exception):
    """The target cannot say this; the text says what in it, as the rest of "it has …"."""


@dataclass(frozen=True, slots=True)
class Ctl:
    """Writes state formulas."""

    vocabulary: Vocabulary

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it is one word or a negation; raise `Unsaid`."""
        match formula:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.OnPaths():
                return short(f"({self._on_paths(formula)})")
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(formula, map(self.text, f.children(formula)), self.vocabulary)
            case _:
                raise Unsaid(what_is(formula))

    def _on_paths(self, formula: f.OnPaths) -> str:
        if formula.along is not None:
            raise Unsaid("a quantifier over runs with some steps alone")
        path = f.ctl_path(formula)
        if path is None and f.is_state_formula(formula.path):
            some = f"EG {self.vocabulary.dialect.true}"
            link = "->" if formula.quantifier == "A" else "&"
            return f"({some}) {link} {self.text(formula.path)}"
        if path is None:
            raise Unsaid("more than one temporal operator below a quantifier over runs")
        return self._path(formula.quantifier, path)

    def _path(self, quantifier: str, path: f.Path) -> str:
        match path:
            case f.Next(operand):
                return f"{quantifier}X {self.text(operand)}"
            case f.Finally(operand, None):
                return f"{quantifier}F {self.text(operand)}"
            case f.Globally(operand, None):
                return f"{quantifier}G {self.text(operand)}"
            case f.Until(left, right, None):
                return f"{quantifier}[{self.text(left)} U {self.text(right)}]"
            case f.Finally(operand, int() as bound):
                return self._nested(quantifier, self.text(operand), "|", bound)
            case f.Globally(operand, int() as bound):
                return self._nested(quantifier, self.text(operand), "&", bound)
            case f.Until(left, right, int() as bound):
                return self._bounded_until(quantifier, self.text(left), self.text(right), bound)
            case f.WeakUntil(left, right):
                return self._weak(quantifier, self.text(left), self.text(right))
            case f.Release(left, right):
                one, other = self.text(left), self.text(right)
                if quantifier == "A":
                    return f"!E[!{one} U !{other}]"
                return self._weak("E", other, f"({one} & {other})")
            case _:
                raise AssertionError(path)

    def _weak(self, quantifier: str, left: str, right: str) -> str:
        if quantifier == "A":
            return f"!E[!{right} U (!{left} & !{right})]"
        return f"E[{left} U {right}] | (EG {left})"

    def _nested(self, quantifier: str, operand: str, link: str, bound: int) -> str:
        text = operand
        for _ in range(bound):
            text = short(f"({operand} {link} ({quantifier}X {text}))")
        return text

    def _bounded_until(self, quantifier: str, left: str, right: str, bound: int) -> str:
        text = right
        for _ in range(bound):
            text = short(f"({right} | ({left} & ({quantifier}X {text})))")
        return text


@dataclass(frozen=True, slots=True)
class Ltl:
    """Writes path formulas; a step is what the input names, where it is possible."""

    vocabulary: Vocabulary

    def text(self, path: Formula) -> str:
        """Return the formula, in brackets unless it is one word or a negation; raise `Unsaid`."""
        match path:
            case f.Atom(condition, _):
                return self.vocabulary.text(condition)
            case f.Taken():
                return taken(path, self.vocabulary)
            case f.Shorthand(operand):
                return self.text(operand)
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(path, map(self.text, f.children(path)), self.vocabulary)
            case f.Next(operand):
                return f"(X {self.text(operand)})"
            case f.Finally(operand, bound):
                return f"(F {_interval(bound)}{self.text(operand)})"
            case f.Globally(operand, bound):
                return f"(G {_interval(bound)}{self.text(operand)})"
            case f.Previous(operand):
                return f"(Y {self.text(operand)})"
            case f.Once(operand):
                return f"(O {self.text(operand)})"
            case f.Historically(operand):
                return f"(H {self.text(operand)})"
            case f.Since(left, right):
                return f"({self.text(left)} S {self.text(right)})"
            case f.Until(left, right, None):
                return f"({self.text(left)} U {self.text(right)})"
            case f.Until(left, right, int() as bound):
                return self._bounded_until(self.text(left), self.text(right), bound)
            case f.WeakUntil(left, right):
                one, other = self.text(left), self.text(right)
                return short(f"({other} V ({one} | {other}))")
            case f.Release(left, right):
                return f"({self.text(left)} V {self.text(right)})"
            case _:
                raise Unsaid(what_is(path))

    def _bounded_until(self, left: str, right: str, bound: int) -> str:
        text = right
        for _ in range(bound):
            text = short(f"({right} | ({left} & (X {text})))")
        return text


def taken(steps: f.Taken, vocabulary: Vocabulary) -> str:
    """Return that the input names one of these and that it is possible, for otherwise the system idles."""
    disjuncts = [
        f"({STEP} = {vocabulary.steps[name]} & {vocabulary.guards[name]})"
        for name in vocabulary.steps
        if name in steps.steps
    ]
    return f"({' | '.join(disjuncts)})" if disjuncts else vocabulary.dialect.false


def boolean(formula: Formula, operands: Iterable[str], vocabulary: Vocabulary) -> str:
    """Return what the operands are joined to."""
    texts = list(operands)
    match formula:
        case f.Not():
            return f"!{texts[0]}"
        case f.And() if not texts:
            return vocabulary.dialect.true
        case f.Or() if not texts:
            return vocabulary.dialect.false
        case _:
            link = {f.And: "&", f.Or: "|", f.Implies: "->", f.Iff: "<->"}[type(formula)]
            return texts[0] if len(texts) == 1 else short(f"({f' {link} '.join(texts)})")


def short(text: str) -> str:
    if len(text) > _MAX_FORMULA_LENGTH:
        raise Unsaid("a bound too large to write out")
    return text


def _interval(bound: int | None) -> str:
    return "" if bound is None else f"[0,{bound}] "


def what_is(formula: Formula) -> str:
    """Return what kind of thing it is that cannot be said."""
    match formula:
        case f.Enforces():
            return "what a group can enforce"
        case f.Knows():
            return "knowledge"
        case f.Commits() | f.Fulfils() | f.Conditional() | f.KnownFrom():
            return "social commitment"
        case f.Adjacent():
            return "an operation on commitments that compares a state with the next one"
        case f.OnPaths():
            return "a quantifier over runs inside one over runs"
        case _:
            return "something said of runs where states decide"
