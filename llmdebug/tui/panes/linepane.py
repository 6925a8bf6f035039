"""A pane of rows on the Line API: a title line, rows below it, a cursor; only visible rows are made.

Panes do not take Textual's focus: the screen gets every key and knows which pane is active. So moving from
pane to pane repaints two title lines and nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from llmdebug.tui.keymap import Keymap
from llmdebug.tui.panes.painter import beside, marked_matches, paint
from llmdebug.tui.theme import Theme
from llmdebug.tui.views.rows import NO_ROWS, Row, Rows, Span, pattern_of
from llmdebug.tui.views.safetext import width

if TYPE_CHECKING:
    pass

WHEEL_LINES = 3
ABOVE_FOUND = 2
"""Rows that stay in sight above one that was searched for."""


class LinePane(Widget):
    """Subclasses give `heading` and `make_rows`."""

    DEFAULT_CSS = ""
    ALLOW_SELECT = False
    pane: ClassVar[str] = ""
    """Its name, which is also its context for keys."""
    has_cursor: ClassVar[bool] = True
    margin: ClassVar[int] = 1
    """Empty cells at the left of each row."""

    class Pressed(Message):
        """The user clicked into a pane."""

        def __init__(self, pane: LinePane, row: int | None) -> None:
            super().__init__()
            self.pane = pane
            self.row = row

    def __init__(self, theme: Theme) -> None:
        super().__init__(id=self.pane or None)
        self.theme = theme
        self.keymap = Keymap()
        """The user's, once the screen has given it."""
        self.active = False
        self.divider = False
        """Whether its first column is the line between two columns."""
        self.rows: Rows = NO_ROWS
        self.pinned: tuple[Row, ...] = ()
        """Rows that stay at the lower edge."""
        self.top = 0
        self.left = 0
        self.cursor = 0
        self.needle = ""
        self._pattern: re.Pattern[str] | None = None
        self._made_for: int | None = None

    def heading(self, cells: int) -> tuple[Row, Row]:
        """What the title line says at its left and at its right."""
        return (Span(self.pane.capitalize(), "title"),), ()

    def make_rows(self, cells: int) -> Rows:
        """The rows for a width."""
        return self.rows

    def make_pinned(self, cells: int) -> tuple[Row, ...]:
        """The rows at the lower edge for a width."""
        return ()

    @property
    def cells(self) -> int:
        """Width of the rows."""
        return max(self.size.width - self.divider - self.margin, 1)

    @property
    def height_of_rows(self) -> int:
        """How many rows are visible."""
        return max(self.size.height - 1 - len(self.pinned), 0)

    def rebuild(self, *, home: bool = False) -> None:
        """The content has changed."""
        if not self.size.width:
            self._made_for = None
            return
        self._made_for = self.cells
        self.pinned = self.make_pinned(self.cells)
        if len(self.pinned) > max(self.size.height - 3, 0):
            self.pinned = self.pinned[: max(self.size.height - 3, 0)]
        self.rows = self.make_rows(self.cells)
        if home:
            self.top = self.left = self.cursor = 0
        self._hold_in_range()
        self.refresh()

    def _hold_in_range(self) -> None:
        count = len(self.rows)
        self.cursor = max(0, min(self.cursor, count - 1))
        self.top = max(0, min(self.top, count - 1 if self.has_cursor else count - self.height_of_rows))
        self._follow_cursor()

    def _follow_cursor(self) -> None:
        height = self.height_of_rows
        if not self.has_cursor or height <= 0:
            return
        if self.cursor < self.top:
            self.top = self.cursor
        elif self.cursor >= self.top + height:
            self.top = self.cursor - height + 1
        self.top = max(0, min(self.top, max(len(self.rows) - height, 0)))

    def on_resize(self, event: events.Resize) -> None:
        event.stop()
        self.rebuild()

    def set_active(self, active: bool) -> None:
        """Shown by the title's colour, and by the cursor's line."""
        if self.active != active:
            self.active = active
            self.refresh_title()
            self.refresh_row(self.cursor)

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.refresh()

    def refresh_title(self) -> None:
        self.refresh(Region(0, 0, self.size.width, 1))

    def refresh_row(self, index: int) -> None:
        y = index - self.top + 1
        if 1 <= y <= self.height_of_rows:
            self.refresh(Region(0, y, self.size.width, 1))

    # What is drawn.

    def render_line(self, y: int) -> Strip:
        cells = self.cells
        if self._made_for != cells:
            self._made_for = cells
            self.pinned = self.make_pinned(cells)[: max(self.size.height - 3, 0)]
            self.rows = self.make_rows(cells)
            self._hold_in_range()
        whole = cells + self.margin
        strip = self._title(whole) if y == 0 else self._body(y, whole)
        if not self.divider:
            return strip
        edge = paint((Span("│", "dim"),), 1, self.theme)
        return Strip.join([edge, strip])

    def _title(self, cells: int) -> Strip:
        role = "title_focus" if self.active else "title"
        left, right = self.heading(cells - 2)
        place = self.place()
        if place:
            right = (*right, Span("  " + place)) if right else (Span(place),)
        row = (Span(" "), *beside(left, right, cells - 2), Span(" "))
        if self.active:
            row = tuple(Span(text, role) for text, _ in row)
        return paint(row, cells, self.theme, behind=role)

    def place(self) -> str:
        """Where the visible rows lie, when not all are visible."""
        count, height = len(self.rows), self.height_of_rows
        if height <= 0 or count <= height:
            return ""
        return f"{(self.cursor if self.has_cursor else self.top) + 1:,}/{count:,}"

    def _body(self, y: int, cells: int) -> Strip:
        height = self.height_of_rows
        if y > height:
            place = y - height - 1
            row = self.pinned[place] if place < len(self.pinned) else ()
            return paint((Span(" " * self.margin), *row), cells, self.theme)
        index = self.top + y - 1
        if index >= len(self.rows):
            return paint((), cells, self.theme)
        row = self.rows.row(index)
        behind = self.behind(index)
        if self._pattern is not None:
            row = marked_matches(row, self._pattern)
        if not self.margin:
            return paint(row, cells, self.theme, behind=behind, left=self.left)
        edge = paint((), self.margin, self.theme, behind=behind)
        return Strip.join([edge, paint(row, cells - self.margin, self.theme, behind=behind, left=self.left)])

    def behind(self, index: int) -> str:
        """The role whose background a row has."""
        return "cursor" if self.has_cursor and self.active and index == self.cursor else "text"

    # Moving.

    def move_to(self, index: int) -> None:
        """The cursor to a row, or the rows to the top where there is no cursor."""
        if not len(self.rows):
            return
        index = max(0, min(index, len(self.rows) - 1))
        before, top = self.cursor, self.top
        if self.has_cursor:
            self.cursor = index
            self._follow_cursor()
        else:
            self.top = max(0, min(index, len(self.rows) - self.height_of_rows))
        if self.top != top:
            self.refresh()
        elif before != self.cursor:
            self.refresh_row(before)
            self.refresh_row(self.cursor)
            if self.place():
                self.refresh_title()
        if before != self.cursor:
            self.cursor_moved()

    def cursor_moved(self) -> None:
        """The cursor stands on another row now."""

    def move_by(self, count: int) -> None:
        self.move_to((self.cursor if self.has_cursor else self.top) + count)

    def move_half(self, direction: int) -> None:
        self.move_by(direction * max(self.height_of_rows // 2, 1))

    def move_page(self, direction: int) -> None:
        self.move_by(direction * max(self.height_of_rows - 1, 1))

    def move_end(self) -> None:
        self.move_to(len(self.rows) - 1)

    @property
    def is_at_end(self) -> bool:
        """Whether the last row is the one that is looked at."""
        return (self.cursor if self.has_cursor else self.top + self.height_of_rows - 1) >= len(self.rows) - 1

    def scroll_sideways(self, cells: int) -> None:
        left = max(0, self.left + cells)
        if cells > 0 and not self._reaches_beyond():
            return
        if left != self.left:
            self.left = left
            self.refresh()

    def _reaches_beyond(self) -> bool:
        """Whether a visible row is longer than what shows of it."""
        last = min(self.top + self.height_of_rows, len(self.rows))
        edge = self.left + self.cells
        return any(sum(width(span.text) for span in self.rows.row(index)) > edge for index in range(self.top, last))

    # Searching.

    def search(self, needle: str, step: int = 1) -> bool:
        """Goes to the next row that holds the needle; whether there is one."""
        self.needle = needle
        self._pattern = pattern_of(needle) if needle else None
        found = self.rows.find(needle, self.cursor if self.has_cursor else self.top, step) if needle else None
        self.refresh()
        if found is None:
            return False
        self.move_to(found)
        if self.has_cursor and found - self.top < ABOVE_FOUND and self.height_of_rows > 2 * ABOVE_FOUND:
            self.top = max(found - ABOVE_FOUND, 0)
        return True

    def end_search(self) -> None:
        self.needle = ""
        self._pattern = None
        self.refresh()

    # The mouse, for those who have one.

    def on_click(self, event: events.Click) -> None:
        event.stop()
        row = self.top + event.y - 1 if 1 <= event.y <= self.height_of_rows else None
        self.post_message(self.Pressed(self, row if row is not None and row < len(self.rows) else None))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move_by(WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move_by(-WHEEL_LINES)
