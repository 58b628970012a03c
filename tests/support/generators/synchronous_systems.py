"""Hypothesis strategies: small random synchronous systems."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.support.generators.systems import comparisons_over, conditions_over, values_for

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.system.model import Agent, System, Variable
from cplc.system.synchronous import Action, Change, Player

_DOMAINS: tuple[tuple[Value, ...], ...] = ((False, True), (0, 1, 2), ("calm", "cross", "gone"), (-1, 0))
_ACTIONS = ("go", "stay", "sing")


@st.composite
def synchronous_systems(draw: DrawFn) -> System:
    """Two or three players; some states are deadlocks, some values out of range, some variables never written."""
    agents = ("A", "B", "C")[: draw(st.integers(2, 3))]
    variables = [
        Variable(f"{agent}.{name}", domain, draw(st.sampled_from((domain, domain[:1]))), "own", agent, name)
        for agent in agents
        for name, domain in zip("xy", draw(st.lists(st.sampled_from(_DOMAINS), min_size=1, max_size=2)), strict=False)
    ]
    players = tuple(draw(_players(agent, agents, variables)) for agent in agents)
    return System(
        "Rounds",
        (),
        tuple(variables),
        tuple(Agent(name, name, tuple(one.name for one in variables if one.owner == name)) for name in agents),
        (),
        (),
        (),
        (),
        (),
        tuple(draw(st.lists(comparisons_over(variables), max_size=2)) if draw(st.booleans()) else ()),
        players=players,
        start=draw(st.sampled_from((e.TRUE, draw(conditions_over(variables))))),
    )


@st.composite
def _players(draw: DrawFn, agent: str, agents: Sequence[str], variables: Sequence[Variable]) -> Player:
    names = _ACTIONS[: draw(st.integers(1, 3))]
    here = draw(comparisons_over(variables))
    ways: tuple[tuple[Expr, ...], ...] = (
        (e.TRUE,) * 3,
        (here, e.negate(here), e.FALSE),
        (here, e.TRUE, draw(comparisons_over(variables))),
        tuple(draw(comparisons_over(variables)) for _ in range(3)),
    )
    allowed = draw(st.sampled_from(ways)) if len(names) > 1 or draw(st.booleans()) else (e.TRUE,) * 3
    own = [one for one in variables if one.owner == agent]
    together = [own] if draw(st.booleans()) else [[one] for one in own]
    rules = [
        tuple(draw(_changes(targets, agents, variables)) for _ in range(draw(st.integers(0, 3))))
        for targets in together
    ]
    actions = tuple(Action(name, where) for name, where in zip(names, allowed, strict=False))
    return Player(agent, f"{agent}.Action", actions, tuple(filter(None, rules)))


@st.composite
def _changes(draw: DrawFn, targets: Sequence[Variable], agents: Sequence[str], variables: Sequence[Variable]) -> Change:
    tests = st.one_of(_acts(agents), comparisons_over(variables))
    guard = draw(st.sampled_from((e.conj, e.disj)))(draw(st.lists(tests, max_size=3)))
    written = draw(st.lists(st.sampled_from(list(targets)), min_size=1, max_size=2, unique_by=lambda one: one.name))
    return Change(guard, tuple((one.name, draw(_assigned(one, variables))) for one in written))


def _acts(agents: Sequence[str]) -> SearchStrategy[Expr]:
    acts = [e.Equal(e.Read(f"{agent}.Action"), e.Const(name)) for agent in agents for name in _ACTIONS]
    return st.sampled_from([*acts, *map(e.negate, acts)])


def _assigned(variable: Variable, variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    if isinstance(variable.domain[-1], int) and not isinstance(variable.domain[-1], bool):
        more = e.Arith("+", e.Read(variable.name), e.Const(1))
        return st.one_of(st.just(more), values_for(variable, variables))
    return values_for(variable, variables)


def adjacent(system: System, operand: Formula) -> SearchStrategy[Formula]:
    """Draw a formula about a neighbouring state."""
    names = st.sampled_from([variable.name for variable in system.variables])
    done = [(player.choice, name) for player in system.players for name in _ACTIONS]
    return st.builds(
        f.Adjacent,
        st.just(operand),
        st.lists(st.tuples(names, names), max_size=2).map(tuple),
        st.sampled_from([None, *done]),
        st.booleans(),
    )
