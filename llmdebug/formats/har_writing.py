"""HAR 1.2, written."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from llmdebug import __version__
from llmdebug.http.exchange import Exchange, Headers, Request, Response, Timing, header


def har_pieces(exchanges: Iterable[Exchange]) -> Iterator[bytes]:
    """A HAR file's bytes, one exchange in memory at a time; secrets are written as they stand there."""
    creator = msgspec.json.encode({"name": "llmdebug", "version": __version__})
    yield b'{"log": {"version": "1.2", "creator": ' + creator + b', "entries": ['
    comma = b"\n"
    for exchange in exchanges:
        yield comma + msgspec.json.format(msgspec.json.encode(_written(exchange)), indent=2)
        comma = b",\n"
    yield b"\n]}}\n"


def _written(exchange: Exchange) -> dict[str, Any]:
    timing = exchange.timing or Timing(started_at=0.0)
    entry: dict[str, Any] = {
        "startedDateTime": _moment(timing.started_at),
        "time": _ms(timing.end),
        "request": _written_request(exchange.request),
        "response": _written_response(exchange),
        "cache": {},
        "timings": _written_timings(timing),
    }
    if exchange.failure is not None:
        entry["_failure"] = {"kind": exchange.failure.kind, "message": exchange.failure.message}
    return entry


def _moment(started_at: float) -> str:
    """A time that no calendar has is the beginning of all."""
    try:
        return datetime.fromtimestamp(started_at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC).isoformat()


def _written_timings(timing: Timing) -> dict[str, float]:
    connected, first = timing.connect or 0.0, timing.first_byte
    wait = None if first is None else max(first - connected, 0.0)
    receive = None if first is None or timing.end is None else max(timing.end - first, 0.0)
    connect = -1.0 if timing.connect is None else _ms(timing.connect)
    return {"connect": connect, "send": 0.0, "wait": _ms(wait), "receive": _ms(receive)}


def _ms(seconds: float | None) -> float:
    return 0.0 if seconds is None else round(seconds * 1000, 3)


def _written_request(request: Request) -> dict[str, Any]:
    written: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(request.headers),
        "queryString": [],
        "headersSize": -1,
        "bodySize": len(request.body),
    }
    if request.name:
        written["comment"] = request.name
    if request.body:
        written["postData"] = {
            "mimeType": header(request.headers, "Content-Type") or "",
            **_content(request.body),
        }
    return written


def _written_response(exchange: Exchange) -> dict[str, Any]:
    response = exchange.response or Response(status=0, http_version="")
    content_type = header(response.headers, "Content-Type") or ""
    written: dict[str, Any] = {
        "status": response.status,
        "statusText": response.reason,
        "httpVersion": response.http_version,
        "cookies": [],
        "headers": _pairs(response.headers),
        "content": {"size": len(response.body), "mimeType": content_type, **_content(response.body)},
        "redirectURL": header(response.headers, "Location") or "",
        "headersSize": -1,
        "bodySize": -1,
    }
    if exchange.failure is not None:
        written["_error"] = exchange.failure.message
    return written


def _pairs(headers: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _content(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(body).decode("ascii"), "encoding": "base64"}
