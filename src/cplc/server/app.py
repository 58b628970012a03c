"""Requests of the Language Server Protocol, and their handlers."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from cplc.semantics.symbol_index import Declared
from cplc.server import diagnostics as fixes
from cplc.server import ispl, navigation, outline, semantic_tokens
from cplc.server.compiled_document import Compiled, CompiledIspl, path_of
from cplc.server.completion import completion as completions
from cplc.server.execute_command import REFUSED, add_parameters, add_verification, plain, refused
from cplc.server.hover import hints, signature_help
from cplc.server.hover import hover as said_of
from cplc.server.parameters import read
from cplc.server.session import Server
from cplc.server.text_edits import layout
from cplc.server.verdicts import asked_at, texts_of
from cplc.source import Span

_DEPTH: Final = 20_000
"""Long conjunctions are deep trees."""


def serve(port: int | None) -> None:
    """Serve one editor until it disconnects."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEPTH))
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_news)
    server = built()
    if port is None:
        # Standard output carries protocol messages only; other output goes to standard error.
        answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        server.start_io(sys.stdin.buffer, answers)
    else:
        server.start_tcp("127.0.0.1", port)


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether to log a record: rejected requests were answered already."""
    why = record.exc_info[1] if record.exc_info else None
    return not (isinstance(why, JsonRpcException) and why.code == REFUSED)


def built() -> Server:
    """Return a server with all features."""
    server = Server()
    for add in (_texts, _names, _writing, _shapes, _calls, add_verification, add_parameters):
        add(server)
    return server


def _texts(server: Server) -> None:
    documents = server.documents

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        units = str(server.workspace.position_encoding or "utf-16")
        documents.units = "utf-8" if units == "utf-8" else "utf-32" if units == "utf-32" else "utf-16"
        roots = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        documents.folders = tuple(path for path in map(path_of, roots) if path)
        options = plain(params.initialization_options)
        server.has_panel = bool(options.get("panel"))
        server.asks_parameters = bool(options.get("asksParameters"))
        documents.configured = read(options.get("parameters"))

    @server.feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        documents.warm_up()
        workspace = server.client_capabilities.workspace
        watching = None if workspace is None else workspace.did_change_watched_files
        if watching is not None and watching.dynamic_registration:
            patterns = [lsp.FileSystemWatcher(f"**/{name}") for name in ("*.cpl", "cplc.toml", "pyproject.toml")]
            options = lsp.DidChangeWatchedFilesRegistrationOptions(patterns)
            registration = lsp.Registration("cplc-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            with suppress(JsonRpcException):
                await server.client_register_capability_async(lsp.RegistrationParams([registration]))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        one = params.text_document
        documents.open(one.uri, one.text, one.version)
        server.changed(one.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        documents.change(params.text_document.uri, params.content_changes, params.text_document.version)
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.everything_changed()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: lsp.DidChangeWatchedFilesParams) -> None:
        server.everything_changed()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        gone = {path_of(folder.uri) for folder in params.event.removed}
        new = [path for folder in params.event.added if (path := path_of(folder.uri))]
        documents.folders = (*(folder for folder in documents.folders if folder not in gone), *new)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(params: lsp.DidChangeConfigurationParams) -> None:
        """Apply the values of parameters; other settings are ignored."""
        settings = plain(params.settings)
        options = plain(settings.get("cplc", settings))
        if "parameters" in options:
            documents.configured = read(options["parameters"])
            server.everything_changed()

    @server.feature(lsp.SHUTDOWN)
    def shutdown(params: Any) -> None:
        server.end()


def _names(server: Server) -> None:
    documents = server.documents

    def addresses() -> dict[str, str]:
        return {document.path: document.uri for document in documents if document.path}

    async def importing(word: str | None, beside: Compiled) -> list[Compiled]:
        """Return the open programs with imports, and with this word if one is given."""

        def is_wanted(text: str) -> bool:
            return "import" in text and (word is None or word in text)

        return await documents.everything(is_wanted, beside=beside)

    def name_at(compiled: Compiled, position: lsp.Position) -> tuple[Span, Declared] | None:
        return compiled.name_at(compiled.text.offset(position))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        compiled = await documents.protocol(params.text_document.uri)
        if compiled is None:
            return None
        offset = compiled.text.offset(params.position)
        one = asked_at(compiled, offset)
        texts = texts_of(compiled)
        uri = params.text_document.uri
        verdict = None if one is None else server.verdicts.said(uri, one.protocol, one.name, texts)
        return said_of(compiled, offset, verdict)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: lsp.DefinitionParams) -> list[lsp.LocationLink] | list[lsp.Location] | None:
        compiled = await documents.compiled(params.text_document.uri)
        if compiled is None:
            return None
        offset = compiled.text.offset(params.position)
        if isinstance(compiled, CompiledIspl):
            location = ispl.definition(compiled, offset)
            return None if location is None else [location]
        links = navigation.definition(compiled, offset)
        capabilities = server.client_capabilities.text_document
        if links is None or (capabilities and capabilities.definition and capabilities.definition.link_support):
            return links
        return [lsp.Location(link.target_uri, link.target_selection_range) for link in links]

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    async def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        compiled = await documents.compiled(params.text_document.uri)
        if isinstance(compiled, CompiledIspl):
            offset = compiled.text.offset(params.position)
            return ispl.references(compiled, offset, with_declaration=params.context.include_declaration)
        declared = None if compiled is None else name_at(compiled, params.position)
        if compiled is None or declared is None:
            return []
        importers = await importing(declared[1].name.text, compiled)
        offset = compiled.text.offset(params.position)
        include_declaration = params.context.include_declaration
        places = navigation.references(compiled, offset, importers, with_declaration=include_declaration)
        return navigation.located(places, addresses())

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        compiled = await documents.compiled(params.text_document.uri)
        if isinstance(compiled, CompiledIspl):
            return ispl.highlights(compiled, compiled.text.offset(params.position))
        return [] if compiled is None else navigation.highlights(compiled, compiled.text.offset(params.position))

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        compiled = await documents.protocol(params.text_document.uri)
        if compiled is None:
            raise refused("Names are changed in protocols only")
        try:
            span, declared = navigation.renamable(compiled, compiled.text.offset(params.position))
        except navigation.Refused as why:
            raise refused(str(why)) from None
        return lsp.PrepareRenamePlaceholder(compiled.range(span), declared.name.text)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    async def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        compiled = await documents.protocol(params.text_document.uri)
        if compiled is None:
            raise refused("Names are changed in protocols only")
        if not await documents.is_everything():
            raise refused("There are too many files to look at all that may import this one")
        importers = await importing(None, compiled)
        offset = compiled.text.offset(params.position)
        change = partial(navigation.renamed, compiled, offset, params.new_name, importers, documents.buffers)
        try:
            edit = await documents.run(change)
        except navigation.Refused as why:
            raise refused(str(why)) from None
        return navigation.edit(edit, params.new_name, compiled, addresses())

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def links(params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
        compiled = await documents.protocol(params.text_document.uri)
        return [] if compiled is None else navigation.links(compiled)

    @server.feature(lsp.WORKSPACE_SYMBOL)
    async def workspace_symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        return outline.workspace_symbols(params.query, await documents.everything(lambda text: True))


def _writing(server: Server) -> None:
    documents = server.documents

    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", ">", "@", " ", "(", '"'])
    )
    async def completion(params: lsp.CompletionParams) -> lsp.CompletionList:
        compiled = await documents.protocol(params.text_document.uri)
        items = [] if compiled is None else completions(compiled, compiled.text.offset(params.position))
        return lsp.CompletionList(False, items)

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(["(", ","]))
    async def signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        compiled = await documents.protocol(params.text_document.uri)
        return None if compiled is None else signature_help(compiled, compiled.text.offset(params.position))

    kinds = [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=kinds))
    async def code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        compiled = await documents.compiled(params.text_document.uri)
        if compiled is None:
            return []
        start, end = compiled.text.offset(params.range.start), compiled.text.offset(params.range.end)
        return fixes.actions(compiled, start, end, params.context.diagnostics)

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    async def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        compiled = await documents.compiled(params.text_document.uri)
        return None if compiled is None else await documents.run(partial(layout, compiled))


def _shapes(server: Server) -> None:
    documents = server.documents

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        compiled = await documents.compiled(params.text_document.uri)
        if isinstance(compiled, CompiledIspl):
            return ispl.document_symbols(compiled)
        return [] if compiled is None else outline.document_symbols(compiled)

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folding(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        compiled = await documents.protocol(params.text_document.uri)
        return [] if compiled is None else outline.folding(compiled)

    @server.feature(lsp.TEXT_DOCUMENT_SELECTION_RANGE)
    async def selection(params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange] | None:
        compiled = await documents.protocol(params.text_document.uri)
        if compiled is None:
            return None
        return [outline.selection(compiled, compiled.text.offset(position)) for position in params.positions]

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, semantic_tokens.LEGEND)
    async def tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        compiled = await documents.protocol(params.text_document.uri)
        return lsp.SemanticTokens([] if compiled is None else semantic_tokens.semantic_tokens(compiled))

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, semantic_tokens.LEGEND)
    async def tokens_in(params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        return lsp.SemanticTokens(
            await ranged(params.text_document.uri, params.range, semantic_tokens.semantic_tokens) or []
        )

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        return await ranged(params.text_document.uri, params.range, hints) or []

    async def ranged(uri: str, range_: lsp.Range, ask: Callable[[Compiled, int, int], Any]) -> Any:
        compiled = await documents.protocol(uri)
        if compiled is None:
            return None
        return ask(compiled, compiled.text.offset(range_.start), compiled.text.offset(range_.end))


def _calls(server: Server) -> None:
    documents = server.documents

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    async def prepare(params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem]:
        compiled = await documents.protocol(params.text_document.uri)
        return [] if compiled is None else navigation.prepare_calls(compiled, compiled.text.offset(params.position))

    @server.feature(lsp.CALL_HIERARCHY_INCOMING_CALLS)
    async def incoming(params: lsp.CallHierarchyIncomingCallsParams) -> list[lsp.CallHierarchyIncomingCall]:
        compiled = await documents.protocol(params.item.uri)
        return [] if compiled is None else navigation.incoming_calls(compiled, params.item)

    @server.feature(lsp.CALL_HIERARCHY_OUTGOING_CALLS)
    async def outgoing(params: lsp.CallHierarchyOutgoingCallsParams) -> list[lsp.CallHierarchyOutgoingCall]:
        compiled = await documents.protocol(params.item.uri)
        return [] if compiled is None else navigation.outgoing_calls(compiled, params.item)
