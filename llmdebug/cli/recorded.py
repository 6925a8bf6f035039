"""Exchanges out of what the user has: a HAR file, a recording, or the bare text of an answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from llmdebug.formats.clienterror import read_client_error
from llmdebug.formats.errors import FormatError, read_file
from llmdebug.formats.har import MAX_HAR_BYTES, entries_of
from llmdebug.formats.jsonlines import RecordError, decode_record
from llmdebug.formats.loading import load_exchanges
from llmdebug.http.exchange import Exchange, Request
from llmdebug.jsontext.parse import JsonError, parse_json

STDIN = "-"


class Broken(msgspec.Struct, frozen=True):
    """An entry that is no exchange."""

    message: str


class BareAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the user tells of an answer that stands alone."""

    request: Request | None = None
    status: int | None = None


def recorded(file: str, bare: BareAnswer) -> Iterator[Exchange | Broken]:
    """The exchanges of a file, in order. Raises FormatError where the file is none that is known."""
    data = sys.stdin.buffer.read(MAX_HAR_BYTES) if file == STDIN else read_file(file, MAX_HAR_BYTES)
    path = "stdin" if file == STDIN else file
    if not data.strip():
        raise FormatError(path, "There is nothing in it: give a HAR file, a recording, or an answer's text.")
    if _is_recording(data):
        yield from load_exchanges(data)
        return
    har = _har_entries(data)
    if har is None:
        yield _alone(data, bare)
        return
    for entry in har:
        try:
            yield from (found.exchange for found in entries_of({"log": {"entries": [entry]}}, path))
        except FormatError as error:
            yield Broken(error.message)


def _is_recording(data: bytes) -> bool:
    try:
        decode_record(data.lstrip().partition(b"\n")[0])
    except RecordError:
        return False
    return True


def _har_entries(data: bytes) -> list[Any] | None:
    """None for what is no HAR file. Raises FormatError for a HAR file that is broken JSON."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    try:
        document = parse_json(data).value
    except JsonError:
        return None
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    return entries if isinstance(entries, list) else None


def _alone(data: bytes, bare: BareAnswer) -> Exchange:
    """Text that is no recording is an answer, however it was copied; nobody keeps one that was none."""
    response = read_client_error(data.decode("utf-8", "replace"))
    status = bare.status or response.status or 400
    return Exchange(
        request=bare.request or Request(method="POST", url=""),
        response=msgspec.structs.replace(response, status=status),
    )
