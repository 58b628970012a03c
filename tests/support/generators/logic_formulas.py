"""Hypothesis strategies: formulas of the whole logic over a system, and path formulas by themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.support.generators.systems import atoms, some_channels

from cplc.logic import formulas as f
from cplc.logic.commitments import Binding, Channel, Commits, Fulfils, SociallyCommits
from cplc.logic.formulas import Formula, Taken, subformulas
from cplc.system.model import System

T = TypeVar("T")


@dataclass(frozen=True)
class Logic:
    """Operators that may occur, with limits on their number."""

    past: bool = True
    taken: bool = True
    """Actions, of the next step and of whole runs."""
    bound: int | None = 3
    """The highest bound; without it none."""
    games: bool = True
    social: bool = True
    """Knowledge and commitments."""
    depth: int = 2
    """How deep path quantifiers and modalities stand below each other."""
    weight: int = 5
    """Maximum number of temporal operators of a path formula; a bounded one counts as often as its bound."""


WHOLE = Logic()
CTL_STAR = Logic(past=False, taken=False, games=False, social=False)
SIMPLE = Logic(depth=1, weight=3)


class _Writer:
    """Draws formulas over one system."""

    def __init__(self, draw: DrawFn, system: System, logic: Logic) -> None:
        self.draw, self.system, self.logic = draw, system, logic
        self.atoms = atoms(system)
        self.agents = [agent.name for agent in system.agents]
        self.weight = 0
        """Remainder of that number for the path formula under construction."""

    def pick(self, *options: T) -> T:
        return self.draw(st.sampled_from(options))

    def one_in(self, n: int) -> bool:
        return self.draw(st.integers(0, n - 1)) == n - 1

    def atom(self) -> Formula:
        return self.draw(self.atoms)

    # --- on states

    def state(self, depth: int) -> Formula:
        if depth == 0:
            return self.atom()
        kinds = ["atom", "paths", "paths", "paths", "paths", "boolean", "boolean"]
        if self.logic.social:
            kinds += ["knows", "commits", "fulfils", "socially commits"]
        if self.logic.games:
            kinds.append("game")

        def below() -> Formula:
            return self.state(depth - 1)

        match self.pick(*kinds):
            case "atom":
                return self.atom()
            case "boolean":
                return self.boolean(below)
            case "knows":
                return f.Knows(self.pick("each", "together", "common"), self.group(), below())
            case "commits":
                return Commits(self.channel(), below())
            case "fulfils":
                return Fulfils(self.channel(), below())
            case "socially commits":
                return self.social(depth - 1)
            case "game":
                return self.game(depth - 1)
            case _:
                return self.paths(depth - 1)

    def boolean(self, below: Callable[[], Formula]) -> Formula:
        match self.pick("not", "and", "or", "implies", "iff"):
            case "not":
                return f.Not(below())
            case "and":
                return f.And(tuple(below() for _ in range(self.pick(2, 1, 3))))
            case "or":
                return f.Or(tuple(below() for _ in range(self.pick(2, 1, 3))))
            case "implies":
                return f.Implies(below(), below())
            case _:
                return f.Iff(below(), below())

    def group(self) -> tuple[str, ...]:
        return tuple(self.draw(st.lists(st.sampled_from(self.agents), min_size=1, unique=True)))

    def channel(self) -> Channel:
        return self.pick(*some_channels(self.system))

    def social(self, depth: int) -> Formula:
        """Draw what a debtor's word comes to: one or two things bind, each by a condition of its own."""
        outer, self.weight = self.weight, 2
        bindings = tuple(
            Binding(f"c{number}", self.atom(), self.keeping()) for number in range(self.draw(st.integers(0, 2)))
        )
        trigger = self.atom() if self.one_in(3) else None
        operand = self.path(depth)
        self.weight = outer
        return SociallyCommits("a -> b", bindings, operand, trigger)

    def keeping(self) -> Formula:
        goal = f.Or((self.atom(), f.Globally(self.atom()))) if self.one_in(2) else self.atom()
        return self.pick(f.Until(self.atom(), goal), f.Next(self.atom()), self.atom())

    def game(self, depth: int, *, uniform: bool = False) -> Formula:
        def below() -> Formula:
            return self.state(depth)

        goal: f.Next | f.Finally | f.Globally | f.Until
        match self.pick("finally", "until", "globally", "next"):
            case "finally":
                goal = f.Finally(below())
            case "until":
                goal = f.Until(below(), below())
            case "globally":
                goal = f.Globally(below())
            case _:
                goal = f.Next(below())
        return f.Enforces(self.group(), goal, uniform)

    # --- on paths

    def paths(self, depth: int) -> f.OnPaths:
        along = self.taken() if self.logic.taken and self.one_in(4) else None
        outer, self.weight = self.weight, self.logic.weight
        path = self.temporal(depth) if self.one_in(2) else self.path(depth)
        self.weight = outer
        return f.OnPaths(self.pick("E", "A"), path, along)

    def path(self, depth: int) -> Formula:
        kinds = ["temporal"] * 5 + ["boolean"] * 3
        kinds += ["taken"] if self.logic.taken else []
        match self.pick("state", "state", *kinds) if self.weight > 0 else self.pick("state", *kinds[8:]):
            case "state":
                return self.state(depth) if self.one_in(3) else self.atom()
            case "taken":
                return self.taken()
            case "boolean":
                self.weight -= 1
                return self.boolean(lambda: self.path(depth))
            case _:
                return self.temporal(depth)

    def temporal(self, depth: int) -> Formula:
        def below() -> Formula:
            return self.path(depth)

        self.weight -= 1
        past = ["previous", "once", "historically", "since"] if self.logic.past else []
        match self.pick("finally", "globally", "next", "until", "weak until", "release", *past):
            case "finally":
                return f.Finally(below(), self.bound())
            case "globally":
                return f.Globally(below(), self.bound())
            case "next":
                return f.Next(below())
            case "until":
                return f.Until(below(), below(), self.bound())
            case "weak until":
                return f.WeakUntil(below(), below(), self.bound())
            case "release":
                return f.Release(below(), below(), self.bound())
            case "previous":
                return f.Previous(below())
            case "once":
                return f.Once(below())
            case "historically":
                return f.Historically(below())
            case _:
                return f.Since(below(), below())

    def bound(self) -> f.Bound | None:
        """Draw a number of steps or, where steps are named, also an interval and a number of any of the steps."""
        if self.logic.bound is None or not self.one_in(4):
            return None
        high = self.draw(st.integers(0, self.logic.bound))
        self.weight -= max(0, high - 1)
        low = self.draw(st.integers(0, high)) if self.logic.taken and self.one_in(3) else 0
        return f.Bound(high, low, self.taken() if self.logic.taken and self.one_in(2) else None)

    def taken(self) -> Taken:
        """Draw some steps, now and then none, all, or one that is not in the system."""
        names = [step.name for step in self.system.steps]
        chosen = self.draw(st.lists(st.sampled_from([*names, "elsewhere"]), max_size=len(names), unique=True))
        return Taken(frozenset(chosen), " | ".join(f"does({name})" for name in chosen) or "false")


@st.composite
def logic_formulas(draw: DrawFn, system: System, logic: Logic = WHOLE) -> Formula:
    """Draw a state formula of the whole logic, or of as much of it as is asked for."""
    return _Writer(draw, system, logic).state(logic.depth)


@st.composite
def path_formulas(draw: DrawFn, system: System, logic: Logic = WHOLE) -> Formula:
    """Draw what may stand below a path quantifier."""
    return _Writer(draw, system, logic).paths(logic.depth - 1).path


@st.composite
def quantified(draw: DrawFn, system: System, logic: Logic = WHOLE) -> f.OnPaths:
    """Draw a path quantifier, now and then over runs of some steps only, and what stands below it."""
    return _Writer(draw, system, logic).paths(logic.depth - 1)


@st.composite
def games(draw: DrawFn, system: System, logic: Logic = SIMPLE, *, uniform: bool = False) -> Formula:
    """Draw what a group can enforce."""
    return _Writer(draw, system, logic).game(logic.depth - 1, uniform=uniform)


@st.composite
def steps_taken(draw: DrawFn, system: System) -> Taken:
    """Draw a set of steps."""
    return _Writer(draw, system, SIMPLE).taken()


def groups(system: System) -> SearchStrategy[tuple[str, ...]]:
    names = [agent.name for agent in system.agents]
    return st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)


def operators(formula: Formula) -> list[str]:
    """Return a word for every operator that occurs, as often as it does, for statistics."""
    return [_word(part) for part in subformulas(formula)]


def _word(formula: Formula) -> str:
    match formula:
        case f.OnPaths(quantifier, path, along):
            kind = "" if f.ctl_path(f.OnPaths(quantifier, path)) else "*"
            return f"{quantifier}{'' if along is None else '{..}'}{kind}"
        case (
            f.Finally(_, f.Bound() as bound) | f.Globally(_, f.Bound() as bound) | f.Until(_, _, f.Bound() as bound)
            | f.Release(_, _, f.Bound() as bound) | f.WeakUntil(_, _, f.Bound() as bound)
        ):  # fmt: skip
            window = "[a..b]" if bound.low else "<=k"
            return f"{type(formula).__name__}{window}{'' if bound.ticks is None else ' ticks'}"
        case f.Enforces(_, goal, uniform):
            return f"<<>>{type(goal).__name__}{' uniform' if uniform else ''}"
        case f.Knows(mode):
            return f"Knows {mode}"
        case _:
            return type(formula).__name__
