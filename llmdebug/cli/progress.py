"""How far a long work is, as one line on a terminal's stderr that is gone when the work is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from llmdebug.index.build import Progress, silent

_EVERY_S = 0.1


@contextmanager
def progress_line() -> Iterator[Progress]:
    """Silent where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    last = 0.0

    def show(what: str, done: int, of: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY_S:
            last = now
            sys.stderr.write(f"\r\x1b[K{what}: {done} of {of}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
