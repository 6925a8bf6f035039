"""What the process's exit status means."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Codes are told apart by who has to act: nobody, the request's author, the caller, the operator."""

    OK = 0
    """Answered 2xx; diagnosed; the remedy was confirmed."""
    REFUSED = 1
    """The server refused the request, or the remedy with it; its source says that it will."""
    USAGE = 2
    """A command line, a file or a source tree that cannot be used."""
    NO_ANSWER = 3
    """No complete answer came."""
    NO_REMEDY = 4
    """The diagnosis offers no such request."""
    BREAKPOINT = 5
    """A replay stopped at a breakpoint."""
    FAILED = 6
    """An exchange of a replay met --fail-on."""
    BUG = 70
    """An error of llmdebug itself."""
    INTERRUPTED = 130
    """Ctrl-C."""
    BROKEN_PIPE = 141
    """Whoever read the output went away."""


EPILOG = (
    "Exit codes: 0 answered with 2xx (diagnose: done; try: confirmed), 1 refused "
    "(try: settled or refuted; check, tokens: will be), "
    "2 the command line, a file or a source tree cannot be used, 3 no complete answer came, "
    "4 there is no such remedy, 5 replay: stopped at a breakpoint, 6 replay: --fail-on was met, "
    "70 an error of llmdebug itself, 130 interrupted, 141 the output was closed."
)
"""The codes as --help tells them."""
