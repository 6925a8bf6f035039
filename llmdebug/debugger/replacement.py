"""The request a remedy proposes, made from the request it replaces."""

from __future__ import annotations

import json
from typing import Any

from llmdebug.diagnosis.verdict import RemedyRequest
from llmdebug.http.exchange import Headers, Request, header

_OF_THE_OLD_BODY = frozenset({"content-length", "transfer-encoding", "content-encoding"})
"""Headers that describe bytes which are not sent again."""
_OF_THE_OLD_ADDRESS = "host"


def replacement(proposed: RemedyRequest, original: Request) -> Request:
    """The complete request. A remedy's headers are a mapping: repeated ones come from the original."""
    body = b"" if proposed.body is None else body_bytes(proposed.body)
    dropped = set(_OF_THE_OLD_BODY)
    if _host(proposed.url) != _host(original.url):
        dropped.add(_OF_THE_OLD_ADDRESS)
    headers = _headers(proposed.headers, original.headers) if proposed.headers else original.headers
    headers = tuple((name, value) for name, value in headers if name.lower() not in dropped)
    if body and header(headers, "Content-Type") is None:
        headers = (*headers, ("Content-Type", "application/json"))
    return Request(method=proposed.method, url=proposed.url, headers=headers, body=body, name=original.name)


def body_bytes(value: Any) -> bytes:
    """A JSON value as it is sent; text as UTF-8, unless it holds half a surrogate pair."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _headers(proposed: dict[str, str], original: Headers) -> Headers:
    """The original's headers where the remedy leaves them alone, in their order; then what it changes or adds."""
    wanted = {name.lower(): value for name, value in proposed.items()}
    alone = {name.lower() for name, value in original if wanted.get(name.lower()) == value}
    changed = ((name, value) for name, value in proposed.items() if name.lower() not in alone)
    return (*(pair for pair in original if pair[0].lower() in alone), *changed)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
