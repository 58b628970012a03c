"""Models in Markdown with their diagnostics and verdicts (``tests/language``, and the documentation).

Every ```` ```cpl ```` block is one test, named after the heading above it.
``// error: [code] "text"`` or ``// warning: …`` at the end of a line announces one diagnostic that begins on that
line; the text, if it is given, is what the diagnostic underlines (a ``…`` at its end stands for the rest). What is
not announced must not come. In a ```` ```cpl verify ```` block every property and check is verified by every engine
and must come out as it expects; ``// vacuous`` announces that one holds vacuously, ``// unknown`` that there is no
answer. In a ```` ```cpl reachable ```` block the warnings that `cplc verify` adds are announced as well.
Further words of the fence:
``channels=sync``, ``strategies=uniform``, ``copies=9`` for a file that repeats the block, or ``name=value`` for a
parameter of the protocol. The usual checks apply to each block as to each file: one that fails, be it as a
warning, is announced with `check sound expect fails`, or switched off with `check -sound`. An ```` ```ispl ```` block
is a model in that language, and announces with ``-- error: …``.
With ``verify`` every engine answers its formulas: they hold but where ``-- fails`` or ``-- vacuous`` stands, and it has
no deadlocks unless the fence says ``deadlocks``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tests.support.literate.blocks import BadTest, Block, Names, blocks

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation, IsplCompilation
    from cplc.diagnostics.core import Diagnostic
    from cplc.source import Source

Severity = Literal["error", "warning"]
Engine = Literal["symbolic", "explicit", "onthefly"]
ENGINES: tuple[Engine, ...] = ("symbolic", "explicit")
"""Those that answer every question; the third is asked what it can answer."""

_THIRD: tuple[Engine, ...] = ("onthefly",)

_ASSERTION = re.compile(
    r'(?://|--) (error|warning): \[([a-z0-9-]+)\](?: "((?:[^"\\]|\\.)*)")?\s*|'
    r"// (vacuous|unknown)\s*$|-- (vacuous|fails)\s*$"
)
_LIKE_ASSERTION = re.compile(r"(?://|--)\s*(err|warn|vacuous|unknown)|--\s*fails", re.IGNORECASE)


@dataclass(frozen=True)
class Announced:
    """A diagnostic that the line of a model announces; lines count from one within the model."""

    line: int
    severity: Severity
    code: str
    text: str | None


@dataclass(frozen=True)
class LanguageTest:
    name: str
    block: Block
    files: Mapping[str, str]
    announced: tuple[Announced, ...]
    answers: Mapping[int, str]
    """Unexpected outcomes of the formulas or properties on some lines."""

    @property
    def verifies(self) -> bool:
        return "verify" in self.block.flags


def language_tests(path: Path) -> list[LanguageTest]:
    tests: list[LanguageTest] = []
    files: dict[str, str] = {}
    names = Names()
    for block in blocks(path):
        if "file" in block.options:
            files[block.options["file"]] = block.text
        elif block.language in ("cpl", "ispl"):
            announced, answers = _assertions(block)
            tests.append(LanguageTest(names.next(block.heading), block, dict(files), announced, answers))
            if block.flags - ({"verify", "reachable"} if block.language == "cpl" else {"verify", "deadlocks"}):
                raise block.refuse(f"what does {sorted(block.flags)} mean?")
            if (
                block.language == "cpl"
                and "verify" in block.flags
                and not re.search(r"\b(property|check)\b", block.text)
            ):
                raise block.refuse("there is nothing to verify here")
    if not tests:
        raise BadTest(f"{path}: there is no test in this file")
    return tests


def _assertions(block: Block) -> tuple[tuple[Announced, ...], Mapping[int, str]]:
    announced: list[Announced] = []
    answers: dict[int, str] = {}
    for number, line in enumerate(block.text.split("\n"), 1):
        like = _LIKE_ASSERTION.search(line)
        position = like.start() if like else len(line)
        while position < len(line):
            assertion = _ASSERTION.match(line, position)
            if not assertion:
                raise block.refuse(f'this is not of the form `// error: [code] "text"`: {line[position:]}', number - 1)
            if assertion[4] or assertion[5]:
                answers[number] = assertion[4] or assertion[5]
            else:
                severity: Severity = "error" if assertion[1] == "error" else "warning"
                text = None if assertion[3] is None else re.sub(r"\\(.)", r"\1", assertion[3])
                announced.append(Announced(number, severity, assertion[2], text))
            position = assertion.end()
    return tuple(announced), answers


def check_language(test: LanguageTest, directory: Path) -> None:
    """Fail unless the model has the diagnostics and verdicts that it announces, and no other."""
    from cplc.compilation import CplCompilation, IsplCompilation
    from cplc.source import Source

    if test.block.language == "ispl":
        source = Source("test.ispl", test.block.model)
        reading = IsplCompilation(
            source, strategies=_strategies(test.block, test.block.options.get("strategies", "full"))
        )
        _compare_diagnostics(test, source, reading.diagnostics)
        if test.verifies:
            _compare_answers(test, reading)
        return
    for name, text in test.files.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    channels = _channels(test.block, test.block.options.get("channels"))
    path = directory / "test.cpl"
    path.write_text(test.block.model, encoding="utf-8")
    source = Source(str(path), test.block.model)
    strategies = _strategies(test.block, test.block.options.get("strategies", "full"))
    compilation = CplCompilation(
        source, path=path, parameters=test.block.parameters, channels=channels, strategies=strategies
    )
    if "reachable" in test.block.flags:
        for engine in ENGINES:
            _compare_diagnostics(test, source, (*compilation.diagnostics, *_from_states(compilation, engine)))
    else:
        _compare_diagnostics(test, source, compilation.diagnostics)
    if test.verifies:
        assert compilation.ok
        assert not list(compilation.system.problems())
        _compare_verdicts(test, compilation)


def _from_states(compilation: CplCompilation, engine: Engine) -> tuple[Diagnostic, ...]:
    """Return the warnings of the reachable states."""
    never = compilation.never_reached()
    assert never is not None, "without commitments and usual checks there is nothing to warn of"
    return never.warnings(compilation.verify(never.questions, engine), lambda some: compilation.verify(some, engine))


def _channels(block: Block, word: str | None) -> Literal["sync", "async"] | None:
    match word:
        case None | "sync" | "async":
            return word
        case _:
            raise block.refuse(f"channels are sync or async, not {word}")


def _strategies(block: Block, word: str) -> Literal["full", "uniform"]:
    match word:
        case "full" | "uniform":
            return word
        case _:
            raise block.refuse(f"strategies are full or uniform, not {word}")


def _compare_diagnostics(test: LanguageTest, source: Source, diagnostics: tuple[Diagnostic, ...]) -> None:
    missing = list(test.announced)
    surplus: list[str] = []
    for diagnostic in diagnostics:
        match = next((one for one in missing if _is_announced(one, source, diagnostic)), None)
        if match:
            missing.remove(match)
            continue
        line = diagnostic.span.position[0]
        where = f"line {test.block.first_line + line - 1}" if diagnostic.span.source == source else "elsewhere"
        text = diagnostic.span.text[:80]
        surplus.append(f'  {where}: {diagnostic.severity}: [{diagnostic.code}] "{text}"  ({diagnostic.concise()})')
    problems = [
        *(["not announced:", *surplus] if surplus else []),
        *(["announced, but did not come:"] if missing else []),
        *(f"  line {test.block.first_line + one.line - 1}: [{one.code}] {one.text or ''}" for one in missing),
    ]
    if problems:
        raise AssertionError("\n".join([f"{test.block.path}:{test.block.first_line}", *problems]))


def _is_announced(announced: Announced, source: Source, diagnostic: Diagnostic) -> bool:
    text = diagnostic.span.text
    return (
        diagnostic.span.source == source
        and announced.line == diagnostic.span.position[0]
        and announced.severity == diagnostic.severity
        and announced.code == diagnostic.code
        and (
            announced.text is None
            or announced.text == text
            or (announced.text.endswith("…") and text.startswith(announced.text[:-1]))
        )
    )


def _compare_answers(test: LanguageTest, reading: IsplCompilation) -> None:
    """Fail unless the formulas of a model in ISPL have the verdicts that are announced, by every engine."""
    from cplc.engines.on_the_fly import supports

    wrong: list[str] = []
    for engine in (*ENGINES, *_THIRD):
        questions = [one for one in reading.questions() if engine != "onthefly" or supports(one.question.formula)]
        for result in reading.verify(questions, engine):
            if result.question.name.startswith("formula"):
                line = result.question.span.position[0] if result.question.span else 0
                expected = test.answers.get(line, "holds")
            else:
                line, expected = 0, "fails" if "deadlocks" in test.block.flags else "holds"
            if result.answer != expected:
                where = f"  line {test.block.first_line + line - 1}: `{result.question.name}` ({engine})"
                wrong.append(f"{where}: {result.answer}, expected: {expected} {result.reason or ''}")
    if wrong:
        raise AssertionError("\n".join([f"{test.block.path}:{test.block.first_line}", *wrong]))


def _compare_verdicts(test: LanguageTest, compilation: CplCompilation) -> None:
    from cplc.engines.on_the_fly import supports

    wrong: list[str] = []
    lines = set()
    for engine in (*ENGINES, *_THIRD):
        questions = [one for one in compilation.questions() if engine != "onthefly" or supports(one.question.formula)]
        for result in compilation.verify(questions, engine):
            span = result.question.span
            line = span.position[0] if span else 0
            lines.add(line)
            where = f"  line {test.block.first_line + line - 1}: `{result.question.name}` ({engine})"
            announced = test.answers.get(line)
            if announced == "unknown" or result.answer == "unknown":
                if result.answer != announced:
                    wrong.append(f"{where}: {result.answer}: {result.reason}")
            elif not result.as_expected:
                reason = f": {result.reason}" if result.reason else ""
                wrong.append(f"{where}: {result.answer}{reason}, expected: {result.question.expected}")
            elif (result.answer == "vacuous") != (announced == "vacuous"):
                wrong.append(f"{where}: {result.answer}")
    wrong.extend(
        f"  line {test.block.first_line + line - 1}: nothing is verified here" for line in test.answers.keys() - lines
    )
    if wrong:
        raise AssertionError("\n".join([f"{test.block.path}:{test.block.first_line}", *wrong]))
