"""From resolved formulas of ISPL to formulas over the synchronous system.

The operations of MCMAS+ on commitments are spelled out by what is there already: what their definitions compare is a
state and the one after it (`Adjacent`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from cplc.ispl.lowering import Propositions, choice, shared_variables
from cplc.ispl.semantics import model as m
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.system import commitment_channels
from cplc.system.model import System

_TRUE = f.Atom(e.TRUE, "true")
_NEVER = f.Atom(e.FALSE, "false")
_ENDLESS = f.OnPaths("E", f.Globally(_TRUE))
"""Some run goes on for ever: the state leads to more than deadlocks."""

Pairs = tuple[tuple[str, str], ...]

_MODES: dict[str, Literal["each", "together", "common"]] = {
    "K": "each",
    "GK": "each",
    "DK": "together",
    "GCK": "common",
}


def lower_ispl_formula(formula: m.Formula, model: m.Model, *, uniform: bool = False, endless: bool = False) -> Formula:
    """Return the formula over the system of the model.

    With ``uniform`` strategies are by local states. With ``endless`` quantifiers range over runs that never stop: so it
    is in LTL and CTL*, and to be said where there may be others.
    """
    return _Lowering(model, uniform, endless).formula(formula)


def with_recurring(system: System, model: m.Model) -> System:
    """Return the system of the model with those conditions of fairness, too, that its variables do not decide."""
    path_conditions = (formula for formula in model.fairness if not m.is_of_state(formula))
    return replace(
        system, recurring=tuple(f.Regardless(lower_ispl_formula(formula, model)) for formula in path_conditions)
    )


class _Lowering:
    def __init__(self, model: m.Model, uniform: bool, endless: bool) -> None:
        self._model = model
        self._uniform = uniform
        self._endless = endless
        self._propositions = Propositions(model)
        self._agent = {agent.name: agent for agent in model.agents}
        names = Counter(variable.name for agent in model.agents for variable in agent.variables)
        self._shared_names = frozenset(name for name, times in names.items() if times > 1)

    def formula(self, written: m.Formula) -> Formula:
        match written:
            case m.Prop() | m.Coloured():
                return self._atom(written)
            case m.Negation(operand):
                return f.Not(self.formula(operand))
            case m.Connected("and", operands):
                return f.And(tuple(map(self.formula, operands)))
            case m.Connected("or", operands):
                return f.Or(tuple(map(self.formula, operands)))
            case m.Connected(_, (left, right)):
                return f.Implies(self.formula(left), self.formula(right))
            case m.OnPaths(quantifier, path):
                return self._paths(quantifier, self.formula(path))
            case m.Temporal() | m.Until():
                return self._temporal(written)
            case m.Knows("O", (agent,), operand):
                green = self._atom(m.Coloured(agent, is_red=False))
                return f.Knows("together", (), f.Implies(green, self.formula(operand)))
            case m.Knows(op, agents, operand):
                return f.Knows(_MODES[op], agents, self.formula(operand))
            case m.Enforces(agents, m.Temporal() | m.Until() as goal):
                return f.Enforces(agents, self._temporal(goal), self._uniform)
            case m.Commits("C", (debtor, creditor), (operand,)):
                return f.Commits(self._channel(debtor, creditor), self.formula(operand))
            case m.Commits("Fu", (debtor, creditor), (operand,)):
                return f.Fulfils(self._channel(debtor, creditor), self.formula(operand))
            case m.Commits("Tr", (first, second, *_), (p, q)):
                return self._trust(first, second, self.formula(p), self.formula(q))
            case m.Commits(op, agents, (p, q)):
                return self._operation(op, agents, self.formula(p), self.formula(q))
            case _:
                raise AssertionError(f"the checker lets no such formula through: {written}")

    def _atom(self, written: m.Prop | m.Coloured) -> Formula:
        match written:
            case m.Prop(name):
                text = name
            case m.Coloured(agent, is_red):
                text = f"{agent}.{'Red' if is_red else 'Green'}States"
        return f.Atom(self._propositions.meaning(written), text)

    def _temporal(self, written: m.Temporal | m.Until) -> f.Next | f.Finally | f.Globally | f.Until:
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
        """Quantify over runs; what the first state decides is as it is, also where no run begins: so has MCMAS it."""
        if f.is_state_formula(operand):
            return operand
        over = f.OnPaths(quantifier, operand)
        path = f.ctl_path(over) if self._endless else None
        return over if path is None else f.OnPaths(quantifier, _going_on(quantifier, path))

    # --- commitments of MCMAS+

    def _channel(self, debtor: str, creditor: str) -> f.Channel:
        """Return the channel between the two: the variables that they share."""
        first, second = self._agent[debtor], self._agent[creditor]
        pairs = [(str(one), str(other)) for one, other in shared_variables(first, second)]
        ours, theirs = map(str, first.local_state), map(str, second.local_state)
        return commitment_channels.shared_variables(f"{debtor} -> {creditor}", ours, theirs, pairs)

    def _operation(self, op: m.Commitment, agents: tuple[str, ...], p: Formula, q: Formula) -> Formula:
        """Return where a weak or strong commitment is there, or was until the round that led here."""
        debtor, creditor, *third = agents
        same = self._accessible(debtor, creditor)
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
                return self._ended((p,), strong, same, debtor, "Fulfill")
            case "CaS":
                return self._ended((f.Not(p),), strong, same, debtor, "Cancel")
            case "ReS":
                return self._ended((f.Not(p),), strong, same, creditor, "Release")
            case "DeS":
                (other,) = third
                new = self._strong(other, creditor, p, q)
                return self._ended((f.Not(p), new), strong, same, debtor, "Delegate")
            case "AsS":
                (other,) = third
                new = self._strong(debtor, other, p, q)
                return self._ended((f.Not(p), new), strong, same, creditor, "Assign")
            case _:
                raise AssertionError(f"no such operation: {op}")

    def _strong(self, debtor: str, creditor: str, p: Formula, q: Formula) -> Formula:
        same = self._accessible(debtor, creditor)
        return f.And((f.Adjacent(p, same), _weak(p, q, same)))

    def _ended(self, now: tuple[Formula, ...], strong: Formula, same: Pairs, doer: str, verb: str) -> Formula:
        """Return where a strong commitment is no more, for somebody has just done what ends it."""
        action = f"{verb}_{doer}"
        if action not in self._agent[doer].actions:
            return _NEVER
        return f.And((*now, f.Not(strong), f.Adjacent(strong, same, (choice(doer), action), back=True)))

    def _accessible(self, debtor: str, creditor: str) -> Pairs:
        """Return what agrees across a round that may bind debtor to creditor.

        What both share is after it at the creditor as it was before it at the debtor. What the debtor observes and has
        for itself stays, and so does what the creditor shares with others only.
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
        """Return where ``p`` holds and not ``q``, but in all other states that follow with the same shared value.

        And there is such a state. Two states are others if a variable tells them apart.
        """
        one, _ = shared_variables(self._agent[first], self._agent[second])[0]
        disjuncts = []
        for value in m.values_of(one.type):
            alike = f.Atom(e.equal(e.Read(str(one)), e.Const(value)), f"{one}={value}")
            follows, fails = self._elsewhere(f.And((alike, q))), self._elsewhere(f.And((alike, f.Not(q))))
            disjuncts.append(f.And((alike, follows, f.Not(fails))))
        return f.And((p, f.Not(q), f.Or(tuple(disjuncts))))

    def _elsewhere(self, goal: Formula) -> Formula:
        """Return where another state follows that is in the goal."""
        ways: list[Formula] = []
        for agent in self._model.agents:
            for variable in agent.variables:
                for half in _halves(variable):
                    for here in (half, e.negate(half)):
                        differing = f.And((f.Atom(e.negate(here), f"another {variable}"), goal))
                        ways.append(f.And((f.Atom(here, f"this {variable}"), f.OnPaths("E", f.Finally(differing)))))
        return f.Or(tuple(ways))


def _going_on(quantifier: Literal["A", "E"], path: f.Path) -> f.Path:
    """Return what CTL has to say, for which paths may stop, to speak of endless runs alone."""
    match quantifier, path:
        case "E", f.Next(operand):
            return f.Next(f.And((operand, _ENDLESS)))
        case "E", f.Finally(operand):
            return f.Finally(f.And((operand, _ENDLESS)))
        case "E", f.Until(left, right):
            return f.Until(left, f.And((right, _ENDLESS)))
        case "A", f.Next(operand):
            return f.Next(f.Implies(_ENDLESS, operand))
        case "A", f.Globally(operand):
            return f.Globally(f.Implies(_ENDLESS, operand))
        case "A", f.Until(left, right):
            return f.Until(f.Implies(_ENDLESS, left), right)
        case _:
            return path


def _weak(p: Formula, q: Formula, same: Pairs) -> Formula:
    return f.Not(f.Adjacent(f.And((p, f.Not(q))), same))


def _halves(variable: m.Variable) -> Iterator[Expr]:
    """Yield conditions one of which tells any two values of the variable apart."""
    values = m.values_of(variable.type)
    for bit in range((len(values) - 1).bit_length()):
        yield e.one_of(e.Read(str(variable)), [one for code, one in enumerate(values) if code >> bit & 1])
