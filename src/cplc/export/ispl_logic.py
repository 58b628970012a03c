"""Formulas as MCMAS reads them: CTL with knowledge, or CTL* where more is said of runs or assumed of them.

MCMAS knows neither social commitments nor what a run does next. Both can be said in other words: `reduced` speaks of
the knowledge of one more agent, and of the step that was taken last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from cplc.export.fairness import needs_fairness
from cplc.records import dataclass
from cplc.system import expr as e
from cplc.system import formula as f
from cplc.system.expr import Expr
from cplc.system.formula import Formula
from cplc.system.model import Agent, System

ALWAYS: Final = "always"
"""The proposition that holds everywhere."""
_LONGEST: Final = 200_000
"""Bounds, equivalences and weak operators are written out; what grows beyond this many characters is left out."""


class Unsaid(Exception):
    """The target cannot say this; the text says what in it, as the rest of "it has …"."""


# --- in other words


def reduced(formula: Formula, system: System) -> Formula:
    """Return the formula in words that MCMAS has; raise `Unsaid`.

    ``s ~i→j s'`` says that a `watcher` of both sees the same at ``s`` and ``s'``, and that the copies agree at ``s'``.
    So ``C(i → j, p)`` is ``K(watcher, agree -> p)``. It is the same in all states that look the same to the watcher;
    hence ``Fu(i → j, p)``, to be accessible from such a state, is ``agree & C(i → j, p)``. A run takes a step of a
    set next iff in the next state the step taken last is one of them; without conditions of ``fairness`` it may do so
    wherever one of them is possible.
    """
    match formula:
        case f.OnPaths("E", f.Finally(f.Taken() as taken, None), None) if not system.fairness:
            return f.OnPaths("E", f.Finally(_possible(taken, system)))
        case f.OnPaths("A", f.Globally(f.Not(f.Taken() as taken), None), None) if not system.fairness:
            return f.OnPaths("A", f.Globally(f.Not(_possible(taken, system))))
        case f.Commits(debtor, creditor, operand):
            seen = f.Implies(_agree(system, debtor, creditor), reduced(operand, system))
            return f.Knows("each", (watcher(debtor, creditor),), seen)
        case f.Fulfils(debtor, creditor, operand):
            committed = f.Commits(debtor, creditor, operand)
            return f.And((_agree(system, debtor, creditor), reduced(committed, system)))
        case f.Taken(steps, text):
            return f.Next(f.Atom(e.Read(last_taken(steps, system)), f"last {text}"))
        case f.OnPaths(_, _, f.Taken()):
            raise Unsaid("a quantifier over runs with some steps alone")
        case f.Enforces():
            raise Unsaid("what a group can enforce, which MCMAS understands differently")
        case f.Previous() | f.Once() | f.Historically() | f.Since():
            raise Unsaid("something about the past")
        case _:
            return f.with_children(formula, tuple(reduced(child, system) for child in f.children(formula)))


def watcher(debtor: str, creditor: str) -> str:
    """Return the name of the agent who sees what decides accessibility from the debtor to the creditor."""
    return f"{debtor} to {creditor}"


def watchers(formulas: Iterable[Formula], system: System) -> tuple[Agent, ...]:
    """Return them: each sees what the debtor sees, and what the creditor does not share with it."""
    pairs = dict.fromkeys(
        (part.debtor, part.creditor)
        for formula in formulas
        for part in f.subformulas(formula)
        if isinstance(part, f.Commits | f.Fulfils)
    )
    return tuple(
        Agent(watcher(debtor, creditor), "", (*system.agent[debtor].local, *_unshared(system, debtor, creditor)))
        for debtor, creditor in pairs
    )


def _unshared(system: System, debtor: str, creditor: str) -> tuple[str, ...]:
    shared = {copy for _, copy in system.shared_between(debtor, creditor)}
    return tuple(name for name in system.agent[creditor].local if name not in shared)


def _agree(system: System, debtor: str, creditor: str) -> f.Atom:
    pairs = system.shared_between(debtor, creditor)
    return f.Atom(e.conj(e.Equal(e.Read(one), e.Read(other)) for one, other in pairs), f"{debtor} {creditor} agree")


def _possible(taken: f.Taken, system: System) -> f.Atom:
    return f.Atom(e.disj(step.guard for step in system.steps if step.name in taken.steps), f"possible {taken.text}")


def last_taken(steps: frozenset[str], system: System) -> str:
    """Return the name of the bit that is set by these steps, and cleared by all others and by idling."""
    named = [step.name for step in system.steps if step.name in steps]
    return f"last {', '.join(named) or 'none'}"


def bits_of(formulas: Iterable[Formula], system: System) -> dict[str, frozenset[str]]:
    """Return all such bits that formulas may need, and the steps that set them."""
    parts = (part for formula in formulas for part in f.subformulas(formula))
    return {last_taken(part.steps, system): part.steps for part in parts if isinstance(part, f.Taken)}


# --- as text


@dataclass(frozen=True, slots=True)
class Said:
    """The names of what formulas are made of."""

    propositions: Mapping[Expr, str]
    agents: Mapping[str, str]
    coalitions: Mapping[frozenset[str], str]


@dataclass(frozen=True, slots=True)
class Ctl:
    """Writes what CTL with knowledge can say."""

    said: Said

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it needs none; raise `Unsaid` if it grows too long."""
        match formula:
            case f.Atom(condition, _):
                return _atom(condition, self.said)
            case f.OnPaths(_, path) if f.is_state_formula(path):
                return self.text(path)
            case f.OnPaths(quantifier):
                said = f.ctl_path(formula)
                assert said is not None
                return short(self._path(quantifier, said))
            case f.Knows(mode, agents, operand):
                return knows(mode, agents, self.text(operand), self.said)
            case f.Enforces(group, goal):
                return short(self._enforces(self.said.coalitions[frozenset(group)], goal))
            case _:
                return boolean(formula, [self.text(child) for child in f.children(formula)])

    def _enforces(self, group: str, goal: f.Next | f.Finally | f.Globally | f.Until) -> str:
        match goal:
            case f.Next(operand):
                return f"(<{group}> X {self.text(operand)})"
            case f.Finally(operand):
                return f"(<{group}> F {self.text(operand)})"
            case f.Globally(operand):
                return f"(<{group}> G {self.text(operand)})"
            case f.Until(left, right):
                return f"(<{group}> ({self.text(left)} U {self.text(right)}))"

    def _path(self, quantifier: str, path: f.Path) -> str:
        match path:
            case f.Next(operand):
                return f"({quantifier}X {self.text(operand)})"
            case f.Finally(operand, None):
                return f"({quantifier}F {self.text(operand)})"
            case f.Globally(operand, None):
                return f"({quantifier}G {self.text(operand)})"
            case f.Until(left, right, None):
                return f"{quantifier}({self.text(left)} U {self.text(right)})"
            case f.Finally(operand, int() as bound):
                return unrolled("{0} or {1}", f"{quantifier}X", bound, self.text(operand))
            case f.Globally(operand, int() as bound):
                return unrolled("{0} and {1}", f"{quantifier}X", bound, self.text(operand))
            case f.Until(left, right, int() as bound):
                return unrolled("{0} or ({2} and {1})", f"{quantifier}X", bound, self.text(right), self.text(left))
            case f.WeakUntil(left, right):
                return self._weak(quantifier, self.text(left), self.text(right))
            case f.Release(left, right):
                one, other = self.text(left), self.text(right)
                if quantifier == "A":
                    return f"(!E((!{one}) U (!{other})))"
                return self._weak("E", other, f"({one} and {other})")
            case _:
                raise AssertionError(path)

    def _weak(self, quantifier: str, left: str, right: str) -> str:
        if quantifier == "A":
            return f"(!E((!{right}) U ((!{left}) and (!{right}))))"
        return f"(E({left} U {right}) or (EG {left}))"


@dataclass(frozen=True, slots=True)
class Star:
    """Writes everything in CTL*, with what is assumed of a run beyond the file's fairness before what is said of it."""

    said: Said
    system: System
    assumed: tuple[Expr, ...] = ()
    """What must hold infinitely often."""

    def text(self, formula: Formula) -> str:
        """Return the formula, state or path, in brackets unless it needs none; raise `Unsaid` if it grows too long."""
        match formula:
            case f.Atom(condition, _):
                return _atom(condition, self.said)
            case f.OnPaths(quantifier, path):
                return short(self._on_paths(quantifier, self.text(path), needs_fairness(self.system, formula)))
            case f.Knows(mode, agents, operand):
                return knows(mode, agents, self.text(operand), self.said)
            case f.Next(operand):
                return f"(X {self.text(operand)})"
            case f.Finally(operand, None):
                return f"(F {self.text(operand)})"
            case f.Globally(operand, None):
                return f"(G {self.text(operand)})"
            case f.Until(left, right, None):
                return f"({self.text(left)} U {self.text(right)})"
            case f.Finally(operand, int() as bound):
                return unrolled("{0} or {1}", "X", bound, self.text(operand))
            case f.Globally(operand, int() as bound):
                return unrolled("{0} and {1}", "X", bound, self.text(operand))
            case f.Until(left, right, int() as bound):
                return unrolled("{0} or ({2} and {1})", "X", bound, self.text(right), self.text(left))
            case f.WeakUntil(left, right):
                one, other = self.text(left), self.text(right)
                return short(f"(!((!{other}) U ((!{one}) and (!{other}))))")
            case f.Release(left, right):
                return f"(!((!{self.text(left)}) U (!{self.text(right)})))"
            case _:
                return boolean(formula, [self.text(child) for child in f.children(formula)])

    def _on_paths(self, quantifier: str, path: str, is_fair: bool) -> str:
        assumed = [f"(G (F {_atom(condition, self.said)}))" for condition in self.assumed] if is_fair else []
        if not assumed:
            return f"({quantifier} {path})"
        link = "->" if quantifier == "A" else "and"
        return f"({quantifier} (({' and '.join(assumed)}) {link} {path}))"


def is_ctl(formula: Formula) -> bool:
    """Whether every quantifier over runs stands over one operator of CTL, or over what states decide."""
    return all(
        f.ctl_path(part) is not None or f.is_state_formula(part.path)
        for part in f.subformulas(formula)
        if isinstance(part, f.OnPaths)
    )


def unrolled(pattern: str, step: str, bound: int, now: str, meanwhile: str = "") -> str:
    """Return what holds now or is asked again after a step, as many times as the bound says."""
    text = now
    for _ in range(bound):
        text = short(f"({pattern.format(now, f'({step} {text})', meanwhile)})")
    return text


def knows(mode: str, agents: tuple[str, ...], operand: str, said: Said) -> str:
    if not agents:  # in all reachable states: those that are green for one who has no others
        return f"O({next(iter(said.agents.values()))}, {operand})"
    if mode == "each" and len(agents) == 1:
        return f"K({said.agents[agents[0]]}, {operand})"
    operator = {"each": "GK", "together": "DK", "common": "GCK"}[mode]
    return f"{operator}({said.coalitions[frozenset(agents)]}, {operand})"


def boolean(formula: Formula, operands: list[str]) -> str:
    """Return what the operands are joined to."""
    match formula:
        case f.Not():
            return f"(!{operands[0]})"
        case f.And(()):
            return ALWAYS
        case f.Or(()):
            return f"(!{ALWAYS})"
        case f.And() | f.Or() if len(operands) == 1:
            return operands[0]
        case f.And():
            return short(f"({' and '.join(operands)})")
        case f.Or():
            return short(f"({' or '.join(operands)})")
        case f.Implies():
            return short(f"({operands[0]} -> {operands[1]})")
        case f.Iff():
            one, other = operands
            return short(f"(({one} -> {other}) and ({other} -> {one}))")
        case _:
            raise AssertionError(formula)


def _atom(condition: Expr, said: Said) -> str:
    if isinstance(condition, e.Const):
        return ALWAYS if condition.value else f"(!{ALWAYS})"
    return said.propositions[condition]


def short(text: str) -> str:
    if len(text) > _LONGEST:
        raise Unsaid("a bound or an equivalence too large to write out")
    return text
