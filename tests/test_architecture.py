"""Layers of packages and their imports, and the home of each library."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.sources import parsed

_SOURCE = Path(__file__).parents[1] / "src" / "cplc"

_MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "control_characters": set(),
    "language": set(),
    "source": set(),
    "runtime": set(),
    "diagnostics": {"source"},
    "logic": set(),
    "system": {"source", "logic"},
    "statespace": {"runtime", "logic", "system"},
    "automata": {"runtime", "logic", "statespace"},
    "reductions": {"runtime", "logic", "system", "statespace"},
    "engines": {"runtime", "logic", "automata", "system", "statespace", "reductions"},
    "checking": {"source", "runtime", "logic", "automata", "system", "statespace", "reductions", "engines"},
    "syntax": {"source", "runtime", "diagnostics"},
    "formatter": {"source", "diagnostics", "syntax", "ispl"},
    "settings": {"source", "runtime", "diagnostics", "syntax"},
    "semantics": {"source", "runtime", "diagnostics", "logic", "statespace", "automata", "syntax"},
    "lowering": {"source", "runtime", "diagnostics", "logic", "automata", "system", "statespace", "semantics"},
    "ispl": {"source", "diagnostics", "logic", "system", "syntax", "semantics"},
    "export": {"logic", "system"},
    "simulation": {"runtime", "logic", "automata", "system", "statespace", "reductions", "engines", "checking"},
    "mutation": {"source", "logic", "system", "checking", "semantics", "lowering", "ispl"},
    "compatibility": {"runtime", "logic", "system", "statespace", "checking", "simulation"},
    "decision": {"runtime", "logic", "system", "statespace"},
    "caching": {"runtime", "system", "checking", "__init__"},
    "logs": {"source", "diagnostics", "logic", "system"},
    "report": {
        "source",
        "runtime",
        "diagnostics",
        "logic",
        "system",
        "checking",
        "simulation",
        "mutation",
        "compatibility",
        "decision",
    },
    "drawing": {"runtime", "logic", "system", "statespace", "reductions", "simulation", "report"},
    "compilation": {
        "source",
        "runtime",
        "diagnostics",
        "logic",
        "system",
        "reductions",
        "engines",
        "checking",
        "syntax",
        "settings",
        "semantics",
        "lowering",
        "ispl",
        "export",
        "formatter",
        "simulation",
        "mutation",
        "compatibility",
        "decision",
        "report",
        "__init__",
    },
    "parameterised": {
        "source",
        "runtime",
        "logic",
        "system",
        "reductions",
        "engines",
        "checking",
        "semantics",
        "compilation",
    },
    "monitoring": {
        "runtime",
        "diagnostics",
        "logic",
        "system",
        "statespace",
        "semantics",
        "lowering",
        "simulation",
        "logs",
        "decision",
        "compilation",
    },
    "guard": {"logs", "monitoring"},
    "mining": {"logic", "system", "decision", "logs", "report", "monitoring"},
    "workers": {"runtime"},
    "project": {"source", "runtime", "diagnostics", "settings", "compilation"},
    "sweeps": {
        "workers",
        "source",
        "runtime",
        "diagnostics",
        "system",
        "engines",
        "checking",
        "syntax",
        "semantics",
        "simulation",
        "mutation",
        "decision",
        "caching",
        "drawing",
        "compilation",
    },
    "server": {
        "source",
        "runtime",
        "diagnostics",
        "checking",
        "syntax",
        "formatter",
        "settings",
        "semantics",
        "ispl",
        "report",
        "compilation",
        "__init__",
    },
    "cli": {
        "source",
        "runtime",
        "diagnostics",
        "logic",
        "system",
        "checking",
        "formatter",
        "settings",
        "export",
        "simulation",
        "mutation",
        "compatibility",
        "decision",
        "caching",
        "logs",
        "report",
        "drawing",
        "compilation",
        "parameterised",
        "monitoring",
        "guard",
        "mining",
        "sweeps",
        "workers",
        "project",
        "server",
        "__init__",
    },
    "api": {"source", "checking", "compilation", "decision", "system"},
    "__init__": {"api", "guard", "monitoring"},
    "__main__": {"cli"},
}
"""The parts in their order; each imports itself, `records`, `control_characters`, `language` and these."""

_AT_HOME = {
    "textx": "syntax",
    "arpeggio": "syntax",
    "lark": "syntax ispl",
    "click": "cli",
    "pygls": "server",
    "lsprotocol": "server",
    "jinja2": "export report",
    "markupsafe": "report",
    "oxidd": "engines",
    "numpy": "decision",
    "ijson": "logs",
    "dd": "engines",
    "distributed": "sweeps",
    "pyarrow": "sweeps",
    "psutil": "workers",
    "opentelemetry": "guard",
}
"""The parts that each library may be imported in: one, but for templates, which print in two."""


def _imports() -> Iterator[tuple[Path, str, str]]:
    """Yield each file, its part, and every module that it imports, at any place in the file."""
    for path in sorted(_SOURCE.glob("**/*.py")):
        part = path.relative_to(_SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(parsed(path)):
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
        if module.split(".")[0] == "cplc"
        and _part_of(module) not in {part, "records", "control_characters", "language", *_MAY_IMPORT[part]}
    ]
    assert wrong == []


_KNOWS_LANGUAGES = {
    "compilation/__init__.py",
    "compilation/loader.py",
    "compilation/ispl.py",
    "server/compiled_document.py",
    "settings/suppression.py",
    "source.py",
}
"""The modules that may ask which language a text is in.

A source names its language; the editor has features for CPL only, and comments begin with another sign.
"""


def test_only_the_loader_decides_which_language_a_file_is_in() -> None:
    wrong = []
    for path in sorted(_SOURCE.glob("**/*.py")):
        name = path.relative_to(_SOURCE).as_posix()
        for node in ast.walk(parsed(path)):
            asks = isinstance(node, ast.Name) and node.id in ("IsplCompilation", "is_ispl")
            asks |= isinstance(node, ast.Attribute) and node.attr == "is_ispl" and path.parts[-2] != "server"
            asks |= isinstance(node, ast.Constant) and node.value == ".ispl"
            if asks and name not in _KNOWS_LANGUAGES:
                wrong.append(f"{name}: {ast.unparse(node)}")
    assert wrong == []


def test_commands_refuse_models_in_ispl_in_one_place() -> None:
    """A command that applies to protocols only calls `as_protocol` or `compile_protocol`."""
    wrong = [
        f"{path.name}:{node.lineno}"
        for path in sorted((_SOURCE / "cli").glob("*.py"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if any(isinstance(part, ast.Name) and part.id.endswith("Compilation") for part in ast.walk(node))
        if path.name != "load.py"
    ]
    assert wrong == []


def test_commands_do_not_judge_results() -> None:
    """`report/outcome.py` compares results with the file; commands turn their standing into an exit code."""
    wrong = [
        f"{path.name}:{node.lineno}"
        for path in sorted((_SOURCE / "cli").glob("*.py"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in ("as_expected", "advisory")
    ]
    assert wrong == []


def test_records_are_made_the_quick_way() -> None:
    """The decorator of the standard library compiles every method of every class whenever the program starts."""
    wrong = [
        str(path.relative_to(_SOURCE))
        for path in _SOURCE.glob("**/*.py")
        for node in ast.walk(parsed(path))
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
        free = [part for part, imported in remaining.items() if imported <= set(below) | {"__init__", part}]
        assert free, f"these import each other: {sorted(remaining)}"
        for part in free:
            below[part] = remaining.pop(part)


@pytest.mark.parametrize("path", sorted(_SOURCE.glob("**/*.py")), ids=lambda path: str(path.relative_to(_SOURCE)))
def test_modules_are_one_idea(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 700, "split it by construct"
    assert not text.strip() or ast.get_docstring(parsed(path)), "say what it is for"


_ASKS_FOR_THE_KIND_OF_A_SYSTEM = {
    "system/model.py": "declares the property",
    "system/invariants.py": "agents of a synchronous system may observe variables of others",
    "reductions": "no reduction permutes players or omits rounds",
    "checking/engine_selector.py": "the quick search has no rounds",
    "checking/replay.py": "the judge of runs shares no transition relation with the engines",
    "checking/strategy_play.py": "advice is about sends or about actions",
    "checking/strategy_tables.py": "advice is about sends or about actions",
    "simulation/run_replay.py": "a recorded run names steps or actions",
    "export": "formats of other tools for rounds and for steps differ",
    "report": "rounds and steps are worded differently",
}
"""Modules and packages that distinguish synchronous systems, each with the reason."""


def test_searches_do_not_ask_whether_a_system_is_synchronous() -> None:
    """Engines and explorers use a transition relation, which is chosen once for each kind of system."""
    asking = {
        path.relative_to(_SOURCE).as_posix()
        for path in _SOURCE.glob("**/*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr == "is_synchronous"
    } | {"system/model.py"}
    allowed = {
        name for name in asking for one in _ASKS_FOR_THE_KIND_OF_A_SYSTEM if name == one or name.startswith(f"{one}/")
    }
    assert sorted(asking - allowed) == []
    unused = {
        one for one in _ASKS_FOR_THE_KIND_OF_A_SYSTEM if not any(f"{name}/".startswith(f"{one}/") for name in asking)
    }
    assert unused == set()
