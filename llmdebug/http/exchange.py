"""What went over the wire: a request, and what came back or why nothing did.

These are values. Bytes stay the bytes of the wire: a body is never re-encoded, header
order and repeated headers are kept. Times are seconds; `started_at` is Unix time.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Headers = tuple[tuple[str, str], ...]

FailureKind = Literal[
    "dns",
    "refused",
    "unreachable",
    "tls",
    "proxy",
    "connect_timeout",
    "first_byte_timeout",
    "total_timeout",
    "reset",
    "incomplete",
    "not_http",
    "too_large",
    "cancelled",
    "stopped",
    "bad_url",
    "bad_request",
]
"""Why no complete answer came; `bad_url` and `bad_request` never reached the wire.

`stopped`: a breakpoint inside a stream was met, so as much came as was asked for.
"""


def header(headers: Headers, name: str) -> str | None:
    """The first value of a header, its name matched without case; None where it is absent."""
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), None)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is to be sent, or as it was sent."""

    method: str
    url: str
    """Absolute, with query; the path is as written, not normalised."""
    headers: Headers = ()
    body: bytes = b""
    name: str = ""
    """What the file it came from calls it; empty where it has no name."""
    keyless: bool = False
    """Whether its keys were left behind since it goes to another host: nobody then gives it a key unasked."""


class StreamEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One server-sent event, or one line of newline-delimited JSON."""

    data: str
    event: str = ""
    """The event's type; empty for the default type and for JSON lines."""
    at: float
    """Seconds from sending the request to the event's last byte."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered."""

    status: int
    reason: str = ""
    http_version: str = "HTTP/1.1"
    headers: Headers = ()
    body: bytes = b""
    """The body after transfer and content decoding; what arrived of it where the answer broke off."""
    events: tuple[StreamEvent, ...] = ()


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer, or only a part of one."""

    kind: FailureKind
    message: str
    """One sentence for the user: what happened, where, and what to do."""


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """When things happened, in seconds from the start of the exchange; None where they did not."""

    started_at: float
    connect: float | None = None
    first_byte: float | None = None
    end: float | None = None


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what came back. `response` and `failure` are both there when an answer broke off."""

    request: Request
    response: Response | None = None
    failure: Failure | None = None
    timing: Timing | None = None
