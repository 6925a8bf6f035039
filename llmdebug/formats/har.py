"""HAR 1.2: what browsers, proxies and gateways record, read and written.

Reading is tolerant: an entry needs no more than a request with a URL. WebSocket messages are left out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from llmdebug import __version__
from llmdebug.formats.errors import FormatError, read_file
from llmdebug.http.exchange import (
    Exchange,
    Failure,
    FailureKind,
    Headers,
    Request,
    Response,
    StreamEvent,
    Timing,
    header,
)
from llmdebug.http.secrets import redact_exchange
from llmdebug.http.stream import stream_decoder
from llmdebug.jsontext.parse import JsonError, parse_json

MAX_HAR_BYTES = 2 * 1024 * 1024 * 1024

_FAILURES: tuple[tuple[str, FailureKind], ...] = (
    ("NAME_NOT_RESOLVED", "dns"),
    ("REFUSED", "refused"),
    ("UNREACHABLE", "unreachable"),
    ("PROXY", "proxy"),
    ("CERT", "tls"),
    ("SSL", "tls"),
    ("TIMED_OUT", "total_timeout"),
    ("ABORTED", "cancelled"),
    ("INCOMPLETE", "incomplete"),
    ("INVALID_HTTP", "not_http"),
)
"""Parts of the error names of browsers."""


class HarEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a HAR file."""

    exchange: Exchange
    comment: str = ""
    number: int = 0
    """From 1, in the file's order."""


def read_har(source: str | Path | bytes) -> list[HarEntry]:
    """From a path or a file's bytes. Raises FormatError, with the entry's number where one is at fault."""
    path = "" if isinstance(source, bytes) else str(source)
    data = source if isinstance(source, bytes) else read_file(source, MAX_HAR_BYTES)
    return entries_of(read_document(data, path), path)


def read_document(data: bytes, path: str) -> Any:
    """The JSON value of a HAR file. Raises FormatError."""
    try:
        return parse_json(data).value
    except JsonError as error:
        raise FormatError(path, f"This is no HAR file: {error.message}", line=error.line) from None


def entries_of(document: Any, path: str) -> list[HarEntry]:
    """The entries of a HAR file's JSON value. Raises FormatError."""
    entries = []
    for entry in each_entry(document, path):
        if isinstance(entry, FormatError):
            raise entry
        entries.append(entry)
    return entries


def each_entry(document: Any, path: str) -> Iterator[HarEntry | FormatError]:
    """As entries_of(), but an entry that cannot be read is given as its error and the rest follows."""
    entries = _object(_object(document).get("log")).get("entries")
    if not isinstance(entries, list):
        raise FormatError(path, "This is no HAR file: it has no list at /log/entries.")
    for number, entry in enumerate(entries, start=1):
        try:
            yield _entry(entry, number, path)
        except FormatError as error:
            yield error


def write_har(exchanges: Iterable[Exchange | HarEntry], *, keep_secrets: bool = False) -> bytes:
    """A HAR file's bytes. Secrets become placeholders unless they are to be kept."""
    return b"".join(har_pieces(exchanges, keep_secrets=keep_secrets))


def har_pieces(exchanges: Iterable[Exchange | HarEntry], *, keep_secrets: bool = False) -> Iterator[bytes]:
    """As write_har(), one exchange in memory at a time."""
    creator = msgspec.json.encode({"name": "llmdebug", "version": __version__})
    yield b'{"log": {"version": "1.2", "creator": ' + creator + b', "entries": ['
    comma = b"\n"
    for item in exchanges:
        exchange, comment = (item.exchange, item.comment) if isinstance(item, HarEntry) else (item, "")
        written = _written(exchange if keep_secrets else redact_exchange(exchange)[0], comment)
        yield comma + msgspec.json.format(msgspec.json.encode(written), indent=2)
        comma = b",\n"
    yield b"\n]}}\n"


def _entry(entry: Any, number: int, path: str) -> HarEntry:
    if not isinstance(entry, dict):
        raise FormatError(path, "The entry is no JSON object.", entry=number)
    request = _request(_object(entry.get("request")), number, path)
    raw_response = _object(entry.get("response"))
    timing = _timing(entry)
    response = _response(raw_response, timing, number, path)
    failure = _failure(entry, raw_response) if response is None else _stated_failure(entry)
    return HarEntry(
        exchange=Exchange(request=request, response=response, failure=failure, timing=timing),
        comment=_text(entry.get("comment")),
        number=number,
    )


def _request(raw: dict[str, Any], number: int, path: str) -> Request:
    url = raw.get("url")
    if not isinstance(url, str) or not url:
        raise FormatError(path, "The entry's request has no URL.", entry=number)
    headers = _headers(raw.get("headers"))
    data = _object(raw.get("postData"))
    body = _bytes(data.get("text"), data.get("encoding"), number, path)
    if not body and isinstance(data.get("params"), list):
        pairs = [(_text(_object(item).get("name")), _text(_object(item).get("value"))) for item in data["params"]]
        body = urlencode(pairs).encode()
    if body and data.get("mimeType") and header(headers, "Content-Type") is None:
        headers = (*headers, ("Content-Type", _text(data["mimeType"])))
    method = _text(raw.get("method")) or ("POST" if body else "GET")
    return Request(method=method, url=url, headers=headers, body=body, name=_text(raw.get("comment")))


def _response(raw: dict[str, Any], timing: Timing | None, number: int, path: str) -> Response | None:
    status = _whole(raw.get("status"))
    if not 100 <= status <= 999:
        return None
    content = _object(raw.get("content"))
    body = _bytes(content.get("text"), content.get("encoding"), number, path)
    headers = _headers(raw.get("headers"))
    if content.get("mimeType") and header(headers, "Content-Type") is None:
        headers = (*headers, ("Content-Type", _text(content["mimeType"])))
    at = timing.end if timing is not None and timing.end is not None else 0.0
    return Response(
        status=status,
        reason=_text(raw.get("statusText")),
        http_version=_text(raw.get("httpVersion")) or "HTTP/1.1",
        headers=headers,
        body=body,
        events=_events(header(headers, "Content-Type"), body, at),
    )


def _events(content_type: str | None, body: bytes, at: float) -> tuple[StreamEvent, ...]:
    """A HAR file does not tell when an event came: each counts as come with the last."""
    decoder = stream_decoder(content_type)
    return () if decoder is None else (*decoder.feed(body, at), *decoder.flush(at))


def _failure(entry: dict[str, Any], response: dict[str, Any]) -> Failure:
    told = _text(response.get("_error")) or _text(entry.get("_error"))
    stated = _stated_failure(entry)
    if stated is not None:
        return stated
    kind: FailureKind = next((kind for part, kind in _FAILURES if part in told.upper()), "reset")
    return Failure(kind=kind, message=f"The recording holds no answer ({told or 'it does not say why'}).")


def _stated_failure(entry: dict[str, Any]) -> Failure | None:
    """The failure as write_har() keeps it."""
    try:
        return msgspec.convert(entry.get("_failure"), Failure)
    except msgspec.ValidationError:
        return None


def _timing(entry: dict[str, Any]) -> Timing | None:
    started = _seconds_since_epoch(entry.get("startedDateTime"))
    if started is None:
        return None
    raw = _object(entry.get("timings"))
    before = sum(_milliseconds(raw.get(name)) for name in ("blocked", "dns"))
    connect = _milliseconds(raw.get("connect"))
    connected = (before + connect) / 1000 if raw.get("connect") not in (None, -1) else None
    sent = before + connect + _milliseconds(raw.get("send"))
    first_byte = (sent + _milliseconds(raw.get("wait"))) / 1000 if "wait" in raw else None
    total = _milliseconds(entry.get("time"))
    return Timing(
        started_at=started, connect=connected, first_byte=first_byte, end=total / 1000 if total else first_byte
    )


def _seconds_since_epoch(value: Any) -> float | None:
    try:
        moment = datetime.fromisoformat(_text(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _milliseconds(value: Any) -> float:
    """HAR writes -1 for what does not apply."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e12 else 0.0


def _headers(raw: Any) -> Headers:
    """Without the pseudo-headers of HTTP/2, which are no headers."""
    if not isinstance(raw, list):
        return ()
    pairs = ((_text(_object(item).get("name")), _text(_object(item).get("value"))) for item in raw)
    return tuple((name, value) for name, value in pairs if name and not name.startswith(":"))


def _bytes(text: Any, encoding: Any, number: int, path: str) -> bytes:
    raw = _text(text)
    if encoding != "base64":
        return raw.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(raw, validate=False)
    except (binascii.Error, ValueError) as error:
        raise FormatError(path, f"The entry's body is no base64: {error}.", entry=number) from None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def _written(exchange: Exchange, comment: str) -> dict[str, Any]:
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
    if comment:
        entry["comment"] = comment
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
