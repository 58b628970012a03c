"""Hypothesis strategies: formulas of the whole logic over a system, and path formulas by themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.strategies import atoms

from cplc.system import formula as f
from cplc.system.formula import Formula, Taken, subformulas
from cplc.system.model import System


@dataclass(frozen=True)
class Logic:
    """What may occur, and how much of it."""

    past: bool = True
    taken: bool = True
    """Actions, of the next step and of whole runs."""
    bound: int | None = 3
    """The highest bound; without it none."""
    games: bool = True
    social: bool = True
    """Knowledge and commitments."""
    weight: int = 6
    """How many temporal operators one path formula may have, each bounded one counted as its bound says."""
    leaves: int = 4


WHOLE = Logic()
CTL_STAR = Logic(past=False, taken=False, games=False, social=False)


def steps_taken(system: System) -> SearchStrategy[Taken]:
    """Sets of steps; now and then of none, of all, or of one that is not in the system."""
    names = [step.name for step in system.steps]
    return st.lists(st.sampled_from([*names, "elsewhere"]), max_size=len(names), unique=True).map(
        lambda chosen: Taken(frozenset(chosen), " | ".join(f"does({name})" for name in chosen) or "false")
    )


def weight(path: Formula) -> int:
    """Return how many positions in time a path formula speaks of, state formulas apart."""
    if f.is_state_formula(path):
        return 0
    match path:
        case f.Finally(_, int(bound)) | f.Globally(_, int(bound)) | f.Until(_, _, int(bound)):
            own = bound
        case f.Next() | f.Finally() | f.Globally() | f.Until() | f.WeakUntil() | f.Release():
            own = 1
        case f.Previous() | f.Once() | f.Historically() | f.Since():
            own = 1
        case _:
            own = 0
    return own + sum(map(weight, f.children(path)))


def path_formulas(system: System, inner: SearchStrategy[Formula], logic: Logic = WHOLE) -> SearchStrategy[Formula]:
    """What may stand below a path quantifier, over these state formulas."""
    leaves = inner | steps_taken(system) if logic.taken else inner
    deep = st.recursive(leaves, lambda below: _temporal(below, logic) | _boolean(below), max_leaves=logic.leaves)
    return (_temporal(leaves, logic) | deep | deep).filter(lambda path: weight(path) <= logic.weight)


def _boolean(below: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
    several = st.lists(below, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(f.Not, below),
        st.builds(f.And, several),
        st.builds(f.Or, several),
        st.builds(f.Implies, below, below),
        st.builds(f.Iff, below, below),
    )


def _temporal(below: SearchStrategy[Formula], logic: Logic) -> SearchStrategy[Formula]:
    bounds = st.none() if logic.bound is None else st.none() | st.none() | st.integers(0, logic.bound)
    kinds: list[SearchStrategy[Formula]] = [
        st.builds(f.Next, below),
        st.builds(f.Finally, below, bounds),
        st.builds(f.Globally, below, bounds),
        st.builds(f.Until, below, below, bounds),
        st.builds(f.WeakUntil, below, below),
        st.builds(f.Release, below, below),
    ]
    if logic.past:
        kinds += [
            st.builds(f.Previous, below),
            st.builds(f.Once, below),
            st.builds(f.Historically, below),
            st.builds(f.Since, below, below),
        ]
    return st.one_of(kinds)


def quantified(system: System, inner: SearchStrategy[Formula], logic: Logic = WHOLE) -> SearchStrategy[Formula]:
    """A path quantifier, now and then over runs of some steps only, and a path formula over these state formulas."""
    along = st.none() | st.none() | steps_taken(system) if logic.taken else st.none()
    return st.builds(f.OnPaths, st.sampled_from(("E", "A")), path_formulas(system, inner, logic), along)


def groups(system: System) -> SearchStrategy[tuple[str, ...]]:
    names = [agent.name for agent in system.agents]
    return st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)


def games(system: System, inner: SearchStrategy[Formula], *, uniform: bool = False) -> SearchStrategy[Formula]:
    """What a group can enforce, over these state formulas."""
    goals = st.one_of(
        st.builds(f.Finally, inner),
        st.builds(f.Until, inner, inner),
        st.builds(f.Globally, inner),
        st.builds(f.Next, inner),
    )
    return st.builds(f.Enforces, groups(system), goals, st.just(uniform))


def logic_formulas(system: System, logic: Logic = WHOLE) -> SearchStrategy[Formula]:
    """State formulas of the whole logic, or of as much of it as is asked for."""
    return st.recursive(atoms(system), _compound(system, logic), max_leaves=logic.leaves)


def _compound(system: System, logic: Logic) -> Callable[[SearchStrategy[Formula]], SearchStrategy[Formula]]:
    modes = st.sampled_from(("each", "together", "common"))

    def compound(inner: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
        path = quantified(system, inner, logic)
        choices: list[SearchStrategy[Formula]] = [path, path, path, path, _boolean(inner)]
        if logic.games:
            choices.append(games(system, inner))
        if logic.social:
            choices.append(st.builds(f.Knows, modes, groups(system), inner))
        if logic.social and system.shared:
            pairs = [(pair.first, pair.second) for pair in system.shared]
            directed = st.sampled_from(pairs + [(second, first) for first, second in pairs])
            choices += [
                st.builds(lambda pair, operand: f.Commits(pair[0], pair[1], operand), directed, inner),
                st.builds(lambda pair, operand: f.Fulfils(pair[0], pair[1], operand), directed, inner),
            ]
        return st.one_of(choices)

    return compound


def operators(formula: Formula) -> list[str]:
    """Return a word for every operator that occurs, as often as it does, for statistics."""
    return [_word(part) for part in subformulas(formula)]


def _word(formula: Formula) -> str:
    match formula:
        case f.OnPaths(quantifier, _, along):
            kind = "" if f.ctl_path(formula) else "*"
            return f"{quantifier}{'' if along is None else '{..}'}{kind}"
        case f.Finally(_, int()) | f.Globally(_, int()) | f.Until(_, _, int()):
            return f"{type(formula).__name__}<=k"
        case f.Enforces(_, goal, uniform):
            return f"<<>>{type(goal).__name__}{' uniform' if uniform else ''}"
        case f.Knows(mode):
            return f"Knows {mode}"
        case _:
            return type(formula).__name__
