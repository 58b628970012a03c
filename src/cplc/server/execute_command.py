"""Commands of the server: verification, runs, values of parameters."""

from __future__ import annotations

from functools import partial
from secrets import token_urlsafe
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from cplc.server import parameters, verdicts
from cplc.server.compiled_document import Compiled
from cplc.server.session import Server

REFUSED: Final = -32803


def refused(why: str) -> JsonRpcException:
    """Return the error response to an invalid request."""
    return JsonRpcException(why, REFUSED)


def add_verification(server: Server) -> None:
    """Register the commands about verdicts."""
    documents = server.documents

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        compiled = await documents.compiled(params.text_document.uri)
        if compiled is None:
            return []
        values = parameters.lenses(compiled) if server.asks_parameters and isinstance(compiled, Compiled) else []
        return [*verdicts.lenses(compiled, server.verdicts), *values]

    @server.feature(lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def cancelled(params: lsp.WorkDoneProgressCancelParams) -> None:
        server.cancel_token(params.token)

    @server.command(verdicts.VERIFY)
    async def verify(*arguments: Any) -> Any:
        uri, protocol, name = _three(arguments)
        return await server.verify(uri, protocol, name)

    @server.command(verdicts.CANCEL)
    def cancel(*arguments: Any) -> int:
        return server.cancel(_three(arguments)[0])

    @server.command(verdicts.RESULTS)
    def results(*arguments: Any) -> Any:
        """Return all results of a file, for a panel."""
        cached = server.verdicts.verdicts.get(_three(arguments)[0], {})
        return [
            {"protocol": protocol, "name": name, "time": one.time, "results": list(one.results)}
            for (protocol, name), one in cached.items()
        ]

    @server.command(verdicts.ASKED)
    async def asked(*arguments: Any) -> Any:
        """Return the list of properties and checks of a file."""
        compiled = await documents.compiled(_three(arguments)[0])
        return [] if compiled is None else verdicts.listed(compiled)

    @server.command(verdicts.SHOW)
    async def show(*arguments: Any) -> Any:
        uri, protocol, name = _three(arguments)
        verdict = server.verdicts.verdicts.get(uri, {}).get((protocol or "", name or ""))
        if verdict is None:
            raise refused(f"`{name}` has not been verified")
        await server.show(f"{protocol} {name}", verdict.text)
        return {"text": verdict.text, "results": list(verdict.results), **_page(f"{protocol} {name}", verdict)}


def add_parameters(server: Server) -> None:
    """Register the commands about parameters."""
    documents = server.documents

    @server.command(parameters.LIST)
    async def listed(*arguments: Any) -> Any:
        """Return the parameters of a protocol."""
        uri, protocol, _ = _three(arguments)
        compiled = await documents.protocol(uri)
        return [] if compiled is None else parameters.listed(compiled, protocol)

    @server.command(parameters.SET)
    async def give(*arguments: Any) -> Any:
        """Set parameters, null restores the defaults; return the present values."""
        uri, name, _ = _three(arguments[:2])
        compiled = await documents.protocol(uri)
        protocol = None if compiled is None else parameters.protocol_named(compiled, name)
        if compiled is None or protocol is None:
            raise refused(f"there is no protocol `{name}`" if name else "there is no protocol")
        given = arguments[2] if len(arguments) > 2 else None
        values = None if given is None else {name: parameters.text(value) for name, value in plain(given).items()}
        try:
            check = partial(parameters.check, compiled, protocol.name.text, values or {}, documents.buffers)
            await documents.run(check)
        except parameters.NotFit as why:
            raise refused(str(why)) from None
        documents.give(uri, protocol.name.text, values)
        server.given(uri)
        now = await documents.protocol(uri)
        return [] if now is None else parameters.listed(now, protocol.name.text)


def plain(value: Any) -> dict[str, Any]:
    """Return a JSON object as a dictionary; empty for any other value."""
    if isinstance(value, dict):
        return value
    fields = getattr(value, "_asdict", None)
    return dict(fields()) if fields is not None else dict(getattr(value, "__dict__", {}))


def _page(title: str, verdict: verdicts.Verdict) -> dict[str, str]:
    """Return the HTML of a verdict, if the editor has a panel."""
    if not any(verdict.drawn):
        return {}
    from cplc.report.html import panel

    return {"page": panel(title, verdict.drawn, token_urlsafe())}


def _three(arguments: tuple[Any, ...]) -> tuple[str, str | None, str | None]:
    """Return the URI, protocol and question in the arguments of a command."""
    given = [*arguments, None, None, None][:3]
    if not isinstance(given[0], str) or not all(one is None or isinstance(one, str) for one in given[1:]):
        raise refused("expected the URI of a file, a protocol and a property")
    return given[0], given[1], given[2]
