"""The views of an answer: body, raw, headers, events, text; and the line that sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from llmdebug.http.exchange import Exchange, Response, StreamEvent, header
from llmdebug.tui.views.highlight import header_row, json_row
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, safe, wrap, wrapped
from llmdebug.tui.views.safetext import clean, shorten, width
from llmdebug.tui.views.streamtext import StreamText

CUT_SHORT: dict[str, str] = {
    "cancelled": "cancelled",
    "stopped": "stopped",
    "too_large": "cut",
    "total_timeout": "given up",
}
"""Kinds of failure by which an answer ended that did not break off by itself."""
VIEWS = ("body", "raw", "headers", "events", "text")


def views_of(response: Response, text: StreamText | None) -> tuple[str, ...]:
    """The views that an answer has, the best first."""
    if response.events:
        return ("text", "events", "raw", "headers")
    return ("body", "text", "raw", "headers") if text is not None else ("body", "raw", "headers")


def status_spans(exchange: Exchange, *, brief: bool = False) -> Row:
    """Status, time and size; `brief` leaves the reason out."""
    response, timing = exchange.response, exchange.timing
    if response is None:
        return (Span("no answer", "error"),)
    role = "ok" if response.status < 300 else "warning" if response.status < 400 else "error"
    reason = "" if brief else f" {response.reason}"
    spans = [Span(clean(f"{response.status}{reason}".rstrip()), role)]
    if exchange.failure is not None:
        spans.append(Span(f", {CUT_SHORT.get(exchange.failure.kind, 'broke off')}", "error"))
    if timing is not None and timing.end is not None:
        spans.append(Span(f" · {duration(timing.end)}"))
    spans.append(Span(f" · {size(len(response.body))}"))
    return tuple(spans)


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.1f} kB"
    return f"{count / 1_000_000:.1f} MB"


def header_rows(exchange: Exchange, cells: int) -> Rows:
    """Status line, headers and times."""
    rows: list[Row] = []
    response = exchange.response
    if response is not None:
        rows.append(safe(f"{response.http_version} {response.status} {response.reason}", "strong"))
        rows += [header_row(clean(f"{name}: {value}")) for name, value in response.headers]
    timing = exchange.timing
    if timing is not None:
        rows.append(())
        times = (("connected", timing.connect), ("first byte", timing.first_byte), ("end", timing.end))
        rows += [(Span(f"{name:<10} ", "key"), Span(f"after {duration(at)}")) for name, at in times if at is not None]
    return FixedRows(wrapped(rows, cells, 2))


class EventRows:
    """A stream's events, one a row."""

    def __init__(self, events: Sequence[StreamEvent], cells: int) -> None:
        self._events = events
        self._cells = cells

    def __len__(self) -> int:
        return len(self._events)

    def row(self, index: int) -> Row:
        event = self._events[index]
        before = self._events[index - 1].at if index else event.at
        kind = (Span(clean(event.event) + " ", "strong"),) if event.event else ()
        new = gist(event)
        data = clean(event.data[: 4 * self._cells + 2_000])
        return (
            Span(f"{event.at:>8.3f} ", "number"),
            Span(f"+{(event.at - before) * 1000:>5.0f} ms  ", "dim"),
            *kind,
            *((*new, Span("  " + data, "dim")) if new else json_row(data)),
        )

    def find(self, needle: str, start: int, step: int) -> int | None:
        fold = needle == needle.lower()
        count = len(self._events)
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            data = self._events[index].data
            if needle in (data.lower() if fold else data):
                return index
        return None


def gist(event: StreamEvent) -> Row:
    """What an event adds to the answer; empty where nothing of it is understood."""
    text = StreamText()
    text.feed(event)
    spans: list[Span] = [Span(clean(f"error {error}"), "error") for error in text.errors]
    for index, said in text.choices.items():
        if index:
            spans.append(Span(f"{index}: ", "dim"))
        if said.role and not said.text:
            spans.append(Span(clean(said.role) + " ", "key"))
        if said.reasoning:
            spans += [Span("reasoning ", "key"), Span(_quoted(said.reasoning), "string")]
        if said.text:
            spans.append(Span(_quoted(said.text), "string"))
        spans += [Span(clean(f"call {call.name}({call.arguments} "), "accent") for call in said.calls.values()]
        if said.finish:
            spans.append(Span(clean(f" {said.finish}"), "literal"))
    if text.usage:
        spans.append(Span(clean(usage_text(text.usage)), "number"))
    return tuple(spans)


def _quoted(text: str) -> str:
    return clean(msgspec.json.encode(text).decode())


def usage_text(usage: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in usage.items() if isinstance(value, int))


def waiting_rows(seconds: float, received: int, cells: int, hint: str) -> Rows:
    """While an answer is awaited, or comes in and is no stream of events; `hint` tells what can be done."""
    told = f"receiving the answer: {size(received)}" if received else f"waiting for the model: {duration(seconds)}"
    return FixedRows(wrapped([(Span(told, "warning"),), *([] if received else [safe(hint, "dim")])], cells))


def broken_off(exchange: Exchange, cells: int) -> list[Row]:
    """In few words, that an answer is not whole; why is the diagnosis pane's first sentence."""
    if exchange.failure is None:
        return []
    told = f"✗ {CUT_SHORT.get(exchange.failure.kind, 'broke off')} here: not the whole answer"
    return [(Span(shorten(told, cells), "error"),)]


def put_away(kept: int, whole: int) -> str:
    """That only the head of an answer is still there, as a sentence."""
    return f"The first {size(kept)} of {size(whole)}: the rest made room for newer answers."


def redirect_rows(response: Response, cells: int) -> list[Row]:
    """Where an answer sends its client, which llmdebug does not follow."""
    location = header(response.headers, "Location")
    if not 300 <= response.status < 400 or location is None:
        return []
    return wrap(safe(f"Location: {location} (redirects are not followed: send the request there)", "warning"), cells, 2)


def failure_rows(exchange: Exchange, cells: int) -> list[Row]:
    """Why there is no answer, or only a part."""
    if exchange.failure is None:
        return []
    return wrapped([(Span("✗ ", "error"), Span(clean(exchange.failure.message), "error"))], cells, 2)


def content_type(response: Response) -> str:
    return (header(response.headers, "Content-Type") or "").partition(";")[0]


def titled_views(views: Sequence[str], chosen: str, cells: int) -> Row:
    """The names of the views, the chosen one in brackets."""
    told = " ".join(f"[{view}]" if view == chosen else view for view in views)
    return (Span(shorten(told, cells)),) if width(told) <= cells else (Span(f"[{chosen}]"),)
