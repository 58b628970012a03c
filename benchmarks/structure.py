"""Size and shape of the sources, and the path of one verification through them: ``python -m benchmarks.structure``.

The first table counts modules, lines and names; complexity is that of radon, if it is installed. The second follows
``cplc verify examples/netbill.cpl`` with a profiler and counts the functions and modules entered, and how often control
passes from one package to another. ``--source`` and ``--python`` measure another working copy in the same run.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[1]

_WALK = """
import contextlib, io, json, sys, threading

calls, switches, modules, functions, last = 0, 0, set(), set(), None

def package(module):
    return ".".join(module.split(".")[:2])

def enter(frame, event, _):
    global calls, switches, last
    if event != "call":
        return
    module = frame.f_globals.get("__name__", "")
    if not module.startswith("cplc.") or frame.f_code.co_name == "<module>":
        return
    calls += 1
    modules.add(module)
    functions.add((module, frame.f_code.co_qualname))
    switches += last is not None and package(module) != last
    last = package(module)

from cplc.cli.main import run
threading.setprofile(enter)
sys.setprofile(enter)
with contextlib.redirect_stdout(io.StringIO()):
    code = run(["verify", "examples/netbill.cpl"])
sys.setprofile(None)
threading.setprofile(None)
assert code == 0, code
print(json.dumps({"calls": calls, "package switches": switches, "modules": len(modules), "functions": len(functions)}))
"""


def _modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of `cplc` that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cplc"):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("cplc"))


def _name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _comment_lines(text: str) -> int:
    return sum(token.type == tokenize.COMMENT for token in tokenize.generate_tokens(io.StringIO(text).readline))


def _complexity(texts: Sequence[str]) -> dict[str, float]:
    """Return the mean cyclomatic complexity of a block and the number of complex blocks, by radon."""
    try:
        from radon.complexity import cc_rank, cc_visit
    except ImportError:
        return {}
    blocks = [block.complexity for text in texts for block in cc_visit(text)]
    return {
        "complexity per block": round(sum(blocks) / len(blocks), 2),
        "blocks at D or worse": sum(cc_rank(block) >= "D" for block in blocks),
    }


def size(package: Path) -> dict[str, float]:
    """Return the counts of one package's sources."""
    paths = _modules(package)
    texts = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(text) for text in texts]
    names = [_name(package, path) for path in paths]
    importers: Counter[str] = Counter()
    for name, tree in zip(names, trees, strict=True):
        importers.update(set(_imported(tree)) & set(names) - {name})
    lines = sum(len(text.splitlines()) for text in texts)
    # What a type checker alone imports is still written down, and read.
    import_lines = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    classes = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {
        "modules": len(paths),
        "modules with text": sum(len(text.splitlines()) > 5 for text in texts),
        "lines": lines,
        "lines per module": round(lines / len(paths)),
        "top-level names": sum(not one.name.startswith(("_", "py.")) for one in package.iterdir()),
        "modules with one importer": sum(importers[name] == 1 for name in names),
        "import lines, percent": round(100 * import_lines / lines, 1),
        "comment lines, percent": round(100 * sum(map(_comment_lines, texts)) / lines, 1),
        "class names in several modules": sum(count > 1 for count in classes.values()),
        **_complexity(texts),
    }


def walk(python: str, root: Path) -> dict[str, float]:
    """Return what one verification enters, in a fresh process."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "CPLC_CACHE": "off"}
    done = subprocess.run([python, "-c", _WALK], cwd=root, env=environment, capture_output=True, text=True, check=True)
    counts: dict[str, float] = json.loads(done.stdout)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the structure of the sources.")
    parser.add_argument("--source", type=Path, default=_ROOT, help="root of the working copy to measure")
    parser.add_argument("--python", default=sys.executable, help="interpreter that imports this working copy")
    options = parser.parse_args()
    for title, counts in (
        ("sources", size(options.source / "src" / "cplc")),
        ("cplc verify examples/netbill.cpl", walk(options.python, options.source)),
    ):
        print(f"{title}:")
        for name, number in counts.items():
            print(f"  {name:32}{number:>10,}")


if __name__ == "__main__":
    main()
