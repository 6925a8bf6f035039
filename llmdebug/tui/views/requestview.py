"""A request as rows: line, headers, body, with a mark beside what is blamed or ignored."""

from __future__ import annotations

from collections.abc import Mapping

from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Request, header
from llmdebug.jsontext.parse import JsonDocument, JsonError, line_and_column, parse_json
from llmdebug.jsontext.patch import same
from llmdebug.jsontext.pointer import PointerError, get, has, parent
from llmdebug.tui.requesttext import MAX_EDITED_BYTES, shown_url
from llmdebug.tui.views.body import BodyDocument, formatted_json
from llmdebug.tui.views.highlight import header_row
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, pattern_of, plain, safe, wrap
from llmdebug.tui.views.safetext import clean

BLAMED, IGNORED = "✗", "?"
MARKED_BYTES = 1_000_000
"""In larger bodies no line is marked."""
MOST_MARKS = 100


def editable_body(body: bytes) -> str | None:
    """The body as it is edited: indented where it is JSON; None where it is too large or no text."""
    if len(body) > MAX_EDITED_BYTES:
        return None
    formatted = formatted_json(body)
    if formatted is not None and len(formatted) <= MAX_EDITED_BYTES * 2:
        body = formatted
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def marks_of(text: str, diagnosis: Diagnosis | None, refused: bytes) -> dict[int, str]:
    """Line of a body's text, from 0, to its mark; a missing field marks the object that lacks it.

    What differs from the `refused` body is not marked any more: it may be right now.
    """
    if diagnosis is None or len(text) > MARKED_BYTES or not (diagnosis.fields or diagnosis.ignored):
        return {}
    try:
        document, before = parse_json(text), parse_json(refused)
    except JsonError:
        return {}
    wanted = [(pointer, IGNORED) for pointer in diagnosis.ignored]
    wanted += [(field.pointer, BLAMED) for field in diagnosis.fields if field.place == "body"]
    marks: dict[int, str] = {}
    for pointer, mark in wanted[:MOST_MARKS]:
        line = _line_of(document, before, pointer)
        if line is not None:
            marks[line] = mark
    return marks


def _line_of(document: JsonDocument, before: JsonDocument, pointer: str) -> int | None:
    """The line of what stands at a pointer, or of the object that lacks it; None where it has changed."""
    absent = object()
    try:
        now = get(document.value, pointer) if has(document.value, pointer) else absent
        then = get(before.value, pointer) if has(before.value, pointer) else absent
        if (now is absent) != (then is absent) or (now is not absent and not same(now, then)):
            return None
        span = document.span(pointer if now is not absent else parent(pointer))
    except PointerError:
        return None
    return None if span is None else line_and_column(document.text, span.key_start)[0] - 1


def is_json(request: Request) -> bool:
    """Whether a request's body is meant as JSON."""
    named = (header(request.headers, "Content-Type") or "").lower()
    return "json" in named or (not named and request.body.lstrip()[:1] in (b"{", b"["))


def problem_of(body: bytes) -> str:
    """What is wrong with a body that should be JSON; empty where nothing is."""
    if not body.strip() or len(body) > MARKED_BYTES:
        return ""
    try:
        document = parse_json(body)
    except JsonError as error:
        return f"body line {error.line}, column {error.column}: {error.message}"
    if document.duplicates:
        twice = document.duplicates[0]
        return f"body line {twice.line}: the key {twice.pointer} stands twice; servers take the last"
    return ""


class RequestRows:
    """Head and body together; `body_starts` is the row where the body begins."""

    def __init__(
        self, request: Request, base_url: str | None, document: BodyDocument, marks: Mapping[int, str], cells: int
    ) -> None:
        self._marks = marks
        line = f"{request.method} {shown_url(request.url, base_url)}"
        head: list[Row] = [*wrap((Span("  "), *safe(line, "strong")), cells, 4)]
        for name, value in request.headers:
            head += wrap((Span("  "), *header_row(clean(f"{name}: {value}"))), cells, 6)
        self._head = [*head, ()]
        self._body: Rows = document.rows(max(cells - 2, 1)) if document.body else FixedRows()
        self.body_starts = len(self._head)

    def __len__(self) -> int:
        return len(self._head) + len(self._body)

    def row(self, index: int) -> Row:
        if index < self.body_starts:
            return self._head[index]
        place = index - self.body_starts
        row = self._body.row(place)
        line_at = getattr(self._body, "line_at", None)
        line = line_at(place) if line_at is not None else place
        first = place == 0 or line_at is None or line_at(place - 1) != line
        mark = self._marks.get(line, "") if first else ""
        role = "error" if mark == BLAMED else "warning"
        return (Span(f"{mark} " if mark else "  ", role), *row)

    def body_line(self, index: int) -> int | None:
        """The body's line, from 0, that a row shows; None above the body."""
        if index < self.body_starts:
            return None
        line_at = getattr(self._body, "line_at", None)
        place = index - self.body_starts
        return line_at(place) if line_at is not None else place

    def find(self, needle: str, start: int, step: int) -> int | None:
        pattern = pattern_of(needle)
        order = range(1, self.body_starts + 1)
        if start < self.body_starts:
            for distance in order:
                index = start + step * distance
                if 0 <= index < self.body_starts and pattern.search(plain(self._head[index])):
                    return index
        place = max(start - self.body_starts, 0)
        found = self._body.find(needle, place, step) if len(self._body) else None
        if found is not None:
            return found + self.body_starts
        for index in range(self.body_starts):
            if pattern.search(plain(self._head[index])):
                return index
        return None
