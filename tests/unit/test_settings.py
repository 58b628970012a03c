"""The settings file: places of keys and values, patterns of paths, the JSON schema, and the options of a file."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.random_examples import examples

from cplc.cli import options
from cplc.settings import Settings, settings_for
from cplc.settings.globs import literal_prefix, matches, problem_of
from cplc.settings.settings_table import DURATION, SIZE, TABLES, json_schema
from cplc.settings.toml_places import TomlPlaces

_SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "cplc-toml-1.json"
_DOCUMENT = """# ignore = "not this"
ignore = ["unused", # "nor this"
  'misread-formula',]
"quoted key".inner = 3
[ project ] # a comment ]
files = [ "a/**/*.cpl" , 'b # c' ]
[verify]
timeout = 5.5
strict=true # no
text = \"\"\"several
"lines\"\"\"
[[overrides]]
parameters = { customers = 3, "b.c" = "q#}" , d.e = [1, [2]] }
[[overrides]]
protocol = 'P'
[overrides.parameters]
n = 2
"""


def _leaves(value: object, path: tuple[str | int, ...] = ()) -> Any:
    match value:
        case dict():
            for key, inner in value.items():
                yield from _leaves(inner, (*path, key))
        case list():
            for number, inner in enumerate(value):
                yield from _leaves(inner, (*path, number))
        case _:
            yield path, value


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_place_of_each_value_is_where_it_is_written(line_break: str) -> None:
    text = _DOCUMENT.replace("\n", line_break)
    places = TomlPlaces(text)
    leaves = dict(_leaves(tomllib.loads(text)))
    assert len(leaves) == 14
    for path, value in leaves.items():
        start, end = places.value(path)
        written = text[start:end].replace("\r\n", "\n")
        assert (tomllib.loads(f"x = {written}")["x"] if not isinstance(value, str) else written) == value, path


def test_place_of_each_key_is_its_last_part() -> None:
    places = TomlPlaces(_DOCUMENT)

    def key(*path: str | int) -> str:
        start, end = places.key(path)
        return _DOCUMENT[start:end]

    assert [key("ignore"), key("quoted key", "inner"), key("project"), key("verify", "strict")] == [
        "ignore", "inner", "project", "strict",
    ]  # fmt: skip
    assert key("overrides", 0, "parameters", "b.c") == "b.c"
    assert places.key(("overrides", 1, "parameters", "n"))[0] > places.key(("overrides", 1))[0]
    assert key("overrides", 1, "missing") == "overrides"


_KEYS = st.text("ab-_1", min_size=1, max_size=4)
_SCALARS = st.one_of(
    st.integers(0, 99).map(str), st.booleans().map(lambda it: str(it).lower()),
    st.text("ab#]}=,\"'\\ ", max_size=6).map(json.dumps), st.just("'#]'"), st.just('"""a\nb"""'),
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda some: f"[ {', '.join(some)} ]"),
        st.dictionaries(_KEYS, inner, max_size=3).map(
            lambda some: "{ " + ", ".join(f"{key} = {value}" for key, value in some.items()) + " }"
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=4), st.lists(st.dictionaries(_KEYS, _VALUES, max_size=2), max_size=3))
@examples(60)
def test_places_of_random_documents(table: dict[str, str], array: list[dict[str, str]]) -> None:
    lines = ["[table] # x = 1"] + [f"{key} = {value} # no" for key, value in table.items()]
    for one in array:
        lines += ["[[array]]", *(f"{key}={value}" for key, value in one.items())]
    text = "\n".join(lines)
    document = tomllib.loads(text)
    places = TomlPlaces(text)
    for path, value in _leaves(document):
        start, end = places.value(path)
        if isinstance(value, str):
            assert text[start:end] in (value, json.dumps(value)[1:-1])
        else:
            assert tomllib.loads(f"x = {text[start:end]}")["x"] == value


# --- patterns


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("protocols/*.cpl", "protocols/a.cpl", True),
        ("protocols/*.cpl", "protocols/b/a.cpl", False),
        ("protocols/**/*.cpl", "protocols/a.cpl", True),
        ("protocols/**/*.cpl", "protocols/b/c/a.cpl", True),
        ("protocols/**/*.cpl", "protocolsx/a.cpl", False),
        ("**/*.cpl", "a.cpl", True),
        ("drafts/**", "drafts/x/y.cpl", True),
        ("drafts/**", "drafts", False),
        ("./a.cpl", "a.cpl", True),
        ("net[ab]?.cpl", "netb1.cpl", True),
        ("net[!ab].cpl", "netc.cpl", True),
        ("net[!ab].cpl", "neta.cpl", False),
        ("net[a", "net[a", True),
        ("a.cpl", "aXcpl", False),
        ("[!a]b", "/b", False),
        ("*.cpl", "new\nline.cpl", True),
    ],
)
def test_pattern_matches(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


@given(st.text("a[]!^-\\*?.x/", max_size=8))
@examples(200)
def test_every_pattern_is_usable(pattern: str) -> None:
    if problem_of(pattern) is None:
        matches(pattern, "a/b.cpl")


def test_pattern_outside_the_project_is_refused() -> None:
    for pattern in ("/etc/*", "../a.cpl", "a/../../b", "C:/a", "a\\b", "", "a**/b"):
        assert problem_of(pattern) is not None, pattern


def test_literal_prefix_of_a_pattern() -> None:
    assert literal_prefix("a/b/*.cpl") == "a/b"
    assert literal_prefix("a/b.cpl") == "a/b.cpl"
    assert literal_prefix("**/b.cpl") == ""


# --- the schema


def test_published_schema_is_that_of_the_table() -> None:
    assert json.loads(_SCHEMA.read_text(encoding="utf-8")) == json_schema()


def _written(document: str, tmp_path: Path) -> Settings:
    (tmp_path / "cplc.toml").write_text(document, encoding="utf-8")
    return settings_for(tmp_path)


_GOOD = [
    "", 'ignore = ["unused"]', '[project]\nfiles = ["a/*.cpl"]\nexclude = ["b/**"]',
    '[verify]\ntimeout = "5m"\nmemory = 500\nstrict = true\nengine = "explicit"\nformat = "sarif"',
    "[verify]\ntimeout = 1.5\nmemory = '2GB'",
    '[[overrides]]\nfiles = ["a.cpl"]\nprotocol = "P"\nparameters = { n = 2, b = true, c = "x" }\nchannels = "sync"',
    '[[overrides]]\nassuming = ["Mer"]',
]  # fmt: skip
_BAD = [
    "ignored = []", "ignore = 3", "project = 3", "verify = []", "overrides = 3", "overrides = [1]", "[overrides]",
    '[project]\nfile = ["a"]', '[project]\nfiles = "a"', '[project]\nfiles = [""]', "[verify]\ntimeout = '5x'",
    "[verify]\ntimeout = 0", "[verify]\ntimeout = true", "[verify]\nmemory = '5s'", "[verify]\nstrict = 1",
    "[verify]\nengine = 'bdd'", "[verify]\nformat = 'xml'", "[[overrides]]\nparameters = [1]",
    "[[overrides]]\nparameters = { n = 1.5 }", "[[overrides]]\nparameters = { n = [1] }",
    "[[overrides]]\nchannels = 'fast'", "[[overrides]]\nassuming = 'Mer'", "[[overrides]]\nprotocol = 3",
]  # fmt: skip


@pytest.mark.parametrize("document", _GOOD)
def test_schema_accepts_valid_settings(document: str, tmp_path: Path) -> None:
    jsonschema.validate(tomllib.loads(document), json_schema())
    assert _written(document, tmp_path).diagnostics == ()


@pytest.mark.parametrize("document", _BAD)
def test_schema_and_program_refuse_wrong_settings(document: str, tmp_path: Path) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(document), json_schema())
    (problem,) = _written(document, tmp_path).diagnostics
    assert problem.code == "bad-settings"
    assert problem.span.end > problem.span.start or document == ""


def test_limits_of_the_settings_are_those_of_the_command_line() -> None:
    for text in ("30", "90s", "5m", "1h", ".5 m", " 3 ", "0", "5x", "m", "1e3", "-1", "1.5.2"):
        for pattern, read in ((DURATION, options.duration), (SIZE, options.size)):
            written = re.fullmatch(pattern, text)
            is_valid = written is not None and float(written[1]) > 0
            try:
                read(text)
            except click.BadParameter:
                assert not is_valid, (text, read)
            else:
                assert is_valid, (text, read)


def test_every_option_of_the_table_is_an_option_of_verify() -> None:
    from cplc.cli.verify import command

    offered = {parameter.name: parameter for parameter in command.params}
    for setting in TABLES["verify"]:
        parameter = offered["form" if setting.name == "format" else setting.name]
        if setting.choices:
            assert tuple(parameter.type.choices) == setting.choices  # type: ignore[attr-defined]


# --- options of a file


def test_later_override_takes_precedence(tmp_path: Path) -> None:
    settings = _written(
        '[[overrides]]\nparameters = { n = 1, m = 1 }\nchannels = "sync"\n'
        '[[overrides]]\nfiles = ["a/*.cpl"]\nparameters = { n = 2 }\n'
        '[[overrides]]\nfiles = ["a/*.cpl"]\nprotocol = "P"\nparameters = { n = 3 }\nassuming = ["R"]\n',
        tmp_path,
    )

    def parameters(name: str, protocol: str | None) -> dict[str, str]:
        return dict(settings.options_of(tmp_path / name, lambda: protocol).parameters)

    assert parameters("b.cpl", "P") == {"n": "1", "m": "1"}
    assert parameters("a/b.cpl", "Q") == {"n": "2", "m": "1"}
    assert parameters("a/b.cpl", "P") == {"n": "3", "m": "1"}
    assert settings.options_of(tmp_path / "a" / "b.cpl", lambda: "P").assuming == ("R",)
    assert settings.options_of(tmp_path / "b.cpl", lambda: "P").assuming is None
    assert settings.options_of(tmp_path / "b.cpl", lambda: "P").channels == "sync"


@pytest.mark.parametrize(
    "document",
    [
        "[tool.cplc.verify]\nstrict = true",
        '[ tool . "cplc" . verify ]\nstrict = true', "tool.cplc.verify.strict = true",
        "[tool]\ncplc.verify.strict = true", "[ 'tool' ]\n[tool.cplc]\nverify.strict = true",
        "tool = { cplc = { verify = { strict = true } } }", '"tool".\'cplc\'.verify = {strict = true}',
    ],
)  # fmt: skip
def test_table_of_a_project_is_read_however_it_is_written(document: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(document, encoding="utf-8")
    settings = settings_for(tmp_path)
    assert settings.path == tmp_path / "pyproject.toml"
    assert not settings.diagnostics


@pytest.mark.parametrize("document", ['[project.scripts]\ncplc = "a"', "[tool.other]\ncplc = 1", "cplc in = no toml"])
def test_document_without_that_table_has_no_settings(document: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(document, encoding="utf-8")
    assert settings_for(tmp_path) == Settings()
