"""Systems as other tools read them: one module for each target, all with the same function.

An exporter gets a `Request` and returns an `Export`: the text, and notes on what it left out and why. Templates only
print; whatever has to be decided is decided here.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

from cplc.export.request import CannotExport, Export, ExportedFormula, Origin, Request
from cplc.logic.formulas import expanded

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
"""Each target and its module here, whose function ``export`` makes the `Export`."""

_ROUNDS: dict[str, str] = {
    "smv": "smv_synchronous",
    "dot": "dot",
    "ispl": "ispl_synchronous",
    "json": "system_json",
}
"""The same for synchronous systems, of those targets that can be told of them."""


def export(target: str, request: Request) -> Export:
    """Return the system and the formulas in the form of the target."""
    modules = _ROUNDS if request.system.is_synchronous else TARGETS
    if target not in modules:
        raise CannotExport(
            f"`--to {target}` is for protocols, in which one step is taken at a time; a model in ISPL, in which all "
            f"agents act at once, goes to {', '.join(f'`{one}`' for one in modules)}"
        )
    if target != "json":
        formulas = tuple(replace(one, formula=expanded(one.formula)) for one in request.formulas)
        request = replace(request, formulas=formulas)
    exported: Export = importlib.import_module(f"cplc.export.{modules[target]}").export(request)
    return replace(exported, notes=(*request.left_out, *exported.notes))
