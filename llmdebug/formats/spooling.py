"""A pipe's content in a file: what is read piece by piece, and more than once, must lie still."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from llmdebug.formats.errors import FormatError

STDIN = "-"
MOST_BYTES = 2 * 1024 * 1024 * 1024
_PIECE = 1024 * 1024


@contextmanager
def lying_still(path: str) -> Iterator[str]:
    """The file itself; of standard input (`-`), a FIFO or `<(…)` a private copy, which is gone afterwards.

    Waits until whoever writes into the pipe is done. Raises FormatError.
    """
    if path != STDIN and not _is_pipe(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="llmdebug-") as folder:
        copy = Path(folder) / "piped"
        try:
            with copy.open("xb") as into:
                if path == STDIN:
                    _copy(sys.stdin.buffer, into, path)
                else:
                    with open(path, "rb") as pipe:
                        _copy(pipe, into, path)
        except OSError as error:
            raise FormatError(path, f"The pipe cannot be read: {error.strerror}.") from None
        yield str(copy)


def _copy(pipe: BinaryIO, into: BinaryIO, path: str) -> None:
    left = MOST_BYTES
    while piece := pipe.read(_PIECE):
        left -= len(piece)
        if left < 0:
            raise FormatError(path, f"The pipe gives more than {MOST_BYTES:,} bytes.")
        into.write(piece)


def _is_pipe(path: str) -> bool:
    """Raises FormatError for a device, which may never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise FormatError(path, "This is a device, not a file.")
    return stat.S_ISFIFO(mode)
