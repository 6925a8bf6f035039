"""llmdebug's own recording: JSON Lines, three kinds of record, each with the id of its exchange.

A `request` is written before it is sent, an `answer` after; so a request whose answer never got written
stands alone. A `note` is a named JSON value beside an exchange.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from llmdebug.http.exchange import Exchange, Failure, Headers, Request, Response, StreamEvent, Timing, header
from llmdebug.http.stream import stream_decoder


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Bytes as text where they are UTF-8, else in base64."""

    text: str = ""
    base64: str = ""


class WrittenRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    method: str
    url: str
    headers: Headers = ()
    body: Body = Body()
    name: str = ""


class WrittenResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    status: int
    reason: str = ""
    http_version: str = "HTTP/1.1"
    headers: Headers = ()
    body: Body = Body()
    event_times: tuple[float, ...] = ()
    """When each event of a stream came; the events themselves are read from the body again."""


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="request"):
    """What is about to be sent, at Unix time `at`."""

    id: str
    at: float
    request: WrittenRequest


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="answer", omit_defaults=True):
    """What came back."""

    id: str
    sent_url: str | None = None
    sent_headers: Headers | None = None
    """As they went over the wire, where they differ from the request record's."""
    response: WrittenResponse | None = None
    failure: Failure | None = None
    timing: Timing | None = None


class NoteRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="note"):
    id: str
    name: str
    at: float
    value: Any


Record = RequestRecord | AnswerRecord | NoteRecord

_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class RecordError(ValueError):
    """A line is no record; the message says why."""


def decode_record(line: bytes) -> Record:
    """Raises RecordError."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise RecordError(str(error) or "nested too deeply") from None


def encode_record(record: Record) -> bytes:
    """One line, its line feed included. Raises RecordError for a note that is no JSON."""
    try:
        return msgspec.json.encode(record) + b"\n"
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as error:
        raise RecordError(str(error)) from error


def written_request(request: Request) -> WrittenRequest:
    return WrittenRequest(
        method=_clean(request.method),
        url=_clean(request.url),
        headers=_clean_headers(request.headers),
        body=_body(request.body),
        name=_clean(request.name),
    )


def answer_record(exchange_id: str, exchange: Exchange, written: WrittenRequest) -> AnswerRecord:
    """`written` is the request as its own record has it."""
    sent = exchange.request
    headers = _clean_headers(sent.headers)
    return AnswerRecord(
        id=exchange_id,
        sent_url=_clean(sent.url) if sent.url != written.url else None,
        sent_headers=headers if headers != written.headers else None,
        response=None if exchange.response is None else _written_response(exchange.response),
        failure=exchange.failure,
        timing=exchange.timing,
    )


def exchange_of(request: RequestRecord, answer: AnswerRecord | None) -> Exchange:
    """Without an answer, an exchange that holds the request and when it was to be sent.

    Raises RecordError for a body whose base64 is none.
    """
    written = request.request
    sent = Request(
        method=written.method,
        url=written.url,
        headers=written.headers,
        body=bytes_of(written.body),
        name=written.name,
    )
    if answer is None:
        return Exchange(request=sent, timing=Timing(started_at=request.at))
    if answer.sent_url is not None:
        sent = msgspec.structs.replace(sent, url=answer.sent_url)
    if answer.sent_headers is not None:
        sent = msgspec.structs.replace(sent, headers=answer.sent_headers)
    return Exchange(
        request=sent,
        response=None if answer.response is None else _response(answer.response),
        failure=answer.failure,
        timing=answer.timing or Timing(started_at=request.at),
    )


def _written_response(response: Response) -> WrittenResponse:
    return WrittenResponse(
        status=response.status,
        reason=_clean(response.reason),
        http_version=response.http_version,
        headers=_clean_headers(response.headers),
        body=_body(response.body),
        event_times=tuple(round(event.at, 6) for event in response.events),
    )


def _response(written: WrittenResponse) -> Response:
    body = bytes_of(written.body)
    return Response(
        status=written.status,
        reason=written.reason,
        http_version=written.http_version,
        headers=written.headers,
        body=body,
        events=_events(written, body),
    )


def _events(written: WrittenResponse, body: bytes) -> tuple[StreamEvent, ...]:
    decoder = stream_decoder(header(written.headers, "Content-Type"))
    if decoder is None or not written.event_times:
        return ()
    times = written.event_times
    events = [*decoder.feed(body, times[-1]), *decoder.flush(times[-1])]
    return tuple(
        msgspec.structs.replace(event, at=times[min(place, len(times) - 1)]) for place, event in enumerate(events)
    )


def _body(data: bytes) -> Body:
    try:
        return Body(text=data.decode("utf-8"))
    except UnicodeDecodeError:
        return Body(base64=base64.b64encode(data).decode("ascii"))


def bytes_of(body: Body) -> bytes:
    """What a body holds. Raises RecordError for base64 that is none."""
    if not body.base64:
        return body.text.encode("utf-8")
    try:
        return base64.b64decode(body.base64, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordError(f"its body is no base64: {error}") from None


def _clean(text: str) -> str:
    """JSON cannot hold a lone surrogate."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _clean_headers(headers: Headers) -> Headers:
    return tuple((_clean(name), _clean(value)) for name, value in headers)
