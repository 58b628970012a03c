"""Proofs for members who get in each other's way, and proofs that wrong reasons would give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import pytest

from cplc import compile
from cplc.checking.results import Result
from cplc.compilation import CplCompilation
from cplc.parameterised import EverySize, projection
from cplc.parameterised.instances import Sizes
from cplc.parameterised.view_abstraction import ViewAbstraction, ViewAbstractionProofs
from cplc.semantics.data_independence import UniformityCheck

_DESK = """
protocol Desk(n: 1..64 = 2, pieces: 1..9 = 3) {
  role Desk { var left: 0..pieces = pieces  var mood: {calm, cross} = calm }
  role Guest[n]
  for g in Guest {
    commitment promise = C(Desk, g, paid, given | returned)
    g -> Desk : asked
    Desk -> g : taken     after asked   if Desk.left > 0   set Desk.left := Desk.left - 1   means create promise
    Desk -> g : gone      after asked   if Desk.left = 0
    g -> Desk : paid      after taken
    Desk -> g : given     after paid    GIVEN
    Desk -> g : returned  after paid                       set Desk.left := Desk.left + 1
    choice taken | gone
    choice given | returned
  }
  property p ASKED
}
"""


def _desk(property_text: str, given: str = "") -> CplCompilation:
    compilation = compile(_DESK.replace("ASKED", property_text).replace("GIVEN", given))
    assert compilation.ok, compilation.diagnostics
    return compilation


def _proof(compilation: CplCompilation, sizes: Iterable[int] = (2, 3, 4)) -> str | None:
    """Return the first proof that the only question holds at every size, if it holds at these."""
    instances = Sizes(compilation, "n")
    (question,) = compilation.declared_questions()
    attempts = (ViewAbstractionProofs(instances).proof(question.question, size) for size in sizes)
    return next((proof.reason for proof in attempts if proof is not None), None)


def _result(compilation: CplCompilation) -> Result:
    (result,) = EverySize(compilation, "n").verify(compilation.declared_questions())
    return result


_BY_THEN = " assuming Desk: forall g in Guest: AG (paid[g] -> A[paid[g] U (given[g] | returned[g])])"
_EACH = "view abstraction: an invariant of each member implies it"
_ANY_TWO = "view abstraction: an invariant of any 2 members implies it"
_IDLE = "monotonicity: further members can stay idle"


@pytest.mark.parametrize(
    ("property_text", "given", "why"),
    [
        (": AG !(exists g in Guest: taken[g] & gone[g])", "", _EACH),
        (": forall g in Guest: AG (gone[g] -> null(promise[g]))", "", _EACH),
        (": forall g in Guest: AG (paid[g] -> EF (given[g] | returned[g]))", "", _EACH),
        (": forall g in Guest: EF given[g]", "", _IDLE),
        (": forall g in Guest: EF (taken[g] & EF returned[g])", "", _IDLE),
        (" assuming Desk: forall g in Guest: AG (paid[g] -> AF (given[g] | returned[g]))", "", _EACH),
        (_BY_THEN, "", _EACH),
        (": forall g in Guest: AG (given[g] -> K(g, paid[g]))", "", _EACH),
        (": forall g in Guest: AG (paid[g] -> C(Desk -> g, taken[g]))", "", _EACH),
        (": forall g in Guest: EF Fu(Desk -> g, given[g] | returned[g])", "", _EACH),
        (": AG (Desk.left = 2 & EF given[1] -> !(taken[1] & taken[2]))", "", None),
        (
            ": AG !(exists g in Guest: exists h in Guest: g != h & sent(given[g]) & sent(given[h]))",
            "unless exists h in Guest: given[h]",
            _ANY_TWO,
        ),
        (": forall g in Guest: AG (given[g] -> paid[g]) & EF given[g]", "", f"{_EACH} and by {_IDLE}"),
    ],
)  # fmt: skip
def test_members_who_share_a_counter(property_text: str, given: str, why: str | None) -> None:
    assert _proof(_desk(property_text, given)) == why


@pytest.mark.parametrize(
    "property_text",
    [
        " assuming Desk: forall g in Guest: AG (asked[g] -> AF taken[g] | AF gone[g])",
        ": AG (Desk.left = 0 -> EF Desk.left > 0)",
        ": AG (EF (forall g in Guest: taken[g] | gone[g]))",
        " assuming Guest[1]: AG (taken[1] -> AF paid[1])",
    ],
)
def test_questions_without_a_proof(property_text: str) -> None:
    assert _proof(_desk(property_text)) is None


def _flaws() -> list[tuple[str, str]]:
    """Questions that two members do not fail, and more do."""
    two_served = "unless exists h in Guest: exists k in Guest: h != k & given[h] & given[k]"
    return [
        (": AG Desk.left > 0", ""),
        (": forall g in Guest: AG (asked[g] -> EF taken[g])", ""),
        (": forall g in Guest: AG !gone[g]", ""),
        (": forall g in Guest: AG (taken[g] & !paid[g] -> EF given[g])", two_served),
        (" assuming Desk: forall g in Guest: AG (asked[g] -> AF taken[g])", ""),
    ]


@pytest.mark.parametrize(("property_text", "given"), _flaws())
def test_flaws_of_more_than_are_tried(property_text: str, given: str) -> None:
    assert _result(_desk(property_text, given)).answer == "fails"
    assert _proof(_desk(property_text, given)) is None


def _nothing_forgotten(self: ViewAbstraction) -> object:
    return self._closed(self._encoding.initial_states(frozenset(self._system.variable)))


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (ViewAbstraction, "invariant", property(_nothing_forgotten)),
        (projection, "forall_hidden", projection.exists_hidden),
    ],
)
def test_wrong_reasons_are_noticed(
    owner: object, name: str, wrong: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    assert any(_proof(_desk(property_text, given), (2,)) is not None for property_text, given in _flaws())


def test_rules_that_only_many_members_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard about five members says nothing where there are four."""
    names = "abcde"
    several = " & ".join(f"{one} != {other}" for one, other in combinations(names, 2))
    served = " & ".join(f"given[{one}]" for one in names)
    given = f"unless {''.join(f'exists {one} in Guest: ' for one in names)}{several} & {served}"
    property_text = ": forall g in Guest: AG (paid[g] & !sent(returned[g]) -> EF given[g])"
    assert _proof(_desk(property_text, given)) is None
    monkeypatch.setattr(UniformityCheck, "simultaneous_members", 0)
    assert _proof(_desk(property_text, given)) is not None
