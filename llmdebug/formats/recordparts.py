"""Parts of records: a list of 100,000 decodes of each line only what it is asked for."""

from __future__ import annotations

import msgspec

from llmdebug.formats.jsonlines import Body
from llmdebug.http.exchange import Headers


class RequestHead(msgspec.Struct):
    method: str
    url: str
    name: str = ""


class ResponseHead(msgspec.Struct):
    status: int


class FailureKindOnly(msgspec.Struct):
    kind: str


class Times(msgspec.Struct):
    started_at: float
    end: float | None = None
    first_byte: float | None = None


class Line(msgspec.Struct):
    """What a row needs of a record of any kind; bodies are passed over."""

    record: str
    id: str
    at: float | None = None
    name: str = ""
    request: RequestHead | None = None
    response: ResponseHead | None = None
    failure: FailureKindOnly | None = None
    timing: Times | None = None


class BodyOnly(msgspec.Struct, frozen=True):
    body: Body = Body()


class RequestBody(msgspec.Struct):
    """What a search in bodies needs of a request's record."""

    request: BodyOnly = BodyOnly()


class AnswerBody(msgspec.Struct):
    response: BodyOnly = BodyOnly()


class Answered(msgspec.Struct):
    status: int
    headers: Headers = ()
    body: Body = Body()


class StreamedBody(msgspec.Struct, frozen=True):
    headers: Headers = ()
    body: Body = Body()
    event_times: tuple[float, ...] = ()


class StreamPart(msgspec.Struct):
    """What is asked of a stream without reading its events."""

    response: StreamedBody = StreamedBody()


class AnswerPart(msgspec.Struct):
    """What an outcome needs of an answer's record."""

    response: Answered | None = None


line_decoder = msgspec.json.Decoder(Line)
request_body = msgspec.json.Decoder(RequestBody)
answer_body = msgspec.json.Decoder(AnswerBody)
stream_part = msgspec.json.Decoder(StreamPart)
answer_part = msgspec.json.Decoder(AnswerPart)
