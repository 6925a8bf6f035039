"""Where a recorded request goes when it is replayed, and what of it goes along."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import msgspec

from llmdebug.http.baseurl import redirected
from llmdebug.http.exchange import Request
from llmdebug.http.secretnames import is_secret_header
from llmdebug.http.secrets import without_secrets
from llmdebug.jsontext.parse import JsonError, parse_json

_OF_A_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "upgrade"}
)
_OF_AN_ADDRESS = frozenset({"host", "origin", "referer"})
_CODINGS = frozenset({"gzip", "deflate", "identity", "x-gzip", "*"})
"""Codings of an answer that the client can undo."""


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """Another server, another model; empty: as recorded."""

    base_url: str = ""
    model: str = ""


def aimed(request: Request, aim: Aim) -> Request:
    """The request as it is replayed: without headers that belong to the recorded connection.

    Keys and cookies of a recording are not sent to another host than the one they were for, wherever
    they stand: in headers, in the query or in the body.
    """
    elsewhere = _goes_elsewhere(request, aim)
    if elsewhere:
        request = without_secrets(request)[0]
    url = redirected(request.url, aim.base_url) if aim.base_url else request.url
    headers = tuple(
        (name, value) for name, value in request.headers if _goes_along(name.lower(), value, elsewhere=elsewhere)
    )
    body = _with_model(request.body, aim.model) if aim.model else request.body
    return msgspec.structs.replace(request, url=url, headers=headers, body=body)


def withheld(request: Request, aim: Aim) -> tuple[str, ...]:
    """The secrets that aimed() leaves out of a recorded request, by the names of their places, each once."""
    if not _goes_elsewhere(request, aim):
        return ()
    headers = (name for name, _ in request.headers if is_secret_header(name))
    return tuple(dict.fromkeys((*headers, *without_secrets(request)[1])))


def _goes_elsewhere(request: Request, aim: Aim) -> bool:
    return bool(aim.base_url) and _place(redirected(request.url, aim.base_url)) != _place(request.url)


def _goes_along(name: str, value: str, *, elsewhere: bool) -> bool:
    if name in _OF_A_CONNECTION or name.startswith(":"):
        return False
    if name == "accept-encoding":
        return all(coding.partition(";")[0].strip().lower() in _CODINGS for coding in value.split(","))
    return not elsewhere or not (name in _OF_AN_ADDRESS or is_secret_header(name))


def _place(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ""
    return parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()


def _with_model(body: bytes, model: str) -> bytes:
    """The rest of the body stays as it is written."""
    try:
        document = parse_json(body)
    except JsonError:
        return body
    if not isinstance(document.value, dict) or "model" not in document.value:
        return body
    span = document.span("/model")
    if span is None:
        return body
    text = document.text
    written = text[: span.start] + json.dumps(model, ensure_ascii=False) + text[span.end :]
    return written.encode("utf-8", "surrogatepass")
