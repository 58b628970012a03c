"""Systems with a participant, written by hand: the protocol of the paper, and small illustrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.system.model import Agent, Step, System, Variable
from cplc.system.participant import Belief, Event, Goal, Participant, Worth


def at(variable: str, *values: str | int) -> Expr:
    return e.one_of(e.Read(variable), values)


def own(name: str, values: Sequence[str | int], owner: str = "Env", initial: str | int | None = None) -> Variable:
    """Return a variable that begins with its first value."""
    first = values[0] if initial is None else initial
    return Variable(name, tuple(values), (first,), "own", owner, name)


def step(name: str, actor: str, guard: Expr, updates: Mapping[str, str | int], kind: str = "send") -> Step:
    return Step(name, kind, actor, name, (), guard, tuple((k, e.Const(v)) for k, v in updates.items()))  # type: ignore[arg-type]


def system(variables: Sequence[Variable], steps: Sequence[Step], agents: Sequence[str] = ("A", "B")) -> System:
    observed = {agent: tuple(one.name for one in variables if one.owner == agent) for agent in agents}
    declared = tuple(Agent(agent, agent, observed[agent]) for agent in agents)
    model = System("S", (), tuple(variables), declared, (), (), (), tuple(steps), (), ())
    assert not list(model.problems())
    return model


def belief(agent: str, condition: Expr, **chances: tuple[Sequence[int], str]) -> Belief:
    """Return a belief with steps and probability (`.9` or `.8..1`) for each name."""
    events = []
    for name, (steps, text) in chances.items():
        low, _, high = text.partition("..")
        events.append(Event(name, tuple(steps), Fraction(low), Fraction(high or low)))
    return Belief(agent, condition, tuple(events), f"{agent}: {', '.join(chances)}")


def participant(
    agents: Sequence[str] = ("A",),
    conforming: Expr = e.TRUE,
    goals: Sequence[Expr] = (),
    worth: Mapping[int, str] | None = None,
    beliefs: Sequence[Belief] = (),
) -> Participant:
    amounts = tuple(Worth((at,), Fraction(amount), str(at)) for at, amount in (worth or {}).items())
    goal_declarations = tuple(Goal(goal, f"goal {number}") for number, goal in enumerate(goals))
    return Participant("Alice", tuple(agents), conforming, goal_declarations, amounts, tuple(beliefs), ())


# --- the paper's protocol

CHANCES = {"pay": "0.9", "order": "0.95", "provide": "0.9", "deliver": "0.97"}


def ecommerce(
    copies: int, chances: Mapping[str, str] = CHANCES, stock: int | None = None
) -> tuple[System, Participant]:
    """Return so many copies of the paper's trade, for its seller, in 20 local states each.

    With a stock they are not independent: each order takes one from it, and without stock nothing can be ordered.

    ``c`` is what the seller owes the buyer, ``d`` what the provider owes the seller. What happens with one
    probability of several is chosen first (``next``) and done afterwards.
    """
    variables: list[Variable] = []
    steps: list[Step] = []
    beliefs: list[Belief] = []
    left = e.Read("stock")
    if stock is not None:
        variables.append(own("stock", range(stock + 1), initial=stock))
    for n in range(copies):
        c, d, x = f"c{n}", f"d{n}", f"next{n}"
        variables += [
            own(c, ("null", "con", "act", "ful", "vio", "exp")),
            own(d, ("null", "con", "act", "ful", "vio", "exp")),
            own(x, ("", *_OUTCOMES)),
        ]
        idle = at(x, "")

        def one(agent: str, name: str, guard: Expr, changes: Mapping[str, str]) -> None:
            steps.append(step(f"{name}[{n}]", agent, guard, changes))  # noqa: B023
            beliefs.append(belief(agent, guard, **{name: ([len(steps) - 1], "1")}))

        def two(agent: str, guard: Expr, first: str, second: str) -> None:
            here = e.conj((guard, idle))  # noqa: B023
            share = Fraction(chances[first])
            for name in (first, second):
                steps.append(step(f"{name}[{n}]", agent, here, {x: name}))  # noqa: B023
                if name == "order" and stock is not None:
                    taken = ("stock", e.ite(e.less(e.Const(0), left), e.arith("-", left, e.Const(1)), left))
                    plain = steps[-1]
                    guard = e.conj((plain.guard, e.less(e.Const(0), left)))
                    steps[-1] = replace(plain, guard=guard, updates=(*plain.updates, taken))
                variable, value = _OUTCOMES[name]
                steps.append(
                    step(f"done {name}[{n}]", "Env", at(x, name), {f"{variable}{n}": value, x: ""}, "receive")  # noqa: B023
                )
            last = len(steps)
            texts = {first: ([last - 4], str(share)), second: ([last - 2], str(1 - share))}
            beliefs.append(belief(agent, here, **texts))

        one("Seller", "offer", e.conj((at(c, "null"), idle)), {c: "con"})
        one("Provider", "propose", e.conj((at(d, "null"), at(c, "con"), idle)), {d: "con"})
        two("Buyer", e.conj((at(c, "con"), at(d, "con"))), "pay", "refuse")
        two("Seller", e.conj((at(c, "act"), at(d, "con"))), "order", "omit")
        one("Seller", "lapse", e.conj((at(c, "exp"), at(d, "con"), idle)), {d: "exp"})
        two("Provider", at(d, "act"), "provide", "fail")
        two("Seller", e.conj((at(c, "act"), at(d, "ful"))), "deliver", "keep")
    conforming = e.conj(at(f"c{n}", "ful", "exp", "null") for n in range(copies))
    agents = ("Seller", "Provider", "Buyer")
    return system(variables, steps, agents), participant(("Seller",), conforming, beliefs=beliefs)


_OUTCOMES = {
    "pay": ("c", "act"), "refuse": ("c", "exp"), "order": ("d", "act"), "omit": ("d", "exp"),
    "provide": ("d", "ful"), "fail": ("d", "vio"), "deliver": ("c", "ful"), "keep": ("c", "vio"),
}  # fmt: skip
