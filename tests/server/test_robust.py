"""Whatever comes over the wire, in whatever order: the server answers, or refuses, and goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import types as lsp
from tests.server.conftest import Editor

from cplc.server.app import built


@pytest.mark.asyncio
async def test_requests_for_files_that_are_not_there(editor: Editor) -> None:
    far = lsp.Position(10**6, 2**31 - 1)
    for name in ("gone.cpl", "untitled:Untitled-1", "file:///%00", "http://somewhere/x.cpl", "gone.ispl", ""):
        which = lsp.TextDocumentIdentifier(editor.uri(name) if name else "")
        client = editor.client
        for ask in (
            client.text_document_hover_async(lsp.HoverParams(which, far)),
            client.text_document_completion_async(lsp.CompletionParams(which, far)),
            client.text_document_document_symbol_async(lsp.DocumentSymbolParams(which)),
            client.text_document_code_lens_async(lsp.CodeLensParams(which)),
            client.text_document_rename_async(lsp.RenameParams(which, far, "x")),
        ):
            with contextlib.suppress(Exception):
                await ask
    uri = await editor.open("here.cpl", "protocol P { role A role B A -> B : m }")
    assert editor.codes(uri) == []


@pytest.mark.asyncio
async def test_a_file_with_mistakes_is_not_verified_and_says_why(editor: Editor) -> None:
    uri = await editor.open("wrong.cpl", "protocol P { role A role B A -> B : m after n  property p: AF m }")
    verify = lsp.ExecuteCommandParams("cplc.verify", arguments=[uri, "P", None])
    reply: Any = await editor.client.workspace_execute_command_async(verify)
    assert reply["end"] == "the file has errors: Nothing here is called `n`"
    assert reply["results"] == []


@pytest.mark.asyncio
async def test_edits_beyond_the_text_and_without_opening(editor: Editor) -> None:
    uri = editor.uri("never.cpl")
    editor.texts[uri], editor._versions[uri] = "", 0
    await editor.change(uri, "protocol P { role A role B A -> B : m }")
    assert editor.codes(uri) == []
    which = lsp.VersionedTextDocumentIdentifier(2, uri)
    beyond = lsp.Range(lsp.Position(99, 99), lsp.Position(0, 0))
    change = lsp.TextDocumentContentChangePartial(beyond, "protocol")
    editor.client.diagnostics.pop(uri)
    editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(which, [change]))
    while uri not in editor.client.diagnostics:
        await editor.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert "syntax" in editor.codes(uri)


@pytest.mark.asyncio
async def test_columns_count_utf_16_and_files_are_deleted_while_open(editor: Editor) -> None:
    text = "/* 😀🤝 */ protocol P { role A role B\r\n/* 😀 */ A -> B : m after n }\r\n"
    file = editor.folder / "smile.cpl"
    file.write_bytes(text.encode())
    uri = await editor.open("smile.cpl", text)
    (diagnostic,) = editor.client.diagnostics[uri]
    assert diagnostic.code == "unknown-name"
    assert diagnostic.range == lsp.Range(lsp.Position(1, 26), lsp.Position(1, 27))
    file.unlink()
    params = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, 29))
    hover = await editor.client.text_document_hover_async(params)
    assert hover is not None
    assert "role A" in str(hover.contents)


def _message(content: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(content), content)


def _said(method: str, number: int | None = None, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    return _message(json.dumps(message).encode())


def _answers(out: bytes) -> Iterator[dict[str, Any]]:
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1].split(b"\r\n")[0])
        yield json.loads(rest[:length])
        out = rest[length:]


def test_invalid_messages_do_not_end_server() -> None:
    item = {"uri": "untitled:1", "languageId": "cpl", "version": 1, "text": "protocol \ud800 { role A"}
    sent = [
        _said("initialize", 1, capabilities={}),
        _said("initialized"),
        _message(b"no json"),
        _message(b"[]"),
        _message(b'{"jsonrpc": "2.0"}'),
        _said("no/such", 2),
        _said("textDocument/hover", 3, nonsense=1),
        _said("textDocument/didOpen", textDocument=item),
        _said("workspace/executeCommand", 4, command="cplc.verify", arguments=[1, 2, 3, 4]),
        _said("workspace/executeCommand", 5, command="cplc.showRun"),
        _said("textDocument/documentSymbol", 6, textDocument={"uri": "untitled:1"}),
        _said("shutdown", 7),
        _said("exit"),
    ]
    run = subprocess.run(
        [sys.executable, "-m", "cplc", "lsp"], input=b"".join(sent), capture_output=True, timeout=60, check=False
    )
    answered = {answer["id"]: answer for answer in _answers(run.stdout) if answer.get("id") is not None}
    assert run.returncode == 0, run.stderr
    assert {1, 2, 3, 4, 5, 7} <= set(answered)
    assert all("error" in answered[number] for number in (2, 3, 4, 5))


@pytest.mark.asyncio
async def test_end_of_the_server_cancels_what_is_being_compiled() -> None:
    server = built()
    server.documents.open("untitled:1", "protocol P { role A }", 1)
    task = server._start(server._publish("untitled:1"))
    server.end()
    await asyncio.wait([task])
    assert task.cancelled()
