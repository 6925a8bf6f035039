"""What has arrived of an answer so far, kept so that nothing of it is lost when the rest does not come."""

from __future__ import annotations

from collections.abc import Iterator

from llmdebug.http.encoding import ContentDecoder, IdentityDecoder, content_decoder
from llmdebug.http.exchange import Exchange, Failure, Headers, Request, Response, StreamEvent, Timing, header
from llmdebug.http.stream import StreamDecoder, stream_decoder

STEP_BYTES = 16_384
"""Taken at once: of the shortest events that is done in a few milliseconds."""


class Arrival:
    """Gathers one answer. Times are seconds from the start of the exchange."""

    def __init__(self, request: Request, *, started_at: float, max_body_bytes: int) -> None:
        self._request = request
        self._started_at = started_at
        self._max_body_bytes = max_body_bytes
        self._status: int | None = None
        self._reason = ""
        self._http_version = "HTTP/1.1"
        self._headers: Headers = ()
        self._content: ContentDecoder = IdentityDecoder()
        self._stream: StreamDecoder | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._events: list[StreamEvent] = []
        self.connect: float | None = None
        self.first_byte: float | None = None
        self.end: float | None = None

    @property
    def answered(self) -> bool:
        """Whether a status line and headers have come."""
        return self._status is not None

    @property
    def size(self) -> int:
        """Bytes of the decoded body so far."""
        return self._size

    def head(self, status: int, reason: str, http_version: str, headers: Headers, *, at: float) -> None:
        self._status, self._reason, self._http_version, self._headers = status, reason, http_version, headers
        self._content = content_decoder(header(headers, "Content-Encoding"))
        self._stream = stream_decoder(header(headers, "Content-Type"))
        self.first_byte = at

    def data(self, wire_bytes: bytes, *, at: float) -> Iterator[list[StreamEvent]]:
        """Takes a piece of the body in small steps, however much it decodes to; gives the events of each."""
        decoded = memoryview(self._content.feed(wire_bytes))
        for start in range(0, len(decoded), STEP_BYTES):
            yield self._add(bytes(decoded[start : start + STEP_BYTES]), at)

    def finish(self, *, at: float) -> list[StreamEvent]:
        """The body has come to its end, or to the end of what will come."""
        self.end = at
        events = self._add(self._content.flush(), at)
        if self._stream is not None:
            rest = self._stream.flush(at)
            self._events += rest
            events += rest
        return events

    @property
    def too_large(self) -> bool:
        return self._size > self._max_body_bytes

    @property
    def damaged(self) -> bool:
        """Whether the body's gzip or deflate coding broke off or is not in order."""
        return self._content.damaged

    def exchange(self, failure: Failure | None = None) -> Exchange:
        """The exchange as it stands now."""
        response = None
        if self._status is not None:
            response = Response(
                status=self._status,
                reason=self._reason,
                http_version=self._http_version,
                headers=self._headers,
                body=b"".join(self._pieces),
                events=tuple(self._events),
            )
        timing = Timing(started_at=self._started_at, connect=self.connect, first_byte=self.first_byte, end=self.end)
        return Exchange(request=self._request, response=response, failure=failure, timing=timing)

    def _add(self, data: bytes, at: float) -> list[StreamEvent]:
        room = self._max_body_bytes - self._size
        self._size += len(data)
        kept = data if len(data) <= room else data[: max(room, 0)]
        if kept:
            self._pieces.append(kept)
        if self._stream is None:
            return []
        events = self._stream.feed(kept, at)
        self._events += events
        return events
