"""The history: what was sent in this and earlier sessions, newest first, filtered by conditions."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from textual import events

from llmdebug.tui.commands import Command
from llmdebug.tui.panes.bars import Question, Refusal
from llmdebug.tui.screens.viewer import ViewerScreen
from llmdebug.tui.views.responseview import duration
from llmdebug.tui.views.rows import NO_ROWS, FixedRows, Row, Rows, Span, safe
from llmdebug.tui.views.safetext import clean, shorten
from llmdebug.tui.worksheet import path_of

if TYPE_CHECKING:
    from llmdebug.formats.lines_index import RecordedLines
    from llmdebug.tui.screens.main import MainScreen


class HistoryRows:
    """One row an exchange, made when it is seen."""

    def __init__(self, recorded: RecordedLines, numbers: list[int], cells: int) -> None:
        self._recorded = recorded
        self._numbers = numbers
        self._cells = cells

    def __len__(self) -> int:
        return len(self._numbers)

    def row(self, index: int) -> Row:
        facts = self._recorded.row(self._numbers[index])
        when = _moment(facts.started_at)
        status = str(facts.status) if facts.status is not None else "✗"
        refused = facts.status is None or facts.status >= 300
        took = duration(facts.latency) if facts.latency is not None else ""
        name = f"{facts.method} {path_of(facts.url)}" + (f"  {facts.name}" if facts.name else "")
        return (
            Span(f" {when} ", "dim"),
            Span(f"{status:>3} ", "error" if refused else "ok"),
            Span(f"{took:>8}  ", "dim"),
            Span(shorten(clean(name), max(self._cells - 32, 4))),
        )

    def find(self, needle: str, start: int, step: int) -> int | None:
        count = len(self)
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            facts = self._recorded.row(self._numbers[index])
            if needle.lower() in f"{facts.name} {facts.method} {facts.url} {facts.status}".lower():
                return index
        return None


def _moment(started_at: float | None) -> str:
    """In the user's time; a file may say anything."""
    try:
        return time.strftime("%d %b %H:%M:%S", time.localtime(started_at or 0))
    except (ValueError, OverflowError, OSError):
        return " " * 15


class HistoryScreen(ViewerScreen):
    """The file is read once, in a thread; its exchanges when they are opened."""

    def __init__(self, main: MainScreen) -> None:
        super().__init__(main)
        self.recorded: RecordedLines | None = None
        self.numbers: list[int] = []
        self._told = "reading …"
        self._filter = ""

    def on_mount(self) -> None:
        self.main.start(self._load())

    async def _load(self) -> None:
        from llmdebug.formats.errors import FormatError
        from llmdebug.formats.lines_index import RecordedLines
        from llmdebug.recording.folder import HistoryError, state_folder
        from llmdebug.recording.history import FILE_NAME

        try:
            self.recorded = await asyncio.to_thread(lambda: RecordedLines(state_folder() / FILE_NAME))
        except (FormatError, HistoryError) as error:
            self._told = str(error)
        else:
            self._list(list(range(len(self.recorded))))
            return
        self.pane.rebuild()

    def _list(self, numbers: list[int]) -> None:
        self.numbers = numbers[::-1]
        total = len(self.recorded) if self.recorded is not None else 0
        self._told = f"{len(numbers):,} of {total:,}: {self._filter}" if self._filter else f"{total:,} exchanges"
        self.pane.rebuild(home=True)

    def heading(self, cells: int) -> Row:
        return (Span(shorten(f"History  {clean(self._told)}", cells)),)

    def make_rows(self, cells: int) -> Rows:
        if self.recorded is None:
            return NO_ROWS
        return HistoryRows(self.recorded, self.numbers, cells) if self.numbers else FixedRows([safe("None.", "dim")])

    def hints(self) -> list[tuple[str, str]]:
        return [("Enter", "open"), ("F", "filter"), *super().hints()]

    def press(self, event: events.Key, command: Command | None) -> bool:
        if event.key == "enter" and self.numbers and self.recorded is not None:
            self.main.start(self._open(self.numbers[self.pane.cursor]))
            return True
        if event.key == "F" and self.recorded is not None:
            self.bottom.question = Question("list where (empty: all)", self._filter, self._asked)
            self.bottom.refresh()
            return True
        return False

    def _asked(self, text: str) -> Refusal | None:
        from llmdebug.debugger.condition import ConditionError, parse_condition
        from llmdebug.debugger.filter import matching
        from llmdebug.tui.acts.sending import told_error
        from llmdebug.tui.acts.stepping import refusal_of

        recorded = self.recorded
        if recorded is None:
            return None
        if not text.strip():
            self._filter = ""
            self._list(list(range(len(recorded))))
            return None
        try:
            condition = parse_condition(text)
        except ConditionError as error:
            return refusal_of(error, text)

        async def find() -> None:
            try:
                found = await asyncio.to_thread(matching, condition, recorded)
            except Exception as error:
                self._told = f"{len(self.numbers):,} of {len(recorded):,} exchanges"
                self.pane.refresh_title()
                self.bottom.tell(told_error(error), "error")
                self.bottom.refresh()
                return
            self._filter = condition.source
            self._list(found)

        self._told = f"looking for {condition.source} …"
        self.pane.refresh_title()
        self.main.start(find())
        return None

    async def _open(self, number: int) -> None:
        """As a request of its own, with the answer it got."""
        from llmdebug.formats.errors import FormatError

        if self.recorded is None:
            return
        try:
            exchange = await asyncio.to_thread(self.recorded.exchange, number)
        except FormatError as error:
            self.bottom.tell(str(error), "error")
            self.bottom.refresh()
            return
        from llmdebug.tui.acts.listing import add_recorded

        add_recorded(self.main, exchange)
        self.leave()
