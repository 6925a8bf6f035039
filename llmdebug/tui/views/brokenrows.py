"""A large text with long lines as rows: broken at the pane's edge, found by arithmetic, decoded when seen."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from llmdebug.tui.views.lines import Lines, byte_pattern
from llmdebug.tui.views.rows import Row, Span
from llmdebug.tui.views.safetext import clean

BACKWARDS_BYTES = 1_000_000
"""How much is looked through at once when searching upwards."""


class BrokenRows:
    """Each row shows as many bytes as the pane has cells: no letter is wider than it is long."""

    def __init__(self, lines: Lines, cells: int, role: str = "text") -> None:
        self._lines = lines
        self._each = max(cells, 1)
        self._role = role
        self._before = array("Q")
        """For each line, how many rows stand above it."""
        rows = 0
        for line in range(len(lines)):
            self._before.append(rows)
            rows += max(-(-lines.size(line) // self._each), 1)
        self._count = rows

    def __len__(self) -> int:
        return self._count

    def row(self, index: int) -> Row:
        line, place = self._place(index)
        first = self._lines.starts[line]
        end = self._lines.end(line)
        start = self._at_letter(first + place * self._each, end)
        stop = self._at_letter(first + (place + 1) * self._each, end)
        return (Span(clean(self._lines.data[start:stop].decode("utf-8", "replace").rstrip("\r")), self._role),)

    def line_at(self, index: int) -> int:
        """The text's line that a row is of."""
        return self._place(index)[0]

    def find(self, needle: str, start: int, step: int) -> int | None:
        data = self._lines.data
        pattern = byte_pattern(needle)
        if step > 0:
            after = self._offset(start + 1) if start + 1 < self._count else len(data)
            match = pattern.search(data, after) or pattern.search(data)
            return None if match is None else self._row_of(match.start())
        overlap = min(4 * len(needle), BACKWARDS_BYTES // 2)
        for end in (self._offset(start), len(data)):
            while end > 0:
                begin = max(end - BACKWARDS_BYTES, 0)
                found = None
                for match in pattern.finditer(data, begin, end):
                    found = match.start()
                if found is not None:
                    return self._row_of(found)
                end = begin + overlap if begin else 0
        return None

    def _place(self, index: int) -> tuple[int, int]:
        """The line that a row belongs to, and the row's number in it."""
        line = bisect_right(self._before, index) - 1
        return line, index - self._before[line]

    def _offset(self, index: int) -> int:
        line, place = self._place(index)
        return self._lines.starts[line] + place * self._each

    def _row_of(self, offset: int) -> int:
        line = self._lines.at(offset)
        return self._before[line] + (offset - self._lines.starts[line]) // self._each

    def _at_letter(self, offset: int, end: int) -> int:
        """The offset, moved behind the letter that it lies in."""
        data = self._lines.data
        for _ in range(3):
            if offset >= end or data[offset] & 0xC0 != 0x80:
                break
            offset += 1
        return min(offset, end)
