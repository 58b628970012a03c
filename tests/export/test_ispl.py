"""Translations for MCMAS are equivalent; inexpressible formulas are omitted with a note."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.every_engine import members
from tests.support.generators.logic_formulas import Logic, logic_formulas
from tests.support.generators.systems import atoms, conditionals, roles, some_channels, some_offerings, systems
from tests.support.random_examples import examples

from cplc import compile
from cplc.compilation import IsplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.export import Export, ExportedFormula, Origin, Request, export
from cplc.export.ispl_formulas import IDENTIFIERS, Vocabulary, to_mcmas_operators, with_observers
from cplc.export.request import NotExpressible
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Fulfils
from cplc.logic.formulas import Formula
from cplc.source import Source
from cplc.system.model import System

_TEXT = """
protocol Ping {
  role Ann
  role Bob
  Ann -> Bob : ping
  Bob -> Ann : pong   after ping
  %s
}
"""


def _exported(properties: str) -> Export:
    compilation = compile(_TEXT % properties)
    assert compilation.ok, compilation.diagnostics
    return compilation.export("ispl", compilation.declared_questions())


# --- translation to operators of MCMAS


@st.composite
def _social(draw: st.DrawFn, system: System) -> Formula:
    """Draw a commitment or its fulfilment, possibly nested."""
    channel = draw(st.sampled_from(some_channels(system)))
    operand = draw(
        atoms(system) | logic_formulas(system, Logic(past=False, taken=False, games=False, depth=1, weight=3))
    )
    if draw(st.booleans()):
        return Commits(channel, operand)
    if draw(st.booleans()):
        return draw(conditionals(some_offerings(system), st.just(operand) | atoms(system)))
    return Fulfils(channel, operand)


@examples(25)
@given(st.data())
def test_commitment_equivalent_to_knowledge_of_observer(data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False))
    formula = data.draw(_social(system))
    try:
        translated = to_mcmas_operators(formula, system)
    except NotExpressible:  # the commitment is nondeterministic after a step or initially
        return
    engine, other = ExplicitEngine(system), ExplicitEngine(with_observers([formula], system))
    assert other.count(other.reachable) == engine.count(engine.reachable)
    expected = list(members(engine, engine.satisfying(formula)))
    names = system.variable.keys()
    assert [
        {name: value for name, value in state.items() if name in names}
        for state in members(other, other.satisfying(translated))
    ] == expected


@examples(25)
@given(st.data())
def test_expanded_conditions_equivalent(data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False))
    atom = data.draw(atoms(system))
    assert isinstance(atom, f.Atom)
    condition = atom.condition
    written_out = Vocabulary(system).condition(condition)
    assert all(_is_simple(part) for part in _parts(written_out))
    engine = ExplicitEngine(system)
    assert list(members(engine, engine.where(condition))) == list(members(engine, engine.where(written_out)))


def _parts(expr: e.Expr) -> list[e.Expr]:
    below = [] if isinstance(expr, e.Equal) else e.children(expr)
    return [expr, *(part for child in below for part in _parts(child))]


def _is_simple(part: e.Expr) -> bool:
    match part:
        case e.Equal(e.Read(), e.Read() | e.Const()):
            return True
        case e.Equal() | e.Less() | e.Arith() | e.Ite():
            return False
        case _:
            return True


def test_numbers_enumerated_and_arithmetic_expanded() -> None:
    compilation = compile(
        """
        protocol Count {
          role A
          role B { var level: -1..1 = 0 }
          A -> B : up(n: 0..1)   on receipt level := (level + n) % 2
        }
        """
    )
    assert compilation.ok, compilation.diagnostics
    text = compilation.export("ispl", ()).text
    assert "level : {minus_1, n_0, n_1};" in text
    assert "level = n_0 if Action = receive_up" in text
    assert "level = minus_1 if" not in text
    assert not re.search(r"= -?\d|[+%]", text.partition("Semantics")[2].replace("-- ", ""))


# --- fairness


def test_common_assumption_needs_no_selector() -> None:
    text = _exported("property p assuming Bob: AG (ping -> AF pong)").text
    assert "as many reachable states as the system." in text
    assert "  fair_to_send_pong;  -- send pong" in text
    assert "(AG (ping -> (AF pong)));" in text


def test_different_assumptions_need_selector() -> None:
    text = _exported(
        "property p assuming Bob: AG (ping -> AF pong)  property q: AG (ping -> AF pong)  property r: EF pong"
    ).text
    assert "2 times as many reachable states" in text
    assert "assuming : {role_Bob, no_role};" in text
    assert "(assuming_Bob -> (AG (ping -> (AF pong))));" in text
    assert "(assuming_nobody -> (AG (ping -> (AF pong))));" in text
    assert "\n  (EF pong);" in text


def test_fairness_omitted_if_irrelevant() -> None:
    assert "Fairness" not in _exported("property p assuming Bob: EF pong").text


def test_fairness_is_premise_below_knowledge() -> None:
    text = _exported("fairness pong  property p: A F K(Ann, ping)").text
    assert "CTL* (A (((G (F fairness))) -> (F K(Ann, ping))));" in text
    assert "\n  (AF ping);" in _exported("fairness pong  property p: A F ping").text


# --- omissions


def test_inexpressible_formulas_omitted() -> None:
    exported = _exported(
        "property past: A G (pong -> O ping)  property game: <<Ann>> F ping  "
        "property few: E{does(ping)} F pong  property said: EF pong"
    )
    assert exported.written == ("said",)
    assert [note.partition(":")[0] for note in exported.notes] == ["`past`", "`game`", "`few`"]
    assert exported.text.count("* `") == 3


def test_file_without_formulas_has_dummy_formula() -> None:
    exported = _exported("property past: A G (pong -> O ping)")
    assert exported.written == ()
    assert exported.text.endswith("Formulae\n  -- no formula was exported\n  always;\nend Formulae\n")


# --- the file as a whole


@examples(25)
@given(st.data())
def test_names_declared_once_and_not_reserved(data: st.DataObject) -> None:
    system = data.draw(systems())
    drawn = [data.draw(st.tuples(logic_formulas(system), roles(system))) for _ in range(3)]
    formulas = [ExportedFormula(f"f{n}", formula, "", assuming) for n, (formula, assuming) in enumerate(drawn)]
    exported = export("ispl", Request(system, formulas, Origin("-", "0")))
    assert exported.text.isascii()
    assert {*exported.written} | {
        question.name for question in formulas if any(question.name in n for n in exported.notes)
    } == {question.name for question in formulas}
    introduced = re.findall(r"^ +(\w+) : \{?\w", exported.text.partition("Actions")[0], re.MULTILINE)
    introduced += re.findall(r"^Agent (\w+)", exported.text, re.MULTILINE)
    introduced += re.findall(r"^  (\w+) if ", exported.text.partition("\nEvaluation")[2], re.MULTILINE)
    assert len(set(introduced)) == len(introduced)
    assert not (set(introduced) & IDENTIFIERS.reserved) - {"Environment", "always"}


@pytest.mark.parametrize("fairness", ["", "Fairness\n  EG (p or P.RedStates);\nend Fairness\n"], ids=["", "fairness"])
def test_proposition_that_always_holds_is_declared_where_it_is_used(fairness: str) -> None:
    """Without formula the file asks for the one proposition that always holds; MCMAS refuses undeclared names."""
    text = f"""Agent P
  Vars:
    x : boolean;
  end Vars
  RedStates: x = x; end RedStates
  Actions = {{a}};
  Protocol:
    Other : {{a}};
  end Protocol
  Evolution:
    x = true if x = false;
  end Evolution
end Agent
Evaluation
  p if P.x = true;
end Evaluation
InitStates
  P.x = false;
end InitStates
{fairness}Formulae
  EF p;
end Formulae
"""
    model = IsplCompilation(Source("model.ispl", text))
    assert model.ok, model.diagnostics
    exported = model.export("ispl", ())
    assert IsplCompilation(Source("again.ispl", exported.text)).ok, exported.text
