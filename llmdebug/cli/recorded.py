"""Exchanges out of what the user has: a HAR file, a recording, or the bare text of an answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, cast

from llmdebug.cli.exchange_json import printed_exchanges
from llmdebug.cli.standalone import BareAnswer, alone
from llmdebug.formats.errors import FormatError, read_file
from llmdebug.formats.har import MAX_HAR_BYTES, each_entry, read_document
from llmdebug.formats.loading import is_recording, load_exchanges
from llmdebug.http.exchange import Exchange
from llmdebug.jsontext.parse import JsonError, parse_json

STDIN = "-"
_PIECE = 1024 * 1024


def recorded(file: str, bare: BareAnswer) -> Iterator[Exchange | FormatError]:
    """The exchanges of a file, in order; an entry that is none as its error. Raises FormatError."""
    data = _stdin() if file == STDIN else read_file(file, MAX_HAR_BYTES)
    path = "stdin" if file == STDIN else file
    if not data.strip():
        raise FormatError(path, "There is nothing in it: give a HAR file, a recording, or an answer's text.")
    if is_recording(data):
        yield from load_exchanges(data, name=path)
        return
    printed = printed_exchanges(data, path)
    if printed is not None:
        yield from printed
        return
    har = read_document(data, path) if path.lower().endswith(".har") else _har(data)
    if har is None:
        yield alone(data, path, bare)
        return
    yield from each_entry(har, path)


def _stdin() -> bytes:
    """Piece by piece: one large read would not notice a Ctrl-C that comes while it copies."""
    stdin = cast(BufferedReader, sys.stdin.buffer)
    pieces = []
    left = MAX_HAR_BYTES
    while left > 0 and (piece := stdin.read1(min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _har(data: bytes) -> Any:
    """A HAR file's JSON value; None for anything else."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    try:
        document = parse_json(data).value
    except JsonError:
        return None
    return document if "log" in document else None
