"""Lowering of a resolved ISPL model to a synchronous interpreted system.

Variable `x` of agent `A` becomes `A.x`; the agent's action in a round is the variable `A.Action`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from math import prod

from cplc.ispl.semantics import model as m
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, conjuncts
from cplc.system.model import Agent, Shared, System, Variable
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.synchronous import Action, Change, Player, out_of_range

_MAX_VALUATIONS = 20_000
"""Maximum number of valuations that are enumerated to exclude deadlocks."""

NO_ACTION = "nothing"
"""Action of an environment without actions."""


def lower_ispl(model: m.Model, name: str = "model") -> System:
    """Return the system with the propositional fairness conditions."""
    variables = [variable for agent in model.agents for variable in agent.variables]
    initial, start = _initial_states(variables, condition(model.initial))
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
        fairness=tuple(
            propositions.state_condition(formula) for formula in model.fairness if m.is_propositional(formula)
        ),
        players=tuple(_player(agent, model.single_assignment) for agent in model.agents),
        start=start,
    )


Domains = dict[str, tuple[e.Value, ...]]


def fairness_conditions(model: m.Model) -> Iterator[tuple[Domains, Expr | None]]:
    """Yield each fairness condition with the domains; None unless it is propositional."""
    domains = {str(one): m.values_of(one.type) for agent in model.agents for one in agent.variables}
    propositions = Propositions(model)
    for formula in model.fairness:
        yield domains, propositions.state_condition(formula) if m.is_propositional(formula) else None


# --- values and conditions


def value(written: m.Value) -> Expr:
    """Return a value of ISPL as an expression over the system."""
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
            return e.negate(_equivalence(value(left), value(right)))
        case m.Operation("+" | "-" | "*" | "/" as op, left, right):
            return e.arith(op, value(left), value(right))
        case _:
            raise AssertionError(f"no such operation: {written}")


def condition(written: m.Condition) -> Expr:
    """Return a condition of ISPL as an expression over variables and actions."""
    match written:
        case m.Acts(agent, action):
            return e.Equal(e.Read(action_variable(agent)), e.Const(action))
        case m.Not(operand):
            return e.negate(condition(operand))
        case m.And(operands):
            return e.conj(map(condition, operands))
        case m.Or(operands):
            return e.disj(map(condition, operands))
        case m.Comparison(op, left, right):
            return _comparison(op, value(left), value(right))


def action_variable(agent: str) -> str:
    """Return the variable for an agent's action in a round."""
    return f"{agent}.Action"


def _comparison(op: str, left: Expr, right: Expr) -> Expr:
    match op:
        case "=":
            return _equality(left, right)
        case "<>":
            return e.negate(_equality(left, right))
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


def _equality(left: Expr, right: Expr) -> Expr:
    return _equivalence(left, right) if _is_constant_truth(left) or _is_constant_truth(right) else e.equal(left, right)


def _equivalence(left: Expr, right: Expr) -> Expr:
    """Return the equivalence of two Boolean expressions, simplified for constants."""
    for one, other in ((left, right), (right, left)):
        if e.is_true(one):
            return other
        if e.is_false(one):
            return e.negate(other)
    return e.equal(left, right)


def _is_constant_truth(expr: Expr) -> bool:
    return e.is_true(expr) or e.is_false(expr)


# --- initial states


def _initial_states(variables: Iterable[m.Variable], condition: Expr) -> tuple[dict[str, tuple[m.Datum, ...]], Expr]:
    """Return the initial values of each variable by the conjuncts over it alone, and the remaining conjuncts.

    Unsatisfiable conjuncts over one variable remain, so that every variable has initial values.
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
        action_variable(agent.name),
        tuple(_actions(agent)) or (Action(NO_ACTION, e.TRUE if agent.name == "Environment" else e.FALSE),),
        tuple(tuple(map(_change, lines)) for lines in rules if lines),
        span=agent.protocol_span or agent.span,
    )


def _target(line: m.EvolutionLine) -> m.Variable | None:
    """Return the variable of a line under single assignment."""
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


def may_deadlock(system: System) -> bool:
    """Tell whether a deadlock may exist; False is certain, by bounded enumeration."""
    domains: dict[str, tuple[e.Value, ...]] = {one.name: one.domain for one in system.variables}
    domains |= {one.choice: tuple(action.name for action in one.actions) for one in system.players}
    budget = _MAX_VALUATIONS
    for stuck in _deadlock_conditions(system):
        names = sorted(e.reads(stuck))
        budget -= prod(len(domains[name]) for name in names)
        if budget < 0 or next(satisfying_assignments({name: domains[name] for name in names}, stuck), None) is not None:
            return True
    return False


def _deadlock_conditions(system: System) -> Iterator[Expr]:
    """Yield conditions of which at least one holds in each deadlock: no action, or a value out of range."""
    for player in system.players:
        allowed = [action.allowed for action in player.actions]
        if not any(e.negate(one) in allowed or e.is_true(one) for one in allowed):
            yield e.negate(e.disj(allowed))
        for change in (change for rule in player.rules for change in rule):
            for name, update in change.updates:
                yield e.conj((change.guard, out_of_range(system.variable[name].domain, update)))


# --- shared variables


def shared_variables(first: m.Agent, second: m.Agent) -> tuple[tuple[m.Variable, m.Variable], ...]:
    """Return the variables that both declare under the same name, in the order of the first."""
    theirs = {variable.name: variable for variable in second.variables}
    return tuple((one, theirs[one.name]) for one in first.variables if one.name in theirs)


def _shared(model: m.Model) -> Iterator[Shared]:
    """Yield the shared variables of the parties of commitments in formulas."""
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
    """Conditions of the atoms of formulas: propositions and colours of local states."""

    def __init__(self, model: m.Model) -> None:
        self._meaning = {one.name: condition(one.condition) for one in model.propositions}
        self._red = {one.name: e.FALSE if one.red is None else condition(one.red) for one in model.agents}

    def meaning(self, formula: m.Prop | m.ColourAtom) -> Expr:
        match formula:
            case m.Prop(name):
                return self._meaning[name]
            case m.ColourAtom(agent, is_red):
                return self._red[agent] if is_red else e.negate(self._red[agent])

    def state_condition(self, formula: m.Formula) -> Expr:
        """Return the condition of a propositional formula."""
        match formula:
            case m.Prop() | m.ColourAtom():
                return self.meaning(formula)
            case m.Negation(operand):
                return e.negate(self.state_condition(operand))
            case m.Connective("and", operands):
                return e.conj(map(self.state_condition, operands))
            case m.Connective("or", operands):
                return e.disj(map(self.state_condition, operands))
            case m.Connective(_, (left, right)):
                return e.disj((e.negate(self.state_condition(left)), self.state_condition(right)))
            case _:
                raise AssertionError(f"formula is not propositional: {formula}")
