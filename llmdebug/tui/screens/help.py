"""Every key that works where the user is, and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from llmdebug.tui.commands import CONTEXTS, unmet
from llmdebug.tui.screens.situation import met
from llmdebug.tui.screens.viewer import PagedPane, ViewerPane, ViewerScreen
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, wrap
from llmdebug.tui.views.safetext import clean

if TYPE_CHECKING:
    from llmdebug.tui.screens.main import MainScreen

KEYS_CELLS = 16


class HelpScreen(ViewerScreen):
    """Made of the command table, for the pane that was active."""

    pane_type: ClassVar[type[ViewerPane]] = PagedPane

    def __init__(self, main: MainScreen) -> None:
        super().__init__(main)
        self._asked_in = main.context
        self._met = met(main)

    def heading(self, cells: int) -> Row:
        return (Span(f"Help: keys in the {self._asked_in} pane"),)

    def make_rows(self, cells: int) -> Rows:
        keymap = self.main.keymap
        rows: list[Row] = []
        shown = ""
        for command in keymap.in_context(self._asked_in, searching=self.main.searching):
            if command.context != shown:
                rows += (
                    [(), (Span(CONTEXTS[command.context], "strong"),)]
                    if rows
                    else [(Span(CONTEXTS[command.context], "strong"),)]
                )
                shown = command.context
            reason = unmet(command, self._met)
            told = f"{command.help}" + (f" (not now: {keymap.told(reason)})" if reason else "")
            rows += wrap(
                (
                    Span(f"  {keymap.all_shown(command):<{KEYS_CELLS}} ", "accent" if not reason else "dim"),
                    Span(clean(told), "text" if not reason else "dim"),
                ),
                cells,
                KEYS_CELLS + 3,
            )
        return FixedRows(rows)
