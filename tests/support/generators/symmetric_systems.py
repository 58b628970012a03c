"""Random systems with interchangeable members of a family, and with members that are nearly so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.system.model import Agent, Justice, Shared, Step, System, Variable

Template = Callable[[int], Expr]
"""A condition or value for each member."""

_BOOL = (False, True)
_LEVELS = (0, 1, 2)


def _own(member: int) -> dict[str, str]:
    return {"mine": f"x[{member}]@Cus[{member}]", "theirs": f"x[{member}]@Shop", "level": f"y[{member}]"}


@st.composite
def _literals(draw: st.DrawFn, members: tuple[int, ...]) -> Template:
    """Something about the member, about what all have in common, or about all or some members."""
    kind = draw(st.sampled_from(("mine", "theirs", "level", "stock", "all", "any")))
    value, negated = draw(st.sampled_from(_LEVELS)), draw(st.booleans())

    def of(member: int, name: str) -> Expr:
        read = e.Read(_own(member)[name])
        return e.Equal(read, e.Const(value)) if name == "level" else read

    def plain(member: int) -> Expr:
        if kind == "stock":
            return e.Equal(e.Read("stock"), e.Const(value))
        if kind in {"all", "any"}:
            name = ("mine", "theirs", "level")[value]
            return (e.conj if kind == "all" else e.disj)(of(each, name) for each in members)
        return of(member, kind)

    return lambda member: e.negate(plain(member)) if negated else plain(member)


@st.composite
def crowds(draw: st.DrawFn, most: int = 3) -> System:
    """A shop and some members of a family, all alike."""
    members = tuple(range(1, draw(st.integers(2, most)) + 1))
    names = {member: _own(member) for member in members}
    first = {
        name: draw(st.sampled_from((domain[:1], domain[-1:], domain[:2])))
        for name, domain in (("mine", _BOOL), ("theirs", _BOOL), ("level", _LEVELS), ("stock", _LEVELS))
    }
    variables = [Variable("stock", _LEVELS, first["stock"], "own", "Shop", "stock")]
    for member in members:
        mine, theirs, level = names[member].values()
        variables += [
            Variable(mine, _BOOL, first["mine"], "copy", f"Cus[{member}]", f"x[{member}]"),
            Variable(theirs, _BOOL, first["theirs"], "copy", "Shop", f"x[{member}]"),
            Variable(level, _LEVELS, first["level"], "own", f"Cus[{member}]", f"y[{member}]"),
        ]
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 4))):
        guard = draw(st.lists(_literals(members), max_size=2))
        written = draw(st.lists(st.sampled_from(("mine", "theirs", "level", "stock")), unique=True, max_size=2))
        values = {name: draw(_literals(members)) for name in ("mine", "theirs")}
        amount, absolute = draw(st.sampled_from(_LEVELS)), draw(st.booleans())
        actor, free = draw(st.sampled_from(("Cus", "Shop"))), draw(st.sampled_from((False, False, False, True)))

        value = _value(values, names, amount if absolute else None, amount)
        for member in members:
            own = {**names[member], "stock": "stock"}
            steps.append(
                Step(
                    f"send s{number}[{member}]",
                    "send",
                    f"Cus[{member}]" if actor == "Cus" else "Shop",
                    f"s{number}[{member}]",
                    (),
                    e.conj(part(member) for part in guard),
                    tuple((own[name], value(name, member)) for name in written),
                    (own["level"],) if free and "level" not in written else (),
                )
            )
    agents = [Agent("Shop", "Shop", ("stock", *(names[member]["theirs"] for member in members)))]
    agents += [Agent(f"Cus[{m}]", "Cus", (names[m]["mine"], names[m]["level"])) for m in members]
    justice = tuple(Justice(step.name, (number,), step.actor) for number, step in enumerate(steps))
    shared = tuple(Shared(f"Cus[{m}]", "Shop", names[m]["mine"], names[m]["theirs"]) for m in members)
    return System("Crowd", (), tuple(variables), tuple(agents), shared, (), (), tuple(steps), justice, ())


def _value(
    literals: dict[str, Template], names: dict[int, dict[str, str]], constant: int | None, more: int
) -> Callable[[str, int], Expr]:
    """Return what is written: to a truth value a condition, to a number another number, or that and some more."""

    def value(name: str, member: int) -> Expr:
        if name in literals:
            return literals[name](member)
        read = e.Read("stock" if name == "stock" else names[member][name])
        return e.Arith("%", e.Arith("+", read, e.Const(more)), e.Const(3)) if constant is None else e.Const(constant)

    return value


def queue(*members: int) -> System:
    """Members who each come and are then served, in any order."""
    names = {member: _own(member) for member in members}
    variables = [Variable("stock", _LEVELS, (0,), "own", "Shop", "stock")]
    steps: list[Step] = []
    for member, own in names.items():
        mine, theirs, level = own.values()
        variables += [
            Variable(mine, _BOOL, (False,), "copy", f"Cus[{member}]", f"x[{member}]"),
            Variable(theirs, _BOOL, (False,), "copy", "Shop", f"x[{member}]"),
            Variable(level, _LEVELS, (0,), "own", f"Cus[{member}]", f"y[{member}]"),
        ]
        comes, served = (e.Equal(e.Read(level), e.Const(value)) for value in (0, 1))
        serving = ((level, e.Const(2)), (mine, e.TRUE), (theirs, e.TRUE))
        cus, event = f"Cus[{member}]", f"x[{member}]"
        steps.append(Step(f"send come[{member}]", "send", cus, event, (), comes, ((level, e.Const(1)),)))
        steps.append(Step(f"send serve[{member}]", "send", cus, event, (), served, serving))
    agents = [Agent("Shop", "Shop", ("stock", *(own["theirs"] for own in names.values())))]
    agents += [Agent(f"Cus[{m}]", "Cus", (own["mine"], own["level"])) for m, own in names.items()]
    shared = tuple(Shared(f"Cus[{m}]", "Shop", own["mine"], own["theirs"]) for m, own in names.items())
    justice = tuple(Justice(step.name, (number,), step.actor) for number, step in enumerate(steps))
    return System("Queue", (), tuple(variables), tuple(agents), shared, (), (), tuple(steps), justice, ())


def _first_of(system: System, name: str) -> System:
    return replace(
        system,
        variables=tuple(replace(v, initial=v.domain[1:2]) if v.name == name else v for v in system.variables),
    )


def _step(system: System, change: Callable[[Step], Step]) -> System:
    return replace(system, steps=(change(system.steps[0]), *system.steps[1:]))


ASYMMETRIC: dict[str, Callable[[System], System]] = {
    "begins elsewhere": lambda system: (
        _first_of(system, "y[1]") if system.variable["y[1]"].initial != (1,) else _first_of(system, "stock")
    ),
    "may do less": lambda system: _step(system, lambda one: replace(one, guard=e.Equal(e.Read("y[1]"), e.Const(7)))),
    "does something else": lambda system: _step(system, lambda one: replace(one, updates=(("stock", e.Const(9)),))),
    "another does it": lambda system: _step(system, lambda one: replace(one, actor="Env")),
    "chooses": lambda system: _step(system, lambda one: replace(one, updates=(), free=("y[2]",))),
    "need not go on": lambda system: replace(system, justice=system.justice[1:]),
    "is met again and again": lambda system: replace(system, fairness=(e.Read("x[1]@Shop"),)),
    "sees more": lambda system: replace(
        system,
        agents=tuple(
            replace(agent, local=(*agent.local, "stock")) if agent.name == "Cus[1]" else agent
            for agent in system.agents
        ),
    ),
    "shares nothing": lambda system: replace(system, shared=system.shared[1:]),
    "has other values": lambda system: replace(
        system,
        variables=tuple(
            replace(v, domain=v.domain[::-1]) if v.name == "x[1]@Shop" else v for v in system.variables
        ),
    ),
}  # fmt: skip
"""The difference between the first member and the others."""


def branching(system: System, leaves: int = 4) -> st.SearchStrategy[Formula]:
    """Formulas that the graph of the states decides, whatever is fair."""
    members = [int(agent.name[4:-1]) for agent in system.agents if agent.family == "Cus"]

    @st.composite
    def atoms(draw: st.DrawFn) -> Formula:
        condition = draw(_literals(tuple(members)))(draw(st.sampled_from(members)))
        return f.Atom(condition, "atom")

    bounds = st.none() | st.builds(f.Bound, st.integers(0, 3))

    def more(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        return st.one_of(
            st.builds(lambda p, bound: f.OnPaths("E", f.Finally(p, bound)), inner, bounds),
            st.builds(lambda p, bound: f.OnPaths("A", f.Globally(p, bound)), inner, bounds),
            st.builds(lambda p: f.OnPaths("E", f.Next(p)), inner),
            st.builds(lambda p: f.OnPaths("A", f.Next(p)), inner),
            st.builds(lambda p, q, bound: f.OnPaths("E", f.Until(p, q, bound)), inner, inner, bounds),
            st.builds(lambda p, q: f.OnPaths("A", f.WeakUntil(p, q)), inner, inner),
            st.builds(
                lambda p, bound: f.OnPaths("E", f.Globally(p, bound)), inner, st.builds(f.Bound, st.integers(0, 3))
            ),
            st.builds(f.Not, inner),
            st.builds(lambda p, q: f.And((p, q)), inner, inner),
            st.builds(lambda p, q: f.Or((p, q)), inner, inner),
            st.builds(f.Implies, inner, inner),
            st.builds(f.Iff, inner, inner),
        )

    return st.recursive(atoms(), more, max_leaves=leaves)
