"""State of the server: open documents, published diagnostics, running verifications."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from cplc import __version__
from cplc.records import dataclass
from cplc.server.compiled_document import Compiled, CompiledIspl
from cplc.server.diagnostics import by_file, united
from cplc.server.documents import Documents
from cplc.server.open_imports import Buffers
from cplc.server.verdicts import Verdicts, texts_of

# --- Verification in a child process, which streams its results and can be killed


_LONGEST_LINE: Final = 64 * 2**20
"""Maximum length of the message of one result, in bytes."""


@dataclass(frozen=True, slots=True)
class Job:
    """A verification job: a text, the other open texts, a protocol, and one question or all."""

    name: str
    text: str
    buffers: Buffers
    protocol: str | None
    question: str | None
    parameters: Mapping[str, str]
    panel: bool
    """Set if runs are to be drawn."""

    def encoded(self) -> bytes:
        data = {
            "name": self.name,
            "text": self.text,
            "buffers": dict(self.buffers),
            "protocol": self.protocol,
            "question": self.question,
            "parameters": dict(self.parameters),
            "panel": self.panel,
        }
        return json.dumps(data).encode()


def job(
    compiled: Compiled | CompiledIspl, buffers: Buffers, protocol: str | None, question: str | None, *, panel: bool
) -> Job:
    name = compiled.document.path or compiled.document.uri
    parameters = compiled.given.get(protocol or "", {})
    return Job(name, compiled.text.text, buffers, protocol, question, parameters, panel)


async def answers(work: Job) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the messages of the process; closing the iterator kills the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "cplc", "lsp", "--job",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        limit=_LONGEST_LINE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(work.encoded())
            await process.stdin.drain()
            process.stdin.close()
        ended = False
        while line := await process.stdout.readline():
            message: Mapping[str, Any] = json.loads(line)
            ended = ended or "end" in message
            yield message
        if not ended:
            yield {"end": f"the process that verifies ended by itself (exit code {await process.wait()})"}
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


DEBOUNCE: Final = 0.05
"""Delay between an edit and the compilation, in seconds."""


class _Delivery(LanguageServerProtocol):
    """Protocol without the documents of pygls, which splits lines differently from the specification."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Parse a message; an invalid request is answered with an error."""
        try:
            return super().structure_message(data)
        except JsonRpcException as why:
            if "method" in data and isinstance(data.get("id"), int | str):
                self._send_response(data["id"], error=why.to_response_error())
            raise


class Server(LanguageServer):
    """The server of one editor."""

    def __init__(self) -> None:
        super().__init__("cplc", __version__, protocol_cls=_Delivery)
        self.documents = Documents()
        self.verdicts = Verdicts()
        self.has_panel = False
        """The editor has a panel for runs."""
        self.asks_parameters = False
        """The editor can prompt for parameters."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._told: dict[str, dict[str, list[lsp.Diagnostic]]] = {}
        """Diagnostics from each open document, about itself and its imports."""
        self._jobs: dict[str, list[asyncio.Task[Any]]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._tokens: dict[int | str, str] = {}
        self._folder: Path | None = None

    # --- diagnostics

    def later(self, uri: str, delay: float = DEBOUNCE) -> None:
        """Compile a document and publish its diagnostics, unless it changes first."""
        if (timer := self._timers.pop(uri, None)) is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._timers[uri] = loop.call_later(delay, lambda: self._start(self._publish(uri)))

    def _start(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _publish(self, uri: str) -> None:
        compiled = await self.documents.compiled(uri)
        if compiled is None or uri not in self.documents:
            return
        before = self._told.get(uri, {})
        self._told[uri] = by_file(compiled, self.documents.uri_of, self.verdicts.warnings_of(compiled))
        self._say(uri, self._told[uri][uri], compiled.document.version)
        for other in {*before, *self._told[uri]} - {uri}:
            self._say_of_imported(other)

    def _say(self, uri: str, diagnostics: list[lsp.Diagnostic], version: int | None = None) -> None:
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def _say_of_imported(self, uri: str) -> None:
        """Publish the diagnostics of importers about a file that is not open itself."""
        if uri not in self.documents:
            self._say(uri, united(reports[uri] for reports in self._told.values() if uri in reports))

    def changed(self, uri: str) -> None:
        """Update a changed document and those that depend on it."""
        self.later(uri)
        for other in self.documents.dependents(uri):
            self.later(other)

    def closed(self, uri: str) -> None:
        """Close a document; those that depend on it read the file on disk again."""
        dependents = self.documents.dependents(uri)
        self.documents.close(uri)
        self.verdicts.close(uri)
        if (timer := self._timers.pop(uri, None)) is not None:
            timer.cancel()
        imported = set(self._told.pop(uri, {})) - {uri}
        self._say_of_imported(uri)
        for other in imported:
            self._say_of_imported(other)
        for other in dependents:
            self.later(other)

    def given(self, uri: str) -> None:
        """Update a document after a change of parameters, and refresh its lenses."""
        self.later(uri)
        self._refresh()
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def everything_changed(self) -> None:
        """Update every open document after files on disk have changed."""
        for document in self.documents:
            self.later(document.uri)

    # --- verification

    async def verify(self, uri: str, protocol: str | None, name: str | None) -> dict[str, Any]:
        """Verify one question, or all of a protocol; one verification at a time per document."""
        compiled = await self.documents.compiled(uri)
        if compiled is None:
            return {"end": "there is no such file", "results": []}
        task = self._start(self._verify(compiled, protocol, name))
        self._jobs.setdefault(uri, []).append(task)
        try:
            outcome: dict[str, Any] = await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            outcome = {"end": "the run was cancelled", "results": []}
        finally:
            self._jobs[uri].remove(task)
        return outcome

    async def _verify(
        self, compiled: Compiled | CompiledIspl, protocol: str | None, name: str | None
    ) -> dict[str, Any]:
        uri, texts = compiled.document.uri, texts_of(compiled)
        protocols = compiled.file.protocols if isinstance(compiled, Compiled) else ()
        protocol_name = protocol or (protocols[-1].name.text if protocols else "")
        results: list[Any] = []
        end: str | None = None
        async with (
            self._locks.setdefault(uri, asyncio.Lock()),
            self._shown(uri, name or protocol_name or uri.rpartition("/")[2]) as token,
        ):
            running = self.verdicts.running.setdefault(uri, set())
            running.add(protocol_name)
            self._refresh()
            try:
                question_count = 0
                time = f"{datetime.now():%H:%M:%S}"
                work = job(compiled, self.documents.buffers, protocol_name or None, name, panel=self.has_panel)
                async with contextlib.aclosing(answers(work)) as messages:
                    async for one in messages:
                        question_count = len(one.get("asked", ())) or question_count
                        if "result" in one:
                            results.append(one["result"])
                            drawn = str(one.get("panel", ""))
                            self.verdicts.add(uri, protocol_name, one["result"], texts, time, drawn)
                            self._report(
                                token, f"{one['result']['name']}: {one['result']['verdict']}", results, question_count
                            )
                        if "warnings" in one:
                            self.verdicts.warn(compiled, protocol_name, one["warnings"])
                            self.later(uri, 0)
                        end = one.get("end", end)
            finally:
                running.discard(protocol_name)
                self._refresh()
        if end is not None:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, f"Not verified: {end}"))
        return {"end": end, "results": results}

    @contextlib.asynccontextmanager
    async def _shown(self, uri: str, title: str) -> AsyncIterator[str | None]:
        """Show cancellable progress during a verification."""
        capabilities = self.client_capabilities.window
        if capabilities is None or not capabilities.work_done_progress:
            yield None
            return
        token = str(uuid.uuid4())
        await self.work_done_progress.create_async(token)
        self._tokens[token] = uri
        begin = lsp.WorkDoneProgressBegin(f"Verifying {title}", cancellable=True, percentage=0)
        self.work_done_progress.begin(token, begin)
        try:
            yield token
        finally:
            del self._tokens[token]
            self.work_done_progress.end(token, lsp.WorkDoneProgressEnd())

    def _report(self, token: str | None, message: str, results: list[Any], total: int) -> None:
        if token is not None:
            percentage = 100 * len(results) // max(total, len(results), 1)
            self.work_done_progress.report(token, lsp.WorkDoneProgressReport(message=message, percentage=percentage))

    def _refresh(self) -> None:
        """Ask the editor to refresh code lenses."""
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def cancel(self, uri: str) -> int:
        """Cancel the verifications of a document; return their number."""
        tasks = list(self._jobs.get(uri, ()))
        for task in tasks:
            task.cancel()
        return len(tasks)

    def cancel_token(self, token: int | str) -> None:
        if (uri := self._tokens.get(token)) is not None:
            self.cancel(uri)

    # --- runs

    async def show(self, title: str, text: str) -> None:
        """Show a text, in a temporary file if the editor can open files."""
        capabilities = self.client_capabilities.window
        can_open = capabilities is not None and capabilities.show_document is not None
        if self.has_panel:
            return
        if not (can_open and capabilities and capabilities.show_document and capabilities.show_document.support):
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, text))
            return
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="cplc-"))
        path = self._folder / f"{''.join(char if char.isalnum() else '_' for char in title)}.txt"
        path.write_text(text, encoding="utf-8")
        await self.window_show_document_async(lsp.ShowDocumentParams(path.as_uri(), take_focus=False))

    def end(self) -> None:
        """Cancel all running tasks."""
        for uri in list(self._jobs):
            self.cancel(uri)
        for timer in self._timers.values():
            timer.cancel()
        for task in tuple(self._tasks):
            task.cancel()
        self.documents.shutdown()
        if self._folder is not None:
            _remove(self._folder, self._folder.iterdir())


def _remove(folder: Path, files: Iterable[Path]) -> None:
    with contextlib.suppress(OSError):
        for file in files:
            file.unlink()
        folder.rmdir()
