"""Lowering of a resolved ISPL model to a synchronous interpreted system.

Variable `x` of agent `A` becomes `A.x`; the agent's action in a round is the variable `A.Action`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Literal

from cplc.ispl.semantics import model as m
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Channel, Commits, Fulfils
from cplc.logic.expressions import Expr, conjuncts
from cplc.logic.formulas import Formula
from cplc.system import commitments
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


# --- Lowering of resolved ISPL formulas to formulas over the synchronous system
#
# The commitment operators of MCMAS+ are expanded by their definitions, which compare adjacent states (`Adjacent`).


_TRUE = f.Atom(e.TRUE, "true")
_FALSE = f.Atom(e.FALSE, "false")
_HAS_INFINITE_RUN = f.OnPaths("E", f.Globally(_TRUE))
"""An infinite run starts in the state."""

VariablePairs = tuple[tuple[str, str], ...]

_MODES: dict[str, Literal["each", "together", "common"]] = {
    "K": "each",
    "GK": "each",
    "DK": "together",
    "GCK": "common",
}


def lower_ispl_formula(
    formula: m.Formula, model: m.Model, *, uniform: bool = False, infinite_runs_only: bool = False
) -> Formula:
    """Return the formula over the system of the model.

    With ``uniform`` strategies depend on local states only. With ``infinite_runs_only`` path quantifiers exclude finite
    runs, as in LTL and CTL*.
    """
    return _Lowering(model, uniform, infinite_runs_only).formula(formula)


def with_recurring(system: System, model: m.Model) -> System:
    """Return the system with the fairness conditions that are not propositional."""
    path_conditions = (formula for formula in model.fairness if not m.is_propositional(formula))
    return replace(
        system, recurring=tuple(f.Regardless(lower_ispl_formula(formula, model)) for formula in path_conditions)
    )


class _Lowering:
    def __init__(self, model: m.Model, uniform: bool, infinite_runs_only: bool) -> None:
        self._model = model
        self._uniform = uniform
        self._endless = infinite_runs_only
        self._propositions = Propositions(model)
        self._agent = {agent.name: agent for agent in model.agents}
        names = Counter(variable.name for agent in model.agents for variable in agent.variables)
        self._shared_names = frozenset(name for name, times in names.items() if times > 1)

    def formula(self, written: m.Formula) -> Formula:
        match written:
            case m.Prop() | m.ColourAtom():
                return self._atom(written)
            case m.Negation(operand):
                return f.Not(self.formula(operand))
            case m.Connective("and", operands):
                return f.And(tuple(map(self.formula, operands)))
            case m.Connective("or", operands):
                return f.Or(tuple(map(self.formula, operands)))
            case m.Connective(_, (left, right)):
                return f.Implies(self.formula(left), self.formula(right))
            case m.OnPaths(quantifier, path):
                return self._paths(quantifier, self.formula(path))
            case m.Temporal() | m.Until():
                return self._temporal(written)
            case m.Knows("O", (agent,), operand):
                green = self._atom(m.ColourAtom(agent, is_red=False))
                return f.Knows("together", (), f.Implies(green, self.formula(operand)))
            case m.Knows(op, agents, operand):
                return f.Knows(_MODES[op], agents, self.formula(operand))
            case m.Enforces(agents, m.Temporal() | m.Until() as goal):
                return f.Enforces(agents, self._temporal(goal), self._uniform)
            case m.Commits("C", (debtor, creditor), (operand,)):
                return Commits(self._channel(debtor, creditor), self.formula(operand))
            case m.Commits("Fu", (debtor, creditor), (operand,)):
                return Fulfils(self._channel(debtor, creditor), self.formula(operand))
            case m.Commits("Tr", (first, second, *_), (p, q)):
                return self._trust(first, second, self.formula(p), self.formula(q))
            case m.Commits(op, agents, (p, q)):
                return self._operation(op, agents, self.formula(p), self.formula(q))
            case _:
                raise AssertionError(f"the checker lets no such formula through: {written}")

    def _atom(self, written: m.Prop | m.ColourAtom) -> Formula:
        match written:
            case m.Prop(name):
                text = name
            case m.ColourAtom(agent, is_red):
                text = f"{agent}.{'Red' if is_red else 'Green'}States"
        return f.Atom(self._propositions.meaning(written), text)

    def _temporal(self, written: m.Temporal | m.Until) -> f.Goal:
        match written:
            case m.Temporal("X", operand):
                return f.Next(self.formula(operand))
            case m.Temporal("F", operand):
                return f.Finally(self.formula(operand))
            case m.Temporal(_, operand):
                return f.Globally(self.formula(operand))
            case m.Until(left, right):
                return f.Until(self.formula(left), self.formula(right))

    def _paths(self, quantifier: Literal["A", "E"], operand: Formula) -> Formula:
        """Quantify over runs; state formulas are unchanged, also in deadlocks, as in MCMAS."""
        if f.is_state_formula(operand):
            return operand
        over = f.OnPaths(quantifier, operand)
        path = f.ctl_path(over) if self._endless else None
        return over if path is None else f.OnPaths(quantifier, _on_infinite_runs(quantifier, path))

    # --- commitments of MCMAS+

    def _channel(self, debtor: str, creditor: str) -> Channel:
        """Return the channel between two agents: their shared variables."""
        first, second = self._agent[debtor], self._agent[creditor]
        pairs = [(str(one), str(other)) for one, other in shared_variables(first, second)]
        ours, theirs = map(str, first.local_state), map(str, second.local_state)
        return commitments.shared_variables(f"{debtor} -> {creditor}", ours, theirs, pairs)

    def _operation(self, op: m.Commitment, agents: tuple[str, ...], p: Formula, q: Formula) -> Formula:
        """Return the states with a weak or strong commitment, or with one that the last round terminated."""
        debtor, creditor, *third = agents
        same = self._accessibility(debtor, creditor)
        strong = self._strong(debtor, creditor, p, q)
        match op:
            case "WCC":
                return _weak(p, q, same)
            case "SCC":
                return strong
            case "FuW":
                weak = _weak(p, q, same)
                return f.And((q, f.Not(weak), f.Adjacent(weak, same, back=True)))
            case "FuS":
                return self._terminated((p,), strong, same, debtor, "Fulfill")
            case "CaS":
                return self._terminated((f.Not(p),), strong, same, debtor, "Cancel")
            case "ReS":
                return self._terminated((f.Not(p),), strong, same, creditor, "Release")
            case "DeS":
                (other,) = third
                new = self._strong(other, creditor, p, q)
                return self._terminated((f.Not(p), new), strong, same, debtor, "Delegate")
            case "AsS":
                (other,) = third
                new = self._strong(debtor, other, p, q)
                return self._terminated((f.Not(p), new), strong, same, creditor, "Assign")
            case _:
                raise AssertionError(f"no such operation: {op}")

    def _strong(self, debtor: str, creditor: str, p: Formula, q: Formula) -> Formula:
        same = self._accessibility(debtor, creditor)
        return f.And((f.Adjacent(p, same), _weak(p, q, same)))

    def _terminated(
        self, now: tuple[Formula, ...], strong: Formula, same: VariablePairs, doer: str, verb: str
    ) -> Formula:
        """Return the states in which an agent's last action has terminated a strong commitment."""
        action = f"{verb}_{doer}"
        if action not in self._agent[doer].actions:
            return _FALSE
        return f.And((*now, f.Not(strong), f.Adjacent(strong, same, (action_variable(doer), action), back=True)))

    def _accessibility(self, debtor: str, creditor: str) -> VariablePairs:
        """Return the social accessibility relation from debtor to creditor as pairs of equal variables.

        Each shared variable at the creditor after the round equals the debtor's before it. Unchanged are the debtor's
        observations and unshared variables, and the variables that the creditor shares with other agents only.
        """
        first, second = self._agent[debtor], self._agent[creditor]
        both = shared_variables(first, second)
        between = {theirs.name for _, theirs in both}
        world = self._model.environment
        observable = [one for one in world.variables if one.is_observable] if world is not None else []
        unchanged = [
            *observable,
            *first.observed,
            *(one for one in first.variables if one.name not in self._shared_names),
            *(one for one in second.variables if one.name in self._shared_names and one.name not in between),
        ]
        return (
            *((str(ours), str(theirs)) for ours, theirs in both),
            *((name, name) for name in dict.fromkeys(map(str, unchanged))),
        )

    def _trust(self, first: str, second: str, p: Formula, q: Formula) -> Formula:
        """Return the states with ``p`` and not ``q`` such that ``q`` holds in all other reachable states with the same
        value of the shared variable, of which there is at least one.
        """
        one, _ = shared_variables(self._agent[first], self._agent[second])[0]
        disjuncts = []
        for value in m.values_of(one.type):
            alike = f.Atom(e.equal(e.Read(str(one)), e.Const(value)), f"{one}={value}")
            follows, fails = (
                self._reaches_other_state(f.And((alike, q))),
                self._reaches_other_state(f.And((alike, f.Not(q)))),
            )
            disjuncts.append(f.And((alike, follows, f.Not(fails))))
        return f.And((p, f.Not(q), f.Or(tuple(disjuncts))))

    def _reaches_other_state(self, goal: Formula) -> Formula:
        """Return the states from which a different state in the goal is reachable."""
        ways: list[Formula] = []
        for agent in self._model.agents:
            for variable in agent.variables:
                for half in _separating_conditions(variable):
                    for here in (half, e.negate(half)):
                        differing = f.And((f.Atom(e.negate(here), f"another {variable}"), goal))
                        ways.append(f.And((f.Atom(here, f"this {variable}"), f.OnPaths("E", f.Finally(differing)))))
        return f.Or(tuple(ways))


def _on_infinite_runs(quantifier: Literal["A", "E"], path: f.CtlPath) -> Formula:
    """Return the CTL operator, whose semantics includes finite paths, restricted to infinite runs."""
    if quantifier == "E":
        if isinstance(path, f.Next | f.Finally):
            return replace(path, operand=f.And((path.operand, _HAS_INFINITE_RUN)))
        return f.Until(path.left, f.And((path.right, _HAS_INFINITE_RUN))) if isinstance(path, f.Until) else path
    if isinstance(path, f.Next | f.Globally):
        return replace(path, operand=f.Implies(_HAS_INFINITE_RUN, path.operand))
    return f.Until(f.Implies(_HAS_INFINITE_RUN, path.left), path.right) if isinstance(path, f.Until) else path


def _weak(p: Formula, q: Formula, same: VariablePairs) -> Formula:
    return f.Not(f.Adjacent(f.And((p, f.Not(q))), same))


def _separating_conditions(variable: m.Variable) -> Iterator[Expr]:
    """Yield conditions of which at least one separates any two values of the variable."""
    values = m.values_of(variable.type)
    for bit in range((len(values) - 1).bit_length()):
        yield e.one_of(e.Read(str(variable)), [one for code, one in enumerate(values) if code >> bit & 1])
