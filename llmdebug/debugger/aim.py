"""Where a recorded request goes when it is replayed, and what of it goes along."""

from __future__ import annotations

import json
from itertools import islice

import msgspec

from llmdebug.formats.exchanges import Exchanges
from llmdebug.http.baseurl import redirected
from llmdebug.http.exchange import Request
from llmdebug.http.keys import place_of, without_keys
from llmdebug.jsontext.parse import JsonError, parse_json

_OF_A_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "upgrade"}
)
_OF_AN_ADDRESS = frozenset({"host", "origin", "referer"})
_CODINGS = frozenset({"gzip", "deflate", "identity", "x-gzip", "*"})
"""Codings of an answer that the client can undo."""


LOOKED_AT = 20
"""Requests that are looked at for keys before there is a session."""


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """Another server, another model; empty: as recorded."""

    base_url: str = ""
    model: str = ""
    send_secrets: bool = False
    """Whether the keys of a recording go along to another host."""


def aimed(request: Request, aim: Aim) -> Request:
    """The request as it is replayed: without headers that belong to the recorded connection.

    Keys and cookies of a recording are not sent to another host than the one they were for, wherever
    they stand: in headers, in the query or in the body; unless the aim says so.
    """
    elsewhere = _goes_elsewhere(request, aim)
    if elsewhere and not aim.send_secrets:
        request = without_keys(request)[0]
    url = redirected(request.url, aim.base_url) if aim.base_url else request.url
    headers = tuple(
        (name, value) for name, value in request.headers if _goes_along(name.lower(), value, elsewhere=elsewhere)
    )
    body = _with_model(request.body, aim.model) if aim.model else request.body
    return msgspec.structs.replace(request, url=url, headers=headers, body=body)


def withheld(request: Request, aim: Aim) -> tuple[str, ...]:
    """The secrets that aimed() leaves out of a recorded request, by the names of their places, each once."""
    return without_keys(request)[1] if _goes_elsewhere(request, aim) and not aim.send_secrets else ()


def first_aimed(exchanges: Exchanges, aim: Aim) -> Request | None:
    """The first request that can be sent, as it is sent; keyless where one of the first leaves keys behind.

    None: there is none. Raises FormatError.
    """
    numbers = (number for number in range(len(exchanges)) if not exchanges.problem(number))
    first = [
        aimed(exchanges.exchange(number).request, aim) for number in islice(numbers, LOOKED_AT if aim.base_url else 1)
    ]
    if not first:
        return None
    return msgspec.structs.replace(first[0], keyless=any(request.keyless for request in first))


def _goes_elsewhere(request: Request, aim: Aim) -> bool:
    return bool(aim.base_url) and place_of(redirected(request.url, aim.base_url)) != place_of(request.url)


def _goes_along(name: str, value: str, *, elsewhere: bool) -> bool:
    if name in _OF_A_CONNECTION or name.startswith(":"):
        return False
    if name == "accept-encoding":
        return all(coding.partition(";")[0].strip().lower() in _CODINGS for coding in value.split(","))
    return not (elsewhere and name in _OF_AN_ADDRESS)


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
