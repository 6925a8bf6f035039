"""The end of a server's log file, read as far as it matters: a log may be larger than memory, and grow meanwhile."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from llmdebug.formats.errors import FormatError
from llmdebug.formats.serverlog import MAX_BYTES


class LogFile:
    """A log that a server may be writing to. Raises FormatError where it cannot be read."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._seen = 0
        self._read(0, 0)

    def mark(self) -> None:
        """What is written from now on is new."""
        self._seen = self._size()

    def new(self) -> str:
        """What was written since mark(), at most the last MAX_BYTES; all of it where the file was begun anew."""
        size = self._size()
        return self._text(self._seen if self._seen <= size else 0, size)

    @property
    def left_out(self) -> int:
        """Bytes before those that end() gives."""
        return max(0, self._size() - MAX_BYTES)

    def end(self) -> str:
        """The last MAX_BYTES."""
        return self._text(0, self._size())

    def _text(self, start: int, size: int) -> str:
        start = max(start, size - MAX_BYTES)
        return self._read(start, size - start).decode("utf-8", "replace")

    def _size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except (OSError, ValueError) as error:
            raise FormatError(self.path, _told(error)) from None

    def _read(self, start: int, most: int) -> bytes:
        try:
            if stat.S_ISDIR(os.stat(self.path).st_mode):
                raise FormatError(self.path, "This is a folder, not a log file.")
            with open(self.path, "rb", opener=_open_plainly) as file:
                if start:
                    file.seek(start)
                return file.read(most)
        except (OSError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(self.path, _told(error)) from None


def _open_plainly(path: str, flags: int) -> int:
    """Does not wait for a pipe that nobody writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _told(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "There is no such log file."
    told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"The log cannot be read: {told}."
