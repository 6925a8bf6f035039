"""A large text as numbered lines: bytes and where each line begins, decoded one line at a time."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

_NEWLINE = re.compile(rb"\n")


class Lines:
    """Lines of UTF-8 bytes; what is none is replaced when shown."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.starts = array("Q", [0])
        self.starts.extend(match.end() for match in _NEWLINE.finditer(data))
        if len(self.starts) > 1 and self.starts[-1] == len(data):
            self.starts.pop()

    def __len__(self) -> int:
        return len(self.starts)

    def end(self, index: int) -> int:
        """The offset behind a line's last byte, its newline excluded."""
        if index + 1 < len(self.starts):
            return self.starts[index + 1] - 1
        return len(self.data) - (self.data[-1:] == b"\n" and len(self.data) > self.starts[index])

    def size(self, index: int) -> int:
        """Bytes of a line."""
        return self.end(index) - self.starts[index]

    def text(self, index: int, most: int) -> str:
        """A line's first `most` characters."""
        start = self.starts[index]
        end = min(self.end(index), start + 4 * most)
        return self.data[start:end].decode("utf-8", "replace").rstrip("\r")[:most]

    def at(self, offset: int) -> int:
        """The line that an offset lies in."""
        return bisect_right(self.starts, offset) - 1

    def search(self, pattern: re.Pattern[bytes], start: int, step: int) -> int | None:
        """The next line behind (or before) line `start` in which the pattern is found; wraps around."""
        if step > 0:
            after = self.starts[start + 1] if start + 1 < len(self) else len(self.data)
            match = pattern.search(self.data, after) or pattern.search(self.data)
            return None if match is None else self.at(match.start())
        last = None
        for match in pattern.finditer(self.data, 0, self.starts[start]):
            last = match
        if last is None:
            for match in pattern.finditer(self.data, self.starts[start]):
                last = match
        return None if last is None else self.at(last.start())


def byte_pattern(needle: str) -> re.Pattern[bytes]:
    """As rows.pattern_of(), for bytes."""
    flags = 0 if needle != needle.lower() else re.IGNORECASE
    return re.compile(re.escape(needle.encode("utf-8", "replace")), flags)
