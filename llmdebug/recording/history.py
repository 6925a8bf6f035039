"""The history: every exchange, in one file of JSON Lines that is only ever appended to.

A request is on disk before it is sent and its answer before anybody hears of it, so a crash, a full disk or
SIGKILL loses nothing that was told. A line that a crash tore stays where it is, is ended by the next
writer, and is passed over by readers, who name it in `damaged`. Several processes may append at once.
All calls do file I/O and wait for the disk: keep them off an event loop.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from llmdebug.formats.jsonlines import (
    AnswerRecord,
    NoteRecord,
    Record,
    RecordError,
    RequestRecord,
    WrittenRequest,
    answer_record,
    decode_record,
    encode_record,
    exchange_of,
    written_request,
)
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.secrets import redact, redact_exchange
from llmdebug.recording import trimming
from llmdebug.recording.folder import HistoryError, created, state_folder, sync_folder, unusable

__all__ = ["Entry", "History", "HistoryError", "Recorded"]

FILE_NAME = "history.jsonl"


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """An exchange as the history has it, with its notes."""

    id: str
    exchange: Exchange
    answered: bool
    """Whether an answer, or its failure, was recorded; if not, the program ended while it waited."""
    notes: dict[str, Any] = {}
    """By name; of several notes of one name, the last."""


class Entry(msgspec.Struct, kw_only=True):
    """Where an exchange stands in the file: byte offsets of its lines."""

    id: str
    request: int
    answer: int | None = None
    notes: list[int] = []


class _Head(msgspec.Struct, frozen=True):
    """What the index needs of a line."""

    id: str
    record: str


_head_decoder = msgspec.json.Decoder(_Head)


class History:
    """One history file. Opening raises HistoryError where none can be kept."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        file: Path | None = None,
        known_secrets: Mapping[str, str] | None = None,
        limit_bytes: int = 0,
    ) -> None:
        """In the user's state folder, in `folder`, or in the very `file`.

        Over `limit_bytes` the oldest exchanges are dropped first, where nobody else has the file open; 0 keeps all.

        `known_secrets` are secrets that have a name already, as `{"OPENAI_API_KEY": "sk-…"}`.
        """
        self._is_named = file is not None
        self.path = file if file is not None else (created(folder) if folder else state_folder()) / FILE_NAME
        self.damaged: tuple[int, ...] = ()
        """Byte offsets of the lines that the last read passed over."""
        self._secrets: dict[str, str] = dict(known_secrets or {})
        self._written: dict[str, WrittenRequest] = {}
        self._entries: dict[str, Entry] = {}
        """Of what this object recorded."""
        self._lock = threading.Lock()
        """Between threads; the lock on the file holds between processes only."""
        self.dropped_bytes = 0
        """What was dropped to keep within the limit."""
        self._trimming = -1
        if limit_bytes:
            self._trimming, self.dropped_bytes = trimming.opened(self.path, limit_bytes)
        self._number = self._open()

    def close(self) -> None:
        if self._number != -1:
            os.close(self._number)
            self._number = -1
        if self._trimming != -1:
            os.close(self._trimming)
            self._trimming = -1

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def secrets(self) -> dict[str, str]:
        """The secrets that were taken out of what this object recorded, by name; never on disk."""
        return dict(self._secrets)

    def begin(self, request: Request, notes: Mapping[str, Any] | None = None) -> str:
        """Records a request that is about to be sent, and notes beside it; gives the exchange's id.

        Raises HistoryError.
        """
        clean, found = redact(request, self._secrets)
        self._secrets.update(found)
        written = written_request(clean)
        exchange_id = uuid.uuid4().hex
        now = time.time()
        beside = [NoteRecord(id=exchange_id, name=name, at=now, value=value) for name, value in (notes or {}).items()]
        offset = self._append(RequestRecord(id=exchange_id, at=now, request=written), *beside)
        self._written[exchange_id] = written
        self._entries[exchange_id] = Entry(id=exchange_id, request=offset)
        return exchange_id

    def finish(self, exchange_id: str, exchange: Exchange) -> None:
        """Records what came back for a request that begin() recorded. Raises HistoryError."""
        clean, found = redact_exchange(exchange, self._secrets)
        self._secrets.update(found)
        written = self._written.pop(exchange_id, None) or self._find(exchange_id)
        offset = self._append(answer_record(exchange_id, clean, written))
        if exchange_id in self._entries:
            self._entries[exchange_id].answer = offset

    def record(self, exchange: Exchange) -> str:
        """Records an exchange that is over; gives its id. Raises HistoryError."""
        exchange_id = self.begin(exchange.request)
        self.finish(exchange_id, exchange)
        return exchange_id

    def note(self, exchange_id: str, name: str, value: Any) -> None:
        """Puts a JSON value beside an exchange; structs become objects. Raises HistoryError."""
        self._append(NoteRecord(id=exchange_id, name=name, at=time.time(), value=value))

    def index(self) -> list[Entry]:
        """Where each exchange stands, oldest first; holds no exchange in memory. Raises HistoryError."""
        entries: dict[str, Entry] = {}
        damaged = []
        for offset, line in self._lines():
            try:
                head = _head_decoder.decode(line)
            except (msgspec.DecodeError, RecursionError, ValueError):
                damaged.append(offset)
                continue
            if head.record == "request":
                entries[head.id] = Entry(id=head.id, request=offset, notes=[])
            elif head.id in entries and head.record == "answer":
                entries[head.id].answer = offset
            elif head.id in entries and head.record == "note":
                entries[head.id].notes.append(offset)
        self.damaged = tuple(damaged)
        return list(entries.values())

    def read(self, entry: Entry) -> Recorded:
        """Raises HistoryError for an entry that is not of this file."""
        with self._reading() as file:
            return self._recorded(file, entry)

    def get(self, exchange_id: str) -> Recorded | None:
        """An exchange by its id."""
        entry = next((entry for entry in self.index() if entry.id == exchange_id), None)
        return None if entry is None else self.read(entry)

    def own(self, exchange_id: str) -> Exchange | None:
        """An exchange that this object recorded, found without reading the file through. Raises HistoryError."""
        entry = self._entries.get(exchange_id)
        return None if entry is None else self.read(entry).exchange

    def __iter__(self) -> Iterator[Recorded]:
        """Every exchange, oldest first, one in memory at a time."""
        entries = self.index()
        with self._reading() as file:
            for entry in entries:
                yield self._recorded(file, entry)

    def _unusable(self, error: OSError) -> HistoryError:
        if self._is_named:
            return HistoryError(f"{self.path} cannot be used: {error.strerror or error}. Name another file.")
        return unusable(self.path, error)

    def _open(self) -> int:
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            number = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise self._unusable(error) from error
        with suppress(OSError):
            os.fchmod(number, 0o600)
        if is_new:
            sync_folder(self.path.parent)
        return number

    def _append(self, *records: Record) -> int:
        """All at once; gives the byte offset of the first."""
        try:
            lines = b"".join(encode_record(record) for record in records)
        except RecordError as error:
            raise HistoryError(f"This cannot be kept in the history: {error}.") from error
        with self._lock:
            return self._append_lines(lines)

    def _append_lines(self, lines: bytes) -> int:
        if self._number == -1:
            raise HistoryError(f"The history {self.path} is closed.")
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX)
            try:
                torn = self._is_torn()
                size = os.fstat(self._number).st_size
                self._write_or_nothing(b"\n" + lines if torn else lines, size)
                return size + torn
            finally:
                fcntl.flock(self._number, fcntl.LOCK_UN)
        except OSError as error:
            raise self._unusable(error) from error

    def _write_or_nothing(self, lines: bytes, size: int) -> None:
        """What a full disk took half of is taken away again. Raises OSError."""
        try:
            _write_all(self._number, lines)
            os.fsync(self._number)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._number, size)
            raise

    def _is_torn(self) -> bool:
        """Whether somebody died in the middle of the last line."""
        size = os.fstat(self._number).st_size
        return size > 0 and os.pread(self._number, 1, size - 1) != b"\n"

    def _reading(self) -> BinaryIO:
        try:
            return open(self.path, "rb")
        except OSError as error:
            raise self._unusable(error) from error

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        with self._reading() as file:
            offset = 0
            for line in file:
                if line.strip():
                    yield offset, line
                offset += len(line)

    def _recorded(self, file: BinaryIO, entry: Entry) -> Recorded:
        request = self._record_at(file, entry.request)
        answer = None if entry.answer is None else self._record_at(file, entry.answer)
        notes = [self._record_at(file, offset) for offset in entry.notes]
        if not isinstance(request, RequestRecord) or not isinstance(answer, AnswerRecord | None):
            raise HistoryError(f"{self.path} changed while it was read.")
        try:
            exchange = exchange_of(request, answer)
        except RecordError as error:
            raise HistoryError(f"{self.path}: the line at byte {entry.request} is damaged: {error}.") from error
        return Recorded(
            id=entry.id,
            exchange=exchange,
            answered=answer is not None,
            notes={note.name: note.value for note in notes if isinstance(note, NoteRecord)},
        )

    def _record_at(self, file: BinaryIO, offset: int) -> Record:
        file.seek(offset)
        try:
            return decode_record(file.readline())
        except RecordError as error:
            raise HistoryError(f"{self.path}: the line at byte {offset} is damaged: {error}.") from error

    def _find(self, exchange_id: str) -> WrittenRequest:
        recorded = self.get(exchange_id)
        if recorded is None:
            raise HistoryError(f"The history has no request {exchange_id}.")
        return written_request(recorded.exchange.request)


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]
