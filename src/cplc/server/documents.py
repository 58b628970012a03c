"""Open documents and their compilations. A separate thread compiles, so the server stays responsive."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from lsprotocol.types import TextDocumentContentChangeEvent

from cplc.runtime.file_access import MAX_BYTES, files_below, read_bytes
from cplc.server.compiled_document import (
    Compiled,
    CompiledIspl,
    Document,
    Given,
    compiled,
    compiled_ispl,
    path_of,
    uri_of,
)
from cplc.server.open_imports import Buffers
from cplc.server.positions import Text, Units

MOST_FILES: Final = 1_000
"""Maximum number of files of a workspace."""

_STACK: Final = 64 * 2**20
_FIRST: Final = "protocol P { role A  role B  A -> B : m  property p: AF m }"
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "build", "dist", "target"})

Result = TypeVar("Result")


class Documents:
    """Open documents, changed only by the thread of the event loop."""

    def __init__(self) -> None:
        self.units: Units = "utf-16"
        self.folders: tuple[str, ...] = ()
        self.configured: Given = {}
        """Configured values of parameters for all files, by protocol."""
        self._given: dict[str, Given] = {}
        self._open: dict[str, Document] = {}
        self._cache: dict[str, Compiled | CompiledIspl] = {}
        self._pool = _worker()

    # --- open documents

    def open(self, uri: str, text: str, version: int | None) -> None:
        self._open[uri] = Document(uri, Text(text, self.units), version)

    def change(self, uri: str, changes: Iterable[TextDocumentContentChangeEvent], version: int | None) -> None:
        """Apply edits; a document that was never opened must be replaced as a whole."""
        text = self._open[uri].text if uri in self._open else Text("", self.units)
        for change in changes:
            text = text.changed(change)
        self._open[uri] = Document(uri, text, version)

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)
        self._cache.pop(uri, None)
        self._given.pop(uri, None)

    def __contains__(self, uri: str) -> bool:
        return uri in self._open

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._open.values()))

    def document(self, uri: str) -> Document | None:
        """Return the open document, or else the file on disk."""
        return self._open.get(uri) or self._on_disk(uri)

    def _on_disk(self, uri: str) -> Document | None:
        path = path_of(uri)
        if path is None:
            return None
        try:
            return Document(uri, Text(read_bytes(path, MAX_BYTES).decode("utf-8-sig"), self.units))
        except (OSError, ValueError):
            return None

    def uri_of(self, name: str) -> str:
        """Return the URI of a source, spelled as in the editor if the file is open."""
        return next((document.uri for document in self._open.values() if document.path == name), uri_of(name))

    @property
    def buffers(self) -> Buffers:
        return {document.path: document.text.text for document in self._open.values() if document.path}

    # --- parameters

    def given(self, uri: str) -> Given:
        """Return the values of parameters of a file: its own, else the configured ones."""
        return {**self.configured, **self._given.get(uri, {})}

    def give(self, uri: str, protocol: str, values: Mapping[str, str] | None) -> None:
        """Set the parameters of a protocol; None restores the configured values or the defaults."""
        given = dict(self._given.get(uri, {}))
        given.pop(protocol, None)
        if values is not None:
            given[protocol] = dict(values)
        self._given[uri] = given

    # --- compilations

    async def compiled(self, uri: str) -> Compiled | CompiledIspl | None:
        """Return the compilation of the present text; None if there is no such document."""
        while (document := self.document(uri)) is not None:
            given = self.given(uri)
            result = await self.run(partial(self._compiled, document, self.buffers, given))
            if (uri not in self._open or self._open[uri] is document) and given == self.given(uri):
                return result
        return None

    async def protocol(self, uri: str) -> Compiled | None:
        """Return the compilation of a protocol; None for ISPL."""
        document = await self.compiled(uri)
        return document if isinstance(document, Compiled) else None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run a function in the compiler thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _compiled(self, document: Document, buffers: Buffers, given: Given) -> Compiled | CompiledIspl:
        """Compile in the compiler thread, unless the cached compilation is current."""
        cached = self._cache.get(document.uri)
        if cached is not None and cached.document.source == document.source and cached.is_current(buffers, given):
            return cached if cached.document.version == document.version else replace(cached, document=document)
        result = compiled_ispl(document) if document.is_ispl else compiled(document, buffers, given)
        self._cache[document.uri] = result
        while len(self._cache) > MOST_FILES:
            del self._cache[next(iter(self._cache))]
        return result

    def dependents(self, uri: str) -> list[str]:
        """Return the open documents that depend on a changed file."""
        path = path_of(uri)
        cached = [entry for entry in tuple(self._cache.values()) if entry.document.uri in self._open]
        return [entry.document.uri for entry in cached if entry.document.uri != uri and path in entry.reads]

    # --- workspace

    async def everything(self, is_wanted: Callable[[str], bool], *, beside: Compiled | None = None) -> list[Compiled]:
        """Return the protocols that are open, in the workspace or near a file, and whose text satisfies the filter."""
        addresses = {path_of(document.uri) or document.uri: document.uri for document in self}
        for path in await self.run(partial(self._files, beside)):
            addresses.setdefault(path, uri_of(path))
        result: list[Compiled] = []
        for uri in addresses.values():
            document = self.document(uri)
            if document is not None and is_wanted(document.text.text):
                compiled_ = await self.protocol(uri)
                result.extend([] if compiled_ is None else [compiled_])
        return result

    async def is_everything(self) -> bool:
        """Return whether the workspace is small enough to scan all files."""
        return len(await self.run(partial(workspace_files, self.folders))) <= MOST_FILES

    def _files(self, beside: Compiled | None) -> list[str]:
        """Return the protocols of the workspace and of the folder of a file, which may be outside."""
        paths = dict.fromkeys(workspace_files(self.folders))
        if beside is not None and beside.document.path is not None:
            folder = os.path.dirname(beside.document.path)
            beside_it = files_below(folder, (".cpl",), lambda _: True)
            paths.update((path, None) for path in islice(beside_it, MOST_FILES))
        return list(paths)

    def warm_up(self) -> None:
        """Build the grammars before the first document arrives."""
        self._pool.submit(compiled, Document("untitled:first", Text(_FIRST)), {})

    def shutdown(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def workspace_files(folders: Iterable[str]) -> list[str]:
    """Return the protocols in these folders, without hidden folders and those of other tools."""
    paths: dict[str, None] = {}
    for folder in folders:
        for path in files_below(folder, (".cpl",), lambda name: name.startswith(".") or name in _SKIPPED):
            paths[path] = None
            if len(paths) > MOST_FILES:
                return list(paths)
    return list(paths)


def _worker() -> ThreadPoolExecutor:
    before = threading.stack_size(_STACK)
    try:
        pool = ThreadPoolExecutor(1, "cplc-compile")
        pool.submit(int).result()  # starts the thread with this stack size
    finally:
        threading.stack_size(before)
    return pool
