"""Rows to strips: where roles become colours."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.strip import Strip

from llmdebug.tui.theme import Theme
from llmdebug.tui.views.rows import Row, Span
from llmdebug.tui.views.safetext import index_at, width


def paint(row: Row, cells: int, theme: Theme, *, behind: str = "text", left: int = 0) -> Strip:
    """A row as a strip of exactly `cells` cells, `left` cells of it scrolled out of sight."""
    segments: list[Segment] = []
    room = cells
    for text, role in row:
        if left:
            text, left = _without_left(text, left)
        if not text:
            continue
        used = width(text)
        if used > room:
            text = text[: index_at(text, room)]
            used = width(text)
        segments.append(Segment(text, theme.on_background(role, behind) if behind != "text" else theme.style(role)))
        room -= used
        if used == 0 or room <= 0:
            break
    if room > 0:
        segments.append(Segment(" " * room, theme.style(behind)))
    return Strip(segments, cells)


def _without_left(text: str, left: int) -> tuple[str, int]:
    total = width(text)
    if total <= left:
        return "", left - total
    start = index_at(text, left)
    rest = text[start:]
    gap = total - left - width(rest)
    return " " * gap + rest, 0


def marked_matches(row: Row, pattern: re.Pattern[str]) -> Row:
    """The row with what a search found in the role `match`."""
    spans: list[Span] = []
    for text, role in row:
        end = 0
        for match in pattern.finditer(text):
            if match.start() == match.end():
                continue
            if match.start() > end:
                spans.append(Span(text[end : match.start()], role))
            spans.append(Span(match[0], "match"))
            end = match.end()
        if end < len(text):
            spans.append(Span(text[end:], role))
    return tuple(spans)


def beside(left: Row, right: Row, cells: int) -> Row:
    """Two rows on one line, the right one at the right edge; the left one gives way."""
    taken = sum(width(span.text) for span in right)
    room = max(cells - taken, 0)
    spans: list[Span] = []
    for text, role in left:
        piece = text[: index_at(text, room)] if width(text) > room else text
        spans.append(Span(piece, role))
        room -= width(piece)
        if room <= 0:
            break
    return (*spans, Span(" " * room, left[-1].role if left else "text"), *right) if room > 0 else (*spans, *right)
