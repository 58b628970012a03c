"""Model export to other model checkers: one module for each target, each with a function ``export``.

An exporter maps a `Request` to an `Export`: the text, and notes on omissions and their reasons. Templates only print;
the modules of this package make every decision.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

from cplc.export.bounds import with_step_bounds
from cplc.export.request import CannotExport, Export, ExportedFormula, Origin, Request
from cplc.logic.commitments import expanded

__all__ = ["TARGETS", "CannotExport", "Export", "ExportedFormula", "Origin", "Request", "export"]

TARGETS: dict[str, str] = {
    "smv": "smv",
    "smv-arctl": "smv_arctl",
    "ccs": "ccs",
    "prism": "prism",
    "dot": "dot",
    "ispl": "ispl",
    "json": "system_json",
}
"""The module of this package for each target."""

_SYNCHRONOUS_TARGETS: dict[str, str] = {
    "smv": "smv_synchronous",
    "dot": "dot",
    "ispl": "ispl_synchronous",
    "json": "system_json",
}
"""The same for synchronous systems."""


def export(target: str, request: Request) -> Export:
    """Return the system and the formulas in the language of the target."""
    modules = _SYNCHRONOUS_TARGETS if request.system.is_synchronous else TARGETS
    if target not in modules:
        raise CannotExport(
            f"`--to {target}` requires a protocol, whose steps interleave; a synchronous model in ISPL can be exported "
            f"to {', '.join(f'`{one}`' for one in modules)}"
        )
    if target != "json":
        formulas = tuple(replace(one, formula=with_step_bounds(expanded(one.formula))) for one in request.formulas)
        request = replace(request, formulas=formulas)
    exported: Export = importlib.import_module(f"cplc.export.{modules[target]}").export(request)
    return replace(exported, notes=(*request.left_out, *exported.notes))
