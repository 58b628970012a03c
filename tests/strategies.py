"""Hypothesis strategies: small random systems, well-formed by construction, and formulas over them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from cplc.system import expr as e
from cplc.system import formula as f
from cplc.system.expr import Expr, Value
from cplc.system.formula import Formula
from cplc.system.model import Agent, Justice, Shared, Step, StepKind, System, Variable, VariableKind
from cplc.system.printer import expr_text

_DOMAINS: tuple[tuple[Value, ...], ...] = ((False, True), (False, True), (0, 1, 2), ("calm", "cross", "gone"), (1, 2))
_STATES = 144
"""How many states a random system may have at most."""


# --- systems


@st.composite
def systems(draw: DrawFn, *, fairness: bool | None = None) -> System:
    """Two or three agents; with conditions of fairness, without, or (by default) either."""
    agents = ("A", "B", "C")[: draw(st.integers(2, 3))]
    variables, shared = _variables(draw, agents)
    steps = _steps(draw, agents, variables, shared)
    with_fairness = draw(st.integers(0, 3)) == 0 if fairness is None else fairness
    conditions = draw(st.lists(conditions_over(variables), min_size=1, max_size=2)) if with_fairness else []
    return System(
        "Random",
        (),
        tuple(variables),
        tuple(Agent(name, name, tuple(v.name for v in variables if v.owner == name)) for name in agents),
        tuple(shared),
        (),
        (),
        tuple(steps),
        _justice(draw, agents, len(steps)),
        tuple(conditions),
    )


def _variables(draw: DrawFn, agents: Sequence[str]) -> tuple[list[Variable], list[Shared]]:
    variables: list[Variable] = []
    shared: list[Shared] = []
    size = 1

    def add(name: str, domain: tuple[Value, ...], kind: VariableKind, owner: str) -> None:
        several = draw(st.integers(0, 5)) == 0
        initial = draw(st.lists(st.sampled_from(domain), min_size=1, max_size=3 if several else 1, unique=True))
        variables.append(Variable(name, domain, tuple(initial), kind, owner, name.partition("@")[0]))

    pairs = list(combinations(agents, 2))
    for number in range(draw(st.integers(1, 3))):
        first, second = draw(st.sampled_from(pairs))
        domain = draw(st.sampled_from(_DOMAINS))
        if size * len(domain) ** 2 > _STATES:
            break
        size *= len(domain) ** 2
        names = (f"x{number}@{first}", f"x{number}@{second}")
        for name, owner in zip(names, (first, second), strict=True):
            add(name, domain, "copy" if domain == (False, True) else "field", owner)
        shared.append(Shared(first, second, *names))
    for number in range(draw(st.integers(0, 3))):
        owner = draw(st.sampled_from((*agents, "Env")))
        domain = draw(st.sampled_from(_DOMAINS))
        if size * len(domain) > _STATES:
            break
        size *= len(domain)
        add(f"y{number}", domain, "own" if owner != "Env" else "commitment", owner)
    return variables, shared


def _steps(draw: DrawFn, agents: Sequence[str], variables: Sequence[Variable], shared: Sequence[Shared]) -> list[Step]:
    steps = []
    for number in range(draw(st.integers(0, 7))):
        kind: StepKind = draw(st.sampled_from(("send", "send", "receive", "receive", "exchange", "restart", "tick")))
        if kind in {"send", "receive"} and shared:
            pair = draw(st.sampled_from(shared))
            steps.append(_message_step(draw, number, kind, pair, variables))
            continue
        actor = "Env" if kind in {"restart", "tick"} else draw(st.sampled_from(agents))
        written = draw(st.lists(st.sampled_from(variables), max_size=3, unique=True))
        free = written[: draw(st.integers(0, len(written)))] if kind == "restart" else []
        updates = tuple((v.name, draw(values_for(v, variables))) for v in written if v not in free)
        guard = draw(conditions_over(variables))
        freed = tuple(variable.name for variable in free)
        steps.append(Step(f"{kind} {number}", kind, actor, f"e{number}", (), guard, updates, freed))
    return steps


def _message_step(
    draw: DrawFn, number: int, kind: Literal["send", "receive"], pair: Shared, variables: Sequence[Variable]
) -> Step:
    """A sending while nothing is in flight, or the receipt of what is; either direction."""
    forth = draw(st.booleans())
    sender, receiver = (pair.first, pair.second) if forth else (pair.second, pair.first)
    sent, received = (pair.at_first, pair.at_second) if forth else (pair.at_second, pair.at_first)
    same = e.equal(e.Read(sent), e.Read(received))
    name = f"{kind} {number}"
    if kind == "receive":
        others = [
            variable for variable in variables if variable.owner in {receiver, "Env"} and variable.name != received
        ]
        effects = draw(st.lists(st.sampled_from(others), max_size=1)) if others else []
        updates = [(variable.name, draw(values_for(variable, variables))) for variable in effects]
        guard = e.negate(same)
        return Step(name, kind, receiver, f"e{number}", (), guard, ((received, e.Read(sent)), *updates))
    local = [variable for variable in variables if variable.owner == sender]
    guard = e.conj((same, draw(conditions_over(local))))
    value = draw(values_for(next(variable for variable in local if variable.name == sent), local))
    return Step(name, kind, sender, f"e{number}", (), guard, ((sent, value),))


def _justice(draw: DrawFn, agents: Sequence[str], steps: int) -> tuple[Justice, ...]:
    if not steps:
        return ()
    groups = draw(
        st.lists(
            st.tuples(
                st.lists(st.integers(0, steps - 1), min_size=1, max_size=2, unique=True),
                st.sampled_from((None, *agents)),
            ),
            max_size=4,
        )
    )
    return tuple(Justice(f"j{number}", tuple(group), role) for number, (group, role) in enumerate(groups))


# --- expressions


def comparisons_over(variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    return st.sampled_from(list(variables)).flatmap(lambda variable: _comparisons(variable, variables))


def _comparisons(variable: Variable, variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    read = e.Read(variable.name)
    values = st.sampled_from(variable.domain)
    choices: list[SearchStrategy[Expr]] = [values.map(lambda value: e.Equal(read, e.Const(value)))]
    alike = [e.Read(other.name) for other in variables if other.domain == variable.domain]
    choices.append(st.sampled_from(alike).map(lambda other: e.Equal(read, other)))
    if _is_bool(variable):
        choices.append(st.just(read))
    elif _is_number(variable):
        numbers = [e.Read(other.name) for other in variables if _is_number(other)]
        operands = st.sampled_from(numbers) | st.integers(-1, 3).map(e.Const)
        operators = st.sampled_from(("+", "-", "*", "%"))
        sums = st.builds(e.Arith, operators, st.just(read), operands)
        choices += [st.builds(e.Less, operands, st.just(read)), st.builds(e.Less, sums, operands)]
    return st.one_of(choices)


def conditions_over(variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    """Truth values over these variables."""
    if not variables:
        return st.sampled_from((e.TRUE, e.FALSE))
    leaves = st.just(e.TRUE) | comparisons_over(variables) | comparisons_over(variables)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(e.negate),
            st.lists(inner, min_size=2, max_size=3).map(e.conj),
            st.lists(inner, min_size=2, max_size=3).map(e.disj),
            st.builds(e.Equal, inner, inner),
            st.builds(e.Ite, inner, inner, inner),
        ),
        max_leaves=4,
    )


def values_for(variable: Variable, variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    """Expressions whose value is always one of the variable's."""
    alike = [other.name for other in variables if other.domain == variable.domain]
    leaves: SearchStrategy[Expr] = st.sampled_from(variable.domain).map(e.Const)
    if alike:
        leaves |= st.sampled_from(alike).map(e.Read)
    choices: list[SearchStrategy[Expr]] = [leaves, st.builds(e.Ite, conditions_over(variables), leaves, leaves)]
    if _is_bool(variable):
        choices.append(conditions_over(variables))
    if _is_number(variable):
        low, size = int(variable.domain[0]), len(variable.domain)
        turned = e.Arith("%", e.Arith("+", e.Read(variable.name), e.Const(1)), e.Const(size))
        choices.append(st.just(turned if low == 0 else e.Arith("+", turned, e.Const(low))))
    return st.one_of(choices)


def _is_bool(variable: Variable) -> bool:
    return variable.domain == (False, True) and isinstance(variable.domain[0], bool)


def _is_number(variable: Variable) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in variable.domain)


# --- formulas


def formulas(system: System) -> SearchStrategy[Formula]:
    """State formulas of every kind over a system."""
    atoms = conditions_over(system.variables).map(lambda condition: f.Atom(condition, expr_text(condition)))
    return st.recursive(atoms, lambda inner: _compound(system, inner), max_leaves=5)


def _compound(system: System, inner: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
    several = st.lists(inner, max_size=3).map(tuple)
    group = st.lists(st.sampled_from([agent.name for agent in system.agents]), min_size=1, unique=True).map(tuple)
    modes = st.sampled_from(("each", "together", "common"))
    quantifiers = st.sampled_from(("A", "E"))
    choices: list[SearchStrategy[Formula]] = [
        inner.map(f.Not),
        several.map(f.And),
        several.map(f.Or),
        st.builds(f.Implies, inner, inner),
        st.builds(f.Iff, inner, inner),
        st.builds(f.OnPaths, quantifiers, paths(inner)),
        st.builds(f.OnPaths, quantifiers, paths(inner)),
        st.builds(f.OnPaths, quantifiers, paths(inner)),
        st.builds(f.Knows, modes, group, inner),
    ]
    if system.shared:
        pairs = [(pair.first, pair.second) for pair in system.shared]
        directed = st.sampled_from(pairs + [(second, first) for first, second in pairs])
        choices += [
            st.builds(lambda pair, operand: f.Commits(pair[0], pair[1], operand), directed, inner),
            st.builds(lambda pair, operand: f.Fulfils(pair[0], pair[1], operand), directed, inner),
        ]
    return st.one_of(choices)


def paths(inner: SearchStrategy[Formula]) -> SearchStrategy[f.Path]:
    bounds = st.none() | st.integers(0, 3)
    return st.one_of(
        st.builds(f.Next, inner),
        st.builds(f.Finally, inner, bounds),
        st.builds(f.Globally, inner, bounds),
        st.builds(f.Until, inner, inner, bounds),
        st.builds(f.WeakUntil, inner, inner),
        st.builds(f.Release, inner, inner),
    )


def roles(system: System) -> SearchStrategy[frozenset[str]]:
    """Sets of roles to assume."""
    return st.frozensets(st.sampled_from([agent.name for agent in system.agents]))
