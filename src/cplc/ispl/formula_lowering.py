"""Lowering of resolved ISPL formulas to formulas over the synchronous system.

The commitment operators of MCMAS+ are expanded by their definitions, which compare adjacent states (`Adjacent`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from cplc.ispl.lowering import Propositions, action_variable, shared_variables
from cplc.ispl.semantics import model as m
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Channel, Commits, Fulfils
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.system import commitments
from cplc.system.model import System

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
