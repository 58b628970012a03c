"""Targets of the language server: every feature at any place of a text in any state, and messages over the wire."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any, Final

from lsprotocol import types as lsp
from tests.fuzz import corpus
from tests.fuzz.campaign import Target
from tests.fuzz.documents import mutated_document
from tests.fuzz.mutations import ODD, Material
from tests.fuzz.targets import number_of

from cplc.server import (
    diagnostics,
    ispl,
    navigation,
    outline,
    semantic_tokens,
    verdicts,
)
from cplc.server.app import built
from cplc.server.compiled_document import Compiled, CompiledIspl, Document, compiled, compiled_ispl
from cplc.server.completion import completion
from cplc.server.diagnostics import by_file
from cplc.server.hover import hints, hover, signature_help
from cplc.server.positions import Text, Units
from cplc.server.text_edits import layout

_UNITS: Final[tuple[Units, ...]] = ("utf-16", "utf-8", "utf-32")


def run_document(data: bytes) -> None:
    """Edit a text at a place and ask every feature there."""
    random = Random(number_of(data))
    text = Text(_decoded(data, random), random.choice(_UNITS))
    at = random.randrange(len(text.text) + 1)
    if random.random() < 0.5:
        word = random.choice(
            ("-> ", "after ", "commitment c = C(", "A", ".", "\r\n", "😀", "<<", '"', "use ", "}", "x[", "")
        )
        until = min(len(text.text), at + random.choice((0, 0, 3)))
        text = text.changed(lsp.TextDocumentContentChangePartial(text.range(at, until), word))
        at = min(at + len(word), len(text.text))
    document = compiled(Document("untitled:fuzz", text), {})
    for answer in ANSWERS:
        answer(document, at)


def _decoded(data: bytes, random: Random) -> str:
    """Return the text, sometimes with lone surrogates, as editors may send them."""
    if random.random() < 0.3:
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")


def _rename(document: Compiled, offset: int) -> None:
    with suppress(navigation.Refused):
        navigation.renamable(document, offset)
        navigation.renamed(document, offset, "renamed", [], {})


ANSWERS: Final[tuple[Callable[[Compiled, int], Any], ...]] = (
    lambda compiled_document, offset: hover(compiled_document, offset, None),
    completion,
    signature_help,
    navigation.definition,
    navigation.highlights,
    lambda compiled_document, offset: navigation.links(compiled_document),
    lambda compiled_document, offset: navigation.references(compiled_document, offset, [], with_declaration=True),
    lambda compiled_document, offset: outline.document_symbols(compiled_document),
    lambda compiled_document, offset: outline.folding(compiled_document),
    outline.selection,
    lambda compiled_document, offset: outline.workspace_symbols("p", [compiled_document]),
    lambda compiled_document, offset: semantic_tokens.semantic_tokens(compiled_document),
    lambda compiled_document, offset: hints(compiled_document, 0, offset),
    lambda compiled_document, offset: [
        (navigation.incoming_calls(compiled_document, item), navigation.outgoing_calls(compiled_document, item))
        for item in navigation.prepare_calls(compiled_document, offset)
    ],
    lambda compiled_document, offset: verdicts.lenses(compiled_document, verdicts.Verdicts()),
    lambda compiled_document, offset: layout(compiled_document),
    lambda compiled_document, offset: by_file(compiled_document, str),
    lambda compiled_document, offset: diagnostics.actions(
        compiled_document, max(0, offset - 20), min(len(compiled_document.text.text), offset + 20), []
    ),
    _rename,
)


def run_model_document(data: bytes) -> None:
    """Ask every feature of a text in ISPL at a place."""
    random = Random(number_of(data))
    text = Text(data.decode("utf-8", "replace"))
    document: CompiledIspl = compiled_ispl(Document("untitled:fuzz.ispl", text))
    at = random.randrange(len(text.text) + 1)
    by_file(document, str)
    ispl.document_symbols(document)
    ispl.definition(document, at)
    ispl.highlights(document, at)
    ispl.references(document, at, with_declaration=True)
    diagnostics.actions(document, at, at, [])


# --- messages over the wire

_TEXT: Final = "protocol P {\n  role A role B\n  A -> B : m\n  property p: EF m\n}\n"
_HERE: Final = {"textDocument": {"uri": "untitled:1"}, "position": {"line": 2, "character": 4}}
_ALL: Final = {"start": {"line": 0, "character": 0}, "end": {"line": 5, "character": 0}}


def _messages() -> Material:
    document = {"uri": "untitled:1", "languageId": "cpl", "version": 1, "text": _TEXT}
    change = {"range": _ALL, "text": "protocol Q { role A"}
    requests = [
        ("textDocument/didOpen", {"textDocument": document}),
        ("textDocument/didChange", {"textDocument": {"uri": "untitled:1", "version": 2}, "contentChanges": [change]}),
        ("textDocument/hover", _HERE),
        ("textDocument/completion", {**_HERE, "context": {"triggerKind": 1}}),
        ("textDocument/codeAction", {**_HERE, "range": _ALL, "context": {"diagnostics": []}}),
        ("textDocument/formatting", {**_HERE, "options": {"tabSize": 2, "insertSpaces": True}}),
        ("textDocument/semanticTokens/range", {**_HERE, "range": _ALL}),
        ("textDocument/rename", {**_HERE, "newName": "n"}),
        ("textDocument/selectionRange", {**_HERE, "positions": [_HERE["position"]]}),
        ("textDocument/references", {**_HERE, "context": {"includeDeclaration": True}}),
        ("workspace/symbol", {"query": "m"}),
        ("workspace/didChangeConfiguration", {"settings": {"cplc": {"parameters": {"P": {"n": "2"}}}}}),
        ("workspace/executeCommand", {"command": "cplc.showRun", "arguments": ["untitled:1", "P", "p"]}),
        ("$/cancelRequest", {"id": 3}),
        ("window/workDoneProgress/cancel", {"token": "x"}),
        ("textDocument/didClose", _HERE),
    ]
    return Material(
        [json.dumps([{"method": name, "params": parameters}]).encode() for name, parameters in requests], ODD
    )


class _Writer:
    """Takes the answers of a server."""

    def __init__(self) -> None:
        self.data = io.BytesIO()

    def write(self, data: bytes) -> None:
        self.data.write(data)

    def close(self) -> None:
        self.data.close()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def run_messages(data: bytes) -> None:
    """Send messages to a server; each request that is understood is answered, and none ends the server."""
    try:
        messages = json.loads(data)
    except (ValueError, RecursionError):
        messages = [{}]
    if not isinstance(messages, list):
        messages = [messages]
    opening = {"method": "textDocument/didOpen", "params": json.loads(_messages().texts[0])[0]["params"]}
    logging.getLogger("pygls").setLevel(logging.CRITICAL)

    async def session() -> None:
        server = built()
        writer = _Writer()
        server.protocol.set_writer(writer)
        try:
            _send(server, {"id": 1, "method": "initialize", "params": {"capabilities": {}}})
            _send(server, opening)
            for number, one in enumerate(messages[:5], 2):
                _send(server, {"id": number, **one} if isinstance(one, dict) and number % 2 == 0 else one)
            _send(server, {"id": "last", "method": "textDocument/documentSymbol", "params": _HERE})
            for _ in range(400):
                if b'"id":"last"' in writer.data.getvalue().replace(b" ", b""):
                    break
                await asyncio.sleep(0.005)
            else:
                raise AssertionError("the server does not answer any more")
        finally:
            server.end()
            await asyncio.gather(*server._tasks, return_exceptions=True)

    _loop().run_until_complete(session())


def _send(server: Any, message: Any) -> None:
    """Deliver a message as the reader of the pipe does: what cannot be read is reported and goes no further."""
    whole = {"jsonrpc": "2.0", **message} if isinstance(message, dict) else message
    try:
        server.protocol.handle_message(json.loads(json.dumps(whole), object_hook=server.protocol.structure_message))
    except Exception as error:
        server.protocol._server.report_server_error(error, ValueError)


TARGETS: Final = (
    Target(
        "document",
        lambda: Material(corpus.protocols(), [*corpus.words_of_protocols(), *ODD]),
        run_document,
        "cpl",
    ),
    Target("model", lambda: Material(corpus.models(), corpus.words_of_models()), run_model_document, "ispl"),
    Target("messages", _messages, run_messages, "json", mutated_document),
)
