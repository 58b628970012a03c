"""Names and prose use the field's terms (docs/adr/0053, docs/glossary.md); habits that hide them stay out."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.sources import parsed

_ROOT = Path(__file__).parents[1]
_CODE = ("src", "tests", "benchmarks", "playground")
_PROSE = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs",
    "changelog.d",
    "examples",
    "vscode-extension/README.md",
)

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
    r"|who only|wherever|hangs? on|looks? on|for want of|what is asked|(?:says?|said|told|asks?|asked) of)\b",
    re.IGNORECASE,
)


def _parsed() -> Iterator[tuple[Path, ast.Module]]:
    for folder in _CODE:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                yield path, parsed(path)


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


def _habits() -> Iterator[str]:
    """Yield each place with an empty name, a headless opening or a banned phrase."""
    for path, tree in _parsed():
        if path == Path(__file__):
            continue
        place = path.relative_to(_ROOT)
        yield from (f"{place}: name `{name}`" for name in _names(tree) if name in _EMPTY_NAMES)
        for text in _docstrings(tree):
            first = text.split("\n")[0].rstrip(".")
            if _HEADLESS.match(first):
                yield f"{place}: headless opening: {first}"
            yield from (f"{place}: phrase `{match[0]}`" for match in _PHRASES.finditer(text))
    for page, line in _paragraphs():
        place = page.relative_to(_ROOT)
        if (heading := re.match(r"#+ (.*)", line)) and _HEADLESS.match(heading[1]):
            yield f"{place}: headless heading: {line}"
        yield from (f"{place}: phrase `{match[0]}`" for match in _PHRASES.finditer(line))


@pytest.mark.quick
def test_old_habits_do_not_return() -> None:
    assert list(_habits()) == [], "name what it is; begin with the concept"


def test_habits_are_recognised() -> None:
    tree = ast.parse('def f(known):\n    """Whoever is asked."""\n    found = known\n    return found\n')
    assert sorted(name for name in _names(tree) if name in _EMPTY_NAMES) == ["found", "known"]
    assert [bool(_HEADLESS.match(text)) for text in _docstrings(tree)] == [True]
    assert _PHRASES.findall("It goes on as before, for ever; whoever it is.") == ["goes on as", "for ever", "whoever"]
    assert not _HEADLESS.match("Whether it holds?")
    assert not _HEADLESS.match("Return whether it holds")


_HEADLESS_TEST = re.compile(r"test_(what|who|whoever|whose|whether|where|wherever|of|that_which|how|so)_")


@pytest.mark.quick
def test_tests_are_named_by_their_subject() -> None:
    tests = _ROOT / "tests"
    functions = [
        f"{path.relative_to(_ROOT)}: {node.name}"
        for path in sorted(tests.rglob("test_*.py"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _HEADLESS_TEST.match(node.name)
    ]
    headings = [
        f"{page.relative_to(_ROOT)}: {line}"
        for folder in ("cli", "language")
        for page in sorted((tests / folder).rglob("*.md"))
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("## ") and _HEADLESS.match(line[3:])
    ]
    assert functions + headings == [], "test_<subject>_<expected behaviour>"


def test_decision_records_have_one_header() -> None:
    for page in sorted((_ROOT / "docs" / "adr").glob("*.md")):
        heading = page.read_text(encoding="utf-8").split("\n")[0]
        assert heading.startswith(f"# {int(page.name[:4])}. "), f"{page.name}: `# N. Noun phrase of the decision`"
        assert not _HEADLESS.match(heading.partition(". ")[2])


def test_decision_records_have_numbers_of_their_own() -> None:
    counts = Counter(page.name[:4] for page in (_ROOT / "docs" / "adr").glob("*.md"))
    assert [number for number, count in counts.items() if count > 1] == [], "take the next free number"
