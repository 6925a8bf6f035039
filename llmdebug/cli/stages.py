"""What is being done, as one line on a terminal's stderr that is gone when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CLEARED = "\r\x1b[K"


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Silent where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return

    def show(what: str) -> None:
        sys.stderr.write(f"{CLEARED}{what}…")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write(CLEARED)
        sys.stderr.flush()
