"""Messages in any order, without waiting: each request is answered once, and what is told in the end is so.

The server is the whole one; only the pipe is missing. Another editor writes files, too.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from lsprotocol import converters
from lsprotocol import types as lsp
from tests.server.test_states import _TEXTS, _WHOLE
from tests.support.random_examples import examples

from cplc.server.app import built
from cplc.server.compiled_document import Document, compiled, compiled_ispl, path_of
from cplc.server.diagnostics import by_file, united
from cplc.server.documents import Documents
from cplc.server.execute_command import REFUSED
from cplc.server.positions import Text

_FEW = st.sampled_from(["main.cpl", "other.cpl"])
_NAMES = _FEW | st.sampled_from(["away/other.cpl", "model.ispl", "un named é.cpl"])
_TEXT_ONLY = st.sampled_from(_WHOLE[1:]) | _TEXTS.map(lambda text: text.replace("\ud800", "\u00e9"))
"""Often one that means something; a lone surrogate cannot come over the wire as it is."""
_CANCELLED = -32800
_ASKED = (
    "hover", "definition", "references", "documentHighlight", "prepareRename", "rename", "documentLink", "completion",
    "signatureHelp", "formatting", "documentSymbol", "foldingRange", "selectionRange", "semanticTokens/full",
    "inlayHint", "prepareCallHierarchy", "codeLens", "codeAction",
)  # fmt: skip
_ANY = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 99}}
_CONTEXT = {"includeDeclaration": True, "diagnostics": [], "triggerKind": 1, "isRetrigger": False}
"""Context of a request, as different editors send it."""
_READER = "reader.cpl"
"""Imports another one, is open, and is never touched: its diagnostics depend on others."""
_CONVERTER = converters.get_converter()


def _position(text: str, offset: int) -> dict[str, int]:
    """Count as the specification does, in units of UTF-16."""
    before = re.split(r"\r\n|\n|\r", text[:offset])
    return {"line": len(before) - 1, "character": len(before[-1].encode("utf-16-le")) // 2}


class Orders(RuleBasedStateMachine):
    """Messages that an editor sends, and the replies."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "work").mkdir()
        (self.folder / "work" / "away").symlink_to(self.folder)  # a file may be outside, and have two names
        self.loop = asyncio.new_event_loop()
        self.server = built()
        self.server.protocol.set_writer(self, include_headers=False)
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.sent: set[int] = set()
        self.answers: dict[int, dict[str, Any]] = {}
        self.told: dict[str, dict[str, Any]] = {}
        root = (self.folder / "work").as_uri()
        self._request("initialize", capabilities={}, processId=None, rootUri=root)
        self._say("initialized")
        self._open(_READER, _WHOLE[0])
        self._settle()

    def write(self, data: bytes) -> None:
        """Take what the server sends."""
        message = json.loads(data)
        if message.get("method") == "textDocument/publishDiagnostics":
            self.told[message["params"]["uri"]] = message["params"]
        elif "id" in message and "method" not in message:
            assert message["id"] not in self.answers, "answered twice"
            self.answers[message["id"]] = message

    def close(self) -> None:
        """There is no pipe."""

    def teardown(self) -> None:
        if not hasattr(self, "server"):
            return
        try:
            self._settle()
            self._everything_is_so()
        finally:
            self.server.end()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()
            for file in [*self.folder.glob("*.*"), *(self.folder / "work").iterdir()]:
                file.unlink()
            (self.folder / "work").rmdir()
            self.folder.rmdir()

    # --- what is sent

    def _uri(self, name: str) -> str:
        return (self.folder / "work" / name).as_uri()

    def _send(self, message: dict[str, Any]) -> None:
        async def deliver() -> None:
            protocol = self.server.protocol
            protocol.handle_message(protocol.structure_message({"jsonrpc": "2.0", **message}))

        self.loop.run_until_complete(deliver())

    def _say(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def _request(self, method: str, **params: Any) -> int:
        number = len(self.sent) + 1
        self.sent.add(number)
        self._send({"id": number, "method": method, "params": params})
        return number

    @rule(name=_NAMES, text=_TEXT_ONLY)
    def open(self, name: str, text: str) -> None:
        self._open(name, text)

    def _open(self, name: str, text: str) -> None:
        self.texts[name] = text
        self.versions[name] = self.versions.get(name, 0) + 1
        item = {"uri": self._uri(name), "languageId": "cpl", "version": self.versions[name], "text": text}
        self._say("textDocument/didOpen", textDocument=item)

    @precondition(lambda self: len(self.texts) > 1)
    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted({*self.texts} - {_READER})))
        changes = []
        for _ in range(data.draw(st.integers(1, 3))):
            text, new = self.texts[name], data.draw(_TEXT_ONLY)
            inside = [at for at in range(len(text) + 1) if text[max(0, at - 1) : at + 1] != "\r\n"]
            start, end = sorted(data.draw(st.tuples(st.sampled_from(inside), st.sampled_from(inside))))
            changes.append({"range": {"start": _position(text, start), "end": _position(text, end)}, "text": new})
            self.texts[name] = text[:start] + new + text[end:]
        self.versions[name] += 1
        which = {"uri": self._uri(name), "version": self.versions[name]}
        self._say("textDocument/didChange", textDocument=which, contentChanges=changes)

    @precondition(lambda self: len(self.texts) > 1)
    @rule(data=st.data(), new=_TEXT_ONLY)
    def replace(self, data: st.DataObject, new: str) -> None:
        name = data.draw(st.sampled_from(sorted({*self.texts} - {_READER})))
        self.texts[name] = new
        self.versions[name] += 1
        which = {"uri": self._uri(name), "version": self.versions[name]}
        self._say("textDocument/didChange", textDocument=which, contentChanges=[{"text": new}])

    @precondition(lambda self: len(self.texts) > 1)
    @rule(data=st.data())
    def save(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted({*self.texts} - {_READER})))
        (self.folder / "work" / name).write_bytes(self.texts[name].encode())
        self._say("textDocument/didSave", textDocument={"uri": self._uri(name)})

    @rule(name=_NAMES, text=st.none() | _TEXT_ONLY)
    def somebody_else_writes_or_deletes(self, name: str, text: str | None) -> None:
        path = self.folder / "work" / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(text.encode())
        changes = [{"uri": self._uri(name), "type": 3 if text is None else 2}]
        self._say("workspace/didChangeWatchedFiles", changes=changes)

    @rule(name=_NAMES)
    def close_it(self, name: str) -> None:
        self.texts.pop(name, None)
        self._say("textDocument/didClose", textDocument={"uri": self._uri(name)})

    @rule(name=_NAMES, method=st.sampled_from(_ASKED), line=st.integers(0, 4), column=st.integers(0, 60))
    def ask(self, name: str, method: str, line: int, column: int) -> None:
        place = {"line": line, "character": column}
        self._request(
            f"textDocument/{method}",
            textDocument={"uri": self._uri(name)}, position=place, positions=[place], newName="renamed", range=_ANY,
            context=_CONTEXT, options={"tabSize": 2, "insertSpaces": True},
        )  # fmt: skip

    @rule(protocol=st.sampled_from(["M", "Q", "P", None]), value=st.sampled_from([None, {}, {"n": 1}, {"n": "x"}]))
    def parameters_change(self, protocol: str | None, value: dict[str, Any] | None) -> None:
        arguments = [self._uri("main.cpl"), protocol, value]
        self._request("workspace/executeCommand", command="cplc.setParameters", arguments=arguments)

    @precondition(lambda self: len(self.sent) > 1)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self._say("$/cancelRequest", id=data.draw(st.sampled_from(sorted(self.sent - {1}))))

    @rule(seconds=st.sampled_from([0, 0.01, 0.1]))
    def time_goes_on(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    # --- what comes back

    def _settle(self) -> None:
        """Wait until nothing is under way any more."""

        async def quiet() -> None:
            while (
                len(self.answers) < len(self.sent)
                or self.server._tasks
                or any(timer.when() > self.loop.time() for timer in self.server._timers.values())
            ):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)

        self.loop.run_until_complete(asyncio.wait_for(quiet(), 60))
        if self.server._tasks:
            self._settle()

    def _everything_is_so(self) -> None:
        assert set(self.answers) == self.sent
        for answer in self.answers.values():
            assert answer.get("error", {}).get("code") in (None, REFUSED, _CANCELLED), answer
        uris = {name: self._uri(name) for name in self.texts}
        buffers = {path: text for name, text in self.texts.items() if (path := path_of(uris[name])) is not None}
        documents = Documents()
        for name, text in self.texts.items():
            documents.open(uris[name], text, self.versions[name])
        reports = {}
        for name, text in self.texts.items():
            document = Document(uris[name], Text(text, "utf-16"), self.versions[name])
            given = self.server.documents.given(uris[name])
            compiled_document = compiled_ispl(document) if document.is_ispl else compiled(document, buffers, given)
            reports[uris[name]] = by_file(compiled_document, documents.uri_of)
        documents.shutdown()
        for uri, report in reports.items():
            assert self.told[uri].get("version") == self.versions[next(n for n in uris if uris[n] == uri)]
            self._is_told(uri, report[uri])
        for uri in {*self.told, *(other for report in reports.values() for other in report)} - set(reports):
            self._is_told(uri, united(report[uri] for report in reports.values() if uri in report))

    def _is_told(self, uri: str, expected: list[lsp.Diagnostic]) -> None:
        published = self.told.get(uri, {}).get("diagnostics", [])
        key = lambda one: json.dumps(one, sort_keys=True)  # noqa: E731
        assert sorted(published, key=key) == sorted(_CONVERTER.unstructure(expected), key=key), uri


TestOrders = Orders.TestCase
TestOrders.settings = examples(25, stateful_step_count=8, deadline=None)
