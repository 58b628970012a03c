"""Replay of recorded runs in a compilation."""

from __future__ import annotations

from cplc.compilation import Compilation, IsplCompilation
from cplc.lowering.lower import all_views
from cplc.simulation.recorded_runs import Recorded
from cplc.simulation.run_replay import Replayed, replayed
from cplc.system.model import System
from cplc.system.standings import last_move_of


def system_of_run(compilation: Compilation | IsplCompilation, recorded: Recorded) -> System:
    """Return the system with the variables of the run, including views that only one question observed."""
    system = compilation.system
    missing = recorded.variables - system.variable.keys()
    if not missing or not isinstance(compilation, Compilation):
        return system
    views = all_views(compilation.model)
    retained = ((role, name) for role, name in views if f"{name}@{role}" in missing)
    recalled = ((role, name) for role, name in views if last_move_of(name, role) in missing)
    return compilation.system_keeping(retained, recalled)


def replay_recorded(compilation: Compilation | IsplCompilation, recorded: Recorded) -> tuple[System, Replayed]:
    """Return the system and the replayed run."""
    system = system_of_run(compilation, recorded)
    return system, replayed(system, recorded)
