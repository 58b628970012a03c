"""Systems as other tools read them: one module for each target, all with the same function.

An exporter gets a `Request` and returns an `Export`: the text, and notes on what it left out and why. Templates only
print; whatever has to be decided is decided here.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

from cplc.export.request import CannotExport, Export, ExportedFormula, Origin, Request

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


def export(target: str, request: Request) -> Export:
    """Return the system and the formulas in the form of the target."""
    found: Export = importlib.import_module(f"cplc.export.{TARGETS[target]}").export(request)
    return replace(found, notes=(*request.left_out, *found.notes))
