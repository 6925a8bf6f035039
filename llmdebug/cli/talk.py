"""What the commands say beside their data: short lines on stderr, safe to show."""

from __future__ import annotations

import sys
from contextlib import suppress

from llmdebug.debugger.visible import visible


def say(message: str) -> None:
    """An error or a warning, with the program's name before it."""
    tell(f"llmdebug: {message}")


def tell(text: str) -> None:
    """Lines of talk, untrusted text in them or not."""
    tell_shown(visible(text))


def tell_shown(text: str) -> None:
    """Lines that are safe to show already, after the data that came before; silent where nobody can hear it."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
