"""Secrets taken out of a request, and put back: each stands as `{{secret:NAME}}` in its place.

The rest of the request stays as it is, byte for byte; a body need not even be valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import quote, unquote

import msgspec

from llmdebug.http.exchange import Exchange, Request, Response, StreamEvent, header
from llmdebug.http.secretnames import is_secret_field, is_secret_header, is_secret_parameter

Lookup = Callable[[str], str | None]

PLACEHOLDER = re.compile(r"\{\{secret:([A-Za-z0-9_.-]+)\}\}")
FIELD = re.compile(rb'"([^"\\\x00-\x1f]{1,200})"(\s*:\s*)"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_AUTH_SCHEME = re.compile(r"(Bearer|Basic|Token|Digest|ApiKey|Key)\s+(?=\S)", re.IGNORECASE)
_USERINFO = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#@]*(?:@[^/?#@]*)*)@", re.IGNORECASE)
_SHORTEST_ECHO = 8
"""Shorter secrets are not looked for in other text: they would hit by chance."""


class _Vault:
    """Names for secret values, each value under one name."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = {value: name for name, value in known.items() if value}
        self.values: dict[str, str] = {}

    def placeholder(self, value: str, suggested: str) -> str:
        if not value or PLACEHOLDER.fullmatch(value):
            return value
        return "{{secret:" + self._name(value, suggested) + "}}"

    def _name(self, value: str, suggested: str) -> str:
        name = self._known.get(value)
        if name is None:
            plain = re.sub(r"[^A-Za-z0-9]+", "_", suggested).strip("_").upper() or "SECRET"
            name = next(candidate for candidate in _numbered(plain) if self._free(candidate, value))
        self.values[name] = value
        return name

    def _free(self, name: str, value: str) -> bool:
        return self.values.get(name, value) == value and name not in self._known.values()


def _numbered(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def redact(request: Request, known: Mapping[str, str] | None = None) -> tuple[Request, dict[str, str]]:
    """The request without its secrets, and the secrets by name.

    `known` are secrets that have a name already (`{"OPENAI_API_KEY": "sk-…"}`): they are found
    anywhere in the request and keep their name.
    """
    vault = _Vault(known or {})
    headers = tuple((name, _header_value(name, value, vault)) for name, value in request.headers)
    url = redact_url(request.url, vault)
    body = _form_body(request.body, vault) if is_form(request) else _json_body(request.body, vault)
    secrets = {**{name: value for name, value in (known or {}).items() if value}, **vault.values}
    clean = msgspec.structs.replace(
        request,
        url=hide(url, secrets),
        headers=tuple((name, hide(value, secrets)) for name, value in headers),
        body=hide_bytes(body, secrets),
    )
    return clean, {name: value for name, value in secrets.items() if _stands_in(clean, name)}


def redact_response(response: Response, secrets: Mapping[str, str]) -> Response:
    """The response without its cookies, and without the request's secrets where it echoes them."""
    vault = _Vault({})
    echoes = bool(_longest_first(secrets))
    return msgspec.structs.replace(
        response,
        reason=hide(response.reason, secrets),
        headers=tuple((name, hide(_header_value(name, value, vault), secrets)) for name, value in response.headers),
        body=hide_bytes(response.body, secrets),
        events=tuple(_event(event, secrets) for event in response.events) if echoes else response.events,
    )


def redact_exchange(exchange: Exchange, known: Mapping[str, str] | None = None) -> tuple[Exchange, dict[str, str]]:
    """An exchange without its secrets, and the request's secrets by name."""
    request, secrets = redact(exchange.request, known)
    response = None if exchange.response is None else redact_response(exchange.response, secrets)
    return msgspec.structs.replace(exchange, request=request, response=response), secrets


def fill(request: Request, lookup: Lookup | Mapping[str, str]) -> tuple[Request, tuple[str, ...]]:
    """The request with its secrets put back, and the names that `lookup` does not know, in order.

    A placeholder without a value stays as it is.
    """
    find = lookup if callable(lookup) else lookup.get
    missing: dict[str, None] = {}

    def value(match: re.Match[str], written: Callable[[str], str]) -> str:
        found = find(match[1])
        if found is None:
            missing[match[1]] = None
            return match[0]
        return written(found)

    def filled(text: str, written: Callable[[str], str]) -> str:
        return PLACEHOLDER.sub(lambda match: value(match, written), text)

    body = request.body
    if b"{{secret:" in body:
        text = body.decode("utf-8", "surrogateescape")
        body = filled(text, _quoted if is_form(request) else _json_escaped).encode("utf-8", "surrogateescape")
    complete = msgspec.structs.replace(
        request,
        url=filled(request.url, _in_url),
        headers=tuple((name, filled(text, str)) for name, text in request.headers),
        body=body,
    )
    return complete, tuple(missing)


def hide(text: str, secrets: Mapping[str, str]) -> str:
    """A text with each secret that it holds replaced by its placeholder."""
    for name, value in _longest_first(secrets):
        text = text.replace(value, "{{secret:" + name + "}}")
    return text


def hide_bytes(data: bytes, secrets: Mapping[str, str]) -> bytes:
    """As hide(), for a body; a secret is found also as it stands in a JSON string."""
    for name, value in _longest_first(secrets):
        placeholder = b"{{secret:" + name.encode() + b"}}"
        for written in {value, _json_escaped(value)}:
            data = data.replace(written.encode("utf-8", "surrogatepass"), placeholder)
    return data


def redact_url(url: str, vault: _Vault | None = None) -> str:
    """A URL without its user and password and its secret parameters."""
    vault = vault or _Vault({})
    match = _USERINFO.match(url)
    if match:
        url = match[1] + vault.placeholder(match[2], "URL_CREDENTIALS") + "@" + url[match.end() :]
    address, mark, query = url.partition("?")
    query, hash_mark, fragment = query.partition("#")
    return address + mark + _parameters(query, vault) + hash_mark + fragment


def is_form(request: Request) -> bool:
    return (header(request.headers, "Content-Type") or "").lower().startswith("application/x-www-form")


def _stands_in(request: Request, name: str) -> bool:
    placeholder = "{{secret:" + name + "}}"
    return (
        placeholder in request.url
        or any(placeholder in value for _, value in request.headers)
        or placeholder.encode() in request.body
    )


def _longest_first(secrets: Mapping[str, str]) -> list[tuple[str, str]]:
    found = ((name, value) for name, value in secrets.items() if len(value) >= _SHORTEST_ECHO)
    return sorted(found, key=lambda item: -len(item[1]))


def _header_value(name: str, value: str, vault: _Vault) -> str:
    if not is_secret_header(name):
        return value
    scheme = _AUTH_SCHEME.match(value)
    start = scheme.end() if scheme else 0
    return value[:start] + vault.placeholder(value[start:], name)


def _parameters(query: str, vault: _Vault) -> str:
    parts = []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        secret = is_secret_pair(part)
        parts.append(f"{name}={vault.placeholder(unquote(value), unquote(name))}" if secret else part)
    return "&".join(parts)


def is_secret_pair(part: str) -> bool:
    name, _, value = part.partition("=")
    return bool(value) and is_secret_parameter(unquote(name))


def _form_body(body: bytes, vault: _Vault) -> bytes:
    text = body.decode("utf-8", "surrogateescape")
    return _parameters(text, vault).encode("utf-8", "surrogateescape")


def _json_body(body: bytes, vault: _Vault) -> bytes:
    def field(match: re.Match[bytes]) -> bytes:
        name = match[1].decode("utf-8", "replace")
        if not match[3] or not is_secret_field(name):
            return match[0]
        placeholder = vault.placeholder(_json_unescaped(match[3]), name)
        return b'"%b"%b"%b"' % (match[1], match[2], placeholder.encode("utf-8", "surrogatepass"))

    return FIELD.sub(field, body)


def _json_unescaped(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _json_escaped(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _quoted(value: str) -> str:
    return quote(value, safe="")


def _in_url(value: str) -> str:
    return quote(value, safe=":%!$&'()*+,;=~._-") if ":" in value else quote(value, safe="")


def _event(event: StreamEvent, secrets: Mapping[str, str]) -> StreamEvent:
    hidden = hide(event.data, secrets)
    return event if hidden == event.data else msgspec.structs.replace(event, data=hidden)
