"""Exchanges from a file, whatever it is: a HAR file, or llmdebug's own recording."""

from __future__ import annotations

from pathlib import Path

from llmdebug.formats.errors import FormatError, read_file
from llmdebug.formats.har import MAX_HAR_BYTES, entries_of
from llmdebug.formats.jsonlines import (
    AnswerRecord,
    NoteRecord,
    RecordError,
    RequestRecord,
    decode_record,
    exchange_of,
)
from llmdebug.http.exchange import Exchange
from llmdebug.jsontext.parse import JsonError, parse_json


def load_exchanges(source: str | Path | bytes) -> list[Exchange]:
    """From a path or a file's bytes, in the file's order. Raises FormatError."""
    path = "" if isinstance(source, bytes) else str(source)
    data = source if isinstance(source, bytes) else read_file(source, MAX_HAR_BYTES)
    if not data.strip():
        raise FormatError(path, "The file is empty.")
    if is_recording(data):
        return _recorded(data, path)
    try:
        document = parse_json(data).value
    except JsonError as error:
        told = f"This is neither a HAR file nor a recording of llmdebug: {error.message}"
        raise FormatError(path, told, line=error.line) from None
    return [entry.exchange for entry in entries_of(document, path)]


def is_recording(data: bytes) -> bool:
    """Whether a file's bytes begin as a recording of llmdebug."""
    first = data.lstrip().partition(b"\n")[0]
    try:
        decode_record(first)
    except RecordError:
        return False
    return True


def _recorded(data: bytes, path: str) -> list[Exchange]:
    requests: dict[str, RequestRecord] = {}
    answers: dict[str, AnswerRecord] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = decode_record(line)
        except RecordError as error:
            torn = number == data.count(b"\n") + 1
            if torn:
                break
            raise FormatError(path, f"This line is no record: {error}.", line=number) from None
        if isinstance(record, RequestRecord):
            requests[record.id] = record
        elif not isinstance(record, NoteRecord):
            answers[record.id] = record
    return [exchange_of(request, answers.get(id_)) for id_, request in requests.items()]
