"""Who may import whom, and which library lives where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[1] / "src" / "cplc"

_MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "printable": set(),
    "source": set(),
    "resources": set(),
    "file_access": set(),
    "diagnostics": {"source"},
    "system": {"source"},
    "syntax": {"source", "diagnostics", "resources", "file_access"},
    "formatting": {"syntax", "source", "diagnostics"},
    "settings": {"syntax", "source", "diagnostics", "file_access"},
    "automata": set(),
    "semantics": {"automata", "syntax", "source", "diagnostics", "resources", "file_access"},
    "lowering": {"automata", "semantics", "system", "diagnostics", "source"},
    "engines": {"system"},
    "verification": {"engines", "system", "source"},
    "risk": {"engines", "system"},
    "quality": {"semantics", "lowering", "verification", "system", "source"},
    "compatibility": {"engines", "verification", "system"},
    "caching": {"verification", "system", "resources", "file_access", "__init__"},
    "logs": {"system", "diagnostics", "source"},
    "simulation": {"engines", "verification", "system", "source"},
    "drawing": {"report", "simulation", "engines", "verification", "system", "source"},
    "report": {"simulation", "verification", "quality", "risk", "compatibility", "system", "diagnostics", "source"},
    "export": {"system"},
}
_MAY_IMPORT["asking"] = {"verification", "system", "diagnostics"}
_MAY_IMPORT["ispl_reading"] = {*_MAY_IMPORT, "__init__"}
_MAY_IMPORT["pipeline"] = {*_MAY_IMPORT, "__init__"}
_MAY_IMPORT["analysing"] = {*_MAY_IMPORT}
_MAY_IMPORT["every_size"] = {"pipeline", "asking", "semantics", "verification", "engines", "system", "source"}
_MAY_IMPORT["replaying"] = {"pipeline", "simulation", "lowering", "system"}
_MAY_IMPORT["fixing"] = {"pipeline", "settings", "semantics", "diagnostics", "source"}
_MAY_IMPORT["monitoring"] = {"pipeline", "simulation", "engines", "lowering", "semantics", "logs", "system"}
_MAY_IMPORT["mining"] = {"monitoring", "logs", "report", "risk", "system"}
_MAY_IMPORT["sweeping"] = {
    "file_access",
    "pipeline",
    "analysing",
    "asking",
    "risk",
    "quality",
    "simulation",
    "drawing",
    "semantics",
    "syntax",
    "caching",
    "engines",
    "verification",
    "system",
    "diagnostics",
    "source",
}
_MAY_IMPORT["server"] = {
    "file_access",
    "pipeline",
    "settings",
    "report",
    "formatting",
    "semantics",
    "syntax",
    "verification",
    "diagnostics",
    "source",
    "resources",
    "__init__",
}
_MAY_IMPORT["cli"] = {
    "file_access",
    "every_size",
    "sweeping",
    "mining",
    "monitoring",
    "logs",
    "server",
    "pipeline",
    "asking",
    "fixing",
    "analysing",
    "risk",
    "formatting",
    "export",
    "report",
    "simulation",
    "replaying",
    "drawing",
    "quality",
    "settings",
    "compatibility",
    "caching",
    "verification",
    "system",
    "diagnostics",
    "source",
    "resources",
    "__init__",
}
_MAY_IMPORT["__main__"] = {"cli"}
_MAY_IMPORT["__init__"] = {"pipeline", "asking", "verification", "monitoring", "source"}

_AT_HOME = {
    "textx": "syntax",
    "arpeggio": "syntax",
    "lark": "syntax",
    "click": "cli",
    "pygls": "server",
    "lsprotocol": "server",
    "jinja2": "export report",
    "markupsafe": "report",
    "oxidd": "engines",
    "numpy": "risk",
    "ijson": "logs",
    "dd": "engines",
    "distributed": "sweeping",
    "pyarrow": "sweeping",
    "psutil": "sweeping",
}
"""The parts that each library may be imported in: one, but for templates, which print in two."""


def _imports() -> Iterator[tuple[Path, str, str]]:
    """Yield each file, its part, and every module that it imports, wherever in the file that is written."""
    for path in sorted(_SOURCE.glob("**/*.py")):
        part = path.relative_to(_SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names):
                    yield from ((path, part, alias.name) for alias in names)
                case ast.ImportFrom(module=str(module), names=names, level=0):
                    if module == "cplc":
                        yield from ((path, part, f"cplc.{alias.name}") for alias in names)
                    else:
                        yield path, part, module
                case ast.ImportFrom():
                    pytest.fail(f"{path}: relative imports hide the part they come from")
                case _:
                    pass


def _part_of(module: str) -> str:
    """Return the part that a module of ours belongs to; names of the package itself belong to ``__init__``."""
    name = module.split(".")[1] if "." in module else "__init__"
    return name if (_SOURCE / name).is_dir() or (_SOURCE / f"{name}.py").is_file() else "__init__"


def test_every_part_has_a_place_in_the_order() -> None:
    parts = {part for _, part, _ in _imports()}
    assert parts <= set(_MAY_IMPORT)
    assert len(parts) > 5


def test_imports_go_one_way() -> None:
    wrong = [
        f"{path.relative_to(_SOURCE)} imports {module}"
        for path, part, module in _imports()
        if module.split(".")[0] == "cplc" and _part_of(module) not in {part, "records", "printable", *_MAY_IMPORT[part]}
    ]
    assert wrong == []


def test_records_are_made_the_quick_way() -> None:
    """The decorator of the standard library compiles every method of every class whenever the program starts."""
    wrong = [
        str(path.relative_to(_SOURCE))
        for path in _SOURCE.glob("**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(alias.name == "dataclass" for alias in node.names) and path.stem != "records"
    ]
    assert wrong == []


def test_every_library_has_one_home() -> None:
    wrong = [
        f"{path.relative_to(_SOURCE)} imports {module}"
        for path, part, module in _imports()
        if part not in _AT_HOME.get(module.split(".")[0], part).split()
    ]
    assert wrong == []


def test_the_order_has_no_cycle() -> None:
    below: dict[str, set[str]] = {}
    remaining = dict(_MAY_IMPORT)
    while remaining:
        free = [part for part, others in remaining.items() if others <= set(below) | {"__init__", part}]
        assert free, f"these import each other: {sorted(remaining)}"
        for part in free:
            below[part] = remaining.pop(part)


@pytest.mark.parametrize("path", sorted(_SOURCE.glob("**/*.py")), ids=lambda path: str(path.relative_to(_SOURCE)))
def test_modules_are_one_idea(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 600, "split it by construct"
    assert not text.strip() or ast.get_docstring(ast.parse(text)), "say what it is for"
