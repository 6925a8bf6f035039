"""The palette: commands found by a few letters of their name or help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from llmdebug.tui.commands import COMMANDS, Command, unmet
from llmdebug.tui.panes.bars import Question
from llmdebug.tui.screens.situation import met
from llmdebug.tui.screens.viewer import ViewerScreen
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, safe
from llmdebug.tui.views.safetext import shorten, width

if TYPE_CHECKING:
    from llmdebug.tui.screens.main import MainScreen


class PaletteScreen(ViewerScreen):
    """Typing filters; Enter does the command under the cursor; what cannot be done says why."""

    def __init__(self, main: MainScreen) -> None:
        super().__init__(main)
        self._met = met(main)
        self.found: list[Command] = commands_for("")
        self.bottom.question = Question("command", "", self._chosen, self._filter, self._left)

    def heading(self, cells: int) -> Row:
        return (Span("Commands"),)

    def make_rows(self, cells: int) -> Rows:
        rows: list[Row] = []
        for command in self.found:
            reason = unmet(command, self._met)
            keys = self.main.keymap.shown(command)
            told = f"{command.help}" if not reason else f"not now: {self.main.keymap.told(reason)}"
            room = cells - 22 - width(keys) - 2
            text = shorten(told, room)
            rows.append(
                (
                    Span(f" {command.name:<20} ", "strong" if not reason else "dim"),
                    Span(text + " " * max(room - width(text), 0), "text" if not reason else "dim"),
                    Span(f" {keys}", "accent"),
                )
            )
        return FixedRows(rows or [safe("No command is called so.", "dim")])

    def on_key(self, event: events.Key) -> None:
        moves = {"down": 1, "up": -1, "ctrl+n": 1, "ctrl+p": -1, "pagedown": 10, "pageup": -10}
        if event.key in moves:
            event.stop()
            event.prevent_default()
            self.pane.move_by(moves[event.key])
            return
        super().on_key(event)

    def _filter(self, text: str) -> None:
        self.found = commands_for(text)
        self.pane.rebuild(home=True)

    def _chosen(self, _text: str) -> None:
        command = self.found[self.pane.cursor] if self.found else None
        self.leave()
        if command is not None:
            self.main.call_after_refresh(self.main.perform, command)

    def _left(self) -> None:
        self.leave()


def commands_for(text: str) -> list[Command]:
    """Commands whose name or help holds each word; those whose name begins with it come first."""
    words = text.lower().split()
    offered = [command for command in COMMANDS if command.context not in ("search", "editor") or words]
    found = [c for c in offered if all(word in f"{c.name} {c.help}".lower() for word in words)]
    return sorted(found, key=lambda c: not (bool(words) and c.name.startswith(words[0])))
