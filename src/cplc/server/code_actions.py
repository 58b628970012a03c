"""Code actions: quick fixes of diagnostics, missing declarations, and guards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from lsprotocol.types import CodeAction, CodeActionKind, TextEdit, WorkspaceEdit
from lsprotocol.types import Diagnostic as Shown

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic
from cplc.language.words import VERSION
from cplc.records import dataclass
from cplc.resources import shipped
from cplc.semantics.language_versions import migration
from cplc.semantics.symbol_index import Declared, declarations, walk
from cplc.server.compiled_document import Compiled, CompiledIspl
from cplc.server.cursor_context import context
from cplc.source import Source
from cplc.syntax import ast
from cplc.syntax.parser import parse

_DID_YOU_MEAN: Final = re.compile(r"did you mean `([^`]+)`\?")
_INSTEAD: Final = re.compile(r"`([^`…]+)`")
_REPLACED: Final = frozenset(
    rule.code
    for rule in (
        rules.MISREAD_FORMULA,
        rules.NOT_A_STATE_FORMULA,
        rules.WRONG_INDICES,
        rules.WRONG_KIND,
        rules.WRONG_TARGET,
    )
)
"""Rules whose hints, `write …`, contain the replacement of the marked text."""
_TELLS: Final = re.compile(r"a message would tell: `([^`]+) -> ([^`]+) : …`")
_WAITS: Final = re.compile(r"let this wait for `([^`]+)`, or")
_NOT_BOUND: Final = re.compile(r"The role `(\w+)` of `\w+` is not bound")
_FREE: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits as offsets and texts, and the diagnostic that they fix."""

    title: str
    edits: tuple[tuple[int, int, str], ...]
    answers: Diagnostic | None = None
    is_preferred: bool = False


def actions(compiled: Compiled | CompiledIspl, start: int, end: int, shown: Iterable[Shown]) -> list[CodeAction]:
    """Return the code actions for the text between two offsets."""
    given = list(shown)
    result: list[CodeAction] = []
    for fix in dict.fromkeys(_fixes(compiled, start, end)):
        edits = [TextEdit(compiled.text.range(first, last), text) for first, last, text in fix.edits]
        answered = None
        if (problem := fix.answers) is not None:
            place = compiled.range(problem.span)
            answered = [one for one in given if one.code == problem.code and one.range == place] or None
        kind = CodeActionKind.RefactorRewrite if fix.answers is None else CodeActionKind.QuickFix
        change = WorkspaceEdit(changes={compiled.document.uri: edits})
        result.append(CodeAction(fix.title, kind, answered, is_preferred=fix.is_preferred or None, edit=change))
    return result


def _fixes(compiled: Compiled | CompiledIspl, start: int, end: int) -> Iterator[Fix]:
    for problem in compiled.diagnostics:
        span = problem.span
        if span.source.name == compiled.source.name and span.start <= end and start <= span.end:
            yield from _hinted(problem)
            if isinstance(compiled, Compiled):
                yield from _for(compiled, problem)
    if isinstance(compiled, Compiled):
        yield from _guards(compiled, start, end)


def _hinted(problem: Diagnostic) -> Iterator[Fix]:
    """Yield the replacements in the notes of a diagnostic."""
    span = problem.span
    for note in problem.notes:
        if (meant := _DID_YOU_MEAN.match(note.message)) is not None:
            if problem.code == rules.UNREADABLE_FILE.code:
                written = span.text.removeprefix("import").split(" as ")[0].strip()
                at = span.start + span.text.find(written)
                yield Fix(f"Replace by `{meant[1]}`", ((at, at + len(written), meant[1]),), problem, True)
            else:
                yield Fix(f"Replace by `{meant[1]}`", ((span.start, span.end, meant[1]),), problem, True)
        elif note.replacement is not None:
            yield Fix(f"Replace by `{note.replacement}`", ((span.start, span.end, note.replacement),), problem, True)
        elif problem.code in _REPLACED and note.message.startswith(("write `", "ask for its state: `")):
            for text in _INSTEAD.findall(note.message):
                yield Fix(f"Write `{text}`", ((span.start, span.end, text),), problem)
        elif (name := _WAITS.search(note.message)) is not None:
            text = name[1].split("[")[0]
            yield Fix(f"Wait for `{text}`", ((span.start, span.end, text),), problem)


def _for(compiled: Compiled, problem: Diagnostic) -> Iterator[Fix]:
    """Yield fixes that change more than the marked text."""
    if problem.code == rules.UNKNOWN_NAME.code:
        yield from _declaring(compiled, problem)
        yield from _importing(compiled, problem)
    elif problem.code == rules.UNSEEN.code:
        yield from _telling(compiled, problem)
    elif problem.code == rules.UNBOUND_ROLE.code:
        yield from _binding(compiled, problem)
    elif problem.code == rules.MEANING_CHANGED.code:
        yield from _migrating(compiled, problem)


# --- missing declarations


def _declaring(compiled: Compiled, problem: Diagnostic) -> Iterator[Fix]:
    name, at = problem.span.text, problem.span.start
    protocol = compiled.protocol_at(at)
    if protocol is None or not _FREE.fullmatch(name) or not problem.message.startswith("Nothing here is called"):
        return
    around = next((node for node in protocol.declarations if node.span.start <= at <= node.span.end), None)
    if around is None:
        return
    for kind, text in _missing(compiled, name, at, around):
        place = _after_roles(compiled, protocol) if kind == "role" else around.span.start
        indent = _indent(compiled, around.span.start)
        inserted = f"{text}\n{indent}" if kind != "role" else f"\n{indent}{text}"
        yield Fix(f"Declare the {kind} `{name}`", ((place, place, inserted),), problem)


def _missing(compiled: Compiled, name: str, at: int, around: ast.Declaration) -> Iterator[tuple[str, str]]:
    """Yield declarations of an unknown name that fit its context."""
    here = context(compiled.tokens, at)
    messages = [
        node for node in walk(around) if isinstance(node, ast.Message) and node.span.start <= at <= node.span.end
    ]
    message = messages[-1] if messages else None
    if message is not None and any(ref.span.start <= at <= ref.span.end for ref in (message.sender, message.receiver)):
        yield "role", f"role {name}"
    elif here.keyword == "means" and message is not None:
        sender, receiver = message.sender.span.text, message.receiver.span.text
        yield "commitment", f"commitment {name} = C({sender}, {receiver}, true, false)"
    elif (here.keyword in ("commitment", "claim") and here.bracket == "(" and here.commas < 2) or here.keyword == "use":
        yield "role", f"role {name}"
    elif message is not None and here.keyword in ("after", "if", "unless", "resets"):
        yield "message", f"{message.receiver.span.text} -> {message.sender.span.text} : {name}"
        if here.keyword != "resets":
            yield "fact", f"fact {name} = true"
    elif here.callee is None or here.callee.text not in ("does", "sent", "inflight"):
        yield "fact", f"fact {name} = true"


def _after_roles(compiled: Compiled, protocol: ast.Protocol) -> int:
    """Return the place for another role: after the last one, or at the beginning of the protocol."""
    roles = [node.span.end for node in protocol.declarations if isinstance(node, ast.Role)]
    if roles:
        return max(roles)
    brace = compiled.text.text.find("{", protocol.span.start)
    return protocol.span.end if brace < 0 else brace + 1


def _indent(compiled: Compiled, offset: int) -> str:
    line = compiled.text.text[:offset].rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip())]


# --- imports, messages, bindings


@cache
def _standard_macros() -> dict[str, str]:
    """The macros of the standard library, and the imports that bring them."""
    libraries: dict[str, str] = {}
    folder = shipped("stdlib")
    for path in sorted(folder.rglob("*.cpl")):
        name = ".".join(("std", *path.relative_to(folder).with_suffix("").parts))
        file, _ = parse(Source(str(path), path.read_text(encoding="utf-8")))
        libraries.update(
            (one.name.text, name) for one in declarations(file) if one.kind == "macro" and one.inside is None
        )
    return libraries


def _importing(compiled: Compiled, problem: Diagnostic) -> Iterator[Fix]:
    if (library := _standard_macros().get(problem.span.text)) is None:
        return
    imports = compiled.file.imports
    if any(imported.target == library for imported in imports):
        return
    if imports:
        place, text = imports[-1].span.end, f"\nimport {library}"
    else:
        tokens = compiled.tokens.code
        place, text = (tokens[0].start if tokens else 0), f"import {library}\n\n"
    yield Fix(f"Import `{library}`", ((place, place, text),), problem, True)


def _telling(compiled: Compiled, problem: Diagnostic) -> Iterator[Fix]:
    """Yield a message that informs the sender of a condition that it cannot observe."""
    protocol = compiled.protocol_at(problem.span.start)
    for note in problem.notes:
        match = _TELLS.match(note.message)
        span_text = problem.span.text
        if match is None or protocol is None or "[" in match[0] or not _FREE.fullmatch(span_text):
            continue
        around = next((n for n in protocol.declarations if n.span.start <= problem.span.start <= n.span.end), None)
        name = f"tell_{span_text}"
        if around is None or any(one.name.text == name for one in compiled.declared_in(protocol)):
            continue
        message = f"{match[1]} -> {match[2]} : {name}  after {span_text}\n{_indent(compiled, around.span.start)}"
        edits = ((around.span.start, around.span.start, message), (problem.span.start, problem.span.end, name))
        yield Fix(f"Let `{match[1]}` tell `{match[2]}`", edits, problem)


def _binding(compiled: Compiled, problem: Diagnostic) -> Iterator[Fix]:
    """Yield bindings for a role of a used protocol."""
    match = _NOT_BOUND.match(problem.message)
    protocol = compiled.protocol_at(problem.span.start)
    if match is None or protocol is None:
        return
    uses = [n for n in walk(protocol) if isinstance(n, ast.Use) and n.protocol.span == problem.span]
    for use in uses[:1]:
        taken = {argument.value.span.text for argument in use.arguments}
        roles = [one.name.text for one in compiled.declared_in(protocol) if _is_single(one)]
        for role in [role for role in roles if role not in taken][:5]:
            if use.arguments:
                at, text = use.arguments[-1].span.end, f", {match[1]} = {role}"
            elif compiled.text.text[use.protocol.span.end :].lstrip().startswith("("):
                at = compiled.text.text.index("(", use.protocol.span.end) + 1
                text = f"{match[1]} = {role}"
            else:
                at, text = use.protocol.span.end, f"({match[1]} = {role})"
            yield Fix(f"Bind `{match[1]}` to `{role}`", ((at, at, text),), problem)


def _migrating(compiled: Compiled, problem: Diagnostic) -> Iterator[Fix]:
    """Yield the version of the language, alone and with the migration of constructs that changed their meaning."""
    version, *changes = migration(compiled.file)
    yield Fix(f"Write `cpl {VERSION}`", (version,), problem)
    if changes:
        yield Fix(f"Write `cpl {VERSION}`, and what has one equivalent as that", (version, *changes), problem)


def _is_single(one: Declared) -> bool:
    return isinstance(one.node, ast.Role) and one.node.size is None


# --- guards


def _guards(compiled: Compiled, start: int, end: int) -> Iterator[Fix]:
    """Yield guards for an unguarded message: the messages that its sender receives before it."""
    protocol = compiled.protocol_at(start)
    if protocol is None:
        return
    messages = [node for node in walk(protocol) if isinstance(node, ast.Message)]
    for message in messages:
        head = message.clauses[0].span.start if message.clauses else message.span.end
        is_here = message.span.start <= end and start <= head
        if not is_here or any(isinstance(clause, ast.After) for clause in message.clauses):
            continue
        place = message.clauses[0].span.start if message.clauses else message.span.end
        before = [one for one in messages if one.span.end <= message.span.start]
        received = [one for one in before if one.receiver.span.text == message.sender.span.text]
        for one in list(reversed(received))[:3]:
            text = f"after {one.name.text} " if message.clauses else f"  after {one.name.text}"
            yield Fix(f"Add `after {one.name.text}`", ((place, place, text),))
