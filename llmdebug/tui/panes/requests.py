"""The list of the session's requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from llmdebug.tui.panes.linepane import LinePane
from llmdebug.tui.theme import Theme
from llmdebug.tui.views.responseview import duration
from llmdebug.tui.views.rows import Row, Rows, Span
from llmdebug.tui.views.safetext import clean, shorten, width
from llmdebug.tui.worksheet import Entry, Worksheet, path_of

_ROLES = {"answered": "ok", "refused": "error", "no_answer": "error", "waiting": "warning", "new": "dim"}


NAME_CELLS = 26
"""Where there is room for more than the names, they stand in a column of this width."""


def state_text(entry: Entry) -> str:
    """An entry's state in at most four cells."""
    if entry.state == "waiting":
        return "…"
    response = entry.exchange.response if entry.exchange is not None else None
    if response is not None:
        return str(response.status)
    return "✗" if entry.state == "no_answer" else "·"


class EntryRows:
    """One row an entry, made when it is seen: there may be ten thousand."""

    def __init__(self, worksheet: Worksheet, cells: int) -> None:
        self._worksheet = worksheet
        self._cells = cells

    def __len__(self) -> int:
        return len(self._worksheet.entries)

    def row(self, index: int) -> Row:
        entry = self._worksheet.entries[index]
        here = "▸" if index == self._worksheet.current else " "
        changed = "*" if entry.is_changed else " "
        timing = entry.exchange.timing if entry.exchange is not None else None
        took = f" {duration(timing.end)}" if timing is not None and timing.end is not None else ""
        room = self._cells - 7 - (width(took) if self._cells >= 40 else 0)
        name = shorten(clean(entry.name), max(room, 4))
        broken = entry.exchange is not None and entry.exchange.response is not None and entry.exchange.failure
        row = (
            Span(here, "accent"),
            Span(f"{state_text(entry):>3}{'✗' if broken else ' '}", _ROLES[entry.state]),
            Span(changed, "warning"),
            Span(name, "strong" if here == "▸" else "text"),
        )
        if self._cells < 40:
            return row
        line = f"{entry.request.method} {path_of(entry.request.url)}" if self._cells >= 60 else ""
        name += " " * (NAME_CELLS - width(name)) if line else ""
        beside = f"  {shorten(clean(line), room - width(name) - 4)}" if room - width(name) > 20 else ""
        filler = " " * max(room - width(name) - width(beside), 0)
        return (*row[:-1], row[-1]._replace(text=name), Span(f"{beside}{filler}{took}", "dim"))

    def find(self, needle: str, start: int, step: int) -> int | None:
        count = len(self)
        fold = needle == needle.lower()
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            entry = self._worksheet.entries[index]
            held = f"{entry.name} {entry.request.method} {entry.request.url} {state_text(entry)}"
            if needle in (held.lower() if fold else held):
                return index
        return None


class RequestsPane(LinePane):
    margin: ClassVar[int] = 0
    pane: ClassVar[str] = "requests"

    def __init__(self, theme: Theme, worksheet: Worksheet, title: Callable[[], str]) -> None:
        super().__init__(theme)
        self.worksheet = worksheet
        self._title_text = title

    def heading(self, cells: int) -> tuple[Row, Row]:
        return (Span(shorten(self._title_text(), cells)),), ()

    def make_rows(self, cells: int) -> Rows:
        steps = self.worksheet.recording
        if steps is None:
            return EntryRows(self.worksheet, cells)
        from llmdebug.tui.panes.steprows import StepRows

        return StepRows(steps, cells)

    @property
    def under_cursor(self) -> int:
        """The entry's place in the worksheet."""
        steps = self.worksheet.recording
        return self.cursor if steps is None else steps.entry_at(self.cursor)

    def look_at(self, index: int) -> None:
        """Puts the cursor on an entry, where the list shows it."""
        steps = self.worksheet.recording
        place = index if steps is None else steps.place_of(index)
        if place is not None:
            self.move_to(place)
