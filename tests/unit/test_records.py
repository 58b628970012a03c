"""Records are what the decorator of the standard library makes of the same classes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from functools import cached_property
from itertools import product
from typing import Any

import pytest

from cplc import records
from cplc.logic.expressions import Const, Equal, Read

Decorator = Callable[..., Callable[[type], type]]
KINDS: list[dict[str, bool]] = [
    dict(zip(("frozen", "slots", "eq"), flags, strict=True)) for flags in product((False, True), repeat=3)
]


def classes(decorated: Decorator) -> list[type]:
    """Return classes with no fields, one and several; with defaults, fields that are not compared, and a base."""

    @decorated
    class Empty:
        pass

    @decorated
    class One:
        """With a word about it."""

        value: object

    @decorated
    class Several:
        name: str
        values: tuple[int, ...] = ()
        log: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)

    @decorated
    class Further(Several):
        more: int = 3

        def __str__(self) -> str:
            return f"{self.name} and {self.more}"

    @decorated
    class Own:
        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 7

    return [Empty, One, Several, Further, Own]


ARGUMENTS: list[list[tuple[Any, ...]]] = [
    [()],
    [(1,), (2,), ("1",), (None,)],
    [("a",), ("b",), ("a", (1, 2)), ("a", (), [4])],
    [("a",), ("a", (), [1], 3), ("a", (), [], 4)],
    [(1,), (2,)],
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: " ".join(name for name, is_so in kind.items() if is_so))
def test_they_are_what_the_standard_library_makes(kind: dict[str, bool]) -> None:
    here, standard = classes(records.dataclass(**kind)), classes(dataclasses.dataclass(**kind))
    for one, other, arguments in zip(here, standard, ARGUMENTS, strict=True):
        mine, theirs = [one(*given) for given in arguments], [other(*given) for given in arguments]
        assert [repr(x).rpartition(".")[2] for x in mine] == [repr(x).rpartition(".")[2] for x in theirs]
        assert [x == y for x in mine for y in mine] == [x == y for x in theirs for y in theirs]
        assert [x == copy.copy(x) for x in mine] == [x == copy.copy(x) for x in theirs]
        assert (one.__hash__ is None) == (other.__hash__ is None)
        if kind["eq"] and one.__hash__ is not None:
            assert [hash(x) == hash(y) for x in mine for y in mine] == [
                hash(x) == hash(y) for x in theirs for y in theirs
            ]
        assert [field.name for field in dataclasses.fields(one)] == [field.name for field in dataclasses.fields(other)]
        assert one.__match_args__ == other.__match_args__  # type: ignore[attr-defined]
        assert hasattr(mine[0], "__dict__") == hasattr(theirs[0], "__dict__")
        assert mine[0] != theirs[0] or one.__name__ == "Own"


def test_they_are_taken_apart_and_put_together() -> None:
    expression = Equal(Read("x"), Const(3))
    assert dataclasses.replace(expression, right=Const(4)) == Equal(Read("x"), Const(4))
    assert pickle.loads(pickle.dumps(expression)) == copy.deepcopy(expression) == expression
    assert (Equal.__match_args__, Read.__match_args__) == (("left", "right"), ("variable",))


def test_cached_values_are_not_compared() -> None:
    @records.dataclass(frozen=True)
    class Circle:
        radius: int

        @cached_property
        def area(self) -> int:
            return 3 * self.radius**2

    one, other = Circle(2), Circle(2)
    assert one.area == 12
    assert one == other
    assert {one: 1}[other] == 1


def constructors(decorated: Decorator) -> list[type]:
    """Return classes whose constructors differ: fields by name only, computed fields, a step afterwards, an own one."""

    @decorated
    class Named:
        value: int
        unit: str = dataclasses.field(default="s", kw_only=True)
        origin: str = dataclasses.field(kw_only=True)

    @decorated
    class Computed:
        value: int
        doubled: int = dataclasses.field(init=False)
        log: list[int] = dataclasses.field(init=False, default_factory=list)

        def __post_init__(self) -> None:
            self.doubled = 2 * self.value
            self.log.append(self.value)

    @decorated
    class Own:
        value: int

        def __init__(self, *values: int) -> None:
            self.value = sum(values)

    @decorated
    class Inherited(Computed):
        more: int = 1

    return [Named, Computed, Own, Inherited]


CALLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((1, 2, 3), {}),
    ((1,), {"origin": "here"}),
    ((), {"value": 3, "origin": "here", "unit": "m"}),
    ((1,), {"value": 1}),
    ((), {"value": 1, "more": 4}),
    ((), {"nothing": 1}),
]


def constructed(record: type, positional: tuple[int, ...], named: dict[str, Any]) -> str:
    """Return the values of all fields, or the message of the error."""
    try:
        made = record(*positional, **named)
    except TypeError as error:
        return str(error)
    return str([getattr(made, field.name) for field in dataclasses.fields(record)])


@pytest.mark.parametrize("slots", [False, True])
def test_constructor_is_that_of_the_standard_library(slots: bool) -> None:
    here, standard = (constructors(decorated(slots=slots)) for decorated in (records.dataclass, dataclasses.dataclass))
    for one, other in zip(here, standard, strict=True):
        calls = [call for call in CALLS for _ in range(2)]
        assert [constructed(one, *call) for call in calls] == [constructed(other, *call) for call in calls]


def test_default_factory_is_called_for_each_record() -> None:
    first, second = (classes(records.dataclass)[2]("a") for _ in range(2))
    assert first.log is not second.log


def pair_of(decorated: Decorator) -> Any:
    """Return a record with the fields 1 and 2."""

    @decorated
    class Pair:
        left: int
        right: int

    return Pair(1, 2)  # type: ignore[call-arg]


CHANGES: list[Callable[[Any], None]] = [
    lambda pair: setattr(pair, "left", 3),
    lambda pair: setattr(pair, "new", 3),
    lambda pair: delattr(pair, "left"),
]


@pytest.mark.parametrize("change", CHANGES, ids=["assign", "add", "delete"])
@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("decorated", [records.dataclass, dataclasses.dataclass], ids=["records", "dataclasses"])
def test_frozen_record_refuses_changes(decorated: Any, slots: bool, change: Callable[[Any], None]) -> None:
    pair = pair_of(decorated(frozen=True, slots=slots))
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):  # the standard library's refusal fails with slots
        change(pair)
    assert (pair.left, pair.right) == (1, 2)


def test_records_of_the_program_are_frozen() -> None:
    expression: Any = Equal(Read("x"), Const(3))
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'right'"):
        expression.right = Const(4)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'left'"):
        del expression.left


def test_record_that_is_not_frozen_is_assigned_to() -> None:
    pair = pair_of(records.dataclass)
    pair.left = 3
    assert pair.left == 3
