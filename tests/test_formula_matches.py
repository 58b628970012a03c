"""Every `match` over formulas names what it handles, so that the type checker finds each place of a new operator.

Definition. A `match` is over formulas if some case has a class pattern of a formula as the whole pattern, as an
alternative of it, or as an element of a sequence: ``case Until(left, right):``, ``case f.Not() | f.And():``, ``case
"E", Next():``. It must end in ``case _: assert_never(...)``, and no other case may match every value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from cplc.logic import commitments, formulas

SOURCES = Path(formulas.__file__).parents[1]
MODULES = {module.__name__: module for module in (formulas, commitments)}
DERIVED = {
    name: value
    for module in MODULES.values()
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, formulas.Derived)
}
CORE = {kind.__name__: kind for kind in get_args(formulas.Core)}
GROUPS = {kind.__name__: kind for kind in (formulas.PathOperator, formulas.StateOperator)}
KINDS = frozenset(CORE | DERIVED | GROUPS)


def names_of_formulas(tree: ast.Module) -> frozenset[str]:
    """Return the names by which class patterns of the module can mean formulas, with those of the module itself."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names |= {alias.asname or alias.name for alias in node.names if alias.name in KINDS}
        elif isinstance(node, ast.ImportFrom) and node.module == "cplc.logic":
            aliases = [alias.asname or alias.name for alias in node.names if f"cplc.logic.{alias.name}" in MODULES]
            names |= {f"{alias}.{name}" for alias in aliases for name in KINDS}
    return frozenset(names)


def alternatives(pattern: ast.pattern) -> Iterator[ast.pattern]:
    """Yield the parts of a pattern that are matched with the whole subject, or with an element of it."""
    match pattern:
        case ast.MatchOr(patterns) | ast.MatchSequence(patterns):
            for one in patterns:
                yield from alternatives(one)
        case ast.MatchAs(ast.pattern() as inner):
            yield from alternatives(inner)
        case _:
            yield pattern


def is_over_formulas(match: ast.Match, names: frozenset[str]) -> bool:
    parts = (part for case in match.cases for part in alternatives(case.pattern))
    return any(isinstance(part, ast.MatchClass) and ast.unparse(part.cls) in names for part in parts)


def is_irrefutable(pattern: ast.pattern) -> bool:
    """Tell whether the pattern is a wildcard or a name, or a sequence of these alone."""
    match pattern:
        case ast.MatchAs(inner):
            return inner is None or is_irrefutable(inner)
        case ast.MatchOr(patterns):
            return any(map(is_irrefutable, patterns))
        case ast.MatchSequence(patterns):
            return all(map(is_irrefutable, patterns))
        case _:
            return False


def matches_over_formulas(text: str, own: frozenset[str] = frozenset()) -> list[ast.Match]:
    """Return the matches over formulas in a module, which may define formulas of its ``own``."""
    if "cplc.logic" not in text:
        return []
    tree = ast.parse(text)
    names = names_of_formulas(tree) | own
    return [node for node in ast.walk(tree) if isinstance(node, ast.Match) and is_over_formulas(node, names)]


def problems(match: ast.Match) -> Iterator[str]:
    *before, last = match.cases
    if ast.unparse(last.pattern) != "_" or not ast.unparse(last.body[0]).startswith("assert_never("):
        yield f"line {match.lineno}: does not end in assert_never"
    for case in before:
        if is_irrefutable(case.pattern) and case.guard is None:
            yield f"line {case.pattern.lineno}: `{ast.unparse(case.pattern)}` matches every formula"


def test_no_match_over_formulas_has_a_wildcard() -> None:
    broken, count = {}, 0
    for path in sorted(SOURCES.rglob("*.py")):
        own = KINDS if path.parent == SOURCES / "logic" and path.stem != "expressions" else frozenset[str]()
        matches = matches_over_formulas(path.read_text(encoding="utf-8"), own)
        count += len(matches)
        if messages := [message for match in matches for message in problems(match)]:
            broken[str(path.relative_to(SOURCES))] = messages
    assert not broken
    assert count > 40, "the test finds the matches"


@pytest.mark.parametrize(
    "ending",
    ["case _:\n            return 1", "case other:\n            return other", "case f.Not():\n            pass"],
)
def test_match_with_a_default_is_reported(ending: str) -> None:
    text = f"""
from cplc.logic import formulas as f

def size(formula):
    match formula:
        case f.Atom() | (f.And() as conjunction):
            return 0
        {ending}
"""
    (match,) = matches_over_formulas(text)
    assert list(problems(match))


def test_capture_before_the_end_is_reported() -> None:
    text = """
from cplc.logic.formulas import Not
match formula:
    case Not():
        pass
    case other:
        pass
    case _:
        assert_never(formula)
"""
    (match,) = matches_over_formulas(text)
    assert list(problems(match)) == ["line 6: `other` matches every formula"]


def test_matches_over_other_values_may_have_a_default() -> None:
    text = """
from cplc.logic.expressions import Not
match expr:
    case Not():
        pass
    case _:
        pass
"""
    assert not matches_over_formulas(text)


def test_groups_partition_the_operators_of_the_core_but_atoms_and_connectives() -> None:
    grouped = {
        name: [group for group, kinds in GROUPS.items() if issubclass(kind, kinds)] for name, kind in CORE.items()
    }
    assert {name for name, groups in grouped.items() if not groups} == {"Atom", "Not", "And"}
    assert all(len(groups) <= 1 for groups in grouped.values())


def test_state_formulas_are_those_of_state_operators() -> None:
    f, p = formulas, formulas.VALID
    on_paths: list[formulas.Formula] = [
        f.Next(p),
        f.Until(p, p),
        f.Release(p, p),
        f.Previous(p),
        f.Since(p, p),
        f.Taken(frozenset(), "does(a)"),
    ]
    of_agents: list[formulas.Formula] = [
        f.Enforces(("a",), f.Next(p)),
        f.Knows("each", ("a",), p),
        f.KnownFrom((), p, "a"),
    ]
    examples: list[formulas.Formula] = [
        *on_paths,
        *of_agents,
        f.OnPaths("E", f.Next(p)),
        f.Adjacent(p, ()),
        f.Regardless(p),
    ]
    assert {type(example) for example in examples} == {
        kind for kind in CORE.values() if issubclass(kind, tuple(GROUPS.values()))
    }
    for example in examples:
        assert formulas.is_state_formula(example) is isinstance(example, formulas.StateOperator), example


def test_core_has_few_operators() -> None:
    assert len(CORE) <= 15


def test_every_derived_operator_is_defined_by_the_core() -> None:
    for name, kind in DERIVED.items():
        assert "_define" in vars(kind), name
