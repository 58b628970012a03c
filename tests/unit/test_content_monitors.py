"""Contents about runs in lowered systems: their variables, when they are on course, and what a restart is to them."""

from __future__ import annotations

import pytest
from tests.reference.lockstep import Lockstep
from tests.reference.semantics import Reference

from cplc.compilation import CplCompilation
from cplc.logic.expressions import FALSE, Const, Equal, Read
from cplc.lowering.promises import kept, on_course, owed
from cplc.source import Source
from cplc.system.interpreter import holds
from cplc.system.model import System

SECRET = """
protocol P sync {
  role A
  role B
  commitment c = C(A, B, go, %s)
  A -> B : start   means create c
  B -> A : go      after start
  A -> B : leak    after go
  A -> B : end     after go
}
"""


def compiled(text: str) -> CplCompilation:
    compilation = CplCompilation(Source("contents.cpl", text))
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    return compilation


def _agrees(text: str) -> System:
    """Compare the system with the reference interpreter, state by state; return it."""
    compilation = compiled(text)
    reference = Reference(compilation.model)
    Lockstep(reference, reference.explore(), compilation.system).walk()
    return compilation.system


@pytest.mark.parametrize(
    ("content", "states"),
    [
        ("G !leak", 0),
        ("!leak U end", 0),
        ("F (leak & F end)", 2),
        ("F<=2 ticks end", 3),
        ("G (leak -> F<=0 ticks end)", 0),
    ],
)
def test_monitor_has_no_more_states_than_needed(content: str, states: int) -> None:
    system = _agrees(SECRET % content)
    domains = [len(variable.domain) for variable in system.variables if variable.kind == "monitor"]
    assert domains == ([states] if states else domains[:1])


def test_condition_is_never_on_course() -> None:
    system = _agrees(SECRET % "end")
    assert on_course(system, "c") == FALSE
    assert owed(system, "c") != FALSE


def test_promise_not_to_do_something_is_kept_while_active() -> None:
    system = _agrees(SECRET % "G !does(leak)")
    active = Equal(Read("c"), Const("active"))
    assert on_course(system, "c") == active
    assert holds(kept(system, "c"), {"c": "active"})
    assert not holds(owed(system, "c"), {"c": "active"})


def test_restart_elsewhere_is_an_event_that_monitors_read() -> None:
    _agrees("""
    protocol P {
      role A
      role B
      role C
      commitment c = C(A, B, true, !done[1] U F<=1 ticks again)
      commitment d = C(A, B, active(c), G !does(again)) within 3
      A -> B : start   means create c, create d
      for i in 1..1 {
        A -> C : ask    after start
        C -> A : done   after ask   restart
      }
      B -> A : again   after start   repeatable
    }
    """)


def test_suspension_and_delegation_agree_with_the_reference() -> None:
    _agrees("""
    protocol P sync {
      role A
      role B
      role S
      commitment c = C(A, B, true, (!does(leak)) W end)
      commitment d = C(S, B, true, F<=1 ticks done) within 2
      A -> B : start    means create c
      B -> A : pause    after start   repeatable   means suspend c
      B -> A : resume   after pause   repeatable   means reactivate c
      A -> B : pass     after start   means delegate c to d retaining
      A -> B : leak     after start   repeatable
      S -> B : done
      B -> A : end      after start
    }
    """)
