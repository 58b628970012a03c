"""Dataclasses that are made in a fraction of the time.

The decorator of the standard library writes up to six methods for each class and compiles them, which for the hundreds
of classes that a verdict needs took a third of the whole run. This one leaves it ``__init__`` and the fields; the other
methods are closures. That a record which is ``frozen`` is not written to is for the type checker to see, to whom this
is the decorator of the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """Make a class a record: what differs in no field is equal and, if it is frozen, has one hash."""

        def made(cls):
            own = {name for name, value in vars(cls).items() if value is not None}
            cls.__doc__ = cls.__doc__ or cls.__name__  # or it would be made from the signature, which takes long
            record = dataclasses.dataclass(cls, repr=False, eq=False, slots=slots)
            fields = dataclasses.fields(record)
            methods = {"__repr__": _repr([field.name for field in fields if field.repr])}
            if eq:
                methods["__eq__"] = _eq([field.name for field in fields if field.compare])
                compared = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
                methods["__hash__"] = _hash(compared) if frozen else None
            if frozen and slots:
                methods["__getstate__"], methods["__setstate__"] = _state([field.name for field in fields])
            for name, method in methods.items():
                if name not in own:
                    setattr(record, name, method)
            return record

        return made if cls is None else made(cls)


__all__ = ["dataclass"]


def _repr(names: Sequence[str]) -> Callable[[Any], str]:
    def text(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _eq(names: Sequence[str]) -> Callable[[Any, Any], bool]:
    values = _values(names)

    def equal(self: Any, other: Any) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(names: Sequence[str]) -> Callable[[Any], int]:
    values = _values(names)

    def number(self: Any) -> int:
        return hash(values(self))

    return number


def _values(names: Sequence[str]) -> Callable[[Any], Any]:
    """Return what gets the values of these fields: of a single one its own, otherwise as a tuple."""
    return attrgetter(*names) if names else lambda _: ()


def _state(names: Sequence[str]) -> tuple[Callable[[Any], list[Any]], Callable[[Any, list[Any]], None]]:
    """Return what is pickled, and how it is put back: the fields, and nothing that is kept beside them."""

    def get(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def put(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            setattr(self, name, value)

    return get, put
