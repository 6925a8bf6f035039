"""The refusals of a replay by the line that refused; Enter goes to the first of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from llmdebug.debugger.groups import groups_of
from llmdebug.tui.commands import Command
from llmdebug.tui.screens.viewer import ViewerScreen
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, safe
from llmdebug.tui.views.safetext import clean, shorten

if TYPE_CHECKING:
    from llmdebug.debugger.stepper import Stepper
    from llmdebug.tui.screens.main import MainScreen


class RefusalsScreen(ViewerScreen):
    def __init__(self, main: MainScreen, stepper: Stepper) -> None:
        super().__init__(main)
        self.groups = groups_of(stepper.attempts)
        self._sent = len(stepper.attempts)

    def heading(self, cells: int) -> Row:
        refused = sum(len(group.steps) for group in self.groups)
        return (Span(f"Refusals  {refused:,} of {self._sent:,} steps that were sent"),)

    def make_rows(self, cells: int) -> Rows:
        rows: list[Row] = []
        for group in self.groups:
            first = f" first: step {group.steps[0] + 1:,}"
            rows.append((Span(shorten(clean(group.title), cells - len(first)), "error"), Span(first, "dim")))
        return FixedRows(rows or [safe("No step was refused.", "dim")])

    def hints(self) -> list[tuple[str, str]]:
        return [("Enter", "go to the first"), *super().hints()]

    def press(self, event: events.Key, command: Command | None) -> bool:
        if event.key != "enter" or not self.groups:
            return False
        self.main.worksheet.go(self.groups[self.pane.cursor].steps[0])
        self.main.show_entry(home=True)
        self.leave()
        return True
