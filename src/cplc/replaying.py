"""Recorded runs and the compilation that they are said to be of."""

from __future__ import annotations

from cplc.lowering.lower import all_views
from cplc.pipeline import Compilation, IsplReading
from cplc.simulation.recorded import Recorded
from cplc.simulation.replaying import Replayed, replayed
from cplc.system.model import System


def system_of(compilation: Compilation | IsplReading, recorded: Recorded) -> System:
    """Return the system that has the variables of the run: views are kept where a question was about them."""
    system = compilation.system
    missing = recorded.variables - system.variable.keys()
    if not missing or not isinstance(compilation, Compilation):
        return system
    kept = ((role, name) for role, name in all_views(compilation.model) if f"{name}@{role}" in missing)
    return compilation.system_keeping(kept)


def replayed_on(compilation: Compilation | IsplReading, recorded: Recorded) -> tuple[System, Replayed]:
    """Return the run taken again, and the system that took it."""
    system = system_of(compilation, recorded)
    return system, replayed(system, recorded)
