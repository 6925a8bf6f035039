"""Rows of text: what a pane shows, before colour."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from llmdebug.tui.views.safetext import clean, index_at, width

WINDOW = 4
"""Letters looked at for each cell that is free: some take none, and a long text is not measured again and again."""


class Span(NamedTuple):
    """A piece of a row. `role` names a style of the theme."""

    text: str
    role: str = "text"


Row = tuple[Span, ...]


class Rows(Protocol):
    """Rows by number. Built for one width; panes ask for the visible ones only."""

    def __len__(self) -> int: ...

    def row(self, index: int) -> Row: ...

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The next row from `start` (excluded), in direction `step`, that holds the needle; wraps around."""
        ...


class FixedRows:
    """Rows that are all there."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, index: int) -> Row:
        return self.rows[index]

    def find(self, needle: str, start: int, step: int) -> int | None:
        pattern = pattern_of(needle)
        count = len(self.rows)
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            if pattern.search(plain(self.rows[index])):
                return index
        return None


class Stacked:
    """Rows of several parts, one below the other."""

    def __init__(self, parts: Iterable[Rows]) -> None:
        self._parts = [part for part in parts if len(part)]
        self._ends: list[int] = []
        for part in self._parts:
            self._ends.append((self._ends[-1] if self._ends else 0) + len(part))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def within(self, index: int) -> tuple[Rows, int]:
        """The part that a row lies in, and its number there."""
        part = bisect_right(self._ends, index)
        return self._parts[part], index - (self._ends[part - 1] if part else 0)

    def row(self, index: int) -> Row:
        part, inside = self.within(index)
        return part.row(inside)

    def find(self, needle: str, start: int, step: int) -> int | None:
        if not self._parts:
            return None
        here = bisect_right(self._ends, start)
        base = self._ends[here - 1] if here else 0
        found = self._parts[here].find(needle, start - base, step)
        if found is not None and (base + found - start) * step > 0:
            return base + found
        for distance in range(1, len(self._parts) + 1):
            place = (here + step * distance) % len(self._parts)
            part = self._parts[place]
            found = part.find(needle, len(part) - 1 if step > 0 else 0, step)
            if found is not None:
                return (self._ends[place - 1] if place else 0) + found
        return None


NO_ROWS = FixedRows()


def plain(row: Row) -> str:
    """A row's text."""
    return "".join(span.text for span in row)


def pattern_of(needle: str) -> re.Pattern[str]:
    """A search as people type it: literal, and without case unless it holds a capital."""
    return re.compile(re.escape(needle), 0 if needle != needle.lower() else re.IGNORECASE)


def safe(text: str, role: str = "text") -> Row:
    """A row of one cleaned text."""
    return (Span(clean(text), role),)


def wrap(row: Row, cells: int, hang: int = 0) -> list[Row]:
    """A row as rows of at most `cells` cells, broken at spaces; later ones are indented by `hang`."""
    if sum(width(span.text) for span in row) <= cells or cells < 4:
        return [row]
    hang = min(hang, cells // 2)
    rows: list[Row] = []
    line: list[Span] = []
    room = cells
    for text, role in row:
        at = 0
        while at < len(text):
            piece = text[at : at + WINDOW * (room + 1)]
            if width(piece) <= room:
                line.append(Span(piece, role))
                room -= width(piece)
                at += len(piece)
                continue
            end = _break(piece, room, at_start=room >= cells - hang)
            if end:
                line.append(Span(piece[:end].rstrip(" "), role))
            at += end
            while end and at < len(text) and text[at] == " ":
                at += 1
            rows.append(tuple(line))
            line = [Span(" " * hang)] if hang else []
            room = cells - hang
    return [*rows, tuple(line)] if line else rows


def _break(text: str, room: int, *, at_start: bool) -> int:
    """Where a text is cut to fit: behind its last space, else inside a word where the row is empty or wide."""
    fits = index_at(text, room)
    if fits < len(text) and text[fits] == " ":
        return fits
    space = text.rfind(" ", 0, fits)
    if space > fits // 3:
        return space + 1
    if at_start or room > 12:
        return max(fits, 1)
    return 0


def wrapped(rows: Sequence[Row], cells: int, hang: int = 0) -> list[Row]:
    """Each row wrapped."""
    return [piece for row in rows for piece in wrap(row, cells, hang)]
