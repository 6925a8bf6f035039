"""What the commands say beside their data: short lines on stderr, safe to show."""

from __future__ import annotations

import sys
from contextlib import suppress

from llmdebug.debugger.visible import visible


def say(message: str) -> None:
    """An error or a warning, with the program's name before it."""
    tell(f"llmdebug: {message}")


def tell(line: str) -> None:
    """A line of talk, after the data that came before it; silent where nobody can hear it."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        print(visible(line), file=sys.stderr, flush=True)
