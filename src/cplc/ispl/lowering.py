"""From a resolved model in ISPL to the synchronous system that it means.

A variable `x` of agent `A` is called `A.x`, and what the agent does in a round `A.Action`: no variable is called so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from math import prod

from cplc.ispl.semantics import model as m
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.system.model import Agent, Shared, System, Variable
from cplc.system.satisfying_assignments import conjuncts, satisfying_assignments
from cplc.system.synchronous import Action, Change, Player, out_of_range

_MOST_TRIED = 20_000
"""How many values together are looked at to see that no state is a deadlock."""

NOTHING = "nothing"
"""What an environment does that has no actions."""


def lower_ispl(model: m.Model, name: str = "model") -> System:
    """Return the system; of its conditions of fairness those that the variables decide."""
    variables = [variable for agent in model.agents for variable in agent.variables]
    initial, start = _beginning(variables, condition(model.initial))
    propositions = Propositions(model)
    return System(
        name=name,
        header=(("model", name),),
        variables=tuple(
            Variable(str(one), m.values_of(one.type), initial[str(one)], "own", one.agent, str(one))
            for one in variables
        ),
        agents=tuple(Agent(agent.name, agent.name, tuple(map(str, agent.local_state))) for agent in model.agents),
        shared=tuple(_shared(model)),
        messages=(),
        commitments=(),
        steps=(),
        justice=(),
        fairness=tuple(propositions.holding(formula) for formula in model.fairness if m.is_of_state(formula)),
        players=tuple(_player(agent, model.single_assignment) for agent in model.agents),
        start=start,
    )


Domains = dict[str, tuple[e.Value, ...]]


def fairness_conditions(model: m.Model) -> Iterator[tuple[Domains, Expr | None]]:
    """Yield each condition of fairness with its variables' values; None for those on knowledge or runs."""
    domains = {str(one): m.values_of(one.type) for agent in model.agents for one in agent.variables}
    propositions = Propositions(model)
    for formula in model.fairness:
        yield domains, propositions.holding(formula) if m.is_of_state(formula) else None


# --- values and conditions


def value(written: m.Value) -> Expr:
    """Return what a value of ISPL is over the variables of the system."""
    match written:
        case m.Constant(constant):
            return e.Const(constant)
        case m.Read(variable):
            return e.Read(str(variable))
        case m.Complement(operand):
            return e.negate(value(operand))
        case m.Operation("&", left, right):
            return e.conj((value(left), value(right)))
        case m.Operation("|", left, right):
            return e.disj((value(left), value(right)))
        case m.Operation("^", left, right):
            return e.negate(_same_truth(value(left), value(right)))
        case m.Operation("+" | "-" | "*" | "/" as op, left, right):
            return e.arith(op, value(left), value(right))
        case _:
            raise AssertionError(f"no such operation: {written}")


def condition(written: m.Condition) -> Expr:
    """Return what a condition of ISPL says of the state and of the players' choices."""
    match written:
        case m.Acts(agent, action):
            return e.Equal(e.Read(choice(agent)), e.Const(action))
        case m.Not(operand):
            return e.negate(condition(operand))
        case m.And(operands):
            return e.conj(map(condition, operands))
        case m.Or(operands):
            return e.disj(map(condition, operands))
        case m.Comparison(op, left, right):
            return _comparison(op, value(left), value(right))


def choice(agent: str) -> str:
    """Return the name of what an agent does in a round."""
    return f"{agent}.Action"


def _comparison(op: str, left: Expr, right: Expr) -> Expr:
    match op:
        case "=":
            return _same(left, right)
        case "<>":
            return e.negate(_same(left, right))
        case "<":
            return e.less(left, right)
        case ">":
            return e.less(right, left)
        case "<=":
            return e.negate(e.less(right, left))
        case ">=":
            return e.negate(e.less(left, right))
        case _:
            raise AssertionError(f"no such relation: {op}")


def _same(left: Expr, right: Expr) -> Expr:
    return _same_truth(left, right) if _is_constant_truth(left) or _is_constant_truth(right) else e.equal(left, right)


def _same_truth(left: Expr, right: Expr) -> Expr:
    """Return where two truth values are equal; one that is compared with a constant is a condition itself."""
    for one, other in ((left, right), (right, left)):
        if e.is_true(one):
            return other
        if e.is_false(one):
            return e.negate(other)
    return e.equal(left, right)


def _is_constant_truth(expr: Expr) -> bool:
    return e.is_true(expr) or e.is_false(expr)


# --- initial states


def _beginning(variables: Iterable[m.Variable], condition: Expr) -> tuple[dict[str, tuple[m.Datum, ...]], Expr]:
    """Return the values each variable may have at first by what is said of it alone, and what else is said.

    What leaves a variable no value is not taken for said of it alone: every variable has initial values.
    """
    alone: dict[str, list[Expr]] = {}
    rest: list[Expr] = []
    for conjunct in conjuncts(condition):
        about = e.reads(conjunct)
        (alone.setdefault(next(iter(about)), []) if len(about) == 1 else rest).append(conjunct)
    initial: dict[str, tuple[m.Datum, ...]] = {}
    for variable in variables:
        name, every = str(variable), m.values_of(variable.type)
        about_it = e.conj(alone.get(name, ()))
        initial[name] = tuple(one for one in every if e.is_true(e.substitute(about_it, {name: e.Const(one)})))
        if not initial[name]:
            initial[name] = every
            rest.append(about_it)
    return initial, e.conj(rest)


# --- players


def _player(agent: m.Agent, single_assignment: bool) -> Player:
    if single_assignment:
        rules = [[line for line in agent.evolution if _target(line) == one] for one in agent.variables]
    else:
        rules = [list(agent.evolution)]
    return Player(
        agent.name,
        choice(agent.name),
        tuple(_actions(agent)) or (Action(NOTHING, e.TRUE if agent.name == "Environment" else e.FALSE),),
        tuple(tuple(map(_change, lines)) for lines in rules if lines),
        span=agent.protocol_span or agent.span,
    )


def _target(line: m.EvolutionLine) -> m.Variable | None:
    """Return the variable that a line changes where each has its own."""
    return line.assignments[0].variable if line.assignments else None


def _actions(agent: m.Agent) -> Iterator[Action]:
    if agent.name == "Environment" and not agent.protocol and not agent.other:
        yield from (Action(name, e.TRUE) for name in agent.actions)
        return
    lines = [(condition(line.condition), line.actions) for line in agent.protocol]
    otherwise = e.negate(e.disj(holds for holds, _ in lines))
    for name in agent.actions:
        allowed = [holds for holds, actions in lines if name in actions]
        yield Action(name, e.disj([*allowed, otherwise] if name in agent.other else allowed))


def _change(line: m.EvolutionLine) -> Change:
    updates = tuple((str(one.variable), value(one.value)) for one in line.assignments)
    return Change(condition(line.condition), updates, line.span)


# --- deadlocks


def may_stop(system: System) -> bool:
    """Whether some state may have no successor; no, if that is plain from few values at a time."""
    domains: dict[str, tuple[e.Value, ...]] = {one.name: one.domain for one in system.variables}
    domains |= {one.choice: tuple(action.name for action in one.actions) for one in system.players}
    room = _MOST_TRIED
    for stuck in _ways_to_stop(system):
        names = sorted(e.reads(stuck))
        room -= prod(len(domains[name]) for name in names)
        if room < 0 or next(satisfying_assignments({name: domains[name] for name in names}, stuck), None) is not None:
            return True
    return False


def _ways_to_stop(system: System) -> Iterator[Expr]:
    """Yield conditions one of which holds wherever somebody has no action, or a value would leave its range."""
    for player in system.players:
        allowed = [action.allowed for action in player.actions]
        if not any(e.negate(one) in allowed or e.is_true(one) for one in allowed):
            yield e.negate(e.disj(allowed))
        for change in (change for rule in player.rules for change in rule):
            for name, update in change.updates:
                yield e.conj((change.guard, out_of_range(system.variable[name].domain, update)))


# --- what agents share


def shared_variables(first: m.Agent, second: m.Agent) -> tuple[tuple[m.Variable, m.Variable], ...]:
    """Return the variables that both declare under the same name, in the order of the first."""
    theirs = {variable.name: variable for variable in second.variables}
    return tuple((one, theirs[one.name]) for one in first.variables if one.name in theirs)


def _shared(model: m.Model) -> Iterator[Shared]:
    """Yield what is shared by those between whom a formula speaks of a commitment."""
    formulas = (*(one.formula for one in model.specifications), *model.fairness)
    pairs = {
        frozenset(part.agents)
        for formula in formulas
        for part in m.subformulas(formula)
        if isinstance(part, m.Commits) and part.op in ("C", "Fu")
    }
    for first, second in combinations(model.agents, 2):
        if {first.name, second.name} in pairs:
            for one, other in shared_variables(first, second):
                yield Shared(first.name, second.name, str(one), str(other))


# --- propositions


class Propositions:
    """What holds of a state by its name: propositions, and whether an agent's state is red."""

    def __init__(self, model: m.Model) -> None:
        self._meaning = {one.name: condition(one.condition) for one in model.propositions}
        self._red = {one.name: e.FALSE if one.red is None else condition(one.red) for one in model.agents}

    def meaning(self, formula: m.Prop | m.Coloured) -> Expr:
        match formula:
            case m.Prop(name):
                return self._meaning[name]
            case m.Coloured(agent, is_red):
                return self._red[agent] if is_red else e.negate(self._red[agent])

    def holding(self, formula: m.Formula) -> Expr:
        """Return where a formula holds that is about the present state alone."""
        match formula:
            case m.Prop() | m.Coloured():
                return self.meaning(formula)
            case m.Negation(operand):
                return e.negate(self.holding(operand))
            case m.Connected("and", operands):
                return e.conj(map(self.holding, operands))
            case m.Connected("or", operands):
                return e.disj(map(self.holding, operands))
            case m.Connected(_, (left, right)):
                return e.disj((e.negate(self.holding(left)), self.holding(right)))
            case _:
                raise AssertionError(f"more than the present state decides it: {formula}")
