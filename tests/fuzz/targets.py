"""Targets of fuzzing: each takes bytes as a user would give them, and returns their problems."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from tests.fuzz import corpus
from tests.fuzz.campaign import Target
from tests.fuzz.mutations import Material

from cplc.compilation import CplCompilation, IsplCompilation
from cplc.compilation.automatic_fixes import fix_text
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import rendered
from cplc.diagnostics.rules import FILE_TOO_LARGE, SYNTAX, TOO_DEEP, UNKNOWN_VERSION, UNREADABLE_FILE
from cplc.formatter import format_source
from cplc.logs.mapping import vocabulary_of
from cplc.logs.mapping_file import parse_mapping
from cplc.settings import settings_for
from cplc.source import Source
from cplc.syntax.parser import parse
from cplc.syntax.printer import file as printed
from cplc.system.printer import system_text

_READING: Final = frozenset(rule.code for rule in (SYNTAX, TOO_DEEP, UNREADABLE_FILE, FILE_TOO_LARGE, UNKNOWN_VERSION))
_LARGE: Final = 400
"""Steps of a system that is not printed."""


def number_of(data: bytes) -> int:
    """Return a number that an input decides: where something is to be chosen, the choice is part of the input."""
    return int.from_bytes(sha256(data).digest()[:8])


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def look_at(diagnostics: Sequence[Diagnostic], source: Source) -> None:
    """Show the diagnostics in all ways; each is at a place of the text, or marks one column behind its end."""
    rendered(diagnostics)
    for one in diagnostics:
        one.concise()
        for span in (one.span, *(note.span for note in one.notes if note.span)):
            if span.source.name == source.name and not 0 <= span.start <= span.end <= len(span.source.text) + 1:
                raise AssertionError(f"a place beyond the text: {one.code}")


# --- protocols


def run_text(data: bytes) -> None:
    """Check a protocol; then lay it out, print it or lower it, whichever the input decides."""
    source = Source("fuzz.cpl", text_of(data))
    compilation = CplCompilation(source)
    look_at(compilation.diagnostics, source)
    _ = compilation.index.declared
    is_read = not any(one.is_error and one.code in _READING for one in compilation.diagnostics)
    stage = number_of(data) % 3
    if is_read and stage == 0:
        tree, _ = parse(source)
        again, wrong = parse(Source("printed", printed(tree)))
        if again != tree or any(problem.is_error for problem in wrong):
            raise AssertionError("what is printed is not read as it was")
    elif is_read and stage == 1:
        laid_out = format_source(source)
        if format_source(Source("fuzz.cpl", laid_out.text)).text != laid_out.text:
            raise AssertionError("the layout of a text that is laid out differs")
    elif compilation.ok:
        system = compilation.system
        if len(system.steps) <= _LARGE:
            system_text(system)


def run_repairs(data: bytes) -> None:
    """Repair a protocol, as `check --fix` does."""
    fix_text(CplCompilation(Source("fuzz.cpl", text_of(data))))


# --- formulas

_SHOP: Final = """\
protocol Shop(buyers: 1..3 = 2) {
  role Seller { var stock: 0..3 = 3 }
  role Buyer[buyers]
  for b in Buyer {
    commitment goods = C(Seller, b, pay, ship)   within 3   revocable
    b -> Seller : order(amount: 1..3, kind: {new, used})
    Seller -> b : offer    after order                 means create goods
    b -> Seller : pay      after offer
    Seller -> b : ship     after pay & order.amount < 3   set stock := 0
    Seller -> b : cancel   after pay                   means violate goods
    choice ship | cancel
  }
  fact sold = exists b in Buyer: ship[b]
  claim honest = claim(Seller, Buyer[1], sold)
  define leads(p, q) = AG (p -> AF q)
}
"""

_LAMP: Final = """\
Agent Lamp
  Vars: on : boolean; level : 0..3; kind : {a, b}; end Vars
  Actions = {press, wait};
  Protocol: on = true : {press}; Other : {press, wait}; end Protocol
  Evolution: on = true if Action = press; level = level + 1 if Action = press and level < 3; end Evolution
end Agent
Agent Man Vars: y : boolean; end Vars Actions = {rest}; Protocol: Other : {rest}; end Protocol
  Evolution: y = true if Action = rest; end Evolution end Agent
Evaluation lit if Lamp.on = true; dark if Lamp.on = false; end Evaluation
InitStates Lamp.on = false and Lamp.level = 0; end InitStates
Groups g = {Lamp, Man}; end Groups
Formulae EF lit; end Formulae
"""


@cache
def shop() -> CplCompilation:
    return CplCompilation(Source("shop.cpl", _SHOP))


@cache
def lamp() -> IsplCompilation:
    return IsplCompilation(Source("lamp.ispl", _LAMP))


def run_formula(data: bytes) -> None:
    """Ask a formula of a protocol and of a model."""
    text = text_of(data)
    for question in (shop().formula_question(text), lamp().formula_question(text)):
        if isinstance(question, tuple):
            look_at(question, Source("--formula", text))


def run_model(data: bytes) -> None:
    """Check and lower a model in ISPL."""
    source = Source("fuzz.ispl", text_of(data))
    reading = IsplCompilation(source)
    look_at(reading.diagnostics, source)
    if reading.ok and len(reading.system.steps) <= _LARGE:
        system_text(reading.system)


# --- settings and mapping files

_SETTINGS: Final = (
    b'ignore = ["unused"]\n',
    b'# nothing\nignore = ["unused", "weak-fairness", "misread-formula"]\n',
    b"[tool.cplc]\nignore = []\n[tool.other]\nx = 1.5\n",
    b'ignore = [\n  "unused",  # a remark\n  "unsed",\n]\nother = { a = 1, b = [2, 3] }\n'
    b"[[table]]\nx = 1979-05-27T07:32:00Z\n",
)
_TOML_WORDS: Final = (
    b"ignore", b"=", b"[", b"]", b"[[", b"]]", b"{", b"}", b'"', b'"""', b"'''", b"true", b"inf", b"nan", b"1979-05-27",
    b"\\u0000", b"\\UFFFFFFFF", b"tool.cplc", b"tool", b"cplc", b"#", b".", b",", b"ignore = ", b'"unused"',
)  # fmt: skip


def run_settings(data: bytes) -> None:
    """Read settings, of a file of their own or as a part of others."""
    name = "pyproject.toml" if number_of(data) % 3 == 0 else "cplc.toml"
    with tempfile.TemporaryDirectory(prefix="cplc-fuzz-") as folder:
        (Path(folder) / name).write_bytes(data)
        settings = settings_for(Path(folder))
    for one in settings.diagnostics:
        look_at([one], one.span.source)


def _mappings() -> tuple[bytes, ...]:
    texts = [one for one in corpus.blocks_of("toml") if b"=" in one]
    path = corpus.ROOT / "tests/logs/test_mapping.py"
    texts += [
        one.encode() for one in re.findall(r'"""\\\n(case = .*?)"""', path.read_text(encoding="utf-8"), re.DOTALL)
    ]
    return tuple(texts)


_MAPPING_WORDS: Final = (
    b"case", b"message", b"sender", b"recipients", b"time", b"kind", b"separator", b"encoding", b"delimiter", b"quote",
    b"time_format", b"time_zone", b"case_type", b"messages", b"participants", b"indices", b"payload", b"values",
    b"kinds", b"utf-16", b"utf-7", b"idna", b"unicode_escape", b"base64", b"Europe/Berlin", b"../../etc/passwd", b"%Y",
    b"%s", b"epoch", b"ms", b"ns", b"order", b"pay", b"Buyer", b"Seller",
)  # fmt: skip


def run_mapping(data: bytes) -> None:
    """Read a mapping file, with the words of a protocol."""
    source = Source("log.map.toml", text_of(data))
    _, problems = parse_mapping(source, vocabulary_of(shop().system, frozenset(["ACME"])))
    look_at(problems, source)


def _of_protocols() -> Material:
    return Material(corpus.protocols(), corpus.words_of_protocols())


def _of_models() -> Material:
    return Material(corpus.models(), corpus.words_of_models())


def _of_formulas() -> Material:
    return Material(corpus.formulas(), [*corpus.words_of_protocols(), *corpus.words_of_models()])


TARGETS: Final = (
    Target("text", _of_protocols, run_text, "cpl"),
    Target("repairs", _of_protocols, run_repairs, "cpl"),
    Target("formula", _of_formulas, run_formula),
    Target("ispl", _of_models, run_model, "ispl"),
    Target("settings", lambda: Material(_SETTINGS, _TOML_WORDS), run_settings, "toml"),
    Target("mapping", lambda: Material(_mappings(), [*_TOML_WORDS, *_MAPPING_WORDS]), run_mapping, "toml"),
)
