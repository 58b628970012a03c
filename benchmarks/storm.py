"""Storm as a program: ``python benchmarks/storm.py (sparse | dd) MODEL.prism`` answers the first question beside it.

Questions are read from ``MODEL.props``. It says ``true`` or ``false``, for all initial states, or the least number that
is asked for. Without Storm's package for Python, ``stormpy``, it ends with an error.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any


def answer(engine: str, model: Path) -> str:
    """Return what Storm says, by its states one by one or by its decision diagrams."""
    stormpy: Any = importlib.import_module("stormpy")
    program = stormpy.parse_prism_program(str(model))
    (formula, *_) = stormpy.parse_properties(model.with_suffix(".props").read_text(encoding="utf-8"), program)
    build = stormpy.build_model if engine == "sparse" else stormpy.build_symbolic_model
    built = build(program, [formula])
    result = stormpy.model_checking(built, formula)
    if result is None:
        raise SystemExit("this engine cannot answer the question")
    result.filter(stormpy.create_filter_initial_states(built))
    if result.is_qualitative():
        return "true" if result.forall_true() else "false"
    return str(result.get_min())


if __name__ == "__main__":
    print(answer(sys.argv[1], Path(sys.argv[2])))
