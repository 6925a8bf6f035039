"""What came back: the answer in several views, an answer that is coming in, or why there is none."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import ClassVar

from llmdebug.http.exchange import Exchange
from llmdebug.tui.panes.linepane import LinePane
from llmdebug.tui.theme import Theme
from llmdebug.tui.views import responseview
from llmdebug.tui.views.answertext import live_rows, text_rows
from llmdebug.tui.views.body import BodyDocument, BodyRows
from llmdebug.tui.views.reading import QUICK_BYTES, Reading, read_response
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, plain, safe, wrap, wrapped
from llmdebug.tui.views.safetext import width
from llmdebug.tui.views.streamtext import StreamText
from llmdebug.tui.worksheet import Entry

FED_AT_ONCE = 50
"""Events between two looks at the clock."""


class ResponsePane(LinePane):
    pane: ClassVar[str] = "response"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.entry: Entry | None = None
        self.view = ""
        self.views: tuple[str, ...] = ()
        self.document: BodyDocument | None = None
        self.raw: BodyDocument | None = None
        self.text: StreamText | None = None
        self.fed = 0
        """How many events of a stream that is coming in are in the text."""
        self._exchange: Exchange | None = None
        self.read_later: Callable[[Entry, Exchange], None] = lambda _entry, _exchange: None
        """Reads a large answer beside the event loop, and shows it then."""

    def show(self, entry: Entry | None, *, reading: Reading | None = None) -> None:
        """`reading` is that of the entry's answer, where it was made already."""
        other = entry is not self.entry
        self.entry = entry
        exchange = entry.exchange if entry is not None else None
        fresh = exchange is not self._exchange
        at_end = fresh and not other and bool(self.text) and self.is_at_end and bool(self.top)
        if fresh or reading is not None:
            self._exchange = exchange
            self._take(entry, exchange, reading)
        if entry is not None and entry.state == "waiting" and (other or len(entry.events) == 0):
            self.text = StreamText()
            self.fed = 0
        self.rebuild(home=fresh or other)
        if at_end and self.view == "text":
            self.move_end()

    def _take(self, entry: Entry | None, exchange: Exchange | None, reading: Reading | None) -> None:
        response = exchange.response if exchange is not None else None
        self.document = self.raw = self.text = None
        self.views, self.view = (), ""
        if response is None or exchange is None or entry is None:
            return
        if reading is None and (len(response.body) > QUICK_BYTES or entry.away):
            self.read_later(entry, exchange)
            return
        taken = reading if reading is not None else read_response(response)
        self.document, self.text = taken.document, taken.text
        self.views = responseview.views_of(response, self.text)
        self.view = self.views[0]

    def feed(self, entry: Entry, until: float) -> bool:
        """Takes what has arrived of a stream, until a time of time.perf_counter(); whether that was all."""
        text, events = self.text, entry.events
        while text is not None and self.fed < len(events):
            for event in islice(events, self.fed, self.fed + FED_AT_ONCE):
                text.feed(event)
            self.fed = min(self.fed + FED_AT_ONCE, len(events))
            if time.perf_counter() > until:
                break
        return text is None or self.fed >= len(events)

    def next_view(self) -> None:
        if self.views:
            self.view = self.views[(self.views.index(self.view) + 1) % len(self.views)]
            self.rebuild(home=True)

    def heading(self, cells: int) -> tuple[Row, Row]:
        entry = self.entry
        if entry is None:
            return (Span("Response"),), ()
        if entry.state == "waiting":
            return self._arriving(entry, cells)
        if entry.exchange is None:
            return (Span("Response"),), ()
        place = self.place()
        room = cells - (width(place) + 2 if place else 0)
        left = self._status(entry, entry.exchange, room)
        room -= width(plain(left)) + 2
        named = self.views and room >= len(self.view) + 2
        right = responseview.titled_views(self.views, self.view, room) if named else ()
        return left, right

    def _arriving(self, entry: Entry, cells: int) -> tuple[Row, Row]:
        """How far an answer is that is awaited; what has no room is left out, not cut."""
        if entry.ending:
            return (Span("keeping what arrived", "warning"),), ()
        does = "receiving" if entry.received or entry.events else "waiting"
        told = f"{does} {responseview.duration(entry.waited)}"
        cancels = self.keymap.told("{cancel} cancels")
        taken = width(cancels) + width(self.place()) + 4
        longer = f"{told} · {responseview.size(entry.received)}"
        if entry.received and width(longer) + taken <= cells:
            told = longer
        return (Span(told, "warning"),), (Span(cancels, "dim"),) if width(told) + taken <= cells else ()

    @staticmethod
    def _status(entry: Entry, exchange: Exchange, cells: int) -> Row:
        """Status, time and size; where they have no room the reason goes first, then size and time."""
        stale = (Span("older edit: ", "warning"),) if entry.is_stale else ()
        if entry.is_recorded:
            stale = (*stale, Span("recorded: ", "dim"))
        elif entry.was:
            stale = (*stale, Span(f"changed, was {entry.was}: ", "warning"))
        several = entry.attempt and entry.attempts > 1
        which = (Span(f"attempt {entry.attempt} of {entry.attempts}: "),) if several else ()
        full = responseview.status_spans(exchange, brief=entry.is_stale)
        brief = responseview.status_spans(exchange, brief=True)
        lengths = (full, brief, brief[:2], brief[:1])
        tries = [(*first, *stale, *spans) for first in (which, ()) for spans in lengths]
        return next((spans for spans in tries if width(plain(spans)) <= cells), (*stale, *brief[:1]))

    def make_rows(self, cells: int) -> Rows:
        entry = self.entry
        if entry is None:
            return FixedRows()
        if entry.state == "waiting":
            where = entry.request.url.partition("://")[2].partition("/")[0]
            text = self.text or StreamText()
            hint = f"{where} has the request; a slow first token is normal. " + self.keymap.told("{cancel} cancels.")
            if entry.events:
                return live_rows(text, cells)
            return responseview.waiting_rows(entry.waited, entry.received, cells, hint)
        exchange = entry.exchange
        if exchange is None:
            return FixedRows(wrapped([safe(self.keymap.told("Not sent yet: {send} sends the request."), "dim")], cells))
        response = exchange.response
        if response is None:
            return FixedRows(responseview.failure_rows(exchange, cells))
        if self.document is None:
            return FixedRows([safe("reading the answer…", "dim")])
        if self.view == "headers":
            return responseview.header_rows(exchange, cells)
        if self.view == "events":
            return responseview.EventRows(response.events, cells)
        if self.view == "text" and self.text is not None:
            return text_rows(self.text, cells)
        if self.view == "raw":
            if self.raw is None:
                as_came = not self.document.is_json and not self.document.is_hex
                self.raw = self.document if as_came else BodyDocument(response.body, raw=True)
            return self.raw.rows(cells)
        return self.document.rows(cells)

    def make_pinned(self, cells: int) -> tuple[Row, ...]:
        entry = self.entry
        if entry is None or entry.exchange is None or entry.exchange.response is None or entry.state == "waiting":
            return ()
        note = self.document.note if self.document is not None and self.view == "body" else ""
        noted = [wrap(safe(note, "warning"), cells, 2)] if note else []
        if entry.away and self.document is not None:
            told = responseview.put_away(len(entry.exchange.response.body), entry.away)
            noted.append(wrap(safe(told, "warning"), cells, 2))
        noted += [responseview.redirect_rows(entry.exchange.response, cells)]
        return (*responseview.broken_off(entry.exchange, cells), *(row for rows in noted for row in rows))

    # A tree of JSON.

    @property
    def can_fold(self) -> bool:
        return self.view == "body" and self.document is not None and self.document.is_json

    def fold(self) -> bool:
        """Folds or unfolds at the cursor; whether something changed."""
        rows, document = self.rows, self.document
        if not self.can_fold or document is None or not isinstance(rows, BodyRows):
            return False
        line = rows.line_at(self.cursor)
        if not document.fold(line):
            return False
        self._show_line(line)
        return True

    def fold_all(self, depth: int | None) -> None:
        """Folds below a depth; None unfolds everything."""
        rows, document = self.rows, self.document
        if not self.can_fold or document is None or not isinstance(rows, BodyRows):
            return
        line = rows.line_at(self.cursor)
        document.folded.clear() if depth is None else document.fold_below(depth)
        self._show_line(line)

    def sideways(self, direction: int) -> bool:
        """Left folds or goes to the parent, right unfolds; whether that was possible."""
        rows, document = self.rows, self.document
        if not self.can_fold or document is None or not isinstance(rows, BodyRows) or self.left:
            return False
        line = rows.line_at(self.cursor)
        opens = document.closing(line) is not None
        if direction > 0:
            if line not in document.folded:
                return False
            document.fold(line)
        elif opens and line not in document.folded:
            document.fold(line)
        else:
            line = document.parent(line)
        self._show_line(line)
        return True

    def _show_line(self, line: int) -> None:
        self.rebuild()
        if isinstance(self.rows, BodyRows):
            self.move_to(self.rows.index_of(line))
