"""A request made ready for the wire: where it goes, its target, and every header that will be sent.

Nothing is normalised: the path keeps its dots and its escapes, headers keep their order, case and
repetitions. Added are only headers that HTTP needs or that a client always states, where the request
does not state them itself. A Content-Length or Transfer-Encoding that contradicts the body is replaced,
for with it the request could not be sent at all.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from llmdebug import __version__
from llmdebug.http.exchange import FailureKind, Headers, Request, header
from llmdebug.http.secrets import redact_url

if TYPE_CHECKING:
    import httpx

_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<target>[^#]*)", re.IGNORECASE)
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_NAME = _METHOD
_BAD_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN_PLACE = re.compile(r"[a-z0-9][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)*(?::([0-9]{1,5}))?", re.IGNORECASE)
"""Host and port that need no closer look."""
_NEEDS_ESCAPE = re.compile(r"[^\x21-\x7e]+")
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_ALWAYS_STATED = (
    ("User-Agent", f"llmdebug/{__version__}"),
    ("Accept", "*/*"),
    ("Accept-Encoding", "gzip, deflate"),
)


class UnsendableError(ValueError):
    """The request cannot be put on the wire; the message is a sentence for the user."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message


class WireRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request with its address taken apart."""

    request: Request
    """As it will be sent: all headers, the URL without user and password."""
    scheme: str
    host: str
    """In its wire form: lower case, IDNA, an IPv6 address without brackets."""
    port: int
    target: bytes
    """Path and query as they stand in the request line."""

    @property
    def where(self) -> str:
        """Host and port, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def prepare(request: Request) -> WireRequest:
    """Raises UnsendableError for a URL, a method or a header that HTTP cannot carry."""
    match, headers = _taken_apart(request)
    userinfo, _, host_and_port = match["authority"].rpartition("@")
    address = _address(match["scheme"].lower(), host_and_port)
    target = match["target"] if match["target"].startswith("/") else "/" + match["target"]
    headers = _completed(headers, request, address.netloc.decode("ascii"), userinfo)
    return WireRequest(
        request=Request(
            method=request.method,
            url=f"{match['scheme']}://{host_and_port}{match['target']}",
            headers=headers,
            body=request.body,
            name=request.name,
        ),
        scheme=address.scheme,
        host=address.raw_host.decode("ascii"),
        port=address.port or (443 if address.scheme == "https" else 80),
        target=_NEEDS_ESCAPE.sub(_escaped, target).encode("ascii"),
    )


def unsendable(request: Request) -> str:
    """What prepare() would refuse, as a sentence; empty where the request can be sent."""
    try:
        match, _ = _taken_apart(request)
        place = _PLAIN_PLACE.fullmatch(match["authority"].rpartition("@")[2])
        if place is None or not 0 < int(place[1] or 80) < 65536:
            prepare(request)
    except UnsendableError as error:
        return error.message
    return ""


def _taken_apart(request: Request) -> tuple[re.Match[str], Headers]:
    """The URL's parts and the headers, checked but for the host. Raises UnsendableError."""
    if not _METHOD.fullmatch(request.method):
        raise UnsendableError("bad_request", f"The method {request.method!r} is no HTTP method.")
    match = _URL.match(request.url.strip())
    if match is None:
        raise UnsendableError(
            "bad_url", f"{redact_url(request.url)!r} is no http:// or https:// address: give the whole URL."
        )
    if _CONTROL.search(request.url.strip()):
        raise UnsendableError("bad_url", f"The URL {redact_url(request.url)!r} holds a control character.")
    return match, _checked(request.headers)


@lru_cache(maxsize=256)
def _address(scheme: str, host_and_port: str) -> httpx.URL:
    import httpx

    try:
        address = httpx.URL(f"{scheme}://{host_and_port}/")
    except (httpx.InvalidURL, ValueError) as error:
        raise UnsendableError("bad_url", f"{host_and_port!r} is no host name: {error}.") from None
    if not address.raw_host or (b"%" in address.raw_host and b":" not in address.raw_host):
        raise UnsendableError("bad_url", f"The URL names no host that can be: {scheme}://{host_and_port}/.")
    if address.port is not None and not 0 < address.port < 65536:
        raise UnsendableError("bad_url", f"{address.port} is no port: it must lie between 1 and 65535.")
    return address


def _escaped(match: re.Match[str]) -> str:
    """Percent escapes of what may not stand in a request line; bytes of the command line stay these bytes."""
    try:
        raw = match[0].encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = match[0].encode("utf-8", "replace")
    return "".join(f"%{byte:02X}" for byte in raw)


def _checked(headers: Headers) -> Headers:
    checked = []
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name):
            raise UnsendableError("bad_request", f"The header name {name!r} holds a character it may not.")
        stripped = value.strip(" \t\r\n")
        if _BAD_VALUE.search(stripped) or not _encodable(stripped):
            raise UnsendableError(
                "bad_request", f"The value of the header {name} holds a line break or a control character."
            )
        checked.append((name, stripped))
    return tuple(checked)


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _completed(headers: Headers, request: Request, netloc: str, userinfo: str) -> Headers:
    host = tuple(item for item in headers if item[0].lower() == "host")[:1] or (("Host", netloc),)
    rest = tuple(item for item in headers if item[0].lower() != "host")
    rest = _with_body_length(rest, request)
    added = [item for item in _ALWAYS_STATED if header(rest, item[0]) is None]
    if userinfo and header(rest, "Authorization") is None:
        user, _, password = userinfo.partition(":")
        pair = f"{unquote(user)}:{unquote(password)}".encode("utf-8", "replace")
        added.append(("Authorization", "Basic " + base64.b64encode(pair).decode("ascii")))
    return host + rest + tuple(added)


def _with_body_length(headers: Headers, request: Request) -> Headers:
    """The body goes out in one piece of known length, whatever the headers of a recording claim."""
    length = str(len(request.body))
    needed = bool(request.body) or request.method.upper() in _METHODS_WITH_BODY
    kept = []
    stated = False
    for name, value in headers:
        if name.lower() == "transfer-encoding":
            continue
        if name.lower() == "content-length":
            if stated:
                continue
            stated = True
            kept.append((name, length))
            continue
        kept.append((name, value))
    if needed and not stated:
        kept.append(("Content-Length", length))
    return tuple(kept)
