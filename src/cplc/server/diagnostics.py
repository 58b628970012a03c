"""Diagnostics in the format of the protocol, and code actions: quick fixes, missing declarations, and guards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeDescription,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
    TextEdit,
    WorkspaceEdit,
)
from lsprotocol.types import Diagnostic as LspDiagnostic

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Edit, Fix
from cplc.runtime.file_access import shipped
from cplc.semantics.symbol_index import Declared, declarations
from cplc.server.compiled_document import Compiled, CompiledIspl, text_of, uri_of
from cplc.server.cursor_context import context
from cplc.server.positions import Text
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.parser import parse
from cplc.syntax.tree import walk

_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def actions(
    compiled: Compiled | CompiledIspl, start: int, end: int, shown: Iterable[LspDiagnostic]
) -> list[CodeAction]:
    """Return the code actions for the text between two offsets."""
    given = list(shown)
    result: list[CodeAction] = []
    for fix, problem in dict.fromkeys(_fixes(compiled, start, end)):
        edits = [TextEdit(compiled.range(edit.span), edit.text) for edit in fix.edits]
        answered = None
        if problem is not None:
            place = compiled.range(problem.span)
            answered = [one for one in given if one.code == problem.code and one.range == place] or None
        kind = CodeActionKind.RefactorRewrite if problem is None else CodeActionKind.QuickFix
        change = WorkspaceEdit(changes={compiled.document.uri: edits})
        is_preferred = fix.certainty != "possible" or None
        result.append(CodeAction(fix.title, kind, answered, is_preferred=is_preferred, edit=change))
    return result


def _fixes(compiled: Compiled | CompiledIspl, start: int, end: int) -> Iterator[tuple[Fix, Diagnostic | None]]:
    """Yield the fixes of the diagnostics between two offsets, and changes that no diagnostic asks for."""
    for problem in compiled.diagnostics:
        span = problem.span
        if span.source.name == compiled.source.name and span.start <= end and start <= span.end:
            yield from ((fix, problem) for fix in problem.fixes)
            if isinstance(compiled, Compiled):
                yield from ((fix, problem) for fix in _contextual(compiled, problem))
    if isinstance(compiled, Compiled):
        yield from ((fix, None) for fix in _guards(compiled, start, end))


def _contextual(compiled: Compiled, problem: Diagnostic) -> Iterator[Fix]:
    """Yield fixes that take more of the text than the check that reports the problem."""
    if (name := problem.argument("undeclared")) is not None:
        yield from _declaring(compiled, name, problem.span.start)
    if problem.code == rules.UNKNOWN_NAME.code:
        yield from _importing(compiled, problem.span.text)
    if (role := problem.argument("unbound")) is not None:
        yield from _binding(compiled, role, problem.span)
    sender, receiver = problem.argument("sender"), problem.argument("receiver")
    if sender is not None and receiver is not None:
        yield from _informing(compiled, sender, receiver, problem.span)


def _insertion(compiled: Compiled, at: int, text: str) -> Edit:
    return Edit(Span(compiled.source, at, at), text)


# --- missing declarations


def _declaring(compiled: Compiled, name: str, at: int) -> Iterator[Fix]:
    """Yield declarations of a name that is used at an offset."""
    protocol = compiled.protocol_at(at)
    if protocol is None or not _IDENTIFIER.fullmatch(name):
        return
    around = next((node for node in protocol.declarations if node.span.start <= at <= node.span.end), None)
    if around is None:
        return
    for kind, text in _missing(compiled, name, at, around):
        place = _after_roles(compiled, protocol) if kind == "role" else around.span.start
        indent = _indent(compiled, around.span.start)
        inserted = f"{text}\n{indent}" if kind != "role" else f"\n{indent}{text}"
        yield Fix(f"Declare the {kind} `{name}`", (_insertion(compiled, place, inserted),))


def _missing(compiled: Compiled, name: str, at: int, around: ast.Declaration) -> Iterator[tuple[str, str]]:
    """Yield declarations of an unknown name that fit its context."""
    here = context(compiled.tokens, at)
    messages = [
        node for node in walk(around) if isinstance(node, ast.Message) and node.span.start <= at <= node.span.end
    ]
    message = messages[-1] if messages else None
    if message is not None and any(
        ref.span.start <= at <= ref.span.end for ref in (message.sender, *message.receivers)
    ):
        yield "role", f"role {name}"
    elif here.keyword == "means" and message is not None:
        sender, receiver = message.sender.span.text, message.receivers[0].span.text
        yield "commitment", f"commitment {name} = C({sender}, {receiver}, true, false)"
    elif (here.keyword in ("commitment", "claim") and here.bracket == "(" and here.commas < 2) or here.keyword == "use":
        yield "role", f"role {name}"
    elif message is not None and here.keyword in ("after", "if", "unless", "resets"):
        yield "message", f"{message.receivers[0].span.text} -> {message.sender.span.text} : {name}"
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


def _importing(compiled: Compiled, name: str) -> Iterator[Fix]:
    """Yield the import that brings a macro of the standard library."""
    if (library := _standard_macros().get(name)) is None:
        return
    imports = compiled.file.imports
    if any(imported.target == library for imported in imports):
        return
    if imports:
        place, text = imports[-1].span.end, f"\nimport {library}"
    else:
        tokens = compiled.tokens.code
        place, text = (tokens[0].start if tokens else 0), f"import {library}\n\n"
    yield Fix(f"Import `{library}`", (_insertion(compiled, place, text),), "likely")


def _informing(compiled: Compiled, sender: str, receiver: str, condition: Span) -> Iterator[Fix]:
    """Yield a message that informs the receiver of a condition that it cannot observe."""
    protocol = compiled.protocol_at(condition.start)
    if protocol is None or "[" in sender + receiver or not _IDENTIFIER.fullmatch(condition.text):
        return
    around = next((n for n in protocol.declarations if n.span.start <= condition.start <= n.span.end), None)
    name = f"tell_{condition.text}"
    if around is None or any(one.name.text == name for one in compiled.declared_in(protocol)):
        return
    message = f"{sender} -> {receiver} : {name}  after {condition.text}\n{_indent(compiled, around.span.start)}"
    edits = (_insertion(compiled, around.span.start, message), Edit(condition, name))
    yield Fix(f"Let `{sender}` tell `{receiver}`", edits)


def _binding(compiled: Compiled, unbound: str, used: Span) -> Iterator[Fix]:
    """Yield bindings for a role of a used protocol."""
    protocol = compiled.protocol_at(used.start)
    if protocol is None:
        return
    uses = [n for n in walk(protocol) if isinstance(n, ast.Use) and n.protocol.span == used]
    for use in uses[:1]:
        taken = {argument.value.span.text for argument in use.arguments}
        roles = [one.name.text for one in compiled.declared_in(protocol) if _is_single(one)]
        for role in [role for role in roles if role not in taken][:5]:
            if use.arguments:
                at, text = use.arguments[-1].span.end, f", {unbound} = {role}"
            elif compiled.text.text[use.protocol.span.end :].lstrip().startswith("("):
                at = compiled.text.text.index("(", use.protocol.span.end) + 1
                text = f"{unbound} = {role}"
            else:
                at, text = use.protocol.span.end, f"({unbound} = {role})"
            yield Fix(f"Bind `{unbound}` to `{role}`", (_insertion(compiled, at, text),))


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
        received = [
            one for one in before if message.sender.span.text in [receiver.span.text for receiver in one.receivers]
        ]
        for one in list(reversed(received))[:3]:
            text = f"after {one.name.text} " if message.clauses else f"  after {one.name.text}"
            yield Fix(f"Add `after {one.name.text}`", (_insertion(compiled, place, text),))


MOST: Final = 1_000
"""Maximum number of diagnostics per file."""

_SEVERITIES: Final = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "remark": DiagnosticSeverity.Information,
}


def by_file(
    compiled: Compiled | CompiledIspl, uri_of_name: Callable[[str], str], further: Iterable[Diagnostic] = ()
) -> dict[str, list[LspDiagnostic]]:
    """Return its own and further diagnostics by URI; those of the file itself even if there are none."""
    reports: dict[str, list[LspDiagnostic]] = {compiled.document.uri: []}
    for diagnostic in dict.fromkeys((*compiled.diagnostics, *further)):
        is_here = diagnostic.span.source.name == compiled.source.name
        uri = compiled.document.uri if is_here else uri_of_name(diagnostic.span.source.name)
        listed = reports.setdefault(uri, [])
        if len(listed) < MOST:
            listed.append(_diagnostic(compiled, diagnostic, uri_of_name))
    return reports


def _diagnostic(
    compiled: Compiled | CompiledIspl, problem: Diagnostic, uri_of_name: Callable[[str], str]
) -> LspDiagnostic:
    related = []
    lines = [problem.message]
    for note in problem.notes:
        if note.span is None or not note.span.source.text:
            lines.append(note.message)
        else:
            is_here = note.span.source.name == compiled.source.name
            uri = compiled.document.uri if is_here else uri_of_name(note.span.source.name)
            text = _text(compiled, note.span.source)
            related.append(DiagnosticRelatedInformation(Location(uri, text.of(note.span)), note.message))
    page = shipped("rules") / f"{problem.code}.md"
    return LspDiagnostic(
        _text(compiled, problem.span.source).of(problem.span),
        "\n".join(lines),
        severity=_SEVERITIES[problem.severity],
        code=problem.code,
        code_description=CodeDescription(uri_of(str(page))),
        source="cplc",
        tags=[DiagnosticTag.Unnecessary] if problem.code == rules.UNUSED.code else None,
        related_information=related or None,
    )


def _text(compiled: Compiled | CompiledIspl, source: Source) -> Text:
    return compiled.text if source.name == compiled.source.name else text_of(source, compiled.text.units)


def united(reports: Iterable[list[LspDiagnostic]]) -> list[LspDiagnostic]:
    """Return the diagnostics of several importers about one file, without duplicates."""
    distinct: list[LspDiagnostic] = []
    for report in reports:
        distinct.extend(one for one in report if one not in distinct)
    return distinct
