"""What an answer says, whatever its shape: its complaints, each with message, location and type."""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from llmdebug.diagnosis.decoders import decoder_entries
from llmdebug.diagnosis.printed import printed_entries
from llmdebug.diagnosis.rules_text import rule_entries
from llmdebug.diagnosis.serde_text import serde_entries
from llmdebug.diagnosis.validation_text import Entry, Loc, entries_in, error_name, literal_of, loc_of
from llmdebug.http.exchange import Response, header
from llmdebug.jsontext.pointer import index_of

MAX_BODY = 2_000_000
MAX_JSON = 32_000_000
MAX_NESTING = 6
MAX_MARKUP = 200_000

MESSAGE_KEYS = ("message", "msg", "detail", "error", "error_message", "reason", "title", "description", "errors")


FIXED_TEXTS = {
    "Missing data for required field": "missing",
    "This field is required": "missing",
    "Unknown field": "extra_forbidden",
    "Field may not be null": "none_not_allowed_type",
    "Not a valid string": "string_type",
    "Not a valid integer": "int_type",
    "Not a valid number": "float_type",
    "Not a valid boolean": "bool_type",
    "Not a valid list": "list_type",
    "Not a valid mapping type": "dict_type",
    "Invalid input type": "dict_type",
}
"""What validation libraries other than pydantic always say, and pydantic's name for it."""
MAX_BY_FIELD = 100


class Complaint(msgspec.Struct, frozen=True):
    """One thing that an error body says."""

    message: str
    loc: Loc = ()
    type: str = ""
    input: Any = None
    title: str = ""
    given: str = ""
    """The JSON type of what was refused, where the location leaves out places in lists."""
    at: tuple[int, int] = (0, 0)
    """Line and column of the body, 1-based, where they are given."""
    word: str = ""
    """The name that no variant of an enum has."""
    speaker: str = ""
    """The language whose library says so; empty for Python."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer says."""

    status: int
    text: str = ""
    """The message as the server meant it, the envelope taken off; empty where it says nothing."""
    complaints: tuple[Complaint, ...] = ()
    """The single complaints of a validation; one that repeats `text` where there is no list."""
    error_type: str = ""
    param: str | None = None
    code: str = ""
    shape: str = "empty"
    """`json`, `stream`, `text`, `html` or `empty`."""
    refused: bool = False
    """Whether this answer refuses: by status, or by an error inside a 2xx."""


LARGE = 256_000
"""Bytes from which on a JSON result is not read for errors inside."""
MARGIN = 4_096
_ERROR_KEY = re.compile(rb"[\"'](?:error|errors|detail|error_type)[\"']\s*:")


class _Envelope:
    """What was found while the envelopes were taken off."""

    def __init__(self) -> None:
        self.text = ""
        self.error_type = ""
        self.param: str | None = None
        self.code = ""
        self.complaints: list[Complaint] = []
        self.is_error = False


def read_answer(response: Response) -> Answer:
    """What a response says; never raises, whatever the body holds."""
    body = _readable(response).decode("utf-8", "replace").strip("\ufeff \t\r\n\0")
    kind = (header(response.headers, "content-type") or "").lower()
    envelope = _Envelope()
    if not body:
        shape = "empty"
    elif response.status < 400 and _is_large_result(response.body):
        shape = "json"
    elif "event-stream" in kind or re.match(r"(?:data|event|id|retry): ?|: ?\w", body):
        shape = "stream"
        _read_stream(body, envelope)
    else:
        value, ok = _json(body)
        if ok and isinstance(value, dict | list):
            shape = "json"
            _open(value, envelope, 0)
        elif re.match(r"\s*(?:<!doctype|<html|<\?xml|<head)", body, re.I):
            shape = "html"
            envelope.text = _plain(body)
        else:
            shape = "text"
            last = _last_json_line(body)
            if last is not None:
                _open(last, envelope, 0)
            else:
                _open(value if ok and isinstance(value, str) else body, envelope, 0)
    failed = response.status >= 400 or (envelope.is_error and shape in {"json", "stream", "text"})
    complaints = envelope.complaints or ([Complaint(envelope.text)] if envelope.text else [])
    return Answer(
        status=response.status,
        text=envelope.text,
        complaints=tuple(complaints) if failed else (),
        error_type=envelope.error_type,
        param=envelope.param,
        code=envelope.code,
        shape=shape,
        refused=failed,
    )


def _readable(response: Response) -> bytes:
    """What of a body is read: a refusal that may quote the whole request in one JSON value, else the ends."""
    body = response.body
    whole = response.status >= 400 and len(body) <= MAX_JSON and body[:MARGIN].lstrip()[:1] in (b"{", b"[")
    return body if whole else ends(body, MAX_BODY)


def ends(body: bytes, most: int) -> bytes:
    """A body; of one longer than `most` bytes its beginning and its end, where a stream's error stands."""
    if len(body) <= most:
        return body
    return body[: most // 2] + b"\n" + body[-most // 2 :].partition(b"\n")[2]


def _is_large_result(body: bytes) -> bool:
    """Whether a body is JSON that is too large for an error, and speaks of none where it begins and ends."""
    edges = body[:MARGIN] + body[-MARGIN:]
    return len(body) > LARGE and edges.lstrip()[:1] in (b"{", b"[") and not _ERROR_KEY.search(edges)


def _json(text: str) -> tuple[Any, bool]:
    try:
        return json.loads(text), True
    except (ValueError, RecursionError):
        return None, False


def _last_json_line(body: str) -> Any:
    """The error object among lines of JSON."""
    for line in reversed(body.splitlines()[-50:]):
        if line.startswith("{"):
            value, ok = _json(line)
            if ok and isinstance(value, dict) and ("error" in value or "detail" in value):
                return value
    return None


def _read_stream(body: str, envelope: _Envelope) -> None:
    """The error among the events of a stream, if there is one."""
    event = ""
    for line in body.splitlines():
        name, _, value = line.partition(":")
        if name == "event":
            event = value.strip()
        elif name == "data":
            if event != "error" and not _may_say_error(value):
                continue
            data, ok = _json(value.strip())
            if ok and isinstance(data, dict) and (event == "error" or _says_error(data)):
                _open(data, envelope, 0)
                envelope.is_error = True
                return
            if not ok and event == "error":
                envelope.text, envelope.is_error = value.strip(), True
                return
        elif not line:
            event = ""
        elif line.startswith("{") and _may_say_error(line):
            data, ok = _json(line)
            if ok and isinstance(data, dict) and _says_error(data):
                _open(data, envelope, 0)
                envelope.is_error = True
                return


def _may_say_error(line: str) -> bool:
    """Told without reading the line's JSON: streams are long."""
    return "error" in line or "\\u00" in line


def _says_error(data: dict[str, Any]) -> bool:
    return bool(data.get("error")) or data.get("object") == "error" or data.get("type") == "error"


def _open(value: Any, envelope: _Envelope, depth: int) -> None:
    """Take envelopes off until the text is reached."""
    if depth > MAX_NESTING:
        return
    if isinstance(value, str):
        _read_text(value, envelope, depth)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict) and ("msg" in item or "loc" in item):
                envelope.complaints.append(_entry(item))
            elif not envelope.text:
                _open(item, envelope, depth + 1)
        if envelope.complaints and not envelope.text:
            envelope.text = "; ".join(c.message for c in envelope.complaints[:3])
        envelope.is_error = envelope.is_error or bool(envelope.complaints)
    elif isinstance(value, dict):
        _open_object(value, envelope, depth)


def _open_object(value: dict[str, Any], envelope: _Envelope, depth: int) -> None:
    if _says_error(value) or "detail" in value:
        envelope.is_error = True
    for name in ("type", "error_type", "err_type"):
        found = value.get(name)
        if isinstance(found, str) and found != "error":
            envelope.error_type = found
            break
    param = value.get("param")
    if isinstance(param, str) and param:
        envelope.param = param
    code = value.get("code")
    if isinstance(code, str | int) and not isinstance(code, bool):
        envelope.code = str(code)
    listed = _by_field(value)
    if listed:
        envelope.complaints += listed
        envelope.text = "; ".join(dict.fromkeys(c.message for c in listed[:3]))
        envelope.is_error = True
        return
    if isinstance(value.get("loc"), list) and "msg" in value:
        envelope.complaints.append(_entry(value))
        envelope.text = envelope.text or str(value["msg"])
        return
    first = ("error",) if isinstance(value.get("error"), dict | list) else ()
    for name in (*first, *MESSAGE_KEYS):
        inner = value.get(name)
        if inner and isinstance(inner, str | dict | list):
            _open(inner, envelope, depth + 1)
            if envelope.text or envelope.complaints:
                return


def _by_field(value: dict[str, Any]) -> list[Complaint]:
    """`{"field": ["what is wrong with it", …]}`, as marshmallow and others say it, objects nested; else nothing."""
    for name in (*MESSAGE_KEYS, "json"):
        inner = value.get(name)
        if isinstance(inner, dict) and inner and all(_is_told(told) for told in inner.values()):
            return list(islice(_told_of(inner, ()), MAX_BY_FIELD))
    return []


def _is_told(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict) and value and depth < MAX_NESTING:
        return all(_is_told(inner, depth + 1) for inner in value.values())
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)


def _told_of(value: Any, loc: Loc) -> Iterator[Complaint]:
    if isinstance(value, dict):
        for name, inner in value.items():
            index = index_of(name)
            yield from _told_of(inner, (*loc, name if index is None else index))
    else:
        yield from (Complaint(text, loc, FIXED_TEXTS.get(text.rstrip("."), "")) for text in value)


def _entry(item: dict[str, Any]) -> Complaint:
    return Complaint(
        message=str(item.get("msg") or item.get("message") or ""),
        loc=loc_of(item.get("loc") or ()),
        type=error_name(str(item.get("type") or "")),
        input=item.get("input"),
    )


def _read_text(text: str, envelope: _Envelope, depth: int) -> None:
    text = text.strip()
    inner, ok = _embedded(text)
    if ok and depth < MAX_NESTING:
        _open(inner, envelope, depth + 1)
        if envelope.text:
            return
    envelope.text = text
    readers = (entries_in, printed_entries, decoder_entries, serde_entries, rule_entries)
    for entry in next((found for read in readers if (found := read(text))), []):
        envelope.complaints.append(_complaint(entry))


def _complaint(entry: Entry) -> Complaint:
    kept = entry.given, entry.at, entry.word, entry.speaker
    return Complaint(entry.message, entry.loc, entry.type, entry.input, entry.title, *kept)


def _embedded(text: str) -> tuple[Any, bool]:
    """JSON, or a Python dict, that a gateway put into its own message."""
    start = text.find("{")
    if start < 0 or not re.search(r"[\"'](?:error|message|detail)[\"']\s*:", text) or _QUOTED.search(text[:start]):
        return None, False
    end = text.rfind("}") + 1
    for read in (_json, _literal):
        value, ok = read(text[start:end])
        if ok and isinstance(value, dict) and "loc" not in value and any(key in value for key in MESSAGE_KEYS):
            return value, True
    return None, False


_QUOTED = re.compile(r"(?:input_value=|input['\"]?[:=] ?|received:? |got:? )[\[({'\"]*$")
"""What stands before a piece of the request that a message quotes."""


def _literal(text: str) -> tuple[Any, bool]:
    value = literal_of(text)
    return value, value is not None


def _plain(markup: str) -> str:
    """The readable text of an HTML page, its title where there is no other."""
    markup = markup[:MAX_MARKUP]
    closings = {name: [m.start() for m in re.finditer(f"</{name}", markup, re.I)] for name in _UNREAD}
    kept: list[str] = []
    position = 0
    for tag in _TAG.finditer(markup):
        if tag.start() < position:
            continue
        kept.append(markup[position : tag.start()])
        position = tag.end()
        name = tag[1].lower()
        if name in closings:
            closing = bisect_left(closings[name], position)
            position = closings[name][closing] if closing < len(closings[name]) else position
    words = " ".join(html.unescape(" ".join([*kept, markup[position:]])).split())
    title = _TITLE.search(markup)
    return words or (html.unescape(title[1]).strip() if title else "")


_UNREAD = ("script", "style", "head")
_TAG = re.compile(r"<[/!?]?(\w*)[^<>]*>")
_TITLE = re.compile(r"<title[^<>]*>([^<]*)", re.I)
