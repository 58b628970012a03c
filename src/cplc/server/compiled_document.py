"""Compiled documents, on which all features work."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from lsprotocol.types import Location, Range
from pygls import uris

from cplc.compilation import CplCompilation, IsplCompilation
from cplc.diagnostics.core import Diagnostic
from cplc.records import dataclass
from cplc.semantics.instantiate import COMMAND_LINE
from cplc.semantics.symbol_index import Declared, Index
from cplc.server.lexical_tokens import Tokens
from cplc.server.open_imports import Buffers, Stamp, recording, stamp
from cplc.server.positions import Text, Units
from cplc.settings import FileOptions, settings_for, settings_paths
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.parser import parse

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

Given = Mapping[str, Mapping[str, str]]
"""Values of parameters, by protocol."""


@dataclass(frozen=True)
class Document:
    """A text in the editor."""

    uri: str
    text: Text
    version: int | None = None

    @cached_property
    def path(self) -> str | None:
        return path_of(self.uri)

    @cached_property
    def source(self) -> Source:
        return Source(self.path or self.uri, self.text.text)

    @property
    def is_ispl(self) -> bool:
        return self.source.is_ispl


def path_of(uri: str) -> str | None:
    """Return the absolute path of a URI, if it is a file."""
    if not uri.startswith("file:"):
        return None
    try:
        path = uris.to_fs_path(uri)
    except ValueError:
        return None
    return os.path.abspath(path) if path and "\0" not in path else None


def uri_of(name: str) -> str:
    """Return the URI of a source: of a path, or the URI itself."""
    is_path = os.path.isabs(name) or not _ADDRESS.match(name)
    return (uris.from_fs_path(os.path.abspath(name)) or name) if is_path else name


@dataclass(frozen=True)
class Compiled:
    """A document and its compilation; ``reads`` are the files on which it depends, including missing ones."""

    document: Document
    compilation: CplCompilation
    reads: Mapping[str, Stamp]
    given: Given
    """Values of parameters set in the editor instead of their defaults."""

    @property
    def source(self) -> Source:
        return self.compilation.source

    @property
    def text(self) -> Text:
        return self.document.text

    @property
    def index(self) -> Index:
        return self.compilation.index

    @property
    def file(self) -> ast.File:
        return self.index.files[0]

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics; an invalid value set in the editor is reported at its protocol."""
        reported = (*self.compilation.diagnostics, *self.compilation.remarks)
        if not self.compilation.parameters or not self.file.protocols:
            return reported
        here = self.file.protocols[-1].name.span
        return tuple(
            replace(one, span=here, fixes=()) if one.span.source.name == COMMAND_LINE else one for one in reported
        )

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.source)

    def is_current(self, buffers: Buffers, given: Given) -> bool:
        return self.given == given and all(stamp(path, buffers) == then for path, then in self.reads.items())

    def range(self, span: Span) -> Range:
        """Return the range of a span in its file."""
        return (self.text if span.source is self.source else text_of(span.source, self.text.units)).of(span)

    def location(self, span: Span) -> Location:
        is_here = span.source.name == self.source.name
        return Location(self.document.uri if is_here else uri_of(span.source.name), self.range(span))

    def name_at(self, offset: int) -> tuple[Span, Declared] | None:
        return self.index.at(self.source, offset)

    def protocol_at(self, offset: int) -> ast.Protocol | None:
        """Return the protocol around an offset, else the nearest one before."""
        before = [protocol for protocol in self.file.protocols if protocol.span.start <= offset]
        return before[-1] if before else None

    def declared_in(self, protocol: ast.Protocol) -> list[Declared]:
        """Return the direct declarations of a protocol."""
        outer = self.index.declared.get(protocol.name.span)
        return [] if outer is None else self.index.members(outer)


@lru_cache(maxsize=64)
def text_of(source: Source, units: Units) -> Text:
    return Text(source.text, units)


def compiled(document: Document, buffers: Buffers, given: Given | None = None) -> Compiled:
    """Compile a document, as far as features need it: its diagnostics and its index."""
    path = Path(document.path) if document.path else None
    reads = _settings(path)
    load = recording(document.path, buffers, reads)
    own = settings_for(path.parent).options_of(path, lambda: _last_protocol(document.source)) if path else FileOptions()
    parameters = {**own.parameters, **_values(document.source, given or {})}
    compilation = CplCompilation(document.source, path, parameters, own.channels, load=load)
    _ = compilation.diagnostics, compilation.index.declared
    return Compiled(document, compilation, reads, given or {})


def _settings(path: Path | None) -> dict[str, Stamp]:
    """Return the stamps of the candidate settings files."""
    return {str(place): stamp(str(place), {}) for place in (settings_paths(path.parent) if path else ())}


def _values(source: Source, given: Given) -> Mapping[str, str]:
    """Return the values for the last protocol, which is the one to be instantiated."""
    if not any(protocol in source.text for protocol in given):
        return {}
    return given.get(_last_protocol(source) or "", {})


def _last_protocol(source: Source) -> str | None:
    protocols = parse(source)[0].protocols
    return protocols[-1].name.text if protocols else None


@dataclass(frozen=True)
class CompiledIspl:
    """A model in ISPL and its compilation; it has no imports and no parameters."""

    document: Document
    reading: IsplCompilation
    reads: Mapping[str, Stamp]

    @property
    def text(self) -> Text:
        return self.document.text

    @property
    def compilation(self) -> IsplCompilation:
        return self.reading

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.reading.diagnostics

    def is_current(self, buffers: Buffers, given: Given) -> bool:
        return all(stamp(path, {}) == then for path, then in self.reads.items())

    @property
    def given(self) -> Given:
        return {}

    @property
    def source(self) -> Source:
        return self.reading.source

    def range(self, span: Span) -> Range:
        return self.text.of(span)


def compiled_ispl(document: Document) -> CompiledIspl:
    path = Path(document.path) if document.path else None
    reads = _settings(path)
    reading = IsplCompilation(document.source, path=path)
    _ = reading.diagnostics
    return CompiledIspl(document, reading, reads)
