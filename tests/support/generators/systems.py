"""Hypothesis strategies: small random systems, well-formed by construction, and formulas over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.support.commitment_channels import between, offering, promises

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Channel, Commits, Conditional, Fulfils, Offering
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula
from cplc.system.model import Agent, Justice, Shared, Step, StepKind, System, Variable, VariableKind
from cplc.system.printer import expr_text

_DOMAINS: tuple[tuple[Value, ...], ...] = ((False, True), (False, True), (0, 1, 2), ("calm", "cross", "gone"), (1, 2))
_STATES = 144
"""Maximum number of states of a random system."""
_KEPT = 2000
"""Size of each cache of strategies; constructing and checking one takes longer than drawing from it."""


# --- systems


@st.composite
def systems(draw: DrawFn, *, fairness: bool | None = None, lifelike: bool = False, states: int = _STATES) -> System:
    """Two or three agents; with conditions of fairness, without, or (by default) either.

    A lifelike one has the justice that lowering gives: of each sender for its sends, of nobody for all else.
    """
    agents = ("A", "B", "C")[: draw(st.integers(2, 3))]
    variables, shared = _variables(draw, agents, states)
    steps = _steps(draw, agents, variables, shared)
    with_fairness = draw(st.sampled_from((False, False, True))) if fairness is None else fairness
    conditions = draw(st.lists(comparisons_over(variables), min_size=1, max_size=2)) if with_fairness else []
    return System(
        "Random",
        (),
        tuple(variables),
        tuple(Agent(name, name, tuple(v.name for v in variables if v.owner == name)) for name in agents),
        tuple(shared),
        (),
        (),
        tuple(steps),
        _just(steps) if lifelike else _justice(draw, agents, steps, with_fairness=with_fairness),
        tuple(conditions),
    )


def _variables(draw: DrawFn, agents: Sequence[str], states: int) -> tuple[list[Variable], list[Shared]]:
    variables: list[Variable] = []
    shared: list[Shared] = []
    size = 1

    def add(name: str, domain: tuple[Value, ...], kind: VariableKind, owner: str) -> None:
        initial = draw(st.sampled_from([*((value,) for value in domain), domain[:2], domain]))
        variables.append(Variable(name, domain, initial, kind, owner, name.partition("@")[0]))

    pairs = list(combinations(agents, 2))
    for number in range(draw(st.sampled_from((1, 2, 3)))):
        first, second = draw(st.sampled_from(pairs))
        domain = draw(st.sampled_from(_DOMAINS))
        if size * len(domain) ** 2 > states:
            break
        size *= len(domain) ** 2
        names = (f"x{number}@{first}", f"x{number}@{second}")
        for name, owner in zip(names, (first, second), strict=True):
            add(name, domain, "copy" if domain == (False, True) else "field", owner)
        shared.append(Shared(first, second, *names))
    for number in range(draw(st.sampled_from((0, 1, 2, 3)))):
        owner = draw(st.sampled_from((*agents, "Env")))
        domain = draw(st.sampled_from(_DOMAINS))
        if size * len(domain) > states:
            break
        size *= len(domain)
        add(f"y{number}", domain, "own" if owner != "Env" else "commitment", owner)
    return variables, shared


def _steps(draw: DrawFn, agents: Sequence[str], variables: Sequence[Variable], shared: Sequence[Shared]) -> list[Step]:
    """Messages on each shared variable and a few steps of any kind: enough for most systems to have a life."""
    steps: list[Step] = []
    for pair in shared:
        back = pair.second, pair.first, pair.at_second, pair.at_first
        sent = (pair.first, pair.second, pair.at_first, pair.at_second) if draw(st.booleans()) else back
        for value in draw(st.lists(_message_values(sent[2], variables), min_size=1, max_size=2)):
            steps.append(_send(draw, len(steps), sent, value, variables))
        steps.append(_receipt(draw, len(steps), sent, variables))
    for _ in range(draw(st.sampled_from((1, 2, 3, 4)))):
        steps.append(_any_step(draw, len(steps), agents, variables))
    return steps


def _message_values(sent: str, variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    variable = next(variable for variable in variables if variable.name == sent)
    return values_for(variable, [other for other in variables if other.owner == variable.owner])


def _send(
    draw: DrawFn, number: int, message: tuple[str, str, str, str], value: Expr, variables: Sequence[Variable]
) -> Step:
    """A sending while nothing is in flight; its guard sees only the sender's side."""
    sender, _, sent, received = message
    local = [variable for variable in variables if variable.owner == sender]
    guard = e.conj((e.equal(e.Read(sent), e.Read(received)), draw(_guards(local))))
    return Step(f"send {number}", "send", sender, f"e{number}", (), guard, ((sent, value),))


def _receipt(draw: DrawFn, number: int, message: tuple[str, str, str, str], variables: Sequence[Variable]) -> Step:
    """The receipt of what is in flight, with an effect on the receiver or on what nobody sees."""
    _, receiver, sent, received = message
    other_variables = [
        variable for variable in variables if variable.owner in {receiver, "Env"} and variable.name != received
    ]
    effects = draw(st.lists(st.sampled_from(other_variables), max_size=1)) if other_variables else []
    updates = [(variable.name, draw(values_for(variable, variables))) for variable in effects]
    guard = e.negate(e.equal(e.Read(sent), e.Read(received)))
    received_now = (received, e.Read(sent))
    return Step(f"receive {number}", "receive", receiver, f"e{number}", (), guard, (received_now, *updates))


def _any_step(draw: DrawFn, number: int, agents: Sequence[str], variables: Sequence[Variable]) -> Step:
    kind: StepKind = draw(st.sampled_from(("send", "exchange", "restart", "tick")))
    actor = "Env" if kind in {"restart", "tick"} else draw(st.sampled_from(agents))
    written = draw(
        st.lists(st.sampled_from(variables), min_size=draw(st.sampled_from((0, 1, 1))), max_size=3, unique=True)
    )
    free = written[: draw(st.integers(0, len(written)))] if kind == "restart" else []
    updates = tuple(
        (variable.name, draw(values_for(variable, variables))) for variable in written if variable not in free
    )
    freed = tuple(variable.name for variable in free)
    return Step(f"{kind} {number}", kind, actor, f"e{number}", (), draw(_guards(variables)), updates, freed)


def _guards(variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    return _guards_over(_shapes(variables))


@lru_cache(_KEPT)
def _guards_over(shapes: Shapes) -> SearchStrategy[Expr]:
    often = st.sampled_from((True, True, False))
    return often.flatmap(lambda simple: _simple_guards(shapes) if simple else _conditions(shapes))


@lru_cache(_KEPT)
def _simple_guards(shapes: Shapes) -> SearchStrategy[Expr]:
    return _comparisons(shapes).map(e.negate) | _comparisons(shapes) | st.just(e.TRUE)


def _justice(draw: DrawFn, agents: Sequence[str], steps: Sequence[Step], *, with_fairness: bool) -> tuple[Justice, ...]:
    """Constraints on most of the steps, now and then on two of them together."""
    conditions: list[Justice] = []
    for number, step in enumerate(steps):
        roles = (None, None, step.actor) if step.actor in agents else (None,)
        if draw(st.sampled_from((True, True, False))):
            joined = draw(st.sampled_from(((number,), (number,), (number, len(steps) - 1 - number))))
            positions = tuple(dict.fromkeys(joined))
            recurs = with_fairness and draw(st.sampled_from((False, False, True)))
            role = None if recurs else draw(st.sampled_from(roles))
            due = e.TRUE if recurs else None
            conditions.append(Justice(f"j{number}", positions, role, due, recurs))
    return tuple(conditions)


def _just(steps: Sequence[Step]) -> tuple[Justice, ...]:
    return tuple(
        Justice(f"j{number}", (number,), step.actor if step.kind in {"send", "exchange"} else None)
        for number, step in enumerate(steps)
    )


# --- expressions


class Shape(NamedTuple):
    """Expressions over a variable, as cached strategies, since their construction takes long."""

    name: str
    domain: tuple[Value, ...]
    of: type
    """The values', for 1 and ``True`` are equal."""


Shapes = tuple[Shape, ...]


def _shapes(variables: Iterable[Variable]) -> Shapes:
    return tuple(Shape(variable.name, variable.domain, type(variable.domain[0])) for variable in variables)


def comparisons_over(variables: Sequence[Variable]) -> SearchStrategy[Expr]:
    return _comparisons(_shapes(variables))


@lru_cache(_KEPT)
def _comparisons(shapes: Shapes) -> SearchStrategy[Expr]:
    return st.sampled_from(shapes).flatmap(lambda shape: _comparisons_of(shape, shapes))


@lru_cache(_KEPT)
def _comparisons_of(variable: Shape, variables: Shapes) -> SearchStrategy[Expr]:
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
    return _conditions(_shapes(variables))


@lru_cache(_KEPT)
def _conditions(shapes: Shapes) -> SearchStrategy[Expr]:
    if not shapes:
        return st.sampled_from((e.TRUE, e.FALSE))
    leaves = st.just(e.TRUE) | _comparisons(shapes) | _comparisons(shapes)
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
    (shape,) = _shapes((variable,))
    return _values(shape, _shapes(variables))


@lru_cache(_KEPT)
def _values(variable: Shape, variables: Shapes) -> SearchStrategy[Expr]:
    alike = [other.name for other in variables if other.domain == variable.domain]
    leaves: SearchStrategy[Expr] = st.sampled_from(variable.domain).map(e.Const)
    if alike:
        leaves |= st.sampled_from(alike).map(e.Read)
    choices: list[SearchStrategy[Expr]] = [leaves, st.builds(e.Ite, _conditions(variables), leaves, leaves)]
    if _is_bool(variable):
        choices.append(_conditions(variables))
    if _is_number(variable):
        low, size = int(variable.domain[0]), len(variable.domain)
        turned = e.Arith("%", e.Arith("+", e.Read(variable.name), e.Const(1)), e.Const(size))
        choices.append(st.just(turned if low == 0 else e.Arith("+", turned, e.Const(low))))
    return st.one_of(choices)


def _is_bool(variable: Shape) -> bool:
    return variable.domain == (False, True) and isinstance(variable.domain[0], bool)


def _is_number(variable: Shape) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in variable.domain)


# --- formulas


def every_kind(system: System, p: Formula, q: Formula) -> list[Formula]:
    """Return one formula for each operator, bound, group and pair there is."""
    every_path: list[f.CtlPath] = [f.Next(p)]
    ticks = f.Taken(frozenset(step.name for step in system.steps[::2]), "does(A)")
    steps = (f.Bound(0), f.Bound(1), f.Bound(2), f.Bound(5), f.Bound(3, 1))
    for bound in (None, *steps, f.Bound(0, ticks=ticks), f.Bound(2, ticks=ticks), f.Bound(2, 1, ticks)):
        every_path += [f.Finally(p, bound), f.Globally(p, bound), f.Until(p, q, bound)]
    for bound in (None, f.Bound(2, 1), f.Bound(1, ticks=ticks)):
        every_path += [f.WeakUntil(p, q, bound), f.Release(p, q, bound), f.StrongRelease(p, q, bound)]
    names = tuple(agent.name for agent in system.agents)
    return [
        f.Not(p),
        f.And((p, q)),
        f.Or((p, q)),
        f.Implies(p, q),
        f.Iff(p, q),
        *(f.OnPaths("E", path) for path in every_path),
        *(f.OnPaths("A", path) for path in every_path),
        *(f.Knows("each", (name,), p) for name in names),
        *(f.Knows("each", group, p) for group in (names[:2], names)),
        *(f.Knows("together", group, p) for group in (names[:2], names)),
        *(f.Knows("common", group, p) for group in (names[:2], names)),
        *(Commits(channel, p) for channel in some_channels(system)),
        *(Fulfils(channel, p) for channel in some_channels(system)),
        *(Conditional(one, "WCC", p, q) for one in some_offerings(system)),
        *(Conditional(one, "ReS", p, q) for one in some_offerings(system)),
    ]


def atoms(system: System) -> SearchStrategy[Formula]:
    """Conditions on the state."""
    return _atoms(_shapes(system.variables))


@lru_cache(_KEPT)
def _atoms(shapes: Shapes) -> SearchStrategy[Formula]:
    conditions = _comparisons(shapes) | _conditions(shapes)
    return conditions.map(lambda condition: f.Atom(condition, expr_text(condition)))


def formulas(system: System) -> SearchStrategy[Formula]:
    """State formulas of every kind over a system."""
    agents = tuple(agent.name for agent in system.agents)
    return _formulas(_shapes(system.variables), agents, some_channels(system), some_offerings(system))


def some_channels(system: System) -> tuple[Channel, ...]:
    """Return channels of shared variables, of one promise, and of two that may depend on one another."""
    pairs = dict.fromkeys((pair.first, pair.second) for pair in system.shared)
    directed = dict.fromkeys((*pairs, *((second, first) for first, second in pairs)))
    values = [(variable.name, variable.domain) for variable in system.variables if len(variable.domain) > 1]
    last: list[Expr] = [e.Equal(e.Read(name), e.Const(domain[-1])) for name, domain in values]
    first, *rest = last or [e.TRUE]
    second = e.disj((first, rest[-1])) if rest else first
    conditions = [e.conj((first, e.Equal(e.Read(name), e.Const(domain[0])))) for name, domain in values[-1:]] or [first]
    return (
        *(between(system, *pair) for pair in directed),
        promises("one", [(first, conditions[0])]),
        promises("two", [(first, conditions[0]), (second, e.conj((second, *rest[:1])))]),
    )


def some_offerings(system: System) -> tuple[Offering, ...]:
    """Return channels of promises that may be offered, kept and given up, by the values of some variables."""
    values = [(variable.name, variable.domain) for variable in system.variables if len(variable.domain) > 1]
    last: list[Expr] = [e.Equal(e.Read(name), e.Const(domain[-1])) for name, domain in values] or [e.TRUE]
    least: list[Expr] = [e.Equal(e.Read(name), e.Const(domain[0])) for name, domain in values] or [e.TRUE]
    one, other = (last[0], e.conj((last[0], least[-1]))), (last[-1], e.conj((last[-1], last[len(last) // 2])))
    given_up = (least[len(least) // 2], last[len(last) // 2])
    return (
        offering("offers", [one], [given_up]),
        offering("more", [one, other], [given_up, (least[0], least[-1])]),
    )


def conditionals(offerings: tuple[Offering, ...], inner: SearchStrategy[Formula]) -> SearchStrategy[Conditional]:
    """Return formulas for every modality of conditional commitment."""
    some, alone = st.sampled_from(offerings), ("WCC", "SCC", "FuW", "FuS", "CaS", "ReS")
    return st.one_of(
        st.builds(Conditional, some, st.sampled_from(alone), inner, inner),
        st.builds(Conditional, some, st.sampled_from(("DeS", "AsS")), inner, inner, some, st.just("third")),
    )


@lru_cache(_KEPT)
def _formulas(
    shapes: Shapes, agents: tuple[str, ...], channels: tuple[Channel, ...], offerings: tuple[Offering, ...]
) -> SearchStrategy[Formula]:
    return st.recursive(_atoms(shapes), lambda inner: _compound(agents, channels, offerings, inner), max_leaves=5)


def _compound(
    agents: tuple[str, ...],
    channels: tuple[Channel, ...],
    offerings: tuple[Offering, ...],
    inner: SearchStrategy[Formula],
) -> SearchStrategy[Formula]:
    several = st.lists(inner, max_size=3).map(tuple)
    group = st.lists(st.sampled_from(agents), min_size=1, unique=True).map(tuple)
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
    choices += [
        st.builds(Commits, st.sampled_from(channels), inner),
        st.builds(Fulfils, st.sampled_from(channels), inner),
        conditionals(offerings, inner),
    ]
    return st.one_of(choices)


def paths(inner: SearchStrategy[Formula]) -> SearchStrategy[f.CtlPath]:
    bounds = st.none() | st.builds(f.Bound, st.integers(0, 3))
    return st.one_of(
        st.builds(f.Next, inner),
        st.builds(f.Finally, inner, bounds),
        st.builds(f.Globally, inner, bounds),
        st.builds(f.Until, inner, inner, bounds),
        st.builds(f.WeakUntil, inner, inner),
        st.builds(f.StrongRelease, inner, inner),
        st.builds(f.Release, inner, inner),
    )


def roles(system: System) -> SearchStrategy[frozenset[str]]:
    """Sets of roles to assume."""
    return st.frozensets(st.sampled_from([agent.name for agent in system.agents]))
