"""Path automata: their language, against the definitions, and their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.commitment_channels import promises
from tests.support.random_examples import examples

from cplc.automata.path_automaton import Automaton, LabelledEdge, automaton
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits
from cplc.logic.expressions import TRUE, Read
from cplc.logic.formulas import Formula
from cplc.runtime.context import ResourceExhausted

P, Q, R, S = (f.Atom(Read(name), name) for name in "pqrs")
A, B = f.Taken(frozenset({"a"}), "a"), f.Taken(frozenset({"b", "c"}), "b")
F, G, X, U = f.Finally, f.Globally, f.Next, f.Until


# --- words


@dataclass(frozen=True)
class Lasso:
    """A lasso word: at each position the atoms that hold and the step taken next. From ``loop`` on it repeats."""

    letters: tuple[tuple[frozenset[str], str], ...]
    loop: int

    def after(self, position: int) -> int:
        return position + 1 if position + 1 < len(self.letters) else self.loop

    def holds(self, position: int, formula: Formula) -> bool:
        """True if what a state or a step decides is so."""
        atoms, step = self.letters[position]
        match formula:
            case f.Atom(Read(name)):
                return name in atoms
            case f.Atom(condition):
                return condition == TRUE
            case f.Taken(steps):
                return step in steps
            case f.Not(operand):
                return not self.holds(position, operand)
            case f.And(operands):
                return all(self.holds(position, operand) for operand in operands)
            case f.Or(operands):
                return any(self.holds(position, operand) for operand in operands)
            case f.Implies(left, right):
                return not self.holds(position, left) or self.holds(position, right)
            case f.Iff(left, right):
                return self.holds(position, left) == self.holds(position, right)
            case _:
                raise AssertionError(formula)

    def unrolled(self, rounds: int) -> Lasso:
        return Lasso(
            self.letters + self.letters[self.loop :] * rounds,
            len(self.letters) + (len(self.letters) - self.loop) * (rounds - 1) if rounds else self.loop,
        )


def satisfied(word: Lasso, formula: Formula) -> bool:
    """Evaluate at the first position, by the definitions.

    What the past has to say repeats after one more round of the loop for each operator of the past above another.
    """
    past = sum(isinstance(part, f.Once | f.Historically | f.Since | f.Previous) for part in f.subformulas(formula))
    word = word.unrolled(past + 1) if past else word
    return _truth(word, formula)[0]


def _truth(word: Lasso, formula: Formula) -> list[bool]:
    positions = range(len(word.letters))

    def future(position: int) -> list[int]:
        """Return the positions from here on, each one once, in the order in which they come."""
        positions = [position]
        while (after := word.after(positions[-1])) not in positions:
            positions.append(after)
        return positions

    def within(position: int, bound: f.Bound | None) -> list[tuple[int, bool]]:
        """Return the positions up to the end of the window, each with whether it is inside."""
        if bound is None:
            return [(at, True) for at in future(position)]
        visited: list[tuple[int, bool]] = []
        count = 0
        while count <= bound.high and len(visited) < (bound.high + 2) * len(word.letters):
            visited.append((position, count >= bound.low))
            count += bound.ticks is None or word.holds(position, bound.ticks)
            position = word.after(position)
        return visited

    def until(left: Sequence[bool], right: Sequence[bool], position: int, bound: f.Bound | None) -> bool:
        for at, inside in within(position, bound):
            if inside and right[at]:
                return True
            if not left[at]:
                return False
        return False

    def throughout(now: Sequence[bool], position: int, bound: f.Bound | None) -> bool:
        return all(now[at] for at, inside in within(position, bound) if inside)

    def up_to(bound: f.Bound | None) -> f.Bound | None:
        return None if bound is None else replace(bound, low=0)

    def truth(operand: Formula) -> list[bool]:
        return _truth(word, operand)

    match formula:
        case f.Not(operand):
            return [not now for now in truth(operand)]
        case f.And(operands):
            several = [truth(operand) for operand in operands]
            return [all(one[at] for one in several) for at in positions]
        case f.Or(operands):
            several = [truth(operand) for operand in operands]
            return [any(one[at] for one in several) for at in positions]
        case f.Implies(left, right):
            return [not one or other for one, other in zip(truth(left), truth(right), strict=True)]
        case f.Iff(left, right):
            return [one == other for one, other in zip(truth(left), truth(right), strict=True)]
        case f.Next(operand):
            now = truth(operand)
            return [now[word.after(at)] for at in positions]
        case f.Finally(operand, bound):
            now = truth(operand)
            return [any(now[later] for later, inside in within(at, bound) if inside) for at in positions]
        case f.Globally(operand, bound):
            now = truth(operand)
            return [throughout(now, at, bound) for at in positions]
        case f.Until(left, right, bound):
            one, other = truth(left), truth(right)
            return [until(one, other, at, bound) for at in positions]
        case f.WeakUntil(left, right, bound):
            one, other = truth(left), truth(right)
            return [throughout(one, at, up_to(bound)) or until(one, other, at, bound) for at in positions]
        case f.Release(left, right, bound):
            one, other = truth(left), truth(right)
            no, nor = [not now for now in one], [not now for now in other]
            return [not until(no, nor, at, bound) for at in positions]
        case f.StrongRelease(left, right, bound):
            one, other = truth(left), truth(right)
            no, nor = [not now for now in one], [not now for now in other]
            return [not (throughout(no, at, up_to(bound)) or until(no, nor, at, bound)) for at in positions]
        case f.Previous(operand):
            now = truth(operand)
            return [at > 0 and now[at - 1] for at in positions]
        case f.Once(operand):
            now = truth(operand)
            return [any(now[: at + 1]) for at in positions]
        case f.Historically(operand):
            now = truth(operand)
            return [all(now[: at + 1]) for at in positions]
        case f.Since(left, right):
            one, other = truth(left), truth(right)
            return [any(other[then] and all(one[then + 1 : at + 1]) for then in range(at + 1)) for at in positions]
        case _:
            return [word.holds(at, formula) for at in positions]


def accepted(word: Lasso, reader: Automaton) -> bool:
    """True if some run over the word sees every mark again and again: each pair is tried as the one that repeats."""

    def fits(position: int, edge: LabelledEdge) -> bool:
        return all(word.holds(position, what) == holds for what, holds in (*edge.labels, *edge.taken))

    def onward(start: set[tuple[int, int]], marks: frozenset[int]) -> set[tuple[int, int, frozenset[int]]]:
        """Return the pairs of state and position that are met, with the marks seen on the way."""
        nodes = {(state, position, frozenset[int]()) for state, position in start}
        waiting = list(nodes)
        while waiting:
            state, position, seen_marks = waiting.pop()
            for edge in reader.edges[state]:
                later = (edge.target, word.after(position), seen_marks | edge.marks & marks)
                if fits(position, edge) and later not in nodes:
                    nodes.add(later)
                    waiting.append(later)
        return nodes

    def comes_back(state: int, position: int) -> bool:
        every = frozenset(range(reader.marks))
        first = {(edge.target, word.after(position)) for edge in reader.edges[state] if fits(position, edge)}
        reached = onward(first, frozenset())
        if (state, position, frozenset()) not in reached:
            return False
        looped = onward({(state, position)}, every)
        return (state, position, every) in looped and (reader.marks > 0 or bool(first))

    reached = {(state, position) for state, position, _ in onward({(at, 0) for at in reader.initial}, frozenset())}
    return any(comes_back(state, position) for state, position in reached if position >= word.loop)


# --- generated formulas and words


def _literals() -> st.SearchStrategy[Formula]:
    atoms = st.sampled_from((P, Q, R))
    both = st.builds(lambda one, other: f.And((one, other)), atoms, atoms)
    return st.one_of(atoms, atoms, both, st.sampled_from((A, B, f.Atom(TRUE, "true"), f.Or(()))))


def combinations(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    """Path formulas of every shape made of one or a few others."""
    ticks = st.none() | st.sampled_from((A, B))
    windows = st.builds(lambda low, more, by: f.Bound(low + more, low, by), st.integers(0, 2), st.integers(0, 2), ticks)
    bounds = st.none() | windows
    several = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        inner.map(f.Not),
        several.map(f.And),
        several.map(f.Or),
        st.builds(f.Implies, inner, inner),
        st.builds(f.Iff, inner, inner),
        inner.map(f.Next),
        st.builds(f.Finally, inner, bounds),
        st.builds(f.Globally, inner, bounds),
        inner.map(lambda operand: G(F(operand))),
        *(st.builds(kind, inner, inner, bounds) for kind in (f.Until, f.WeakUntil, f.Release, f.StrongRelease)),
        st.builds(f.WeakUntil, inner, inner),
        st.builds(f.StrongRelease, inner, inner),
        st.builds(f.Release, inner, inner),
        inner.map(f.Previous),
        inner.map(f.Once),
        inner.map(f.Historically),
        st.builds(f.Since, inner, inner),
    )


def paths() -> st.SearchStrategy[Formula]:
    return st.recursive(_literals(), combinations, max_leaves=6)


def words() -> st.SearchStrategy[Lasso]:
    letter = st.tuples(st.frozensets(st.sampled_from("pqr")), st.sampled_from(("", "a", "b", "c", "d")))
    letters = st.lists(letter, min_size=1, max_size=5).map(tuple)
    return letters.flatmap(lambda some: st.builds(Lasso, st.just(some), st.integers(0, len(some) - 1)))


@examples(150)
@given(paths(), st.lists(words(), min_size=4, max_size=8))
def test_path_automaton_accepts_models_of_formula(path: Formula, several: list[Lasso]) -> None:
    try:
        yes, no = automaton(path, 4000), automaton(f.Not(path), 4000)
    except ResourceExhausted:
        return
    for word in several:
        assert accepted(word, yes) == satisfied(word, path)
        assert accepted(word, no) != satisfied(word, path)


# --- sizes


def _both(*operands: Formula) -> Formula:
    return f.And(operands)


def _named(number: int) -> Formula:
    return f.Atom(Read(f"p{number}"), f"p{number}")


SIZES: dict[str, tuple[Formula, tuple[int, int, int]]] = {
    "true": (f.And(()), (1, 1, 0)),
    "false": (f.Or(()), (0, 0, 0)),
    "p": (P, (2, 2, 0)),
    "does(a)": (A, (2, 2, 0)),
    "X X p": (X(X(P)), (4, 4, 0)),
    "F p": (F(P), (2, 3, 1)),
    "G p": (G(P), (1, 1, 0)),
    "F p & F q": (_both(F(P), F(Q)), (4, 9, 1)),
    "p U (q U r)": (U(P, U(Q, R)), (3, 6, 1)),
    "G F p": (G(F(P)), (1, 2, 1)),
    "G F p & G F q & G F r": (_both(G(F(P)), G(F(Q)), G(F(R))), (1, 4, 3)),
    "G (F p & F q)": (G(_both(F(P), F(Q))), (1, 3, 2)),
    "G F p for twelve p": (_both(*(G(F(_named(number))) for number in range(12))), (1, 13, 12)),
    "F G F p": (F(G(F(P))), (2, 4, 1)),
    "F G p": (F(G(P)), (2, 3, 1)),
    "F G p -> G F q": (f.Implies(F(G(P)), G(F(Q))), (2, 4, 1)),
    "G (p -> F q)": (G(f.Implies(P, F(Q))), (2, 5, 1)),
    "F (p & G !q)": (f.Not(G(f.Implies(P, F(Q)))), (2, 3, 1)),
    "G (p -> F q) & G (r -> F s)": (_both(G(f.Implies(P, F(Q))), G(f.Implies(R, F(S)))), (4, 25, 2)),
    "G (q -> O p)": (G(f.Implies(Q, f.Once(P))), (2, 3, 0)),
    "F (q & O p)": (F(_both(Q, f.Once(P))), (3, 6, 1)),
    "G (p -> H q)": (G(f.Implies(P, f.Historically(Q))), (2, 3, 0)),
    "G (q -> p S r)": (G(f.Implies(Q, f.Since(P, R))), (2, 5, 0)),
    "G F<=10 p": (G(F(P, f.Bound(10))), (11, 21, 0)),
    "G (p -> F<=10 q)": (G(f.Implies(P, F(Q, f.Bound(10)))), (11, 22, 0)),
    "G F<=10 ticks p": (G(F(P, f.Bound(10, ticks=A))), (11, 33, 1)),
    "G (p -> F<=10 ticks q)": (G(f.Implies(P, F(Q, f.Bound(10, ticks=A)))), (12, 45, 1)),
    "F[5..10] ticks p": (F(P, f.Bound(10, 5, A)), (12, 35, 1)),
    "F<=500 p": (F(P, f.Bound(500)), (502, 1002, 0)),
}
"""States, edges and marks: no more of them than this."""


@pytest.mark.parametrize("text", SIZES)
def test_path_automaton_is_small(text: str) -> None:
    path, (states, edges, marks) = SIZES[text]
    built = automaton(path)
    assert len(built.edges) <= states
    assert sum(map(len, built.edges)) <= edges
    assert built.marks <= marks


def test_recurrences_share_one_state() -> None:
    built = automaton(_both(G(F(P)), G(F(Q))))
    assert built.initial == (0,)
    assert {(edge.target, edge.labels, edge.marks) for edge in built.edges[0]} == {
        (0, (), frozenset()),
        (0, ((P, True),), frozenset({0})),
        (0, ((Q, True),), frozenset({1})),
    }


def test_maximal_state_formula_is_one_label() -> None:
    committed = Commits(promises("a -> b", []), F(P))
    several = _both(f.Implies(P, committed), f.OnPaths("E", U(P, X(f.Once(Q)))), f.Enforces(("a",), F(Q)))
    built = automaton(f.Not(several))
    assert [edge.labels for edge in built.edges[built.initial[0]]] == [((several, False),)]


def test_contradictory_step_literals_have_no_edge() -> None:
    other, nothing = f.Taken(frozenset({"b"}), "b"), f.Taken(frozenset(), "nothing")
    assert automaton(_both(A, B)).initial == ()
    assert automaton(F(nothing)).initial == ()
    assert automaton(G(_both(other, f.Not(B)))).initial == ()
    assert automaton(G(_both(B, f.Not(other)))).initial == (0,)


def test_accepting_everything_is_detected() -> None:
    built = automaton(F(_both(P, X(Q))))
    assert [state for state in range(len(built.edges)) if built.accepts_everything(state)] == [2]
    assert not any(map(automaton(G(F(P))).accepts_everything, range(1)))


def test_path_automaton_above_limit_is_rejected() -> None:
    conjunction = _both(*(F(_both(_named(number), X(_named(number + 1)))) for number in range(20)))
    with pytest.raises(ResourceExhausted, match="more than"):
        automaton(conjunction, 1000)
