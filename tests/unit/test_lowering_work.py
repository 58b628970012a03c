"""Lowering of commitments that wait for each other takes few diagram nodes (counted, not timed)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cplc.compilation import CplCompilation
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.lifecycle import ObserverState
from cplc.runtime.context import TooLarge
from cplc.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples"

MUTUAL = """protocol Mutual sync {
  role Ann
  role Bob
  role Zoe
  role Prt[2] { var v0: 1..2 }
  for p in Prt {
    commitment c0 = C(Zoe, Bob, m0, !m2) within 1
    commitment c1 = C(Ann, Bob, true, m3) expires 1
    commitment c2 = C(Bob, Zoe, assigned(c1), m1) revocable
    Zoe -> Bob : m0  means create c0  if m1
    Bob -> Zoe : m1  means create c2, expire c0
    Zoe -> Bob : m2  means delegate c0 to c1 retaining, expire c0  resets m1, m2  unless released(c2)  after m1[p]
    Ann -> p : m3  repeatable  means delegate c1 to c0  on receipt p.v0 := 2  restart
  }
}
"""


def chain(length: int) -> str:
    """Return a protocol in which each commitment can be handed on to the next, and waited for."""
    lines = ["protocol Chain sync {", "role Z", *(f"role R{i}" for i in range(length))]
    for i in range(length):
        lines += [f"commitment c{i} = C(R{i}, Z, a{i}, b{i}) within 2", f"Z -> R{i} : a{i}", f"R{i} -> Z : b{i}"]
    lines += [f"R{i} -> R{i + 1} : d{i} means delegate c{i} to c{i + 1} retaining" for i in range(length - 1)]
    return "\n".join([*lines, "R0 -> Z : start means create c0", "}"])


def ring(length: int) -> str:
    """Return a chain that is closed, and in which each commitment can be handed on for good as well."""
    *lines, _ = chain(length).splitlines()
    lines.append(f"R{length - 1} -> R0 : d{length - 1} means delegate c{length - 1} to c0 retaining")
    lines += [f"R{i} -> R{(i + 1) % length} : e{i} means delegate c{i} to c{(i + 1) % length}" for i in range(length)]
    return "\n".join([*lines, "}"])


def size(expr: Expr) -> int:
    total, stack = 0, [expr]
    while stack:
        total += 1
        stack += e.children(stack.pop())
    return total


@pytest.mark.parametrize(("text", "nodes", "largest"), [(MUTUAL, 600, 300), (chain(8), 6000, 1000)])
def test_steps_are_built_of_few_nodes(text: str, nodes: int, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    updates = ObserverState.updates

    def counted(state: ObserverState) -> dict[str, Expr]:
        expressions = updates(state)
        made.append(len(state.mtbdd))
        return expressions

    monkeypatch.setattr(ObserverState, "updates", counted)
    compilation = CplCompilation(Source("work.cpl", text))
    assert compilation.ok
    system = compilation.system
    assert max(made) < nodes
    assert max(size(value) for step in system.steps for _, value in step.updates) < largest


def test_step_with_too_many_cases_is_refused() -> None:
    assert CplCompilation(Source("ring.cpl", ring(3))).system.steps
    with pytest.raises(TooLarge, match="the effect of the passing of time on `c0`, `c1`, `c2`, `c3`"):
        _ = CplCompilation(Source("ring.cpl", ring(4))).system


def calls(work: Callable[[], object]) -> int:
    """Return how many functions are called by the work."""
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return made


@pytest.mark.parametrize(
    ("example", "parameter"), [("ecommerce", "copies"), ("netbill", "customers"), ("contract_net", "participants")]
)
def test_twice_as_many_members_take_twice_the_work(example: str, parameter: str) -> None:
    path = EXAMPLES / f"{example}.cpl"
    source = Source(path.name, path.read_text(encoding="utf-8"))
    once, twice = (CplCompilation(source, path, {parameter: str(members)}) for members in (8, 16))
    assert once.ok
    assert twice.ok
    assert calls(lambda: twice.system) < 2.06 * calls(lambda: once.system)
