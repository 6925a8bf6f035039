"""The text of an answer that stands alone, and what is taken for one and is none."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from llmdebug.cli.talk import say
from llmdebug.diagnosis.complaint import read_answer
from llmdebug.formats.batch import is_batch
from llmdebug.formats.clienterror import read_client_error
from llmdebug.formats.errors import FormatError
from llmdebug.formats.foreign import foreign, looks_like
from llmdebug.formats.har import read_document
from llmdebug.formats.jsonlines import RecordError, decode_record
from llmdebug.formats.loading import is_recording
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.jsontext.parse import JsonError, parse_json

ASSUMED = 400
"""The status of a refusal that states none."""
HEAD = 1_000_000
MAX_LINES = 20
MAX_VALUES = 2_000
RECORDED = (".jsonl", ".ndjson")
OF_REQUESTS = (".http", ".rest", ".sh", ".bash", ".curl")
_RECORD = re.compile(rb'\s*\{"record"\s*:')
_HAR = re.compile(rb'[\xef\xbb\xbf \t\r\n]*\{\s*"log"\s*:')
_SCHEMA = re.compile(rb'\A\s*\{"schema"\s*:\s*"(llmdebug\.[a-z.]{1,40}/\d{1,3})"')
_BINARY = (b"\x1f\x8b", b"PK\x03\x04")


class BareAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the user tells of an answer that stands alone."""

    request: Request | None = None
    status: int | None = None


def alone(data: bytes, path: str, bare: BareAnswer) -> Exchange:
    """The exchange of an answer's text, however it was copied; nobody keeps one that was none.

    Raises FormatError for a damaged recording, and for what is no server's answer.
    """
    _refuse_files(data, path)
    response = read_client_error(data.decode("utf-8", "replace"))
    stated = bare.status or response.status
    if not stated:
        _refuse_values(data, path)
        say(f"{path}: the text states no status, so {ASSUMED} is assumed: --status N tells another.")
    return Exchange(
        request=bare.request or Request(method="POST", url=""),
        response=msgspec.structs.replace(response, status=stated or ASSUMED),
    )


def _refuse_files(data: bytes, path: str) -> None:
    """Files of a kind that is known by its marks, whatever status is told."""
    suffix = Path(path).suffix.lower()
    head = data[:HEAD]
    lines = head.split(b"\n")[:MAX_LINES]
    if _RECORD.match(head) or any(is_recording(line) for line in lines):
        place = next(place for place, line in enumerate(lines, start=1) if line.strip() and not is_recording(line))
        raise FormatError(path, f"This line is no record: {_record_problem(lines[place - 1])}.", line=place)
    if _HAR.match(head):
        read_document(data, path)
    schema = _SCHEMA.match(head)
    if schema is not None:
        told = f"This is {schema[1].decode()}, which llmdebug printed, and holds no exchange to diagnose"
        raise FormatError(path, f"{told}: give the recording or the answer that it was made from.")
    if is_batch(head):
        raise FormatError(path, "This is an OpenAI batch: `llmdebug convert` joins its answers into a recording.")
    if suffix in OF_REQUESTS:
        raise FormatError(path, "This file holds requests and no answers: `llmdebug check` tells what of them fails.")
    if suffix in RECORDED or b"\0" in head or head.startswith(_BINARY):
        raise foreign(path, head)


def _record_problem(line: bytes) -> str:
    try:
        decode_record(line)
    except RecordError as error:
        return str(error)
    return "it is of no use"


def _refuse_values(data: bytes, path: str) -> None:
    """JSON in which nothing is said to have gone wrong, be it one value or lines of them."""
    text = data.decode("utf-8", "replace").strip("\ufeff \t\r\n")
    lines = [line for line in text.split("\n") if line.strip()]
    values = [text] if _is_json(text) else lines if len(lines) <= MAX_VALUES and all(map(_is_json, lines)) else []
    if not values or any(_says_something(value) for value in values):
        return
    told = f"This JSON tells of no error, so it is not taken for a refusal. {looks_like(data[:HEAD])}"
    raise FormatError(path, f"{told} With --status N it is read as a server's answer all the same.")


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except JsonError:
        return False
    return True


def _says_something(value: str) -> bool:
    """Whether a JSON value holds a message, or is one."""
    read = read_answer(Response(status=ASSUMED, body=value.encode("utf-8", "replace")))
    return bool(read.text) and (read.shape == "json" or value.startswith('"'))
