"""Dataclasses that are made in a fraction of the time.

The decorator of the standard library writes up to six methods for each class and compiles them, which for the hundreds
of classes that a verdict needs took a third of the whole run. This one leaves it only the fields. The constructor is
compiled when the class is first called, which most classes never are in one run; the other methods are closures. To the
type checker this is the decorator of the standard library.
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
            record = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
            fields = dataclasses.fields(record)
            methods = {
                "__init__": _init(record, fields, frozen),
                "__repr__": _repr([field.name for field in fields if field.repr]),
            }
            if eq:
                methods["__eq__"] = _eq([field.name for field in fields if field.compare])
                compared = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
                methods["__hash__"] = _hash(compared) if frozen else None
            if frozen:
                methods["__setattr__"], methods["__delattr__"] = _refuse_assignment, _refuse_deletion
            if frozen and slots:
                methods["__getstate__"], methods["__setstate__"] = _state([field.name for field in fields])
            for name, method in methods.items():
                if name not in own:
                    setattr(record, name, method)
            return record

        return made if cls is None else made(cls)

    def _init(record, fields, frozen):
        """Return a constructor that at its first call puts the compiled one in its place."""

        def first(self, *arguments, **named):
            init = _compiled_init(record, fields, frozen)
            record.__init__ = init
            init(self, *arguments, **named)

        return first

    def _compiled_init(record, fields, frozen):
        """Compile the constructor that the standard library would write."""
        values = {"MISSING": dataclasses.MISSING, "assign": object.__setattr__}
        ordinary, by_name, body = ["self"], [], []
        for field in fields:
            name, default, factory = field.name, f"default_{field.name}", f"factory_{field.name}"
            made = field.default_factory is not dataclasses.MISSING
            value = name
            if made:
                values[factory] = field.default_factory
                value = f"{factory}() if {name} is MISSING else {name}" if field.init else f"{factory}()"
            if field.init:
                parameter = name
                if made:
                    parameter = f"{name}=MISSING"
                elif field.default is not dataclasses.MISSING:
                    values[default] = field.default
                    parameter = f"{name}={default}"
                (by_name if field.kw_only else ordinary).append(parameter)
            if field.init or made:
                body.append(f"assign(self, '{name}', {value})" if frozen else f"self.{name} = {value}")
        if hasattr(record, "__post_init__"):
            body.append("self.__post_init__()")
        parameters = ", ".join([*ordinary, *(["*", *by_name] if by_name else [])])
        exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), values)  # as the standard library does
        init = values["__init__"]
        init.__qualname__ = f"{record.__qualname__}.__init__"  # for the message about a missing argument
        return init

    def _refuse_assignment(self, name, value):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_deletion(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


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
    """Return the functions that get and set the pickled state: the fields, without cached values."""

    def get(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def put(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return get, put
