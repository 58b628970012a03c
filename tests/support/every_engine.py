"""Constructors of every engine, with each library that it supports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.interface import Engine
from cplc.engines.symbolic.bdd import BACKENDS
from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.logic.formulas import Formula
from cplc.system.model import State, System

MakeEngine = Callable[[System], Engine[Any]]


def _installed(backend: str) -> bool:
    return find_spec(backend.partition(".")[0]) is not None and find_spec(backend) is not None


SYMBOLIC: dict[str, MakeEngine] = {
    **{f"symbolic-{name}": partial(SymbolicEngine, backend=name) for name in BACKENDS if _installed(name)},
    "symbolic-relations": partial(SymbolicEngine, variants=1),
}
ENGINES: dict[str, MakeEngine] = {"explicit": ExplicitEngine, **SYMBOLIC}

on_every_engine = pytest.mark.parametrize("make", list(ENGINES.values()), ids=list(ENGINES))
on_symbolic_engines = pytest.mark.parametrize("make", list(SYMBOLIC.values()), ids=list(SYMBOLIC))


def members(engine: Engine[Any], states: Any) -> Iterator[State]:
    """Yield the states of a set, one after the other."""
    while not engine.is_empty(states):
        state = engine.pick(states)
        yield state
        states = engine.difference(states, engine.singleton(state))


def is_everywhere(engine: Engine[Any], formula: Formula) -> bool:
    return engine.is_empty(engine.complement(engine.satisfying(formula)))
