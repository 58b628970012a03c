"""What is shown of members who get in each other's way, and what would be shown by wrong reasons."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from cplc import compile
from cplc.engines.companions import Companions
from cplc.every_size import EverySize
from cplc.semantics.sizes import Uniformity
from cplc.system import excerpt
from cplc.verification.results import Result

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


def _result(asked: str, given: str = "", as_far_as: int = 4) -> Result:
    compilation = compile(_DESK.replace("ASKED", asked).replace("GIVEN", given))
    assert compilation.ok, compilation.diagnostics
    (result,) = EverySize(compilation, "n", as_far_as).verify(compilation.questions())
    return result


def _says(result: Result) -> str:
    return (result.sizes or result.reason or "").rpartition("; ")[2]


_BY_THEN = " assuming Desk: forall g in Guest: AG (paid[g] -> A[paid[g] U (given[g] | returned[g])])"
_EACH = "an invariant of each of them shows it of more"
_ANY_TWO = "an invariant of any 2 of them shows it of more"
_IDLE = "more members need do nothing"


@pytest.mark.parametrize(
    ("asked", "given", "why"),
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
        (": AG (Desk.left = 2 & EF given[1] -> !(taken[1] & taken[2]))", "", "it is unknown for n = 1"),
        (
            ": AG !(exists g in Guest: exists h in Guest: g != h & sent(given[g]) & sent(given[h]))",
            "unless exists h in Guest: given[h]",
            _ANY_TWO,
        ),
        (": forall g in Guest: AG (given[g] -> paid[g]) & EF given[g]", "", f"{_EACH}; {_IDLE}"),
    ],
)  # fmt: skip
def test_members_who_share_a_counter(asked: str, given: str, why: str) -> None:
    result = _result(asked, given)
    assert (result.sizes or "").endswith(why)


_GROWS = "what it depends on grows with every member"


@pytest.mark.parametrize(
    ("asked", "given", "because"),
    [
        (" assuming Desk: forall g in Guest: AG (asked[g] -> AF taken[g] | AF gone[g])", "", _GROWS),
        (": AG (Desk.left = 0 -> EF Desk.left > 0)", "", _GROWS),
        (": AG (EF (forall g in Guest: taken[g] | gone[g]))", "", _GROWS),
        (" assuming Guest[1]: AG (taken[1] -> AF paid[1])", "", _GROWS),
    ],
)
def test_what_is_not_known_to_hold(asked: str, given: str, because: str) -> None:
    result = _result(asked, given, as_far_as=2)
    assert result.answer in {"unknown", "fails"}
    if result.answer == "unknown" and because:
        assert (result.reason or "").endswith(because)


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


@pytest.mark.parametrize(("asked", "given"), _flaws())
def test_flaws_of_more_than_are_tried(asked: str, given: str) -> None:
    assert _result(asked, given, as_far_as=8).answer == "fails"
    assert _result(asked, given, as_far_as=2).answer in {"unknown", "fails"}


def _nothing_forgotten(self: Companions) -> object:
    return self._closed(self._encoding.beginning(frozenset(self._system.variable)))


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (Companions, "invariant", property(_nothing_forgotten)),
        (excerpt, "stronger", excerpt.weaker),
    ],
)
def test_wrong_reasons_are_noticed(
    owner: object, name: str, wrong: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    assert any(_result(asked, given, as_far_as=2).answer == "holds" for asked, given in _flaws())


def test_rules_that_only_many_members_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard about five members says nothing where there are four."""
    names = "abcde"
    several = " & ".join(f"{one} != {other}" for one, other in combinations(names, 2))
    served = " & ".join(f"given[{one}]" for one in names)
    given = f"unless {''.join(f'exists {one} in Guest: ' for one in names)}{several} & {served}"
    asked = ": forall g in Guest: AG (paid[g] & !sent(returned[g]) -> EF given[g])"
    assert _result(asked, given, as_far_as=4).answer == "unknown"
    monkeypatch.setattr(Uniformity, "asked_at_once", 0)
    assert _result(asked, given, as_far_as=4).answer == "holds"
