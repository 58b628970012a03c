"""The operators of MCMAS+ on commitments and trust, by every engine and by their definitions spelled out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import permutations
from typing import Any

from tests.support.every_engine import members, on_every_engine
from tests.support.oracles.model_checker import Frozen, States
from tests.support.oracles.synchronous_model_checker import NaiveRounds

from cplc.compilation import IsplCompilation
from cplc.engines.interface import Engine
from cplc.source import Source
from cplc.system.model import System

MODEL = """
Agent Environment
  Obsvars: day : boolean; end Obsvars
  Actions = {rest, turn};
  Protocol: end Protocol
  Evolution: day=true if day=false and Action=turn; day=false if day=true and Action=turn; end Evolution
end Agent
Agent Cus
  Vars: owes : boolean; paid : boolean; mood : {calm, cross}; end Vars
  Actions = {Fulfill_Cus, Cancel_Cus, Delegate_Cus, wait};
  Protocol: owes=true : {Fulfill_Cus, Cancel_Cus, Delegate_Cus, wait}; Other : {wait}; end Protocol
  Evolution:
    paid=true and owes=false if Action=Fulfill_Cus;
    owes=false if Action=Cancel_Cus or Action=Delegate_Cus;
    owes=true if Action=wait and owes=false;
    paid=false and owes=true if Action=wait and owes=false;
  end Evolution
end Agent
Agent Mer
  Vars: owes : boolean; paid : boolean; due : boolean; end Vars
  Actions = {Release_Mer, Assign_Mer, look};
  Protocol: Other : {Release_Mer, Assign_Mer, look}; end Protocol
  Evolution:
    owes=true if !(Cus.Action=wait) and owes=false;
    owes=true and paid=true if Cus.Action=Fulfill_Cus;
    paid=false and owes=true if Cus.Action=Delegate_Cus;
    owes=false if Action=Release_Mer or Action=Assign_Mer;
    due=true if Action=look and Environment.day=true;
  end Evolution
end Agent
Agent Bank
  Vars: owes : boolean; paid : boolean; due : boolean; end Vars
  Actions = {none};
  Protocol: Other : {none}; end Protocol
  Evolution: owes=true if Cus.Action=Delegate_Cus; paid=true if Cus.Action=Fulfill_Cus; end Evolution
end Agent
Evaluation
  a if Cus.owes=true;
  b if Mer.owes=true;
  c if Mer.paid=true or Cus.paid=true;
  d if Bank.owes=true;
end Evaluation
InitStates Cus.paid=false and Mer.paid=false and Mer.due=false and Cus.mood=calm and Bank.due=false; end InitStates
Formulae
"""


OPERATORS = (
    *(f"{op}(Cus, Mer, {{}}, {{}})" for op in ("WCC", "SCC", "FuW", "FuS", "CaS", "ReS")),
    *(f"{op}(Cus, Mer, Bank, {{}}, {{}})" for op in ("DeS", "AsS")),
    "Tr(Cus, Mer, {}, {})",
    "({0} or C(Cus, Mer, {1}))",
)
HOLDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a": lambda state: state["Cus.owes"],
    "b": lambda state: state["Mer.owes"],
    "c": lambda state: state["Mer.paid"] or state["Cus.paid"],
    "d": lambda state: state["Bank.owes"],
}


class _Definitions:
    """The meaning of the operators, from the variables of the model above."""

    def __init__(self, naive: NaiveRounds, p: str, q: str) -> None:
        self.naive = naive
        self.p, self.q = self.having(HOLDS[p]), self.having(HOLDS[q])

    def having(self, holds: Callable[[dict[str, Any]], Any]) -> States:
        return frozenset(state for state in self.naive.reachable if holds(self.naive.thaw(state)))

    def bound(self, one: Frozen, other: Frozen, debtor: str, creditor: str) -> bool:
        now, then = self.naive.thaw(one), self.naive.thaw(other)
        both = {"Cus": {"owes", "paid"}, "Mer": {"owes", "paid", "due"}, "Bank": {"owes", "paid", "due"}}
        shared = both[debtor] & both[creditor]
        observed = ["Environment.day"] + (["Cus.mood"] if debtor == "Cus" else [])
        observed += [f"{creditor}.{name}" for name in both[creditor] - shared]
        return all(now[f"{debtor}.{name}"] == then[f"{creditor}.{name}"] for name in shared) and all(
            now[name] == then[name] for name in observed
        )

    def rounds(self, debtor: str, creditor: str) -> list[tuple[Frozen, Frozen, tuple[str, ...]]]:
        return [
            (state, to, doing)
            for state in self.naive.reachable
            for doing, to in self.naive.rounds[state]
            if self.bound(state, to, debtor, creditor)
        ]

    def weak(self, debtor: str = "Cus", creditor: str = "Mer") -> States:
        broken = {one for one, to, _ in self.rounds(debtor, creditor) if to in self.p - self.q}
        return self.naive.reachable - broken

    def strong(self, debtor: str = "Cus", creditor: str = "Mer") -> States:
        able = {one for one, to, _ in self.rounds(debtor, creditor) if to in self.p}
        return self.weak(debtor, creditor) & able

    def ended(self, by: str) -> States:
        """Return where the last round may have led from a strong commitment, with this action done."""
        strong = self.strong()
        here = {to for one, to, doing in self.rounds("Cus", "Mer") if one in strong and by in doing}
        return frozenset(here) - strong

    def trust(self) -> States:
        trusting = set()
        for state in self.p - self.q:
            after = {state}
            while more := {to for one in after for _, to in self.naive.rounds[one]} - after:
                after |= more
            owes = self.naive.thaw(state)["Cus.owes"]
            alternatives = {to for to in after - {state} if self.naive.thaw(to)["Cus.owes"] == owes}
            if alternatives and alternatives <= self.q:
                trusting.add(state)
        return frozenset(trusting)

    def all(self) -> list[States]:
        weak, strong = self.weak(), self.strong()
        reached = {to for one, to, _ in self.rounds("Cus", "Mer") if one in weak}
        everywhere = self.naive.reachable
        return [
            weak,
            strong,
            (self.q - weak) & reached,
            self.p & self.ended("Fulfill_Cus"),
            self.ended("Cancel_Cus") - self.p,
            self.ended("Release_Mer") - self.p,
            (self.ended("Delegate_Cus") - self.p) & self.strong("Bank", "Mer"),
            (self.ended("Assign_Mer") - self.p) & self.strong("Cus", "Bank"),
            self.trust(),
            self.p
            | frozenset(
                one for one in everywhere if all(to in self.q for to in self.naive.accessible_from("Cus", "Mer", one))
            ),
        ]


PAIRS = list(permutations(HOLDS, 2))


@cache
def _reading() -> IsplCompilation:
    formula_lines = "".join(f"  {operator.format(p, q)};\n" for p, q in PAIRS for operator in OPERATORS)
    reading = IsplCompilation(Source("model.ispl", f"{MODEL}{formula_lines}end Formulae\n"))
    assert reading.ok, [problem.message for problem in reading.diagnostics if problem.is_error]
    return reading


@cache
def _defined() -> list[States]:
    naive = NaiveRounds(_reading().system)
    return [states for p, q in PAIRS for states in _Definitions(naive, p, q).all()]


@on_every_engine
def test_commitments_match_definition(make: Callable[[System], Engine[Any]]) -> None:
    reading = _reading()
    engine = make(reading.system)
    for question, expected in zip(reading.questions(), _defined(), strict=True):
        satisfying = {tuple(state.values()) for state in members(engine, engine.satisfying(question.question.formula))}
        assert satisfying == expected, question.question.text


def test_each_modality_is_true_and_false_somewhere() -> None:
    naive = NaiveRounds(_reading().system)
    sizes = [len(states) for states in _defined()]
    for number, operator in enumerate(OPERATORS):
        assert operator.startswith(("AsS", "Tr")) or any(
            0 < size < len(naive.reachable) for size in sizes[number :: len(OPERATORS)]
        ), operator


TRUSTING = """
Agent Cus
  Vars: x : boolean; n : 0..3; end Vars
  Actions = {on, stay};
  Protocol: n < 3 : {on, stay}; Other : {stay}; end Protocol
  Evolution: n = n + 1 if Action=on; end Evolution
end Agent
Agent Mer
  Vars: x : boolean; end Vars
  Actions = {look};
  Protocol: Other : {look}; end Protocol
  Evolution: x = false if x = true; end Evolution
end Agent
Evaluation p if Cus.n < 3; two if Cus.n = 2; q if Cus.n = 3; end Evaluation
InitStates Cus.n = 0 and Cus.x = true and Mer.x = false; end InitStates
Formulae
  AG (Tr(Cus, Mer, p, q) -> two);
  AG (two -> Tr(Cus, Mer, p, q));
  EF Tr(Cus, Mer, p, q);
end Formulae
"""


@on_every_engine
def test_trust_ignores_present_state(make: Callable[[System], Engine[Any]]) -> None:
    """The state itself, to which staying leads back, is none of the others that follow."""
    reading = IsplCompilation(Source("trusting.ispl", TRUSTING))
    assert all(make(reading.system).is_valid(question.question.formula) for question in reading.questions()[:3])
