"""`grammar/cpl.tx` with plain textX reads what the program reads, and the program's tables say the same."""

from __future__ import annotations

import random
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from textx import metamodel_from_file
from textx.exceptions import TextXSyntaxError

from cplc.source import Source
from cplc.syntax import ast, parser, peg
from cplc.syntax.peg import Recogniser, recogniser, tables_of
from cplc.syntax.scanner import scan
from cplc.syntax.textx_conversion import Conversion, Excerpt

_ROOT: Final = Path(__file__).parents[2]
_FILES: Final = sorted(
    path.relative_to(_ROOT).as_posix()
    for folder in ("benchmarks", "docs", "examples", "playground", "src", "stdlib", "tests", "vscode-extension")
    for path in (_ROOT / folder).rglob("*.cpl")
    if "node_modules" not in path.parts
)
_TOKENS: Final = re.compile(
    r'//[^\n]*|/\*[\s\S]*?\*/|"(?:[^"\\\n]|\\.)*"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)'
    r"|\d+ *(?:us|ms|s|min|h|d|w)\b|\d+(?:\.\d+)? *[A-Z]{3}\b|\d+\.\d+|\w+"
    r"|<->|->|<=|>=|!=|<<|>>|:=|\.\.|[ \t\r]+|\S|\n"
)


@cache
def _metamodel() -> Any:
    return metamodel_from_file(_ROOT / "grammar" / "cpl.tx")


def _recogniser() -> Recogniser:
    prepared = recogniser("cpl")
    assert prepared is not None, "make golden writes the tables again"
    return prepared


def _text(name: str) -> str:
    return (_ROOT / name).read_text(encoding="utf-8")


def _objects(node: Any) -> Any:
    """Return an object of textX or of the recogniser as tuples, with its places."""
    if isinstance(node, list | tuple):
        return [_objects(item) for item in node]
    if not hasattr(node, "_tx_position"):
        return node
    names = {name for name in (*vars(type(node)), *vars(node)) if not name.startswith("_")} - {"parent", "raw"}
    attributes = {name: _objects(getattr(node, name)) for name in sorted(names)}
    return type(node).__name__, node._tx_position, node._tx_position_end, attributes


def _tree(source: Source, items: Any) -> tuple[ast.File, list[Any]]:
    """Return the syntax tree of textX's objects, as the program makes it, and the mistakes in it."""
    conversion = Conversion(scan(source), Excerpt(scan(source).text, ((0, 0),)))
    return parser._file(source, conversion.items(list(items)), conversion.problems), conversion.problems


@pytest.mark.parametrize("name", _FILES)
def test_textx_alone_reads_every_file_into_the_tree_of_the_program(name: str) -> None:
    source = Source(name, _text(name))
    tree, problems = parser.parse(source)
    read, also = _tree(source, _metamodel().model_from_file(str(_ROOT / name)).items)
    assert (read, also) == (tree, list(problems))
    assert repr(read) == repr(tree)


def test_textx_finds_all_files_of_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "*.cpl"], cwd=_ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no checkout")
    assert set(listed.stdout.split()) <= set(_FILES)


@pytest.mark.parametrize("name", [name for name in _FILES if name.startswith(("examples", "stdlib"))])
def test_comments_between_all_tokens_change_no_tree(name: str) -> None:
    """Comments full of brackets and quotes are allowed where blanks are."""
    tokens = _TOKENS.findall(_text(name))
    remarks = [' /* ] ( " // */ ', " // } ' /*\n"]
    commented = "".join(
        f"\n{remarks[place % 2]}" if token == "\n" else remarks[place % 2] if token.isspace() else token
        for place, token in enumerate(tokens)
    )
    source = Source(name, commented)
    tree, problems = parser.parse(source)
    assert not problems
    read, _ = _tree(source, _metamodel().model_from_str(commented).items)
    assert _without_docs(read) == _without_docs(parser.parse(Source(name, _text(name)))[0])
    assert read == tree


def _without_docs(tree: ast.File) -> str:
    return re.sub(r"""doc=(None|'([^'\\]|\\.)*'|"([^"\\]|\\.)*")""", "", repr(tree))


@pytest.mark.parametrize(
    ("written", "title"),
    [(r'"a \"quoted\" word"', 'a "quoted" word'), (r'"back\\"', "back\\"), (r'"\n"', r"\n"), ('"// { /*"', "// { /*")],
)
def test_strings_with_escapes_are_read(written: str, title: str) -> None:
    source = Source("p.cpl", f"protocol P {written} {{ role A }} // end")
    tree, _ = _tree(source, _metamodel().model_from_str(source.text).items)
    assert tree.protocols[0].title == title
    assert tree == parser.parse(source)[0]


@pytest.mark.parametrize("text", ['protocol P "', r'protocol P "a\" { role A }', "protocol P { /* }", "roleA", "a / b"])
def test_textx_alone_rejects_what_the_program_rejects(text: str) -> None:
    with pytest.raises(TextXSyntaxError):
        _metamodel().model_from_str(text)
    assert parser.parse(Source("p.cpl", text))[1]


# --- the tables


def test_tables_are_those_of_the_grammar(update_golden: bool) -> None:
    path = _ROOT / "grammar" / "cpl.tables.json"
    if update_golden:
        path.write_text(tables_of("cpl"), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == tables_of("cpl"), "make golden writes the tables again"


@pytest.mark.parametrize("name", _FILES)
def test_tables_make_the_objects_of_textx(name: str) -> None:
    text = _text(name)
    assert _objects(_recogniser().read(text)) == _objects(_metamodel().model_from_str(text))


def test_tables_reject_what_textx_rejects() -> None:
    """Declarations with some tokens removed, replaced, inserted or cut off."""
    rng = random.Random(20)
    declarations = [part for name in _FILES for part in re.split(r"\n\s*\n|(?<=[{}])\n", _text(name)) if part.strip()]
    words = _TOKENS.findall("\n".join(declarations))
    accepted = 0
    for _ in range(1500):
        tokens = _TOKENS.findall(rng.choice(declarations))
        for _ in range(rng.randrange(3)):
            place = rng.randrange(len(tokens)) if tokens else 0
            tokens[place : place + rng.randrange(2)] = [rng.choice(words)] * rng.randrange(2)
        text = "".join(tokens)
        if not scan(Source("part.cpl", text)).text.strip():
            continue  # textX makes no object of nothing
        try:
            expected = _objects(_metamodel().model_from_str(text))
        except TextXSyntaxError:
            expected = None
        read = _recogniser().read(text)
        assert (None if read is None else _objects(read)) == expected, text
        accepted += read is not None
    assert 200 < accepted < 1300


@pytest.mark.parametrize("content", [None, "", "[]", "{", '{"grammar": 1}'])
def test_without_tables_textx_reads_the_grammar(
    content: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cpl.tx").write_text(_text("grammar/cpl.tx"), encoding="utf-8")
    if content is not None:
        (tmp_path / "cpl.tables.json").write_text(content, encoding="utf-8")
    source = Source("netbill.cpl", _text("examples/netbill.cpl"))
    expected = parser.parse(source)
    recogniser.cache_clear()
    monkeypatch.setattr(peg, "shipped", lambda folder: tmp_path)
    assert recogniser("cpl") is None
    assert parser.parse(source) == expected
    recogniser.cache_clear()
