"""What a model said, as rows: a whole answer, or the tail of one that is coming in."""

from __future__ import annotations

import msgspec

from llmdebug.tui.views.brokenrows import BrokenRows
from llmdebug.tui.views.highlight import json_row
from llmdebug.tui.views.lines import Lines
from llmdebug.tui.views.responseview import usage_text
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, Stacked, safe, wrap, wrapped
from llmdebug.tui.views.safetext import clean
from llmdebug.tui.views.streamtext import Said, StreamText

WRAPPED_CHARACTERS = 200_000
"""A longer text is broken at the pane's edge, not between words."""
MOST_SHOWN = 200
"""Choices, errors and calls; of more, the events tell."""
LIVE_CHARACTERS = 8_000
LIVE_CHOICES = 8
"""While an answer is coming in, its end is shown: what it takes to draw does not grow with it."""


def text_rows(text: StreamText, cells: int) -> Rows:
    """Wrapped: reasoning, content, tool calls, each choice by itself."""
    parts: list[Rows] = [FixedRows(_errors(text.errors[:MOST_SHOWN], cells))]
    chosen = sorted(text.choices.items())
    for index, said in chosen[:MOST_SHOWN]:
        parts += _choice(index, said, cells, named=len(text.choices) > 1)
    left = max(len(chosen), len(text.errors)) - MOST_SHOWN
    if left > 0:
        parts.append(FixedRows([safe(f"{left:,} more are left out here: see the events.", "dim")]))
    if text.usage:
        parts.append(FixedRows(wrapped([safe(usage_text(text.usage), "dim")], cells)))
    return Stacked(parts) if any(map(len, parts)) else FixedRows([safe(NO_TEXT, "dim")])


NO_TEXT = "The stream holds no text: see its events."


def live_rows(text: StreamText, cells: int) -> Rows:
    """The end of each of the latest choices."""
    latest = sorted(list(text.choices)[-LIVE_CHOICES:])
    room = LIVE_CHARACTERS // max(len(latest), 1)
    rows = _errors(text.errors[-LIVE_CHOICES:], cells)
    for index in latest:
        said = text.choices[index]
        if len(text.choices) > 1:
            rows.append((Span(f"choice {index}", "strong"),))
        for told, role in ((said.reasoning, "dim"), (said.text, "text")):
            rows += _paragraphs(_tail(told, room), cells, role) if told else []
        for number, call in list(said.calls.items())[-LIVE_CHOICES:]:
            named = (Span(f"tool call {number}: ", "strong"), Span(clean(call.name[:200]), "accent"))
            rows += [named, *_paragraphs(_tail(call.arguments, room), cells, "text")]
    return FixedRows(rows or [safe("Events arrive; there is no text in them yet.", "dim")])


def _tail(text: str, most: int) -> str:
    return text if len(text) <= most else "…" + text[-most:]


def _errors(errors: list[str], cells: int) -> list[Row]:
    told = [(Span("error: ", "error"), Span(clean(error[:WRAPPED_CHARACTERS]), "error")) for error in errors]
    return wrapped(told, cells, 2)


def _choice(index: int, said: Said, cells: int, *, named: bool) -> list[Rows]:
    parts: list[Rows] = [FixedRows([(Span(f"choice {index}", "strong"),)])] if named else []
    if said.reasoning:
        parts += [FixedRows([(Span("reasoning", "strong"),)]), _spoken(said.reasoning, cells, "dim"), FixedRows([()])]
    if said.text:
        parts.append(_spoken(said.text, cells, "text"))
    for number, call in sorted(said.calls.items())[:MOST_SHOWN]:
        rows: list[Row] = [(Span(f"tool call {number}: ", "strong"), Span(clean(call.name), "accent"))]
        parts += [FixedRows(rows), _arguments(call.arguments, cells)]
    if said.finish:
        parts.append(FixedRows([(Span(f"[{clean(said.finish)}]", "dim"),)]))
    return parts


def _spoken(text: str, cells: int, role: str) -> Rows:
    if len(text) > WRAPPED_CHARACTERS:
        return BrokenRows(Lines(text.encode("utf-8", "replace")), cells, role)
    return FixedRows(_paragraphs(text, cells, role))


def _paragraphs(text: str, cells: int, role: str) -> list[Row]:
    rows: list[Row] = []
    for line in text.split("\n"):
        rows += wrap((Span(clean(line), role),), cells)
    return rows


def _arguments(arguments: str, cells: int) -> Rows:
    if len(arguments) > WRAPPED_CHARACTERS:
        return _spoken(arguments, cells, "text")
    try:
        written = msgspec.json.format(arguments.encode(), indent=2).decode()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        written = arguments
    return FixedRows(wrapped([json_row(clean(line)) for line in written.split("\n")], cells, 4))
