"""The steps of a recording as rows: where the stepper stands, breakpoints, status, time, and what changed."""

from __future__ import annotations

from typing import NamedTuple

from llmdebug.formats.exchanges import Row as Facts
from llmdebug.tui.stepsheet import StepSheet
from llmdebug.tui.views.responseview import duration
from llmdebug.tui.views.rows import Row, Span
from llmdebug.tui.views.safetext import clean, shorten, shorten_middle, width
from llmdebug.tui.worksheet import path_of

_WIDE = 40
"""Cells from which the time has a column."""


class _Marks(NamedTuple):
    """What stands before and behind a step's status."""

    here: str
    next: str
    stop: str
    changed: str
    edited: str


class StepRows:
    """One row a step, made when it is seen; no body is read for it."""

    def __init__(self, sheet: StepSheet, cells: int) -> None:
        self._sheet = sheet
        self._cells = cells
        self._digits = len(f"{len(sheet.exchanges):,}")

    def __len__(self) -> int:
        return self._sheet.listed

    def row(self, index: int) -> Row:
        sheet = self._sheet
        step = sheet.entry_at(index)
        if step >= len(sheet.exchanges):
            return self._added(step)
        facts, marks = sheet.row(step), self._marks(step)
        took = f" {duration(facts.latency)}" if facts.latency is not None and self._cells >= _WIDE else ""
        used = 3 + self._digits + 1 + 4 + 2 + width(took)
        room = max(self._cells - used, 4)
        name = shorten_middle(clean(self._name(facts)), room)
        filler = " " * max(room - width(name), 0) if took else ""
        status, role = self._status(step, facts)
        return (
            Span(marks.here, "accent"),
            Span(marks.next, "ok"),
            Span(marks.stop, "error"),
            Span(f"{step + 1:,}".rjust(self._digits) + " ", "dim"),
            Span(f"{status:>3} ", role),
            Span(marks.changed, "warning"),
            Span(marks.edited, "warning"),
            Span(name, "strong" if marks.here.strip() else "text"),
            Span(f"{filler}{took}", "dim"),
        )

    def _marks(self, step: int) -> _Marks:
        sheet, stepper = self._sheet, self._sheet.stepper
        attempt = sheet.attempt(step)
        made = sheet.steps.made.get(step)
        return _Marks(
            here="▸" if step == sheet.current else " ",
            next="→" if stepper is not None and step == stepper.at else " ",
            stop="●" if stepper is not None and step in stepper.marks else " ",
            changed="≠" if attempt is not None and attempt.changed else " ",
            edited="*" if made is not None and made.is_changed else " ",
        )

    def _status(self, step: int, facts: Facts) -> tuple[str, str]:
        """Dim while it is the recorded one."""
        made, attempt = self._sheet.steps.made.get(step), self._sheet.attempt(step)
        if made is not None and made.state == "waiting":
            return "…", "warning"
        stepper = self._sheet.stepper
        if attempt is None and stepper is not None and step in stepper.skipped:
            return "-", "dim"
        text = str(facts.status) if facts.status is not None else "✗" if facts.failure else "·"
        if attempt is None:
            return text, "dim"
        return text, "ok" if attempt.outcome == "answered" else "error"

    def _name(self, facts: Facts) -> str:
        line = f"{facts.method} {path_of(facts.url)}"
        if not facts.name:
            return line
        return f"{facts.name}  {line}" if self._cells >= 60 else facts.name

    def _added(self, index: int) -> Row:
        entry = self._sheet.entries[index]
        response = entry.exchange.response if entry.exchange is not None else None
        here = "▸" if index == self._sheet.current else " "
        status = "…" if entry.state == "waiting" else str(response.status) if response is not None else "·"
        name = shorten(clean(entry.name), max(self._cells - 10 - self._digits, 4))
        return (
            Span(f"{here}  ", "accent"),
            Span("+".rjust(self._digits) + " ", "dim"),
            Span(f"{status:>3} ", "text"),
            Span(f"  {name}"),
        )

    def find(self, needle: str, start: int, step: int) -> int | None:
        count = len(self)
        fold = needle == needle.lower()
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            held = self._searched(index)
            if needle in (held.lower() if fold else held):
                return index
        return None

    def _searched(self, index: int) -> str:
        sheet = self._sheet
        step = sheet.entry_at(index)
        if step >= len(sheet.exchanges):
            entry = sheet.entries[step]
            return f"{entry.name} {entry.request.method} {entry.request.url}"
        facts = sheet.row(step)
        return f"{facts.name} {facts.method} {facts.url} {facts.status or facts.failure}"
