"""`python -m llmdebug` and the command `llmdebug`. Ctrl-C while it is being loaded ends it without a word."""

from __future__ import annotations

import os
import signal

_INTERRUPTED = 130


def run() -> None:
    """The entry point. An interrupt that is ignored, as in a shell's background, stays so."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    from llmdebug.cli.main import main

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()


def _leave(_number: int, _frame: object) -> None:
    """At once: nothing is there yet that had to be put away."""
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
