"""Responsibility: who could have made a property true, who stopped or went round, what was owed and violated."""

from __future__ import annotations

from itertools import combinations

import pytest

from cplc.checking.responsibility import MAX_TRIED_COALITIONS, coalitions
from cplc.checking.results import Responsibility, Result
from cplc.compilation import CplCompilation
from cplc.report.failure_explanation import blame_sentences, violation_sentences, violations_of
from cplc.report.trace_narration import narrate
from cplc.source import Source
from cplc.system.model import System

RELAY = """protocol Relay(n: 1..3 = 2) {
  role Src
  role Mid[n]
  role Dst
  for m in Mid {
    commitment work = C(m, Dst, hand, done)
    Src -> m : hand
    m -> Dst : offer  after hand  means create work
    m -> Dst : done   after offer
  }
  %s
}
"""


def answers(properties: str, engine: str = "symbolic", source: str = RELAY) -> list[Result]:
    compilation = CplCompilation(Source("relay.cpl", source % properties))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    return list(
        compilation.verify(compilation.declared_questions(), "explicit" if engine == "explicit" else "symbolic")
    )


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_smallest_sets_of_roles_are_named(engine: str) -> None:
    (every, one, given) = answers(
        "property every: forall m in Mid: AF done[m]\n"
        "  property owed: forall m in Mid: AG (hand[m] -> AF done[m])\n"
        "  property given assuming Src: forall m in Mid: AF done[m]",
        engine,
    )
    assert every.blame == Responsibility((("Src", "Mid"),), ("Src",), ())
    assert one.blame == Responsibility((("Mid",),), ("Mid[1]",), ())
    assert given.blame is not None
    assert given.blame.coalitions == (("Mid",),)


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_stopped_role_still_owes_its_commitments(engine: str) -> None:
    (result,) = answers("property kept: forall m in Mid: AG (offer[m] -> AF done[m])", engine)
    assert result.blame == Responsibility((("Mid",),), ("Mid[1]",), ("work[1]",))


def test_no_role_named_if_fairness_makes_no_difference() -> None:
    (safety, possibility, mixed) = answers(
        "property safety: AG !done[1]\n"
        "  property possibility: EF (done[1] & !offer[1])\n"
        "  property mixed: AF done[1] & EG !done[1]"
    )
    assert safety.answer == possibility.answer == mixed.answer == "fails"
    assert safety.blame is possibility.blame is mixed.blame is None


def test_two_ways_to_help_are_both_named() -> None:
    text = """protocol Either {
  role A
  role B
  role C1
  A -> C1 : left
  B -> C1 : right
  %s
}
"""
    (result,) = answers("property some: AF (left | right)", source=text)
    assert result.blame == Responsibility((("A",), ("B",)), ("A", "B"), ())


def test_no_co_operation_helps_against_a_choice() -> None:
    text = """protocol Broken {
  role A
  role B
  commitment c = C(A, B, true, good)
  A -> B : offer  means create c
  A -> B : good   after offer
  A -> B : bad    after offer
  choice good | bad
  %s
}
"""
    (result,) = answers("property kept: AG (offer -> AF good)", source=text)
    assert result.blame is not None
    assert result.blame.avoidance is not None
    assert (result.blame.coalitions, result.blame.stopped, result.blame.owed) == ((), (), ("c",))
    assert result.evidence is not None
    lost = narrate(result.system, result.evidence).run.moves[(result.blame.avoidance.lost or 0) - 1]
    assert result.system.steps[lost.step or 0].name == "send bad"


CLEARING = """protocol Clearing sync {
  role Customer
  role Merchant
  role BankA
  role BankB
  commitment goods = C(Merchant, Customer, settled, deliver)
  Merchant -> Customer : offer                    means create goods
  Customer -> BankA    : order     after offer
  BankA    -> BankB    : forward   after order    resets back
  BankB    -> BankA    : back      after forward  resets forward
  BankB    -> Merchant : settled   after forward
  Merchant -> Customer : deliver   after settled
  Merchant -> Customer : cancel    after offer    means withdraw goods
  Merchant -> Customer : advert    after offer    repeatable
  %s
}
"""


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_livelock_names_the_roles_that_go_round_and_the_one_that_could_leave(engine: str) -> None:
    """Not the merchant, who could always send something that helps nobody."""
    results = answers(
        "property paid: AG (order -> AF settled)\n  property fair assuming BankA, BankB: AG (order -> AF settled)",
        engine,
        CLEARING,
    )
    for result in results:
        assert result.blame is not None
        assert (result.blame.coalitions, result.blame.stopped, result.blame.owed) == ((), (), ())
        avoided = result.blame.avoidance
        assert avoided is not None
        assert (avoided.lost, set(avoided.acting)) == (None, {"BankA", "BankB"})
        assert [(way.role, way.message, way.ensures) for way in avoided.ways_out] == [("BankB", "settled", True)]
        assert not any("Merchant" in sentence for sentence in blame_sentences(result))


def test_a_conditional_commitment_is_not_owed() -> None:
    (result,) = answers("property asked: AG (offer -> AF order)", source=CLEARING)
    assert result.blame is not None
    assert (result.blame.coalitions, result.blame.owed) == ((("Customer",),), ())


def test_a_member_is_named_only_if_its_stopping_matters() -> None:
    text = """protocol Queue {
  role Server { var served: 0..2 = 0 }
  role Client[2]
  for c in Client {
    c -> Server : ask
    Server -> c : reply  after ask  set Server.served := Server.served + 1
  }
  property first assuming Server: AF ask[1]
  %s
}
"""
    (result, _) = answers("property second: AF reply[2]", source=text)
    assert result.blame is not None
    assert result.blame.coalitions == (("Client",),)
    assert result.blame.stopped == ("Client[1]",)


def test_violations_on_the_run_name_debtor_step_and_cause() -> None:
    text = """protocol Late {
  role A
  role B
  commitment c = C(A, B, true, done)  within 2
  commitment d = C(A, B, true, never)
  A -> B : offer   means create c, create d
  A -> B : break_  after offer  means violate d
  A -> B : done    after offer
  A -> B : never   after break_
  %s
}
"""
    (broken, late) = answers("property safe: AG !violated(d)\n  property timely: AG !violated(c)", source=text)
    assert [(v.name, v.by, v.towards, v.message) for v in violations_of(broken)] == [("d", "A", "B", "break_")]
    assert [(v.name, v.by, v.message) for v in violations_of(late)] == [("c", "A", None)]
    assert list(violation_sentences(broken)) == ["A violated d towards B at step 4, by `A -> B : break_`."]
    assert list(violation_sentences(late)) == ["A violated c towards B at step 4: its deadline of 2 ticks ran out."]


def test_many_roles_are_reduced_instead_of_tried() -> None:
    names = [f"R{number}" for number in range(8)]
    needed = {"R2", "R5", "R6", "R7"}
    tried: list[frozenset[str]] = []

    def valid(assuming: frozenset[str]) -> bool:
        tried.append(assuming)
        return needed <= assuming

    compilation = CplCompilation(
        Source(
            "many.cpl",
            "protocol Many {\n  role Hub\n"
            + "".join(f"  role {name}\n  {name} -> Hub : m{name}\n" for name in names)
            + "}\n",
        )
    )
    system: System = compilation.system
    assert coalitions(system, frozenset(), valid) == (("R2", "R5", "R6", "R7"),)
    assert len(tried) < MAX_TRIED_COALITIONS + 2 + len(list(combinations(names, 2)))


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_path_formulas_have_responsibility(engine: str) -> None:
    (owed, again, past) = answers(
        "property owed: A G (does(hand[1]) -> F does(done[1]))\n"
        "  property again: A (F done[1] & F done[2])\n"
        "  property past: A G (done[1] -> O does(done[2]))",
        engine,
    )
    assert owed.blame == Responsibility((("Mid",),), ("Mid[1]",), ())
    assert again.blame is not None
    assert again.blame.coalitions == (("Src", "Mid"),)
    # A beginning shows it, and every beginning has a fair end.
    assert (past.answer, past.blame) == ("fails", None)


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_disabled_role_has_not_stopped(engine: str) -> None:
    (free, bound) = answers(
        "property free: A{!does(send offer[2])} F done[1]\n  property bound: A{!does(send offer[1])} F done[1]", engine
    )
    assert free.blame == Responsibility((("Src", "Mid"),), ("Src",), ())
    assert bound.blame is not None
    assert bound.blame.coalitions == ()


def test_coalition_helps_strategy_of_group() -> None:
    (result,) = answers("property reached: <<Mid[1]>> F done[1]")
    assert result.answer == "fails"
    assert result.blame is not None
    assert result.blame.coalitions == (("Src",),)
