"""What is written for MCMAS in other words means the same, and what cannot be is left out and said to be."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.every_engine import members
from tests.strategies import atoms, conditionals, roles, some_channels, some_offerings, systems
from tests.strategies_logic import Logic, logic_formulas

from cplc import compile
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.export import Export, ExportedFormula, Origin, Request, export
from cplc.export.ispl_expressions import IDENTIFIERS, Vocabulary
from cplc.export.ispl_formulas import to_mcmas_operators, with_observers
from cplc.export.request import NotExpressible
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
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


# --- in other words


@st.composite
def _social(draw: st.DrawFn, system: System) -> Formula:
    """Draw a commitment or the fulfilment of one, about a formula that may have others in it."""
    channel = draw(st.sampled_from(some_channels(system)))
    operand = draw(
        atoms(system) | logic_formulas(system, Logic(past=False, taken=False, games=False, depth=1, weight=3))
    )
    if draw(st.booleans()):
        return f.Commits(channel, operand)
    if draw(st.booleans()):
        return draw(conditionals(some_offerings(system), st.just(operand) | atoms(system)))
    return f.Fulfils(channel, operand)


@settings(max_examples=25)
@given(st.data())
def test_commitment_is_what_one_more_agent_knows(data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False))
    formula = data.draw(_social(system))
    try:
        said = to_mcmas_operators(formula, system)
    except NotExpressible:  # a step or the beginning leaves open what is promised
        return
    engine, other = ExplicitEngine(system), ExplicitEngine(with_observers([formula], system))
    assert other.count(other.reachable) == engine.count(engine.reachable)
    expected = list(members(engine, engine.satisfying(formula)))
    names = system.variable.keys()
    assert [
        {name: value for name, value in state.items() if name in names}
        for state in members(other, other.satisfying(said))
    ] == expected


@settings(max_examples=25)
@given(st.data())
def test_conditions_mean_the_same_written_out(data: st.DataObject) -> None:
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


def test_numbers_are_words_and_arithmetic_is_written_out() -> None:
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


def test_one_fairness_for_all_needs_no_copies() -> None:
    text = _exported("property p assuming Bob: AG (ping -> AF pong)").text
    assert "as many reachable states as the system." in text
    assert "  fair_to_send_pong;  -- send pong" in text
    assert "(AG (ping -> (AF pong)));" in text


def test_what_is_assumed_is_told_by_a_variable() -> None:
    text = _exported(
        "property p assuming Bob: AG (ping -> AF pong)  property q: AG (ping -> AF pong)  property r: EF pong"
    ).text
    assert "2 times as many reachable states" in text
    assert "assuming : {role_Bob, no_role};" in text
    assert "(assuming_Bob -> (AG (ping -> (AF pong))));" in text
    assert "(assuming_nobody -> (AG (ping -> (AF pong))));" in text
    assert "\n  (EF pong);" in text


def test_what_asks_for_no_fair_runs_gets_none() -> None:
    assert "Fairness" not in _exported("property p assuming Bob: EF pong").text


def test_fairness_of_the_file_stands_before_runs_where_knowledge_could_tell() -> None:
    known = _exported("fairness pong  property p: A F K(Ann, ping)").text
    assert "CTL* (A (((G (F fairness))) -> (F K(Ann, ping))));" in known
    assert "\n  (AF ping);" in _exported("fairness pong  property p: A F ping").text


# --- what is left out


def test_what_mcmas_cannot_say_is_left_out() -> None:
    found = _exported(
        "property past: A G (pong -> O ping)  property game: <<Ann>> F ping  "
        "property few: E{does(ping)} F pong  property said: EF pong"
    )
    assert found.written == ("said",)
    assert [note.partition(":")[0] for note in found.notes] == ["`past`", "`game`", "`few`"]
    assert found.text.count("* `") == 3


def test_a_file_without_questions_asks_something() -> None:
    found = _exported("property past: A G (pong -> O ping)")
    assert found.written == ()
    assert found.text.endswith("Formulae\n  -- no formula was exported\n  always;\nend Formulae\n")


# --- the file as a whole


@settings(max_examples=25)
@given(st.data())
def test_every_name_is_introduced_once_and_none_is_reserved(data: st.DataObject) -> None:
    system = data.draw(systems())
    drawn = [data.draw(st.tuples(logic_formulas(system), roles(system))) for _ in range(3)]
    formulas = [ExportedFormula(f"f{n}", formula, "", assuming) for n, (formula, assuming) in enumerate(drawn)]
    found = export("ispl", Request(system, formulas, Origin("-", "0")))
    assert found.text.isascii()
    assert {*found.written} | {asked.name for asked in formulas if any(asked.name in n for n in found.notes)} == {
        asked.name for asked in formulas
    }
    introduced = re.findall(r"^ +(\w+) : \{?\w", found.text.partition("Actions")[0], re.MULTILINE)
    introduced += re.findall(r"^Agent (\w+)", found.text, re.MULTILINE)
    introduced += re.findall(r"^  (\w+) if ", found.text.partition("\nEvaluation")[2], re.MULTILINE)
    assert len(set(introduced)) == len(introduced)
    assert not (set(introduced) & IDENTIFIERS.reserved) - {"Environment", "always"}
