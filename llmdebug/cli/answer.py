"""An answer on stdout: as it came for a program, readable for a person."""

from __future__ import annotations

from typing import TextIO

import msgspec

from llmdebug.cli.ink import Ink
from llmdebug.cli.raw_output import write_bytes
from llmdebug.cli.talk import tell
from llmdebug.debugger.visible import visible
from llmdebug.http.exchange import Exchange, Request, Response, StreamEvent

MAX_SHOWN = 200_000
"""Bytes of a body that a terminal gets."""
_LOOKED_AT = 8_000


def print_event(event: StreamEvent, stream: TextIO) -> None:
    """One line, at once. Programs get the data alone."""
    if stream.isatty():
        name = Ink(stream)(f"{visible(event.event)}: ", "dim") if event.event else ""
        stream.write(f"{name}{visible(event.data)}\n")
    else:
        stream.write(event.data + "\n")
    stream.flush()


def print_body(response: Response, stream: TextIO) -> None:
    """The body of an answer whose events were not printed as they came."""
    body = response.body
    if not stream.isatty():
        write_bytes(stream, body)
        return
    if not body:
        return
    if b"\0" in body[:_LOOKED_AT]:
        tell(f"(the body is binary, {len(body):,} bytes: write it to a file with > FILE)")
        return
    shown = body[:MAX_SHOWN]
    stream.write(visible(_formatted(shown).decode("utf-8", "replace")) + "\n")
    if len(body) > MAX_SHOWN:
        tell(f"(the first {MAX_SHOWN:,} of {len(body):,} bytes: write all to a file with > FILE)")


def _formatted(body: bytes) -> bytes:
    """JSON on lines of its own; anything else as it is."""
    try:
        return msgspec.json.format(body, indent=2)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return body.rstrip(b"\n")


def status_line(exchange: Exchange) -> str:
    """Status, times and size."""
    response, timing = exchange.response, exchange.timing
    if response is None:
        return "no answer"
    parts = [f"{response.status} {response.reason}".rstrip()]
    if timing is not None and timing.end is not None:
        first = f" (first byte {_ms(timing.first_byte)})" if timing.first_byte is not None else ""
        parts.append(_ms(timing.end) + first)
    parts.append(f"{len(response.body):,} bytes")
    if response.events:
        parts.append(f"{len(response.events):,} events")
    return " · ".join(parts)


def request_text(request: Request, most: int | None = None) -> str:
    """The request as it goes over the wire, for reading; of its body the first `most` bytes."""
    lines = [f"{request.method} {request.url}", *(f"{name}: {value}" for name, value in request.headers)]
    body = request.body[:most].decode("utf-8", "replace")
    if most is not None and len(request.body) > most:
        body += f"… ({len(request.body):,} bytes in all)"
    return "\n".join(lines) + (f"\n\n{body}" if body else "")


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"
