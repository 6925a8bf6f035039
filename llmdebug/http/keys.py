"""Keys stay with the host they were written for: whether a request goes to another one, and what of it stays behind."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

import msgspec

from llmdebug.http.exchange import Request
from llmdebug.http.secretnames import is_secret_field, is_secret_header
from llmdebug.http.secrets import FIELD, PLACEHOLDER, is_form, is_secret_pair

_COMMA = re.compile(rb"\s*,\s*")
Place = tuple[str, str]
"""Scheme, and host with port."""


def place_of(url: str) -> Place:
    """Where a URL leads, in lower case, without user and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ""
    return parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()


def host_of(url: str) -> str:
    """Host and port, for messages."""
    return place_of(url)[1] or url


def without_keys(request: Request) -> tuple[Request, tuple[str, ...]]:
    """The request without the headers, parameters and fields that hold secrets, and their names, each once.

    A secret that stands by its name elsewhere becomes `{{withheld:NAME}}`, which nobody fills in.
    """
    names = {name: None for name, _ in request.headers if is_secret_header(name)}
    headers = tuple((name, value) for name, value in request.headers if not is_secret_header(name))
    address, mark, query = request.url.partition("?")
    query, hash_mark, fragment = query.partition("#")
    query = _without_parameters(query, names)
    if is_form(request):
        text = request.body.decode("utf-8", "surrogateescape")
        body = _without_parameters(text, names).encode("utf-8", "surrogateescape")
    else:
        body = _without_fields(request.body, names)

    def unnamed(text: str) -> str:
        names.update(dict.fromkeys(PLACEHOLDER.findall(text)))
        return PLACEHOLDER.sub(r"{{withheld:\1}}", text)

    if b"{{secret:" in body:
        body = unnamed(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    url = unnamed(address + (mark if query else "") + query + hash_mark + fragment)
    headers = tuple((name, unnamed(value)) for name, value in headers)
    left = msgspec.structs.replace(request, url=url, headers=headers, body=body, keyless=bool(names))
    return left, tuple(names)


def told_withheld(names: tuple[str, ...], url: str) -> str:
    """The sentence about what without_keys() left out of a request to this URL."""
    return (
        f"Keys are not sent to another host than the one they were written for: {', '.join(names)} left out "
        f"for {host_of(url)}. Give its own with --header or --api-key-env, or send them with --send-secrets."
    )


def _without_parameters(query: str, names: dict[str, None]) -> str:
    parts = query.split("&")
    names.update({unquote(part.partition("=")[0]): None for part in parts if is_secret_pair(part)})
    return "&".join(part for part in parts if not is_secret_pair(part))


def _without_fields(body: bytes, names: dict[str, None]) -> bytes:
    """Each field goes with the comma behind it; the last one of an object with the comma before it."""
    left, start = bytearray(), 0
    for match in FIELD.finditer(body):
        name = match[1].decode("utf-8", "replace")
        if not match[3] or not is_secret_field(name):
            continue
        names[name] = None
        left += body[start : match.start()]
        comma = _COMMA.match(body, match.end())
        start = match.end() if comma is None else comma.end()
        if comma is None:
            while left[-1:].isspace():
                del left[-1:]
            if left.endswith(b","):
                del left[-1:]
    return bytes(left) + body[start:]
