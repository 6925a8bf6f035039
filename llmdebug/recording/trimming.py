"""A history kept within bounds: its oldest exchanges go when a program opens it, never while another one has it open.

The lock is a file beside the history: shared by all who have it open, and taken alone by who trims it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

KEPT_SHARE = 0.75
"""Of the limit, so that not every start has to trim."""


def opened(path: Path, limit_bytes: int) -> tuple[int, int]:
    """Trims the file where it is too large and nobody has it open; gives the lock, and how many bytes were dropped.

    The lock is a file descriptor, to be closed with the file; -1 where there can be none: then nothing is trimmed.
    """
    try:
        lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return -1, 0
    dropped = 0
    try:
        if _size(path) > limit_bytes:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            dropped = _trim(path, limit_bytes)
    except OSError:
        dropped = 0
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_SH)
    return lock, dropped


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _trim(path: Path, limit_bytes: int) -> int:
    """Keeps the end of the file, from the beginning of a line. An answer that lost its request is passed over."""
    size = _size(path)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(path, "rb") as old, os.fdopen(number, "wb") as new:
            old.seek(max(size - int(limit_bytes * KEPT_SHARE) - 1, 0))
            old.readline()
            start = old.tell()
            shutil.copyfileobj(old, new, 1 << 20)
            new.flush()
            os.fsync(new.fileno())
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    return start
