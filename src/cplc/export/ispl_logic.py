"""Formulas as MCMAS reads them: CTL with knowledge, or CTL* where more is said of runs or assumed of them.

MCMAS knows neither social commitments nor what a run does next. Both can be said in other words: `reduced` speaks of
the knowledge of one more agent, and of the step that was taken last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from cplc.export.fairness import needs_fairness
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Read, Value
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Agent, Step, System, Variable

ALWAYS: Final = "always"
"""The proposition that holds everywhere."""
_LONGEST: Final = 200_000
"""Bounds, equivalences and weak operators are written out; what grows beyond this many characters is left out."""
_MAX_COMBINATIONS: Final = 4096
"""Values of the variables of one condition that are tried to see whether it is constant."""


class Unsaid(Exception):
    """The target cannot say this; the text says what in it, as the rest of "it has …"."""


# --- in other words


def reduced(formula: Formula, system: System) -> Formula:
    """Return the formula in words that MCMAS has; raise `Unsaid`.

    What the observer of a channel knows is what one more agent knows (see `observers`). A run takes a step of a
    set next iff in the next state the step taken last is one of them; without conditions of ``fairness`` it may do so
    wherever one of them is possible.
    """
    match formula:
        case f.OnPaths("E", f.Finally((f.Taken() | f.Shorthand()) as taken, None), None) if not system.fairness:
            return f.OnPaths("E", f.Finally(_possible(taken, system)))
        case f.OnPaths("A", f.Globally(f.Not((f.Taken() | f.Shorthand()) as taken), None), None) if not system.fairness:
            return f.OnPaths("A", f.Globally(f.Not(_possible(taken, system))))
        case f.Shorthand(operand):
            return reduced(operand, system)
        case f.Commits() | f.Fulfils() | f.Conditional():
            return reduced(f.meaning(formula), system)
        case f.KnownFrom(observed, operand, observer):
            for expr in observed:
                if isinstance(expr, Read):
                    continue
                _initially(expr, system)
                if any(not e.reads(expr).isdisjoint(step.free) for step in system.steps):
                    raise Unsaid("a commitment that a step leaves in any of several states")
            return f.Knows("each", (observer_of(observer),), reduced(operand, system))
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


def observer_of(channel: str) -> str:
    """Return the name of the agent who observes the debtor's end of a channel."""
    return f"promises {channel}"


def observers(formulas: Iterable[Formula]) -> dict[str, tuple[Expr, ...]]:
    """Return what each of these agents observes: variables and conditions."""
    found: dict[str, tuple[Expr, ...]] = {}
    for part in (part for formula in formulas for part in f.subformulas(formula)):
        match part:
            case f.Commits(channel) | f.Fulfils(channel):
                found[observer_of(channel.name)] = channel.promised
            case f.KnownFrom(observed, _, observer):
                found[observer_of(observer)] = observed
            case f.Conditional():
                found.update(observers((f.meaning(part),)))
            case _:
                pass
    return found


def with_observers(formulas: Iterable[Formula], system: System) -> System:
    """Return the system with an agent for each observer of a channel.

    An agent sees variables, so a condition that is observed becomes one: a variable that has the condition's value
    now, and is given the value that the condition has after each step.
    """
    seen = observers(formulas)
    conditions: dict[Expr, None] = dict.fromkeys(
        expr for observed in seen.values() for expr in observed if not isinstance(expr, Read)
    )
    names = {expr: f"observed {number}" for number, expr in enumerate(conditions, start=1)}
    watched = tuple(
        Variable(name, (False, True), (_initially(expr, system),), "own", "Env", name) for expr, name in names.items()
    )
    agents = tuple(
        Agent(name, "", tuple(expr.variable if isinstance(expr, Read) else names[expr] for expr in observed))
        for name, observed in seen.items()
    )
    return replace(
        system,
        variables=(*system.variables, *watched),
        agents=(*system.agents, *agents),
        steps=tuple(_also_setting(step, names, system) for step in system.steps),
    )


def _initially(condition: Expr, system: System) -> bool:
    """Return the value that a condition has in every initial state; raise `Unsaid` if it may have both."""
    values = _values(condition, {name: system.variable[name].initial for name in e.reads(condition)})
    if values not in ({True}, {False}):
        raise Unsaid("a commitment that some initial states have and others have not")
    return values == {True}


def _also_setting(step: Step, names: Mapping[Expr, str], system: System) -> Step:
    updates = dict(step.updates)
    changed = ((name, expr) for expr, name in names.items() if not e.reads(expr).isdisjoint(updates))
    more = tuple((name, _folded(e.substitute(expr, updates), system)) for name, expr in changed)
    return replace(step, updates=(*step.updates, *more)) if more else step


def _folded(condition: Expr, system: System) -> Expr:
    """Return the constant that a condition is, if it has one value whatever the variables are."""
    values = _values(condition, {name: system.variable[name].domain for name in e.reads(condition)})
    return e.Const(True in values) if len(values) == 1 else condition


def _values(condition: Expr, domains: Mapping[str, tuple[Value, ...]]) -> set[bool]:
    """Return the values that a condition can have; both, if the variables have too many combinations to try."""
    if prod(map(len, domains.values())) > _MAX_COMBINATIONS:
        return {False, True}
    choices = product(*domains.values())
    return {e.is_true(e.partially_evaluate(condition, dict(zip(domains, choice, strict=True)))) for choice in choices}


def _possible(taken: Formula, system: System) -> Formula:
    """Return where some step is possible that makes it true; each alternative asks for one step of a set."""
    if isinstance(taken, f.Shorthand):
        return _possible(taken.operand, system)
    if not isinstance(taken, f.Taken):
        return f.with_children(taken, tuple(_possible(child, system) for child in f.children(taken)))
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
