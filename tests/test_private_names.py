"""White-box access: uses of private names of the sources in tests, whose number falls and never rises.

A test of a private name fails when the code behind it is rearranged, though no behaviour has changed. Test through the
public interface, or give the idea a public name.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.support.sources import parsed

_ROOT = Path(__file__).parents[1]
MAX_USES: Final = 76
"""Lower it when it falls."""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in ("_", "_replace")  # that of named tuples


def _definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the private names that a module defines: functions, classes, variables, attributes and fields."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name
            case _:
                pass


def _uses(tree: ast.Module) -> Iterator[str]:
    """Yield the private names that a module imports, reads from other objects or patches."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls" | "os" | "psutil")):
                pass
            case ast.Attribute(attr=name) if _is_private(name):
                yield name
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("cplc"):
                yield from (alias.name for alias in names if _is_private(alias.name))
            case ast.Call(func=ast.Attribute(attr="multiple"), keywords=patched):
                yield from (one.arg for one in patched if one.arg is not None and _is_private(one.arg))
            case ast.Call(args=[_, ast.Constant(value=str(name)), *_]) if _is_private(name):
                yield name
            case ast.Call(args=[ast.Constant(value=str(path)), *_]) if path.startswith("cplc."):
                yield from (part for part in path.split(".") if _is_private(part))
            case ast.Constant(value=str(code)) if "import cplc" in code or "from cplc" in code:
                with suppress(SyntaxError):  # code for a process that the test starts
                    yield from _uses(ast.parse(code))
            case _:
                pass


def _parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((_ROOT / folder).rglob("*.py")):
        yield path.relative_to(_ROOT).as_posix(), parsed(path)


def uses() -> Counter[str]:
    """Return the number of uses of private names of the sources, by test module."""
    private = {name for _, tree in _parsed("src/cplc") for name in _definitions(tree) if _is_private(name)}
    counts = Counter[str]()
    for path, tree in _parsed("tests"):
        if path == "tests/test_private_names.py":  # its examples
            continue
        own = set(_definitions(tree))
        counts[path] = sum(name in private and name not in own for name in _uses(tree))
    return counts


def test_private_names_are_used_less_and_less() -> None:
    counts = uses()
    assert counts.total() <= MAX_USES, f"use public names instead: {counts.most_common(10)}"


def test_private_uses_are_recognised() -> None:
    tree = ast.parse(
        "from cplc.system.model import _own\n"
        "def test(patch, model):\n"
        "    model._cache\n    self._mine\n    model.public\n    model.__dict__\n"
        "    patch.setattr(model, '_limit', 1)\n    patch.setattr('cplc.system.model._LIMIT', 1)\n"
        "    patch.multiple(model, _LEAST=1)\n    run('import cplc.model; cplc.model._MOST = 1')\n"
    )
    assert sorted(_uses(tree)) == ["_LEAST", "_LIMIT", "_MOST", "_cache", "_limit", "_own"]
