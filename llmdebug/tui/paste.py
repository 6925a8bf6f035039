"""What a pasted text is: a curl command, a client's error, a server's log, a JSON body, or a .http request."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from llmdebug.diagnosis.complaint import read_answer
from llmdebug.formats.clienterror import read_client_error
from llmdebug.formats.curl import looks_like_curl, parse_curls
from llmdebug.formats.errors import FormatError
from llmdebug.formats.serverlog import looks_like_log
from llmdebug.http.exchange import Request, Response
from llmdebug.jsontext.parse import JsonError, parse_json

_CLIENT_ERROR = re.compile(
    r"Error code: \d{3}|\b\w*(?:Error|Exception): |^(?:< )?HTTP/\d|status_code=\d{3}", re.MULTILINE
)
_REQUEST_LINE = re.compile(r"\s*(?:###.*\n\s*)*(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS)\s+\S+")
_ERROR_KEYS = frozenset({"error", "detail", "message", "object", "type", "code", "errors"})
_REQUEST_KEYS = frozenset({"model", "messages", "prompt", "input", "text", "input_ids", "stream", "max_tokens"})
MAX_BYTES = 64_000_000


class Pasted(msgspec.Struct, frozen=True, kw_only=True):
    """One of `request`, `body`, `answer` and `log` is there; or none, and `problem` says why."""

    kind: Literal["curl", "request", "body", "answer", "log", "nothing"]
    request: Request | None = None
    others: tuple[Request, ...] = ()
    """Of several curl commands, those behind the first."""
    body: bytes = b""
    answer: Response | None = None
    log: str = ""
    problem: str = ""


def understand(text: str) -> Pasted:
    """Never raises."""
    if not text.strip():
        return Pasted(kind="nothing", problem="Nothing was pasted.")
    if len(text) > MAX_BYTES:
        return Pasted(kind="nothing", problem=f"{len(text):,} characters are too many to paste: open a file.")
    if looks_like_curl(text):
        return _curl(text)
    if _REQUEST_LINE.match(text):
        return _http(text)
    body = _json_body(text)
    if body is not None:
        return body
    if looks_like_log(text) and not read_client_error(text).status:
        return Pasted(kind="log", log=text)
    if _CLIENT_ERROR.search(text):
        return Pasted(kind="answer", answer=read_client_error(text))
    if text.lstrip()[:1] in ("{", "["):
        return Pasted(kind="body", body=text.strip().encode("utf-8", "surrogatepass"))
    return Pasted(
        kind="nothing",
        problem="This is neither a curl command, nor JSON, nor the error of a client library or a server: "
        "nothing was changed.",
    )


def quoted_body(answer: Response) -> bytes:
    """The request's body where a refusal quotes it: as the input of a complaint about the whole of it."""
    for complaint in read_answer(answer).complaints:
        about_whole = complaint.loc == ("body",) or (complaint.type == "missing" and len(complaint.loc) == 2)
        if about_whole and complaint.loc[0] == "body" and isinstance(complaint.input, dict):
            try:
                return msgspec.json.encode(complaint.input)
            except (TypeError, ValueError, RecursionError):
                return b""
    return b""


def _curl(text: str) -> Pasted:
    try:
        first, *others = parse_curls(text)
        return Pasted(kind="curl", request=first, others=tuple(others))
    except FormatError as error:
        return Pasted(kind="nothing", problem=error.message)


def _http(text: str) -> Pasted:
    from llmdebug.formats.http_file import parse_http_text

    try:
        return Pasted(kind="request", request=parse_http_text(text.strip()).request())
    except FormatError as error:
        return Pasted(kind="nothing", problem=error.message)


def _json_body(text: str) -> Pasted | None:
    """A JSON value: an error's body where only an error looks so, else the body of a request."""
    try:
        value = parse_json(text.strip()).value
    except JsonError:
        return None
    keys = value.keys() if isinstance(value, dict) else set()
    if keys & _ERROR_KEYS and not keys & _REQUEST_KEYS:
        return Pasted(kind="answer", answer=read_client_error(text))
    if not isinstance(value, dict | list):
        return None
    return Pasted(kind="body", body=text.strip().encode("utf-8", "surrogatepass"))
