"""A screen of one pane and its last line: the base of help, palette and source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.geometry import Region
from textual.screen import Screen

from llmdebug.tui.commands import BY_NAME, Command
from llmdebug.tui.panes.bars import BottomBar, Question
from llmdebug.tui.panes.layout import PanesLayout
from llmdebug.tui.panes.linepane import LinePane
from llmdebug.tui.views.rows import Row, Rows, Span

if TYPE_CHECKING:
    from textual.widget import Widget

    from llmdebug.tui.screens.main import MainScreen

MOVES: dict[str, str] = {
    "down": "move_by:1",
    "up": "move_by:-1",
    "half-down": "move_half:1",
    "half-up": "move_half:-1",
    "page-down": "move_page:1",
    "page-up": "move_page:-1",
    "left": "scroll_sideways:-8",
    "right": "scroll_sideways:8",
    "top": "move_to:0",
}
LEAVING = ("quit", "help", "view-source")
"""Commands whose keys lead back from here."""
ALIKE = ("redraw", "suspend")
"""Commands that do here what they do in the main screen."""


class ViewerPane(LinePane):
    """Rows made by its screen."""

    pane: ClassVar[str] = "viewer"

    def __init__(self, owner: ViewerScreen) -> None:
        super().__init__(owner.main.theme)
        self._owner = owner
        self.active = True

    def heading(self, cells: int) -> tuple[Row, Row]:
        return self._owner.heading(cells), ()

    def make_rows(self, cells: int) -> Rows:
        return self._owner.make_rows(cells)


class PagedPane(ViewerPane):
    """Without a cursor: each key of moving moves the rows."""

    has_cursor: ClassVar[bool] = False


class ViewerScreen(Screen[None], inherit_bindings=False):
    """Subclasses give `heading` and `make_rows`, and may take keys first in `press`."""

    AUTO_FOCUS = ""
    pane_type: ClassVar[type[ViewerPane]] = ViewerPane

    def __init__(self, main: MainScreen) -> None:
        super().__init__()
        self.main = main
        self.pane = self.pane_type(self)
        self.bottom = BottomBar(main.theme, self.hints)
        self.regions: dict[Widget, Region] = {}
        self._panes_layout = PanesLayout(self.regions)

    def heading(self, cells: int) -> Row:
        return (Span(""),)

    def make_rows(self, cells: int) -> Rows:
        raise NotImplementedError

    @property
    def layout(self) -> PanesLayout:
        return self._panes_layout

    def compose(self) -> Any:
        self.styles.background = self.main.styles.background
        self._place()
        yield from (self.pane, self.bottom)

    def on_resize(self, event: events.Resize) -> None:
        self._place()
        self.pane.refresh(layout=True)

    def _place(self) -> None:
        size = self.app.size
        lines = min(self.bottom.lines_wanted(size.width), max(size.height - 2, 1))
        regions: dict[Widget, Region] = {
            self.pane: Region(0, 0, size.width, max(size.height - lines, 1)),
            self.bottom: Region(0, size.height - lines, size.width, lines),
        }
        if regions != self.regions:
            self.regions.clear()
            self.regions.update(regions)
            if self.is_mounted:
                self.pane.refresh(layout=True)

    def hints(self) -> list[tuple[str, str]]:
        if self.pane.needle:
            return [("n", "next"), ("N", "previous"), ("Esc", "end search")]
        return [("j k", "move"), ("/", "search"), ("Esc", "back")]

    def press(self, event: events.Key, command: Command | None) -> bool:
        """Takes a key that means more here; whether it did."""
        return False

    def leave(self) -> None:
        """Back to the main screen; a key typed ahead may ask for it once more."""
        if self.is_current:
            self.dismiss()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if self.is_current:
            self._take(event)
        if self.is_current:
            self._place()

    def _take(self, event: events.Key) -> None:
        if self.bottom.question is not None:
            self.bottom.press(event)
            self.bottom.refresh()
            return
        if self.bottom.message:
            self.bottom.message = ()
            self.bottom.refresh()
        command = self.main.keymap.command(event.key, "viewer", searching=bool(self.pane.needle))
        if self.press(event, command):
            return
        if command is not None and self._moved(command):
            return
        asked = self.main.keymap.is_key_of(event.key, *LEAVING, *ALIKE)
        if event.key in ("escape", "ctrl+c") or asked in LEAVING:
            self.leave()
        elif asked:
            self.main.perform(BY_NAME[asked], event.key)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.bottom.paste(event.text)
        self.bottom.refresh()

    def _moved(self, command: Command) -> bool:
        if command.name in MOVES:
            name, _, count = MOVES[command.name].partition(":")
            getattr(self.pane, name)(int(count))
        elif command.name == "bottom":
            self.pane.move_end()
        elif command.name == "search":
            self.bottom.question = Question("search", "", self._search)
            self.bottom.refresh()
        elif command.name in ("search-next", "search-previous"):
            self.pane.search(self.pane.needle, 1 if command.name == "search-next" else -1)
        elif command.name == "search-end":
            self.pane.end_search()
            self.bottom.refresh()
        else:
            return False
        return True

    def _search(self, needle: str) -> None:
        if needle and not self.pane.search(needle):
            self.pane.end_search()
            self.bottom.tell(f"“{needle}” is not found here.", "warning")
        self.bottom.refresh()
