"""A body as rows: JSON folded as a tree, other text as it stands, binary as hexadecimal.

Small bodies are wrapped, so that no word of an error is cut; large ones are cut at the pane's edge and
only their visible lines are ever looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_right

import msgspec

from llmdebug.tui.views.brokenrows import BrokenRows
from llmdebug.tui.views.highlight import json_row
from llmdebug.tui.views.lines import Lines, byte_pattern
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, safe, wrap
from llmdebug.tui.views.safetext import clean

WRAPPED_BYTES = 64_000
"""Bodies up to this size are wrapped."""
LONGEST_SHOWN = 20_000
"""Characters of one line that can be scrolled to."""
LONGEST_COLOURED = 2_000
FORMATTED_BYTES = 64_000_000
"""Larger bodies are shown as they came."""

_FLAT_NUMBERS = re.compile(rb"\[\n\s+([-\d.eE+]+(?:,\n\s+[-\d.eE+]+)*)\n\s*\]")
_LINE_BREAK = re.compile(rb"\n\s+")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def formatted_json(body: bytes) -> bytes | None:
    """The body as indented JSON, numbers and keys as they came, lists of numbers on one line; None for none."""
    return _formatted(body)[0]


def _formatted(body: bytes) -> tuple[bytes | None, str]:
    """The indented JSON, or why what looks like JSON is not indented; of other text neither."""
    if body.lstrip()[:1] not in (b"{", b"[", b'"'):
        return None, ""
    if len(body) > FORMATTED_BYTES:
        return None, f"Over {FORMATTED_BYTES // 1_000_000} MB, JSON is too large to be formatted: shown as it came."
    try:
        indented = msgspec.json.format(body, indent=2)
    except RecursionError:
        return None, "This JSON is nested too deep to be formatted: shown as it came."
    except MemoryError:
        return None, "There is no memory to format this JSON: shown as it came."
    except msgspec.DecodeError:
        return None, ""
    return _FLAT_NUMBERS.sub(lambda match: b"[" + _LINE_BREAK.sub(b" ", match[1]) + b"]", indented), ""


def is_binary(body: bytes) -> bool:
    """Whether a body is better shown as hexadecimal."""
    head = body[:4096]
    if b"\x00" in head:
        return True
    return len(_CONTROL.findall(head)) * 10 > len(head)


class BodyDocument:
    """A body read once; rows are made of it for each width."""

    def __init__(self, body: bytes, *, raw: bool = False) -> None:
        formatted, self.note = (None, "") if raw else _formatted(body)
        """The note tells why JSON is shown as it came."""
        self.is_json = formatted is not None
        self.is_hex = not self.is_json and is_binary(body)
        self.size = len(body)
        self.body = body
        self.lines = Lines(formatted if formatted is not None else b"" if self.is_hex else body)
        self._is_broken = not self.is_json and any(self.lines.size(n) > LONGEST_SHOWN for n in range(len(self.lines)))
        self.folded: dict[int, int] = {}
        """Line of an opening bracket to the line of its closing one."""

    def rows(self, cells: int) -> Rows:
        """The body for a width."""
        if not self.body:
            return FixedRows([safe("(no body)", "dim")])
        if self.is_hex:
            return HexRows(self.body, cells)
        if self._is_broken:
            return BrokenRows(self.lines, cells)
        return BodyRows(self, cells)

    def closing(self, line: int) -> int | None:
        """The line that closes the bracket which a line ends with."""
        if not self.is_json or self.lines.size(line) > LONGEST_SHOWN:
            return None
        text = self.lines.text(line, LONGEST_SHOWN)
        if not text.endswith(("{", "[")):
            return None
        indent = len(text) - len(text.lstrip(" "))
        mark = b"\n" + b" " * indent + (b"}" if text.endswith("{") else b"]")
        found = self.lines.data.find(mark, self.lines.starts[line])
        return None if found == -1 else self.lines.at(found + 1)

    def fold(self, line: int) -> bool:
        """Folds or unfolds what a line opens; whether there is something to fold."""
        if self.folded.pop(line, None) is not None:
            return True
        end = self.closing(line)
        if end is None:
            return False
        self.folded[line] = end
        return True

    def fold_below(self, depth: int) -> None:
        """Folds everything that is nested deeper than `depth`; small bodies only."""
        self.folded.clear()
        if not self.is_json or len(self.lines) > 200_000:
            return
        indent = "  " * depth
        for line in range(len(self.lines)):
            text = self.lines.text(line, 400)
            if text.startswith(indent) and not text.startswith(indent + " ") and self.lines.size(line) < 400:
                end = self.closing(line)
                if end is not None:
                    self.folded[line] = end

    def parent(self, line: int) -> int:
        """The line that opens what a line stands in; the line itself at the top."""
        indent = _indent(self.lines.text(line, 2_000))
        for above in range(line - 1, max(-1, line - 100_000), -1):
            if _indent(self.lines.text(above, 2_000)) < indent:
                return above
        return line


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


class BodyRows:
    """The rows of a text body, folds applied."""

    def __init__(self, document: BodyDocument, cells: int) -> None:
        self._document = document
        self._lines = document.lines
        self._cells = cells
        self._ranges = self._hidden_ranges()
        self._small: list[tuple[int, Row]] | None = None
        if len(self._lines.data) <= WRAPPED_BYTES:
            self._small = [(line, row) for line in self._visible() for row in self._wrapped(line)]

    def __len__(self) -> int:
        if self._small is not None:
            return len(self._small)
        return len(self._lines) - (self._ranges[-1][2] if self._ranges else 0)

    def line_at(self, index: int) -> int:
        """The document's line that a row shows."""
        if self._small is not None:
            return self._small[index][0]
        place = bisect_right(self._ranges, index, key=lambda item: item[0]) - 1
        return index + (self._ranges[place][2] if place >= 0 else 0)

    def index_of(self, line: int) -> int:
        """The first row of a line, or of the fold it is hidden in."""
        if self._small is not None:
            place = bisect_right(self._small, line, key=lambda item: item[0]) - 1
            while place > 0 and self._small[place - 1][0] == self._small[place][0]:
                place -= 1
            return max(place, 0)
        hidden = 0
        for _, last, total in self._ranges:
            if last >= line:
                first = last - (total - hidden) + 1
                return min(line, first - 1) - hidden
            hidden = total
        return line - hidden

    def row(self, index: int) -> Row:
        if self._small is not None:
            return self._small[index][1]
        return self._row(self.line_at(index), LONGEST_SHOWN)

    def find(self, needle: str, start: int, step: int) -> int | None:
        if not len(self):
            return None
        line = self._lines.search(byte_pattern(needle), self.line_at(start), step)
        if line is None:
            return None
        for opening, end in list(self._document.folded.items()):
            if opening < line <= end:
                del self._document.folded[opening]
                self.__init__(self._document, self._cells)  # type: ignore[misc]
        return self.index_of(line)

    def _visible(self) -> list[int]:
        lines: list[int] = []
        start = 0
        for line, end in sorted(self._document.folded.items()):
            if line >= start:
                lines.extend(range(start, line + 1))
                start = end + 1
        return [*lines, *range(start, len(self._lines))]

    def _hidden_ranges(self) -> list[tuple[int, int, int]]:
        """For each fold that shows: its first row behind, its last hidden line, and how many are hidden so far."""
        ranges: list[tuple[int, int, int]] = []
        hidden, done = 0, -1
        for line, end in sorted(self._document.folded.items()):
            if line > done:
                hidden += end - line
                ranges.append((end + 1 - hidden, end, hidden))
                done = end
        return ranges

    def _row(self, line: int, most: int) -> Row:
        text = clean(self._lines.text(line, most))
        row = _coloured(text) if self._document.is_json else (Span(text),)
        end = self._document.folded.get(line)
        if end is not None:
            hidden = end - line - 1
            closing = self._lines.text(end, 200).strip()
            row = (*row, Span(f"… {hidden:,} line{'s' if hidden != 1 else ''} … ", "dim"), Span(closing, "punct"))
        return row

    def _wrapped(self, line: int) -> list[Row]:
        row = self._row(line, LONGEST_SHOWN)
        return wrap(row, self._cells, hang=_indent(row[0].text if row else "") + 2)


def _coloured(text: str) -> Row:
    """A line of JSON; of one that is very long only the beginning is coloured."""
    if len(text) <= LONGEST_COLOURED:
        return json_row(text)
    return (*json_row(text[:LONGEST_COLOURED]), Span(text[LONGEST_COLOURED:]))


class HexRows:
    """Bytes as offset, hexadecimal and text."""

    def __init__(self, body: bytes, cells: int) -> None:
        self._body = body
        self._each = 16 if cells >= 76 else 8 if cells >= 42 else 4

    def __len__(self) -> int:
        return -(-len(self._body) // self._each)

    def row(self, index: int) -> Row:
        piece = self._body[index * self._each : (index + 1) * self._each]
        text = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in piece)
        return (
            Span(f"{index * self._each:08x}  ", "dim"),
            Span(f"{piece.hex(' '):<{self._each * 3}} ", "number"),
            Span(text, "string"),
        )

    def find(self, needle: str, start: int, step: int) -> int | None:
        wanted = needle.encode("utf-8", "replace")
        if step > 0:
            found = self._body.find(wanted, (start + 1) * self._each)
            found = self._body.find(wanted) if found == -1 else found
        else:
            found = self._body.rfind(wanted, 0, start * self._each)
            found = self._body.rfind(wanted) if found == -1 else found
        return None if found == -1 else found // self._each
