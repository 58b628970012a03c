"""HTTP archives (HAR 1.2): the requests and responses that a browser or a proxy recorded.

An entry is two records, a request and a response, in the order of time. Bodies in JSON are values.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from datetime import UTC
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from cplc.logs.events import TOO_DEEP, Garbage, Record, Stream
from cplc.logs.json_documents import items, plain
from cplc.logs.reordering import ReorderWindow
from cplc.logs.timestamps import clock

_CLOCK: Final = clock("iso", UTC)
_MAX_FIELDS: Final = 1000
"""Headers of a message, parameters of a query."""
_NO_STATUS: Final = 0
"""The status of a request that was never answered."""


def har_records(stream: Stream, name: str, start: int) -> Iterator[Record | Garbage]:
    """Yield the records behind a position, which counts them."""
    window = ReorderWindow(start)
    number = 0
    for number, one in enumerate(items(stream, "log.entries.item", name), 1):
        place = f"{name}:entry {number}"
        if isinstance(one, Garbage):
            yield Garbage(place, one.reason, 0, one.exceeds_limit)
            continue
        try:
            entry = plain(one)
        except RecursionError:
            yield Garbage(place, TOO_DEEP, exceeds_limit=True)
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("request"), dict):
            yield Garbage(place, "this is no entry of HAR: it has no request")
            continue
        began, ended, problem = _times(entry)
        if problem:
            yield Garbage(place, problem)
        size = _size(entry)
        request = _request(entry)
        yield from window.add(Record(place, 0, request | {"time": began}), began, size)
        for response in _responses(entry, request):
            yield from window.add(Record(place, 0, response | {"time": ended}), ended, size)
    yield from window.rest()
    if not number:
        yield Garbage(name, "this is no HAR with entries: there is no list `log.entries`, or it is empty")


def _times(entry: dict[str, Any]) -> tuple[int | None, int | None, str]:
    """Return when a request began and when its response ended, in nanoseconds, and what is wrong with that."""
    began = entry.get("startedDateTime")
    try:
        start = _CLOCK(began)
    except (ValueError, OverflowError):
        return None, None, f"`{str(began)[:60]}` in `startedDateTime` is no time that can be read"
    took = entry.get("time")
    if not isinstance(took, int | float) or isinstance(took, bool) or not 0 <= took < _LONGEST:
        took = 0
    return start, start + int(took * 10**6), ""


_LONGEST: Final = 10**12
"""Milliseconds that a request may take."""


def _size(entry: dict[str, Any]) -> int:
    request, response = entry.get("request"), entry.get("response")
    texts = [_dict(_dict(request).get("postData")).get("text"), _dict(_dict(response).get("content")).get("text")]
    return sum(len(text) for text in texts if isinstance(text, str)) + 200 * len(_pairs(_dict(request).get("headers")))


def _request(entry: dict[str, Any]) -> dict[str, Any]:
    request = entry["request"]
    url = request.get("url") if isinstance(request.get("url"), str) else ""
    try:
        parts = urlsplit(url)
        host, path, query = parts.hostname or "", parts.path or "/", parts.query
    except ValueError:
        host, path, query = "", url, ""
    method = request.get("method") if isinstance(request.get("method"), str) else ""
    parameters = _pairs(request.get("queryString")) or dict(parse_qsl(query, max_num_fields=None)[:_MAX_FIELDS])
    return {
        "edge": "request",
        "message": f"{method} {path}",
        "method": method,
        "url": url,
        "host": host,
        "path": path,
        "query": parameters,
        "headers": _pairs(request.get("headers")),
        "body": _body(request.get("postData")),
        "sender": "client",
        "recipients": [host] if host else [],
        "comment": entry.get("comment"),
        "connection": entry.get("connection"),
        "pageref": entry.get("pageref"),
    }


def _responses(entry: dict[str, Any], request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the response to a request, or one for each server-sent event in it; none if it was never answered."""
    response = entry.get("response")
    if not isinstance(response, dict):
        return
    status = response.get("status")
    if not isinstance(status, int) or isinstance(status, bool) or status == _NO_STATUS:
        return
    fields = request | {
        "edge": "response",
        "message": f"{request['message']} {status}",
        "status": status,
        "sender": request["host"],
        "recipients": ["client"],
        "headers": _pairs(response.get("headers")),
        "body": _body(response.get("content")),
        "request": {"headers": request["headers"], "body": request["body"]},
    }
    kind = _dict(response.get("content")).get("mimeType")
    body = fields["body"]
    if isinstance(kind, str) and kind.startswith("text/event-stream") and isinstance(body, str):
        for event in _server_sent(body):
            yield fields | {"edge": "event", "body": event}
    else:
        yield fields


def _server_sent(text: str) -> Iterator[str]:
    """Yield the data of server-sent events, which blank lines separate."""
    data: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def _body(content: object) -> object:
    """Return the body of a message; a mapping finds what stands in it if it is JSON."""
    if not isinstance(content, dict):
        return None
    text = content.get("text")
    if not isinstance(text, str):
        parameters = _pairs(content.get("params"))
        return parameters or None
    if content.get("encoding") == "base64":
        try:
            text = base64.b64decode(text, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            return None
    return text


def _pairs(value: object) -> dict[str, object]:
    """Return names with their values; names of headers are in lower case."""
    if not isinstance(value, list):
        return {}
    pairs = (one for one in value[:_MAX_FIELDS] if isinstance(one, dict))
    return {str(one.get("name", "")).lower(): one.get("value") for one in pairs}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
