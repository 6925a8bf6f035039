"""HAR 1.2: what browsers, proxies and gateways record.

Reading is tolerant: an entry needs no more than a request with a URL. WebSocket messages are left out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.formats.foreign import is_binary, looks_like
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
from llmdebug.http.stream import stream_decoder
from llmdebug.jsontext.parse import JsonError, parse_json

MAX_HAR_BYTES = 2 * 1024 * 1024 * 1024
_HEAD = 1024 * 1024
_SHOWN = 60

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


def read_document(data: bytes, path: str) -> Any:
    """The JSON value of a HAR file. Raises FormatError."""
    try:
        return parse_json(data).value
    except JsonError as error:
        told = f" {looks_like(data[:_HEAD])}" if is_binary(data[:_HEAD]) else ""
        raise FormatError(path, f"This is no HAR file: {error.message}{told}", line=error.line) from None


def each_entry(document: Any, path: str) -> Iterator[Exchange | FormatError]:
    """The entries of a HAR file's JSON value; one that cannot be read is given as its error. Raises FormatError."""
    entries = _object(_object(document).get("log")).get("entries")
    if not isinstance(entries, list):
        head = msgspec.json.encode(document)[:_HEAD]
        raise FormatError(path, f"This is no HAR file: it has no list at /log/entries. {looks_like(head)}")
    for number, entry in enumerate(entries, start=1):
        try:
            yield _entry(entry, number, path)
        except FormatError as error:
            yield error


def _entry(entry: Any, number: int, path: str) -> Exchange:
    if not isinstance(entry, dict):
        raise FormatError(path, "The entry is no JSON object.", entry=number)
    request = _request(_object(entry.get("request")), number, path)
    raw_response = _part(entry, "response", number, path)
    timing = _timing(entry)
    response = _response(raw_response, timing, number, path)
    failure = _failure(entry, raw_response) if response is None else _stated_failure(entry)
    name = request.name or _text(entry.get("comment"))
    return Exchange(
        request=msgspec.structs.replace(request, name=name), response=response, failure=failure, timing=timing
    )


def _request(raw: dict[str, Any], number: int, path: str) -> Request:
    url = raw.get("url")
    if not isinstance(url, str) or not url:
        raise FormatError(path, "The entry's request has no URL.", entry=number)
    headers = _headers(raw.get("headers"), number, path)
    data = _part(raw, "postData", number, path)
    body = _bytes(data.get("text"), data.get("encoding"), number, path)
    if not body and isinstance(data.get("params"), list):
        pairs = [(_text(_object(item).get("name")), _text(_object(item).get("value"))) for item in data["params"]]
        body = urlencode(pairs).encode()
    if body and data.get("mimeType") and header(headers, "Content-Type") is None:
        headers = (*headers, ("Content-Type", _text(data["mimeType"])))
    method = raw.get("method") or ("POST" if body else "GET")
    if not isinstance(method, str):
        raise FormatError(path, f"The method {repr(method)[:_SHOWN]} is no text.", entry=number)
    return Request(method=method, url=url, headers=headers, body=body, name=_text(raw.get("comment")))


def _response(raw: dict[str, Any], timing: Timing | None, number: int, path: str) -> Response | None:
    status = _status(raw.get("status"), number, path)
    if status is None:
        return None
    content = _part(raw, "content", number, path)
    body = _bytes(content.get("text"), content.get("encoding"), number, path)
    headers = _headers(raw.get("headers"), number, path)
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
    """The failure as har_pieces() keeps it."""
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


def _headers(raw: Any, number: int, path: str) -> Headers:
    """Without the pseudo-headers of HTTP/2, which are no headers."""
    if raw is not None and not isinstance(raw, list):
        raise FormatError(path, "The entry's headers are no list of names and values.", entry=number)
    if not raw:
        return ()
    pairs = ((_text(_object(item).get("name")), _text(_object(item).get("value"))) for item in raw)
    return tuple((name, value) for name, value in pairs if name and not name.startswith(":"))


def _bytes(text: Any, encoding: Any, number: int, path: str) -> bytes:
    if isinstance(text, dict | list):
        raise FormatError(path, "The entry's body is JSON where its text should stand.", entry=number)
    raw = _text(text)
    if encoding != "base64":
        return raw.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode("".join(raw.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise FormatError(path, f"The entry's body is no base64: {error}.", entry=number) from None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _part(value: dict[str, Any], name: str, number: int, path: str) -> dict[str, Any]:
    """An object inside an entry; an empty one where there is none."""
    found = value.get(name)
    if found is not None and not isinstance(found, dict):
        raise FormatError(path, f"The entry's {name} is no JSON object.", entry=number)
    return found or {}


def _status(value: Any, number: int, path: str) -> int | None:
    """None where no answer came: HAR writes 0, some writers -1 or nothing."""
    if value is None or value in (0, -1, "", "0"):
        return None
    status = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else value
    if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 999:
        raise FormatError(path, f"The status {repr(value)[:_SHOWN]} is none that HTTP has.", entry=number)
    return status
