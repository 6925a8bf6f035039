"""A source file at the line that refused, with search; nothing of it is interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from llmdebug.tui.commands import Command
from llmdebug.tui.screens.viewer import ViewerScreen
from llmdebug.tui.views.highlight import python_row
from llmdebug.tui.views.lines import Lines, byte_pattern
from llmdebug.tui.views.rows import Row, Rows, Span
from llmdebug.tui.views.safetext import clean, shorten, shorten_middle

if TYPE_CHECKING:
    from llmdebug.diagnosis.verdict import Site
    from llmdebug.tui.screens.main import MainScreen

LONGEST = 2_000


class SourceRows:
    """A file's lines, numbered, one range of them marked."""

    def __init__(self, lines: Lines, first: int, last: int, cells: int) -> None:
        self._lines = lines
        self._first, self._last = first, last
        self._cells = cells
        self._digits = len(str(len(lines)))

    def __len__(self) -> int:
        return len(self._lines)

    def row(self, index: int) -> Row:
        number = f"{index + 1:>{self._digits}}"
        text = clean(self._lines.text(index, LONGEST))
        if self._first <= index + 1 <= self._last:
            padded = f"{text:<{max(self._cells - self._digits - 3, 0)}}"
            return (Span(f"{number} ▶ ", "marked"), Span(padded, "marked"))
        return (Span(f"{number} │ ", "dim"), *python_row(text))

    def find(self, needle: str, start: int, step: int) -> int | None:
        return self._lines.search(byte_pattern(needle), start, step)


class SourceScreen(ViewerScreen):
    """Opens with the place in the middle."""

    def __init__(self, main: MainScreen, site: Site, data: bytes) -> None:
        super().__init__(main)
        self.site = site
        self._lines = Lines(data)

    def heading(self, cells: int) -> Row:
        told = f"{self.site.role} {self.site.symbol}".rstrip()
        room = max(cells - len(told) - 4, 20)
        return (
            Span(f"{shorten_middle(clean(f'{self.site.file}:{self.site.line}'), room)}  {shorten(clean(told), cells)}"),
        )

    def make_rows(self, cells: int) -> Rows:
        return SourceRows(self._lines, self.site.line, self.site.end_line, cells)

    def on_mount(self) -> None:
        self.call_after_refresh(self._to_place)

    def _to_place(self) -> None:
        self.pane.rebuild()
        self.pane.move_to(min(self.site.line - 1 + self.pane.height_of_rows // 2, len(self._lines) - 1))
        self.pane.move_to(self.site.line - 1)

    def hints(self) -> list[tuple[str, str]]:
        if self.pane.needle:
            return super().hints()
        return [("j k", "move"), ("/", "search"), ("o", "your editor"), ("y", "copy file:line"), ("Esc", "back")]

    def press(self, event: events.Key, command: Command | None) -> bool:
        asked = self.main.keymap.command(event.key, "diagnosis")
        if asked is None:
            return False
        if asked.name == "open-source":
            from llmdebug.tui.acts.looking import open_source

            open_source(self.main)
            return True
        if asked.name == "copy":
            from llmdebug.tui.acts.copying import place

            place(self.main)
            self.bottom.message = self.main.bottom.message
            self.main.bottom.message = ()
            self.bottom.refresh()
            return True
        return False
