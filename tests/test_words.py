"""Names and prose use the field's terms (docs/adr/0053, docs/glossary.md); habits that hide them stay out.

`tests/golden/words.json` counts what is left of each habit, by folder. A count may fall and never rises:
`--update-golden` writes lower ones.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_COUNTS = Path(__file__).parent / "golden" / "words.json"
_CODE = ("src", "tests", "benchmarks", "playground")
_PROSE = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")

_EMPTY_NAMES = frozenset(
    {"found", "known", "kept", "asked", "said", "told", "others", "wanted", "seen", "few", "many", "there"}
)
"""Names that say how a value came about, which its assignment says already, and not what it is."""

_HEADLESS = re.compile(
    r"(What|Who|Whoever|Whose|Whether|Where|Wherever|Of|That which|How (late|far|many|much)|So)\b[^?]*$"
)
"""A docstring or heading begins with the concept or a verb, not with a relative clause."""

_PHRASES = re.compile(
    r"\b(for ever|anew|hitherto|whoever|whomever|gone on with|goes? on (?:as|with)"
    r"|(?:is|are|was|were) (?:asked|told|said) of"
    r"|so much is|unsaid|in vain|as at first|made good|stands? beside|lest|nobody knows|however badly|what was found"
    r"|who only)\b",
    re.IGNORECASE,
)


def _parsed() -> Iterator[tuple[Path, ast.Module]]:
    for folder in _CODE:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                yield path, ast.parse(path.read_text(encoding="utf-8"))


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield each name that is bound as a variable or parameter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def _paragraphs() -> Iterator[tuple[Path, str]]:
    """Yield the lines of Markdown outside of code."""
    pages = (
        page for name in _PROSE for page in ([_ROOT / name] if name.endswith(".md") else (_ROOT / name).rglob("*.md"))
    )
    for page in sorted(pages):
        in_code = False
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith("```"):
                in_code = not in_code
            elif not in_code:
                yield page, line


def _folder(path: Path) -> str:
    """Return the package, or the top folder, that a file is counted for."""
    parts = path.relative_to(_ROOT).parts
    return "/".join(parts[: min(len(parts) - 1, 3 if parts[0] == "src" else 2)]) or parts[0]


def counts() -> dict[str, dict[str, int]]:
    """Return how often each habit occurs, by folder."""
    habits = {habit: Counter[str]() for habit in ("empty names", "headless openings", "phrases")}
    for path, tree in _parsed():
        if path == Path(__file__):
            continue
        folder = _folder(path)
        habits["empty names"][folder] += sum(name in _EMPTY_NAMES for name in _names(tree))
        for text in _docstrings(tree):
            habits["headless openings"][folder] += _HEADLESS.match(text.split("\n")[0].rstrip(".")) is not None
            habits["phrases"][folder] += len(_PHRASES.findall(text))
    for page, line in _paragraphs():
        heading = re.match(r"#+ (.*)", line)
        habits["headless openings"][_folder(page)] += heading is not None and _HEADLESS.match(heading[1]) is not None
        habits["phrases"][_folder(page)] += len(_PHRASES.findall(line))
    return {habit: {folder: count for folder, count in sorted(by.items()) if count} for habit, by in habits.items()}


def test_old_habits_do_not_return(update_golden: bool) -> None:
    current = counts()
    allowed: dict[str, dict[str, int]] = json.loads(_COUNTS.read_text(encoding="utf-8")) if _COUNTS.exists() else {}
    more = {
        f"{habit} in {folder}": (count, allowed.get(habit, {}).get(folder, 0))
        for habit, by in current.items()
        for folder, count in by.items()
        if count > allowed.get(habit, {}).get(folder, 0)
    }
    if update_golden and (not more or not allowed):
        _COUNTS.write_text(json.dumps(current, indent=2) + "\n", encoding="utf-8")
        return
    assert more == {}, "name what it is; begin with the concept (now, allowed)"


def test_habits_are_recognised() -> None:
    tree = ast.parse('def f(known):\n    """Whoever is asked."""\n    found = known\n    return found\n')
    assert sorted(name for name in _names(tree) if name in _EMPTY_NAMES) == ["found", "known"]
    assert [bool(_HEADLESS.match(text)) for text in _docstrings(tree)] == [True]
    assert _PHRASES.findall("It goes on as before, for ever; whoever it is.") == ["goes on as", "for ever", "whoever"]
    assert not _HEADLESS.match("Whether it holds?")
    assert not _HEADLESS.match("Return whether it holds")
