"""A recording in JSON Lines, read by the places of its lines: a file of any size costs some bytes an exchange.

A request that a replay sent again, since it was killed before it was answered, is there once.
A line that is no record (a crash tore it) is passed over and told in `warnings`; a file whose first line is
none is no recording.
"""

from __future__ import annotations

import os
import weakref
from array import array
from collections.abc import Iterator
from math import isnan, nan
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.formats.exchanges import Progress, Row, Stream, stand_in
from llmdebug.formats.jsonlines import (
    AnswerRecord,
    Body,
    NoteRecord,
    Record,
    RecordError,
    RequestRecord,
    bytes_of,
    decode_record,
    exchange_of,
)
from llmdebug.formats.recordparts import (
    Line,
    RequestHead,
    answer_body,
    answer_part,
    line_decoder,
    request_body,
    stream_part,
)
from llmdebug.formats.resent import NOTE, Step, sent_again
from llmdebug.http.exchange import Exchange, Request, Response, header
from llmdebug.http.stream import last_event
from llmdebug.http.wire import unsendable

_TOLD_EVERY = 16 * 1024 * 1024
_MOST_WARNINGS = 3
_IN_BASE64 = b'"base64":"'
_SEARCHED = 4 * 1024 * 1024
_COLUMNS = (
    "_request_at",
    "_request_size",
    "_answer_at",
    "_answer_size",
    "_status",
    "_started",
    "_latency",
    "_ttft",
)
"""Arrays with a value for each exchange."""


Part = TypeVar("Part")


class RecordedLines:
    """Opening reads the whole file once, without keeping it: off an event loop."""

    format = "jsonl"

    def __init__(self, path: str | Path, *, shown: str = "", progress: Progress | None = None) -> None:
        """The file may be taken away when it was opened; messages call it `shown`. Raises FormatError."""
        self.path = shown or str(path)
        self.ids: list[str] = []
        self._requests: list[tuple[str, str, str]] = []
        self._shared: dict[tuple[str, str, str], tuple[str, str, str]] = {}
        self._unsendable: set[tuple[str, str, str]] = set()
        self._request_at, self._request_size = array("Q"), array("I")
        self._answer_at, self._answer_size = array("Q"), array("I")
        """0 where there is none: an answer never stands first."""
        self._status = array("H")
        self._started, self._latency, self._ttft = array("d"), array("f"), array("f")
        self._failures: dict[int, str] = {}
        self._notes: dict[str, dict[int, tuple[int, int]]] = {}
        self._numbers: dict[str, int] = {}
        self._damaged: list[int] = []
        try:
            self._number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._number)
            with open(path, "rb") as file:
                self._index(file, progress)
        except OSError as error:
            raise FormatError(self.path, f"The file cannot be read: {error.strerror}.") from None
        self._drop(sent_again(self.noted(NOTE), self.answered, self._step_of))
        self.warnings = self._told_damage()

    def __len__(self) -> int:
        return len(self._request_at)

    def row(self, number: int) -> Row:
        key = self._requests[number]
        method, url, name = key
        failure = self._failures.get(number, "")
        if not failure and not self._status[number] and key in self._unsendable:
            failure = "bad_request"
        return Row(
            method=method,
            url=url,
            name=name,
            status=self._status[number] or None,
            latency=_time(self._latency[number]),
            ttft=_time(self._ttft[number]),
            started_at=_time(self._started[number]),
            failure=failure,
        )

    def exchange(self, number: int) -> Exchange:
        """One whose records hold what they may not comes as a stand-in. Raises FormatError for a changed file."""
        try:
            return self._exchange(number)
        except RecordError as error:
            return stand_in(self._told(number, error))

    def problem(self, number: int) -> str:
        try:
            told = unsendable(self._exchange(number).request)
        except RecordError as error:
            return self._told(number, error)
        return self._told(number, told) if told else ""

    def _exchange(self, number: int) -> Exchange:
        """Raises RecordError, FormatError."""
        request = self._record(self._request_at[number], self._request_size[number])
        answer = self._record(self._answer_at[number], self._answer_size[number]) if self.answered(number) else None
        if not isinstance(request, RequestRecord) or not isinstance(answer, AnswerRecord | None):
            raise FormatError(self.path, "The file changed while it was read.")
        return exchange_of(request, answer)

    def _told(self, number: int, why: object) -> str:
        return str(FormatError(self.path, str(why), entry=number + 1))

    def request_text(self, number: int) -> str:
        return _text(self._part(request_body, self._request_at[number], self._request_size[number]).request.body)

    def answer_text(self, number: int) -> str | None:
        if not self._status[number]:
            return None
        return _text(self._part(answer_body, self._answer_at[number], self._answer_size[number]).response.body)

    def answer(self, number: int) -> Response | None:
        if not self._status[number]:
            return None
        found = self._part(answer_part, self._answer_at[number], self._answer_size[number]).response
        if found is None:
            return None
        return Response(status=found.status, headers=found.headers, body=_bytes(found.body))

    def stream(self, number: int) -> Stream:
        if not self._status[number]:
            return Stream()
        found = self._part(stream_part, self._answer_at[number], self._answer_size[number]).response
        if not found.event_times:
            return Stream()
        last = last_event(header(found.headers, "Content-Type"), _bytes(found.body))
        return Stream() if last is None else Stream(count=len(found.event_times), last=last.data)

    def _part(self, decoder: msgspec.json.Decoder[Part], offset: int, size: int) -> Part:
        try:
            return decoder.decode(self._line(offset, size))
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            raise FormatError(self.path, f"The line at byte {offset} is no record: {error}.") from None

    def answered(self, number: int) -> bool:
        """Whether its answer, or its failure, was recorded."""
        return self._answer_at[number] != 0

    def note(self, number: int, name: str) -> Any:
        place = self._notes.get(name, {}).get(number)
        if place is None:
            return None
        try:
            record = self._record(*place)
        except RecordError:
            return None
        return record.value if isinstance(record, NoteRecord) else None

    def noted(self, name: str) -> list[int]:
        """The exchanges that have a note of this name."""
        return sorted(self._notes.get(name, {}))

    def _step_of(self, number: int) -> Step | None:
        try:
            return msgspec.convert(self.note(number, NOTE), Step)
        except (msgspec.ValidationError, FormatError):
            return None

    def _drop(self, gone: frozenset[int]) -> None:
        """Takes exchanges out of the index."""
        if not gone:
            return
        kept = [number for number in range(len(self)) if number not in gone]
        places = {number: place for place, number in enumerate(kept)}
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, [column[number] for number in kept]))
        self.ids = [self.ids[number] for number in kept]
        self._requests = [self._requests[number] for number in kept]
        self._numbers = {name: place for place, name in enumerate(self.ids)}
        self._failures = {places[number]: kind for number, kind in self._failures.items() if number in places}
        self._notes = {
            name: {places[number]: place for number, place in noted.items() if number in places}
            for name, noted in self._notes.items()
        }

    def holding(self, text: str) -> list[int] | None:
        """The exchanges whose lines hold this text; None where only reading each of them can tell.

        Records are written without needless escapes, so a text of plain ASCII stands in them as it is; those whose
        bytes are no text are among the found.
        """
        if not text.isascii() or not text.isprintable() or set(text) & {'"', "\\"}:
            return None
        places = sorted(
            [(at, number) for number, at in enumerate(self._request_at)]
            + [(at, number) for number, at in enumerate(self._answer_at) if at]
        )
        return _numbers_at(places, self._found(text.encode(), _IN_BASE64))

    def _found(self, *wanted: bytes) -> list[int]:
        """Offsets of these texts in the file, one for each text and line at least, in order."""
        found: list[int] = []
        longest = max(len(text) for text in wanted)
        start, kept = 0, b""
        while piece := os.pread(self._number, _SEARCHED, start + len(kept)):
            data = kept + piece
            for text in wanted:
                found += [start + at for at in _places(data, text)]
            kept = data[max(len(data) - longest + 1, 0) :]
            start += len(data) - len(kept)
        return sorted(found)

    def _index(self, file: BinaryIO, progress: Progress | None) -> None:
        size = os.fstat(file.fileno()).st_size
        offset, told = 0, 0
        for number, line in enumerate(file, start=1):
            self._take(line, offset, number)
            offset += len(line)
            if progress is not None and offset - told >= _TOLD_EVERY:
                told = offset
                progress(offset, size)

    def _take(self, line: bytes, offset: int, number: int) -> None:
        try:
            found = line_decoder.decode(line)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            if line.strip():
                self._damage(number, error)
            return
        if found.record == "request" and found.request is not None:
            self._add(found, found.request, offset, len(line))
            return
        place = self._numbers.get(found.id)
        if place is None:
            return
        if found.record == "note":
            self._notes.setdefault(found.name, {})[place] = (offset, len(line))
        elif found.record == "answer":
            self._answer(found, place, offset, len(line))

    def _damage(self, number: int, why: Exception) -> None:
        if not self.ids and not self._damaged:
            raise FormatError(self.path, f"This line is no record of llmdebug: {why}.", line=number)
        self._damaged.append(number)

    def _add(self, found: Line, request: RequestHead, offset: int, size: int) -> None:
        self._numbers[found.id] = len(self.ids)
        self.ids.append(found.id)
        key = (request.method, request.url, request.name)
        if key not in self._shared:
            self._shared[key] = key
            if unsendable(Request(method=request.method, url=request.url)):
                self._unsendable.add(key)
        self._requests.append(self._shared[key])
        self._request_at.append(offset)
        self._request_size.append(size)
        self._answer_at.append(0)
        self._answer_size.append(0)
        self._status.append(0)
        self._started.append(nan if found.at is None else found.at)
        self._latency.append(nan)
        self._ttft.append(nan)

    def _answer(self, found: Line, place: int, offset: int, size: int) -> None:
        self._answer_at[place], self._answer_size[place] = offset, size
        if found.response is not None and 0 <= found.response.status <= 0xFFFF:
            self._status[place] = found.response.status
        if found.failure is not None:
            self._failures[place] = found.failure.kind
        timing = found.timing
        if timing is not None:
            self._started[place] = timing.started_at
            self._latency[place] = nan if timing.end is None else timing.end
            self._ttft[place] = nan if timing.first_byte is None else timing.first_byte

    def _record(self, offset: int, size: int) -> Record:
        """Raises RecordError, FormatError."""
        return decode_record(self._line(offset, size))

    def _line(self, offset: int, size: int) -> bytes:
        try:
            line = os.pread(self._number, size, offset)
        except OSError as error:
            raise FormatError(self.path, f"The file cannot be read: {error.strerror}.") from None
        if len(line) < size:
            raise FormatError(self.path, "The file changed while it was read.")
        return line

    def _told_damage(self) -> tuple[str, ...]:
        shown = [f"{self.path}:{line}: this line is damaged; it is passed over." for line in self._damaged]
        more = len(shown) - _MOST_WARNINGS
        return (*shown[:_MOST_WARNINGS], *([f"{self.path}: {more:,} more damaged lines."] if more > 0 else []))


def _places(data: bytes, text: bytes) -> Iterator[int]:
    """Where a text stands, once a line."""
    at = data.find(text)
    while at != -1:
        yield at
        line_end = data.find(b"\n", at)
        at = -1 if line_end == -1 else data.find(text, line_end)


def _text(body: Body) -> str:
    return body.text if not body.base64 else _bytes(body).decode("utf-8", "replace")


def _bytes(body: Body) -> bytes:
    """For a search: base64 that is none holds nothing."""
    try:
        return bytes_of(body)
    except RecordError:
        return b""


def _time(value: float) -> float | None:
    return None if isnan(value) else value


def _numbers_at(places: list[tuple[int, int]], found: list[int]) -> list[int]:
    """The exchanges whose lines, which begin at `places`, hold the offsets `found`; both in order."""
    numbers: set[int] = set()
    at = 0
    for offset in found:
        while at + 1 < len(places) and places[at + 1][0] <= offset:
            at += 1
        numbers.add(places[at][1])
    return sorted(numbers)
