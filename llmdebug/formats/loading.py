"""Exchanges from a file, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from llmdebug.formats.batch import is_batch, read_batch
from llmdebug.formats.curl import looks_like_curl, parse_curls
from llmdebug.formats.errors import FormatError, decode_text, read_file
from llmdebug.formats.exchanges import Exchanges, Loaded, Progress
from llmdebug.formats.har import MAX_HAR_BYTES, entries_of
from llmdebug.formats.http_file import parse_http_text
from llmdebug.formats.jsonlines import (
    AnswerRecord,
    NoteRecord,
    RecordError,
    RequestRecord,
    decode_record,
    exchange_of,
)
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.http.exchange import Exchange
from llmdebug.jsontext.parse import JsonError, parse_json

Format = Literal["har", "jsonl", "http", "curl", "batch"]
_SUFFIXES: dict[str, Format] = {
    ".har": "har",
    ".http": "http",
    ".rest": "http",
    ".sh": "curl",
    ".bash": "curl",
    ".curl": "curl",
}
_HEAD = 1024 * 1024


def open_exchanges(
    path: str,
    *,
    format: Format | None = None,
    base_url: str | None = None,
    variables: Mapping[str, str] | None = None,
    answers: Sequence[str] = (),
    progress: Progress | None = None,
) -> Exchanges:
    """The exchanges of a file, or the requests where it holds no answers; read piece by piece where that can be.

    `base_url` serves files that name no server, `variables` fill in `.http` files, `answers` are files that hold a
    batch's answers. Raises FormatError.
    """
    known = format or format_of(path)
    if known == "jsonl":
        return RecordedLines(path, progress=progress)
    data = read_file(path, MAX_HAR_BYTES)
    if known == "har":
        return Loaded(load_exchanges(path), path=path, format="har")
    if known == "batch":
        joined = {answer: read_file(answer, MAX_HAR_BYTES) for answer in answers}
        return Loaded(read_batch(data, path=path, base_url=base_url, answers=joined), path=path, format="batch")
    text = decode_text(data, path)
    if known == "curl":
        found = parse_curls(text, path=path, folder=Path(path).parent)
        return Loaded([Exchange(request=request) for request in found], path=path, format="curl")
    file = parse_http_text(text, path=path, folder=Path(path).parent, base_url=base_url, variables=variables)
    requests = [Exchange(request=request) for request in file.requests()]
    if not requests:
        raise FormatError(path, "There is no request in it.")
    return Loaded(requests, path=path, format="http", warnings=file.warnings)


def format_of(path: str) -> Format:
    """By its name, else by how it begins; a text that is nothing else counts as an .http file. Raises FormatError."""
    known = _SUFFIXES.get(Path(path).suffix.lower())
    if known is not None:
        return known
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
            if is_recording(head) or (b"\n" not in head and is_recording(head + file.readline())):
                return "jsonl"
    except OSError as error:
        raise FormatError(path, f"The file cannot be read: {error.strerror}.") from None
    if not head.strip():
        raise FormatError(path, "The file is empty.")
    if is_batch(head):
        return "batch"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return "har"
    return "curl" if looks_like_curl(head.decode("utf-8", "replace")) else "http"


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
