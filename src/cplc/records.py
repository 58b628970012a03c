"""Dataclasses that are made in a fraction of the time.

The decorator of the standard library writes up to six methods for each class, compiles them, and creates a class with
slots again before it adds them. For the hundreds of classes that a verdict needs this took a third of the whole run.
Here the constructor is made when the class is first called, which most classes never are in one run, from code that is
compiled once for all records of the same shape. The other methods are closures, and all are in place when the class is
made. `dataclasses.fields`, `replace` and `asdict` take these classes as their own. To the type checker this is the
decorator of the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from functools import cache
    from itertools import dropwhile
    from types import FunctionType, MemberDescriptorType, SimpleNamespace

    _REQUIRED = object()

    _PARAMETERS = {
        (eq, frozen): SimpleNamespace(init=True, repr=True, eq=eq, order=False, unsafe_hash=False, frozen=frozen)
        for eq in (False, True)
        for frozen in (False, True)
    }

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """Make a class a record: what differs in no field is equal and, if it is frozen, has one hash."""

        def made(cls):
            own = {name for name, value in vars(cls).items() if value is not None}
            by_name = _fields(cls)
            fields = tuple(by_name.values())
            names = tuple(by_name)
            members = {
                "__dataclass_fields__": by_name,
                "__dataclass_params__": _PARAMETERS[eq, frozen],
                "__match_args__": tuple([field.name for field in fields if field.init and not field.kw_only]),
                "__init__": _init(fields, frozen),
                "__repr__": _repr([field.name for field in fields if field.repr]),
            }
            if eq:
                members["__eq__"] = _eq([field.name for field in fields if field.compare])
                compared = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
                members["__hash__"] = _hash(compared) if frozen else None
            if frozen:
                members["__setattr__"], members["__delattr__"] = _refuse_assignment, _refuse_deletion
            if frozen and slots:
                members["__getstate__"], members["__setstate__"] = _state(names)
            for name in own & members.keys():
                del members[name]
            if slots:
                return _with_slots(cls, names, members)
            for name, member in members.items():
                setattr(cls, name, member)
            return cls

        return made if cls is None else made(cls)

    def _fields(cls):
        """Return the fields of a class by name, those of its bases first; a default stays an attribute of the class."""
        fields = {}
        for base in cls.__mro__[-2:0:-1]:
            fields.update(vars(base).get("__dataclass_fields__", ()))
        annotations = cls.__annotations__  # its own: a base has another one
        for name, annotation in annotations.items():
            text = str(annotation).removeprefix("typing.")
            if text.startswith("ClassVar"):
                continue
            if text.startswith(("InitVar", "KW_ONLY")):
                raise TypeError(f"a record has no field of type {text}")
            default = getattr(cls, name, dataclasses.MISSING)
            if isinstance(default, dataclasses.Field):
                field = default
                if field.default is dataclasses.MISSING:
                    delattr(cls, name)
                else:
                    setattr(cls, name, field.default)
            else:
                is_slot = isinstance(default, MemberDescriptorType)
                field = dataclasses.field(default=dataclasses.MISSING if is_slot else default)
            if field.default.__class__.__hash__ is None:
                raise ValueError(f"mutable default for field {name}: use default_factory")
            field.name, field.type, field._field_type = name, annotation, dataclasses._FIELD
            if field.kw_only is dataclasses.MISSING:
                field.kw_only = False
            fields[name] = field
        return fields

    def _with_slots(cls, names, members):
        """Return the class made again, with slots for its fields and these members."""
        namespace = {**vars(cls), **members}
        inherited = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
        namespace["__slots__"] = tuple([name for name in names if name not in inherited])
        for name in ("__dict__", "__weakref__", *names):
            namespace.pop(name, None)
        record = type(cls)(cls.__name__, cls.__bases__, namespace)
        record.__qualname__ = cls.__qualname__
        return record

    def _init(fields, frozen):
        """Return a constructor that at its first call puts the compiled one in its place."""

        def first(self, *arguments, **named):
            record = next(base for base in type(self).__mro__ if vars(base).get("__init__") is first)
            init = _compiled_init(record, fields, frozen)
            record.__init__ = init
            init(self, *arguments, **named)

        return first

    def _compiled_init(record, fields, frozen):
        """Return the constructor that the standard library would write, from the code of all of the same shape."""
        taken = [field for field in fields if field.init or field.default_factory is not dataclasses.MISSING]
        shape = tuple(
            [(field.init, field.default_factory is not dataclasses.MISSING, field.kw_only) for field in taken]
        )
        renamed = {f"_{number}": field.name for number, field in enumerate(taken)}
        code = _constructor_code(shape, frozen, hasattr(record, "__post_init__"))
        code = code.replace(
            co_varnames=tuple([renamed.get(name, name) for name in code.co_varnames]),
            co_names=tuple([renamed.get(name, name) for name in code.co_names]),
            co_consts=tuple([renamed.get(value, value) for value in code.co_consts]),
        )
        factories = {f"factory_{number}": field.default_factory for number, field in enumerate(taken)}
        init = FunctionType(
            code, {"MISSING": dataclasses.MISSING, "assign": object.__setattr__, **factories}, "__init__"
        )
        ordinary = [_default(field) for field in taken if field.init and not field.kw_only]
        with_default = list(dropwhile(lambda default: default is _REQUIRED, ordinary))
        if any(default is _REQUIRED for default in with_default):
            raise TypeError(f"{record.__qualname__}: a field without default follows one with a default")
        init.__defaults__ = tuple(with_default)
        by_name = {field.name: _default(field) for field in taken if field.init and field.kw_only}
        init.__kwdefaults__ = {name: default for name, default in by_name.items() if default is not _REQUIRED}
        init.__qualname__ = f"{record.__qualname__}.__init__"  # for the message about a missing argument
        return init

    def _default(field):
        """Return the default of a parameter: `MISSING` where a factory makes the value, `_REQUIRED` without one."""
        if field.default_factory is not dataclasses.MISSING:
            return dataclasses.MISSING
        return _REQUIRED if field.default is dataclasses.MISSING else field.default

    @cache
    def _constructor_code(shape, frozen, has_post_init):
        """Compile the constructor of fields called ``_0``, ``_1``, …: few shapes serve all records.

        A field of the shape is a parameter or not, has a factory or not, and is passed by name alone or not.
        """
        ordinary, by_name, body = ["self"], [], []
        for number, (is_parameter, has_factory, kw_only) in enumerate(shape):
            name = f"_{number}"
            value = f"factory{name}()" if has_factory else name
            if is_parameter:
                (by_name if kw_only else ordinary).append(name)
                value = f"{value} if {name} is MISSING else {name}" if has_factory else value
            body.append(f"assign(self, '{name}', {value})" if frozen else f"self.{name} = {value}")
        if has_post_init:
            body.append("self.__post_init__()")
        parameters = ", ".join([*ordinary, *(["*", *by_name] if by_name else [])])
        made = {}
        exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), made)  # as the standard library does
        return made["__init__"].__code__

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
