"""Streamed answers taken apart as they arrive: server-sent events and newline-delimited JSON.

The decoders do no I/O: `feed` takes bytes in any pieces and the time they arrived, and gives the events
that they complete; `flush` gives what was left when the stream ended or broke off.
"""

from __future__ import annotations

import re
from typing import Protocol

from llmdebug.http.exchange import StreamEvent

_BLANK_LINE = re.compile(rb"\n\r?\n|\n\r|\r\r\n?")
_TAIL_BYTES = 512
MAX_EVENT_BYTES = 16 * 1024 * 1024
"""An event or line that is longer is cut there; the response's body keeps it whole."""

_JSON_LINES = frozenset(
    {
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonl",
        "application/jsonlines",
        "application/x-jsonlines",
        "application/json-lines",
        "application/stream+json",
    }
)


class StreamDecoder(Protocol):
    """Makes events of bytes."""

    def feed(self, data: bytes, at: float) -> list[StreamEvent]: ...

    def flush(self, at: float) -> list[StreamEvent]: ...


class LineSplitter:
    """Cuts bytes into lines; never holds more than `limit` bytes of one line."""

    def __init__(self, line_end: bytes, limit: int = MAX_EVENT_BYTES) -> None:
        self._end = re.compile(line_end)
        self._limit = limit
        self._line = bytearray()
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        lines = []
        start = 0
        for match in self._end.finditer(data):
            self._take(data, start, match.start())
            lines.append(bytes(self._line))
            self._line.clear()
            start = match.end()
            self._after_cr = match[0] == b"\r" and start == len(data)
        self._take(data, start, len(data))
        return lines

    def flush(self) -> bytes:
        rest = bytes(self._line)
        self._line.clear()
        return rest

    def _take(self, data: bytes, start: int, end: int) -> None:
        room = self._limit - len(self._line)
        self._line += data[start : min(end, start + room)]


class SseDecoder:
    """Server-sent events, as the HTML standard defines them; ids and retry times are left out."""

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._lines = LineSplitter(rb"\r\n|\n|\r", limit)
        self._limit = limit
        self._first = True
        self._event = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, data: bytes, at: float) -> list[StreamEvent]:
        events = []
        for line in self._lines.feed(data):
            event = self._line(line, at)
            if event is not None:
                events.append(event)
        return events

    def flush(self, at: float) -> list[StreamEvent]:
        """The standard drops an event without its blank line; here what arrived is shown."""
        rest = self._lines.flush()
        if rest:
            self._line(rest, at)
        event = self._dispatch(at)
        return [] if event is None else [event]

    def _line(self, raw: bytes, at: float) -> StreamEvent | None:
        line = raw.decode("utf-8", "replace")
        if self._first:
            line = line.removeprefix("\ufeff")
            self._first = False
        if not line:
            return self._dispatch(at)
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and self._size <= self._limit:
            self._data.append(value)
            self._size += len(value)
        elif name == "event":
            self._event = value
        return None

    def _dispatch(self, at: float) -> StreamEvent | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        if not data:
            return None
        return StreamEvent(data="\n".join(data), event="" if event == "message" else event, at=at)


class JsonLinesDecoder:
    """One event for each line that is not blank."""

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._lines = LineSplitter(rb"\n", limit)

    def feed(self, data: bytes, at: float) -> list[StreamEvent]:
        return _line_events(self._lines.feed(data), at)

    def flush(self, at: float) -> list[StreamEvent]:
        return _line_events([self._lines.flush()], at)


def _line_events(lines: list[bytes], at: float) -> list[StreamEvent]:
    texts = (line.decode("utf-8", "replace").removeprefix("\ufeff").strip() for line in lines)
    return [StreamEvent(data=text, at=at) for text in texts if text]


def stream_decoder(content_type: str | None) -> StreamDecoder | None:
    """The decoder for the value of a Content-Type header; None for an answer that is no stream."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type == "text/event-stream":
        return SseDecoder()
    if media_type in _JSON_LINES:
        return JsonLinesDecoder()
    return None


def last_event(content_type: str | None, body: bytes) -> StreamEvent | None:
    """The last event of a stream that is all there, found from its end; None where there is none."""
    size = _TAIL_BYTES
    while True:
        decoder = stream_decoder(content_type)
        if decoder is None:
            return None
        whole = size >= len(body)
        tail = body if whole else body[-size:]
        if not whole:
            begin = _BLANK_LINE.search(tail) if isinstance(decoder, SseDecoder) else re.search(rb"\n", tail)
            tail = b"" if begin is None else tail[begin.end() :]
        events = [*decoder.feed(tail, 0.0), *decoder.flush(0.0)]
        if events or whole:
            return events[-1] if events else None
        size *= 8
