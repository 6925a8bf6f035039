"""Exchanges from a file, whatever it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from llmdebug.formats.batch import is_batch, read_batch
from llmdebug.formats.curl import curl_entries, looks_like_curl
from llmdebug.formats.errors import FormatError, decode_text, read_file
from llmdebug.formats.exchanges import Exchanges, Progress, listed
from llmdebug.formats.foreign import foreign, is_json
from llmdebug.formats.har import MAX_HAR_BYTES, each_entry, read_document
from llmdebug.formats.http_file import parse_http_text
from llmdebug.formats.http_server import entries_of, with_server
from llmdebug.formats.jsonlines import (
    AnswerRecord,
    NoteRecord,
    RecordError,
    RequestRecord,
    decode_record,
    exchange_of,
)
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.formats.spooling import lying_still
from llmdebug.http.exchange import Exchange, Request

Format = Literal["har", "jsonl", "http", "curl", "batch"]
_SUFFIXES: dict[str, Format] = {
    ".har": "har",
    ".http": "http",
    ".rest": "http",
    ".sh": "curl",
    ".bash": "curl",
    ".curl": "curl",
}
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_HAR = re.compile(rb"[\xef\xbb\xbf \t\r\n]*\{.*\"log\"\s*:", re.DOTALL)
_RECORD = re.compile(rb'\s*\{"record"\s*:')
_HEAD = 1024 * 1024


def open_exchanges(
    path: str,
    *,
    format: Format | None = None,
    base_url: str | None = None,
    default_base_url: str | None = None,
    variables: Mapping[str, str] | None = None,
    send_secrets: bool = False,
    answers: Sequence[str] = (),
    progress: Progress | None = None,
) -> Exchanges:
    """The exchanges of a file, or the requests where it holds no answers; read piece by piece where that can be.

    `base_url` is the server of an `.http` file or a batch, whatever it names, `default_base_url` that of one which
    names none; `variables` fill in `.http` files; `send_secrets`: keys that one wrote for its own server go along;
    `answers` are files that hold a batch's answers. Raises FormatError.
    """
    with lying_still(path) as file:
        known = format or format_of(file, shown=path)
        if known == "jsonl":
            return RecordedLines(file, shown=path, progress=progress)
        data = read_file(file, MAX_HAR_BYTES)
    if not data.strip():
        raise FormatError(path, "The file is empty.")
    if known == "har":
        return listed(each_entry(read_document(data, path), path), path, "har")
    if known == "batch":
        joined = {answer: read_file(answer, MAX_HAR_BYTES) for answer in answers}
        return read_batch(data, path=path, base_url=base_url or default_base_url, answers=joined)
    text, folder = decode_text(data, path), Path(path).parent
    if known == "curl":
        told: list[str] = []
        found = curl_entries(text, path=path, folder=folder, warn=told.append)
        return listed(map(_unanswered, found), path, "curl", warnings=tuple(told))
    parsed = with_server(parse_http_text(text, path=path, folder=folder), base_url, default_base_url, variables or {})
    found, warnings = entries_of(parsed, send_secrets=send_secrets)
    if not found:
        raise FormatError(path, "There is no request in it.")
    return listed(map(_unanswered, found), path, "http", warnings=warnings)


def _unanswered(entry: Request | FormatError) -> Exchange | FormatError:
    return entry if isinstance(entry, FormatError) else Exchange(request=entry)


def format_of(path: str, *, shown: str = "") -> Format:
    """By its name, else by how it begins; a text that is nothing else counts as an .http file.

    Raises FormatError, which calls the file `shown`.
    """
    shown = shown or path
    known = _SUFFIXES.get(Path(path).suffix.lower())
    if known is not None:
        return known
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
            if is_recording(head) or (b"\n" not in head and is_recording(head + file.readline())):
                return "jsonl"
    except OSError as error:
        raise FormatError(shown, f"The file cannot be read: {error.strerror}.") from None
    if not head.strip():
        raise FormatError(shown, "The file is empty.")
    if is_batch(head):
        return "batch"
    if _HAR.match(head):
        return "har"
    if _RECORD.match(head):
        return "jsonl"
    if is_json(head) or Path(path).suffix.lower() in _JSON_SUFFIXES or b"\0" in head:
        raise foreign(shown, head)
    return "curl" if looks_like_curl(head.decode("utf-8", "replace")) else "http"


def load_exchanges(source: str | Path | bytes, *, name: str = "") -> list[Exchange]:
    """Those of a recording, from its path or its bytes, all in memory; `name` is told in place of a path.

    Raises FormatError.
    """
    path = name or ("" if isinstance(source, bytes) else str(source))
    data = source if isinstance(source, bytes) else read_file(source, MAX_HAR_BYTES)
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
    try:
        return [exchange_of(request, answers.get(id_)) for id_, request in requests.items()]
    except RecordError as error:
        raise FormatError(path, f"A record cannot be read: {error}.") from None


def is_recording(data: bytes) -> bool:
    """Whether a file's bytes begin as a recording of llmdebug."""
    first = data.lstrip().partition(b"\n")[0]
    try:
        decode_record(first)
    except RecordError:
        return False
    return True
