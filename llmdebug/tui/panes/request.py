"""The request, when it is not being edited."""

from __future__ import annotations

from typing import ClassVar

from llmdebug.tui.panes.linepane import LinePane
from llmdebug.tui.theme import Theme
from llmdebug.tui.views.body import BodyDocument
from llmdebug.tui.views.requestview import RequestRows, editable_body, is_json, marks_of, problem_of
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, safe, wrapped
from llmdebug.tui.worksheet import Entry

FIRST_STEPS = (
    "Paste a curl command or a JSON body, or press {edit}: it becomes a request here.",
    "{send} sends it. A refusal is traced to the line of the server's source that refused.",
    "{link-source} links the folder that holds that source. {help} shows every key.",
)

LAID_OUT_LINES = 10_000
"""A body of more lines was laid out by somebody: it is shown as it came."""


class RequestPane(LinePane):
    margin: ClassVar[int] = 0
    pane: ClassVar[str] = "request"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.entry: Entry | None = None
        self.base_url: str | None = None
        self.problem = ""
        self.document = BodyDocument(b"")
        self._read: bytes | None = None

    def show(self, entry: Entry | None, base_url: str | None, *, home: bool = False) -> None:
        self.entry, self.base_url = entry, base_url
        body = entry.request.body if entry is not None else b""
        if body is not self._read:
            self._read = body
            self.document = BodyDocument(body, raw=body.count(b"\n") > LAID_OUT_LINES)
            self.problem = problem_of(body) if entry is not None and is_json(entry.request) else ""
        self.rebuild(home=home)

    def heading(self, cells: int) -> tuple[Row, Row]:
        entry = self.entry
        if entry is None:
            return (Span("Request"),), ()
        right: Row = ()
        if entry.applied is not None:
            right = (Span(self.keymap.told(f"remedy {entry.applied.number} · {{send}} sends"), "accent"),)
        elif self.problem:
            right = (Span("not JSON", "error"),)
        elif entry.is_changed:
            right = (Span("edited", "warning"),)
        return (Span("Request"),), right

    def make_rows(self, cells: int) -> Rows:
        entry = self.entry
        if entry is None:
            return FixedRows(wrapped([(Span("  "), *safe(self.keymap.told(line))) for line in FIRST_STEPS], cells, 2))
        return RequestRows(entry.request, self.base_url, self.document, self._marks(entry), cells)

    def make_pinned(self, cells: int) -> tuple[Row, ...]:
        if not self.problem:
            return ()
        return tuple(wrapped([(Span("✗ ", "error"), *safe(self.problem, "error"))], cells, 2)[:3])

    def _marks(self, entry: Entry) -> dict[int, str]:
        if entry.diagnosis is None or entry.settled == "confirmed" or entry.sent is None:
            return {}
        text = editable_body(entry.request.body)
        return marks_of(text, entry.diagnosis, entry.sent.body) if text is not None else {}

    @property
    def body_line(self) -> int | None:
        """The body's line under the cursor, from 0."""
        rows = self.rows
        return rows.body_line(self.cursor) if isinstance(rows, RequestRows) and len(rows) else None
